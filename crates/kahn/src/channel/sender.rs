//! The sending end.

use super::closing;
use super::language::Kahn;
use super::language::{Worker, own};
use super::process::InNetwork;
use super::raw::{ChannelRef, End};
use super::ring::{put, put_many};
use super::sending::{Sending, SendingAll, SendingBatch};
use super::slow_path::{SlowPath, blocks, report, slow_path, waiting_channel};
use super::weight::count_weight;
use kahn_engine::Request;
use kahn_engine::sync::{Access, Ordering::*, thread};
use kahn_engine::task::TaskRef;
use kahn_engine::task::foreign::{is_base_waker, polled_task};
use kahn_engine::{Scheduler, WorkerCore};
use kahn_report::{Ending, MisuseKind, Name};
use std::fmt;
use std::marker::PhantomData;
use std::task::{Context, Waker};
use std::{mem, ptr, vec};

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
        let _ = channel.word(End::Sender).publish(channel.sender.local.get(), Access::Shared);
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
        Sending { sender: self, message: Some(message), waited: false }
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
        let number = side.local.get();
        count_weight(self.channel, End::Sender, &raw const message);
        // SAFETY: there is credit: the slots were made for messages of this type, and the receiver
        // published that it has left the slot.
        unsafe { put(side.row.get(), side.mask.get(), number, message) };
        side.local.set(number + 1);
        let credit = side.credit.get() - 1;
        side.credit.set(credit);
        if credit == 0 {
            publish(self.channel, End::Sender, worker);
        }
    }
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

/// Returns the process that owns an end.
pub(super) fn owner_of(channel: ChannelRef, end: End) -> TaskRef {
    channel.owner(end).unwrap_or_else(|| {
        panic!(
            "an end of channel `{}` is used before it was given to a process: \
             name it among the ports of the process that uses it",
            channel.name()
        )
    })
}

