//! The receiving end.

use super::closing;
use super::fast_path::{
    FastPath, abandoned, fast_path, fast_path_to_receive_one, owner_of, publish, wait_in_slow_path,
};
use super::given::take as take_given;
use super::language::Worker;
use super::raw::{ChannelRef, End};
use super::ring::{can_be_given, slot, take, take_many};
use super::slow_path::SlowPath;
use super::weight::count_weight;
use kahn_report::Name;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// From so many bytes on, it is worth a branch to spare a message a copy.
const LARGE: usize = 128;

/// Whether messages of a type are received by a function of its own, which returns them in memory.
///
/// Where that stands in the process, and a message itself tells whether it is one, the compiler takes it apart to look
/// at it. What takes it as a whole then has to wait until its parts are in the cache.
const fn is_received_apart<T>() -> bool {
    size_of::<T>() > 2 * size_of::<usize>() && size_of::<Poll<Option<T>>>() == size_of::<T>()
}

/// The receiving end of a channel.
///
/// It belongs to the process that got it when that was created. Dropping it is invisible to the
/// sender, whose messages are discarded from then on; a process that cannot be observed any more is
/// ended, so infinite sources end when no process reads.
///
/// There is no `try_recv` and no `len`: a process that could ask whether a message is there would
/// compute something that depends on time.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 1..=4_u64);
/// let (squares_out, squares) = network.channel("squares");
/// network.process("square", (numbers, squares_out), async |(mut numbers, mut squares)| {
///     while let Some(n) = numbers.recv().await {
///         squares.send(n * n).await;
///     }
/// });
/// let all = network.collect("all", squares);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![1, 4, 9, 16]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct Receiver<T> {
    channel: ChannelRef,
    messages: PhantomData<fn() -> T>,
}

// SAFETY: an end may move to another thread with its process; messages move with it.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: `&Receiver` allows nothing but to ask for the name.
unsafe impl<T: Send> Sync for Receiver<T> {}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(self.channel.name()).finish()
    }
}

impl<T: Send> Receiver<T> {
    pub(crate) fn new(channel: ChannelRef) -> Self {
        Self { channel, messages: PhantomData }
    }

    pub(crate) fn channel(&self) -> ChannelRef {
        self.channel
    }

    /// Returns the channel's name.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..3_u32);
    /// assert_eq!(numbers.name(), "numbers");
    /// ```
    pub fn name(&self) -> &Name {
        self.channel.name()
    }

    /// Receives the next message, waiting until there is one; `None` once the sender has ended and
    /// all is read, then and ever after.
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
    /// let words = network.source("words", ["hello", "world"]);
    /// network.process("listen", words, async |mut words| {
    ///     assert_eq!(words.recv().await, Some("hello"));
    ///     assert_eq!(words.recv().await, Some("world"));
    ///     assert_eq!(words.recv().await, None);
    ///     assert_eq!(words.recv().await, None);
    /// });
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    #[inline]
    pub fn recv(&mut self) -> impl Future<Output = Option<T>> + Send {
        Receiving { receiver: self, waited: false }
    }

