//! What a process of a network keeps in its header: its ends, where it waits, and which processes may observe it.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `waits_at` | the holder, before it parks the process, and the one that has ended that wait | the detector and explanations, any time |
//! | `sent` | the holder | the holder |
//! | the counts of waits | the holder, by load and store | the holder; reports, any time |
//! | `tally`: its senders that are open at both ends, unless it is never pruned | ends that are made, change hands or close, by read-modify-write unless the worker is alone | the same |
//! | `closes`, `ends`, `senders` | the holder | the holder |

use super::language::{self, Kahn};
use super::raw::{ChannelRef, End, is_given, without_tags};
use super::ring::{Hand, can_be_given};
use kahn_engine::sync::{Access, AtomicPtr, Cell, Ordering::*, PlainAtomicU32};
use kahn_engine::task::{Task, count_down};
use kahn_engine::{Kept, Kind, TaskRef};
use kahn_report::Identity;
use std::ptr::{self, NonNull};

/// Bits of [`Task::attributes`].
pub(crate) mod attribute {
    /// It has declared effects: it is never pruned.
    pub(crate) const EFFECTS: u8 = 1;
    /// It may create processes: it is never pruned.
    pub(crate) const CREATES: u8 = 2;
    /// It had a sender once: if not, it is never pruned.
    pub(crate) const HAD_SENDERS: u8 = 4;
    /// It is joined to what is outside of the network: see `kahn_report::observe::Act`.
    pub(crate) const JOINED: u8 = 8;
    /// It stands in for an outside party, which a failure does not end that it sees.
    pub(crate) const STANDS_FOR_PARTY: u8 = 16;
    /// It is an end of a channel that is cut (`network/cut.rs`): its one end is that of a process on another
    /// rank.
    pub(crate) const LINK: u8 = 32;

    pub(crate) use kahn_engine::task::attribute::{HELPER, PART};

    /// Whether a process with these runs on though nothing reads what it sends.
    pub(crate) fn is_never_pruned(attributes: u8) -> bool {
        attributes & (EFFECTS | CREATES) != 0 || attributes & HAD_SENDERS == 0
    }
}

/// Whether a process is a root, through which others can be observed: it is never pruned, or was created while the
/// network ran. What works for another is none, for it has no ends; nor is a link, for what it stands for is on
/// another rank.
pub(crate) fn is_root(identity: Identity, attributes: u8) -> bool {
    attributes & (attribute::HELPER | attribute::LINK) == 0
        && (attribute::is_never_pruned(attributes) || !was_there(identity, attributes))
}

/// Whether a process was there before the run, or what it is a part of.
pub(crate) fn was_there(identity: Identity, attributes: u8) -> bool {
    if attributes & attribute::PART == 0 {
        identity.is_fixed()
    } else {
        // The part of a process is its child 0 (`network::core::Role`).
        let [ancestor, ..] = identity.words();
        identity == Identity::fixed(ancestor).child(0)
    }
}

/// What is touched when the process runs.
#[repr(C)]
pub(crate) struct Hot {
    /// The end at which an operation waits that is not complete; null without one.
    pub(crate) waits_at: AtomicPtr<()>,
    /// The address of the channel of [`note_sent`](InNetwork::note_sent); or a message that the process was
    /// [given](InNetwork::give).
    sent: Cell<Hand>,
    /// How often it waited for a message, and for room.
    pub(super) waits_empty: PlainAtomicU32,
    pub(super) waits_full: PlainAtomicU32,
}

// SAFETY: others read `waits_at` and the counts.
unsafe impl Kept for Hot {
    fn new() -> Self {
        Self {
            waits_at: AtomicPtr::new(ptr::null_mut()),
            sent: Cell::new(Hand::new(0)),
            waits_empty: PlainAtomicU32::new(0),
            waits_full: PlainAtomicU32::new(0),
        }
    }

    fn restart(&self) {
        // Relaxed: see the paragraph on memory in `kahn_engine::task`.
        self.waits_at.store(ptr::null_mut(), Relaxed);
        self.sent.set(Hand::new(0));
        self.waits_empty.store(0, Relaxed);
        self.waits_full.store(0, Relaxed);
    }
}

