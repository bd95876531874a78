//! Whether stealing pays: what thieves find out about a victim, and when they leave it alone.
//!
//! A process that moves pulls its lines from the other core, and so do its partners when it answers.
//! Processes that meet every 50 ns run several times slower on two cores than on one; those that
//! compute for long run twice as fast. Nobody can tell by looking, so thieves measure: how many
//! processes thief and victim take from their queues together while the thief lives on its loot (a
//! *raid*), how many of those came from another worker (*crossings*), and how many the victim takes
//! while it is left alone (*calm*).
//!
//! ```text
//!              loot                queues empty           pause over, something is ripe
//!   idle ─────────────► raid ───────────────► judged ───────────────────────► raid …
//!                                              │ paid: no pause, and the last counts for less
//!                                              │ not known: a pause of CALM, to measure calm
//!                                              │ slower than calm: a pause, each time twice as long
//! ```
//!
//! A raid of `PLAIN` for each crossing pays without further question: coarse processes are never left
//! lying, and those that talk across with every step do not pass for coarse because they do it for
//! long. Other raids are compared with calm, and so is all the time since the last pause, once that is
//! as long as the pause was to find calm out: in a program that makes a thousand processes, then runs
//! them, raids fall into the second half only, and are fast beside any average.
//!
//! A thief that looks for `WATCH` and finds processes, but none that is ripe, has seen a worker that
//! gets on by itself: then too there is a pause.
//!
//! During a pause the thief sleeps; its victim wakes nobody, and does not publish sooner for its sake.
//! The victim looks at the clock once in `LOOKS` times that it has something to spare, and ends a pause
//! that is over. Coarse processes end it at once: the victim sees that it takes long for a few dozen of
//! them, or the watcher ([`crate::scheduler::idle`]) that it stands still. What is known about calm
//! grows old after `STALE`, for programs change.
//!
//! Nothing is lost by a pause. It holds for the deque and the front of what waits, which only their
//! own worker fills, and which that empties before it sleeps. The rest, for what comes from outside,
//! may fill while its worker sleeps and is never left alone: a worker that is woken for it and finds
//! its owner's pause would sleep again, and nobody would run what is there. All fields are Relaxed,
//! and no model looks at them: what a race spoils is one judgement. A crowd that is sent home counts
//! as if the worker there had stolen it.

use crate::sync::system::clock;
use crate::sync::{Ordering::*, PlainAtomicU32, PlainAtomicU64, PlainAtomicUsize};
use std::time::Duration;

/// A raid that lasts so long for each crossing is worth it in any case: some twenty lines from another
/// core, and as long again in work. There is no time in a model: there everything pays.
const PLAIN: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(2) };
/// How long a victim is left alone after loot that did not pay, at least and at most.
const SHORTEST: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };
const LONGEST: Duration = Duration::from_millis(8);
/// How long it is left alone if calm is not known, and how long must be what is compared with calm
/// besides raids: longer than what a program does over and over.
const CALM: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(500) };
/// A pause tells about calm if it is so long: those whose partners were with a thief need some time to
/// gather.
const TELLS: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(200) };
/// How long a thief looks at processes that do not ripen. Each look takes a line from their
/// worker. As long is the first pause after that.
const WATCH: Duration = Duration::from_micros(20);
/// How long one believes what was measured.
const STALE: Duration = Duration::from_millis(50);
/// So many times a worker has something to spare before it looks at the clock.
const LOOKS: u32 = 8;
/// A worker whose processes take twice `PLAIN` each takes so long from asking for what has waited
/// longest to asking again.
const COARSE: Duration = Duration::from_micros(250);
/// Paces are ticks for so many processes.
const UNIT: u64 = 64;

/// What is known about a worker as a victim, and what it takes from its queue.
#[derive(Debug)]
pub(super) struct Pace {
    /// Processes that its worker has taken; written by the worker.
    taken: PlainAtomicU64,
    /// Those among them that ran elsewhere before; written by the worker.
    moved: PlainAtomicU64,
    /// Since when nobody steals here, in ticks, and `taken` then; 0 if somebody does.
    calm_since: PlainAtomicU64,
    calm_taken: PlainAtomicU64,
    /// Ticks for `UNIT` processes when calm, when that was found out, and `taken` then; 0 if never.
    calm: PlainAtomicU64,
    found_at: PlainAtomicU64,
    found_taken: PlainAtomicU64,
    /// Thieves leave it alone until then.
    alone_until: PlainAtomicU64,
    /// The last pause, in nanoseconds.
    pause: PlainAtomicU64,
    /// How often its worker had something to spare in a pause, and when it last asked for what has
    /// waited longest in one; written by the worker.
    looks: PlainAtomicU32,
    looked_at: PlainAtomicU64,
}