    /// Receives exactly `count` messages and appends them to `into`; fewer only at the end of the
    /// stream. Returns how many.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=5_u32);
    /// let (pairs_out, pairs) = network.channel("pairs");
    /// network.process("pair", (numbers, pairs_out), async |(mut numbers, mut pairs)| {
    ///     let mut batch = Vec::new();
    ///     while numbers.recv_batch(&mut batch, 2).await > 0 {
    ///         pairs.send(std::mem::take(&mut batch)).await;
    ///     }
    /// });
    /// let all = network.collect("all", pairs);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![vec![1, 2], vec![3, 4], vec![5]]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub async fn recv_batch(&mut self, into: &mut Vec<T>, count: usize) -> usize {
        ReceivingBatch { receiver: self, into, wanted: count, done: 0, waited: false }.await
    }

    /// Calls `f` with each message until the end of the stream. Returns how many there were.
    ///
    /// Faster than a loop over [`recv`](Self::recv): messages that are there are taken without
    /// leaving the closure's loop.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=10_u64);
    /// let (out, sums) = network.channel("sums");
    /// network.process("sum", (numbers, out), async |(mut numbers, mut out)| {
    ///     let mut sum = 0;
    ///     let count = numbers.for_each(|n| sum += n).await;
    ///     out.send((count, sum)).await;
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![(10, 55)]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub async fn for_each(&mut self, f: impl FnMut(T)) -> usize {
        self.receive_each(usize::MAX, f).await
    }

    fn receive_each<F: FnMut(T)>(&mut self, count: usize, f: F) -> ReceivingEach<'_, T, F> {
        ReceivingEach { receiver: self, f, wanted: count, done: 0, waited: false }
    }

    /// Receives the next message in a blocking process, holding its thread until there is one.
    ///
    /// In an async process this is [misuse](crate::Misuse): await [`recv`](Self::recv) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut printed = Vec::new();
    /// let printing = &mut printed;
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["one", "two"]);
    /// network.blocking("print", lines, move |mut lines| {
    ///     while let Some(line) = lines.recv_blocking() {
    ///         printing.push(line);
    ///     }
    /// });
    /// network.run()?;
    /// assert_eq!(printed, ["one", "two"]);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub fn recv_blocking(&mut self) -> Option<T> {
        wait_in_slow_path(self.channel, End::Receiver).map(|worker| self.read(Some(worker)))
    }

    /// Makes everything sent and received so far by this process visible to others now.
    ///
    /// See [`Sender::flush`](crate::Sender::flush).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, frames) = network.channel_with(Channel::named("frames").capacity(2));
    /// network.process("film", out, async |mut out| out.send_all(0..6_u32).await);
    /// network.process("show", frames, async |mut frames| {
    ///     while let Some(_frame) = frames.recv().await {
    ///         // There is room for the next frame while this one is shown.
    ///         frames.flush().await;
    ///     }
    /// });
    /// let report = network.run()?;
    /// assert_eq!(report.messages(), 6);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub async fn flush(&mut self) {
        closing::flush(owner_of(self.channel, End::Receiver)).await;
    }

    /// Takes the message that there is credit to take.
    #[inline]
    pub(super) fn read(&mut self, worker: Option<&Worker>) -> T {
        let (number, message) = take_next(self.channel);
        let side = &self.channel.receiver;
        let credit = side.credit.get() - 1;
        side.credit.set(credit);
        if credit == 0 {
            if side.is_recorded() {
                record_taken(self.channel, number, &message, worker);
            }
            publish(self.channel, End::Receiver, worker);
        }
        message
    }

    /// The same where more credit is left, so that nothing is published. Taking the message is the
    /// last that is done, so it is copied straight to where the caller wants it.
    #[inline(always)]
    fn read_quietly(&mut self) -> T {
        let side = &self.channel.receiver;
        let number = side.local.get();
        weigh::<T>(self.channel, number);
        side.local.set(number + 1);
        side.credit.set(side.credit.get() - 1);
        // SAFETY: as in `read`.
        unsafe { take::<T>(side.row.get(), side.mask.get(), number) }
    }

    /// Takes as many messages as there is credit to take, `count` at most, and says how many.
    fn read_many(&mut self, into: &mut Vec<T>, count: usize, worker: Option<&Worker>) -> usize {
        let side = &self.channel.receiver;
        let credit = side.credit.get();
        let taken = count.min(credit as usize);
        if taken == 1 {
            // The only case in which messages are recorded.
            into.push(self.read(worker));
            return 1;
        }
        into.reserve(taken);
        let number = side.local.get();
        (number..number + taken as u64).for_each(|number| weigh::<T>(self.channel, number));
        let end = into.spare_capacity_mut().as_mut_ptr().cast::<T>();
        // SAFETY: there are so many messages: the slots were made for messages of this type, the
        // sender has published the slots, they are ours until we publish, and `into` has room.
        unsafe { take_many(side.row.get(), side.mask.get(), number, end, taken) };
        // SAFETY: filled by the line above.
        unsafe { into.set_len(into.len() + taken) };
        side.local.set(number + taken as u64);
        #[expect(clippy::cast_possible_truncation, reason = "not more than the credit")]
        let credit = credit - taken as u32;
        side.credit.set(credit);
        if credit == 0 {
            publish(self.channel, End::Receiver, worker);
        }
        taken
    }

    /// Receives under a `waited` flag that the caller keeps; for adapters.
    #[inline(always)]
    pub(super) fn poll_recv(
        &mut self,
        context: &Context<'_>,
        waited: &mut bool,
    ) -> Poll<Option<T>> {
        let channel = self.channel;
        let takes = const { can_be_given::<T>() };
        match fast_path_to_receive_one(channel, takes, context, waited) {
            // SAFETY: the channel's messages are of this type; the rest is said by `FastPath::Given`.
            FastPath::Given((worker, task)) => match unsafe { take_given(channel, worker, task) } {
                Ok(message) => {
                    *waited = false;
                    Poll::Ready(Some(message))
                }
                Err(SlowPath::Wait) => Poll::Pending,
                Err(SlowPath::Go | SlowPath::Over) => {
                    *waited = false;
                    Poll::Ready(None)
                }
            },
            FastPath::One(worker) => {
                let message = read_one(channel, worker);
                *waited = false;
                Poll::Ready(Some(message))
            }
            FastPath::Go(worker) => {
                if size_of::<T>() >= LARGE && self.channel.receiver.credit.get() > 1 {
                    return Poll::Ready(Some(self.read_quietly()));
                }
                let message = self.read(worker);
                // It is so already; said last, it spares the compiler the look when the future is dropped.
                *waited = false;
                Poll::Ready(Some(message))
            }
            FastPath::Wait => Poll::Pending,
            FastPath::Over => Poll::Ready(None),
        }
    }
}

