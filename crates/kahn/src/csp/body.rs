//! The body of a process, and how others learn its end.
//!
//! ```text
//!   ┌────────┬───────┬──────────────────┬──────────────────────────────┐
//!   │ header │ birth │ join: who waits  │ future, then its result      │   one block of memory
//!   └────────┴───────┴──────────────────┴──────────────────────────────┘
//! ```
//!
//! A process that was spawned has no join, for nobody waits for its end: half of a line less. The
//! type of the body tells which it is.
//!
//! | the join's flag | means | set by |
//! |---|---|---|
//! | `HANDLE` | somebody has a [`Forked`](super::Forked) of it | the fork; taken away by the handle's drop |
//! | `ENDED` | the result stands in the block, or there will be none | the process's worker |
//!
//! The future and its result share the block of the process, and a handle holds a reference to the
//! block: forking and joining takes no memory but that. The result belongs to the process until
//! `ENDED`, then to the handle; without a handle nobody wants it and it is dropped at once.

use super::error::Failed;
use super::gate::{FIRST_FLAG, Gate};
use super::meeting::{How, Waiter, Wake};
use super::offer::{self, Taken};
use crate::graph::Failure;
use crate::scheduler::task::{BLOCK_ALIGN, BodyType, Polled, Task};
use crate::scheduler::{TaskRef, Worker};
use crate::sync::Cell;
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

const HANDLE: u32 = FIRST_FLAG << 1;
const ENDED: u32 = FIRST_FLAG << 2;

/// What a process got when it was created.
#[derive(Debug)]
pub(super) struct Birth {
    /// Where the process's choices are drawn from; its holder's.
    pub(super) draw: Cell<u64>,
    /// The line that created the process.
    pub(super) site: &'static Location<'static>,
}

/// Who waits for the end of a process. See the module's table.
#[derive(Debug)]
pub(super) struct Join {
    gate: Gate,
    waiter: Cell<Option<Waiter>>,
}

impl Birth {
    pub(super) fn new(site: &'static Location<'static>, draw: u64) -> Self {
        Self { draw: Cell::new(draw), site }
    }
}

impl Join {
    /// The join of a process that somebody has a handle of.
    pub(super) fn new() -> Self {
        Self { gate: Gate::new(HANDLE), waiter: Cell::new(None) }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.gate.peek() & ENDED != 0
    }

    /// The joiner's worker: enters it, unless the process has ended. `false` if it has.
    pub(super) fn enter(&self, alone: bool, waiter: Waiter) -> bool {
        let flags = self.gate.lock(alone);
        if flags & ENDED == 0 {
            self.waiter.set(Some(waiter));
        }
        self.gate.unlock(flags);
        flags & ENDED == 0
    }

    /// Whether a process waits here.
    pub(super) fn has(&self, task: TaskRef) -> bool {
        let flags = self.gate.lock(false);
        let has = self.waiter.get().is_some_and(|waiter| waiter.task == task);
        self.gate.unlock(flags);
        has
    }

    /// The joiner does not wait any more. Tells whether the process has ended.
    pub(super) fn leave(&self, alone: bool) -> bool {
        let flags = self.gate.lock(alone);
        self.waiter.set(None);
        self.gate.unlock(flags);
        flags & ENDED != 0
    }

    /// The handle goes; `true` if the process has ended, so that its result is the handle's.
    pub(super) fn detach(&self, alone: bool) -> bool {
        let flags = self.gate.lock(alone);
        self.waiter.set(None);
        self.gate.unlock(flags & !HANDLE);
        flags & ENDED != 0
    }

    /// The process has ended: tells the joiner. Returns whether there is a handle.
    pub(super) fn end(&self, worker: &Worker) -> bool {
        let flags = self.gate.lock(worker.solo());
        let wake = self.waiter.take().map_or(Wake::Nobody, |waiter| match waiter.how {
            How::Plain => Wake::Plain(waiter.task),
            How::Offer { ticket, guard } => match offer::take(waiter.task, ticket, guard, None) {
                Taken::Yes(wake) => wake,
                Taken::No | Taken::WeWere => Wake::Nobody,
            },
        });
        self.gate.unlock(flags | ENDED);
        wake.up(worker);
        flags & HANDLE != 0
    }
}

