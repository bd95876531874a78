//! Operations that a process waits for, alone or as guards of an alternation.
//!
//! What is particular to an operation is an [`Operation`]: how it is attempted, where its process is
//! entered, what it comes to. How a process waits for it is written once, for [`Pending`]: alone as a
//! future, and in an alternation as a guard.
//!
//! | operation | its process is entered | done when | its result stands in |
//! |---|---|---|---|
//! | send, receive, swap | at a side of a channel, with a slot | a partner has moved the message, or none will | the slot |
//! | claim | in the queue of a claim | it was handed over | a flag beside the place in the queue |
//! | sync | among the waiters of a barrier, or those that are selecting | the phase is complete | the number of the phase |
//! | fall in, event | in the list of a bucket | the bucket is flushed | a flag beside it |
//! | sleep | in the heap of the timers | the moment has come | the clock |
//! | join | at the join of a process | that process has ended | its block |
//!
//! Three guards are entered otherwise and are no operations: any of several receivers, which is entered
//! at all of them with one slot (`channel::operations`), and `skip` and the futures of other libraries,
//! which are entered nowhere (`choice::ready`).
//!
//! | stage | what a poll does | leaves by |
//! |---|---|---|
//! | `Fresh` | attempts it, if the process has its turn | done → `Over`; else → `Waiting`, or `Yielded` without a turn. At a channel where there is nothing to do it needs none, and if the process may leave that to its partner → `Left` |
//! | `Yielded` | attempts it | done → `Over`; else → `Waiting` |
//! | `Waiting`, `Left` | takes the result; without one it leaves and attempts it again | done → `Over` |
//! | `Over` | – | never |
//!
//! *The result is the operation's own.* The partner that completes it has written it before it makes the
//! process ready. If the process runs again for another reason (it may be killed, or its select state was
//! taken by a partner that is still behind the gate), it first leaves the place, behind that gate: then
//! either the result stands there or no partner can complete it any more.

use crate::choice::guard::{Alternative, Entering, Finishing, Leaving, Looking};
use crate::language::csp::{Enter, Worker};
use crate::language::header::own;
use crate::language::running;
use crate::wait::place::{Awaited, Place};
use crate::wait::select;
use crate::wait::waiter::{Attempt, How};
use crate::wait::{self, Stage};
use kahn_engine::{Park, TaskRef};
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What is particular to an operation. See the module's tables.
///
/// # Safety
/// After [`leave`](Self::leave) the process is entered nowhere.
pub(crate) unsafe trait Operation {
    /// What it comes to.
    type Output;

    /// What it belongs to, for messages.
    const WHAT: &'static str;

    /// Whether its process is always entered with its select state open, for a thread that is no worker
    /// may take it.
    const IS_SELECTED: bool = false;

    /// The network that it works in; `None` if that is any.
    fn network(&self) -> Option<u32>;

    fn stage(&mut self) -> &mut Stage;

    /// Where its process waits, for explanations.
    fn place(&self) -> Place;

    /// What its process waits for, likewise.
    fn awaited(&self) -> Awaited;

    /// Does it, if it can be done now. The process runs, and is entered nowhere.
    fn attempt(&self, worker: &Worker, task: TaskRef) -> bool;

    /// Polls it. One for which most polls can be told from all others does what those come to, and the rest by
    /// [`poll_otherwise`](Pending::poll_otherwise).
    #[inline(always)]
    fn poll(pending: &mut Pending<Self>) -> Poll<Self::Output>
    where
        Self: Sized,
    {
        pending.poll_here()
    }

    /// Whether there may be something to do. What finds nothing at its beginning waits without a turn.
    #[inline(always)]
    fn may_be_ready(&self) -> bool {
        true
    }

    /// Enters the process, after its poll; does it instead if it can be done now.
    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt;

    /// Asks the worker to enter the process after its poll, by `commit` with `whole`.
    #[inline]
    fn ask(&self, worker: &Worker, task: TaskRef, whole: *const (), commit: Enter) {
        wait::ask_to_enter(worker, task, self.place(), whole, commit);
    }

    /// Enters a process that waits for this alone, after its poll.
    #[inline]
    fn park(&self, worker: &Worker, task: TaskRef) -> Park {
        if Self::IS_SELECTED {
            return wait::enter_selected(task, move |how| self.enter(worker, task, how));
        }
        wait::enter_alone(task, move |how| self.enter(worker, task, how))
    }

    /// Takes the process out of where it is entered, if it is. Without a worker the caller runs no
    /// process of the network.
    fn leave(&self, worker: Option<&Worker>);

    /// Takes the result, if it is done.
    fn result(&mut self, worker: &Worker) -> Option<Self::Output>;

    /// Whether it has begun and cannot be attempted again: only its result is waited for.
    fn has_begun(&self) -> bool {
        false
    }
}

/// An operation in progress: a future, and a guard.
#[must_use = "nothing is done unless it is awaited"]
#[repr(transparent)]
pub(crate) struct Pending<O: Operation> {
    pub(crate) operation: O,
    _pinned: PhantomPinned,
}

