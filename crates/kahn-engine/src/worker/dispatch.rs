//! The loop of a worker: takes a process, polls it, publishes what it did, lays it to rest.

use crate::scheduler::{Scheduler, WorkerSlot};
use crate::sync::panics::Defect;
use crate::sync::system::clock;
use crate::sync::{Arc, Ordering::*, Parker};
use crate::task::foreign::{base_waker, waker_of_current};
use crate::task::{Polled, Task, TaskRef, mark, own};
use crate::worker::language::{Language, Left};
use crate::worker::request::{Park, Pause, Request};
use crate::worker::{PATIENCE, WorkerCore};
use kahn_report::log::Ring;
use kahn_report::{Ending, Failure, ProcessCounter};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::task::Context;

/// A thread that runs processes of one language.
#[repr(C)]
pub struct Worker<L: Language> {
    /// First: the worker is found by its address.
    core: WorkerCore,
    /// What all workers share of the language; the scheduler's, which the core keeps alive.
    language: NonNull<L>,
    /// What the language keeps beside it.
    pub of: L::OfWorker,
}

impl<L: Language> Deref for Worker<L> {
    type Target = WorkerCore;

    #[inline(always)]
    fn deref(&self) -> &WorkerCore {
        &self.core
    }
}

impl<L: Language> fmt::Debug for Worker<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

/// How a process came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that gives way is to be queued"]
enum Rest {
    /// It is parked, queued or over.
    Taken,
    /// It is to be queued behind all others.
    GivesWay,
}

impl<L: Language> Worker<L> {
    /// Makes the worker of this index.
    pub fn new(scheduler: &Scheduler, index: usize) -> Self {
        Self::around(WorkerCore::new(scheduler, index), scheduler)
    }

    /// A worker for the thread of one process.
    pub(crate) fn dedicated(scheduler: &Scheduler, index: usize, parker: Arc<Parker>) -> Self {
        Self::around(WorkerCore::dedicated(scheduler, index, parker), scheduler)
    }

    fn around(core: WorkerCore, scheduler: &Scheduler) -> Self {
        let language = scheduler.language::<L>();
        Self { of: language.of_worker(&core), core, language: NonNull::from(language) }
    }

    /// What all its workers share of the language.
    #[inline]
    pub fn language(&self) -> &L {
        // SAFETY: set once, before there are workers, and it stays as long as the scheduler.
        unsafe { self.language.as_ref() }
    }

    // --- the loop -----------------------------------------------------------------------------

    /// Runs processes until the run ends.
    pub(crate) fn work(&self) {
        let _installed = self.install();
        let defect = Defect;
        let _pinned =
            self.scheduler().settings().pin.then(|| crate::sync::system::pin_to_core(self.index()));
        let since = clock::ticks();
        // Beyond the cores: one of the sleepers since the run was prepared.
        if self.index() >= self.scheduler().config().most_awake
            && let Some(ready) = self.monitor()
        {
            self.run(ready.into_task());
        }
        let slot = self.slot();
        let waker = waker_of_current(&slot.current);
        let mut context = Context::from_waker(&waker);
        while let Some(mut task) = self.next_at_hand(slot).or_else(|| self.next_after_all()) {
            while self.resume_at(slot, task, &mut context) == Rest::GivesWay {
                let Some(next) = self.give_way_to_next(slot, task) else { break };
                task = next;
            }
        }
        self.slot().times.total.store(clock::ticks() - since, Relaxed);
        std::mem::forget(defect);
    }

    // --- one process --------------------------------------------------------------------------

    /// Takes over a process and runs it until it parks, yields or ends.
    #[inline(never)]
    pub(crate) fn run(&self, task: TaskRef) {
        let slot = self.slot();
        let waker = waker_of_current(&slot.current);
        self.resume_and_queue(slot, task, &mut Context::from_waker(&waker));
    }

    /// The same for a caller that knows the worker's slot, and has a context with its
    /// [waker](waker_of_current).
    #[inline(always)]
    pub(crate) fn resume_and_queue(
        &self,
        slot: &WorkerSlot,
        task: TaskRef,
        context: &mut Context<'_>,
    ) {
        if self.resume_at(slot, task, context) == Rest::GivesWay {
            self.give_way(task);
        }
    }

