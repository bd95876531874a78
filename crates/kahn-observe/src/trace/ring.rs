//! The last events of one thread, which another may read at any time.
//!
//! One thread writes ([`Ring::push`]); any may read ([`Ring::read`]), while it does.
//!
//! | step of the writer, event number *n* of a ring of *N* places | order |
//! |---|---|
//! | fence | Release: event *n* − 1 was counted before a word of *n* is written |
//! | five stores into place *n* mod *N* | Relaxed |
//! | `written` = *n* + 1 | Release: the words of *n* before it |
//!
//! | step of a reader | order |
//! |---|---|
//! | *a* = `written` | Acquire: all words of events below *a* were written |
//! | loads of the places of events *a* − *N* to *a* | Relaxed |
//! | fence; *b* = `written` | Acquire |
//! | takes those from *b* − *N* + 1 on | |
//!
//! *No event is torn.* A reader takes event *i* with *a* − *N* ≤ *i* < *a*. All its words were written
//! before `written` became *i* + 1 ≤ *a*, so by the first load it reads them or later ones. A later
//! word is one of event *i* + *N*, whose writer passed its fence when `written` was *i* + *N*. If a reader
//! loads such a word, its fence and the writer's synchronise, so *b* ≥ *i* + *N*; and then *i* is below
//! *b* − *N* + 1 and not taken.
//!
//! What runs now stands beside it, written likewise: `since` is 0 while the process is changed. It grows
//! from slice to slice, so a reader that finds the same `since` before and after has read its process.

use super::event::{Event, WORDS};
use std::sync::atomic::Ordering::*;
use std::sync::atomic::{AtomicU64, fence};

/// The last events of one thread.
#[derive(Debug)]
pub(super) struct Ring {
    /// The worker that writes; none is the thread of a process, or one outside of the run.
    pub(super) worker: Option<usize>,
    places: Box<[[AtomicU64; WORDS]]>,
    written: AtomicU64,
    since: AtomicU64,
    runs: AtomicU64,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) worker: Option<usize>,
    pub(super) events: Vec<Event>,
    /// Events that were written over before.
    pub(super) lost: u64,
    /// The process that runs now, and since when.
    pub(super) running: Option<(u32, u64)>,
}

impl Kept {
    /// What was so at a moment before it was read: rings are read one after the other, and a process that
    /// one of them tells to run may have run in another since.
    pub(super) fn at(mut self, moment: u64) -> Self {
        let goes_on =
            |event: &&Event| event.is_slice() && event.at <= moment && event.second > moment;
        if let Some(cut) = self.events.iter().find(goes_on) {
            self.running = Some((cut.process, cut.at));
        }
        self.events.retain(|event| event.known_at() <= moment);
        self.running = self.running.filter(|&(_, since)| since <= moment);
        self
    }
}

impl Ring {
    /// Makes one of so many places: a power of two.
    pub(super) fn new(worker: Option<usize>, places: usize) -> Self {
        let places = places.max(1).next_power_of_two();
        Self {
            worker,
            places: (0..places).map(|_| Default::default()).collect(),
            written: AtomicU64::new(0),
            since: AtomicU64::new(0),
            runs: AtomicU64::new(0),
        }
    }

    /// Writes an event down. The one thread that writes calls this.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask has fewer bits")]
    pub(super) fn push(&self, event: Event) {
        let number = self.written.load(Relaxed);
        fence(Release);
        let place = &self.places[number as usize & (self.places.len() - 1)];
        for (place, word) in place.iter().zip(event.words()) {
            place.store(word, Relaxed);
        }
        self.written.store(number + 1, Release);
    }

    /// The thread that writes begins to run a process.
    #[inline]
    pub(super) fn begin(&self, process: u32, since: u64) {
        self.since.store(0, Relaxed);
        fence(Release);
        self.runs.store(process.into(), Relaxed);
        self.since.store(since, Release);
    }

    /// The thread that writes runs nothing any more.
    #[inline]
    pub(super) fn end(&self) {
        self.since.store(0, Release);
    }

