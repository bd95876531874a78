//! A worker: a thread that runs processes, and all that it keeps to itself.

use super::foreign::base_waker;
use super::policy::lane::Lane;
use super::policy::{Policy, Ready, Turn};
use super::request::{Commit, EndCause, Listed, Request, WaitOn};
use super::stopwatch::Stopwatch;
use super::task::{Polled, Task, TaskRef, mark, own};
use super::threads::Unwinding;
use super::word::Park;
use super::{Scheduler, WorkerSlot};
use crate::accounting::Accounting;
use crate::sync::system::clock;
use crate::sync::{Arc, AtomicUsize, Ordering::*, Parker};
use kahn_report::{Ending, Failure};
use std::cell::Cell;
use std::io::Write as _;
use std::ptr::{self, NonNull};
use std::task::Context;

/// Looks at a peer that a process may have in one dispatch: then it yields.
pub(crate) const PATIENCE: u32 = 128;
/// Ends of one process with unpublished operations that a worker remembers.
pub(super) const LISTED: usize = 8;

/// A thread that runs processes. Everything here is its own; others see its `WorkerSlot`.
pub(crate) struct Worker {
    scheduler: Arc<Scheduler>,
    index: usize,
    /// Where a thread with a process of its own sleeps.
    own_parker: Option<Arc<Parker>>,
    /// The process that runs now.
    pub(super) current: Cell<Option<TaskRef>>,
    /// What the running process asks for, with the details of a wait beside it.
    pub(super) request: Cell<Request>,
    pub(super) cause: Cell<EndCause>,
    pub(super) commit: Cell<Commit>,
    pub(super) wait: Cell<WaitOn>,
    pub(super) unwinding: Cell<Option<Unwinding>>,
    pub(super) listed: [Cell<Option<Listed>>; LISTED],
    pub(super) listed_count: Cell<usize>,
    /// Looks at peers left to the running process.
    pub(crate) patience: Cell<u32>,
    /// Looks at peers of processes that gave way to more urgent ones and have not gone behind others
    /// since; and the step at which one was last told to.
    pub(super) spent: Cell<u32>,
    pub(super) preempted_at: Cell<u64>,
    /// Its slot and its policy, without the way through the scheduler; null and none for a thread
    /// that is no worker of the network.
    slot: *const WorkerSlot,
    policy: Option<*const dyn Policy>,
    /// The scheduler's, without the way there.
    first: NonNull<AtomicUsize>,
    /// What that policy leaves to this worker alone.
    lane: Option<NonNull<Lane>>,
    pub(super) glance_debt: Cell<usize>,
    /// Copies of settings, on the worker's own line.
    solo: Cell<bool>,
    pub(crate) counts: bool,
    /// Whether it is a network of communicating processes.
    pub(crate) communicates: bool,
    /// Whether what it wakes may run next without being queued.
    pub(super) keeps_hot: Cell<bool>,
    timing: bool,
    pub(super) stopwatch: Stopwatch,
    pub(super) central: bool,
    /// The network's number in this program.
    pub(crate) network: u32,
    /// Senders that parked lately: the first place to look for a ring.
    suspects: [Cell<*const ()>; 8],
    /// The place for the next of them.
    next_suspect: Cell<usize>,
}

#[cfg(not(loom))]
thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}
// The threads of a model share one thread of the system.
#[cfg(loom)]
loom::thread_local! {
    static CURRENT: Cell<*const Worker> = Cell::new(ptr::null());
}

/// Ends the program if the runtime itself panics. Processes catch their own panics; after one of
/// ours nobody could tell who runs what, and the others would wait for ever on borrowed stacks.
pub(super) struct Defect;

impl Drop for Defect {
    fn drop(&mut self) {
        // The panic's own message has been printed, unless somebody captures it.
        let _ =
            std::io::stderr().write_all(b"kahn: a panic in the runtime itself, please report\n");
        std::process::abort();
    }
}

