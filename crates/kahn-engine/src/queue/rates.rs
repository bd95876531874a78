//! Whether stealing pays: what a thief measures at a victim, and when it backs off.
//!
//! A process that migrates pulls its cache lines from the other core, and so do its partners when it
//! answers. Processes that exchange a message every 50 ns run several times slower on two cores than
//! on one; those that compute for long run twice as fast. The queues do not show which is the case,
//! so thieves measure: how many processes thief and victim take from their queues together from a
//! steal until the thief's queues are empty, how many of those ran on another worker before
//! (*migrations*), and how many the victim takes while no worker steals from it (*baseline*).
//!
//! ```text
//!              steal             queues empty           backoff over, some process is aged
//!   idle ─────────────► working ─────────────► judged ─────────────────────────► working …
//!                                                │ paid: no backoff, and the last counts for less
//!                                                │ no baseline: back off for MEASURED, to find it
//!                                                │ slower than the baseline: back off, twice as long
//! ```
//!
//! A steal that keeps the thief busy for `PLAIN` for each migration pays without further question: so
//! coarse processes are always shared out, and fine-grained ones that migrate at every step do not
//! pass for coarse because they run for long. Other steals are compared with the baseline, and so is
//! all the time since the last backoff, once that is as long as a backoff that finds the baseline: in
//! a program that makes a thousand processes and then runs them, all steals fall into the second half
//! and are fast beside any average.
//!
//! A thief that looks for `WATCH` and finds processes, but none that is aged, has seen a worker that
//! needs no help: it backs off as well.
//!
//! During backoff the thief sleeps; the victim wakes no thief and publishes no sooner for its sake.
//! The victim reads the clock once in `LOOKS` times that it has something to spare, and ends a backoff
//! that is over. Coarse processes end it at once: the victim sees that a few dozen of them take long,
//! or the monitor (`sleep::idle`) sees that the victim makes no progress. A baseline is
//! forgotten after `STALE`, for programs change.
//!
//! Nothing is lost by a backoff. It holds for the deque and the front of what waits, which only their
//! own worker fills and which that empties before it sleeps. The rest, for what comes from outside,
//! may fill while its worker sleeps, and no backoff holds for it: a worker that is woken for it and
//! finds the owner's backoff would sleep again, and no worker would run what is there. All fields are
//! Relaxed, and no model looks at them: a race spoils one judgement. A batch that is woken at its home
//! worker counts as if that worker had stolen it.

use crate::sync::system::clock;
use crate::sync::{Ordering::*, PlainAtomicU32, PlainAtomicU64, PlainAtomicUsize};
use std::time::Duration;

/// A steal that lasts so long for each migration pays in any case: some twenty lines from another
/// core, and as long again in work. There is no time in a model: there everything pays.
const PLAIN: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(2) };
/// How long thieves back off after a steal that did not pay, at least and at most.
const SHORTEST_BACKOFF: Duration =
    if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };
const LONGEST_BACKOFF: Duration = Duration::from_millis(8);
/// How long they back off to measure a baseline, and the least time besides steals that is compared
/// with it: longer than what a program does over and over.
const MEASURED: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(500) };
/// A backoff that is so long gives a baseline: processes whose partners were with a thief need some
/// time to come together.
const TELLS: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(200) };
/// How long a thief looks at processes that do not age. Each look takes a line from their worker. As
/// long is the first backoff after that.
const WATCH: Duration = Duration::from_micros(20);
/// How long a baseline is believed.
const STALE: Duration = Duration::from_millis(50);
/// So many times a worker has something to spare before it looks at the clock.
const LOOKS: u32 = 8;
/// A worker whose processes take twice `PLAIN` each takes so long from one look around to the next.
const COARSE: Duration = Duration::from_micros(250);
/// Rates are ticks for so many processes.
const UNIT: u64 = 64;

/// What is known about a worker as a victim, and what it takes from its queue.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Processes that its worker has taken; written by the worker.
    taken: PlainAtomicU64,
    /// Those among them that ran on another worker before; written by the worker.
    migrated: PlainAtomicU64,
    /// When the backoff began that no steal has followed, in ticks, and `taken` then; 0 without one.
    backoff_since: PlainAtomicU64,
    taken_before_backoff: PlainAtomicU64,
    /// Ticks for `UNIT` processes without thieves, when that was measured, and `taken` then; 0 if never.
    baseline: PlainAtomicU64,
    found_at: PlainAtomicU64,
    found_taken: PlainAtomicU64,
    /// Thieves back off until then.
    backoff_until: PlainAtomicU64,
    /// The last backoff, in ticks.
    backoff: PlainAtomicU64,
    /// How often its worker had something to spare in a backoff, and when it last asked for what has
    /// waited longest in one; written by the worker.
    looks: PlainAtomicU32,
    looked_at: PlainAtomicU64,
}

