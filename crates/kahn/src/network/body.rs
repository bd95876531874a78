//! The body of a process: the user's closure and ports, then the future it makes.
//!
//! It stands in the same block as the header, behind it. The closure is called at the first poll,
//! so that all of the user's code runs as the process. Panics end here: they become failures.

use crate::channel::Ports;
use crate::graph::Failure;
use crate::scheduler::task::{BodyType, Polled, Task};
use crate::scheduler::{Kind, Unwound};
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// What the code of a process may return: nothing, or a result whose error is its failure.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let texts = network.source("texts", ["1", "2", "three"]);
/// network.process("parse", texts, async |mut texts| {
///     while let Some(text) = texts.recv().await {
///         text.parse::<u32>()?;
///     }
///     Ok::<(), std::num::ParseIntError>(())
/// });
/// let error = network.run().expect_err("`three` is no number");
/// assert!(error.to_string().contains("process `parse` failed: invalid digit"));
/// ```
pub trait ProcessResult: Send {
    /// Turns the result into an error's text, if it is an error.
    fn into_error(self) -> Option<String>;
}

impl ProcessResult for () {
    fn into_error(self) -> Option<String> {
        None
    }
}

impl<E: std::fmt::Display + Send> ProcessResult for Result<(), E> {
    fn into_error(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// Where a body stands.
pub(super) enum Body<F, P, R> {
    Start(F, P),
    Running(R),
    Over,
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
    align_of::<Placed<B>>() == align_of::<Task>()
}

fn failure(payload: &(dyn Any + Send)) -> Result<(), Failure> {
    if payload.is::<Unwound>() {
        return Ok(());
    }
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned());
    Err(Failure { message, panicked: true })
}

fn result_of<O: ProcessResult>(output: O) -> Result<(), Failure> {
    match output.into_error() {
        None => Ok(()),
        Some(message) => Err(Failure { message, panicked: false }),
    }
}

unsafe fn drop_body<B>(task: NonNull<Task>, over: B) -> Result<(), Failure> {
    // SAFETY: said by the caller.
    let body = unsafe { body_of::<B>(task) };
    let dropped = catch_unwind(AssertUnwindSafe(|| *body = over));
    dropped
        .map_err(|payload| failure(payload.as_ref()).err())
        .map_or_else(|failed| failed.map_or(Ok(()), Err), Ok)
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
    };

    unsafe fn poll(task: NonNull<Task>, context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        let body = unsafe { body_of::<Body<F, P, R>>(task) };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            if let Body::Start(..) = body
                && let Body::Start(start, ports) = mem::replace(body, Body::Over)
            {
                *body = Body::Running(start(ports));
            }
            let Body::Running(future) = body else { return Poll::Ready(None) };
            // SAFETY: the body stands in its block until it is dropped there.
            let polled = unsafe { Pin::new_unchecked(future) }.poll(context);
            if polled.is_ready() {
                // Within the net for panics: destructors are the user's code.
                *body = Body::Over;
            }
            polled.map(Some)
        }));
        match polled {
            Ok(Poll::Pending) => Polled::Pending,
            Ok(Poll::Ready(output)) => Polled::Ready(output.map_or(Ok(()), result_of)),
            Err(payload) => {
                // SAFETY: said by the caller.
                let dropped = unsafe { Self::drop(task) };
                Polled::Ready(failure(payload.as_ref()).and(dropped))
            }
        }
    }

    unsafe fn drop(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        unsafe { drop_body(task, Body::<F, P, R>::Over) }
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
    };

    unsafe fn poll(task: NonNull<Task>, _context: &mut Context<'_>) -> Polled {
        // SAFETY: said by the caller.
        let body = unsafe { body_of::<Body<F, P, ()>>(task) };
        let ran = catch_unwind(AssertUnwindSafe(|| match mem::replace(body, Body::Over) {
            Body::Start(run, ports) => result_of(run(ports)),
            Body::Running(()) | Body::Over => Ok(()),
        }));
        Polled::Ready(ran.unwrap_or_else(|payload| failure(payload.as_ref())))
    }

    unsafe fn drop(task: NonNull<Task>) -> Result<(), Failure> {
        // SAFETY: said by the caller.
        unsafe { drop_body(task, Body::<F, P, ()>::Over) }
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
