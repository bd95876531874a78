//! Whether stealing pays: what thieves find out about a victim, and when they leave it alone.
//!
//! A process that moves pulls its lines from the other core, and so do its partners when it answers.
//! Processes that meet every 50 ns run several times slower on two cores than on one; those that
//! compute for long run twice as fast. Nobody can tell by looking, so thieves measure: how many
//! processes thief and victim take from their queues together while the thief lives on its loot (a
//! *raid*), and how many the victim takes while it is left alone (*calm*).
//!
//! ```text
//!              loot                queues empty           pause over, something is ripe
//!   idle ─────────────► raid ───────────────► judged ───────────────────────► raid …
//!                                              │ paid: no pause
//!                                              │ not known: a pause of SHORTEST, to measure calm
//!                                              │ slower than calm: a pause, each time twice as long
//! ```
//!
//! A thief that looks for `WATCH` and finds processes, but none that is ripe, has seen a worker that
//! gets on by itself: then too there is a pause.
//!
//! Loot that lasts `PLAIN` a process pays without further question: coarse processes are never left
//! lying. During a pause the thief sleeps and its victim wakes nobody. What is known about calm
//! grows old after `STALE`, for programs change.
//!
//! Nothing is lost by a pause. It holds for the deque alone, which only its own worker fills, and which
//! that empties before it sleeps; the watcher ([`crate::scheduler::idle`]) looks after one that does
//! not get on. The queue for what comes from outside may fill while its worker sleeps and is never
//! left alone: a worker that is woken for it and finds its owner's pause would sleep again, and
//! nobody would run what is there. All fields are Relaxed: what a race spoils is one judgement. A crowd
//! that is sent home counts as if the worker there had stolen it.

use crate::sync::system::clock;
use crate::sync::{AtomicU64, AtomicUsize, Ordering::*};
use std::time::Duration;

/// Loot that lasts so long a process is worth moving in any case: some twenty lines from another
/// core, and twice that in work. There is no time in a model: there everything pays.
const PLAIN: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(4) };
/// How long a victim is left alone after loot that did not pay, at least and at most.
const SHORTEST: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };
const LONGEST: Duration = Duration::from_millis(2);
/// How long a thief looks at processes that do not ripen. Each look takes a line from their
/// worker. As long is the first pause after that.
const WATCH: Duration = Duration::from_micros(20);
/// How long one believes what was measured.
const STALE: Duration = Duration::from_millis(20);
/// Paces are ticks for so many processes.
const UNIT: u64 = 64;

/// What is known about a worker as a victim, and what it takes from its queue.
#[derive(Debug)]
pub(super) struct Pace {
    /// Processes that its worker has taken; written by the worker.
    taken: AtomicU64,
    /// Since when nobody steals here, in ticks, and `taken` then; 0 if somebody does.
    calm_since: AtomicU64,
    calm_taken: AtomicU64,
    /// Ticks for `UNIT` processes when calm, and when that was found out; 0 if never.
    calm: AtomicU64,
    found_at: AtomicU64,
    /// Thieves leave it alone until then.
    alone_until: AtomicU64,
    /// The last pause, in nanoseconds.
    pause: AtomicU64,
}

/// What a thief took last, until it is judged. Written by the thief, and by whoever sends a crowd
/// home to it.
#[derive(Debug)]
pub(super) struct Raid {
    victim: AtomicUsize,
    /// How many processes; 0 when it has been judged.
    size: AtomicUsize,
    since: AtomicU64,
    victim_taken: AtomicU64,
    own_taken: AtomicU64,
    /// Whom it looks at in vain, since when, and when it did last.
    watched: AtomicUsize,
    watched_since: AtomicU64,
    watched_at: AtomicU64,
}

impl Raid {
    pub(super) fn new() -> Self {
        Self {
            victim: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            since: AtomicU64::new(0),
            victim_taken: AtomicU64::new(0),
            own_taken: AtomicU64::new(0),
            watched: AtomicUsize::new(usize::MAX),
            watched_since: AtomicU64::new(0),
            watched_at: AtomicU64::new(0),
        }
    }

    /// Notes that nothing was ripe where there is something.
    pub(super) fn watch(&self, index: usize, victim: &Pace, now: u64) {
        let ago = |then: &AtomicU64| clock::to_duration(now.saturating_sub(then.load(Relaxed)));
        if self.watched.swap(index, Relaxed) != index || ago(&self.watched_at) > WATCH {
            self.watched_since.store(now, Relaxed);
        }
        self.watched_at.store(now, Relaxed);
        if ago(&self.watched_since) > WATCH {
            self.watched.store(usize::MAX, Relaxed);
            victim.leave_alone(victim.next_pause(WATCH), now);
        }
    }

    /// Notes that the thief has taken `size` processes.
    pub(super) fn begin(&self, own: &Pace, index: usize, victim: &Pace, size: usize, now: u64) {
        victim.end_calm(now);
        self.victim.store(index, Relaxed);
        self.size.store(size, Relaxed);
        self.since.store(now, Relaxed);
        self.victim_taken.store(victim.taken.load(Relaxed), Relaxed);
        self.own_taken.store(own.taken.load(Relaxed), Relaxed);
    }

