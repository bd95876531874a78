//! What the processes of a network add to the scheduler's: they wait at channels, may be pruned, and
//! end with the failure of a channel.

use super::closing;
use super::observer::{self, ObserverHandle};
use super::process::{InNetwork, attribute};
use super::prune::{self, ToPrune};
use super::publication::Published;
use super::raw::{ChannelRef, End, MOST_GIVING};
use super::wire::Writing;
use super::word::{Seen, Word};
use kahn_engine::sync::{Arc, AtomicBool, Ordering::*};
use kahn_engine::task::{Ready, Task};
use kahn_engine::{
    Header, Hooks, Language, Left, Park, Pause, Probe, Scheduler, Tag, TaskRef, WorkerCore,
};
use kahn_report::log::Wait;
use kahn_report::observe::Slice;
use kahn_report::{Ending, Misuse, Name, ProcessCounter};
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;

/// A worker of a network.
pub(crate) type Worker = kahn_engine::Worker<Kahn>;

/// Bits of [`Task::marks`].
pub(crate) mod mark {
    pub(crate) use kahn_engine::task::mark::*;

    /// Nothing can observe it any more: drop it.
    pub(crate) const PRUNE: u8 = 16;
    /// No message can ever reach it.
    pub(crate) const DEAD: u8 = 32;
    /// It has ended or is dead, in a network whose loops are pruned (`channel::prune`).
    pub(crate) const OVER: u8 = 64;
    /// It has no sender any more, in such a network.
    pub(crate) const SENDS_NO_MORE: u8 = 128;
}

/// Bits of [`Task::own`].
pub(crate) mod own {
    pub(crate) use kahn_engine::task::own::*;

    /// Senders were dropped; they end their channels at the next operation.
    pub(crate) const CLOSES: u8 = LEFT;
    /// The process is held before one of its receives (`channel::hold`).
    pub(crate) const HOLDS: u8 = 8;
}

/// The language of networks.
pub(crate) struct Kahn {
    pub(crate) to_prune: ToPrune,
    pub(crate) network: Box<dyn OfNetwork>,
    detection: OnceLock<Detecting>,
    /// Is told when processes run.
    pub(super) observer: OnceLock<ObserverHandle>,
    /// Is told what processes do that are joined to the outside.
    pub(super) acts: OnceLock<ObserverHandle>,
    /// On a rank: a worker has gone to sleep, and what is done when nothing is busy is yet to be done.
    pub(crate) settles: OnceLock<Arc<AtomicBool>>,
}

static KAHN: Tag = Worker::tag();

/// When it is looked for rings of waits; set when it is decided how the network is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detecting {
    /// One lock at every block, as in the paper.
    pub(crate) central: bool,
    /// Probes look, and not only when all stands still.
    pub(crate) probes: bool,
}

/// What a network does for its processes and workers.
pub(crate) trait OfNetwork: Send + Sync {
    /// A worker has `budget` units of time for looking at waits; in passing, or before it sleeps.
    /// Returns what was spent.
    fn probe(&self, worker: &Worker, budget: usize, in_passing: bool) -> usize;
    /// The workers sleep and others run: look for rings once.
    fn look_everywhere(&self);
    /// A thread or a party has parked: look whether that closed a ring.
    fn look_from(&self, task: TaskRef);
    /// Processes may have to be woken that are to be pruned; the caller is in no operation.
    fn wake_to_prune(&self);
    /// No root is left here: `true` if there is no other rank. If there are others, it is told.
    fn tell_no_root(&self) -> bool;
    /// Nothing is busy: look for rings; give the verdict if nothing is pending.
    fn stuck(&self, worker: &Worker);
    /// A process has ended and some end of its was not dropped: the channel's name.
    fn end_left_behind(&self, task: TaskRef) -> Option<Name>;
    /// A process has parked; only called with `central` detection.
    fn parked(&self, task: TaskRef);
    /// A process was woken; only called with `central` detection.
    fn woken(&self, task: TaskRef);
    /// See [`Hooks::share_out`].
    fn share_out(&self) -> Option<u64>;
    /// How many workers share the processes.
    fn workers(&self) -> usize;
    /// Ends the run for misuse.
    fn misuse(&self, what: Misuse);
}

