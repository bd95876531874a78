//! Receiving in place: a message is used where it lies, and its slot is free when it has been.
//!
//! ```text
//!   recv            slot ──copy──► the process      the slot is free at once
//!   recv_in_place   slot ◄── the process looks      the slot is free when the guard is dropped
//! ```
//!
//! What [`recv`](Receiver::recv) does in one step is done in two:
//!
//! | step | | `local` | `credit` |
//! |---|---|---|---|
//! | lend | the guard is made; a channel that is recorded takes the message in | n | one less |
//! | release | the guard is dropped, moved out of, or forwarded | n + 1 | if none is left, all is published |
//! | forget | `mem::forget`: nothing is done, and the next receive gives the same message | n | |
//!
//! *The slot is the receiver's all the while.* A thread that publishes a receiver publishes `local`, which does
//! not count a message that is lent: the sender does not come back to its slot, however often the
//! process waits elsewhere meanwhile. No word is touched otherwise than by `recv`.
//!
//! *The slot does not move.* A channel that grows gets other slots beside it (see `growth`); the row of
//! the receiver goes on only in its own next look, and the guard borrows the receiver, so there is none.
//!
//! *The credit is used up at the beginning.* So a process that waits elsewhere with a guard in its hands
//! has no credit at this end that is not on its worker's list, and release publishes at once what
//! nothing would publish otherwise: if there is credit left, the side is listed.
//!
//! *Waits and verdicts are those of a process that has not received yet.* A sender that finds the
//! channel full waits for the holder; if that waits for the sender in turn, the ring has a full
//! channel, and it grows. If the holder never ends its wait it is dead like any other, and its
//! channels are dead ends. What is received on any channel is the same as with `recv`, for a process
//! cannot ask how full a channel is: the time at which a slot becomes free is a matter of the
//! schedule anyway.
//!
//! *A guard may be used anywhere, and ends where its process runs.* References to the message may go
//! to other threads. Release touches the cells of the side, so it asks first whether this thread
//! holds the process; if not, that is misuse and the message stays where it is. A process may hide a
//! guard for good (in a leaked receiver, on another thread), so slots of which one may still be lent
//! are not freed with the messages that are left after a run: see [`ChannelRef::lend`].

use super::Receiver;
use super::fast_path::{FastPath, abandoned, fast_path, note_sent, owner_of, wait_in_slow_path};
use super::language::Worker;
use super::raw::{ChannelRef, End, Side, flag};
use super::receiver::record;
use super::ring::slot;
use super::slot::Slot;
use super::slow_path::report;
use super::weight::count_weight;
use kahn_engine::Scheduler;
use kahn_engine::sync::Ordering::Relaxed;
use kahn_report::MisuseKind;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

impl<T: Send> Receiver<T> {
    /// Receives the next message and leaves it where it is, waiting until there is one; `None` once
    /// the sender has ended and all is read, then and ever after.
    ///
    /// For large messages: [`recv`](Self::recv) copies a message out of the channel, this lends it.
    /// The message counts as received when the guard is dropped or moved out of, and till then
    /// takes its room in the channel: with a capacity of 1 the sender waits until then. The process may
    /// do other operations meanwhile; if the sender's wait is part of a ring, the channel grows.
    ///
    /// If the sender failed, this process fails here as well, after the messages sent before.
    ///
    /// The operation must be completed once it has waited; see [`Misuse`](crate::Misuse).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let frames = network.source("frames", (0..3).map(|n| [n; 512]));
    /// let (out, sums) = network.channel("sums");
    /// network.process("sum", (frames, out), async |(mut frames, mut sums)| {
    ///     while let Some(frame) = frames.recv_in_place().await {
    ///         sums.send(frame.iter().sum::<u64>()).await;
    ///     }
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![0, 512, 1024]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    #[inline]
    pub fn recv_in_place(&mut self) -> impl Future<Output = Option<Received<'_, T>>> + Send {
        ReceivingInPlace { channel: Some(self.channel()), waited: false, receiver: PhantomData }
    }

    /// Receives the next message in place in a blocking process, holding its thread until there is
    /// one.
    ///
    /// In an async process this is [misuse](crate::Misuse): await
    /// [`recv_in_place`](Self::recv_in_place) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut file = Vec::new();
    /// let writing = &mut file;
    /// let mut network = Network::new();
    /// let blocks = network.source("blocks", (0..3_u8).map(|n| [n; 512]));
    /// network.blocking("write", blocks, move |mut blocks| {
    ///     while let Some(block) = blocks.recv_in_place_blocking() {
    ///         writing.extend_from_slice(&*block);
    ///     }
    /// });
    /// network.run()?;
    /// assert_eq!((file.len(), file[1024]), (3 * 512, 2));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub fn recv_in_place_blocking(&mut self) -> Option<Received<'_, T>> {
        let channel = self.channel();
        wait_in_slow_path(channel, End::Receiver)?;
        // SAFETY: there is a message, and the receiver is borrowed.
        Some(unsafe { Received::lend(channel) })
    }
}