/// Takes the message that the receiver of a channel of this type was served with.
#[inline(always)]
fn read_one<T: Send>(channel: ChannelRef, worker: &Worker) -> T {
    debug_assert!(!channel.receiver.is_recorded(), "what is recorded is not served");
    let (_, message) = take_next(channel);
    channel.publish(End::Receiver, worker);
    message
}

/// Takes the next message of a channel of this type, and gives its number.
#[inline(always)]
fn take_next<T: Send>(channel: ChannelRef) -> (u64, T) {
    let side = &channel.receiver;
    let number = side.local.get();
    weigh::<T>(channel, number);
    // SAFETY: there is a message: the slots were made for messages of this type, the sender has
    // published the slot, and it is ours until we publish.
    let message = unsafe { take::<T>(side.row.get(), side.mask.get(), number) };
    side.local.set(number + 1);
    (number, message)
}

/// Counts what a message weighs that there is credit to take. No code if that is nothing.
#[inline(always)]
fn weigh<T: Send>(channel: ChannelRef, number: u64) {
    if const { needs_drop::<T>() } {
        let side = &channel.receiver;
        // SAFETY: as in `take_next`: the message is there.
        let slot = unsafe { slot::<T>(side.row.get(), side.mask.get(), number) };
        count_weight(channel, End::Receiver, slot.cast::<T>());
    }
}

/// Publishes that a message was taken, when it is dropped.
pub(super) struct PublishTaken<'a> {
    pub(super) channel: ChannelRef,
    pub(super) worker: Option<&'a Worker>,
}

impl Drop for PublishTaken<'_> {
    fn drop(&mut self) {
        publish(self.channel, End::Receiver, self.worker);
    }
}

/// Records that the receiver has taken this message.
///
/// The function that digests may be the user's, and panic: the message is gone then. Not inlined,
/// for a receive that is not recorded would be too large to be so.
#[cold]
#[inline(never)]
fn record_taken<T>(channel: ChannelRef, number: u64, message: &T, worker: Option<&Worker>) {
    let unwinding = PublishTaken { channel, worker };
    record(channel, number, message);
    mem::forget(unwinding);
}

