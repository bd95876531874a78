//! Sending in place: a slot is reserved, and the message is made in it.
//!
//! The counterpart of `received`, whose account of slots, credit and threads holds here with the sender
//! for the receiver. A slot that is reserved is not published, for `local` does not count it; one
//! that is dropped or forgotten is the next to be reserved.
//!
//! *No program can ask whether there is room.* A reservation waits as a send does and is misuse if it is
//! given up; and it gives a slot to the process that asks, also when the receiver has left, before or after.
//! The message is then made as well, somewhere else, and dropped.

use super::Sender;
use super::fast_path::{FastPath, abandoned, fast_path, wait_in_slow_path};
use super::language::Worker;
use super::raw::{ChannelRef, End, flag};
use super::received::{advance, holder, next_slot};
use super::weight::count_weight;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

impl<T: Send> Sender<T> {
    /// Reserves the slot of the next message, waiting while the channel is full.
    ///
    /// For large messages: [`send`](Self::send) copies a message into the channel, here it can be
    /// [made there](Slot::send_with), or come
    /// [straight from another channel](crate::Received::forward). Nothing is sent until then: the
    /// process may do other operations with a slot in its hands, or drop it.
    ///
    /// If the receiver has left, there is a slot all the same, and what is sent by it is dropped.
    ///
    /// The operation must be completed once it has waited; see [`Misuse`](crate::Misuse).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, tables) = network.channel("tables");
    /// network.process("tabulate", out, async |mut tables| {
    ///     for factor in 1..=3 {
    ///         let slot = tables.reserve().await;
    ///         slot.send_with(|table| table.write(std::array::from_fn(|n| factor * n)));
    ///     }
    /// });
    /// let last = network.fold("last", tables, 0, |_, table: [usize; 512]| table[511]);
    /// network.run()?;
    /// assert_eq!(last.take(), Some(3 * 511));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    #[inline]
    pub fn reserve(&mut self) -> impl Future<Output = Slot<'_, T>> + Send {
        Reserving { channel: Some(self.channel()), waited: false, sender: PhantomData }
    }

    /// Reserves the slot of the next message in a blocking process, holding its thread while the
    /// channel is full.
    ///
    /// In an async process this is [misuse](crate::Misuse): await [`reserve`](Self::reserve) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::io::Read;
    ///
    /// let mut network = Network::new();
    /// let (out, blocks) = network.channel::<[u8; 1024]>("blocks");
    /// network.blocking("read", out, |mut out| {
    ///     let mut input = std::io::repeat(b'x').take(2048);
    ///     let mut result = Ok(());
    ///     for _ in 0..2 {
    ///         out.reserve_blocking().send_with(|block| {
    ///             let block = block.write([0; 1024]);
    ///             result = input.read_exact(block);
    ///             block
    ///         });
    ///     }
    ///     result
    /// });
    /// let count = network.fold("count", blocks, 0, |count, block| {
    ///     count + block.iter().filter(|&&byte| byte == b'x').count()
    /// });
    /// network.run()?;
    /// assert_eq!(count.take(), Some(2048));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if this end was never given to a process.
    pub fn reserve_blocking(&mut self) -> Slot<'_, T> {
        let channel = self.channel();
        match wait_in_slow_path(channel, End::Sender) {
            // SAFETY: there is credit, and the sender is borrowed.
            Some(_) => unsafe { Slot::reserve(channel) },
            None => Slot::nowhere(channel),
        }
    }
}

/// The place of the next message in a channel; made by [`Sender::reserve`].
///
/// Dropping it sends nothing.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (out, sums) = network.channel("sums");
/// let numbers = network.source("numbers", [3, 9, 4]);
/// network.process("sum", (numbers, out), async |(mut numbers, mut sums)| {
///     // Reserved before the sum is known.
///     let slot = sums.reserve().await;
///     let mut sum = 0;
///     while let Some(number) = numbers.recv().await {
///         sum += number;
///     }
///     slot.send(sum);
/// });
/// let all = network.collect("all", sums);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![16]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[must_use = "nothing is sent unless a message is given to it"]
pub struct Slot<'a, T> {
    /// `None`: no process receives any more.
    channel: Option<ChannelRef>,
    /// Where it would be if the reader had not left.
    left: Option<ChannelRef>,
    sender: PhantomData<&'a mut Sender<T>>,
}