/// What a thief stole last, until that is judged. Written by the thief, and by a worker that wakes a
/// batch at the thief.
#[derive(Debug)]
pub(crate) struct LastSteal {
    victim: PlainAtomicUsize,
    /// How many processes; 0 when it has been judged.
    size: PlainAtomicUsize,
    since: PlainAtomicU64,
    victim_taken: PlainAtomicU64,
    own_taken: PlainAtomicU64,
    /// Migrations of both until then.
    migrated: PlainAtomicU64,
    /// The end of the victim's last backoff as its `found_at`, and what the thief had taken when it came
    /// for the first time since.
    open: PlainAtomicU64,
    open_taken: PlainAtomicU64,
    /// The victim it looks at in vain, since when, and when it did last.
    watched: PlainAtomicUsize,
    watched_since: PlainAtomicU64,
    watched_at: PlainAtomicU64,
}

impl LastSteal {
    pub(crate) fn new() -> Self {
        Self {
            victim: PlainAtomicUsize::new(0),
            size: PlainAtomicUsize::new(0),
            since: PlainAtomicU64::new(0),
            victim_taken: PlainAtomicU64::new(0),
            own_taken: PlainAtomicU64::new(0),
            migrated: PlainAtomicU64::new(0),
            open: PlainAtomicU64::new(0),
            open_taken: PlainAtomicU64::new(0),
            watched: PlainAtomicUsize::new(usize::MAX),
            watched_since: PlainAtomicU64::new(0),
            watched_at: PlainAtomicU64::new(0),
        }
    }

    /// Notes that nothing was aged where there is something.
    pub(crate) fn watch(&self, index: usize, victim: &Rate, now: u64) {
        let most = clock::about(WATCH);
        let ago = |then: &PlainAtomicU64| now.saturating_sub(then.load(Relaxed));
        if self.watched.swap(index, Relaxed) != index || ago(&self.watched_at) > most {
            self.watched_since.store(now, Relaxed);
        }
        self.watched_at.store(now, Relaxed);
        if ago(&self.watched_since) > most {
            self.watched.store(usize::MAX, Relaxed);
            victim.back_off(victim.next_backoff(WATCH), now);
        }
    }

    /// Notes that the thief has taken `size` processes.
    pub(crate) fn begin(&self, own: &Rate, index: usize, victim: &Rate, size: usize, now: u64) {
        victim.measure_baseline(now);
        let (own_taken, open) = (own.taken.load(Relaxed), victim.found_at.load(Relaxed));
        if self.victim.swap(index, Relaxed) != index || self.open.load(Relaxed) != open {
            self.open.store(open, Relaxed);
            self.open_taken.store(own_taken, Relaxed);
        }
        self.size.store(size, Relaxed);
        self.since.store(now, Relaxed);
        self.victim_taken.store(victim.taken.load(Relaxed), Relaxed);
        self.own_taken.store(own_taken, Relaxed);
        self.migrated.store(migrations_of(own, victim), Relaxed);
    }

    /// The thief has run out of work: judges its last steal. `rate` is that of a worker.
    pub(crate) fn judge<'a>(&self, own: &Rate, rate: impl FnOnce(usize) -> &'a Rate, now: u64) {
        let size = self.size.load(Relaxed);
        if size == 0 {
            return;
        }
        self.size.store(0, Relaxed);
        let victim = rate(self.victim.load(Relaxed));
        let lasted = now.saturating_sub(self.since.load(Relaxed));
        let migrated = migrations_of(own, victim).saturating_sub(self.migrated.load(Relaxed));
        // A new process has not run anywhere before.
        let migrations = u32::try_from(migrated.max(size as u64)).unwrap_or(u32::MAX);
        if lasted >= clock::about(PLAIN.saturating_mul(migrations)) {
            return victim.has_paid(lasted);
        }
        match victim.known_baseline(now) {
            None => victim.back_off(clock::about(MEASURED), now),
            Some(baseline) if self.is_slower(baseline, lasted, own, victim, now) => {
                victim.back_off(victim.next_backoff(SHORTEST_BACKOFF), now);
            }
            // Measured: a backoff to measure is over.
            Some(_) => victim.has_paid(u64::MAX),
        }
    }

    /// Whether thief and victim were slower together than the victim alone: since the steal, or since
    /// the last backoff.
    fn is_slower(&self, baseline: u64, lasted: u64, own: &Rate, victim: &Rate, now: u64) -> bool {
        let is_slower = |ticks, victim_before: &PlainAtomicU64, own_before: &PlainAtomicU64| {
            let by_victim = victim.taken.load(Relaxed).saturating_sub(victim_before.load(Relaxed));
            let by_thief = own.taken.load(Relaxed).saturating_sub(own_before.load(Relaxed));
            rate_of(ticks, by_victim.saturating_add(by_thief)) > baseline
        };
        let since = victim.found_at.load(Relaxed);
        let open = now.saturating_sub(since);
        let is_long = since == self.open.load(Relaxed) && open >= clock::about(MEASURED);
        is_slower(lasted, &self.victim_taken, &self.own_taken)
            || is_long && is_slower(open, &victim.found_taken, &self.open_taken)
    }
}

