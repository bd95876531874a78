//! Ends as the `Stream` and `Sink` of the `futures` crates.
//!
//! They follow the rules of the ends they wrap: an operation that has waited must be completed
//! before another begins. `stream.forward(sink)` and `sink.send_all(stream)` do so. What polls two ends
//! at a time, such as `zip`, `select` and `fanout`, does not: [`Network::zip`](crate::Network::zip),
//! [`tee`](crate::Network::tee) and a process of one's own do that.

use super::fast_path::{FastPath, abandoned, fast_path, note_sent};
use super::language::Worker;
use super::raw::End;
use super::{Receiver, Sender};
use futures_core::Stream;
use futures_sink::Sink;
use kahn_engine::sync::Ordering::Relaxed;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

impl<T: Send> Receiver<T> {
    /// Adapts this end to the `Stream` of the `futures` crates, under the same rules of use.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=3_u32);
    /// let (out, sums) = network.channel("sums");
    /// network.process("sum", (numbers, out), async |(numbers, mut out)| {
    ///     let sum = numbers.into_stream().fold(0, async |sum, n| sum + n).await;
    ///     out.send(sum).await;
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![6]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = T> + Send + Unpin {
        ReceiverStream { receiver: self, waited: false }
    }
}

impl<T: Send> Sender<T> {
    /// Adapts this end to the `Sink` of the `futures` crates, under the same rules of use.
    ///
    /// Sending cannot fail; closing the sink is dropping it. A message is sent when the sink takes
    /// it, so that nothing is left to flush while its process receives. Without a sink,
    /// [`process::forward`](crate::process::forward) sends a stream on.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::SinkExt;
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// network.process("source", out, async |out| {
    ///     let mut out = out.into_sink();
    ///     for n in 0..3_u32 {
    ///         out.send(n).await.expect("a channel takes every message");
    ///     }
    /// });
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![0, 1, 2]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn into_sink(self) -> impl Sink<T, Error = Infallible> + Send + Unpin {
        SenderSink { sender: self, waited: false, pending: None, is_over: false }
    }
}

/// A [`Receiver`] as a `Stream`.
struct ReceiverStream<T: Send> {
    receiver: Receiver<T>,
    waited: bool,
}

impl<T: Send> Stream for ReceiverStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        this.receiver.poll_recv(context, &mut this.waited)
    }
}

impl<T: Send> Drop for ReceiverStream<T> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.receiver.channel(), End::Receiver);
        }
    }
}

/// A [`Sender`] as a `Sink`.
struct SenderSink<T: Send> {
    sender: Sender<T>,
    waited: bool,
    /// A message that was started and has no slot: the process did something else after
    /// `poll_ready` that took the credit away.
    pending: Option<T>,
    /// No process receives any more.
    is_over: bool,
}

impl<T: Send> SenderSink<T> {
    /// Waits until there is room for a message, or no reader to send it to; sends the one that is
    /// pending.
    fn poll_room(&mut self, context: &Context<'_>) -> Poll<()> {
        loop {
            match fast_path(self.sender.channel(), End::Sender, context, &mut self.waited) {
                FastPath::Go(worker) => {
                    let Some(message) = self.pending.take() else {
                        self.sender.keep_room(worker);
                        return Poll::Ready(());
                    };
                    note_sent(self.sender.channel());
                    self.sender.write(message, worker);
                }
                FastPath::Wait => return Poll::Pending,
                FastPath::Over => {
                    if let Some(message) = self.pending.take() {
                        self.sender.channel().discards(&message);
                    }
                    self.is_over = true;
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Sends the message that is pending, if there is one.
    fn poll_sent(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.pending.is_none() { Poll::Ready(()) } else { self.poll_room(context) }
    }
}

// Messages are moved, never pinned.
impl<T: Send> Unpin for SenderSink<T> {}

impl<T: Send> Sink<T> for SenderSink<T> {
    type Error = Infallible;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.get_mut().poll_room(context).map(Ok)
    }

    fn start_send(self: Pin<&mut Self>, message: T) -> Result<(), Infallible> {
        let this = self.get_mut();
        debug_assert!(this.pending.is_none(), "`poll_ready` comes before each message");
        let side = &this.sender.channel().sender;
        // Credit is the process's own, as is its poll; another must not even look.
        match Worker::holding(side.owner.load(Relaxed)) {
            _ if this.is_over => this.sender.channel().discards(&message),
            Some(worker) if side.credit.get() > 0 => {
                note_sent(this.sender.channel());
                this.sender.write(message, Some(worker));
            }
            _ => this.pending = Some(message),
        }
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.get_mut().poll_sent(context).map(Ok)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.get_mut().poll_sent(context).map(Ok)
    }
}

impl<T: Send> Drop for SenderSink<T> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.sender.channel(), End::Sender);
        }
    }
}
