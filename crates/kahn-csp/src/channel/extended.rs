//! Extended rendezvous: the receiver acts while the sender still waits.

use crate::channel::ends::Receiver;
use crate::channel::gone::Gone;
use crate::channel::operations::Receiving;
use crate::channel::typed::{Channel, Returned};
use crate::choice::guard::Guard;
use crate::choice::operation::Pending;
use crate::language::csp::Worker;
use crate::language::deferred::Deferred;
use crate::language::header::own;
use kahn_engine::TaskRef;
use kahn_engine::sync::thread;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

impl<T: Send> Receiver<T> {
    /// Receives a message and keeps its sender waiting until the result is dropped.
    ///
    /// What the receiver does meanwhile happens, for the sender, within the one communication. Also
    /// a guard of an [alternation](crate::alt). The sender of a buffered channel waits only if
    /// the receiver takes the message from it, and not from the buffer.
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
        Pending::new(Receiving::<T, Extended<'_, T>>::new(self))
    }
}

/// A message whose sender still waits; made by [`Receiver::recv_extended`].
///
/// Dropping it lets the sender go, with success. If the process panics or is killed while it has
/// this, the sender gets the message back with an [`Unsent`](crate::Unsent). If it is forgotten instead, the sender goes on when the receiver
/// is used again or dropped: its message has arrived, with poison or without.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut out, mut jobs) = csp::channel::<u32>("jobs");
///     let source = scope.fork("source", async move { out.send(20).await.is_ok() });
///     let job = jobs.recv_extended().await.expect("there is a job");
///     // The source waits until the message is dropped.
///     let result = *job + 1;
///     drop(job);
///     (result, source.join().await)
/// })?;
/// assert_eq!(run.result, (21, Ok(true)));
/// # Ok::<(), csp::RunError>(())
/// ```
#[must_use = "dropping it lets the sender go at once: that is `recv`"]
pub struct Extended<'a, T: Send> {
    message: ManuallyDrop<T>,
    channel: Channel<T>,
    /// Nothing else is received from the channel meanwhile.
    borrows: PhantomData<&'a mut Receiver<T>>,
}

impl<T: Send> Extended<'_, T> {
    pub(super) fn new(channel: Channel<T>, message: T) -> Self {
        Self { message: ManuallyDrop::new(message), channel, borrows: PhantomData }
    }

    /// Lets the sender go and returns the message.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut words) = csp::channel::<String>("words");
    ///     scope.spawn("source", async move { out.send("kept".to_owned()).await });
    ///     let word = words.recv_extended().await.expect("there is a word");
    ///     word.finish()
    /// })?;
    /// assert_eq!(run.result, "kept");
    /// # Ok::<(), csp::RunError>(())
    /// ```
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
fn leave<T: Send>(channel: Channel<T>, message: T) {
    let network = channel.meeting().network();
    match Worker::running_in(network) {
        Some((worker, task)) => {
            if let Some(why) = failure_of(task) {
                // Its sender may be gone, and the message be of any type: it is dropped with the gate open.
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