fn migrations_of(own: &Rate, victim: &Rate) -> u64 {
    own.migrated.load(Relaxed).saturating_add(victim.migrated.load(Relaxed))
}

fn rate_of(ticks: u64, taken: u64) -> u64 {
    ticks.saturating_mul(UNIT).checked_div(taken).unwrap_or(u64::MAX)
}

impl Rate {
    pub(crate) fn new() -> Self {
        Self {
            taken: PlainAtomicU64::new(0),
            migrated: PlainAtomicU64::new(0),
            backoff_since: PlainAtomicU64::new(0),
            taken_before_backoff: PlainAtomicU64::new(0),
            baseline: PlainAtomicU64::new(0),
            found_at: PlainAtomicU64::new(0),
            found_taken: PlainAtomicU64::new(0),
            backoff_until: PlainAtomicU64::new(0),
            backoff: PlainAtomicU64::new(0),
            looks: PlainAtomicU32::new(0),
            looked_at: PlainAtomicU64::new(0),
        }
    }

    /// The worker: has taken a process from its queue.
    #[inline]
    pub(crate) fn count(&self) {
        self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
    }

    /// How many processes its worker has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// The worker: one that it has taken ran elsewhere before.
    pub(crate) fn count_migration(&self) {
        self.migrated.store(self.migrated.load(Relaxed) + 1, Relaxed);
    }