impl<O: Operation> Pending<O> {
    pub(crate) fn new(operation: O) -> Self {
        Self { operation, _pinned: PhantomPinned }
    }

    /// Whether the select state of the process is open while it waits for this alone.
    #[inline]
    fn is_selected(task: TaskRef) -> bool {
        O::IS_SELECTED || task.notes() & own::KILLABLE != 0
    }

    #[inline(always)]
    fn result(&mut self, worker: &Worker) -> Option<O::Output> {
        let result = self.operation.result(worker)?;
        *self.operation.stage() = Stage::Over;
        Some(result)
    }

    /// A poll that is none of most, of an operation for which these are told apart.
    #[inline(never)]
    pub(crate) fn poll_otherwise(&mut self) -> Poll<O::Output> {
        self.poll_here()
    }

    /// Polls it in the process that runs.
    ///
    /// # Panics
    /// Panics if that is none of its network.
    #[inline(always)]
    pub(crate) fn poll_here(&mut self) -> Poll<O::Output> {
        let (worker, task) = running::of(self.operation.network(), O::WHAT);
        if *self.operation.stage() == Stage::Fresh {
            if !self.operation.may_be_ready() {
                return self.wait(worker, task);
            }
            if wait::has_turn_at_once(worker, task) {
                return self.attempt(worker, task);
            }
            return self.go_on(worker, task);
        }
        // One whose select state is open must leave before it looks.
        if !Self::is_selected(task)
            && let Some(result) = self.result(worker)
        {
            return Poll::Ready(result);
        }
        self.go_on(worker, task)
    }

    /// Does it if it can be done now, else waits.
    #[inline(always)]
    fn attempt(&mut self, worker: &Worker, task: TaskRef) -> Poll<O::Output> {
        if self.operation.attempt(worker, task)
            && let Some(result) = self.result(worker)
        {
            return Poll::Ready(result);
        }
        self.wait(worker, task)
    }

    #[inline(always)]
    fn wait(&mut self, worker: &Worker, task: TaskRef) -> Poll<O::Output> {
        *self.operation.stage() = Stage::Waiting;
        let whole: *const Self = self;
        self.operation.ask(worker, task, whole.cast(), Self::commit);
        Poll::Pending
    }

    /// Goes on with an operation that is not at its beginning, or whose turn it is not.
    #[inline(never)]
    fn go_on(&mut self, worker: &Worker, task: TaskRef) -> Poll<O::Output> {
        if *self.operation.stage() == Stage::Waiting && Self::is_selected(task) {
            select::close(task);
            self.operation.leave(Some(worker));
        }
        if let Some(result) = self.result(worker) {
            return Poll::Ready(result);
        }
        if self.operation.has_begun() {
            return self.wait(worker, task);
        }
        if !wait::has_turn(worker, task, self.operation.stage()) {
            return Poll::Pending;
        }
        self.attempt(worker, task)
    }

    /// Enters a process that waits for this alone, after its poll.
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `wait` with this type; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        this.operation.park(worker, task)
    }
}

impl<O: Operation> Future for Pending<O> {
    type Output = O::Output;

    /// # Panics
    /// Panics outside of a process of the operation's network, and if it was completed before.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<O::Output> {
        // SAFETY: nothing is moved out of it.
        O::poll(unsafe { self.get_unchecked_mut() })
    }
}

// SAFETY: entered and left at the places of the operation, which promises the same.
unsafe impl<O: Operation> Alternative for Pending<O> {
    type Output = O::Output;

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        if let Some(network) = self.operation.network() {
            running::check_network(at.worker, network, O::WHAT);
        }
        self.operation.attempt(at.worker, at.task).then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        self.operation.enter(at.worker, at.task, at.how(base))
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.operation.leave(at.worker);
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, at: &Finishing<'_>) -> Poll<O::Output> {
        // SAFETY: nothing is moved out of it.
        unsafe { self.get_unchecked_mut() }.go_on(at.worker, at.task)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        see(self.operation.awaited());
    }
}

impl<O: Operation> Drop for Pending<O> {
    #[inline]
    fn drop(&mut self) {
        if matches!(self.operation.stage(), Stage::Waiting | Stage::Left) {
            self.withdraw();
        }
    }
}

impl<O: Operation> Pending<O> {
    /// Leaves before the memory of the operation goes.
    #[cold]
    fn withdraw(&mut self) {
        let here = match self.operation.network() {
            Some(network) => Worker::running_in(network),
            None => Worker::running(),
        };
        if let Some((worker, task)) = here {
            // Perhaps it has only just asked.
            worker.take_back();
            if Self::is_selected(task) {
                select::close(task);
            }
        }
        self.operation.leave(here.map(|(worker, _)| worker));
    }
}

impl<O: Operation> fmt::Debug for Pending<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&O::WHAT).finish()
    }
}