/// Polls the body of a process that the caller holds.
#[inline]
fn poll_body(task: TaskRef) -> Polled {
    let waker = base_waker(task);
    let body = task.body().expect("only processes with a body are run");
    // SAFETY: the caller holds the process, and its body has not ended.
    unsafe { (body.poll)(task.non_null(), &mut Context::from_waker(&waker)) }
}

/// Keeps the worker of this thread known to [`Worker::with_current`] while it lives.
pub(super) struct Installed {
    before: *const Worker,
}

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

impl Worker {
    pub(super) fn new(scheduler: &Scheduler, index: usize) -> Self {
        // A party may give up its ends before the run.
        let config = scheduler.config_if_any();
        let settings = config.map(|config| config.settings).unwrap_or_default();
        let policy = config.map(|config| config.policy.as_ref());
        Self {
            scheduler: scheduler.strong(),
            index,
            own_parker: None,
            current: Cell::new(None),
            request: Cell::new(Request::None),
            cause: Cell::new(EndCause::Stopped),
            commit: Cell::new(Commit::NOTHING),
            wait: Cell::new(WaitOn::NOWHERE),
            unwinding: Cell::new(None),
            listed: [const { Cell::new(None) }; LISTED],
            listed_count: Cell::new(0),
            patience: Cell::new(PATIENCE),
            spent: Cell::new(0),
            preempted_at: Cell::new(u64::MAX),
            slot: config
                .and_then(|config| config.slots.get(index))
                .map_or(ptr::null(), |slot| ptr::from_ref(&slot.0)),
            policy: policy.map(ptr::from_ref),
            first: NonNull::from(&scheduler.first),
            lane: policy.and_then(|policy| policy.lane(index)).map(NonNull::from),
            glance_debt: Cell::new(0),
            solo: Cell::new(settings.solo),
            counts: settings.accounting != Accounting::Off,
            // Relaxed: set before anything runs.
            communicates: !scheduler.extension.load(Relaxed).is_null(),
            keeps_hot: Cell::new(policy.is_some_and(Policy::keeps_hot) && !settings.threads),
            timing: settings.accounting == Accounting::Timing || settings.samples,
            stopwatch: Stopwatch::new(index, settings.accounting == Accounting::Timing),
            central: settings.central,
            network: scheduler.number,
            suspects: [const { Cell::new(ptr::null()) }; 8],
            next_suspect: Cell::new(0),
        }
    }