    /// The thief has run out of work: judges its last raid. `pace` is that of a worker.
    pub(super) fn judge<'a>(&self, own: &Pace, pace: impl FnOnce(usize) -> &'a Pace, now: u64) {
        let size = self.size.load(Relaxed);
        if size == 0 {
            return;
        }
        self.size.store(0, Relaxed);
        let victim = pace(self.victim.load(Relaxed));
        let lasted = now.saturating_sub(self.since.load(Relaxed));
        let by_victim = victim.taken.load(Relaxed).saturating_sub(self.victim_taken.load(Relaxed));
        let by_thief = own.taken.load(Relaxed).saturating_sub(self.own_taken.load(Relaxed));
        let pause = if clock::to_duration(lasted) >= PLAIN * u32::try_from(size).unwrap_or(u32::MAX)
        {
            Duration::ZERO
        } else {
            match victim.known_calm(now) {
                None => SHORTEST,
                Some(calm) if pace_of(lasted, by_victim.saturating_add(by_thief)) <= calm => {
                    Duration::ZERO
                }
                Some(_) => victim.next_pause(SHORTEST),
            }
        };
        victim.leave_alone(pause, now);
    }
}

fn pace_of(ticks: u64, taken: u64) -> u64 {
    ticks.saturating_mul(UNIT).checked_div(taken).unwrap_or(u64::MAX)
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            taken: AtomicU64::new(0),
            calm_since: AtomicU64::new(0),
            calm_taken: AtomicU64::new(0),
            calm: AtomicU64::new(0),
            found_at: AtomicU64::new(0),
            alone_until: AtomicU64::new(0),
            pause: AtomicU64::new(0),
        }
    }

    /// The worker: has taken a process from its queue.
    #[inline]
    pub(super) fn count(&self) {
        self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
    }

    /// Whether thieves leave it alone.
    #[inline]
    pub(super) fn is_left_alone(&self, now: u64) -> bool {
        self.alone_until.load(Relaxed) > now
    }

    fn leave_alone(&self, pause: Duration, now: u64) {
        self.pause.store(pause.subsec_nanos().into(), Relaxed);
        let until = if pause.is_zero() { 0 } else { now + clock::from_duration(pause) };
        self.alone_until.store(until, Relaxed);
        self.calm_taken.store(self.taken.load(Relaxed), Relaxed);
        self.calm_since.store(now, Relaxed);
    }

    /// Twice the last pause, or the first.
    fn next_pause(&self, first: Duration) -> Duration {
        Duration::from_nanos(self.pause.load(Relaxed) * 2).clamp(first, LONGEST)
    }

    /// Somebody steals from now on: how fast did the worker get on without?
    fn end_calm(&self, now: u64) {
        let since = self.calm_since.swap(0, Relaxed);
        let calm = now.saturating_sub(since);
        if since == 0 || clock::to_duration(calm) < SHORTEST {
            return;
        }
        let taken = self.taken.load(Relaxed).saturating_sub(self.calm_taken.load(Relaxed));
        self.calm.store(pace_of(calm, taken), Relaxed);
        self.found_at.store(now, Relaxed);
    }

    /// The pace when calm, if that is known and not too old.
    fn known_calm(&self, now: u64) -> Option<u64> {
        let found_at = self.found_at.load(Relaxed);
        let is_known = found_at != 0 && clock::to_duration(now.saturating_sub(found_at)) < STALE;
        is_known.then(|| self.calm.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A thief takes ten processes from a worker and is out of work again after `lasted`.
    fn raided(lasted: Duration) -> (Pace, u64) {
        clock::start();
        let (thief, victim, raid) = (Pace::new(), Pace::new(), Raid::new());
        let begun = clock::ticks();
        raid.begin(&thief, 0, &victim, 10, begun);
        let ended = begun + clock::from_duration(lasted);
        raid.judge(&thief, |_| &victim, ended);
        (victim, ended)
    }

    #[test]
    fn loot_that_lasts_pays() {
        let (victim, now) = raided(PLAIN * 100);
        assert!(!victim.is_left_alone(now));
    }

    #[test]
    fn loot_that_is_soon_used_up_makes_a_pause_which_ends() {
        let (victim, now) = raided(PLAIN / 10);
        assert!(victim.is_left_alone(now));
        assert!(!victim.is_left_alone(now + clock::from_duration(LONGEST * 10)));
    }

    #[test]
    fn looking_in_vain_for_long_makes_a_pause_and_a_glance_does_not() {
        clock::start();
        let (victim, raid) = (Pace::new(), Raid::new());
        let (begun, step) = (clock::ticks(), clock::from_duration(WATCH / 2));
        raid.watch(0, &victim, begun);
        assert!(!victim.is_left_alone(begun));
        let end = (1..10).map(|look| begun + look * step);
        end.clone().for_each(|now| raid.watch(0, &victim, now));
        assert!(end.into_iter().any(|now| victim.is_left_alone(now)));
    }
}