/// Records that the receiver gets this message, which was sent on its channel, unless it got it
/// before: a guard may be forgotten.
#[cold]
pub(super) fn record<T>(channel: ChannelRef, number: u64, message: &T) {
    // SAFETY: the channel's messages are of this type.
    unsafe { record_untyped(channel, number, ptr::from_ref(message).cast()) };
}

/// [`record`] of a message whose type is not known here.
///
/// # Safety
/// `message` points to one of the channel's type.
pub(super) unsafe fn record_untyped(channel: ChannelRef, number: u64, message: *const ()) {
    let Some(history) = channel.history() else { return };
    // SAFETY: the history is the receiver's while it is open.
    if let Some(history) = unsafe { &mut *history.get() } {
        // SAFETY: the history was made for messages of this channel.
        unsafe { history.add(channel.before(number), message) };
    }
}

impl<T> Receiver<T> {
    /// The channel, whose end its caller drops.
    pub(super) fn into_channel(self) -> ChannelRef {
        mem::ManuallyDrop::new(self).channel
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        closing::dropped(self.channel, End::Receiver);
    }
}

/// The future of [`Receiver::recv`].
struct Receiving<'a, T: Send> {
    receiver: &'a mut Receiver<T>,
    waited: bool,
}

impl<T: Send> Future for Receiving<'_, T> {
    type Output = Option<T>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        if const { is_received_apart::<T>() } {
            this.poll_apart(context)
        } else {
            this.receiver.poll_recv(context, &mut this.waited)
        }
    }
}

impl<T: Send> Receiving<'_, T> {
    /// As a function of its own: see [`is_received_apart`].
    #[inline(never)]
    fn poll_apart(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        self.receiver.poll_recv(context, &mut self.waited)
    }
}

impl<T: Send> Drop for Receiving<'_, T> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.receiver.channel, End::Receiver);
        }
    }
}

/// Receives messages and appends them to a vector.
struct ReceivingBatch<'a, T: Send> {
    receiver: &'a mut Receiver<T>,
    into: &'a mut Vec<T>,
    wanted: usize,
    done: usize,
    waited: bool,
}

impl<T: Send> Future for ReceivingBatch<'_, T> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        let this = self.get_mut();
        while this.done < this.wanted {
            match fast_path(this.receiver.channel, End::Receiver, context, &mut this.waited) {
                FastPath::Go(worker) => {
                    let wanted = this.wanted - this.done;
                    this.done += this.receiver.read_many(this.into, wanted, worker);
                }
                FastPath::Wait => return Poll::Pending,
                FastPath::Over => break,
            }
        }
        Poll::Ready(this.done)
    }
}

impl<T: Send> Drop for ReceivingBatch<'_, T> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.receiver.channel, End::Receiver);
        }
    }
}

/// Receives messages and hands each to a closure.
struct ReceivingEach<'a, T: Send, F> {
    receiver: &'a mut Receiver<T>,
    f: F,
    wanted: usize,
    done: usize,
    waited: bool,
}

// The closure is called, never pinned.
impl<T: Send, F> Unpin for ReceivingEach<'_, T, F> {}

impl<T: Send, F: FnMut(T)> Future for ReceivingEach<'_, T, F> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        let this = self.get_mut();
        while this.done < this.wanted {
            match fast_path(this.receiver.channel, End::Receiver, context, &mut this.waited) {
                FastPath::Go(worker) => {
                    let credit = this.receiver.channel.receiver.credit.get() as usize;
                    for _ in 0..credit.min(this.wanted - this.done) {
                        if this.receiver.channel.receiver.credit.get() == 0 {
                            break;
                        }
                        let message = this.receiver.read(worker);
                        this.done += 1;
                        (this.f)(message);
                    }
                }
                FastPath::Wait => return Poll::Pending,
                FastPath::Over => break,
            }
        }
        Poll::Ready(this.done)
    }
}

impl<T: Send, F> Drop for ReceivingEach<'_, T, F> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.receiver.channel, End::Receiver);
        }
    }
}
