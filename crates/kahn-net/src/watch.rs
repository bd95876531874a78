//! What rank 0 gets to see of all ranks: what each tells of itself, and how its clock goes.
//!
//! | rank 0 | another rank |
//! |---|---|
//! | asks in *bursts* of [`ROUNDS`] questions, each when the one before is answered: at the beginning, each [`every`](Watch::every), and when the run is over | answers each with its time, and the first of a burst with what it tells now |
//! | keeps of the first and of the last burst the shortest round trip | |
//! | takes the last | when the run is over and its network has ended: answers one burst more, or waits so long for it as [`STAYS`] says; tells the last in pieces, and then what ran there |
//!
//! *A rank that is not asked waits for no question.* Rank 0 asks before it says anything else, and what it says comes in
//! order. So a rank that has heard that the run is over without a question is not watched, and goes at once.
//!
//! *What is under way is bounded.* There is one question and one answer at a time between rank 0 and each rank, and the last
//! is what a rank has kept anyhow.

use crate::frame::Frame;
use crate::links::RankLinks;
use kahn::observe::Observer;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Questions of a burst.
const ROUNDS: u32 = 8;

/// How long a rank waits for the last burst.
const STAYS: Duration = Duration::from_millis(20);

/// Sees what happens on one rank of a run, and has rank 0 know: one for each rank, made alike on all. Its functions are
/// called by the thread that speaks with other ranks, which they hold up.
///
/// # Examples
///
/// Every rank tells how many messages were received there:
///
/// ```
/// use kahn::observe::{Observer, Subject, Wants};
/// use kahn::{Channel, Options};
/// use kahn_net::{Heard, Sim, Watch};
/// use std::ops::Range;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Counts(Arc<Received>, Mutex<Vec<(usize, Vec<u8>)>>);
///
/// #[derive(Default)]
/// struct Received(AtomicU64);
///
/// impl Observer for Received {
///     fn wants(&self) -> Wants {
///         Wants { messages: true, ..Wants::NOTHING }
///     }
///     fn received(&self, _channel: Subject<'_>, messages: Range<u64>) {
///         self.0.fetch_add(messages.end - messages.start, Relaxed);
///     }
/// }
///
/// impl Watch for Counts {
///     fn observers(&self) -> Vec<Arc<dyn Observer>> {
///         vec![Arc::clone(&self.0) as _]
///     }
///     fn clock(&self) -> u64 {
///         0
///     }
///     fn last(&self, into: &mut Vec<u8>) -> bool {
///         into.extend(self.0.0.load(Relaxed).to_le_bytes());
///         false
///     }
///     fn hears(&self, rank: usize, what: Heard<'_>) {
///         if let Heard::Last(bytes) = what {
///             self.1.lock().expect("no thread panics").push((rank, bytes.to_vec()));
///         }
///     }
/// }
///
/// let counts = [0, 1].map(|_rank| Arc::<Counts>::default());
/// let each = counts.clone();
/// let sim = Sim::new(2).watched(move |rank| Arc::clone(&each[rank]) as _);
/// sim.run(&Options::new(), |network| {
///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
///     network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
///     network.for_each("ignore", numbers, |_: u64| {});
/// })?;
/// // What is on its way to another rank is received there by what sends it.
/// let heard = counts[0].1.lock().expect("no thread panics").clone();
/// assert_eq!(heard, [(1, 100_u64.to_le_bytes().to_vec())]);
/// # Ok::<(), kahn_net::NetError>(())
/// ```
pub trait Watch: Send + Sync {
    /// Returns what is told of the run on this rank, beside the observers of its options.
    fn observers(&self) -> Vec<Arc<dyn Observer>> {
        Vec::new()
    }

    /// Returns how often rank 0 asks what the others tell now.
    fn every(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Returns the time of this rank in nanoseconds, by the clock of what is told.
    fn clock(&self) -> u64;

    /// Writes what rank 0 is to know now behind `into`; on other ranks than that.
    fn now(&self, into: &mut Vec<u8>) {
        let _ = into;
    }

    /// Writes the next piece of what rank 0 is to know when the run is over behind `into`; whether there is more of
    /// it. On other ranks than that.
    fn last(&self, into: &mut Vec<u8>) -> bool {
        let _ = into;
        false
    }

    /// Takes what another rank has told; on rank 0.
    fn hears(&self, rank: usize, what: Heard<'_>) {
        let _ = (rank, what);
    }
}

/// What rank 0 hears of another rank that it [watches](Watch).
///
/// # Examples
///
/// See [`Watch`].
///
/// ```
/// fn bytes(heard: &kahn_net::Heard<'_>) -> usize {
///     match heard {
///         kahn_net::Heard::Now(bytes) | kahn_net::Heard::Last(bytes) => bytes.len(),
///         _ => 0,
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Heard<'a> {
    /// What it tells now.
    Now(&'a [u8]),
    /// The next piece of what it tells when the run is over.
    Last(&'a [u8]),
    /// How its clock goes, when all is told.
    Clock(Clock),
}

/// How the clock of a rank goes beside that of rank 0, as round trips have shown it.
///
/// # Examples
///
/// ```
/// fn when(clock: &kahn_net::Clock, there: u64) -> String {
///     format!("{} ns by the clock of rank 0, give or take {}", clock.here(there), clock.error())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    first: Trip,
    last: Trip,
}

/// A round trip: what a rank answered, and when it was asked and when the answer was there. In nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trip {
    there: u64,
    asked: u64,
    answered: u64,
}

