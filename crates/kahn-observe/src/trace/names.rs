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

    fn place(&self, key: Key, name: &Name) -> u32 {
        let mut known = self.0.lock();
        if let Some(place) = known.places.get(&key) {
            return *place;
        }
        let place = known.list.len();
        if place >= MOST {
            return OTHERS;
        }
        known.list.push(Named { name: name.clone(), key });
        let place = u32::try_from(place).unwrap_or(OTHERS);
        known.places.insert(key, place);
        place
    }

    /// All, by place.
    pub(super) fn list(&self) -> Vec<Named> {
        self.0.lock().list.clone()
    }
}

/// The places that a thread has asked for: no lock for those it meets again.
#[derive(Debug)]
pub(super) struct Cache {
    names: Arc<Names>,
    processes: Table,
    channels: Table,
    labels: Table,
}

impl Cache {
    pub(super) fn new(names: Arc<Names>) -> Self {
        let [processes, channels, labels] =
            [Kind::Process, Kind::Channel, Kind::Label].map(Table::new);
        Self { names, processes, channels, labels }
    }

    #[inline]
    pub(super) fn process(&mut self, process: Subject<'_>) -> u32 {
        let Self { names, processes, .. } = self;
        processes.place(names, process.id, process.part, process.name)
    }

    #[inline]
    pub(super) fn channel(&mut self, channel: Subject<'_>) -> u32 {
        let Self { names, channels, .. } = self;
        channels.place(names, channel.id, 0, channel.name)
    }

    /// A label that the program has: its place in memory tells it from others.
    pub(super) fn label(&mut self, label: &'static str) -> u32 {
        let Self { names, labels, .. } = self;
        let (id, part) = (label.as_ptr().addr() as u64, label.len() as u64);
        labels.place(names, id, part, &Name::from(label))
    }
}

/// The places of one kind: a hash table in which each stands within [`NEAR`] of where it belongs.
///
/// It doubles when one finds no place there, up to [`LARGEST`]; then the one is replaced that stands where
/// it belongs.
#[derive(Debug)]
struct Table {
    kind: Kind,
    /// A power of two of them, and as many behind the last as are looked at.
    entries: Vec<Entry>,
}

/// The place of one; a number and a part that are 0 both are those of none.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    id: u64,
    part: u64,
    place: u32,
}

/// Entries that are looked at.
const NEAR: usize = 8;
const SMALLEST: usize = 64;
const LARGEST: usize = 1 << 16;

impl Table {
    fn new(kind: Kind) -> Self {
        Self { kind, entries: vec![Entry::default(); SMALLEST + NEAR - 1] }
    }

    /// Where one belongs. Numbers of processes and of channels are mixed; parts are blocks of memory.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask has fewer bits")]
    fn home(&self, id: u64, part: u64) -> usize {
        (id >> 1 ^ part >> 7) as usize & (self.entries.len() - NEAR)
    }

    #[inline]
    fn place(&mut self, names: &Names, id: u64, part: u64, name: &Name) -> u32 {
        match self.entries.get(self.home(id, part)) {
            Some(entry) if (entry.id, entry.part) == (id, part) => entry.place,
            _ => self.place_nearby(names, id, part, name),
        }
    }

    #[inline(never)]
    fn place_nearby(&mut self, names: &Names, id: u64, part: u64, name: &Name) -> u32 {
        let home = self.home(id, part);
        let near = &self.entries[home..home + NEAR];
        if let Some(entry) = near.iter().find(|entry| (entry.id, entry.part) == (id, part)) {
            return entry.place;
        }
        let place = names.place((self.kind, id, part), name);
        let entry = Entry { id, part, place };
        while !self.enter(entry) {
            if !self.grow() {
                let home = self.home(id, part);
                self.entries[home] = entry;
                break;
            }
        }
        place
    }

    /// Enters one, unless there is no room for it.
    fn enter(&mut self, entry: Entry) -> bool {
        let home = self.home(entry.id, entry.part);
        let near = &mut self.entries[home..home + NEAR];
        match near.iter_mut().find(|other| (other.id, other.part) == (0, 0)) {
            Some(free) => *free = entry,
            None => return false,
        }
        true
    }

    /// Doubles it, unless it is as large as it may be.
    fn grow(&mut self) -> bool {
        let homes = 2 * (self.entries.len() - (NEAR - 1));
        if homes > LARGEST {
            return false;
        }
        let before = std::mem::replace(&mut self.entries, vec![Entry::default(); homes + NEAR - 1]);
        for entry in before.into_iter().filter(|entry| (entry.id, entry.part) != (0, 0)) {
            // One that finds no place is asked for again.
            self.enter(entry);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn_report::Identity;

    /// More than a table holds.
    const COUNT: u32 = 1 << 17;

    #[test]
    fn each_has_one_place_however_many_there_are() {
        let names = Arc::new(Names::new());
        let (mut one, mut other) = (Cache::new(Arc::clone(&names)), Cache::new(names));
        let name = Name::from("any");
        let subject = |number: u32| Subject {
            part: u64::from(number % 7) << 7,
            ..Subject::new(&name, Identity::fixed(number))
        };
        // More than a table holds.
        let places: Vec<_> = (0..COUNT).map(|number| one.process(subject(number))).collect();
        for (number, place) in (0..COUNT).zip(&places) {
            assert_eq!(one.process(subject(number)), *place, "{number}");
        }
        let again: Vec<_> = (0..COUNT).rev().map(|number| other.process(subject(number))).collect();
        assert!(again.iter().rev().eq(&places));
        let all: std::collections::BTreeSet<_> = places.into_iter().collect();
        assert_eq!(all.len(), COUNT as usize);
        assert!(one.channel(subject(0)) as usize > COUNT as usize, "a channel is no process");
    }

    #[test]
    fn what_is_met_again_asks_for_no_lock() {
        let names = Arc::new(Names::new());
        let mut cache = Cache::new(Arc::clone(&names));
        let name = Name::from("any");
        let all: Vec<_> =
            (0..3000).map(|number| Subject::new(&name, Identity::fixed(number))).collect();
        // The table grows meanwhile, which leaves out those that find no place.
        for subject in all.iter().chain(&all) {
            cache.process(*subject);
        }
        let _held = names.0.lock();
        for subject in all {
            cache.process(subject);
        }
    }
}