/// A message that is received where it lies in its channel; made by
/// [`Receiver::recv_in_place`].
///
/// Dropping it drops the message and frees its slot, which the sender may then use again.
/// Forgetting it (`mem::forget`) does neither: the next receive gives the same message.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let words = network.source("words", ["one", "two"].map(String::from));
/// let (out, shouts) = network.channel("shouts");
/// network.process("shout", (words, out), async |(mut words, mut shouts)| {
///     while let Some(mut word) = words.recv_in_place().await {
///         word.push('!');
///         shouts.send(word.into_inner()).await;
///     }
/// });
/// let all = network.collect("all", shouts);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec!["one!".to_string(), "two!".to_string()]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[must_use = "a message that is dropped at once need not be received in place"]
pub struct Received<'a, T> {
    channel: ChannelRef,
    // No reference: the slot is another's as soon as it is free.
    message: NonNull<T>,
    receiver: PhantomData<&'a mut T>,
}

// SAFETY: the message moves with its guard, and the side is touched by the thread that holds its process.
unsafe impl<T: Send> Send for Received<'_, T> {}
// SAFETY: `&Received` allows nothing but `&T`.
unsafe impl<T: Sync> Sync for Received<'_, T> {}

impl<T> Received<'_, T> {
    /// Lends the message that there is credit to take.
    ///
    /// # Safety
    /// There is credit at the receiver, which belongs to the process that this thread holds, has
    /// messages of this type, and is borrowed for the guard's lifetime.
    #[inline(always)]
    unsafe fn lend(channel: ChannelRef) -> Self {
        let side = &channel.receiver;
        // SAFETY: there is a message: the slots were made for messages of this type, the sender has
        // published the slot, and it is ours until we publish.
        let message = unsafe { next_slot::<T>(side) }.cast::<T>();
        side.credit.set(side.credit.get() - 1);
        channel.lend(flag::LENT);
        count_weight(channel, End::Receiver, message.as_ptr());
        if side.is_recorded() {
            // SAFETY: full, as said above.
            let message = unsafe { message.as_ref() };
            record(channel, side.local.get(), message);
        }
        Self { channel, message, receiver: PhantomData }
    }

    /// Moves the message out, which frees its slot.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let words = network.source("words", ["keep me", "not me"].map(String::from));
    /// let (out, kept) = network.channel("kept");
    /// network.process("choose", (words, out), async |(mut words, mut out)| {
    ///     while let Some(word) = words.recv_in_place().await {
    ///         // Only what is kept leaves its slot.
    ///         if word.starts_with("keep") {
    ///             out.send(word.into_inner()).await;
    ///         }
    ///     }
    /// });
    /// let all = network.collect("all", kept);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["keep me".to_owned()]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if called outside the process that received it, which is
    /// [misuse](crate::Misuse).
    #[inline]
    pub fn into_inner(self) -> T {
        let this = ManuallyDrop::new(self);
        let channel = this.channel;
        let Some(worker) = holder(channel, End::Receiver) else {
            panic!("a message of channel `{}` is taken outside its process", channel.name())
        };
        // SAFETY: the slot of the guard, which is gone: as in `lend`.
        let slot = unsafe { next_slot::<T>(&channel.receiver) };
        // SAFETY: full, and not looked at any more.
        let message = unsafe { slot.cast::<T>().read() };
        advance(channel, End::Receiver, worker);
        message
    }

    /// Sends the message on: from slot to slot, in one copy, whatever its size.
    ///
    /// The same as `slot.send(self.into_inner())`, which may copy it to the process and from there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let frames = network.source("frames", (0..6).map(|n| [n; 512]));
    /// let (out, odd) = network.channel("odd");
    /// network.process("filter", (frames, out), async |(mut frames, mut odd)| {
    ///     while let Some(frame) = frames.recv_in_place().await {
    ///         if frame[0] % 2 == 1 {
    ///             frame.forward(odd.reserve().await);
    ///         }
    ///     }
    /// });
    /// let sum = network.fold("sum", odd, 0, |sum, frame: [u64; 512]| sum + frame[0]);
    /// network.run()?;
    /// assert_eq!(sum.take(), Some(1 + 3 + 5));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[inline]
    pub fn forward(self, slot: Slot<'_, T>) {
        let from = self.channel;
        // Dropped where there is no reader to send it to.
        let Some((to, worker)) = slot.into_place() else { return };
        if holder(from, End::Receiver).is_none() {
            return;
        }
        let _lent = ManuallyDrop::new(self);
        // SAFETY: the slot of the guard, which is gone: as in `lend`.
        let full = unsafe { next_slot::<T>(&from.receiver) };
        // SAFETY: reserved for messages of this type.
        let free = unsafe { next_slot::<T>(&to.sender) };
        // SAFETY: the one is full and the other free, so they are not the same, and both are ours.
        unsafe { full.copy_to_nonoverlapping(free, 1) };
        count_weight(to, End::Sender, free.cast::<T>().as_ptr());
        advance(from, End::Receiver, worker);
        advance(to, End::Sender, worker);
    }
}

