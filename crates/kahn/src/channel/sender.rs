//! The sending end.

use super::closing;
use super::fast_path::{note_sent, owner_of, publish, wait_in_slow_path};
use super::language::Worker;
use super::process::InNetwork;
use super::raw::{ChannelRef, End};
use super::ring::{can_be_given, put, put_many};
use super::sending::{Sending, SendingAll, SendingBatch};
use super::weight::count_weight;
use kahn_engine::sync::Access;
use kahn_report::Name;
use std::fmt;
use std::marker::PhantomData;
use std::{mem, vec};

/// The sending end of a channel.
///
/// It belongs to the process that got it when that was created. Dropping it ends the channel, after
/// the messages in it; inside a process this takes effect at its next operation, or with its end,
/// so that `?` and a panic never look like a clean end.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (numbers, received) = network.channel("numbers");
/// network.process("count", numbers, async |mut numbers| {
///     for n in 1..=3_u32 {
///         numbers.send(n).await;
///     }
/// });
/// let all = network.collect("all", received);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![1, 2, 3]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct Sender<T> {
    channel: ChannelRef,
    messages: PhantomData<fn(T)>,
}

// SAFETY: an end may move to another thread with its process; messages move with it.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: `&Sender` allows nothing but to ask for the name.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(self.channel.name()).finish()
    }
}

impl<T: Send> Sender<T> {
    pub(crate) fn new(channel: ChannelRef) -> Self {
        Self { channel, messages: PhantomData }
    }

    pub(crate) fn channel(&self) -> ChannelRef {
        self.channel
    }

    /// Puts the initial messages into a new channel, before any process knows it.
    pub(crate) fn put_initial(&mut self, mut messages: Vec<T>) {
        let count = messages.len();
        if count == 0 {
            return;
        }
        let channel = self.channel;
        for message in &messages {
            count_weight(channel, End::Sender, message);
        }
        let (side, first) = (&channel.sender, channel.sender.local.get());
        channel.set_up(first);
        let mut put = 0;
        while put < count {
            let number = side.local.get();
            #[expect(clippy::cast_possible_truncation, reason = "not more than `count`")]
            let some = channel.reach(End::Sender, (count - put) as u64) as usize;
            let from = messages.as_ptr().wrapping_add(put);
            // SAFETY: the slots were made for messages of this type, one for each. They are given
            // up below.
            unsafe { put_many(side.row.get(), side.mask.get(), number, from, some) };
            side.local.set(number + some as u64);
            put += some;
        }
        // SAFETY: as above.
        unsafe { messages.set_len(0) };
        // No process waits yet.
        let _ = channel.word(End::Sender).publish(channel.sender.local.get(), Access::SHARED);
    }

    /// Returns the channel's name.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel::<u32>("numbers");
    /// assert_eq!(out.name(), "numbers");
    /// assert_eq!(out.name(), numbers.name());
    /// ```
    pub fn name(&self) -> &Name {
        self.channel.name()
    }

    /// Sends a message, waiting while the channel is full.
    ///
    /// It cannot fail. If the receiver has left, the message is dropped: whether it "already knows"
    /// would depend on the schedule.
    ///
    /// The operation must be completed once it has waited; see [`Misuse`](crate::Misuse).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, words) = network.channel("words");
    /// network.process("speak", out, async |mut out| {
    ///     out.send("hello").await;
    ///     out.send("world").await;
    /// });
    /// let all = network.collect("all", words);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["hello", "world"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    #[inline]
    pub fn send(&mut self, message: T) -> impl Future<Output = ()> + Send {
        Sending::new(self, message)
    }