/// Where a process wants to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitOn {
    /// The word of the channel's other end.
    pub(crate) word: *const Word,
    /// What it was when there was nothing to do.
    pub(crate) seen: Seen,
}

impl WaitOn {
    const NOWHERE: Self = Self { word: ptr::null(), seen: Seen::NOTHING };
}

/// What a worker of a network keeps.
pub(crate) struct OfWorker {
    /// Where the running process wants to wait.
    wait: Cell<WaitOn>,
    pub(super) published: Published,
    /// Room for the written forms of messages.
    pub(super) writing: Writing,
    /// What probes in passing have spent beyond their budget.
    debt: Cell<usize>,
    /// Senders that parked lately: the first place to look for a ring.
    recently_blocked: [Cell<*const ()>; 8],
    /// The place for the next of them.
    next_blocked: Cell<usize>,
    /// Whether waits and wakes are told one by one: to the resolver of `central` detection, to an
    /// observer.
    tells: bool,
    /// Whether of a wait nothing is to be done but to count it: one test on the way of most.
    only_counts: bool,
    /// Whether messages may be given (`given`) to the processes that it runs.
    pub(super) gives: bool,
}

impl OfWorker {
    fn new(kahn: &Kahn, core: &WorkerCore) -> Self {
        let tells = kahn.is_central() || kahn.observer.get().is_some();
        Self {
            wait: Cell::new(WaitOn::NOWHERE),
            published: Published::default(),
            writing: Writing::default(),
            debt: Cell::new(0),
            recently_blocked: [const { Cell::new(ptr::null()) }; 8],
            next_blocked: Cell::new(0),
            tells,
            only_counts: core.counts && !tells,
            // One that has a thread of its own is not woken as others are.
            gives: kahn.network.workers() <= MOST_GIVING && !core.is_dedicated(),
        }
    }
}

impl OfWorker {
    /// Senders that parked lately.
    pub(crate) fn recently_blocked(&self) -> impl Iterator<Item = *const ()> {
        self.recently_blocked
            .iter()
            .map(|place| place.replace(ptr::null()))
            .filter(|end| !end.is_null())
    }

    /// Where the process wants to wait that has asked to be parked.
    pub(super) fn wanted(&self) -> WaitOn {
        self.wait.get()
    }
}

/// What a probe in passing may cost, in looks at a channel.
const IN_PASSING: usize = 128;
/// What a worker without work spends on looking for rings.
const BEFORE_SLEEP: usize = 512;

impl Kahn {
    pub(crate) fn new(network: Box<dyn OfNetwork>) -> Self {
        Self {
            to_prune: ToPrune::default(),
            network,
            detection: OnceLock::new(),
            observer: OnceLock::new(),
            acts: OnceLock::new(),
            settles: OnceLock::new(),
        }
    }

    /// Ends the run for misuse.
    pub(super) fn misuse(&self, what: Misuse) {
        self.network.misuse(what);
    }

    /// The channel of an end that a process has ended without dropping.
    pub(super) fn end_left_behind(&self, task: TaskRef) -> Option<Name> {
        self.network.end_left_behind(task)
    }

    /// Decides when it is looked for rings; once, before anything runs.
    pub(crate) fn detect(&self, how: Detecting) {
        assert!(self.detection.set(how).is_ok(), "a network runs once");
    }

    /// Makes visible what the processes of a worker have sent and received.
    #[inline(always)]
    pub(super) fn flush(worker: &Worker) {
        worker.of.published.flush(worker);
    }

    /// A thread or a party has parked, and still counts as busy: looks whether that closed a ring.
    pub(super) fn parked_outside(&self, task: TaskRef) {
        if self.probes() {
            self.network.look_from(task);
        }
        if self.to_prune.has_any() {
            self.network.wake_to_prune();
        }
    }

    fn is_central(&self) -> bool {
        self.detection.get().is_some_and(|detecting| detecting.central)
    }

