//! What is left when nothing can go on any more: which process waits for which, and which has not read
//! to the end.
//!
//! A dead process waits for another, and so on, until the waits come round: they are trees that grow
//! on rings. Whether one process waits for another through others is told by numbers that each gets
//! when its tree is walked, so that a report of very many takes no longer than it must.

use crate::channel::raw::{End, flag};
use crate::channel::table::ChannelTable;
use crate::deadlock::walk::edge_of;
use crate::deadlock::{is_dead, is_told};
use kahn_engine::Scheduler;
use kahn_report::Identity;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A run in which nothing can go on.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    /// Those that have not ended and are told of, in the order of their identities.
    pub(super) processes: Vec<Identity>,
    pub(super) readers: Vec<LeftChannel>,
    /// Which process each dead one waits for.
    pub(super) waits: BTreeMap<Identity, Identity>,
    dead: BTreeMap<Identity, Place>,
}

/// A channel that is left, and what holds its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeftChannel {
    pub(super) channel: Identity,
    /// The process that sends, or did last.
    pub(super) writer: Option<Identity>,
    pub(super) reader: Option<Identity>,
    /// The reader has neither seen the end nor left.
    pub(super) reads: bool,
    /// The writer has the sender still, or held it last.
    pub(super) is_last: bool,
    /// The writer has the sender still.
    pub(super) is_open: bool,
}

/// Where a dead process stands among the waits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The first of the ring that its waits lead to.
    ring: Identity,
    is_in_ring: bool,
    /// Its own number, and those of all that wait for it through others.
    tree: Range<usize>,
}

impl Left {
    /// Looks at all that is left. No process runs.
    pub(super) fn new(scheduler: &Scheduler, channels: &ChannelTable) -> Self {
        // While both tables are locked nothing is recycled.
        let table = scheduler.table.lock();
        let channels = channels.hold();
        let mut left = table.all();
        left.retain(|task| !task.has_ended());
        let waits = left.iter().filter(|task| is_dead(**task)).filter_map(|&task| {
            let peer = edge_of(task)?.peer()?;
            Some((task.info().identity, peer.info().identity))
        });
        let waits = waits.collect();
        let readers = channels.all().into_iter().map(|channel| {
            let owner = |end| channel.owner(end).map(|owner| owner.info().identity);
            LeftChannel {
                channel: channel.label().identity,
                writer: owner(End::Sender),
                reader: owner(End::Receiver),
                reads: !channel.seen(End::Receiver).is_closed() && !channel.has_flag(flag::SEEN),
                is_last: !channel.seen(End::Sender).is_closed() || channel.was_last(),
                is_open: !channel.seen(End::Sender).is_closed(),
            }
        });
        let readers = readers.collect();
        let told = left.iter().filter(|task| is_told(**task));
        let mut processes: Vec<_> = told.map(|task| task.info().identity).collect();
        processes.sort_unstable();
        Self::of(processes, readers, waits)
    }

    /// What is left, if these are.
    pub(super) fn of(
        processes: Vec<Identity>,
        readers: Vec<LeftChannel>,
        waits: BTreeMap<Identity, Identity>,
    ) -> Self {
        let dead = places(&waits);
        Self { processes, readers, waits, dead }
    }

    /// Writers, each with a reader that would read on if that writer did.
    pub(super) fn read_on(&self) -> impl Iterator<Item = (Identity, Identity)> {
        let readers = self.readers.iter().filter(|channel| channel.reads && channel.is_last);
        let readers = readers.filter_map(|channel| channel.writer.zip(channel.reader));
        readers.filter(|(writer, reader)| !self.is_dead_without(*reader, *writer))
    }

    /// The processes that are left and have a sender: what reads them is known, whatever else is.
    pub(super) fn senders(&self) -> impl Iterator<Item = Identity> {
        let open = self.readers.iter().filter(|channel| channel.is_open);
        let writers = open.filter_map(|channel| channel.writer);
        writers.filter(|writer| self.processes.binary_search(writer).is_ok())
    }

    /// Tells of those that are left, in their order, but for those of which nothing is to be told.
    pub(super) fn tell<T>(&self, all: &mut Vec<T>, is_untold: impl Fn(&Identity) -> bool) {
        if all.len() == self.processes.len() {
            let mut processes = self.processes.iter();
            all.retain(|_| !processes.next().is_some_and(&is_untold));
        }
    }

    /// Whether `process` is dead, and would be if `other` went on.
    fn is_dead_without(&self, process: Identity, other: Identity) -> bool {
        let Some(place) = self.dead.get(&process) else { return false };
        self.dead.get(&other).is_none_or(|other| {
            if other.is_in_ring {
                other.ring != place.ring
            } else {
                !other.tree.contains(&place.tree.start)
            }
        })
    }
}

/// Walks the waits, each once.
fn places(waits: &BTreeMap<Identity, Identity>) -> BTreeMap<Identity, Place> {
    let mut waiting: BTreeMap<Identity, Vec<Identity>> = BTreeMap::new();
    for (process, awaited) in waits {
        waiting.entry(*awaited).or_default().push(*process);
    }
    let mut places = BTreeMap::new();
    let mut next = 0;
    for ring in rings(waits) {
        let members: BTreeSet<_> = ring.iter().collect();
        let mut open: Vec<(Identity, bool)> =
            ring.iter().map(|process| (*process, false)).collect();
        while let Some((process, is_done)) = open.pop() {
            if is_done {
                let place: Option<&mut Place> = places.get_mut(&process);
                if let Some(place) = place {
                    place.tree.end = next;
                }
                continue;
            }
            let is_in_ring = members.contains(&process);
            places.insert(process, Place { ring: ring[0], is_in_ring, tree: next..next });
            next += 1;
            open.push((process, true));
            let those = waiting.get(&process).into_iter().flatten();
            open.extend(
                those.filter(|other| !members.contains(other)).map(|other| (*other, false)),
            );
        }
    }
    places
}

/// The rings of waits.
pub(super) fn rings(waits: &BTreeMap<Identity, Identity>) -> Vec<Vec<Identity>> {
    let mut walked: BTreeMap<Identity, Identity> = BTreeMap::new();
    let mut rings = Vec::new();
    for &start in waits.keys() {
        let (mut at, mut track) = (start, Vec::new());
        while !walked.contains_key(&at)
            && let Some(&next) = waits.get(&at)
        {
            walked.insert(at, start);
            track.push(at);
            at = next;
        }
        if walked.get(&at) == Some(&start)
            && let Some(first) = track.iter().position(|process| *process == at)
        {
            rings.push(track.split_off(first));
        }
    }
    rings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dead_through_others_is_what_a_walk_along_the_waits_finds() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for count in [1, 2, 3, 9, 30] {
            for _ in 0..50 {
                let one = |number| Identity::fixed(u32::try_from(number).unwrap_or(0));
                let waits: BTreeMap<_, _> =
                    (0..count).map(|process| (one(process), one(draw(count)))).collect();
                let left = Left::of(Vec::new(), Vec::new(), waits.clone());
                for &process in waits.keys() {
                    for &other in waits.keys() {
                        let mut at = process;
                        let meets = (0..=count).any(|_| {
                            let is_met = at == other;
                            at = waits[&at];
                            is_met
                        });
                        assert_eq!(left.is_dead_without(process, other), !meets, "{waits:?}");
                    }
                }
                assert!(!left.is_dead_without(one(count), one(0)), "it is not known");
            }
        }
    }
}
