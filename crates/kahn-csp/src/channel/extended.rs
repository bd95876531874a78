//! Extended rendezvous: the receiver acts while the sender still waits.

use crate::channel::ends::{Receiver, Receiving};
use crate::channel::gone::Gone;
use crate::channel::typed::{Channel, Returned};
use crate::choice::guard::{Entering, Guard, Leaving, Looking};
use crate::language::csp::Worker;
use crate::language::deferred::Deferred;
use crate::language::header::own;
use crate::wait::place::Awaited;
use crate::wait::waiter::Attempt;
use kahn_engine::TaskRef;
use kahn_engine::sync::thread;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll};

impl<T: Send> Receiver<T> {
    /// Receives a message and keeps its sender waiting until the result is dropped.
    ///
    /// What the receiver does meanwhile happens, for the sender, within the one communication. Also
    /// a guard of an [alternation](crate::alt). The sender of a buffered channel waits only if it
    /// meets the receiver itself.
    ///
    /// # Errors
    /// [`Gone`] if the sender was dropped, after all that it sent.
    ///
    /// # Examples
    ///
    /// A tap on a channel: the sender goes on when the message has arrived at its destination.
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut tapped) = csp::channel::<u32>("tapped");
    ///     let (mut on, mut arrived) = csp::channel::<u32>("arrived");
    ///     scope.spawn("tap", async move {
    ///         while let Ok(message) = tapped.recv_extended().await {
    ///             on.send(*message).await?;
    ///         }
    ///         Ok::<(), csp::Unsent<u32>>(())
    ///     });
    ///     scope.spawn("source", async move { out.send(5).await });
    ///     arrived.recv().await
    /// })?;
    /// assert_eq!(run.result, Ok(5));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// Source: Barnes and Welch, occam-pi's `??`; CCSP section 1.1, `ChanXIn` and `ChanXEnd`.
    pub fn recv_extended(
        &mut self,
    ) -> impl Future<Output = Result<Extended<'_, T>, Gone>>
    + Guard<Output = Result<Extended<'_, T>, Gone>> {
        ReceivingExtended { receiving: Receiving::new(self, true) }
    }
}

/// An extended receive in progress; made by [`Receiver::recv_extended`].
#[derive(Debug)]
#[must_use = "nothing is received unless it is awaited"]
struct ReceivingExtended<'a, T: Send> {
    receiving: Receiving<'a, T>,
}

impl<'a, T: Send> ReceivingExtended<'a, T> {
    fn receiving(self: Pin<&mut Self>) -> Pin<&mut Receiving<'a, T>> {
        // SAFETY: the inner operation is pinned with us.
        unsafe { self.map_unchecked_mut(|this| &mut this.receiving) }
    }

    fn extend(&self, received: Result<T, Gone>) -> Result<Extended<'a, T>, Gone> {
        let channel = self.receiving.end.channel;
        received.map(|message| Extended {
            message: ManuallyDrop::new(message),
            channel,
            borrows: PhantomData,
        })
    }
}

impl<'a, T: Send> Future for ReceivingExtended<'a, T> {
    type Output = Result<Extended<'a, T>, Gone>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let received = self.as_mut().receiving().poll(context);
        received.map(|received| self.extend(received))
    }
}

// SAFETY: as the receive within.
unsafe impl<'a, T: Send> Guard for ReceivingExtended<'a, T> {
    type Output = Result<Extended<'a, T>, Gone>;

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        self.receiving().look(at, from, to)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        self.receiving().enter(at, base)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.receiving().leave(at);
    }

    fn finish(
        mut self: Pin<&mut Self>,
        nth: usize,
        context: &mut Context<'_>,
    ) -> Poll<Self::Output> {
        let received = self.as_mut().receiving().finish(nth, context);
        received.map(|received| self.extend(received))
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        self.receiving.describe(see);
    }
}

/// A message whose sender still waits; made by [`Receiver::recv_extended`].
///
/// Dropping it lets the sender go, with success. If the process panics or is killed while it has
/// this, the sender gets the message back with an [`Unsent`](crate::Unsent). If it is forgotten instead, the sender goes on when the receiver
/// is used again or dropped: its message has arrived, with poison or without.
#[must_use = "dropping it lets the sender go at once: that is `recv`"]
pub struct Extended<'a, T: Send> {
    message: ManuallyDrop<T>,
    channel: Channel<T>,
    /// Nobody receives from the channel meanwhile.
    borrows: PhantomData<&'a mut Receiver<T>>,
}

impl<T: Send> Extended<'_, T> {
    /// Lets the sender go and returns the message.
    pub fn finish(mut self) -> T {
        // SAFETY: not used again: we forget ourselves.
        let message = unsafe { ManuallyDrop::take(&mut self.message) };
        let channel = self.channel;
        std::mem::forget(self);
        let_go(channel);
        message
    }
}

/// What a process that is being ended tells those that wait for it; `None` for one that goes on.
fn failure_of(task: TaskRef) -> Option<Gone> {
    let is_panicking = thread::panicking();
    if !is_panicking && task.notes() & own::ENDING == 0 {
        return None;
    }
    let poisons = is_panicking || task.notes() & own::POISONED != 0;
    Some(if poisons { Gone::Poisoned } else { Gone::Closed })
}

/// Drops a message whose sender still waits: releases it, or tells it that its receiver has failed.
pub(crate) fn leave<T: Send>(channel: Channel<T>, message: T) {
    let network = channel.meeting().network();
    match Worker::running_in(network) {
        Some((worker, task)) => {
            if let Some(why) = failure_of(task) {
                // Nobody may wait for it any more: it may be anything, and the gate is open.
                return drop(channel.give_back(worker, message, why));
            }
        }
        None if thread::panicking() => {
            let what = Box::into_raw(Box::new(Returned { channel, message }));
            let release = Channel::<T>::give_back_at;
            return channel.common().defer(Deferred::release(what.cast(), release));
        }
        None => {}
    }
    drop(message);
    let_go(channel);
}

/// Lets the sender of a message go.
fn let_go<T: Send>(channel: Channel<T>) {
    let network = channel.meeting().network();
    match Worker::running_in(network) {
        Some((worker, _)) => channel.release(worker),
        None => channel
            .common()
            .defer(Deferred::release(channel.place().cast(), Channel::<T>::release_at)),
    }
}

impl<T: Send> Deref for Extended<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl<T: Send> DerefMut for Extended<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.message
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for Extended<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Extended").field(&**self).finish()
    }
}

impl<T: Send> Drop for Extended<'_, T> {
    fn drop(&mut self) {
        // SAFETY: not used again.
        leave(self.channel, unsafe { ManuallyDrop::take(&mut self.message) });
    }
}
