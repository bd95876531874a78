//! The body of a process: the user's closure and ports, then the future it makes.
//!
//! It stands in the same block as the header, behind it. The closure is called at the first poll,
//! so that all of the user's code runs as the process. Panics end here: they become failures.

use crate::channel::Ports;
use kahn_engine::sync::panics;
use kahn_engine::task::{BLOCK_ALIGN, BodyType, Polled, ProcessResult, Task};
use kahn_engine::{Kind, Unwound};
use kahn_report::Failure;
use std::any::Any;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// A body: closure and ports, or the future, or nothing. Which of them is told by
/// [`Task::body_stage`], for a tag of its own would make most bodies a word larger.
pub(super) union Body<F, P, R> {
    start: ManuallyDrop<(F, P)>,
    running: ManuallyDrop<R>,
}

/// Values of [`Task::body_stage`].
mod stage {
    /// Set with the header.
    pub(super) const START: u8 = 0;
    pub(super) const RUNNING: u8 = 1;
    pub(super) const OVER: u8 = 2;
}

impl<F, P, R> Body<F, P, R> {
    pub(super) fn start(start: F, ports: P) -> Self {
        Self { start: ManuallyDrop::new((start, ports)) }
    }

    /// Takes closure and ports out, at the first poll; from then on there is no body.
    ///
    /// # Safety
    /// This is the body of `task`, which the caller holds.
    unsafe fn take_start(&mut self, task: &Task) -> Option<(F, P)> {
        // SAFETY: said by the caller.
        let at = unsafe { task.body_stage() };
        if at.get() != stage::START {
            return None;
        }
        at.set(stage::OVER);
        // SAFETY: it was there, and is not looked at again.
        Some(unsafe { ManuallyDrop::take(&mut self.start) })
    }

    /// Drops what is there.
    ///
    /// # Safety
    /// As for [`take_start`](Self::take_start).
    #[inline(never)]
    unsafe fn end(&mut self, task: &Task) {
        // SAFETY: said by the caller.
        let at = unsafe { task.body_stage() };
        // If a destructor panics, what is left of the body is lost.
        match at.replace(stage::OVER) {
            // SAFETY: it was there, and is not looked at again.
            stage::START => unsafe { ManuallyDrop::drop(&mut self.start) },
            // SAFETY: as above.
            stage::RUNNING => unsafe { ManuallyDrop::drop(&mut self.running) },
            _ => {}
        }
    }
}

/// The bodies of async processes.
pub(super) struct Async<F, P, R>(std::marker::PhantomData<(F, P, R)>);

/// The bodies of blocking processes.
pub(super) struct Blocking<F, P>(std::marker::PhantomData<(F, P)>);

/// A header and what stands behind it.
#[repr(C)]
struct Placed<B> {
    task: Task,
    body: B,
}

/// The body behind a header.
///
/// # Safety
/// The block was made for a body of this type.
unsafe fn body_of<'a, B>(task: NonNull<Task>) -> &'a mut B {
    let offset = mem::offset_of!(Placed<B>, body);
    // SAFETY: said by the caller: the body lies within the block.
    let mut body = unsafe { task.byte_add(offset) }.cast::<B>();
    // SAFETY: the holder of the process is the only one to touch the body.
    unsafe { body.as_mut() }
}

/// Writes a body behind its header.
///
/// # Safety
/// The block was made for a body of this type and holds none.
pub(super) unsafe fn place<B>(task: NonNull<Task>, body: B) {
    let offset = mem::offset_of!(Placed<B>, body);
    // SAFETY: said by the caller: the body lies within the block.
    let place = unsafe { task.byte_add(offset) }.cast::<B>();
    // SAFETY: said by the caller: nothing stands there yet.
    unsafe { place.write(body) };
}

/// Whether a body may stand behind a header: blocks are aligned to a cache line, no more.
pub(super) const fn fits<B>() -> bool {
    align_of::<Placed<B>>() <= BLOCK_ALIGN
}

fn failure(payload: Box<dyn Any + Send>) -> Result<(), Failure> {
    if payload.is::<Unwound>() { Ok(()) } else { Err(panics::failure(payload)) }
}

#[inline(never)]
fn outcome<O: ProcessResult>(output: O) -> Result<(), Box<Failure>> {
    result_of(output).map_err(Box::new)
}

fn result_of<O: ProcessResult>(output: O) -> Result<(), Failure> {
    match output.into_error() {
        None => Ok(()),
        Some(error) => Err(Failure::of(error)),
    }
}

