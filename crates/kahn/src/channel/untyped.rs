//! Ends of channels of whose messages no type is known: of a process that does again what it did in another
//! run, where its own code, which had the types, is not run.
//!
//! A message is made of its written form, in its slot; one that is received is dropped there. All else is
//! as for [`Sender`](super::Sender) and [`Receiver`](super::Receiver).

use super::closing;
use super::fast_path::{FastPath, fast_path, fast_path_to_send, publish};
use super::language::Worker;
use super::process::InNetwork;
use super::prune;
use super::raw::{ChannelRef, End, flag, kind};
use super::receiver::{PublishTaken, record_untyped};
use super::table::ChannelTable;
use super::weight::count_untyped_weight;
use kahn_engine::TaskRef;
use kahn_engine::sync::Ordering::Relaxed;
use kahn_report::BoxError;
use kahn_report::observe::Subject;
use kahn_report::ranks::Batch;
use std::future::poll_fn;
use std::ptr;
use std::task::Poll;

/// Drops what a process had that is not run, and of these ends their types alone; they are those of `by`.
///
/// What is dropped may be the user's, whose destructors do nothing with an end, as those of a process that is
/// being ended: it has no credit, and whichever operation comes to the slow path sees that another has its place.
pub(crate) fn drop_types(
    ports: impl Sized,
    ends: impl Iterator<Item = (ChannelRef, End)> + Clone,
    by: Option<(TaskRef, &Worker)>,
) {
    /// However `ports` are dropped.
    struct UntilDropped<I: Iterator<Item = (ChannelRef, End)> + Clone>(I);
    impl<I: Iterator<Item = (ChannelRef, End)> + Clone> UntilDropped<I> {
        fn set(&self, are_stood_in_for: bool) {
            self.0.clone().for_each(|(channel, end)| {
                channel.side(end).set_kind(kind::STOOD_IN_FOR, are_stood_in_for);
            });
        }
    }
    impl<I: Iterator<Item = (ChannelRef, End)> + Clone> Drop for UntilDropped<I> {
        fn drop(&mut self) {
            self.set(false);
        }
    }
    if let Some((task, worker)) = by {
        let own = ends.clone().filter(|(channel, end)| channel.owner(*end) == Some(task));
        own.for_each(|(channel, end)| channel.settle(end, worker));
    }
    let until = UntilDropped(ends);
    until.set(true);
    drop(ports);
}

/// Has `drop` drop a process that has not run, and of its ends, which are these, their types alone: they belong
/// to no process then. Nothing runs.
pub(crate) fn drop_without(task: TaskRef, ends: &[(ChannelRef, End)], drop: impl FnOnce()) {
    for &(channel, end) in ends {
        channel.side(end).set_kind(kind::STOOD_IN_FOR, true);
        // Relaxed: nothing runs.
        channel.side(end).owner.store(ptr::null_mut(), Relaxed);
        task.lose_end(end == End::Sender);
    }
    drop();
    for &(channel, end) in ends {
        channel.side(end).set_kind(kind::STOOD_IN_FOR, false);
    }
}

/// Messages are received and written together until they have so many bytes.
const AT_ONCE: usize = 1 << 16;

/// One end of a channel. Dropping it gives the end up.
#[derive(Debug)]
pub(crate) struct UntypedEnd {
    channel: ChannelRef,
    end: End,
}

// SAFETY: an end may move to another thread with its process. Messages are `Send`, as those of every channel.
unsafe impl Send for UntypedEnd {}
// SAFETY: `&UntypedEnd` allows nothing but to ask for the name.
unsafe impl Sync for UntypedEnd {}

impl UntypedEnd {
    /// Takes the place of a sender or receiver.
    ///
    /// # Safety
    /// That is never dropped or used any more.
    pub(crate) unsafe fn instead_of(channel: ChannelRef, end: End) -> Self {
        Self { channel, end }
    }

    /// What observers are told that the channel is.
    pub(crate) fn channel(&self) -> Subject<'_> {
        self.channel.subject()
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// Which message is the next here: the first is number 0.
    pub(crate) fn number(&self) -> u64 {
        self.channel.before(self.channel.side(self.end).local.get())
    }