    /// Whether thieves may come now.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.has_no_backoff() || !self.is_backed_off(clock::ticks())
    }

    /// The same without a look at the clock, which a backoff may have outlived.
    #[inline]
    fn has_no_backoff(&self) -> bool {
        self.backoff_until.load(Relaxed) == 0
    }

    /// The worker, which has something to spare: whether thieves may have it. Ends a backoff that is
    /// over.
    #[inline]
    pub(crate) fn opens(&self) -> bool {
        self.has_no_backoff() || self.ends_backoff()
    }

    fn ends_backoff(&self) -> bool {
        let looks = self.looks.load(Relaxed).wrapping_add(1);
        self.looks.store(looks, Relaxed);
        let ends = looks.is_multiple_of(LOOKS) && !self.is_backed_off(clock::ticks());
        if ends {
            self.end_backoff();
        }
        ends
    }

    /// The worker has dispatched so many as it does between two looks around: ends a backoff in which
    /// processes turn out to be coarse.
    pub(crate) fn look_at_steps(&self) {
        if self.has_no_backoff() {
            return;
        }
        let now = clock::ticks();
        let since = self.looked_at.load(Relaxed).max(self.backoff_since.load(Relaxed));
        self.looked_at.store(now, Relaxed);
        if now.saturating_sub(since) >= clock::about(COARSE) {
            self.end_backoff();
        }
    }

    /// Any thread: from now on thieves may come.
    pub(crate) fn end_backoff(&self) {
        if !self.has_no_backoff() {
            self.backoff_until.store(0, Relaxed);
        }
    }

    /// Whether thieves back off.
    #[inline]
    pub(crate) fn is_backed_off(&self, now: u64) -> bool {
        self.backoff_until.load(Relaxed) > now
    }

    fn back_off(&self, backoff: u64, now: u64) {
        self.backoff.store(backoff, Relaxed);
        self.backoff_until.store(now + backoff, Relaxed);
        self.taken_before_backoff.store(self.taken.load(Relaxed), Relaxed);
        self.backoff_since.store(now, Relaxed);
    }

    /// A steal has paid for so long: thieves may come again, and the last backoff counts for that much
    /// less. Among fine-grained processes, too, a steal pays for a moment now and then.
    fn has_paid(&self, time: u64) {
        self.end_backoff();
        self.backoff.store(self.backoff.load(Relaxed).saturating_sub(time), Relaxed);
    }

    /// Twice the last backoff, or the first.
    fn next_backoff(&self, first: Duration) -> u64 {
        let twice = self.backoff.load(Relaxed).saturating_mul(2);
        twice.clamp(clock::about(first), clock::about(LONGEST_BACKOFF))
    }

    /// A steal begins: how fast was the worker without thieves?
    fn measure_baseline(&self, now: u64) {
        let since = self.backoff_since.swap(0, Relaxed);
        let lasted = now.saturating_sub(since);
        if since == 0 || lasted < clock::about(TELLS) {
            return;
        }
        let taken = self.taken.load(Relaxed);
        let alone = taken.saturating_sub(self.taken_before_backoff.load(Relaxed));
        self.baseline.store(rate_of(lasted, alone), Relaxed);
        self.found_at.store(now, Relaxed);
        self.found_taken.store(taken, Relaxed);
    }

    /// The rate without thieves, if that is known and not too old.
    fn known_baseline(&self, now: u64) -> Option<u64> {
        let found_at = self.found_at.load(Relaxed);
        let is_known = found_at != 0 && now.saturating_sub(found_at) < clock::about(STALE);
        is_known.then(|| self.baseline.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A thief takes ten processes from a worker and is out of work again after `lasted`.
    fn after_a_steal(lasted: Duration) -> (Rate, u64) {
        clock::start();
        let (thief, victim, last_steal) = (Rate::new(), Rate::new(), LastSteal::new());
        let begun = clock::ticks();
        last_steal.begin(&thief, 0, &victim, 10, begun);
        let ended = begun + clock::about(lasted);
        last_steal.judge(&thief, |_| &victim, ended);
        (victim, ended)
    }

    #[test]
    fn a_steal_that_lasts_pays() {
        let (victim, now) = after_a_steal(PLAIN * 100);
        assert!(!victim.is_backed_off(now));
    }

    #[test]
    fn a_steal_that_is_soon_used_up_makes_a_backoff_which_ends() {
        let (victim, now) = after_a_steal(PLAIN / 10);
        assert!(victim.is_backed_off(now));
        assert!(!victim.is_backed_off(now + clock::about(LONGEST_BACKOFF * 10)));
    }

    #[test]
    fn migrating_at_every_step_does_not_pay_however_long_it_lasts() {
        clock::start();
        let (thief, victim, last_steal) = (Rate::new(), Rate::new(), LastSteal::new());
        let begun = clock::ticks();
        last_steal.begin(&thief, 0, &victim, 1, begun);
        (0..100).for_each(|_| {
            thief.count_migration();
            victim.count_migration();
        });
        let ended = begun + clock::about(PLAIN * 100);
        last_steal.judge(&thief, |_| &victim, ended);
        assert!(victim.is_backed_off(ended));
    }

    #[test]
    fn a_victim_opens_when_its_backoff_is_over_and_not_before() {
        clock::start();
        let (over, lasts) = (Rate::new(), Rate::new());
        let backoff = clock::about(SHORTEST_BACKOFF);
        over.back_off(backoff, clock::ticks() - backoff);
        lasts.back_off(backoff, clock::ticks() + clock::about(STALE * 1_000_000));
        assert!(over.is_open() && !lasts.is_open());
        assert!((0..LOOKS).any(|_| over.opens()));
        assert!((0..LOOKS).all(|_| !lasts.opens()));
    }

    #[test]
    fn coarse_processes_end_a_backoff() {
        clock::start();
        let rate = Rate::new();
        rate.back_off(clock::about(LONGEST_BACKOFF), clock::ticks() - clock::about(COARSE));
        assert!(!rate.has_no_backoff());
        rate.look_at_steps();
        assert!(rate.has_no_backoff());
    }

    #[test]
    fn a_moment_that_paid_does_not_make_up_for_long_fine_grained_work() {
        clock::start();
        let rate = Rate::new();
        let (shortest, longest) = (clock::about(SHORTEST_BACKOFF), clock::about(LONGEST_BACKOFF));
        rate.back_off(longest, 0);
        rate.has_paid(shortest);
        assert!(rate.has_no_backoff());
        assert!(rate.next_backoff(SHORTEST_BACKOFF) > longest / 2);
        rate.has_paid(longest);
        assert!(rate.next_backoff(SHORTEST_BACKOFF) < 2 * shortest);
    }

    #[test]
    fn looking_in_vain_for_long_makes_a_backoff_and_one_look_does_not() {
        clock::start();
        let (victim, last_steal) = (Rate::new(), LastSteal::new());
        let (begun, step) = (clock::ticks(), clock::about(WATCH / 2));
        last_steal.watch(0, &victim, begun);
        assert!(!victim.is_backed_off(begun));
        let end = (1..10).map(|look| begun + look * step);
        end.clone().for_each(|now| last_steal.watch(0, &victim, now));
        assert!(end.into_iter().any(|now| victim.is_backed_off(now)));
    }
}