    fn probes(&self) -> bool {
        self.detection.get().is_some_and(|detecting| detecting.probes)
    }

    /// Spends a small budget on looking for rings of waits; what a long walk costs more is paid back
    /// by the probes after it.
    fn probe(&self, worker: &Worker) {
        let debt = worker.of.debt.get();
        if debt >= IN_PASSING {
            worker.of.debt.set(debt - IN_PASSING);
            return;
        }
        let spent = self.network.probe(worker, IN_PASSING - debt, true);
        worker.of.debt.set((debt + spent).saturating_sub(IN_PASSING));
    }
}

impl Header for Kahn {
    type Hot = super::process::Hot;

    type Cold = super::process::Cold;
}

impl Language for Kahn {
    type OfWorker = OfWorker;

    fn of_worker(&self, core: &WorkerCore) -> OfWorker {
        OfWorker::new(self, core)
    }

    /// It receives.
    #[inline(always)]
    fn park(worker: &Worker, task: TaskRef) -> Park {
        if !worker.of.only_counts {
            return Self::park_otherwise(worker, task);
        }
        // As below, before the word is set.
        Task::count(&task.state().waits_empty);
        let wait = worker.of.wait.get();
        // SAFETY: the words of a channel live in type-stable memory.
        unsafe { &*wait.word }.park(wait.seen, worker.access())
    }

    #[inline(never)]
    fn park_otherwise(worker: &Worker, task: TaskRef) -> Park {
        let wait = worker.of.wait.get();
        // Of the holder's own.
        let waits_at = task.state().waits_at.load(Relaxed);
        let is_full = ChannelRef::waits_to_send(waits_at);
        // From here on the process may be run by another worker: nothing of it may be touched
        // after the word is set, so what is counted is counted before.
        if worker.counts {
            Task::count(if is_full { &task.state().waits_full } else { &task.state().waits_empty });
        }
        if is_full {
            let end = waits_at.cast_const();
            let OfWorker { recently_blocked, next_blocked, .. } = &worker.of;
            let next = next_blocked.get();
            recently_blocked[next % recently_blocked.len()].set(end);
            next_blocked.set(next.wrapping_add(1));
        }
        // SAFETY: the words of a channel live in type-stable memory.
        let word = unsafe { &*wait.word };
        let parked = word.park(wait.seen, worker.access());
        if worker.of.tells && parked == Park::Asleep {
            tell_of_parking(worker, task);
        }
        parked
    }

    #[inline(always)]
    fn left_poll(worker: &Worker, task: TaskRef, left: Left) {
        if left == Left::ToSettle {
            settle(worker, task);
        }
        Self::flush(worker);
    }

    fn must_end(task: TaskRef, marks: u8) -> Option<Ending> {
        // A link that is marked stands for a receiver that has left.
        let is_link = || task.attributes() & attribute::LINK != 0;
        (marks & mark::PRUNE != 0 && (task.is_prunable() || is_link())).then_some(Ending::Pruned)
    }

    fn ended(worker: &Worker, task: TaskRef, ending: &Ending) -> bool {
        closing::process_ended(task, ending, worker);
        // An end that it has left behind names it for good.
        task.local().ends.get() > 0
    }

    fn counted(task: TaskRef, counter: ProcessCounter) -> u64 {
        let state = task.state();
        let counted = match counter {
            ProcessCounter::waits_empty => state.waits_empty.load(Relaxed),
            ProcessCounter::waits_full => state.waits_full.load(Relaxed),
            _ => 0,
        };
        counted.into()
    }

    fn probe(worker: &Worker, why: Probe) -> bool {
        let kahn = worker.language();
        let looks = kahn.probes();
        match why {
            Probe::Deferred => {}
            Probe::Asleep => {
                // Before it stops being busy. Partner: `HereLocal::rest`.
                kahn.settles.get().into_iter().for_each(|settles| settles.store(true, Release));
            }
            Probe::InPassing => {
                prune::wake_to_prune(worker);
                if looks {
                    kahn.probe(worker);
                }
            }
            Probe::BeforeSleep => {
                if looks {
                    kahn.network.probe(worker, BEFORE_SLEEP, false);
                }
                prune::wake_to_prune(worker);
            }
            Probe::AllSleep { again } => {
                prune::wake_to_prune(worker);
                if looks && !again {
                    kahn.network.look_everywhere();
                }
            }
            Probe::Parked(task) => kahn.parked_outside(task),
        }
        kahn.to_prune.has_new()
    }