/// Where a body stands.
pub(super) enum Body<F, R> {
    Running(F),
    Done(Result<R, Failed>),
    Over,
}

/// Header, birth, join and body, as they stand in the block. `J` is [`Join`], or nothing.
#[repr(C)]
struct Placed<J, B> {
    task: Task,
    birth: Birth,
    join: J,
    body: B,
}

/// The functions of a body of this type, by its type.
pub(super) struct Type<F, R, J>(std::marker::PhantomData<(F, R, J)>);

/// Whether a body may stand behind a header: blocks are aligned to a cache line, no more.
pub(super) const fn fits<F, R>() -> bool {
    align_of::<Placed<Join, Body<F, R>>>() <= BLOCK_ALIGN
}

/// What a process of this module got when it was created.
pub(super) fn birth_of<'a>(task: TaskRef) -> &'a Birth {
    // SAFETY: the block was made by `place`: the birth stands behind the header, whatever the rest.
    unsafe { &(*task.as_ptr().cast::<Placed<(), ()>>()).birth }
}

/// The join of a process of this module that was forked; asked by who holds the process, has a
/// handle of it or has locked the table, so that its block is nobody else's meanwhile.
pub(super) fn join_if_any<'a>(task: TaskRef) -> Option<&'a Join> {
    let has_join = task.body().is_some_and(|body| body.joined);
    // SAFETY: the block was made by `place` for a type with a join, whatever the body.
    has_join.then(|| unsafe { &(*task.as_ptr().cast::<Placed<Join, ()>>()).join })
}

/// The join of a process that the caller has a handle of.
pub(super) fn join_of<'a>(task: TaskRef) -> &'a Join {
    join_if_any(task).expect("who has a handle has that of a forked process")
}

fn body_of<J, F, R>(task: NonNull<Task>) -> *mut Body<F, R> {
    let placed = task.cast::<Placed<J, Body<F, R>>>().as_ptr();
    // SAFETY: the block was made for this type of body; nothing is read.
    unsafe { &raw mut (*placed).body }
}

/// Writes birth, join and body behind a header.
///
/// # Safety
/// The block was made for this type and holds none, or those of a process that has ended.
pub(super) unsafe fn place<J, F, R>(task: NonNull<Task>, birth: Birth, join: J, body: Body<F, R>) {
    let placed = task.cast::<Placed<J, Body<F, R>>>().as_ptr();
    // SAFETY: within the block; nothing is read.
    let birth_at = unsafe { &raw mut (*placed).birth };
    // SAFETY: as above.
    let join_at = unsafe { &raw mut (*placed).join };
    // SAFETY: said by the caller; old ones own nothing.
    unsafe { birth_at.write(birth) };
    // SAFETY: as above.
    unsafe { join_at.write(join) };
    // SAFETY: as above.
    unsafe { body_of::<J, F, R>(task).write(body) };
}

/// Takes the result out of an ended process.
///
/// # Safety
/// The body is of this type, the process has ended, and the caller has its only handle.
pub(super) unsafe fn take_result<J, F, R>(task: NonNull<Task>) -> Result<R, Failed> {
    let body = body_of::<J, F, R>(task);
    // SAFETY: said by the caller.
    match mem::replace(unsafe { &mut *body }, Body::Over) {
        Body::Done(result) => result,
        Body::Running(_) | Body::Over => Err(Failed::killed()),
    }
}

fn failure(payload: &(dyn Any + Send)) -> Failure {
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned());
    Failure { message, panicked: true }
}

impl<F: Future<Output = R>, R> Type<F, R, Join> {
    /// The functions of a process whose result somebody may want.
    pub(super) const FORKED: BodyType = BodyType {
        poll: Self::poll_forked,
        drop: Self::drop,
        size: size_of::<Placed<Join, Body<F, R>>>(),
        blocking: false,
        joined: true,
    };