    /// A worker for the thread of one process.
    pub(super) fn dedicated(scheduler: &Scheduler, index: usize, parker: Arc<Parker>) -> Self {
        Self {
            own_parker: Some(parker),
            keeps_hot: Cell::new(false),
            lane: None,
            solo: Cell::new(false),
            ..Self::new(scheduler, index)
        }
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Whether no other thread has any part in the network: plain accesses do then.
    #[inline]
    pub(crate) fn solo(&self) -> bool {
        self.solo.get()
    }

    /// The process that runs makes one with a thread of its own. Starting a thread publishes all
    /// that was written without read-modify-writes.
    pub(crate) fn gets_company(&self) {
        self.solo.set(false);
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The index as reports and words carry it.
    #[expect(clippy::cast_possible_truncation, reason = "nobody has 2^32 workers")]
    pub(crate) fn number(&self) -> u32 {
        self.index as u32
    }

    pub(crate) fn current(&self) -> Option<TaskRef> {
        self.current.get()
    }

    pub(super) fn slot(&self) -> &WorkerSlot {
        debug_assert!(!self.slot.is_null(), "only workers of the network have a slot");
        // SAFETY: points into the scheduler's configuration, which never changes once it is set,
        // and which `self.scheduler` keeps alive.
        unsafe { &*self.slot }
    }

    #[inline]
    pub(super) fn policy(&self) -> Option<&dyn Policy> {
        // SAFETY: as for `slot`.
        self.policy.map(|policy| unsafe { &*policy })
    }

    pub(super) fn pop(&self, turn: Turn) -> Option<Ready> {
        self.policy()?.pop(self.index, turn)
    }

    /// What goes before a hot process, or the end of the run.
    #[inline]
    pub(super) fn first(&self) -> &AtomicUsize {
        // SAFETY: `self.scheduler` keeps it alive.
        unsafe { self.first.as_ref() }
    }

    /// What the policy leaves to this worker.
    #[inline]
    pub(super) fn lane(&self) -> Option<&Lane> {
        // SAFETY: as for `slot`.
        self.lane.map(|lane| unsafe { lane.as_ref() })
    }

    pub(crate) fn is_dedicated(&self) -> bool {
        self.own_parker.is_some()
    }

    /// Calls `f` with the worker that runs on this thread, if one does.
    pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        // SAFETY: set by `install`, whose guard resets it before the worker goes.
        f(unsafe { CURRENT.with(Cell::get).as_ref() })
    }

    /// The worker of this thread, if it holds the process at `task` right now.
    ///
    /// The reference must not outlive the poll that asks.
    #[inline]
    pub(crate) fn holding<'a>(task: *const Task) -> Option<&'a Worker> {
        // SAFETY: as in `with_current`; the caller is inside a poll, which the worker outlives.
        let worker = unsafe { CURRENT.with(Cell::get).as_ref() }?;
        let held = worker.current.get()?;
        (held.as_ptr() == task).then_some(worker)
    }

    /// The worker of this thread; the reference must not outlive the poll that asks.
    #[inline]
    pub(super) fn of_this_thread<'a>() -> Option<&'a Worker> {
        // SAFETY: as in `with_current`; the caller is inside a poll, which the worker outlives.
        unsafe { CURRENT.with(Cell::get).as_ref() }
    }

    pub(super) fn install(&self) -> Installed {
        Installed { before: CURRENT.with(|current| current.replace(self)) }
    }

    // --- the loop -----------------------------------------------------------------------------

    /// Runs processes until the run ends.
    pub(super) fn work(&self) {
        let _installed = self.install();
        let defect = Defect;
        if self.scheduler.settings().pin {
            crate::sync::system::pin_to_core(self.index);
        }
        let since = clock::ticks();
        // Beyond the cores: one of the sleepers since the run was prepared.
        if self.index >= self.scheduler.config().most_awake
            && let Some(ready) = self.watch()
        {
            self.run(ready.into_task());
        }
        while let Some(task) = self.next_at_hand().or_else(|| self.next_after_all()) {
            self.resume(task);
        }
        self.slot().times.total.store(clock::ticks() - since, Relaxed);
        std::mem::forget(defect);
    }

    // --- one process --------------------------------------------------------------------------

    /// Takes over a process and runs it until it parks, yields or ends.
    #[inline(never)]
    pub(super) fn run(&self, task: TaskRef) {
        self.resume(task);
    }

    #[inline(always)]
    fn resume(&self, task: TaskRef) {
        let slot = self.slot();
        // Release pairs with the Acquire of those who have nothing to do and mark who runs: the
        // header is written before they do.
        slot.current.store(task.as_ptr().cast_mut(), Release);
        self.take_over(task);
        self.patience.set(PATIENCE);
        loop {
            let asked = self.poll(task);
            let at_rest = match asked {
                Some(Request::Wait) => self.park(task) == Park::Asleep,
                Some(Request::Commit) => self.commit.get().carry_out(task, self) == Park::Asleep,
                Some(Request::Yield) => {
                    self.give_way(task);
                    true
                }
                Some(Request::GiveWay) => {
                    self.give_way_to_urgent(task);
                    true
                }
                Some(Request::Again) => {
                    self.queue(task);
                    true
                }
                Some(Request::None) => self.wait_foreign(task),
                // What has ended or is to end is at rest.
                Some(Request::End) | None => true,
            };
            if at_rest || !self.runs_on(task) {
                return;
            }
        }
    }

    /// A process has tried to come to rest in vain. It goes on, and that counts as a dispatch and as
    /// a look at a peer; where a dispatch would be somebody else's it gives way, and `false` is
    /// returned.
    #[inline(never)]
    fn runs_on(&self, task: TaskRef) -> bool {
        if self.is_preempted() {
            self.give_way_to_urgent(task);
            return false;
        }
        if self.is_due_for_another() || !self.spend(1) {
            self.give_way(task);
            return false;
        }
        self.count_step();
        true
    }

    #[inline]
    fn take_over(&self, task: TaskRef) {
        #[expect(clippy::cast_possible_truncation, reason = "nobody has 2^16 workers")]
        let number = self.index as u16;
        if task.home.load(Relaxed) != number {
            if task.polls.load(Relaxed) > 0 {
                Task::count(&task.migrations);
                if let Some(lane) = self.lane() {
                    lane.count_migration();
                }
            }
            task.home.store(number, Relaxed);
        }
    }

    /// Polls a process once; `None` if it has ended. What it did is published when this returns.
    #[inline(always)]
    pub(super) fn poll(&self, task: TaskRef) -> Option<Request> {
        self.current.set(Some(task));
        if task.marks.load(Acquire) & (mark::PRUNE | mark::STOP | mark::KILL) != 0
            && let Some(cause) = self.must_end(task)
        {
            self.drop_body(task, cause);
            return None;
        }
        task.polls.store(task.polls.load(Relaxed) + 1, Relaxed);
        let polled = if self.timing { self.poll_timed(task) } else { poll_body(task) };
        if let Polled::Ready(result) = polled {
            self.complete(task, result.map_err(|failure| *failure));
            return None;
        }
        let request = self.request.take();
        let is_rare = matches!(request, Request::None | Request::End);
        if is_rare || task.notes() & own::CLOSES != 0 {
            return self.settle(task, request);
        }
        self.flush();
        self.current.set(None);
        Some(request)
    }

    #[cold]
    fn poll_timed(&self, task: TaskRef) -> Polled {
        let since = self.stopwatch.start();
        let polled = poll_body(task);
        self.stopwatch.stop(since, &task.rare().busy);
        polled
    }

    /// A poll has returned `Pending`: what the process dropped takes effect, what it did is
    /// published. Returns what to do with it, `None` if it has ended.
    fn settle(&self, task: TaskRef, request: Request) -> Option<Request> {
        if !matches!(request, Request::End) {
            self.scheduler.hooks().settled(task, self);
        }
        self.flush();
        self.current.set(None);
        match request {
            Request::End => {
                self.drop_body(task, self.cause.get());
                None
            }
            Request::None if task.marks.load(Relaxed) & mark::AGAIN != 0 => {
                task.marks.fetch_and(!mark::AGAIN, Acquire);
                Some(Request::Yield)
            }
            other => Some(other),
        }
    }

    /// A poll has returned `Ready`.
    fn complete(&self, task: TaskRef, result: Result<(), Failure>) {
        let ending = match (self.unwinding.take(), self.request.take(), result) {
            (Some(unwinding), _, Err(failure)) if unwinding.is_own_panic => Ending::Failed(failure),
            (Some(unwinding), ..) => unwinding.ending,
            (None, Request::End, _) => self.ending(task, self.cause.get()),
            (None, _, Ok(())) => Ending::Finished,
            (None, _, Err(failure)) => Ending::Failed(failure),
        };
        self.finish(task, ending);
    }

    /// Why a process must not run on, if so.
    pub(crate) fn must_end(&self, task: TaskRef) -> Option<EndCause> {
        let marks = task.marks.load(Acquire);
        // Whatever its own mark says: it may be looking because another that was stopped before it
        // left, and must not take that for a reader that left.
        if self.scheduler.is_ending() {
            return Some(EndCause::Stopped);
        }
        if marks & mark::PRUNE != 0 && task.is_prunable() {
            return Some(EndCause::Pruned);
        }
        if marks & mark::KILL != 0 {
            return Some(EndCause::Killed);
        }
        None
    }

    /// Parks a process that has left its poll.
    pub(crate) fn park(&self, task: TaskRef) -> Park {
        let wait = self.wait.get();
        // From here on the process may be run by another worker: nothing of it may be touched
        // after the word is set, so what is counted is counted before.
        if self.counts {
            Task::count(if wait.full { &task.blocked_full } else { &task.blocked_empty });
        }
        let end = task.waits_at.load(Relaxed).cast_const();
        if wait.full {
            let next = self.next_suspect.get();
            self.suspects[next % self.suspects.len()].set(end);
            self.next_suspect.set(next.wrapping_add(1));
        }
        // SAFETY: the words of a channel live in type-stable memory.
        let word = unsafe { &*wait.word };
        let parked = word.park(wait.seen, self.solo());
        if self.central && parked == Park::Asleep {
            self.tell_of_parking(task);
        }
        parked
    }

    #[cold]
    fn tell_of_parking(&self, task: TaskRef) {
        self.scheduler.hooks().parked(task);
    }

    /// Leaves a process to its foreign waker; `false` if it was woken meanwhile and runs again.
    pub(crate) fn wait_foreign(&self, task: TaskRef) -> bool {
        let foreign = task.foreign();
        // Whoever marked it before `foreign` was there had nothing to wake; whoever comes later has.
        if task.marks.load(Acquire) & (mark::PRUNE | mark::KILL) != 0
            && self.must_end(task).is_some()
        {
            return false;
        }
        foreign.wait()
    }

    // --- the end of a process -----------------------------------------------------------------

    pub(super) fn ending(&self, task: TaskRef, cause: EndCause) -> Ending {
        match cause {
            EndCause::Stopped | EndCause::Killed => Ending::Stopped,
            EndCause::Pruned => Ending::Pruned,
            EndCause::FailedBy(channel) => self.scheduler.hooks().failed_by(task, channel),
        }
    }

    /// Drops the body of a process that must not go on, and ends it.
    pub(super) fn drop_body(&self, task: TaskRef, cause: EndCause) {
        let unwound = self.unwinding.take().map(|unwinding| unwinding.ending);
        self.drop_as(task, unwound.unwrap_or_else(|| self.ending(task, cause)));
    }

    /// Drops the body of a process and ends it as told.
    pub(super) fn drop_as(&self, task: TaskRef, ending: Ending) {
        let before = self.current.replace(Some(task));
        task.note(own::ENDING);
        let mut dropped: Result<(), Failure> = Ok(());
        if let Some(body) = task.body() {
            // SAFETY: we hold the process, and its body has not ended.
            dropped = unsafe { (body.drop)(task.non_null()) };
        }
        let ending = match (dropped, ending) {
            (Err(failure), Ending::Pruned | Ending::Stopped) => Ending::Failed(failure),
            (_, ending) => ending,
        };
        self.finish(task, ending);
        self.current.set(before);
    }

    /// Ends a process whose body is gone.
    fn finish(&self, task: TaskRef, ending: Ending) {
        self.flush();
        task.note(own::ENDING);
        self.scheduler.hooks().ended(task, &ending, self);
        self.current.set(None);
        self.request.set(Request::None);
        self.scheduler.retire(task, ending, self.solo());
    }

    pub(super) fn own_parker(&self) -> Option<&Parker> {
        self.own_parker.as_deref()
    }

    /// Senders that parked lately.
    pub(crate) fn suspects(&self) -> impl Iterator<Item = *const ()> {
        self.suspects.iter().map(|place| place.replace(ptr::null())).filter(|end| !end.is_null())
    }
}
