//! What the ring of one thread has kept, by names, up to one moment.

use super::event::Event;
use super::names::{Known, OTHERS};
use kahn_report::log::{self, Record, What};

/// What was read.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) rank: usize,
    pub(super) worker: Option<usize>,
    pub(super) events: Vec<Event>,
    /// Events that were written over before.
    pub(super) lost: u64,
    /// The process that runs now, and since when.
    pub(super) running: Option<(u32, u64)>,
}

impl Kept {
    /// What was kept, by the names that were known after it was read.
    pub(super) fn of(kept: log::Written, known: &Known) -> Self {
        let log::Written { worker, records, mut lost, running } = kept;
        let mut records = &records[..];
        if let [first, rest @ ..] = records
            && lost > 0
            && first.what.is_slice()
        {
            // Of how much of it was put aside the record may be lost.
            records = rest;
            lost += 1;
        }
        let events = events(records, &mut 0, known);
        let running = running.map(|(process, since)| (known.find(process, since), since));
        Self { rank: 0, worker, events, lost, running }
    }

    /// What was so at a moment before it was read: rings are read one after the other, and a process that
    /// one of them tells to run may have run in another since.
    pub(super) fn at(mut self, moment: u64) -> Self {
        let goes_on =
            |event: &&Event| event.what.is_slice() && event.at <= moment && event.second > moment;
        if let Some(cut) = self.events.iter().find(goes_on) {
            self.running = Some((cut.process, cut.at));
        }
        self.events.retain(|event| event.known_at() <= moment);
        self.running = self.running.filter(|&(_, since)| since <= moment);
        self
    }
}

/// Records by names; `aside` is for how long the thread was put aside in the slice that comes next.
pub(super) fn events(records: &[Record], aside: &mut u64, known: &Known) -> Vec<Event> {
    let mut events = Vec::with_capacity(records.len());
    for record in records {
        match record.what {
            What::PutAside => *aside = record.second,
            _ => events.push(event(*record, std::mem::take(aside), known)),
        }
    }
    events
}

fn event(record: Record, aside: u64, known: &Known) -> Event {
    let Record { what, at, number, .. } = record;
    let known_at = record.known_at();
    let find = |address| known.find(address, known_at);
    let (process, mut channel) = (find(record.process), find(record.channel));
    let (mut second, mut ran) = (record.second, 0);
    match what {
        What::WokenForMessage | What::WokenForRoom | What::WokenForPartner => {
            let by = usize::try_from(second).map_or(OTHERS, find);
            second = by.into();
        }
        What::Mark => channel = u32::try_from(second).unwrap_or(OTHERS),
        what if what.is_slice() => ran = (second - at).saturating_sub(aside),
        _ => {}
    }
    Event { what, process, channel, at, second, ran, number }
}

#[cfg(test)]
mod tests {
    use super::super::names::{Kind, Names};
    use super::*;
    use kahn_report::log::{Ring, Wait};
    use kahn_report::observe::{Slice, Subject};
    use kahn_report::{Identity, Name};

    fn rest(ring: &Ring, from: u64, until: u64, ran: u64) {
        ring.begin(64, from);
        let slice = Slice { from, until, ran };
        ring.rest(64, slice, Wait::nowhere(What::UntilGivesWay));
    }

    #[test]
    fn what_is_kept_is_cut_at_one_moment() {
        let (ring, names) = (Ring::new(None, 8, false), Names::new());
        let name = Name::from("any");
        names.stands_at(Kind::Process, 64, 0, Subject::new(&name, Identity::fixed(3)));
        for number in 0..4 {
            rest(&ring, 10 * number, 10 * number + 5, 5);
        }
        ring.begin(64, 40);
        let at = |moment| {
            let kept = Kept::of(ring.read(), &names.known()).at(moment);
            (kept.events.len(), kept.running)
        };
        assert_eq!(at(50), (4, Some((1, 40))));
        assert_eq!(at(37), (4, None));
        assert_eq!(at(32), (3, Some((1, 30))));
    }

    #[test]
    fn what_a_thread_was_put_aside_for_is_taken_off_the_slice_behind() {
        let (ring, names) = (Ring::new(None, 4, false), Names::new());
        let ran = || {
            let kept = Kept::of(ring.read(), &names.known());
            (kept.events.iter().map(|event| event.ran).collect::<Vec<_>>(), kept.lost)
        };
        rest(&ring, 10, 20, 3);
        rest(&ring, 30, 40, 10);
        assert_eq!(ran(), (vec![3, 10], 0));
        // The ring has three whole records: two slices, and how much of a third was put aside.
        rest(&ring, 50, 60, 4);
        rest(&ring, 70, 80, 10);
        assert_eq!(ran(), (vec![4, 10], 3));
        // Now the first of three is a slice of which that is lost.
        rest(&ring, 90, 100, 10);
        assert_eq!(ran(), (vec![10, 10], 5));
    }

    #[test]
    fn what_is_read_a_part_at_a_time_is_all_but_what_is_told_to_be_lost() {
        let ring = Ring::new(Some(3), 8, false);
        let (mut next, mut numbers, mut lost) = (0, Vec::new(), 0);
        // The third time more are written than there are places.
        for until in [5, 5, 12, 30, 33] {
            for number in next..until {
                ring.push(Record {
                    what: What::Mark,
                    process: 1,
                    channel: 2,
                    at: number,
                    second: 0,
                    number,
                });
            }
            let kept = ring.read_from(next);
            next += kept.lost + kept.records.len() as u64;
            lost += kept.lost;
            numbers.extend(kept.records.iter().map(|record| record.number));
            assert_eq!(next, until);
        }
        let expected: Vec<_> = (0..12).chain(23..33).collect();
        assert_eq!((numbers, lost), (expected, 11));
    }
}