/// What only the holder touches, and seldom.
#[repr(C)]
pub(crate) struct Cold {
    /// The first of the dropped senders whose channels end at the next operation.
    pub(super) closes: Cell<*const ()>,
    /// Ends it has and has not dropped.
    pub(super) ends: Cell<u32>,
    /// Senders among them.
    pub(super) senders: Cell<u32>,
}

// SAFETY: no other thread reads it.
unsafe impl Kept for Cold {
    fn new() -> Self {
        Self { closes: Cell::new(ptr::null()), ends: Cell::new(0), senders: Cell::new(0) }
    }

    fn restart(&self) {
        self.closes.set(ptr::null());
        self.ends.set(0);
        self.senders.set(0);
    }
}

/// Where a process has just sent that has had both ends of a channel: at no channel.
const KEPT: *const () = ptr::without_provenance(1);

/// What a network asks of its processes. All tasks that come here are of networks.
pub(crate) trait InNetwork {
    /// What is touched when the process runs.
    fn state(&self) -> &Hot;
    /// What only the holder touches, and seldom.
    fn local(&self) -> &Cold;
    /// Whether it has declared effects or may create processes: then no observers are counted.
    fn is_free_of_observers(&self) -> bool;
    /// Whether it may create processes.
    fn creates(&self) -> bool;
    /// The holder: an end is this process's from now on.
    fn gain_end(&self, is_sender: bool);
    /// The holder: an end is closed, or passed on.
    fn lose_end(&self, is_sender: bool);
    /// The holder: the end at which an operation waits, as [`ChannelRef::waiting_at`] says; null without one.
    fn waits_at(&self) -> *mut ();
    /// The thread that has ended its wait and holds it yet: there is something to do for it at that end.
    fn serve(&self, channel: ChannelRef, end: End);
    /// The holder: whether the operation that waits at this end was served, and there is nothing else to
    /// attend to.
    fn is_served(&self, channel: ChannelRef, end: End) -> bool;
    /// The holder: no operation waits any more.
    fn stop_waiting(&self);
    /// The holder: a message is sent on this channel; null: an operation begins, or the process waits,
    /// so that it may be pruned.
    fn note_sent(&self, channel: *const ());
    /// The thread that has ended its wait and holds it yet, or is about to: it is given a message, which is of a
    /// type that [can be given](super::ring::can_be_given).
    fn give<T>(&self, message: T);
    /// The holder: whether it was given a message of this channel.
    fn has_been_given(&self, channel: ChannelRef) -> bool;
    /// The holder: takes the message that it was given; no operation waits any more.
    ///
    /// # Safety
    /// It was given one of this type.
    unsafe fn take_given<T>(&self) -> T;
    /// The holder: whether a message was sent on this channel since the process could be pruned last.
    fn has_just_sent(&self, channel: *const ()) -> bool;
    /// The holder: it gives up one end of a channel whose other end it has as well. With both it could
    /// not be pruned.
    fn note_kept(&self);
    /// The holder: whether it has had both ends of a channel since it could be pruned last, and gave
    /// up the receiver.
    fn has_just_kept(&self) -> bool;
    /// Whether it may be dropped because it can no longer be observed.
    fn is_prunable(&self) -> bool;
    /// It has one more sender that is open at both ends.
    fn add_observer(&self, access: Access);
    /// One of its senders, which had a receiver, is closed.
    fn close_observer(&self, access: Access);
    /// A receiver of one of its channels has departed or died; whether that was the last observer.
    fn loses_last_observer(&self, access: Access) -> bool;
}

fn this(task: &Task) -> TaskRef {
    // SAFETY: it is a process of a network, which has been placed.
    unsafe { TaskRef::new(NonNull::from(task)) }
}

impl InNetwork for Task {
    #[inline(always)]
    fn state(&self) -> &Hot {
        // SAFETY: it is a process of a network, as all that ends and channels name.
        unsafe { self.hot::<Kahn>() }
    }

    #[inline(always)]
    fn local(&self) -> &Cold {
        // SAFETY: as above.
        unsafe { self.cold::<Kahn>() }
    }

