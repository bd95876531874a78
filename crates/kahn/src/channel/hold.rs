//! Holding a process before one of its receives, for good: how far its network comes without it.
//!
//! The process is marked before it runs (`own::HOLDS`), so that each of its operations takes the slow path and
//! is granted one message: its receives are counted one by one. At the one before which it is held it parks
//! at a channel that is made for it, whose sender no process has:
//!
//! | what looks | sees | so |
//! |---|---|---|
//! | the resolver | a wait for no process | no ring goes through it: no channel grows because it does not receive, and what waits for it is not dead |
//! | a process that sends to it | a full channel, in the end | it waits |
//! | what prunes, what stops the run | a wait | it is ended there, as in any wait |
//! | what gives the verdict | a wait | it is given when nothing else can go on |
//!
//! *What is left is the same in every run.* The process has done there what it does in every run, and does
//! nothing more: so does each process of a network without it, in which what passes on every channel does
//! not depend on the schedule. How many messages stand in a channel depends on its capacity besides. That
//! of one that does not grow is given. One that grows does so in a ring, which is a state of its processes that no
//! other process can undo: so each ring comes about in every run, whatever else does before or after it, and no channel
//! is in two at once.

use super::language::own;
use super::raw::{ChannelRef, End, Label};
use super::ring::TypeOf;
use super::table::{ChannelTable, Plan};
use super::weight::Weighing;
use kahn_engine::TaskRef;
use kahn_engine::sync::Ordering::{Relaxed, Release};
use kahn_engine::sync::{Access, PlainAtomicU64};
use kahn_report::{Activity, Identity, Name};
use std::sync::OnceLock;

/// Which process is held, and where it is; one for a network.
#[derive(Debug)]
pub(super) struct Hold {
    /// The receive before which it is held; its first is 1.
    receive: u64,
    /// How many messages it has received. Its holder counts.
    received: PlainAtomicU64,
    /// Once it is held.
    place: OnceLock<Place>,
    /// The channels of which messages are told that are left, once nothing can go on.
    left: OnceLock<Vec<ChannelRef>>,
}

/// Where a process is held.
#[derive(Debug)]
struct Place {
    /// The channel that it waits at.
    wait: ChannelRef,
    /// The channel and the message that it would receive.
    channel: Name,
    message: u64,
}

impl ChannelTable {
    /// Has a process held before a receive. Nothing runs, or nothing knows the process yet.
    pub(crate) fn hold_process(&self, task: TaskRef, receive: u64) {
        let (received, place, left) = (PlainAtomicU64::new(0), OnceLock::new(), OnceLock::new());
        if self.held.set(Hold { receive, received, place, left }).is_ok() {
            task.note(own::HOLDS);
        }
    }

    /// Where the process waits from now on that is about to receive from a channel, if it is held here.
    pub(super) fn place_to_wait(&self, task: TaskRef, channel: ChannelRef) -> Option<ChannelRef> {
        let hold = self.held.get()?;
        let is_next = hold.received.load(Relaxed) + 1 >= hold.receive;
        let place = || Place {
            wait: self.without_sender("held", task),
            channel: channel.name().clone(),
            message: channel.messages(End::Receiver) + 1,
        };
        is_next.then(|| hold.place.get_or_init(place).wait)
    }

    /// The process receives a message.
    pub(super) fn count_receive(&self) {
        if let Some(Hold { received, .. }) = self.held.get() {
            // Relaxed: one process counts.
            received.store(received.load(Relaxed) + 1, Relaxed);
        }
    }

    /// A channel from which this process receives, and to which no process sends.
    pub(super) fn without_sender(&self, name: &'static str, task: TaskRef) -> ChannelRef {
        let label = Label { name: Name::from(name), identity: Identity::fixed(u32::MAX) };
        let plan = Plan {
            label,
            types: &const { TypeOf::<u8>::TYPE },
            capacity: 1,
            initial: 0,
            recorded: None,
            weighing: Weighing::Size,
            wire: None,
            is_inner: true,
        };
        let wait = self.make(plan, Access::SHARED);
        self.graph_changes();
        // Whether it is an end that the process has to give up is for the caller to say.
        wait.side(End::Receiver).owner.store(task.as_ptr().cast_mut(), Release);
        wait
    }

    /// What a process does that waits at this channel, if it is the one that is held there.
    pub(crate) fn held_at(&self, channel: ChannelRef) -> Option<Activity> {
        let place = self.held.get()?.place.get()?;
        let activity =
            || Activity::HeldBack { channel: place.channel.clone(), message: place.message };
        (place.wait == channel).then(activity)
    }

    /// Nothing can go on, and no process runs: messages that stand in a channel which has its receiver are
    /// told when they are dropped.
    pub(crate) fn note_what_is_left(&self) {
        if let Some(hold) = self.held.get() {
            let mut channels = self.hold().all();
            let is_read = |channel: &ChannelRef| !channel.seen(End::Receiver).is_closed();
            channels.retain(|channel| !channel.is_inner() && is_read(channel));
            channels.sort_unstable_by_key(|channel| channel.0);
            let _ = hold.left.set(channels);
        }
    }

    /// Whether messages of this channel are told that are left.
    pub(super) fn tells_of_left(&self, channel: ChannelRef) -> bool {
        let left = self.held.get().and_then(|hold| hold.left.get());
        let at =
            |channels: &Vec<_>| channels.binary_search_by_key(&channel.0, |one: &ChannelRef| one.0);
        left.is_some_and(|channels| at(channels).is_ok())
    }
}