    /// The same, but one that yields is left to the caller.
    #[inline(always)]
    fn resume_at(&self, slot: &WorkerSlot, task: TaskRef, context: &mut Context<'_>) -> Rest {
        // Release pairs with the Acquire of workers that have nothing to do and mark what runs: the
        // header is written before they do.
        slot.current.store(task.as_ptr().cast_mut(), Release);
        self.take_over(task);
        self.patience.set(PATIENCE);
        loop {
            // First what most ask for.
            let at_rest = match self.poll(task, context) {
                Some(Request::Park) => L::park(self, task) == Park::Asleep,
                Some(Request::Yield) => return Rest::GivesWay,
                // What has ended or is to end is at rest.
                None => return Rest::Taken,
                Some(Request::ParkOtherwise) => L::park_otherwise(self, task) == Park::Asleep,
                Some(other) => self.comes_to_rest(task, other),
            };
            if at_rest || !self.runs_on(task) {
                return Rest::Taken;
            }
        }
    }

    /// Lays a process to rest that asks for what few do; `false` if it runs on.
    #[inline(never)]
    fn comes_to_rest(&self, task: TaskRef, asked: Request) -> bool {
        match asked {
            // SAFETY: this worker runs it, and its poll is over.
            Request::None => unsafe { self.wait_foreign(task) },
            Request::GiveWay => {
                self.give_way_to_urgent(task);
                true
            }
            Request::Again => {
                self.queue(task);
                true
            }
            // The caller's, or at rest.
            Request::Park | Request::ParkOtherwise | Request::Yield | Request::End => true,
        }
    }

