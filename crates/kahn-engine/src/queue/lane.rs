//! A lane: what one worker of `stealing` has to run.
//!
//! Only the worker itself fills the deque and the front of what waits, and takes from them without a
//! lock: it does so by itself ([`Lane::take`], [`Lane::queue_cold`], [`Lane::rotate`]) where it would otherwise ask the
//! policy at every switch. All else is asked of the policy.
//!
//! # What has waited longest
//!
//! What waits elsewhere is stamped with the end of the deque at that time: what lay below was ready
//! before, and goes before. The hot end goes back, so younger processes may come to lie there; so
//! many go before as were ready then, at most.
//!
//! # Rounds
//!
//! A worker runs what it has woken last, and what is new before what is old: so a tree of processes
//! is run in depth, and few of them are ready at a time. One that makes another at each request of a
//! third that always has one more would so make more and more, none of which runs. Therefore a
//! *round* begins when all that is ready here has doubled since the last one, and is more than
//! [`FEW`]: until it is over the worker runs what has waited longest, to the mark that was the end of
//! the queues when it began, and what is woken meanwhile is queued behind. Nothing is taken out of
//! the queues for it, so thieves find all that they would find otherwise.

use crate::TaskRef;
use crate::policy::{Ready, StealCount, Steals};
use crate::queue::bias::{Bias, Thief};
use crate::queue::deque::{Deque, Steal};
use crate::queue::fifo::Fifo;
use crate::queue::rates::{LastSteal, Rate};
use crate::sync::system::clock;
use crate::sync::{
    Access, AtomicUsize, Mutex, Ordering::*, Padded, PlainAtomicU64, PlainAtomicUsize,
};
use std::collections::VecDeque;
use std::iter;
use std::time::Duration;

/// At most so many processes change hands at once.
const MOST_STOLEN: usize = 32;

/// How long a process is left to its own worker. There is no time in a model.
const AGED: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(1) };

/// A worker that takes nothing for so long is helped by those that have other work, too. These look into the queues
/// of others as often as that: a look takes a line of the cache from the queue's worker, which fetches it back.
const STILL: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };

/// A worker that asks whether it is time for that reads the clock once in so many asks at least.
const ASKS: usize = 16;

/// So many ready processes are not worth a round.
const FEW: usize = 128;

/// A process, and the end of the deque when it was queued elsewhere.
type Stamped = (Ready, usize);

/// Where a round ends: numbers in the deque and in what waits elsewhere.
#[derive(Debug)]
pub struct Round {
    hot: usize,
    cold: usize,
}

/// Whether a number that goes round comes before another.
fn is_before(number: usize, other: usize) -> bool {
    number.wrapping_sub(other).cast_signed() < 0
}

/// What others have seen of a lane when they looked; written by them.
#[derive(Debug)]
struct Seen {
    /// The number of the oldest process when a thief last saw another one, and the ticks then.
    oldest: PlainAtomicUsize,
    since: PlainAtomicU64,
    /// How many its worker had taken when another looked for what has waited longest here, and since
    /// when it has been as many.
    taken: PlainAtomicU64,
    still_since: PlainAtomicU64,
}

impl Seen {
    fn new() -> Self {
        Self {
            oldest: PlainAtomicUsize::new(usize::MAX),
            since: PlainAtomicU64::new(0),
            taken: PlainAtomicU64::new(u64::MAX),
            still_since: PlainAtomicU64::new(0),
        }
    }
}

/// What one worker has to run.
#[derive(Debug)]
pub struct Lane {
    hot: Deque,
    /// What waits: the front of the queue, which is its worker's to fill, and the rest.
    front: Fifo,
    /// Whether thieves may take from these two, and from the worker's LIFO slot.
    bias: Bias,
    rest: Mutex<VecDeque<Stamped>>,
    rest_len: AtomicUsize,
    seen: Padded<Seen>,
    pub(crate) rate: Rate,
    pub(crate) last_steal: LastSteal,
    /// How often its worker has asked for what has waited longest; how often others since it last looked
    /// there, when that was, and where.
    asked: PlainAtomicUsize,
    asked_others: PlainAtomicUsize,
    looked_at: PlainAtomicU64,
    looked_into: PlainAtomicUsize,
    /// The least that was ready here since the last round.
    least: PlainAtomicUsize,
    steals: StealCount,
}

impl Lane {
    /// `alone`: no thread steals here.
    pub(crate) fn new(alone: bool) -> Self {
        Self {
            hot: Deque::new(),
            front: Fifo::new(),
            bias: Bias::new(alone),
            rest: Mutex::new(VecDeque::new()),
            rest_len: AtomicUsize::new(0),
            seen: Padded(Seen::new()),
            rate: Rate::new(),
            last_steal: LastSteal::new(),
            asked: PlainAtomicUsize::new(0),
            asked_others: PlainAtomicUsize::new(0),
            looked_at: PlainAtomicU64::new(0),
            looked_into: PlainAtomicUsize::new(0),
            least: PlainAtomicUsize::new(0),
            steals: StealCount::default(),
        }
    }

