//! What threads write down of a run themselves, for one that reads it later: the last of each thread, in a
//! ring that any other may read meanwhile.
//!
//! One thread writes ([`Ring::push`]); any may read ([`Ring::read`]), while it does.
//!
//! | step of the writer, record number *n* of a ring of *N* places | order |
//! |---|---|
//! | fence | Release: record *n* − 1 was counted before a word of *n* is written |
//! | five stores into place *n* mod *N* | Relaxed |
//! | `written` = *n* + 1 | Release: the words of *n* before it |
//!
//! | step of a reader | order |
//! |---|---|
//! | *a* = `written` | Acquire: all words of records below *a* were written |
//! | loads of the places of records *a* − *N* to *a* | Relaxed |
//! | fence; *b* = `written` | Acquire |
//! | takes those from *b* − *N* + 1 on | |
//!
//! *No record is torn.* A reader takes record *i* with *a* − *N* ≤ *i* < *a*. All its words were written
//! before `written` became *i* + 1 ≤ *a*, so by the first load it reads them or later ones. A later
//! word is one of record *i* + *N*, whose writer passed its fence when `written` was *i* + *N*. If a reader
//! loads such a word, its fence and the writer's synchronise, so *b* ≥ *i* + *N*; and then *i* is below
//! *b* − *N* + 1 and not taken.
//!
//! What runs now stands beside it, written likewise: `since` is 0 while the process is changed. It grows
//! from slice to slice, so a reader that finds the same `since` before and after has read its process.
//!
//! A record names a process and a channel by where they stand in memory, which takes no look-up. Another may
//! stand there later, so a [`Log`] is told what stands where, and since when.

use crate::slice::Slice;
use crate::subject::Subject;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::sync::atomic::{AtomicU64, fence};