    /// The process that runs, as far as the thread that writes is asked; and since when, or 0.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it was a u32")]
    pub(super) fn own(&self) -> (u32, u64) {
        (self.runs.load(Relaxed) as u32, self.since.load(Relaxed))
    }

    /// Reads what is kept.
    #[expect(clippy::cast_possible_truncation, reason = "the mask has fewer bits")]
    pub(super) fn read(&self) -> Kept {
        // First: a slice that ends meanwhile is then among the events, and cut off there.
        let running = self.running();
        let most = self.places.len() as u64;
        let end = self.written.load(Acquire);
        let start = end.saturating_sub(most);
        let copies: Vec<_> = (start..end)
            .map(|number| {
                let place = &self.places[number as usize & (self.places.len() - 1)];
                (number, [0, 1, 2, 3, 4].map(|word: usize| place[word].load(Relaxed)))
            })
            .collect();
        fence(Acquire);
        let after = self.written.load(Acquire);
        let first = if after < most { 0 } else { after - most + 1 };
        // If nothing was written meanwhile, nothing was being written but perhaps the next one.
        let first = first.max(start);
        let events = copies.into_iter().filter(|(number, _)| *number >= first);
        let events: Vec<_> = events.filter_map(|(_, words)| Event::of(words)).collect();
        let lost = end - events.len() as u64;
        Kept { worker: self.worker, events, lost, running }
    }

    fn running(&self) -> Option<(u32, u64)> {
        let since = self.since.load(Acquire);
        let process = u32::try_from(self.runs.load(Relaxed)).ok()?;
        fence(Acquire);
        let is_same = self.since.load(Relaxed) == since;
        (is_same && since > 0).then_some((process, since))
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::What;
    use super::*;
    use std::sync::Arc;

    fn event(number: u64) -> Event {
        Event {
            what: What::Mark,
            process: 1,
            channel: 2,
            at: number,
            second: number,
            ran: number,
            number,
        }
    }

    #[test]
    fn a_ring_keeps_the_last_and_counts_the_others() {
        let ring = Ring::new(Some(3), 8);
        for number in 0..7 {
            ring.push(event(number));
        }
        let kept = ring.read();
        assert_eq!((kept.events.len(), kept.lost), (7, 0));
        for number in 7..100 {
            ring.push(event(number));
        }
        let kept = ring.read();
        let numbers: Vec<_> = kept.events.iter().map(|event| event.number).collect();
        assert_eq!(numbers, (93..100).collect::<Vec<_>>(), "one place may be being written");
        assert_eq!(kept.lost, 93);
    }

    #[test]
    fn what_is_kept_is_cut_at_one_moment() {
        let ring = Ring::new(None, 8);
        for number in 0..4 {
            let (at, second) = (10 * number, 10 * number + 5);
            ring.push(Event { what: What::UntilGivesWay, at, second, ..event(number) });
        }
        ring.begin(1, 40);
        let at = |moment| {
            let kept = ring.read().at(moment);
            (kept.events.len(), kept.running)
        };
        assert_eq!(at(50), (4, Some((1, 40))));
        assert_eq!(at(37), (4, None));
        assert_eq!(at(32), (3, Some((1, 30))));
    }

    #[test]
    fn what_is_read_while_another_thread_writes_is_whole_and_in_order() {
        let ring = Arc::new(Ring::new(None, 16));
        let theirs = Arc::clone(&ring);
        let writer = std::thread::Builder::new().spawn(move || {
            for number in 1..200_000_u32 {
                theirs.begin(number, number.into());
                theirs.push(event(number.into()));
                theirs.end();
            }
        });
        let writer = writer.expect("the system has threads");
        while !writer.is_finished() {
            let kept = ring.read();
            if let Some((process, since)) = kept.running {
                assert_eq!(u64::from(process), since);
            }
            for event in &kept.events {
                assert!(event.at == event.number && event.ran == event.number, "{event:?}");
                assert_eq!(event.second, event.number);
            }
            let follow = |pair: &[Event]| pair[0].number + 1 == pair[1].number;
            assert!(kept.events.windows(2).all(follow));
            assert!(kept.lost + kept.events.len() as u64 <= 199_999);
        }
        writer.join().expect("it writes");
    }
}
