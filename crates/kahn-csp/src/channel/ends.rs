//! The two ends of a channel.

use crate::channel::gone::{Gone, Unsent};
use crate::channel::operations::{Receiving, Sending};
use crate::channel::rendezvous::Side;
use crate::channel::typed::Channel;
use crate::choice::guard::Guard;
use crate::choice::operation::Pending;
use crate::language::csp::Worker;
use crate::language::header::own;
use crate::language::running;
use kahn_engine::sync::thread;
use kahn_report::Name;
use std::fmt;

/// Makes a channel without a buffer: a send is complete when the message was received.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut ping, mut pinged) = csp::channel::<u32>("ping");
///     scope.spawn("pinger", async move { ping.send(7).await });
///     pinged.recv().await
/// })?;
/// assert_eq!(run.result, Ok(7));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// Source: Hoare 1985; CCSP section 1.1, `ChanInit`.
pub fn channel<T: Send>(name: impl Into<Name>) -> (Sender<T>, Receiver<T>) {
    ends(name.into(), 0)
}

/// Makes a channel that holds up to `capacity` messages: its sender waits only when it is full.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()), and if `capacity` is 0.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let (mut out, mut numbers) = csp::buffered::<u32>("numbers", 2);
///     // There is no receiver at work, and none is needed yet.
///     out.send(1).await.expect("there is room");
///     out.send(2).await.expect("there is room");
///     drop(out);
///     let mut sum = 0;
///     while let Ok(n) = numbers.recv().await {
///         sum += n;
///     }
///     sum
/// })?;
/// assert_eq!(run.result, 3);
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn buffered<T: Send>(name: impl Into<Name>, capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a buffer holds a message at least: `csp::channel` is without one");
    ends(name.into(), capacity)
}

fn ends<T: Send>(name: Name, capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Channel::new(running::common_of_new("a channel"), name, capacity);
    running::tell_of_new(channel.place().addr(), channel.meeting().name());
    (Sender { channel }, Receiver { channel })
}

/// The end of a channel that messages go into.
///
/// It may itself be sent in a message, to the process that is to send from then on. Dropping it closes the
/// channel.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (out, mut words) = csp::channel::<&str>("words");
///     let (mut ends, mut end) = csp::channel::<csp::Sender<&str>>("ends");
///     scope.spawn("speaker", async move {
///         let mut out = end.recv().await.expect("an end is sent");
///         out.send("hello").await
///     });
///     ends.send(out).await.expect("it is received");
///     words.recv().await
/// })?;
/// assert_eq!(run.result, Ok("hello"));
/// # Ok::<(), csp::RunError>(())
/// ```
pub struct Sender<T: Send> {
    pub(crate) channel: Channel<T>,
}

/// The end of a channel that messages come out of.
///
/// It may itself be sent in a message, to the process that is to receive from then on. Dropping it closes
/// the channel: a sender learns it, and gets its message back.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut out, mut numbers) = csp::channel::<u32>("numbers");
///     scope.spawn("one number", async move {
///         assert_eq!(numbers.recv().await, Ok(1));
///         // The receiver is dropped here.
///     });
///     out.send(1).await.expect("it is received");
///     out.send(2).await
/// })?;
/// let unsent = run.result.expect_err("the channel is closed");
/// assert_eq!(unsent.message, 2);
/// # Ok::<(), csp::RunError>(())
/// ```
pub struct Receiver<T: Send> {
    pub(crate) channel: Channel<T>,
}