/// What an operation that is polled may do.
pub(super) enum FastPath {
    /// There is credit for one operation at least; the worker, if it was needed to find that out.
    Go(Option<&'static Worker>),
    /// Return `Pending`.
    Wait,
    /// The other end is gone, or this process is.
    Over,
}

/// The way every operation that is polled begins: a few instructions, if there is credit. Of one that
/// sends there and then, see [`fast_path_to_send`].
#[inline(always)]
pub(super) fn fast_path(
    channel: ChannelRef,
    end: End,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath {
    fast_path_and_note(channel, end, ptr::null(), context, waited)
}

/// The way operations begin that send when they may go on.
#[inline(always)]
pub(super) fn fast_path_to_send(
    channel: ChannelRef,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath {
    fast_path_and_note(channel, End::Sender, channel.as_ptr().cast(), context, waited)
}

/// A message is sent that an operation has got credit for.
pub(super) fn note_sent(channel: ChannelRef) {
    owner_of(channel, End::Sender).note_sent(channel.as_ptr().cast());
}

/// If the operation may go on, `sent` is noted as the channel it sends to. `waited` is set while the operation
/// waits, and then its end has no credit: so where there is credit it is not set.
///
/// A waker that carries the address of a process exists only while that process is polled
/// (`kahn_engine::task::foreign`), so it proves that the caller acts for the owner.
#[inline(always)]
fn fast_path_and_note(
    channel: ChannelRef,
    end: End,
    sent: *const (),
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath {
    let side = channel.side(end);
    let owner = side.owner.load(Relaxed);
    if context.waker().data() == owner.cast_const().cast() {
        if side.credit.get() > 0 {
            // SAFETY: where there is credit there is an owner, whose memory outlives its channels.
            let task = unsafe { &*owner };
            if task.marks.load(Relaxed) == 0 {
                task.note_sent(sent);
                return FastPath::Go(None);
            }
        }
        if let Some(worker) = Worker::holding(owner) {
            // SAFETY: we hold the process, so it is alive.
            let task = unsafe { TaskRef::from_ptr_unchecked(owner) };
            return match slow_path(channel, end, worker, task, waited) {
                SlowPath::Go => {
                    *waited = false;
                    // The slow path has noted that an operation begins.
                    if end == End::Sender {
                        task.note_sent(sent);
                    }
                    FastPath::Go(Some(worker))
                }
                SlowPath::Wait => FastPath::Wait,
                SlowPath::Over => {
                    *waited = false;
                    FastPath::Over
                }
            };
        }
    }
    poll_elsewhere(channel, end, context);
    *waited = false;
    FastPath::Over
}

/// Publishes what an end has done whose credit is used up.
#[inline]
pub(super) fn publish(channel: ChannelRef, end: End, worker: Option<&Worker>) {
    let holding = || Worker::holding(channel.side(end).owner.load(Relaxed));
    match worker.or_else(holding) {
        Some(worker) => channel.publish(end, worker),
        None => used_elsewhere(channel, end),
    }
}

/// An end was used on another thread, while the poll of its process waits for that one.
#[cold]
fn used_elsewhere(channel: ChannelRef, end: End) {
    report(owner_of(channel, end), MisuseKind::NotYours { channel: channel.name().clone() });
}

/// Polled where it must not be: says so, and ends the process that did it. An executor that
/// the process runs inside itself would wait for ever otherwise. In a destructor of a process that
/// is being ended it does nothing.
#[cold]
fn poll_elsewhere(channel: ChannelRef, end: End, context: &Context<'_>) {
    if channel.is_stood_in_for(end) {
        return;
    }
    let owner = owner_of(channel, end);
    let name = channel.name().clone();
    assert!(
        !Scheduler::of(owner).is_building(),
        "an end of channel `{name}` is used before the network runs"
    );
    if Worker::holding(owner.as_ptr()).is_some() {
        if is_being_ended(owner) {
            return;
        }
        let kind = if blocks(owner) {
            MisuseKind::WrongForm { channel: name }
        } else if is_base_waker(context.waker(), owner.as_ptr().cast()) {
            MisuseKind::NotYours { channel: name }
        } else {
            MisuseKind::ForeignWaker { channel: name, waiting: waiting_channel(owner) }
        };
        report(owner, kind);
    } else {
        let user = user_of(Some(context.waker()));
        if user.is_some_and(is_being_ended) {
            return;
        }
        report(user.unwrap_or(owner), MisuseKind::NotYours { channel: name });
    }
    end_user(channel, owner);
}

/// A blocking operation: waits until it may go on. `None` if it has nothing to do: the other end is
/// gone, or this process is being ended.
pub(super) fn wait_in_slow_path<'a>(channel: ChannelRef, end: End) -> Option<&'a Worker> {
    let (worker, task) = blocking_holder(channel, end)?;
    let mut waited = false;
    loop {
        match slow_path(channel, end, worker, task, &mut waited) {
            SlowPath::Go => return Some(worker),
            SlowPath::Over => {
                worker.unwind_again();
                return None;
            }
            SlowPath::Wait => go_on(worker, task),
        }
    }
}

/// The worker and process of a blocking operation; `None` if that does nothing, for its caller is
/// being ended.
fn blocking_holder<'a>(channel: ChannelRef, end: End) -> Option<(&'a Worker, TaskRef)> {
    if channel.is_stood_in_for(end) {
        return None;
    }
    let owner = owner_of(channel, end);
    let held = Worker::holding(owner.as_ptr());
    if let Some(worker) = held
        && blocks(owner)
    {
        return Some((worker, owner));
    }
    let user = user_of(None).unwrap_or(owner);
    if !is_being_ended(user) {
        let name = channel.name().clone();
        let kind = match held {
            Some(_) => MisuseKind::WrongForm { channel: name },
            None => MisuseKind::NotYours { channel: name },
        };
        report(user, kind);
        end_user(channel, owner);
    }
    None
}

/// The process that runs on this thread, or is polled with this waker.
fn user_of(waker: Option<&Waker>) -> Option<TaskRef> {
    let polled = waker.and_then(polled_task);
    polled.or_else(WorkerCore::running_here)
}

/// Whether this thread holds a process that is being ended.
fn is_being_ended(task: TaskRef) -> bool {
    Worker::holding(task.as_ptr()).is_some() && task.notes() & own::ENDING != 0
}

/// Ends the process that used an end which it must not use; returns if it is being unwound already.
fn end_user(channel: ChannelRef, owner: TaskRef) {
    WorkerCore::with_current(|worker| match worker {
        Some(worker) if worker.current().is_some() => {
            worker.unwind(Ending::Stopped);
        }
        _ if thread::panicking() => {}
        _ => panic!(
            "an end of channel `{}` belongs to process `{}`",
            channel.name(),
            owner.info().name
        ),
    });
}

/// A blocking operation has been told to wait: does what it asked its worker for.
fn go_on(worker: &Worker, task: TaskRef) {
    match worker.asked() {
        // SAFETY: the running process, on its own thread, has asked for that.
        Request::Park => unsafe { worker.block(task) },
        Request::End => worker.unwind(worker.asked_ending()),
        Request::None | Request::Again | Request::Yield | Request::GiveWay => Kahn::flush(worker),
    }
}

/// An operation is dropped that has waited: misuse, unless its process is being ended.
pub(super) fn abandoned(channel: ChannelRef, end: End) {
    let Some(owner) = channel.owner(end) else { return };
    let held = Worker::holding(owner.as_ptr()).is_some();
    if held && owner.notes() & own::ENDING != 0 || !Scheduler::of(owner).is_running() {
        return;
    }
    report(owner, MisuseKind::Abandoned { channel: channel.name().clone() });
}