    /// Sends the message of which this is the written form; the end is a sender.
    ///
    /// It is not dropped while it waits, but with its process.
    pub(crate) async fn send_written(&mut self, bytes: &[u8]) -> Result<(), BoxError> {
        debug_assert_eq!(self.end, End::Sender);
        let (channel, mut waited) = (self.channel, false);
        poll_fn(move |context| match fast_path_to_send(channel, context, &mut waited) {
            // SAFETY: there is credit, and this is the sender.
            FastPath::Go(worker) => Poll::Ready(unsafe { put_written(channel, bytes, worker) }),
            FastPath::Wait => Poll::Pending,
            FastPath::Over => {
                channel.discards_written(Some(bytes));
                Poll::Ready(Ok(()))
            }
        })
        .await
    }

    /// Receives a message and drops it, `false` if nothing more comes; the end is a receiver.
    pub(crate) async fn skip(&mut self) -> bool {
        debug_assert_eq!(self.end, End::Receiver);
        let (channel, mut waited) = (self.channel, false);
        poll_fn(move |context| match fast_path(channel, End::Receiver, context, &mut waited) {
            FastPath::Go(worker) => {
                // SAFETY: there is a message, and this is the receiver.
                unsafe { drop_next(channel, worker) };
                Poll::Ready(true)
            }
            FastPath::Wait => Poll::Pending,
            FastPath::Over => Poll::Ready(false),
        })
        .await
    }

    /// Sends the messages whose written forms these are, as many as there is room for but one at least, and returns
    /// how many; there is one. The end is a sender.
    ///
    /// It is not dropped while it waits, but with its process.
    pub(crate) async fn send_each_written(&mut self, from: &mut Batch) -> Result<u64, BoxError> {
        debug_assert_eq!(self.end, End::Sender);
        let (channel, before, mut waited) = (self.channel, from.len(), false);
        poll_fn(move |context| {
            match fast_path_to_send(channel, context, &mut waited) {
                FastPath::Go(worker) => {
                    while channel.sender.credit.get() > 0
                        && let Some(bytes) = from.pop()
                    {
                        // SAFETY: there is credit, and this is the sender.
                        if let Err(error) = unsafe { put_written(channel, bytes, worker) } {
                            return Poll::Ready(Err(error));
                        }
                    }
                }
                FastPath::Wait => return Poll::Pending,
                FastPath::Over => {
                    while let Some(bytes) = from.pop() {
                        channel.discards_written(Some(bytes));
                    }
                }
            }
            Poll::Ready(Ok(before - from.len()))
        })
        .await
    }

    /// Receives as many messages as there are, one at least and `most` at most, and puts them into `into`; `None` if
    /// nothing more comes, `Some(false)` if the last of them cannot be written. The end is a receiver.
    ///
    /// It waits for the first alone: those that were received are known to the caller when it waits for more.
    pub(crate) async fn recv_written(&mut self, into: &mut Batch, most: u64) -> Option<bool> {
        debug_assert_eq!(self.end, End::Receiver);
        let (channel, mut waited) = (self.channel, false);
        poll_fn(move |context| match fast_path(channel, End::Receiver, context, &mut waited) {
            FastPath::Go(worker) => {
                let mut left = most.max(1);
                while left > 0 && channel.receiver.credit.get() > 0 && into.bytes().len() < AT_ONCE
                {
                    // SAFETY: there is a message, and this is the receiver.
                    let is_written = unsafe { channel.write_next(into) };
                    // SAFETY: as above.
                    unsafe { drop_next(channel, worker) };
                    if !is_written {
                        return Poll::Ready(Some(false));
                    }
                    left -= 1;
                }
                Poll::Ready(Some(true))
            }
            FastPath::Wait => Poll::Pending,
            FastPath::Over => Poll::Ready(None),
        })
        .await
    }

    /// Whether what receives here is dead; the end is a sender.
    pub(crate) fn is_dead_end(&self) -> bool {
        self.channel.has_flag(flag::DEAD_END)
    }

    /// Whether the process that had the sender has failed; asked when nothing more comes.
    pub(crate) fn has_failed(&self) -> bool {
        self.channel.has_flag(flag::FAILED)
    }

    /// Whether no root of the network is left on any rank.
    pub(crate) fn is_unobserved(&self) -> bool {
        self.channel.owner(self.end).is_some_and(prune::are_roots_gone)
    }