/// What a thief took last, until it is judged. Written by the thief, and by whoever sends a crowd
/// home to it.
#[derive(Debug)]
pub(super) struct Raid {
    victim: PlainAtomicUsize,
    /// How many processes; 0 when it has been judged.
    size: PlainAtomicUsize,
    since: PlainAtomicU64,
    victim_taken: PlainAtomicU64,
    own_taken: PlainAtomicU64,
    /// What both had taken from others.
    moved: PlainAtomicU64,
    /// The end of the victim's last pause as its `found_at`, and what the thief had taken when it came
    /// for the first time since.
    open: PlainAtomicU64,
    open_taken: PlainAtomicU64,
    /// Whom it looks at in vain, since when, and when it did last.
    watched: PlainAtomicUsize,
    watched_since: PlainAtomicU64,
    watched_at: PlainAtomicU64,
}

impl Raid {
    pub(super) fn new() -> Self {
        Self {
            victim: PlainAtomicUsize::new(0),
            size: PlainAtomicUsize::new(0),
            since: PlainAtomicU64::new(0),
            victim_taken: PlainAtomicU64::new(0),
            own_taken: PlainAtomicU64::new(0),
            moved: PlainAtomicU64::new(0),
            open: PlainAtomicU64::new(0),
            open_taken: PlainAtomicU64::new(0),
            watched: PlainAtomicUsize::new(usize::MAX),
            watched_since: PlainAtomicU64::new(0),
            watched_at: PlainAtomicU64::new(0),
        }
    }

    /// Notes that nothing was ripe where there is something.
    pub(super) fn watch(&self, index: usize, victim: &Pace, now: u64) {
        let ago =
            |then: &PlainAtomicU64| clock::to_duration(now.saturating_sub(then.load(Relaxed)));
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
        let (own_taken, open) = (own.taken.load(Relaxed), victim.found_at.load(Relaxed));
        if self.victim.swap(index, Relaxed) != index || self.open.load(Relaxed) != open {
            self.open.store(open, Relaxed);
            self.open_taken.store(own_taken, Relaxed);
        }
        self.size.store(size, Relaxed);
        self.since.store(now, Relaxed);
        self.victim_taken.store(victim.taken.load(Relaxed), Relaxed);
        self.own_taken.store(own_taken, Relaxed);
        self.moved.store(moved_by(own, victim), Relaxed);
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
        let moved = moved_by(own, victim).saturating_sub(self.moved.load(Relaxed));
        // Who is new has not run anywhere before.
        let crossings = u32::try_from(moved.max(size as u64)).unwrap_or(u32::MAX);
        if clock::to_duration(lasted) >= PLAIN.saturating_mul(crossings) {
            return victim.has_paid(clock::to_duration(lasted));
        }
        match victim.known_calm(now) {
            None => victim.leave_alone(CALM, now),
            Some(calm) if self.is_slower(calm, lasted, own, victim, now) => {
                victim.leave_alone(victim.next_pause(SHORTEST), now);
            }
            // Measured: what the pauses were for is over.
            Some(_) => victim.has_paid(Duration::MAX),
        }
    }

    /// Whether thief and victim got on slower together than the victim when calm: in the raid, or
    /// since the last pause.
    fn is_slower(&self, calm: u64, lasted: u64, own: &Pace, victim: &Pace, now: u64) -> bool {
        let is_slower = |ticks, victim_before: &PlainAtomicU64, own_before: &PlainAtomicU64| {
            let by_victim = victim.taken.load(Relaxed).saturating_sub(victim_before.load(Relaxed));
            let by_thief = own.taken.load(Relaxed).saturating_sub(own_before.load(Relaxed));
            pace_of(ticks, by_victim.saturating_add(by_thief)) > calm
        };
        let since = victim.found_at.load(Relaxed);
        let open = now.saturating_sub(since);
        let is_long = since == self.open.load(Relaxed) && clock::to_duration(open) >= CALM;
        is_slower(lasted, &self.victim_taken, &self.own_taken)
            || is_long && is_slower(open, &victim.found_taken, &self.open_taken)
    }
}

fn moved_by(own: &Pace, victim: &Pace) -> u64 {
    own.moved.load(Relaxed).saturating_add(victim.moved.load(Relaxed))
}