    /// Sends all messages of an iterator, in order.
    ///
    /// The iterator is asked for the next message only when there is room for it; if its
    /// [`size_hint`](Iterator::size_hint) leaves open whether there is one, as soon as the one before is
    /// sent. When all are sent it waits no more. With no message it is no operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use kahn::Network;
    /// # let mut network = Network::new();
    /// # let (mut numbers, received) = network.channel("numbers");
    /// network.process("count", numbers, async |mut numbers| numbers.send_all(1..=3).await);
    /// # let all = network.collect("all", received);
    /// # network.run()?;
    /// # assert_eq!(all.take(), Some(vec![1, 2, 3]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub fn send_all<I: IntoIterator<Item = T>>(&mut self, messages: I) -> impl Future<Output = ()> {
        SendingAll { sender: self, messages: messages.into_iter(), next: None, waited: false }
    }

    /// Sends all messages of a vector, in order, and leaves it empty with the memory it has.
    ///
    /// The counterpart of [`Receiver::recv_batch`](crate::Receiver::recv_batch): as many messages as
    /// there is room for are moved at once, which is faster than [`send_all`](Self::send_all).
    ///
    /// # Examples
    ///
    /// ```
    /// # use kahn::Network;
    /// # let mut network = Network::new();
    /// # let numbers = network.source("numbers", 1..=100_u64);
    /// # let (out, doubled) = network.channel("doubled");
    /// network.process("double", (numbers, out), async |(mut numbers, mut out)| {
    ///     let mut batch = Vec::new();
    ///     while numbers.recv_batch(&mut batch, 32).await > 0 {
    ///         batch.iter_mut().for_each(|n| *n *= 2);
    ///         out.send_batch(&mut batch).await;
    ///     }
    /// });
    /// # let sum = network.fold("sum", doubled, 0, |sum, n| sum + n);
    /// # network.run()?;
    /// # assert_eq!(sum.take(), Some(100 * 101));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub async fn send_batch(&mut self, messages: &mut Vec<T>) {
        SendingBatch { sender: self, rest: messages.drain(..), waited: false }.await;
    }

    /// Sends a message from a blocking process, holding its thread while the channel is full.
    ///
    /// In an async process this is [misuse](crate::Misuse): await [`send`](Self::send) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, sizes) = network.channel("sizes");
    /// network.blocking("read", out, |mut out| {
    ///     out.send_blocking(std::fs::read("/dev/null")?.len());
    ///     Ok::<(), std::io::Error>(())
    /// });
    /// let all = network.collect("all", sizes);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![0]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub fn send_blocking(&mut self, message: T) {
        if let Some(worker) = wait_in_slow_path(self.channel, End::Sender) {
            note_sent(self.channel);
            self.write(message, Some(worker));
        } else {
            self.channel.discards(&message);
        }
    }

    /// Makes everything sent and received so far by this process visible to others now.
    ///
    /// The runtime does so by itself when the process waits, yields or ends; call this before a
    /// long computation that others should not wait for. Like any operation it lets senders end that
    /// were dropped before, and a process ends here that cannot be observed any more.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, results) = network.channel("results");
    /// network.process("compute", out, async |mut out| {
    ///     out.send("the first is quick").await;
    ///     // Its reader may have it now, and need not wait for what follows.
    ///     out.flush().await;
    ///     let sum = (0..1_000_u64).sum::<u64>();
    ///     out.send(if sum == 499_500 { "the second is not" } else { "wrong" }).await;
    /// });
    /// let all = network.collect("all", results);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["the first is quick", "the second is not"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub async fn flush(&mut self) {
        closing::flush(owner_of(self.channel, End::Sender)).await;
    }

    /// Puts a message into the slot that there is credit for.
    #[inline]
    pub(super) fn write(&mut self, message: T, worker: Option<&Worker>) {
        let side = &self.channel.sender;
        put_next(self.channel, message);
        let credit = side.credit.get() - 1;
        side.credit.set(credit);
        if credit == 0 {
            publish(self.channel, End::Sender, worker);
        }
    }
}

/// Puts a message into the slot that there is credit for, and counts it.
#[inline(always)]
fn put_next<T>(channel: ChannelRef, message: T) {
    let side = &channel.sender;
    let number = side.local.get();
    count_weight(channel, End::Sender, &raw const message);
    // SAFETY: there is credit: the slots were made for messages of this type, and the receiver
    // published that it has left the slot.
    unsafe { put(side.row.get(), side.mask.get(), number, message) };
    side.local.set(number + 1);
}

/// Sends a message to the receiver that sleeps at the channel, which is of this type.
#[inline(always)]
pub(super) fn send_one<T: Send>(channel: ChannelRef, message: T, worker: &Worker) {
    if const { can_be_given::<T>() }
        && let Some(receiver) = channel.receiver_that_takes()
    {
        receiver.give(message);
        return channel.publish_given(receiver, worker);
    }
    put_next(channel, message);
    channel.publish_to_sleeper(worker);
}

impl<T: Send> Sender<T> {
    /// Puts as many messages as there is credit for into their slots.
    pub(super) fn write_many(&mut self, messages: &mut vec::Drain<'_, T>, worker: Option<&Worker>) {
        let side = &self.channel.sender;
        let (number, credit) = (side.local.get(), side.credit.get());
        let given = messages.len().min(credit as usize);
        let from = messages.as_slice().as_ptr();
        for message in &messages.as_slice()[..given] {
            count_weight(self.channel, End::Sender, message);
        }
        // SAFETY: there is credit for so many: the slots were made for messages of this type, and the
        // receiver published that it has left the slots. They are given up by the line below.
        unsafe { put_many(side.row.get(), side.mask.get(), number, from, given) };
        messages.take(given).for_each(mem::forget);
        side.local.set(number + given as u64);
        #[expect(clippy::cast_possible_truncation, reason = "not more than the credit")]
        let credit = credit - given as u32;
        side.credit.set(credit);
        if credit == 0 {
            publish(self.channel, End::Sender, worker);
        }
    }
}

impl<T> Sender<T> {
    /// Keeps the credit that an operation has not used; `worker`, if that had to ask for it.
    pub(super) fn keep_room(&self, worker: Option<&Worker>) {
        if let Some(worker) = worker {
            self.channel.list(End::Sender, worker);
        }
    }

    /// The channel, whose end its caller drops.
    pub(super) fn into_channel(self) -> ChannelRef {
        mem::ManuallyDrop::new(self).channel
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        closing::dropped(self.channel, End::Sender);
    }
}