/// Has the rings of a run, and is told which process and which channel stands where.
///
/// An [`Observer`](crate::observe::Observer) that returns one is told less: what a ring has a record for is
/// written there, and told by calls only if that is asked for as well.
///
/// # Examples
///
/// How often processes ran:
///
/// ```
/// use kahn::observe::{Observer, Subject, Wants};
/// use kahn::{Network, Options};
/// use kahn_report::log::{Log, Ring};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Debug, Default)]
/// struct Rings(Mutex<Vec<Arc<Ring>>>);
/// impl Log for Rings {
///     fn ring(&self, worker: Option<usize>) -> Arc<Ring> {
///         let ring = Arc::new(Ring::new(worker, 1000, self.keeps_messages()));
///         self.0.lock().expect("no other thread panics").push(Arc::clone(&ring));
///         ring
///     }
///     fn process(&self, _address: usize, _since: u64, _process: Subject<'_>) {}
///     fn channel(&self, _address: usize, _since: u64, _channel: Subject<'_>) {}
///     fn mark(&self, _ring: &Ring, _at: u64, _label: &'static str, _number: u64) {}
///     fn keeps_messages(&self) -> bool {
///         false
///     }
/// }
///
/// struct Ran(Arc<Rings>);
/// impl Observer for Ran {
///     fn log(&self) -> Option<Arc<dyn Log>> {
///         Some(Arc::clone(&self.0) as Arc<dyn Log>)
///     }
///     fn wants(&self) -> Wants {
///         Wants { messages: true, ..Wants::NOTHING }
///     }
/// }
///
/// let rings = Arc::new(Rings::default());
/// let mut network = Network::new();
/// network.process("one", (), async |()| {});
/// let observer = Arc::new(Ran(Arc::clone(&rings)));
/// network.run_with(Options::new().workers(1).observer(observer))?;
/// let rings = rings.0.lock().expect("no other thread panics");
/// let records = rings.iter().flat_map(|ring| ring.read().records);
/// assert_eq!(records.filter(|record| record.what.is_slice()).count(), 1);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Log: Send + Sync + fmt::Debug {
    /// Returns the ring of the thread that asks, which is this worker; none is the thread of a process, or
    /// one outside of the network. Asked once, before the first record.
    fn ring(&self, worker: Option<usize>) -> Arc<Ring>;

    /// Tells that a process stands at this address since then. It may be told again.
    fn process(&self, address: usize, since: u64, process: Subject<'_>);

    /// Tells that a channel stands at this address since then.
    fn channel(&self, address: usize, since: u64, channel: Subject<'_>);

    /// Writes down that the process of a ring has marked this moment.
    fn mark(&self, ring: &Ring, at: u64, label: &'static str, number: u64);

    /// Returns whether messages are to be written down, and not only what processes do.
    fn keeps_messages(&self) -> bool;
}

/// What happened.
///
/// # Examples
///
/// ```
/// use kahn_report::log::What;
///
/// assert!(What::UntilRoom.is_slice() && !What::Sent.is_slice());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// A slice, after which the process waits for a message.
    UntilMessage = 1,
    /// … for room.
    UntilRoom,
    /// … for another process, which is to come to the same channel.
    UntilPartner,
    /// … gives way.
    UntilGivesWay,
    /// … waits outside, or for another part of itself.
    UntilOtherwise,
    /// … has returned.
    UntilGood,
    /// For so many ticks of the slice that the thread writes next it did not run.
    PutAside,
    /// A wait for a message is over: the process is the one that waited.
    WokenForMessage,
    /// … for room.
    WokenForRoom,
    /// … for a partner.
    WokenForPartner,
    /// The process is dropped.
    Dropped,
    /// The process sent messages.
    Sent,
    /// The process received messages.
    Received,
    /// The program has marked the moment.
    Mark,
}

impl What {
    const ALL: [Self; 14] = [
        Self::UntilMessage,
        Self::UntilRoom,
        Self::UntilPartner,
        Self::UntilGivesWay,
        Self::UntilOtherwise,
        Self::UntilGood,
        Self::PutAside,
        Self::WokenForMessage,
        Self::WokenForRoom,
        Self::WokenForPartner,
        Self::Dropped,
        Self::Sent,
        Self::Received,
        Self::Mark,
    ];

    /// Returns whether it is a slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::log::What;
    ///
    /// assert!(What::UntilGood.is_slice());
    /// ```
    pub fn is_slice(self) -> bool {
        (self as u8) <= Self::UntilGood as u8
    }
}

/// One thing that happened.
///
/// | field | of a slice | of a wake | of messages | of a mark |
/// |---|---|---|---|---|
/// | `at` | when it began | when | when | when |
/// | `second` | when it ended | the process that ended the wait | how many | the label |
/// | `number` | the message that the process waits for | the same | the first of them | the user's |
///
/// # Examples
///
/// ```
/// use kahn_report::log::{Record, Ring, What};
///
/// let record =
///     Record { what: What::Sent, process: 64, channel: 128, at: 10, second: 2, number: 5 };
/// let ring = Ring::new(Some(0), 8, true);
/// ring.push(record);
/// assert_eq!(ring.read().records, [record]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What happened.
    pub what: What,
    /// Where the process stands, or 0.
    pub process: usize,
    /// Where the channel stands, or 0.
    pub channel: usize,
    /// When, in ticks.
    pub at: u64,
    /// See above.
    pub second: u64,
    /// See above.
    pub number: u64,
}

const WORDS: usize = 5;
/// Addresses of programs are shorter.
const KIND: u32 = 56;

impl Record {
    /// Returns when it was written down.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::log::{Record, What};
    ///
    /// let what = What::UntilGood;
    /// let slice = Record { what, process: 64, channel: 0, at: 10, second: 12, number: 0 };
    /// assert_eq!(slice.known_at(), 12);
    /// ```
    pub fn known_at(self) -> u64 {
        if self.what.is_slice() { self.second } else { self.at }
    }