    unsafe fn poll_forked(task: NonNull<Task>, context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        match unsafe { Self::poll(task, context) } {
            Poll::Pending => Polled::Pending,
            Poll::Ready(Ok(())) => Polled::Ready(Ok(())),
            Poll::Ready(Err(failure)) => {
                // SAFETY: a process of this module.
                let task = unsafe { TaskRef::new(task) };
                // Who has a handle is told.
                let told = join_of(task).gate.peek() & HANDLE != 0;
                Polled::Ready(if told { Ok(()) } else { Err(failure) })
            }
        }
    }
}

impl<F: Future<Output = R>, R, J> Type<F, R, J> {
    /// Polls the future; drops it and puts the result in its place when it is ready.
    ///
    /// # Safety
    /// The caller holds the process, and its body has not ended.
    #[inline]
    unsafe fn poll(
        task: NonNull<Task>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Box<Failure>>> {
        let place = body_of::<J, F, R>(task);
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: said by the caller.
            let Body::Running(future) = (unsafe { &mut *place }) else { return Poll::Pending };
            // SAFETY: the body stands in its block until it is dropped there.
            let result = std::task::ready!(unsafe { Pin::new_unchecked(future) }.poll(context));
            // Within the net for panics: destructors are the user's code.
            // SAFETY: said by the caller; the future is not used any more.
            unsafe { Self::put(place, result) };
            Poll::Ready(())
        }));
        match polled {
            Ok(polled) => polled.map(Ok),
            // SAFETY: said by the caller.
            Err(payload) => unsafe { Self::panicked(task, payload.as_ref()) },
        }
    }

    /// Puts the result in the place of the future. A function of its own, as the next: what is done
    /// once would cost each poll the registers that it needs.
    ///
    /// # Safety
    /// The caller holds the process, whose body this is; the future is not used any more.
    #[inline(never)]
    unsafe fn put(place: *mut Body<F, R>, result: R) {
        // SAFETY: said by the caller.
        unsafe { *place = Body::Done(Ok(result)) };
    }

    /// Drops a future that has panicked, and notes why.
    ///
    /// # Safety
    /// As for [`poll`](Self::poll).
    #[cold]
    unsafe fn panicked(
        task: NonNull<Task>,
        payload: &(dyn Any + Send),
    ) -> Poll<Result<(), Box<Failure>>> {
        let failure = failure(payload);
        // SAFETY: said by the caller. A second panic would be of the same process.
        let _ = unsafe { Self::drop(task) };
        // SAFETY: as above.
        unsafe { *body_of::<J, F, R>(task) = Body::Done(Err(Failed::from(&failure))) };
        Poll::Ready(Err(Box::new(failure)))
    }

    unsafe fn drop(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        let body = unsafe { &mut *body_of::<J, F, R>(task) };
        catch_unwind(AssertUnwindSafe(|| *body = Body::Over))
            .map_err(|payload| failure(payload.as_ref()))
    }
}

impl<F: Future<Output = Option<String>>> Type<F, Option<String>, ()> {
    /// The functions of a process that runs by itself, and returns why it failed.
    pub(super) const DETACHED: BodyType = BodyType {
        poll: Self::poll_detached,
        drop: Self::drop,
        size: size_of::<Placed<(), Body<F, Option<String>>>>(),
        blocking: false,
        joined: false,
    };

    unsafe fn poll_detached(task: NonNull<Task>, context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        match unsafe { Self::poll(task, context) } {
            Poll::Pending => Polled::Pending,
            Poll::Ready(Err(failure)) => Polled::Ready(Err(failure)),
            // SAFETY: it has just ended, and nobody else wants its result.
            Poll::Ready(Ok(())) => Polled::Ready(unsafe { Self::outcome(task) }),
        }
    }

    /// Whether a process failed that has returned.
    ///
    /// # Safety
    /// Its result is the caller's.
    #[inline(never)]
    unsafe fn outcome(task: NonNull<Task>) -> Result<(), Box<Failure>> {
        // SAFETY: said by the caller.
        match unsafe { take_result::<(), F, Option<String>>(task) } {
            Ok(Some(message)) => Err(Box::new(Failure { message, panicked: false })),
            Ok(None) | Err(_) => Ok(()),
        }
    }
}