impl<T: Send> Sender<T> {
    /// Sends a message: waits until a receiver has it, or a buffer.
    ///
    /// Also a guard of an [alternation](crate::alt).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut words) = csp::channel::<String>("words");
    ///     scope.spawn("listener", async move { words.recv().await.map(drop) });
    ///     (out.send("heard".to_owned()).await, out.send("not heard".to_owned()).await)
    /// })?;
    /// let (first, second) = run.result;
    /// assert!(first.is_ok());
    /// assert_eq!(second.expect_err("nothing receives it").message, "not heard");
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsent`] returns the message if the receiver was dropped, or if it received the message
    /// with [`recv_extended`](Receiver::recv_extended) and panicked or was killed over it.
    pub fn send(
        &mut self,
        message: T,
    ) -> impl Future<Output = Result<(), Unsent<T>>> + Guard<Output = Result<(), Unsent<T>>> {
        Pending::new(Sending::new(self, message))
    }

    /// Drops the end with poison: the receiver learns it, after the messages that were sent.
    ///
    /// A process that learns of poison passes it on: the ends that it drops from then on, at its end or
    /// before, are poisoned too, unless it [takes an antidote](crate::antidote).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Gone};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (out, mut first) = csp::channel::<u32>("first");
    ///     let (mut on, mut second) = csp::channel::<u32>("second");
    ///     scope.spawn("between", async move {
    ///         while let Ok(n) = first.recv().await {
    ///             let _ = on.send(n).await;
    ///         }
    ///     });
    ///     out.poison();
    ///     second.recv().await
    /// })?;
    /// assert_eq!(run.result, Err(Gone::Poisoned));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// Source: Sputh and Allen, *JCSP-Poison*, 2005.
    pub fn poison(self) {
        let channel = self.channel;
        std::mem::forget(self);
        drop_end(channel, Side::Sender, true);
    }

    /// Returns the name of the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let (out, _numbers) = csp::channel::<u32>("numbers");
    ///     out.name().to_string()
    /// })?;
    /// assert_eq!(run.result, "numbers");
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn name(&self) -> &Name {
        self.channel.meeting().name()
    }
}

impl<T: Send> Receiver<T> {
    /// Receives a message, waiting until there is one.
    ///
    /// Also a guard of an [alternation](crate::alt).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Gone};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut numbers) = csp::channel::<u32>("numbers");
    ///     scope.spawn("source", async move { out.send(1).await });
    ///     (numbers.recv().await, numbers.recv().await)
    /// })?;
    /// assert_eq!(run.result, (Ok(1), Err(Gone::Closed)));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Gone`] if the sender was dropped, after all that it sent.
    pub fn recv(
        &mut self,
    ) -> impl Future<Output = Result<T, Gone>> + Guard<Output = Result<T, Gone>> {
        Pending::new(Receiving::<T, T>::new(self))
    }

    /// Drops the end with poison: the sender learns it. See [`Sender::poison`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Gone};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let (mut out, numbers) = csp::channel::<u32>("numbers");
    ///     numbers.poison();
    ///     out.send(1).await.map_err(|unsent| unsent.why)
    /// })?;
    /// assert_eq!(run.result, Err(Gone::Poisoned));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn poison(self) {
        let channel = self.channel;
        std::mem::forget(self);
        drop_end(channel, Side::Receiver, true);
    }

    /// Returns the name of the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let (_out, numbers) = csp::channel::<u32>("numbers");
    ///     numbers.name().to_string()
    /// })?;
    /// assert_eq!(run.result, "numbers");
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn name(&self) -> &Name {
        self.channel.meeting().name()
    }
}

/// Ends one side of a channel, with poison if the process that does it has learnt of some or panics.
fn drop_end<T: Send>(channel: Channel<T>, side: Side, poison: bool) {
    let network = channel.meeting().network();
    match Worker::running_in(network) {
        Some((worker, task)) => {
            if side == Side::Receiver && channel.holds_sender() {
                channel.let_go(worker);
            }
            let poison = poison || task.notes() & own::POISONED != 0 || thread::panicking();
            channel.close(side, poison, Some(worker));
        }
        None => channel.defer_close(side, poison || thread::panicking()),
    }
}

impl<T: Send> Drop for Sender<T> {
    fn drop(&mut self) {
        drop_end(self.channel, Side::Sender, false);
    }
}

impl<T: Send> Drop for Receiver<T> {
    fn drop(&mut self) {
        drop_end(self.channel, Side::Receiver, false);
    }
}

impl<T: Send> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(self.name()).finish()
    }
}

impl<T: Send> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(self.name()).finish()
    }
}