    #[inline]
    fn words(self) -> [u64; WORDS] {
        let first = u64::from(self.what as u8) << KIND | self.process as u64;
        [first, self.at, self.second, self.number, self.channel as u64]
    }

    /// What [`words`](Self::words) were made of; none of a place that was never written.
    fn of([first, at, second, number, channel]: [u64; WORDS]) -> Option<Self> {
        let kind = usize::try_from(first >> KIND).ok()?;
        let what = *What::ALL.get(kind.checked_sub(1)?)?;
        let process = usize::try_from(first & ((1 << KIND) - 1)).ok()?;
        let channel = usize::try_from(channel).ok()?;
        Some(Self { what, process, channel, at, second, number })
    }
}

/// Where a process waits, as far as a record tells it: for what, at which channel, for which message.
///
/// # Examples
///
/// ```
/// use kahn_report::log::{Wait, What};
///
/// let wait = Wait { until: What::UntilMessage, channel: 128, number: 7 };
/// assert!(wait.until.is_slice());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// How the slice before it is told.
    pub until: What,
    /// Where the channel stands, or 0.
    pub channel: usize,
    /// Which message.
    pub number: u64,
}

impl Wait {
    /// Makes one that is told without a channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::log::{Wait, What};
    ///
    /// assert_eq!(Wait::nowhere(What::UntilGood).channel, 0);
    /// ```
    #[inline]
    pub fn nowhere(until: What) -> Self {
        Self { until, channel: 0, number: 0 }
    }

    /// How its end is told, if it is.
    #[inline]
    fn woken(self) -> Option<What> {
        match self.until {
            What::UntilMessage => Some(What::WokenForMessage),
            What::UntilRoom => Some(What::WokenForRoom),
            What::UntilPartner => Some(What::WokenForPartner),
            _ => None,
        }
    }
}

/// The last records of one thread.
///
/// One thread at a time calls the functions that write. Any may [`read`](Self::read).
///
/// # Examples
///
/// ```
/// use kahn_report::log::{Ring, Wait, What};
/// use kahn_report::observe::Slice;
///
/// let ring = Ring::new(Some(0), 8, false);
/// ring.begin(64, 10);
/// ring.rest(64, Slice { from: 10, until: 15, ran: 5 }, Wait::nowhere(What::UntilGivesWay));
/// ring.begin(192, 16);
/// let kept = ring.read();
/// assert_eq!((kept.records.len(), kept.running), (1, Some((192, 16))));
/// ```
#[derive(Debug)]
pub struct Ring {
    worker: Option<usize>,
    keeps_messages: bool,
    places: Box<[[AtomicU64; WORDS]]>,
    written: AtomicU64,
    since: AtomicU64,
    runs: AtomicU64,
    /// When the last slice ended.
    rested: AtomicU64,
}

/// What was read of a ring.
///
/// # Examples
///
/// ```
/// use kahn_report::log::Ring;
///
/// let kept = Ring::new(Some(3), 8, false).read();
/// assert_eq!((kept.worker, kept.lost), (Some(3), 0));
/// ```
#[derive(Debug)]
pub struct Written {
    /// The worker that wrote.
    pub worker: Option<usize>,
    /// The last records, in their order.
    pub records: Vec<Record>,
    /// Records that were written over before.
    pub lost: u64,
    /// Where the process stands that runs now, and since when.
    pub running: Option<(usize, u64)>,
}

impl Ring {
    /// Makes one of so many places, up to the next power of two.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::log::Ring;
    ///
    /// assert_eq!(Ring::new(None, 8, true).worker(), None);
    /// ```
    pub fn new(worker: Option<usize>, places: usize, keeps_messages: bool) -> Self {
        let places = places.max(1).next_power_of_two();
        Self {
            worker,
            keeps_messages,
            places: (0..places).map(|_| Default::default()).collect(),
            written: AtomicU64::new(0),
            since: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            rested: AtomicU64::new(0),
        }
    }