fn pace_of(ticks: u64, taken: u64) -> u64 {
    ticks.saturating_mul(UNIT).checked_div(taken).unwrap_or(u64::MAX)
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            taken: PlainAtomicU64::new(0),
            moved: PlainAtomicU64::new(0),
            calm_since: PlainAtomicU64::new(0),
            calm_taken: PlainAtomicU64::new(0),
            calm: PlainAtomicU64::new(0),
            found_at: PlainAtomicU64::new(0),
            found_taken: PlainAtomicU64::new(0),
            alone_until: PlainAtomicU64::new(0),
            pause: PlainAtomicU64::new(0),
            looks: PlainAtomicU32::new(0),
            looked_at: PlainAtomicU64::new(0),
        }
    }

    /// The worker: has taken a process from its queue.
    #[inline]
    pub(super) fn count(&self) {
        self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
    }

    /// The worker: one that it has taken ran elsewhere before.
    pub(super) fn count_move(&self) {
        self.moved.store(self.moved.load(Relaxed) + 1, Relaxed);
    }

    /// Whether thieves may come now.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.has_no_pause() || !self.is_left_alone(clock::ticks())
    }

    /// The same without a look at the clock, which a pause may have outlived.
    #[inline]
    fn has_no_pause(&self) -> bool {
        self.alone_until.load(Relaxed) == 0
    }

    /// The worker, which has something to spare: whether thieves may have it. Ends a pause that is
    /// over.
    #[inline]
    pub(super) fn opens(&self) -> bool {
        self.has_no_pause() || self.ends_pause()
    }

    fn ends_pause(&self) -> bool {
        let looks = self.looks.load(Relaxed).wrapping_add(1);
        self.looks.store(looks, Relaxed);
        let ends = looks.is_multiple_of(LOOKS) && !self.is_left_alone(clock::ticks());
        if ends {
            self.end_pause();
        }
        ends
    }

    /// The worker asks for what has waited longest: ends a pause in which processes turn out to be
    /// coarse.
    pub(super) fn look_at_steps(&self) {
        if self.has_no_pause() {
            return;
        }
        let now = clock::ticks();
        let since = self.looked_at.load(Relaxed).max(self.calm_since.load(Relaxed));
        self.looked_at.store(now, Relaxed);
        if clock::to_duration(now.saturating_sub(since)) >= COARSE {
            self.end_pause();
        }
    }

    /// Anybody: from now on thieves may come.
    pub(super) fn end_pause(&self) {
        if !self.has_no_pause() {
            self.alone_until.store(0, Relaxed);
        }
    }

    /// Whether thieves leave it alone.
    #[inline]
    pub(super) fn is_left_alone(&self, now: u64) -> bool {
        self.alone_until.load(Relaxed) > now
    }

    fn leave_alone(&self, pause: Duration, now: u64) {
        self.pause.store(pause.subsec_nanos().into(), Relaxed);
        self.alone_until.store(now + clock::from_duration(pause), Relaxed);
        self.calm_taken.store(self.taken.load(Relaxed), Relaxed);
        self.calm_since.store(now, Relaxed);
    }

    /// A raid has paid for so long: thieves may come again, and the last pause counts for that much
    /// less. Among talk, too, there is a raid now and then that pays for a moment.
    fn has_paid(&self, time: Duration) {
        self.end_pause();
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.pause.store(self.pause.load(Relaxed).saturating_sub(time), Relaxed);
    }

    /// Twice the last pause, or the first.
    fn next_pause(&self, first: Duration) -> Duration {
        Duration::from_nanos(self.pause.load(Relaxed) * 2).clamp(first, LONGEST)
    }

    /// Somebody steals from now on: how fast did the worker get on without?
    fn end_calm(&self, now: u64) {
        let since = self.calm_since.swap(0, Relaxed);
        let calm = now.saturating_sub(since);
        if since == 0 || clock::to_duration(calm) < TELLS {
            return;
        }
        let taken = self.taken.load(Relaxed);
        let when_calm = taken.saturating_sub(self.calm_taken.load(Relaxed));
        self.calm.store(pace_of(calm, when_calm), Relaxed);
        self.found_at.store(now, Relaxed);
        self.found_taken.store(taken, Relaxed);
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
    fn talk_across_does_not_pay_however_long_it_lasts() {
        clock::start();
        let (thief, victim, raid) = (Pace::new(), Pace::new(), Raid::new());
        let begun = clock::ticks();
        raid.begin(&thief, 0, &victim, 1, begun);
        (0..100).for_each(|_| {
            thief.count_move();
            victim.count_move();
        });
        let ended = begun + clock::from_duration(PLAIN * 100);
        raid.judge(&thief, |_| &victim, ended);
        assert!(victim.is_left_alone(ended));
    }

    #[test]
    fn a_victim_opens_when_its_pause_is_over_and_not_before() {
        clock::start();
        let (over, lasts) = (Pace::new(), Pace::new());
        over.leave_alone(SHORTEST, clock::ticks() - clock::from_duration(SHORTEST));
        lasts.leave_alone(SHORTEST, clock::ticks() + clock::from_duration(STALE * 1_000_000));
        assert!(over.is_open() && !lasts.is_open());
        assert!((0..LOOKS).any(|_| over.opens()));
        assert!((0..LOOKS).all(|_| !lasts.opens()));
    }

    #[test]
    fn coarse_processes_end_a_pause() {
        clock::start();
        let pace = Pace::new();
        pace.leave_alone(LONGEST, clock::ticks() - clock::from_duration(COARSE));
        assert!(!pace.has_no_pause());
        pace.look_at_steps();
        assert!(pace.has_no_pause());
    }

    #[test]
    fn a_moment_that_paid_does_not_make_up_for_long_talk() {
        let pace = Pace::new();
        pace.leave_alone(LONGEST, 0);
        pace.has_paid(SHORTEST);
        assert!(pace.has_no_pause());
        assert_eq!(pace.next_pause(SHORTEST), LONGEST);
        pace.has_paid(LONGEST);
        assert_eq!(pace.next_pause(SHORTEST), SHORTEST);
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