    /// Owner: calls `take`, which may take from its LIFO slot and its queues as it is told.
    #[inline(always)]
    pub(crate) fn section<R>(&self, take: impl FnOnce(Access) -> R) -> R {
        self.bias.section(take)
    }

    /// Any other thread: may take from the LIFO slot of its worker, and from its queues, while this is
    /// there.
    pub(crate) fn as_thief(&self) -> Thief<'_> {
        self.bias.come()
    }

    /// Owner, in a section: takes what runs next, unless only the rest has something.
    #[inline]
    pub(crate) fn take(&self, access: Access) -> Option<TaskRef> {
        let task = self.hot.pop(access).or_else(|| self.front.take(access))?;
        self.rate.count();
        Some(task)
    }

    /// Owner, in a section: puts a process behind all that waits, and takes what runs next in its stead. Does
    /// nothing, and gives `None`, unless both are one step: where thieves may come, where the deque goes first, and where
    /// the queue has a rest.
    #[inline]
    pub(crate) fn rotate(&self, task: TaskRef, access: Access) -> Option<TaskRef> {
        let (oldest, end) = self.hot.ends();
        // Relaxed: as in `queue_cold`.
        if !access.is_alone() || oldest != end || self.rest_len.load(Relaxed) > 0 {
            return None;
        }
        let next = self.front.rotate(task, end)?;
        self.rate.count();
        Some(next)
    }

    /// Owner: a process runs here that ran elsewhere before.
    #[cold]
    pub fn count_migration(&self) {
        self.rate.count_migration();
    }

    /// Any thread: its worker makes no progress; thieves may have what it has, at once.
    pub fn stands_still(&self) {
        self.rate.end_backoff();
    }

    /// Whether thieves may have what only its worker puts here.
    pub fn is_open(&self) -> bool {
        self.rate.is_open()
    }

    /// Whether only its worker takes anything here.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.bias.is_alone()
    }

    /// Owner: at the hot end, or in the queue if that is full.
    #[inline]
    pub(crate) fn queue_hot(&self, ready: Ready) {
        if let Err(task) = self.hot.push(ready.into_task()) {
            self.queue_behind(task);
        }
    }

    /// Owner: in the queue, for the deque is full.
    #[cold]
    fn queue_behind(&self, task: TaskRef) {
        self.queue_cold(Ready::new(task));
    }

    /// Owner: the same, for many.
    pub(crate) fn queue_all_hot(&self, ready: &[TaskRef]) {
        let queued = self.hot.push_many(ready);
        for &task in &ready[queued..] {
            self.queue_cold(Ready::new(task));
        }
    }

    /// Owner: from the other end.
    fn pop_oldest_hot(&self) -> Option<Ready> {
        self.section(|access| self.hot.take_oldest(access)).map(Ready::new)
    }

    /// Owner: what has waited longest here.
    pub(crate) fn pop_oldest(&self) -> Option<Ready> {
        if !self.has_front() && self.has_rest() {
            self.fill_front(&mut self.rest.lock());
        }
        let (oldest, _) = self.hot.ends();
        let waits = self.front.first_stamp();
        let is_first = waits.is_some_and(|stamp| !self.has_hot() || !is_before(oldest, stamp));
        let cold = || self.take_front();
        if is_first { cold() } else { self.pop_oldest_hot().or_else(cold) }
    }

    /// Roughly how much is ready here.
    fn ready(&self) -> usize {
        self.hot.len() + self.front.len() + self.rest_len.load(Relaxed)
    }

    /// Whether it is time for a round.
    pub fn has_grown(&self) -> bool {
        let ready = self.ready();
        ready > FEW && ready / 2 >= self.least.load(Relaxed)
    }

    /// Owner: begins a round if it is time for one.
    pub fn begin_round(&self) -> Option<Round> {
        self.least.store(self.least.load(Relaxed).min(self.ready()), Relaxed);
        if !self.has_grown() {
            return None;
        }
        let rest = self.rest_len.load(Relaxed);
        Some(Round { hot: self.hot.ends().1, cold: self.front.ends().1.wrapping_add(rest) })
    }

    /// Owner: what a round is to run next; `None` if it is over.
    #[inline]
    pub fn take_of(&self, round: &Round) -> Option<Ready> {
        let (oldest, end) = self.hot.ends();
        let hot = oldest != end && is_before(oldest, round.hot);
        let cold = is_before(self.front.ends().0, round.cold);
        let ready = match (hot, cold && (self.has_front() || self.has_rest())) {
            (true, true) => self.pop_oldest(),
            (true, false) => self.pop_oldest_hot(),
            (false, true) => self.pop_cold(),
            (false, false) => None,
        };
        match &ready {
            Some(_) => self.rate.count(),
            None => self.least.store(self.ready(), Relaxed),
        }
        ready
    }

    /// Owner: behind all that waits.
    #[inline]
    pub fn queue_cold(&self, ready: Ready) {
        // Relaxed: what comes from outside meanwhile is neither before us nor behind.
        if self.rest_len.load(Relaxed) > 0 {
            return self.queue_rest(ready);
        }
        if let Err(task) = self.front.push(ready.into_task(), self.hot.end()) {
            self.queue_rest(Ready::new(task));
        }
    }

    /// Owner: whether others' turn has come to give what has waited longest.
    pub(crate) fn asks_others(&self) -> bool {
        let asked = self.asked.load(Relaxed).wrapping_add(1);
        self.asked.store(asked, Relaxed);
        asked.is_multiple_of(2)
    }

    /// Owner, if it is time to look into the lane of another: how far behind this one among so many others
    /// that stands whose turn it is, and the ticks.
    ///
    /// Reading the clock takes as long as a dispatch or two. So it is read the first time that this is asked since the
    /// last look, the second, the fourth, the eighth and then every [`ASKS`] times: a look comes after twice the time at
    /// most, or so many asks too late, also where processes become coarse meanwhile.
    pub(crate) fn looks_into(&self, others: usize) -> Option<(usize, u64)> {
        let asked = self.asked_others.load(Relaxed).wrapping_add(1);
        self.asked_others.store(asked, Relaxed);
        if !asked.is_power_of_two() && !asked.is_multiple_of(ASKS) {
            return None;
        }
        let now = clock::ticks();
        if now.saturating_sub(self.looked_at.load(Relaxed)) < clock::about(STILL) {
            return None;
        }
        self.asked_others.store(0, Relaxed);
        self.looked_at.store(now, Relaxed);
        let next = self.looked_into.load(Relaxed) % others + 1;
        self.looked_into.store(next, Relaxed);
        Some((next, now))
    }

    /// Any thread: what has waited longest outside of the deque; of what is its worker's own only if that
    /// stands still, and if thieves do not back off.
    pub(crate) fn take_cold(&self, now: u64) -> Option<Ready> {
        // First how much its worker has taken: mostly that is the only line it writes that is looked at.
        let may_come = self.is_still(now) && !self.rate.is_backed_off(now);
        let front = if may_come && self.has_front() {
            let _thief = self.as_thief();
            self.front.take(Access::SHARED).map(Ready::new)
        } else {
            None
        };
        front.or_else(|| self.pop_rest(|_| {}))
    }

    /// Whether its worker has taken nothing for long, as far as those know that have looked.
    fn is_still(&self, now: u64) -> bool {
        let (taken, seen) = (self.rate.taken(), &self.seen);
        if seen.taken.load(Relaxed) != taken {
            seen.taken.store(taken, Relaxed);
            seen.still_since.store(now, Relaxed);
        }
        now.saturating_sub(seen.still_since.load(Relaxed)) >= clock::about(STILL)
    }

    /// Owner: the same, and what comes next is the owner's.
    pub(crate) fn pop_cold(&self) -> Option<Ready> {
        self.take_front().or_else(|| self.pop_rest(|rest| self.fill_front(rest)))
    }

    /// Owner: the first of the front.
    fn take_front(&self) -> Option<Ready> {
        self.section(|access| self.front.take(access)).map(Ready::new)
    }

    /// Owner, every so many dispatches: has its queues for itself if no thief comes, and thieves come again if
    /// its processes turn out to be coarse.
    pub(crate) fn look_around(&self) {
        self.bias.look();
        self.rate.look_at_steps();
    }

    /// Owner: moves as much to the front as there is room for.
    fn fill_front(&self, rest: &mut VecDeque<Stamped>) {
        let count = self.front.room().min(rest.len());
        for (ready, stamp) in rest.drain(..count) {
            let pushed = self.front.push(ready.into_task(), stamp);
            debug_assert!(pushed.is_ok(), "there is room");
        }
        self.rest_len.store(rest.len(), Relaxed);
    }

    /// Any thread: behind all that waits.
    #[inline(never)]
    pub(crate) fn queue_rest(&self, ready: Ready) {
        self.extend_rest(iter::once(ready));
    }

    /// Any thread: the same, for many.
    pub(crate) fn extend_rest(&self, ready: impl Iterator<Item = Ready>) {
        let mut rest = self.rest.lock();
        let (_, end) = self.hot.ends();
        rest.extend(ready.map(|ready| (ready, end)));
        self.rest_len.store(rest.len(), Relaxed);
    }

    /// Takes the first of the rest, and does `with_others` to what is left of it.
    fn pop_rest(&self, with_others: impl FnOnce(&mut VecDeque<Stamped>)) -> Option<Ready> {
        if self.rest_len.load(Relaxed) == 0 {
            return None;
        }
        let mut rest = self.rest.lock();
        let ready = rest.pop_front().map(|(ready, _)| ready);
        with_others(&mut rest);
        self.rest_len.store(rest.len(), Relaxed);
        ready
    }

    pub(crate) fn has_hot(&self) -> bool {
        self.hot.len() > 0
    }

    pub(crate) fn has_front(&self) -> bool {
        self.front.len() > 0
    }

    /// Whether it has something that only its worker puts there, which does not sleep before that is
    /// gone: so what thieves may not have is not forgotten.
    pub(crate) fn has_own(&self) -> bool {
        self.has_hot() || self.has_front()
    }

    /// Whether something is there that any thread puts there, also while its worker sleeps: it is for
    /// all, at any time.
    pub(crate) fn has_rest(&self) -> bool {
        self.rest_len.load(Relaxed) > 0
    }

    /// Thief: whether the oldest process of its deque has been that for long.
    pub(crate) fn is_aged(&self, now: u64) -> bool {
        let Some(oldest) = self.hot.oldest() else { return false };
        let seen = &self.seen;
        if seen.oldest.load(Relaxed) != oldest {
            seen.oldest.store(oldest, Relaxed);
            seen.since.store(now, Relaxed);
        }
        now.saturating_sub(seen.since.load(Relaxed)) >= clock::about(AGED)
    }

    /// Owner, as a thief: takes half of what another has: of its deque only if that `is_aged`, of
    /// its own at all only if it `is_open`. Gives the first and how many.
    pub(crate) fn steal_from(
        &self,
        victim: &Self,
        is_open: bool,
        is_aged: bool,
    ) -> Option<(Ready, usize)> {
        self.steals.try_one();
        let hot = if is_aged { self.take_some(victim) } else { None };
        let front = || if is_open { self.take_half_front(victim) } else { None };
        let stolen = hot.or_else(front).or_else(|| self.take_half_rest(victim))?;
        self.steals.win();
        Some(stolen)
    }

    pub(crate) fn steals(&self) -> Steals {
        self.steals.get()
    }

    /// Moves half of another's deque here, and gives the first and how many.
    fn take_some(&self, victim: &Self) -> Option<(Ready, usize)> {
        let wanted = victim.hot.len().div_ceil(2).min(MOST_STOLEN);
        let (mut first, mut size) = (None, 0);
        let _thief = (wanted > 0).then(|| victim.as_thief())?;
        for _ in 0..wanted {
            match victim.hot.steal() {
                Steal::Taken(task) if first.is_none() => first = Some(Ready::new(task)),
                Steal::Taken(task) => self.queue_hot(Ready::new(task)),
                Steal::Retry => continue,
                Steal::Nothing => break,
            }
            size += 1;
        }
        first.map(|first| (first, size))
    }

    /// Moves half of the front of what waits elsewhere here, and gives the first and how many.
    fn take_half_front(&self, victim: &Self) -> Option<(Ready, usize)> {
        let _thief = victim.has_front().then(|| victim.as_thief())?;
        let (first, size) = self.front.take_half_of(&victim.front, self.hot.ends().0)?;
        Some((Ready::new(first), size))
    }

    /// Moves half of the rest of what waits elsewhere here, and gives the first and how many.
    fn take_half_rest(&self, victim: &Self) -> Option<(Ready, usize)> {
        if victim.rest_len.load(Relaxed) == 0 {
            return None;
        }
        // The back half: contiguous neighbours stay together, and the victim runs from the front.
        let mut stolen = {
            let mut rest = victim.rest.lock();
            let left = rest.len() / 2;
            let stolen = rest.split_off(left);
            victim.rest_len.store(rest.len(), Relaxed);
            stolen
        };
        let size = stolen.len();
        let (first, _) = stolen.pop_front()?;
        if !stolen.is_empty() {
            self.extend_rest(stolen.into_iter().map(|(ready, _)| ready));
        }
        Some((first, size))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// However fast a worker asks: a look that came too early is not the last.
    #[test]
    fn the_lanes_of_others_are_looked_into_in_turn_again_and_again() {
        let (lane, mut asks) = (Lane::new(false), 0_u64);
        let looks = iter::from_fn(|| {
            loop {
                asks += 1;
                assert!(asks < 200_000_000, "so many asks take longer than all looks");
                if let Some((offset, _)) = lane.looks_into(3) {
                    return Some(offset);
                }
            }
        });
        let expected = [1, 2, 3].into_iter().cycle();
        assert!(looks.take(9).eq(expected.take(9)));
    }
}