    fn is_free_of_observers(&self) -> bool {
        self.attributes() & (attribute::EFFECTS | attribute::CREATES) != 0
    }

    fn creates(&self) -> bool {
        self.attributes() & attribute::CREATES != 0
    }

    fn gain_end(&self, is_sender: bool) {
        let Cold { ends, senders, .. } = self.local();
        ends.set(ends.get() + 1);
        if is_sender {
            senders.set(senders.get() + 1);
            self.set_attributes(attribute::HAD_SENDERS);
        }
    }

    fn lose_end(&self, is_sender: bool) {
        let Cold { ends, senders, .. } = self.local();
        ends.set(ends.get() - 1);
        if is_sender {
            senders.set(senders.get() - 1);
        }
    }

    #[inline(always)]
    fn waits_at(&self) -> *mut () {
        without_tags(self.state().waits_at.load(Relaxed))
    }

    #[inline(always)]
    fn serve(&self, channel: ChannelRef, end: End) {
        // Relaxed: a thread that looks meanwhile finds that no process is parked there.
        self.state().waits_at.store(channel.served_at(end), Relaxed);
    }

    #[inline(always)]
    fn is_served(&self, channel: ChannelRef, end: End) -> bool {
        self.state().waits_at.load(Relaxed) == channel.served_at(end)
            && self.marks.load(Relaxed) | self.notes() == 0
    }

    #[inline(always)]
    fn stop_waiting(&self) {
        // Relaxed: a thread that reads the old value finds that no process is parked there.
        self.state().waits_at.store(ptr::null_mut(), Relaxed);
    }

    #[inline(always)]
    fn note_sent(&self, channel: *const ()) {
        self.state().sent.set(Hand::new(channel.addr() as u64));
    }

    fn has_just_sent(&self, channel: *const ()) -> bool {
        let Hot { waits_at, sent, .. } = self.state();
        // SAFETY: an address, where it is no message.
        !is_given(waits_at.load(Relaxed))
            && unsafe { sent.get().assume_init() } == channel.addr() as u64
    }

    #[inline(always)]
    fn give<T>(&self, message: T) {
        assert!(can_be_given::<T>(), "it fits, and owns nothing");
        let mut hand = Hand::uninit();
        // SAFETY: it fits, and owns nothing that would be lost.
        unsafe { hand.as_mut_ptr().cast::<T>().write(message) };
        self.state().sent.set(hand);
    }

    #[inline(always)]
    fn has_been_given(&self, channel: ChannelRef) -> bool {
        self.state().waits_at.load(Relaxed) == channel.given_at()
    }

    #[inline(always)]
    unsafe fn take_given<T>(&self) -> T {
        assert!(can_be_given::<T>(), "it fits, and owns nothing");
        let hand = self.state().sent.replace(Hand::new(0));
        self.stop_waiting();
        // SAFETY: said by the caller.
        unsafe { hand.as_ptr().cast::<T>().read() }
    }

    fn note_kept(&self) {
        self.note_sent(KEPT);
    }

    fn has_just_kept(&self) -> bool {
        self.has_just_sent(KEPT)
    }

    fn is_prunable(&self) -> bool {
        let is_unread = || self.tally.load(Acquire) == 0;
        let is_unobserved = || language::of(this(self)).to_prune.roots.are_gone();
        !self.is_free_of_observers()
            && self.kind() != Kind::Outside
            && self.local().senders.get() > 0
            && (is_unread() || is_unobserved())
    }

    fn add_observer(&self, access: Access) {
        if self.is_free_of_observers() {
            return;
        }
        // Relaxed: the thread that counts it down got to know of it by the channel's gate.
        if access.is_alone() {
            self.tally.store(self.tally.load(Relaxed) + 1, Relaxed);
        } else {
            self.tally.fetch_add(1, Relaxed);
        }
    }

    fn close_observer(&self, access: Access) {
        if !self.is_free_of_observers() {
            count_down(&self.tally, access);
        }
    }

    fn loses_last_observer(&self, access: Access) -> bool {
        // As for a reference count, the last one sees what the others did.
        !self.is_free_of_observers() && count_down(&self.tally, access) == 0
    }
}
