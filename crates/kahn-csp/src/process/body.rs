//! The body of a process, and how others learn its end.
//!
//! ```text
//!   ┌────────┬──────────────────┬──────────────────────────────┐
//!   │ header │ join: the joiner │ future, then its result      │   one block of memory
//!   └────────┴──────────────────┴──────────────────────────────┘
//! ```
//!
//! A process that was spawned has no join, for no process waits for its end: half of a cache line less. The
//! type of the body tells which it is.
//!
//! | the join's flag | means | set by |
//! |---|---|---|
//! | `HANDLE` | there is a [`Forked`](crate::Forked) of it | the fork; taken away by the handle's drop |
//! | `ENDED` | the result stands in the block, or there will be none | the process's worker |
//!
//! The future and its result share the block of the process, and a handle holds a reference to the
//! block: forking and joining takes no memory but that. The result belongs to the process until
//! `ENDED`, then to the handle; without a handle it is dropped at once.
//!
//! *A failure is told once.* It is the network's if there is no handle when the process fails. If there
//! is one, the failure stands in the place of the result, and the one that drops that unseen tells the
//! network: the handle, if it goes after `ENDED`, else the process's worker, which finds `HANDLE` gone.

use crate::language::csp::Worker;
use crate::language::header::{Communicates, Spawned, own};
use crate::network::error::Failed;
use crate::wait::waiter::{Waiter, Wake};
use kahn_engine::TaskRef;
use kahn_engine::sync::panics;
use kahn_engine::sync::{Access, Cell, ShortLock32};
use kahn_engine::task::{BLOCK_ALIGN, BodyType, Polled, Task};
use kahn_report::{BoxError, Failure};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

const HANDLE: u32 = ShortLock32::FIRST_FLAG;
const ENDED: u32 = ShortLock32::FIRST_FLAG << 1;

/// Which process waits for the end of another. See the module's table.
#[derive(Debug)]
pub(crate) struct Join {
    gate: ShortLock32,
    waiter: Cell<Option<Waiter>>,
}

impl Join {
    /// The join of a process with a handle.
    pub(crate) fn new() -> Self {
        Self { gate: ShortLock32::new(HANDLE), waiter: Cell::new(None) }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.gate.peek() & ENDED != 0
    }

    /// The joiner's worker: enters it, unless the process has ended. `false` if it has.
    pub(crate) fn enter(&self, access: Access, waiter: Waiter) -> bool {
        let flags = self.gate.lock(access);
        if flags & ENDED == 0 {
            self.waiter.set(Some(waiter));
        }
        self.gate.unlock(flags);
        flags & ENDED == 0
    }

    /// Whether a process waits here.
    pub(crate) fn has(&self, task: TaskRef) -> bool {
        let flags = self.gate.lock(Access::SHARED);
        let has = self.waiter.get().is_some_and(|waiter| waiter.task == task);
        self.gate.unlock(flags);
        has
    }

    /// The joiner does not wait any more. Tells whether the process has ended.
    pub(crate) fn leave(&self, access: Access) -> bool {
        let flags = self.gate.lock(access);
        self.waiter.set(None);
        self.gate.unlock(flags);
        flags & ENDED != 0
    }

    /// The handle goes; `true` if the process has ended, so that its result is the handle's.
    pub(super) fn detach(&self, access: Access) -> bool {
        let flags = self.gate.lock(access);
        self.waiter.set(None);
        self.gate.unlock(flags & !HANDLE);
        flags & ENDED != 0
    }

    /// The process has ended: tells the joiner. Returns whether there is a handle.
    pub(crate) fn end(&self, worker: &Worker) -> bool {
        let flags = self.gate.lock(worker.access());
        let wake = self.waiter.take().and_then(Waiter::take).unwrap_or(Wake::Nobody);
        self.gate.unlock(flags | ENDED);
        wake.up_again(worker);
        flags & HANDLE != 0
    }
}

/// A body: the future, or what stands in its place when it has ended, if that is kept. Which
/// of them is told by [`Task::body_stage`], for a tag of its own would make most bodies a word
/// larger.
pub(super) union Body<F, E> {
    future: ManuallyDrop<F>,
    end: ManuallyDrop<E>,
}

/// How a process ended that may have a handle.
pub(super) type End<R> = Result<R, Box<Failure>>;

/// Values of [`Task::body_stage`].
mod stage {
    /// Set with the header.
    pub(crate) const FUTURE: u8 = 0;
    pub(crate) const END: u8 = 1;
    pub(crate) const OVER: u8 = 2;
}

impl<F, E> Body<F, E> {
    pub(crate) fn new(future: F) -> Self {
        Self { future: ManuallyDrop::new(future) }
    }