    /// Waits for room and sends nothing; the end is a sender.
    pub(crate) async fn wait_for_room(&mut self) {
        let (channel, mut waited) = (self.channel, false);
        poll_fn(move |context| match fast_path_to_send(channel, context, &mut waited) {
            FastPath::Wait => Poll::Pending,
            FastPath::Go(_) | FastPath::Over => Poll::Ready(()),
        })
        .await;
    }
}

impl Drop for UntypedEnd {
    fn drop(&mut self) {
        closing::dropped(self.channel, self.end);
    }
}

/// Makes a message in the next slot.
///
/// # Safety
/// There is credit, and the caller holds the sender's process.
unsafe fn put_written(
    channel: ChannelRef,
    bytes: &[u8],
    worker: Option<&Worker>,
) -> Result<(), BoxError> {
    let side = &channel.sender;
    let wire = side.is_kind(kind::WIRED).then(|| channel.line(End::Sender).wire.get()).flatten();
    let wire = wire.ok_or("its messages have no written form")?;
    let slot = channel.next_slot(End::Sender);
    // SAFETY: the channel was made for messages of this type, and the receiver has left the slot. If it
    // fails or panics, the slot is the next still, and empty.
    unsafe { wire.decode_into(bytes, slot) }?;
    // SAFETY: as above, and full now.
    unsafe { count_untyped_weight(channel, End::Sender, slot.cast_const().cast()) };
    side.local.set(side.local.get() + 1);
    let credit = side.credit.get() - 1;
    side.credit.set(credit);
    if credit == 0 {
        publish(channel, End::Sender, worker);
    }
    Ok(())
}

/// Drops the next message.
///
/// # Safety
/// There is one, and the caller holds the receiver's process.
unsafe fn drop_next(channel: ChannelRef, worker: Option<&Worker>) {
    let side = &channel.receiver;
    let (number, slot) = (side.local.get(), channel.next_slot(End::Receiver));
    // SAFETY: the sender has published the slot, and it is ours until we publish.
    unsafe { count_untyped_weight(channel, End::Receiver, slot.cast_const().cast()) };
    side.local.set(number + 1);
    let credit = side.credit.get() - 1;
    side.credit.set(credit);
    // When the slot is empty, also if the function that digests panics. (Not `then_some`: the value is dropped,
    // which publishes, if it is not wanted.)
    let _publish = (credit == 0).then(|| PublishTaken { channel, worker });
    if side.is_recorded() {
        // SAFETY: full, as above.
        unsafe { record_untyped(channel, number, slot.cast_const().cast()) };
    }
    // SAFETY: full, as above, and not looked at any more.
    unsafe { (channel.types.get().drop_message)(slot) };
}

/// Waits for a message that never comes: no process has the sender. So there is no ring of waits, and the
/// process may be pruned; if it is not, the verdict comes when nothing else can go on.
pub(crate) async fn wait_for_good(channels: &ChannelTable) {
    let Some((_, task)) = Worker::running() else { return };
    let channel = channels.without_sender("the end of what is known", task);
    task.gain_end(false);
    // SAFETY: there are no typed ends.
    let _sender = unsafe { UntypedEnd::instead_of(channel, End::Sender) };
    // SAFETY: as above.
    let mut receiver = unsafe { UntypedEnd::instead_of(channel, End::Receiver) };
    receiver.skip().await;
}

impl ChannelRef {
    /// Whether the process is made that will have this end, and its types are dropped.
    #[inline]
    pub(super) fn is_stood_in_for(self, end: End) -> bool {
        self.side(end).is_kind(kind::STOOD_IN_FOR)
    }

    /// Puts the written form of the next message into a batch; the message stays in the channel. `false` if it cannot be
    /// written.
    ///
    /// # Safety
    /// There is one, and the caller holds the receiver's process.
    unsafe fn write_next(self, into: &mut Batch) -> bool {
        let wire = self.is_wired().then(|| self.line(End::Sender).wire.get()).flatten();
        let Some(wire) = wire else { return false };
        let slot = self.next_slot(End::Receiver);
        // SAFETY: the channel was made for messages of this type, and the sender has published the slot.
        into.push_with(|bytes| unsafe { wire.write(slot, bytes) })
    }

    /// The slot of the next message of an end whose row has it: there is credit.
    fn next_slot(self, end: End) -> *mut u8 {
        let side = self.side(end);
        #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
        let index = (side.local.get() as u32 & side.mask.get()) as usize;
        side.row.get().wrapping_add(index * self.types.get().stride)
    }
}