    /// Returns the worker that writes; none is the thread of a process, or one outside.
    pub fn worker(&self) -> Option<usize> {
        self.worker
    }

    /// Returns whether messages are to be written down.
    #[inline]
    pub fn keeps_messages(&self) -> bool {
        self.keeps_messages
    }

    /// Makes it one of another thread, if the one that wrote is gone.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::log::Ring;
    ///
    /// let mut ring = Ring::new(None, 8, false);
    /// ring.begin(64, 10);
    /// ring.hand_on();
    /// assert_eq!(ring.runs(), None);
    /// ```
    pub fn hand_on(&mut self) {
        *self.since.get_mut() = 0;
        *self.rested.get_mut() = 0;
    }

    /// Writes a record down.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask has fewer bits")]
    pub fn push(&self, record: Record) {
        let number = self.written.load(Relaxed);
        fence(Release);
        let place = &self.places[number as usize & (self.places.len() - 1)];
        for (place, word) in place.iter().zip(record.words()) {
            place.store(word, Relaxed);
        }
        self.written.store(number + 1, Release);
    }

    /// Tells that the thread begins to run a process.
    #[inline]
    pub fn begin(&self, process: usize, since: u64) {
        self.since.store(0, Relaxed);
        fence(Release);
        self.runs.store(process as u64, Relaxed);
        self.since.store(since, Release);
    }

    /// Tells that the thread runs the process no more.
    #[inline]
    pub fn rest(&self, process: usize, slice: Slice, wait: Wait) {
        let Slice { from, until, .. } = slice;
        if slice.put_aside() > 0 {
            self.put_aside(process, slice);
        }
        let Wait { until: what, channel, number } = wait;
        self.push(Record { what, process, channel, at: from, second: until, number });
        self.rested.store(until, Relaxed);
        self.since.store(0, Release);
    }

    #[cold]
    fn put_aside(&self, process: usize, slice: Slice) {
        let (what, second) = (What::PutAside, slice.put_aside());
        self.push(Record { what, process, channel: 0, at: slice.from, second, number: 0 });
    }

    /// Tells that the thread has ended the wait of a process, by what another did, or by itself; `now` reads
    /// the clock.
    #[inline]
    pub fn wake(&self, process: usize, wait: Wait, by: usize, now: impl FnOnce() -> u64) {
        let Some(what) = wait.woken() else { return };
        // What a process did becomes visible right behind its slice: then the time is the end of that.
        let (runs, since) = (self.runs.load(Relaxed), self.since.load(Relaxed));
        let is_just_over = since == 0 && runs == by as u64 && by != 0;
        let at = if is_just_over { self.rested.load(Relaxed) } else { now() };
        let Wait { channel, number, .. } = wait;
        self.push(Record { what, process, channel, at, second: by as u64, number });
    }

    /// Tells that so many messages of a channel were sent or received for the process that runs or ran last.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it was an address")]
    pub fn messages(
        &self,
        what: What,
        channel: usize,
        first: u64,
        count: u64,
        now: impl FnOnce() -> u64,
    ) {
        let (process, rested) = (self.runs.load(Relaxed) as usize, self.rested.load(Relaxed));
        let is_over = self.since.load(Relaxed) == 0 && rested > 0;
        let at = if is_over { rested } else { now() };
        self.push(Record { what, process, channel, at, second: count, number: first });
    }

    /// Tells that the thread drops a process that has not returned.
    pub fn dropped(&self, process: usize, at: u64) {
        let what = What::Dropped;
        self.runs.store(process as u64, Relaxed);
        self.rested.store(at, Relaxed);
        self.push(Record { what, process, channel: 0, at, second: 0, number: 0 });
    }

    /// Returns the process that runs, as far as the thread that writes is asked.
    #[expect(clippy::cast_possible_truncation, reason = "it was an address")]
    pub fn runs(&self) -> Option<usize> {
        (self.since.load(Relaxed) > 0).then(|| self.runs.load(Relaxed) as usize)
    }