impl<T> fmt::Debug for Slot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl<T> Slot<'_, T> {
    /// Reserves the slot that there is credit for.
    ///
    /// # Safety
    /// There is credit at the sender, which belongs to the process that this thread holds, has
    /// messages of this type, and is borrowed for the slot's lifetime.
    #[inline(always)]
    unsafe fn reserve(channel: ChannelRef) -> Self {
        let side = &channel.sender;
        side.credit.set(side.credit.get() - 1);
        channel.lend(flag::RESERVED);
        Self { channel: Some(channel), left: None, sender: PhantomData }
    }

    fn nowhere(channel: ChannelRef) -> Self {
        Self { channel: None, left: Some(channel), sender: PhantomData }
    }

    /// Sends a message.
    ///
    /// Outside the process that reserved the slot this is [misuse](crate::Misuse), and the message
    /// is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel("lines");
    /// network.process("write", out, async |mut out| {
    ///     let slot = out.reserve().await;
    ///     // The slot is waited for, and nothing is sent yet.
    ///     slot.send("a line");
    /// });
    /// let all = network.collect("all", lines);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["a line"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[inline]
    pub fn send(self, message: T) {
        if let Some(left) = self.left {
            return left.discards(&message);
        }
        if let Some((channel, worker)) = self.into_place() {
            // SAFETY: the slot that was reserved: the slots were made for messages of this type.
            let slot = unsafe { next_slot::<T>(&channel.sender) };
            // SAFETY: the receiver published that it has left the slot, and it is ours until we
            // publish.
            unsafe { slot.write(MaybeUninit::new(message)) };
            count_weight(channel, End::Sender, slot.cast::<T>().as_ptr());
            advance(channel, End::Sender, worker);
        }
    }

    /// Makes a message in its place and sends it.
    ///
    /// `make` fills the place that it is given and returns what it has made there, as
    /// [`MaybeUninit::write`] does. If it panics, nothing is sent.
    ///
    /// Outside the process that reserved the slot this is [misuse](crate::Misuse), and no message
    /// is made.
    ///
    /// # Examples
    ///
    /// A table that is never on a stack, filled element by element:
    ///
    /// ```
    /// use kahn::{Channel, Network};
    /// use std::mem::MaybeUninit;
    ///
    /// type Table = [u32; 1 << 16];
    ///
    /// fn fill(table: &mut MaybeUninit<Table>) -> &mut Table {
    ///     let first = table.as_mut_ptr().cast::<u32>();
    ///     for n in 0..1 << 16 {
    ///         // SAFETY: within the table.
    ///         unsafe { first.add(n as usize).write(n % 4) };
    ///     }
    ///     // SAFETY: every element is written.
    ///     unsafe { table.assume_init_mut() }
    /// }
    ///
    /// let mut network = Network::new();
    /// let (out, tables) = network.channel_with(Channel::named("tables").capacity(1));
    /// network.process("make", out, async |mut tables| tables.reserve().await.send_with(fill));
    /// let (out, sums) = network.channel("sums");
    /// network.process("sum", (tables, out), async |(mut tables, mut sums)| {
    ///     while let Some(table) = tables.recv_in_place().await {
    ///         sums.send(table.iter().filter(|&&n| n > 0).count()).await;
    ///     }
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![3 << 14]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `make` returns another message than the one in the place it was given; nothing is
    /// sent then.
    #[inline]
    pub fn send_with<F>(self, make: F)
    where
        F: FnOnce(&mut MaybeUninit<T>) -> &mut T,
    {
        if self.channel.is_none() || size_of::<T>() == 0 {
            return self.send_from_aside(make);
        }
        if let Some((channel, worker)) = self.into_place() {
            // SAFETY: as in `send`.
            let mut slot = unsafe { next_slot::<T>(&channel.sender) };
            // SAFETY: as in `send`; and nothing else looks at it.
            make_in(unsafe { slot.as_mut() }, make);
            count_weight(channel, End::Sender, slot.cast::<T>().as_ptr());
            advance(channel, End::Sender, worker);
        }
    }

    /// The same where the message is made elsewhere: there is no slot, or the message takes no room,
    /// so that the address of a slot would not tell it from others.
    #[cold]
    fn send_from_aside<F>(self, make: F)
    where
        F: FnOnce(&mut MaybeUninit<T>) -> &mut T,
    {
        let mut aside = Box::new(Aside { _before: 0, place: MaybeUninit::uninit(), _after: 0 });
        make_in(&mut aside.place, make);
        if self.channel.is_some() {
            // SAFETY: just made, and read once.
            self.send(unsafe { aside.place.assume_init_read() });
        } else {
            // SAFETY: just made.
            self.left
                .into_iter()
                .for_each(|left| left.discards(unsafe { aside.place.assume_init_ref() }));
            // SAFETY: as above; where it is, for it may be too large for a stack.
            unsafe { aside.place.assume_init_drop() };
        }
    }

    /// The channel to send on and the worker that does it, if there is a receiver.
    #[inline]
    pub(super) fn into_place<'w>(self) -> Option<(ChannelRef, &'w Worker)> {
        let channel = self.channel?;
        // A destructor of a process that is being ended sends nothing.
        let worker = holder(channel, End::Sender).filter(|worker| !worker.is_ending())?;
        Some((channel, worker))
    }
}

/// A place at an address that no other message can have, for it lies within a living block, and
/// neither where that begins nor where it ends.
#[repr(C)]
struct Aside<T> {
    _before: u8,
    place: MaybeUninit<T>,
    _after: u8,
}

/// Has a message made in a place. A reference that lives as long as any to the place is one to
/// something that lives for ever, or to the place; of the address only the latter can be.
#[inline]
fn make_in<T, F>(place: &mut MaybeUninit<T>, make: F)
where
    F: FnOnce(&mut MaybeUninit<T>) -> &mut T,
{
    let address = place.as_ptr();
    let made = ptr::from_ref(make(place));
    assert!(ptr::eq(made, address), "a message must be made in the place that is given for it");
}

/// The future of [`Sender::reserve`].
struct Reserving<'a, T: Send> {
    /// `None` once it is complete: there is one slot at most.
    channel: Option<ChannelRef>,
    waited: bool,
    sender: PhantomData<&'a mut Sender<T>>,
}

impl<'a, T: Send> Future for Reserving<'a, T> {
    type Output = Slot<'a, T>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Slot<'a, T>> {
        let this = self.get_mut();
        let channel = this.channel.expect("not polled after completion");
        let slot = match fast_path(channel, End::Sender, context, &mut this.waited) {
            // SAFETY: there is credit, and the sender is borrowed by this future, which makes one
            // slot only.
            FastPath::Go(_) => unsafe { Slot::reserve(channel) },
            FastPath::Wait => return Poll::Pending,
            FastPath::Over => Slot::nowhere(channel),
        };
        this.channel = None;
        this.waited = false;
        Poll::Ready(slot)
    }
}

impl<T: Send> Drop for Reserving<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.waited
            && let Some(channel) = self.channel
        {
            abandoned(channel, End::Sender);
        }
    }
}
