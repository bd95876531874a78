//! Which is which: parts of processes, channels and labels by number, each once.

use super::event::PLACE_BITS;
use kahn_report::Name;
use kahn_report::observe::Subject;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many are told apart; all that come later are one.
const MOST: usize = 1 << 20;
const _: () = assert!(MOST < 1 << PLACE_BITS, "an event has room for each");

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Other,
    Process,
    Channel,
    Label,
}

/// What tells it from all others: its kind, its number, and which part of a process it is.
pub(super) type Key = (Kind, u64, u64);

/// One that events tell of.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: Name,
    pub(super) key: Key,
}

/// All that events tell of: places in a list.
#[derive(Debug)]
pub(super) struct Names(Mutex<Known>);

#[derive(Debug)]
struct Known {
    places: BTreeMap<Key, u32>,
    list: Vec<Named>,
}

/// What stands at place 0: all that are too many, and none.
pub(super) const OTHERS: u32 = 0;

const NO_KEY: Key = (Kind::Other, 0, 0);

impl Names {
    pub(super) fn new() -> Self {
        let others = Named { name: Name::from("others"), key: NO_KEY };
        Self(Mutex::new(Known { places: BTreeMap::new(), list: vec![others] }))
    }

    fn place(&self, key: Key, name: impl FnOnce() -> Name) -> u32 {
        let mut known = self.0.lock();
        if let Some(place) = known.places.get(&key) {
            return *place;
        }
        let place = known.list.len();
        if place >= MOST {
            return OTHERS;
        }
        known.list.push(Named { name: name(), key });
        let place = u32::try_from(place).unwrap_or(OTHERS);
        known.places.insert(key, place);
        place
    }

    /// All, by place.
    pub(super) fn list(&self) -> Vec<Named> {
        self.0.lock().list.clone()
    }
}

/// The places that a thread has asked for: no lock for those it meets again and again.
#[derive(Debug)]
pub(super) struct Cache {
    names: Arc<Names>,
    places: Box<[(Key, u32)]>,
}

const CACHED: usize = 1024;

impl Cache {
    pub(super) fn new(names: Arc<Names>) -> Self {
        Self { names, places: vec![(NO_KEY, OTHERS); CACHED].into() }
    }

    pub(super) fn process(&mut self, process: Subject<'_>) -> u32 {
        let key = (Kind::Process, process.id, process.part);
        self.place(key, || process.name.clone())
    }

    pub(super) fn channel(&mut self, channel: Subject<'_>) -> u32 {
        self.place((Kind::Channel, channel.id, 0), || channel.name.clone())
    }

    /// A label that the program has: its place in memory tells it from others.
    pub(super) fn label(&mut self, label: &'static str) -> u32 {
        let key = (Kind::Label, label.as_ptr().addr() as u64, label.len() as u64);
        self.place(key, || Name::from(label))
    }

    #[inline]
    fn place(&mut self, key: Key, name: impl FnOnce() -> Name) -> u32 {
        // Neighbours differ in the upper bits of their numbers, blocks of memory in the middle ones.
        let mixed =
            (key.1 ^ key.2.rotate_left(26) ^ key.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let cached = &mut self.places[(mixed >> 32) as usize % CACHED];
        if cached.0 != key {
            *cached = (key, self.names.place(key, name));
        }
        cached.1
    }
}