unsafe fn drop_body<F, P, R>(task: NonNull<Task>) -> Result<(), Failure> {
    // SAFETY: said by the caller.
    let header = unsafe { task.as_ref() };
    // SAFETY: as above.
    let body = unsafe { body_of::<Body<F, P, R>>(task) };
    // SAFETY: said by the caller.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { body.end(header) }));
    dropped.or_else(failure)
}

impl<F, P, R, O> Async<F, P, R>
where
    F: FnOnce(P) -> R,
    R: Future<Output = O>,
    O: ProcessResult,
{
    pub(super) const TYPE: BodyType = BodyType {
        poll: Self::poll,
        drop: Self::drop,
        size: size_of::<Placed<Body<F, P, R>>>(),
        blocking: false,
        joined: false,
    };

    unsafe fn poll(task: NonNull<Task>, context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        let header = unsafe { task.as_ref() };
        // SAFETY: as above.
        let body = unsafe { body_of::<Body<F, P, R>>(task) };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller holds the process.
            let runs = unsafe { header.body_stage() }.get() == stage::RUNNING;
            // SAFETY: the body of this process, which the caller holds.
            if !runs && !unsafe { Self::begin(body, header) } {
                return Poll::Ready(Ok(()));
            }
            // SAFETY: it is there, as the stage says.
            let future = unsafe { &mut *body.running };
            // SAFETY: the body stands in its block until it is dropped there.
            let output = std::task::ready!(unsafe { Pin::new_unchecked(future) }.poll(context));
            // Within the net for panics: destructors are the user's code, and so is an error's text.
            // SAFETY: the body of this process, which the caller holds.
            unsafe { body.end(header) };
            Poll::Ready(outcome(output))
        }));
        match polled {
            Ok(Poll::Pending) => Polled::Pending,
            Ok(Poll::Ready(result)) => Polled::Ready(result),
            // SAFETY: said by the caller.
            Err(payload) => Polled::Ready(unsafe { Self::panicked(task, payload) }),
        }
    }

    /// Calls the closure, at the first poll; `false` if there is no body any more. A function of its
    /// own, as all that is done once: it would cost each poll the registers that it needs.
    ///
    /// # Safety
    /// This is the body of `task`, which the caller holds.
    #[inline(never)]
    unsafe fn begin(body: &mut Body<F, P, R>, task: &Task) -> bool {
        // SAFETY: said by the caller.
        let Some((start, ports)) = (unsafe { body.take_start(task) }) else { return false };
        body.running = ManuallyDrop::new(start(ports));
        // SAFETY: said by the caller.
        unsafe { task.body_stage() }.set(stage::RUNNING);
        true
    }

    /// Drops a body that has panicked.
    ///
    /// # Safety
    /// The caller holds the process.
    #[cold]
    unsafe fn panicked(
        task: NonNull<Task>,
        payload: Box<dyn Any + Send>,
    ) -> Result<(), Box<Failure>> {
        let failed = failure(payload);
        // SAFETY: said by the caller.
        let dropped = unsafe { Self::drop(task) };
        failed.and(dropped).map_err(Box::new)
    }

    unsafe fn drop(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        unsafe { drop_body::<F, P, R>(task) }
    }
}

impl<F, P, O> Blocking<F, P>
where
    F: FnOnce(P) -> O,
    O: ProcessResult,
{
    pub(super) const TYPE: BodyType = BodyType {
        poll: Self::poll,
        drop: Self::drop,
        size: size_of::<Placed<Body<F, P, ()>>>(),
        blocking: true,
        joined: false,
    };

    unsafe fn poll(task: NonNull<Task>, _context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        let header = unsafe { task.as_ref() };
        // SAFETY: as above.
        let body = unsafe { body_of::<Body<F, P, ()>>(task) };
        // SAFETY: the body of this process, which the caller holds.
        let start = unsafe { body.take_start(header) };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            start.map_or(Ok(()), |(run, ports)| result_of(run(ports)))
        }));
        let outcome = ran.unwrap_or_else(failure);
        Polled::Ready(outcome.map_err(Box::new))
    }

    unsafe fn drop(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        unsafe { drop_body::<F, P, ()>(task) }
    }
}

/// A closure and ports whose future is boxed, for bodies that need a wider alignment than a block
/// has.
pub(super) type BoxedStart<'env, O> =
    Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = O> + Send + 'env>> + Send + 'env>;

pub(super) fn boxed<'env, P, F, R, O>(body: F, ports: P) -> BoxedStart<'env, O>
where
    P: Ports + 'env,
    F: FnOnce(P) -> R + Send + 'env,
    R: Future<Output = O> + Send + 'env,
{
    Box::new(move || Box::pin(body(ports)))
}

/// The kind of thread a body needs.
pub(super) fn kind_of(body: &BodyType) -> Kind {
    if body.blocking { Kind::Threaded } else { Kind::Pooled }
}