    /// A process has tried to come to rest in vain. It goes on, and that counts as a dispatch and as
    /// a look at a peer; where the dispatch would be another's it gives way, and `false` is
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
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a network has fewer than 2^16 workers"
        )]
        let number = self.index() as u16;
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

    /// Polls a process once, with this context unless a waker of its own is asked for; `None` if it has ended. What
    /// it did is published when this returns.
    #[inline(always)]
    pub(crate) fn poll(&self, task: TaskRef, context: &mut Context<'_>) -> Option<Request> {
        if task.marks.load(Acquire) & mark::MAY_END != 0
            && let Some(ending) = self.must_end(task)
        {
            // Not the current one before: what is current then is current again afterwards.
            self.drop_body(task, ending);
            return None;
        }
        self.set_current(Some(task));
        task.polls.store(task.polls.load(Relaxed) + 1, Relaxed);
        let polled = if self.watched {
            self.poll_watched(task, context)
        } else {
            Self::poll_body(task, context)
        };
        if let Polled::Ready(result) = polled {
            self.complete(task, result);
            return None;
        }
        let request = self.request.take();
        if L::NOTES_WHAT_IS_LEFT && matches!(request, Request::Park) {
            self.set_current(None);
            return Some(request);
        }
        let is_rare = matches!(request, Request::None | Request::End);
        if is_rare || L::NOTES_WHAT_IS_LEFT && task.notes() & own::LEFT != 0 {
            return self.settle(task, request);
        }
        L::left_poll(self, task, Left::ToWait);
        self.set_current(None);
        Some(request)
    }

    /// Polls the body of a process that the caller holds.
    #[inline(always)]
    fn poll_body(task: TaskRef, context: &mut Context<'_>) -> Polled {
        debug_assert!(task.body().is_some(), "only processes with a body are run");
        // SAFETY: the caller holds the process, which has a body that has not ended.
        let poll = unsafe { task.body().unwrap_unchecked() }.poll;
        if !L::ASKS_WAKERS {
            // SAFETY: as above.
            return unsafe { poll(task.non_null(), context) };
        }
        let waker = base_waker(task);
        // SAFETY: as above.
        unsafe { poll(task.non_null(), &mut Context::from_waker(&waker)) }
    }

    #[cold]
    fn poll_watched(&self, task: TaskRef, context: &mut Context<'_>) -> Polled {
        let ring = self.ring();
        // Relaxed: the holder's own, counted above.
        if task.polls.load(Relaxed) == 1 && ring.is_some() {
            self.log_name(task);
        }
        self.begin_slice_in(ring, task);
        let polled = Self::poll_body(task, context);
        self.end_slice_in(
            ring,
            task,
            match (&polled, self.request.get()) {
                (Polled::Ready(_), _) => Pause::ForGood,
                (Polled::Pending, Request::Park | Request::ParkOtherwise) => Pause::ToPark,
                (Polled::Pending, Request::Again | Request::Yield | Request::GiveWay) => {
                    Pause::GivesWay
                }
                (Polled::Pending, Request::None | Request::End) => Pause::Otherwise,
            },
        );
        polled
    }

    /// This thread begins to run a process, or goes on after a wait in which its stack stayed.
    pub(crate) fn begin_slice(&self, task: TaskRef) {
        self.begin_slice_in(self.ring(), task);
    }

    #[inline(always)]
    fn begin_slice_in(&self, ring: Option<&Ring>, task: TaskRef) {
        let at = self.stopwatch.start();
        if let Some(ring) = ring {
            ring.begin(task.address(), at);
        }
        if self.tells {
            L::runs(self, task, at);
        }
    }

    /// This thread runs a process no more.
    pub(crate) fn end_slice(&self, task: TaskRef, pause: Pause) {
        self.end_slice_in(self.ring(), task, pause);
    }

    #[inline(always)]
    fn end_slice_in(&self, ring: Option<&Ring>, task: TaskRef, pause: Pause) {
        let Some(slice) = self.stopwatch.stop() else { return };
        if self.timing {
            task.count_apart(ProcessCounter::cpu_seconds, slice.ran * self.stopwatch.weight());
        }
        if let Some(ring) = ring {
            ring.rest(task.address(), slice, L::wait(task, pause));
        }
        if self.tells {
            L::rests(self, task, slice, pause);
        }
    }

    /// A poll has returned `Pending`: what the process dropped takes effect, what it did is
    /// published. Returns what to do with it, `None` if it has ended.
    fn settle(&self, task: TaskRef, request: Request) -> Option<Request> {
        let left = if matches!(request, Request::End) { Left::ToEnd } else { Left::ToSettle };
        L::left_poll(self, task, left);
        self.set_current(None);
        match request {
            Request::End => {
                self.drop_body(task, self.asked_ending());
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
    #[inline]
    fn complete(&self, task: TaskRef, result: Result<(), Box<Failure>>) {
        if result.is_ok() && !self.is_dedicated() && !matches!(self.request.get(), Request::End) {
            return self.finish(task, &Ending::Finished);
        }
        self.complete_otherwise(task, result.map_err(|failure| *failure));
    }

    #[cold]
    fn complete_otherwise(&self, task: TaskRef, result: Result<(), Failure>) {
        let ending = match (self.unwinding.take(), self.request.take(), result) {
            (Some(unwinding), _, Err(failure)) if unwinding.is_own_panic => Ending::Failed(failure),
            (Some(unwinding), ..) => unwinding.ending,
            (None, Request::End, _) => self.asked_ending(),
            (None, _, Ok(())) => Ending::Finished,
            (None, _, Err(failure)) => Ending::Failed(failure),
        };
        self.finish(task, &ending);
    }

    /// How a process ends that must not run on, if so. Never inlined: the compiler would compute the address of
    /// the scheduler before each poll.
    #[cold]
    #[inline(never)]
    pub fn must_end(&self, task: TaskRef) -> Option<Ending> {
        let marks = task.marks.load(Acquire);
        // Whatever its own mark says: it may be looking because another that was stopped before it
        // left, and must not take that for a reader that left.
        if self.scheduler().is_ending() {
            return Some(Ending::Stopped);
        }
        L::must_end(task, marks)
    }

    /// Leaves a process to its foreign waker; `false` if it was woken meanwhile and runs again.
    ///
    /// # Safety
    /// The caller holds the process, whose poll is over.
    pub unsafe fn wait_foreign(&self, task: TaskRef) -> bool {
        let foreign = task.foreign();
        // A thread that marked it before `foreign` was there had nothing to wake; one that comes later has.
        if task.marks.load(Acquire) & mark::LANGUAGE != 0 && self.must_end(task).is_some() {
            return false;
        }
        foreign.wait()
    }

    // --- the end of a process -----------------------------------------------------------------

    /// Drops the body of a process that must not go on, and ends it.
    pub(crate) fn drop_body(&self, task: TaskRef, ending: Ending) {
        let unwound = self.unwinding.take().map(|unwinding| unwinding.ending);
        self.drop_as(task, unwound.unwrap_or(ending));
    }

    /// Drops the body of a process and ends it as told.
    pub(crate) fn drop_as(&self, task: TaskRef, ending: Ending) {
        if let Some(ring) = self.ring() {
            self.log_name(task);
            ring.dropped(task.address(), clock::ticks());
        }
        if self.tells {
            L::dropped(self, task);
        }
        let before = self.current();
        self.set_current(Some(task));
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
        self.finish(task, &ending);
        self.set_current(before);
    }

    /// Ends a process whose body is gone.
    #[inline]
    fn finish(&self, task: TaskRef, ending: &Ending) {
        L::left_poll(self, task, Left::ToEnd);
        task.note(own::ENDING);
        let is_named = L::ended(self, task, ending);
        self.set_current(None);
        self.request.set(Request::None);
        let scheduler = self.scheduler();
        let counts =
            || task.counts(scheduler.measures_times(), |counter| L::counted(task, counter));
        // SAFETY: this thread holds it, and its body is gone.
        unsafe { scheduler.retire(task, ending, counts, is_named, self.access()) };
    }
}