    /// Reads what is kept, from any thread.
    pub fn read(&self) -> Written {
        self.read_from(0)
    }

    /// Reads what is kept from the record of this number on; the next is behind those that are lost or read.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::log::Ring;
    ///
    /// let kept = Ring::new(Some(0), 8, true).read_from(0);
    /// assert_eq!((kept.records.len(), kept.lost), (0, 0));
    /// ```
    #[expect(clippy::cast_possible_truncation, reason = "the mask has fewer bits")]
    pub fn read_from(&self, number: u64) -> Written {
        // First: a slice that ends meanwhile is then among the records, and cut off there.
        let running = self.running();
        let most = self.places.len() as u64;
        let end = self.written.load(Acquire);
        let start = end.saturating_sub(most).max(number.min(end));
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
        let records = copies.into_iter().filter(|(number, _)| *number >= first);
        let records: Vec<_> = records.filter_map(|(_, words)| Record::of(words)).collect();
        let lost = end - number.min(end) - records.len() as u64;
        Written { worker: self.worker, records, lost, running }
    }

    fn running(&self) -> Option<(usize, u64)> {
        let since = self.since.load(Acquire);
        let process = usize::try_from(self.runs.load(Relaxed)).ok()?;
        fence(Acquire);
        let is_same = self.since.load(Relaxed) == since;
        (is_same && since > 0).then_some((process, since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> Record {
        Record { what: What::Mark, process: 1, channel: 2, at: number, second: number, number }
    }

    #[test]
    fn a_record_comes_back_from_its_words() {
        for what in What::ALL {
            let most = usize::MAX >> (u64::BITS - KIND);
            for (process, channel) in [(0, 0), (most, 0), (0, usize::MAX), (7, 9)] {
                let record = Record { what, process, channel, at: 3, second: u64::MAX, number: 8 };
                assert_eq!(Record::of(record.words()), Some(record));
            }
        }
        assert_eq!(Record::of([0; WORDS]), None);
        assert_eq!(Record::of([u64::MAX; WORDS]), None);
    }

    #[test]
    fn a_ring_keeps_the_last_and_counts_the_others() {
        let ring = Ring::new(Some(3), 8, false);
        (0..7).for_each(|number| ring.push(record(number)));
        let kept = ring.read();
        assert_eq!((kept.records.len(), kept.lost), (7, 0));
        (7..100).for_each(|number| ring.push(record(number)));
        let kept = ring.read();
        let numbers: Vec<_> = kept.records.iter().map(|record| record.number).collect();
        assert_eq!(numbers, (93..100).collect::<Vec<_>>(), "one place may be being written");
        assert_eq!(kept.lost, 93);
    }

    #[test]
    fn what_is_read_while_another_thread_writes_is_whole_and_in_order() {
        let ring = Arc::new(Ring::new(None, 16, false));
        let theirs = Arc::clone(&ring);
        let writer = std::thread::Builder::new().spawn(move || {
            for number in 1..200_000_u32 {
                theirs.begin(number as usize, number.into());
                let slice = Slice { from: number.into(), until: number.into(), ran: 0 };
                let wait = Wait { until: What::UntilMessage, channel: 2, number: number.into() };
                theirs.rest(number as usize, slice, wait);
            }
        });
        let writer = writer.expect("the system has threads");
        while !writer.is_finished() {
            let kept = ring.read();
            if let Some((process, since)) = kept.running {
                assert_eq!(process as u64, since);
            }
            for record in &kept.records {
                assert!(record.at == record.number, "{record:?}");
                assert_eq!(record.second, record.number);
                assert_eq!(record.process as u64, record.number);
            }
            let follow = |pair: &[Record]| pair[0].number + 1 == pair[1].number;
            assert!(kept.records.windows(2).all(follow));
            assert!(kept.lost + kept.records.len() as u64 <= 199_999);
        }
        writer.join().expect("it writes");
    }
}