    fn quiet(worker: &Worker) {
        worker.language().network.stuck(worker);
    }

    #[inline]
    fn wait(task: TaskRef, pause: Pause) -> Wait {
        observer::wait(task, pause)
    }

    fn runs(worker: &Worker, task: TaskRef, at: u64) {
        observer::tell_of_running(worker, task, at);
    }

    fn rests(worker: &Worker, task: TaskRef, slice: Slice, pause: Pause) {
        observer::tell_of_resting(worker, task, slice, pause);
    }

    fn dropped(worker: &Worker, task: TaskRef) {
        observer::tell_of_dropping(worker, task);
    }
}

/// A poll is over that has left something to do.
#[cold]
fn settle(worker: &Worker, task: TaskRef) {
    if task.notes() & own::CLOSES != 0 {
        closing::close_dropped(task, worker, false);
    }
    // It may wait for something foreign, and be pruned there.
    task.note_sent(ptr::null());
}

/// How a process ends that has reached the failure mark of a channel.
#[cold]
pub(super) fn failed_by(channel: ChannelRef) -> Ending {
    let Some(sender) = channel.owner(End::Sender) else { return Ending::Stopped };
    Ending::FailedBy { channel: channel.name().clone(), process: sender.info().name.clone() }
}

impl Hooks for Kahn {
    #[inline]
    fn tag() -> &'static Tag {
        &KAHN
    }

    fn share_out(&self) -> Option<u64> {
        self.network.share_out()
    }
}

/// The language of the network that a process belongs to.
pub(super) fn of<'a>(task: TaskRef) -> &'a Kahn {
    Scheduler::of(task).language()
}

/// Asks for a process that sends to be parked when its poll returns.
#[inline]
pub(super) fn ask_to_wait_for_room(worker: &Worker, wait: WaitOn) {
    worker.of.wait.set(wait);
    // A process that waits for two things at once is told of its misuse at the second.
    let _ = worker.ask_to_park_otherwise();
}

/// Asks for a process that receives to be parked when its poll returns. All that it has done is published, or the
/// caller does that next; so no credit is left, without which nothing is done while an operation waits.
#[inline]
pub(super) fn ask_to_wait_for_message(worker: &Worker, wait: WaitOn) {
    worker.of.wait.set(wait);
    // As above.
    let _ = worker.ask_to_park();
}

/// Makes a process ready.
///
/// # Safety
/// The caller has ended its wait: it has taken PARKED out of the word where the process was parked.
#[inline]
pub(super) unsafe fn wake(worker: &Worker, task: TaskRef) {
    // SAFETY: said by the caller; only one takes the bit out.
    let ready = unsafe { task.claim() };
    if worker.of.tells {
        return tell_and_wake(worker, task, ready);
    }
    worker.wake(ready);
}

/// The same of a process that was [given](super::given) a message: those have no threads of their own.
///
/// # Safety
/// As for [`wake`].
#[inline(always)]
pub(super) unsafe fn wake_given(worker: &Worker, task: TaskRef) {
    // SAFETY: said by the caller; only one takes the bit out.
    let ready = unsafe { task.claim() };
    if worker.of.tells {
        return tell_and_wake(worker, task, ready);
    }
    worker.wake_pooled(ready);
}

#[cold]
fn tell_of_parking(worker: &Worker, task: TaskRef) {
    let kahn = worker.language();
    if kahn.is_central() {
        kahn.network.parked(task);
    }
}

#[cold]
#[inline(never)]
fn tell_and_wake(worker: &Worker, task: TaskRef, ready: Ready) {
    let kahn = worker.language();
    if kahn.is_central() {
        kahn.network.woken(task);
    }
    observer::tell_of_waking(worker, task);
    worker.wake(ready);
}