impl<T> Deref for Received<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the slot is ours until we publish, and full.
        unsafe { self.message.as_ref() }
    }
}

impl<T> DerefMut for Received<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.message.as_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Received<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Received").field(&**self).finish()
    }
}

impl<T> Drop for Received<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let Some(worker) = holder(self.channel, End::Receiver) else { return };
        // Also if the message's destructor panics: it is not dropped again.
        let _release = Release { channel: self.channel, worker };
        // SAFETY: the slot of this guard: as in `lend`.
        let slot = unsafe { next_slot::<T>(&self.channel.receiver) };
        // SAFETY: full, and not looked at any more.
        unsafe { slot.cast::<T>().drop_in_place() };
    }
}

/// Frees the slot that was lent.
struct Release<'a> {
    channel: ChannelRef,
    worker: &'a Worker,
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        advance(self.channel, End::Receiver, self.worker);
    }
}

/// The slot of the next message of a side. Asked for again at the end of an operation in place,
/// which shows a model that nothing else has touched it.
///
/// # Safety
/// The side has a row of slots, which were made for messages of this type.
#[inline]
pub(super) unsafe fn next_slot<T>(side: &Side) -> NonNull<MaybeUninit<T>> {
    // SAFETY: said by the caller.
    let slot = unsafe { slot::<T>(side.row.get(), side.mask.get(), side.local.get()) };
    // SAFETY: a slot stands in a segment.
    unsafe { NonNull::new_unchecked(slot) }
}

/// Ends an operation in place, whose credit was used up when it began.
#[inline]
pub(super) fn advance(channel: ChannelRef, end: End, worker: &Worker) {
    let side = channel.side(end);
    if end == End::Sender {
        note_sent(channel);
    }
    side.local.set(side.local.get() + 1);
    if side.credit.get() == 0 {
        channel.publish(end, worker);
    }
}

/// The worker that holds the process at an end, on whose thread an operation in place must end.
#[inline]
pub(super) fn holder<'a>(channel: ChannelRef, end: End) -> Option<&'a Worker> {
    let worker = Worker::holding(channel.side(end).owner.load(Relaxed));
    if worker.is_none() {
        ended_elsewhere(channel, end);
    }
    worker
}

#[cold]
fn ended_elsewhere(channel: ChannelRef, end: End) {
    let owner = owner_of(channel, end);
    if Scheduler::of(owner).is_running() && !owner.has_ended() {
        report(owner, MisuseKind::NotYours { channel: channel.name().clone() });
    }
}

/// The future of [`Receiver::recv_in_place`].
struct ReceivingInPlace<'a, T: Send> {
    /// `None` once it is complete: there is one guard at most.
    channel: Option<ChannelRef>,
    waited: bool,
    receiver: PhantomData<&'a mut Receiver<T>>,
}

impl<'a, T: Send> Future for ReceivingInPlace<'a, T> {
    type Output = Option<Received<'a, T>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let channel = this.channel.expect("not polled after completion");
        let received = match fast_path(channel, End::Receiver, context, &mut this.waited) {
            // SAFETY: there is a message, and the receiver is borrowed by this future, which makes
            // one guard only.
            FastPath::Go(_) => Some(unsafe { Received::lend(channel) }),
            FastPath::Wait => return Poll::Pending,
            FastPath::Over => None,
        };
        this.channel = None;
        this.waited = false;
        Poll::Ready(received)
    }
}

impl<T: Send> Drop for ReceivingInPlace<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.waited
            && let Some(channel) = self.channel
        {
            abandoned(channel, End::Receiver);
        }
    }
}