    /// Drops what is there.
    ///
    /// # Safety
    /// This is the body of `task`, and the caller's.
    unsafe fn clear(&mut self, task: &Task) {
        // SAFETY: said by the caller.
        let at = unsafe { task.body_stage() };
        // If a destructor panics, what is left of it is lost.
        match at.replace(stage::OVER) {
            // SAFETY: it was there, and is not looked at again.
            stage::FUTURE => unsafe { ManuallyDrop::drop(&mut self.future) },
            // SAFETY: as above.
            stage::END => unsafe { ManuallyDrop::drop(&mut self.end) },
            _ => {}
        }
    }
}

/// Header, join and body, as they stand in the block. `J` is [`Join`], or nothing.
#[repr(C)]
struct Placed<J, B> {
    task: Task,
    join: J,
    body: B,
}

/// The functions of a body of this type, by its type.
pub(super) struct Type<F, E, J>(std::marker::PhantomData<(F, E, J)>);

/// Whether a body may stand behind a header: blocks are aligned to a cache line, no more.
pub(super) const fn fits<F: Future>() -> bool {
    align_of::<Placed<Join, Body<F, End<F::Output>>>>() <= BLOCK_ALIGN
}

/// The join of a process of this module that was forked. The caller holds the process, has a handle of
/// it or has locked the table, so that its block is not used for another meanwhile.
pub(crate) fn join_if_any<'a>(task: TaskRef) -> Option<&'a Join> {
    let has_join = task.body().is_some_and(|body| body.joined);
    // SAFETY: the block was made by `place` for a type with a join, whatever the body.
    has_join.then(|| unsafe { &(*task.as_ptr().cast::<Placed<Join, ()>>()).join })
}

/// The join of a process that the caller has a handle of.
pub(super) fn join_of<'a>(task: TaskRef) -> &'a Join {
    join_if_any(task).expect("a handle is that of a forked process")
}

fn body_of<J, F, E>(task: NonNull<Task>) -> *mut Body<F, E> {
    let placed = task.cast::<Placed<J, Body<F, E>>>().as_ptr();
    // SAFETY: the block was made for this type of body; nothing is read.
    unsafe { &raw mut (*placed).body }
}

/// Writes join and body behind a header, and into the header what the process was spawned with.
///
/// # Safety
/// The block was made for this type and holds none, or those of a process that has ended. No
/// thread holds the new one yet.
pub(crate) unsafe fn place<J, F, E>(task: NonNull<Task>, spawned: Spawned, join: J, future: F) {
    let placed = task.cast::<Placed<J, Body<F, E>>>().as_ptr();
    // SAFETY: within the block; nothing is read.
    let join_at = unsafe { &raw mut (*placed).join };
    // SAFETY: said by the caller; old ones own nothing.
    unsafe { join_at.write(join) };
    // SAFETY: as above.
    let header = unsafe { task.as_ref() };
    // SAFETY: as above.
    unsafe { header.set_spawned(spawned) };
    // SAFETY: as above.
    unsafe { body_of::<J, F, E>(task).write(Body::new(future)) };
}

/// Takes the result out of an ended process.
///
/// # Safety
/// The body is of this type, the process has ended, and the caller has its only handle.
pub(super) unsafe fn take_result<F, R>(task: NonNull<Task>) -> Result<R, Failed> {
    // SAFETY: said by the caller.
    let task_at = unsafe { task.as_ref() };
    // SAFETY: as above.
    let stage = unsafe { task_at.body_stage() }.replace(stage::OVER);
    if stage != stage::END {
        return Err(Failed::killed());
    }
    // SAFETY: said by the caller.
    let body = unsafe { &mut *body_of::<Join, F, End<R>>(task) };
    // SAFETY: it was there, and is not looked at again.
    unsafe { ManuallyDrop::take(&mut body.end) }.map_err(|failure| Failed::from(&*failure))
}

impl<F: Future<Output = R>, R> Type<F, End<R>, Join> {
    /// The functions of a process whose result may be wanted.
    pub(super) const FORKED: BodyType = BodyType {
        poll: Self::poll_forked,
        drop: Self::drop_forked,
        size: size_of::<Placed<Join, Body<F, End<R>>>>(),
        blocking: false,
        joined: true,
    };

    unsafe fn poll_forked(task: NonNull<Task>, context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller; when it is called, there is no future any more.
        let put = |result| unsafe { Self::put(task, Ok(result)) };
        // SAFETY: said by the caller.
        match unsafe { Self::poll(task, context, put) } {
            Poll::Pending => Polled::Pending,
            Poll::Ready(Ok(())) => Polled::Ready(Ok(())),
            // SAFETY: as above.
            Poll::Ready(Err(failure)) => Polled::Ready(unsafe { Self::put_failure(task, failure) }),
        }
    }

    /// Puts the end in the place of the future. A function of its own, as all that is done once: it
    /// would cost each poll the registers that it needs.
    ///
    /// # Safety
    /// The caller holds the process, and there is no future any more.
    #[inline(never)]
    unsafe fn put(task: NonNull<Task>, end: End<R>) {
        let body = body_of::<Join, F, End<R>>(task);
        // SAFETY: said by the caller.
        unsafe { body.write(Body { end: ManuallyDrop::new(end) }) };
        // SAFETY: as above.
        let task = unsafe { task.as_ref() };
        // SAFETY: as above.
        unsafe { task.body_stage() }.set(stage::END);
    }