impl Trip {
    /// The answer was made between the two, so it was the middle, give or take this.
    fn error(self) -> u64 {
        self.answered.saturating_sub(self.asked).div_ceil(2)
    }

    /// How far the clock there is ahead.
    fn ahead(self) -> i128 {
        i128::from(self.there) - i128::midpoint(self.asked.into(), self.answered.into())
    }
}

impl Clock {
    /// Returns what the clock of rank 0 showed when that of the other rank showed this.
    ///
    /// # Examples
    ///
    /// See [`Clock`].
    #[must_use]
    pub fn here(&self, there: u64) -> u64 {
        let Self { first, last } = self;
        // Clocks drift apart evenly; before the first trip and behind the last it is as it was then.
        let (from, until) = (i128::from(first.there), i128::from(last.there));
        let at = i128::from(there).clamp(from.min(until), from.max(until));
        let drift = last.ahead() - first.ahead();
        let passed = if until > from { drift * (at - from) / (until - from) } else { 0 };
        let here = i128::from(there) - first.ahead() - passed;
        u64::try_from(here.max(0)).unwrap_or(u64::MAX)
    }

    /// Returns by how many nanoseconds that may be wrong: half of the round trip.
    ///
    /// # Examples
    ///
    /// See [`Clock`].
    #[must_use]
    pub fn error(&self) -> u64 {
        self.first.error().max(self.last.error())
    }
}

/// The shortest round trips to a rank, of the first burst and of the last two.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    first: Option<Trip>,
    before: Option<Trip>,
    now: Option<Trip>,
    bursts: u32,
}

impl Trips {
    fn begins(&mut self) {
        self.bursts += 1;
        self.before = self.now.take().or(self.before);
    }

    fn add(&mut self, trip: Trip) {
        let is_better = |known: Option<Trip>| known.is_none_or(|one| trip.error() < one.error());
        if self.bursts <= 1 && is_better(self.first) {
            self.first = Some(trip);
        }
        if is_better(self.now) {
            self.now = Some(trip);
        }
    }

    fn clock(&self) -> Option<Clock> {
        let both = [self.now, self.before].into_iter().flatten();
        let last = both.min_by_key(|trip| trip.error())?;
        Some(Clock { first: self.first.unwrap_or(last), last })
    }
}

/// One rank that rank 0 asks.
#[derive(Debug, Default)]
struct Asked {
    /// Which question is under way, and when it was asked.
    under_way: Option<(u64, u64)>,
    number: u64,
    /// Questions of this burst that are to come.
    left: u32,
    due: Option<Instant>,
    has_last: bool,
    trips: Trips,
}

/// The watch of one rank, while its loop runs.
pub(crate) struct Watched {
    by: Option<Arc<dyn Watch>>,
    /// On rank 0: all ranks.
    ranks: Vec<Asked>,
    /// On another: how often it was asked, and since its network is over.
    asked: u32,
    asked_since: u32,
    stays_until: Option<Instant>,
}

impl Watched {
    pub(crate) fn new(by: Option<Arc<dyn Watch>>, rank: usize, ranks: usize) -> Self {
        let ranks = if rank == 0 && by.is_some() { ranks } else { 0 };
        Self {
            by,
            ranks: std::iter::repeat_with(Asked::default).take(ranks).collect(),
            asked: 0,
            asked_since: 0,
            stays_until: None,
        }
    }

    /// Asks, if this is rank 0, what is to be asked at this time.
    pub(crate) fn ask(&mut self, is_over: bool, now: Instant, links: &RankLinks) {
        let Some(by) = &self.by else { return };
        for (rank, asked) in self.ranks.iter_mut().enumerate().skip(1) {
            let is_last = is_over && !std::mem::replace(&mut asked.has_last, is_over);
            if is_last || asked.left == 0 && asked.due.is_none_or(|due| now >= due) {
                (asked.left, asked.due) = (ROUNDS, Some(now + by.every()));
                asked.trips.begins();
            }
            if asked.left > 0 && asked.under_way.is_none() {
                let tells = asked.left == ROUNDS;
                asked.left -= 1;
                asked.number += 1;
                asked.under_way = Some((asked.number, by.clock()));
                links.say(rank, &Frame::Watch { number: asked.number, tells });
            }
        }
    }

