//! Which is which: parts of processes, channels and labels by number, each once.

use kahn_report::Name;
use kahn_report::observe::Subject;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Deref;

/// So many are told apart; all that come later are one.
const MOST: usize = 1 << 20;

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Other = 0,
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
    /// On which rank it is; 0 in a run on one.
    pub(super) rank: usize,
    /// Whether it moves messages from rank to rank.
    pub(super) is_link: bool,
}

impl Named {
    pub(super) fn new(name: Name, key: Key) -> Self {
        Self { name, key, rank: 0, is_link: false }
    }
}

/// All that events tell of: places in a list, and which of them stood where.
#[derive(Debug)]
pub(super) struct Names(Mutex<Known>);

/// What is known of names.
#[derive(Debug)]
pub(super) struct Known {
    places: BTreeMap<Key, u32>,
    list: Vec<Named>,
    /// By address: since when which place, in the order of time.
    stood: BTreeMap<usize, Vec<(u64, u32)>>,
}

/// What stands at place 0: all that are too many, and none.
pub(super) const OTHERS: u32 = 0;

const NO_KEY: Key = (Kind::Other, 0, 0);

/// What stands at place 0.
pub(super) fn others() -> Named {
    Named::new(Name::from("others"), NO_KEY)
}

impl Names {
    pub(super) fn new() -> Self {
        let (places, list) = (BTreeMap::new(), vec![others()]);
        Self(Mutex::new(Known { places, list, stood: BTreeMap::new() }))
    }

    /// A process or a channel stands at this address since then.
    pub(super) fn stands_at(&self, kind: Kind, address: usize, since: u64, subject: Subject<'_>) {
        let mut known = self.0.lock();
        let place = known.place((kind, subject.id, subject.part), subject.name);
        let stood = known.stood.entry(address).or_default();
        // Threads read the clock before they come here, in whatever order.
        let before = stood.partition_point(|&(other, _)| other <= since);
        if before == 0 || stood[before - 1].1 != place {
            stood.insert(before, (since, place));
        }
    }

    /// The place of a label that the program has: where it stands tells it from others.
    pub(super) fn label(&self, label: &'static str) -> u32 {
        let key = (Kind::Label, label.as_ptr().addr() as u64, label.len() as u64);
        self.0.lock().place(key, &Name::from(label))
    }

    /// What is known now.
    pub(super) fn known(&self) -> impl Deref<Target = Known> {
        self.0.lock()
    }
}

impl Known {
    fn place(&mut self, key: Key, name: &Name) -> u32 {
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let place = self.list.len();
        if place >= MOST {
            return OTHERS;
        }
        self.list.push(Named::new(name.clone(), key));
        let place = u32::try_from(place).unwrap_or(OTHERS);
        self.places.insert(key, place);
        place
    }

    /// What stood at an address then.
    pub(super) fn find(&self, address: usize, then: u64) -> u32 {
        let Some(stood) = self.stood.get(&address) else { return OTHERS };
        let before = stood.partition_point(|&(since, _)| since <= then);
        before.checked_sub(1).map_or(OTHERS, |last| stood[last].1)
    }

    /// All, by place.
    pub(super) fn list(&self) -> &[Named] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn_report::Identity;

    #[test]
    fn each_has_one_place_and_is_found_where_it_stood() {
        let names = Names::new();
        let name = Name::from("any");
        let subject = |number: u32| Subject::new(&name, Identity::fixed(number));
        // Blocks are recycled, and some are told late.
        for since in [0, 2, 4, 6, 3, 5, 1, 7] {
            names.stands_at(
                Kind::Process,
                64,
                since,
                subject(u32::try_from(since / 2).expect("few")),
            );
        }
        names.stands_at(Kind::Channel, 128, 3, subject(0));
        let known = names.known();
        let found: Vec<_> = (0..8).map(|then| known.find(64, then)).collect();
        assert_eq!(found, [1, 1, 2, 2, 3, 3, 4, 4]);
        assert_eq!(
            (known.find(128, 2), known.find(128, 3)),
            (OTHERS, 5),
            "a channel is no process"
        );
        assert_eq!(known.find(192, 9), OTHERS);
        assert_eq!(known.list().len(), 6);
    }

    #[test]
    fn those_that_are_too_many_are_others() {
        let names = Names::new();
        let name = Name::from("any");
        for number in 0..u32::try_from(MOST).expect("few") + 3 {
            let subject = Subject::new(&name, Identity::fixed(number));
            names.stands_at(Kind::Process, 64, number.into(), subject);
        }
        let known = names.known();
        assert_eq!(known.find(64, MOST as u64 - 2), u32::try_from(MOST).expect("few") - 1);
        assert_eq!(known.find(64, MOST as u64 + 2), OTHERS, "not the one before it");
    }
}