    /// The same for one that has failed: its failure is the network's, unless a handle is told.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[cold]
    unsafe fn put_failure(task: NonNull<Task>, failure: Box<Failure>) -> Result<(), Box<Failure>> {
        // SAFETY: said by the caller.
        unsafe { Self::put(task, Err(failure.clone())) };
        // SAFETY: a process of this module.
        let told = join_of(unsafe { TaskRef::new(task) }).gate.peek() & HANDLE != 0;
        if told { Ok(()) } else { Err(failure) }
    }

    /// Drops the future, or a result that is not wanted; returns the failure if it was one.
    ///
    /// # Safety
    /// The caller holds the process, or has its only handle and it has ended.
    unsafe fn drop_forked(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        let header = unsafe { task.as_ref() };
        // SAFETY: said by the caller.
        let at = unsafe { header.body_stage() };
        if at.get() != stage::END {
            // SAFETY: said by the caller.
            return unsafe { Self::drop(task) };
        }
        at.set(stage::OVER);
        // SAFETY: said by the caller.
        let body = unsafe { &mut *body_of::<Join, F, End<R>>(task) };
        // SAFETY: it was there, and is not looked at again.
        let result = unsafe { ManuallyDrop::take(&mut body.end) }.map_err(|failure| *failure)?;
        // What its destructor panics with is lost with it.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(result))).map_err(panics::discard);
        Ok(())
    }
}

impl<F: Future<Output = Option<BoxError>>> Type<F, (), ()> {
    /// The functions of a process that runs by itself, and returns why it failed.
    pub(super) const DETACHED: BodyType = BodyType {
        poll: Self::poll_detached,
        drop: Self::drop,
        size: size_of::<Placed<(), Body<F, ()>>>(),
        blocking: false,
        joined: false,
    };

    unsafe fn poll_detached(task: NonNull<Task>, context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        match unsafe { Self::poll(task, context, outcome) } {
            Poll::Pending => Polled::Pending,
            Poll::Ready(end) => Polled::Ready(end.and_then(|end| end)),
        }
    }
}

/// How a process ended that has returned this.
#[inline(never)]
fn outcome(error: Option<BoxError>) -> Result<(), Box<Failure>> {
    error.map_or(Ok(()), |error| Err(Box::new(Failure::of(error))))
}

impl<F: Future, E, J> Type<F, E, J> {
    /// Polls the future; when it is ready, drops it and has `finish` do something with its result.
    ///
    /// # Safety
    /// The caller holds the process, and its body has not ended.
    #[inline]
    unsafe fn poll<O>(
        task: NonNull<Task>,
        context: &mut Context<'_>,
        finish: impl FnOnce(F::Output) -> O,
    ) -> Poll<Result<O, Box<Failure>>> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: said by the caller.
            let body = unsafe { &mut *body_of::<J, F, E>(task) };
            // SAFETY: as above.
            let future = unsafe { &mut *body.future };
            // SAFETY: the body stands in its block until it is dropped there.
            let result = std::task::ready!(unsafe { Pin::new_unchecked(future) }.poll(context));
            // Within the net for panics: destructors are the user's code.
            // SAFETY: said by the caller.
            unsafe { Self::clear(task) };
            Poll::Ready(finish(result))
        }));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(payload) => {
                // SAFETY: said by the caller.
                let failure = unsafe { Self::panicked(task, payload) };
                Poll::Ready(Err(Box::new(failure)))
            }
        }
    }

    /// # Safety
    /// The caller holds the process, or has its only handle and it has ended.
    #[inline(never)]
    unsafe fn clear(task: NonNull<Task>) {
        // SAFETY: said by the caller.
        let body = unsafe { &mut *body_of::<J, F, E>(task) };
        // SAFETY: as above.
        let header = unsafe { task.as_ref() };
        // SAFETY: as above.
        unsafe { body.clear(header) };
    }

    /// Drops a future that has panicked, and notes why.
    ///
    /// # Safety
    /// As for [`poll`](Self::poll).
    #[cold]
    unsafe fn panicked(task: NonNull<Task>, payload: Box<dyn Any + Send>) -> Failure {
        let failure = panics::failure(payload);
        // What the panic has not dropped on its way is dropped as if it had.
        // SAFETY: as below.
        unsafe { task.as_ref() }.note(own::ENDING | own::POISONED);
        // SAFETY: said by the caller. A second panic would be of the same process.
        let _ = unsafe { Self::drop(task) };
        failure
    }

    unsafe fn drop(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        catch_unwind(AssertUnwindSafe(|| unsafe { Self::clear(task) })).map_err(panics::failure)
    }
}