    /// Takes what rank 0 asks, or what it hears; whether it is that.
    pub(crate) fn takes(&mut self, from: usize, frame: &Frame<'_>, links: &RankLinks) -> bool {
        match *frame {
            Frame::Watch { number, tells } if from == 0 => self.answer(number, tells, links),
            // Of a rank that does not watch there are none.
            Frame::Watched { number, clock, told } if from < self.ranks.len() => {
                self.answered(from, number, clock, told);
            }
            Frame::Last { part } if from < self.ranks.len() => {
                self.by.iter().for_each(|by| by.hears(from, Heard::Last(part)));
            }
            _ => return false,
        }
        true
    }

    fn answer(&mut self, number: u64, tells: bool, links: &RankLinks) {
        self.asked += 1;
        self.asked_since += u32::from(self.stays_until.is_some());
        let mut told = Vec::new();
        let clock = self.by.as_ref().map_or(0, |by| {
            if tells {
                by.now(&mut told);
            }
            by.clock()
        });
        links.say(0, &Frame::Watched { number, clock, told: &told });
    }

    fn answered(&mut self, rank: usize, number: u64, there: u64, told: &[u8]) {
        let Some(by) = &self.by else { return };
        let (asked, answered) = (&mut self.ranks[rank], by.clock());
        let under_way = asked.under_way.take_if(|(known, _)| *known == number);
        let Some((_, at)) = under_way else { return };
        asked.trips.add(Trip { there, asked: at, answered });
        if !told.is_empty() {
            by.hears(rank, Heard::Now(told));
        }
    }

    /// All is told: how clocks go.
    pub(crate) fn ends(&self) {
        let Some(by) = &self.by else { return };
        for (rank, asked) in self.ranks.iter().enumerate() {
            if let Some(clock) = asked.trips.clock() {
                by.hears(rank, Heard::Clock(clock));
            }
        }
    }

    /// Rank 0 is gone: nothing is told any more.
    pub(crate) fn goes(&mut self) {
        self.by = None;
    }

    /// Whether a rank whose network is over has answered the last burst, or need not.
    pub(crate) fn has_stayed(&mut self, now: Instant) -> bool {
        if self.asked == 0 || self.by.is_none() {
            return true;
        }
        let until = *self.stays_until.get_or_insert(now + STAYS);
        self.asked_since >= ROUNDS || now >= until
    }

    /// Tells rank 0 in pieces what is to be seen of this rank when the run is over, if it was asked before.
    pub(crate) fn tell_last(&self, links: &RankLinks) {
        let Some(by) = self.by.as_ref().filter(|_| self.asked > 0) else { return };
        let mut part = Vec::new();
        let mut more = true;
        while more {
            part.clear();
            more = by.last(&mut part);
            if !part.is_empty() {
                links.say(0, &Frame::Last { part: &part });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the delays, time on a rank is told as exactly as is said, though its clock is ahead and drifts.
        #[test]
        fn times_are_as_exact_as_is_told(
            ahead in 0_u64..1 << 40,
            drift in 0_i64..200,
            delays in proptest::collection::vec((1_u64..100_000, 1_u64..100_000), 2..40),
            bursts in proptest::collection::vec(any::<bool>(), 40),
        ) {
            // In millionths: what the clock there shows at a time.
            let drift = i128::from(drift) - 100;
            let shows = |at: u64| {
                let there = i128::from(at) + i128::from(ahead) + i128::from(at) * drift / 1_000_000;
                u64::try_from(there).expect("it is ahead")
            };
            let mut trips = Trips::default();
            let (mut at, begin) = (1 << 30, 1 << 30);
            trips.begins();
            for (&(there, back), begins) in delays.iter().zip(bursts) {
                if begins {
                    trips.begins();
                }
                trips.add(Trip { there: shows(at + there), asked: at, answered: at + there + back });
                at += 1_000_000;
            }
            let clock = trips.clock().expect("there was a trip");
            let until = at - 1_000_000;
            for step in 0..10 {
                let at = begin + (until - begin) / 10 * step;
                let told = clock.here(shows(at));
                // Between trips it drifts evenly; outside of them not by more than it does in that time.
                let outside = (until - begin) / 10_000;
                let off = told.abs_diff(at);
                prop_assert!(off <= clock.error() + outside + 2, "{off} > {}", clock.error());
            }
        }
    }

    #[test]
    fn an_even_drift_is_taken_off_between_trips() {
        let trip = |at: u64, there| Trip { there, asked: at - 10, answered: at + 10 };
        let clock = Clock { first: trip(1000, 51_000), last: trip(2000, 52_100) };
        assert_eq!([51_000, 51_550, 52_100].map(|there| clock.here(there)), [1000, 1500, 2000]);
        // Outside it stays as it was.
        assert_eq!([50_900, 52_200].map(|there| clock.here(there)), [900, 2100]);
        assert_eq!(clock.error(), 10);
    }
}
