//! Messages that are given to a receiver that sleeps: they take no slot, and need no publication of their own
//! when they are taken.
//!
//! A receiver of a small channel (`slow_path`) that sleeps has taken all, so a sender that finds it asleep
//! acts for both: it puts the message into the receiver's header, and publishes it as sent *and* as taken. It
//! is as if the receiver had run at once and taken it, which leaves the room of the channel to the next message.
//!
//! | `waits_at` of the receiver | means | changed by |
//! |---|---|---|
//! | its end | it waits for a message in a slot | |
//! | its end + `TAKES` | it waits for a message in a slot, or in its header | the holder, when it begins to wait |
//! | its end + `TAKES` + `SERVED` | the message is in its header | the sender, which has taken PARKED out of the word and holds it until it makes it ready |
//! | its end + `SERVED` | the message is in its slot (`slow_path`) | a sender that published otherwise |
//!
//! *Who may give.* A sender that has seen that its receiver sleeps (`slow_path::has_room_at_sleeper`), for none
//! but the sender may take PARKED out then: from that look on the receiver's header, its cells and its word are the
//! sender's. At that word nothing is parked, for what would wait there is the sender's process, which runs. So
//! both words are stored plainly: the sender's first, so that no one sees more taken than sent.
//!
//! *What may be given.* What fits into a word and owns nothing: if the receiver is ended before it
//! looks, nothing is lost but bytes. It is counted as received then, as if it had been ended a moment later.
//!
//! *What is touched.* Of the channel the lines of its two sides alone. So which worker gave it, for the count of
//! messages that change workers, stands with the receiver and not where other publications note it, in one byte.
//! Where there are more workers than a byte can tell apart, nothing is given.
//!
//! *Where it lies.* In the word that says where the process sent last, which says nothing while the process
//! waits to receive (`InNetwork::note_sent`).

use super::language::{self, Worker, own};
use super::process::InNetwork;
use super::raw::{ChannelRef, End, Side};
use super::slow_path::{SlowPath, attend_to_itself};
use kahn_engine::sync::Ordering::Relaxed;
use kahn_engine::task::TaskRef;

impl ChannelRef {
    /// Sender: the receiver, if it was seen to sleep here and takes what it is given.
    #[inline(always)]
    pub(super) fn receiver_that_takes(self) -> Option<TaskRef> {
        let receiver = self.owner(End::Receiver)?;
        // Relaxed: the look at the word acquired it, by which the receiver was seen to sleep.
        (receiver.state().waits_at.load(Relaxed) == self.taking_at()).then_some(receiver)
    }

    /// Publishes a message that its receiver was [given](InNetwork::give), which was seen to sleep here, as sent
    /// and as taken, and makes the receiver ready.
    #[inline(never)]
    pub(super) fn publish_given(self, receiver: TaskRef, worker: &Worker) {
        let Side { local, given_by, .. } = &self.receiver;
        let (kind, count) = (self.sender.kind(), self.sender.local.get() + 1);
        debug_assert_eq!(local.get() + 1, count, "it has taken all");
        self.sender.local.set(count);
        local.set(count);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "there are no more than `MOST_GIVING`"
        )]
        given_by.set(worker.number() as u8);
        self.word_of_kind(End::Sender, kind).publish_to_sleeper(count);
        self.word_of_kind(End::Receiver, kind).publish_for_sleeper(count);
        // Relaxed: a thread that looks meanwhile finds that no process is parked there.
        receiver.state().waits_at.store(self.given_at(), Relaxed);
        // SAFETY: PARKED is out of the word where it waits.
        unsafe { language::wake_given(worker, receiver) };
    }
}

/// A receive that has waited takes the message that its process was given; if that must not go on, how the
/// operation does.
///
/// # Safety
/// Messages of the channel are of this type, and the worker holds the process, which was given one.
#[inline(always)]
pub(super) unsafe fn take<T>(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
) -> Result<T, SlowPath> {
    // SAFETY: said by the caller.
    let message = unsafe { task.take_given() };
    // Marks were looked at when the poll began, or are by the next operation: what waited has nothing to publish.
    if task.notes() != 0
        && let Some(ends) = attend_first(task, worker)
    {
        return Err(ends);
    }
    let Side { local, given_by, .. } = &channel.receiver;
    if worker.number() != u32::from(given_by.get()) {
        channel.count_remote(local.get() - 1, local.get(), worker);
    }
    Ok(message)
}

/// A process that was given a message attends to itself first.
#[cold]
#[inline(never)]
fn attend_first(task: TaskRef, worker: &Worker) -> Option<SlowPath> {
    if task.notes() & own::ENDING != 0 {
        return Some(SlowPath::Over);
    }
    attend_to_itself(task, worker)
}
