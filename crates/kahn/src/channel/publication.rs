//! What the running process has done and its peers do not know of yet, and how it is published.
//!
//! A worker remembers the ends with such operations and publishes them when the poll is over, or
//! when another thread asks for it.

use super::language::{self, Worker};
use super::process::InNetwork;
use super::raw::{ChannelRef, End, kind, told};
use super::word::Moved;
use kahn_engine::sync::Ordering::*;
use std::cell::Cell;

/// Ends of one process with unpublished operations that a worker remembers.
const LISTED: usize = 8;

/// An end with operations that its peer does not know of yet.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    pub(super) end: *const (),
    /// Publishes what the end has done.
    pub(super) publish: unsafe fn(*const (), &Worker),
}

/// The ends of the running process that have something to publish.
#[derive(Default)]
pub(super) struct Published {
    listed: [Cell<Option<Listed>>; LISTED],
    count: Cell<usize>,
}

impl Published {
    /// Remembers an end that may have operations to publish.
    pub(super) fn list(&self, end: Listed, worker: &Worker) {
        let count = self.count.get();
        if count == LISTED {
            self.flush(worker);
            return self.list(end, worker);
        }
        self.listed[count].set(Some(end));
        self.count.set(count + 1);
    }

    /// Forgets an end that is about to close or to change hands.
    pub(super) fn unlist(&self, end: *const ()) {
        let mut kept = 0;
        for index in 0..self.count.get() {
            if let Some(listed) = self.listed[index].take()
                && listed.end != end
            {
                self.listed[kept].set(Some(listed));
                kept += 1;
            }
        }
        self.count.set(kept);
    }

    /// Whether the running process has done nothing that is to be published.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Publishes everything that the running process has done.
    #[inline]
    pub(super) fn flush(&self, worker: &Worker) {
        if self.count.get() > 0 {
            self.publish_listed(worker);
        }
    }

    #[inline(never)]
    fn publish_listed(&self, worker: &Worker) {
        let count = self.count.replace(0);
        for place in &self.listed[..count] {
            if let Some(Listed { end, publish }) = place.take() {
                // SAFETY: listed by a live end of the running process; ends that close or change
                // hands are taken off first.
                unsafe { publish(end, worker) };
            }
        }
    }
}

impl ChannelRef {
    /// Publishes what `end` has done, and wakes its peer if that waits.
    #[inline]
    pub(crate) fn publish(self, end: End, worker: &Worker) {
        match end {
            End::Sender => self.publish_sender(worker),
            End::Receiver => self.publish_receiver(worker),
        }
    }

    #[inline(never)]
    fn publish_sender(self, worker: &Worker) {
        self.publish_end(End::Sender, worker);
    }

    #[inline(never)]
    fn publish_receiver(self, worker: &Worker) {
        self.publish_end(End::Receiver, worker);
    }

    #[inline(always)]
    fn publish_end(self, end: End, worker: &Worker) {
        let side = self.side(end);
        let kind = side.kind();
        let (word, count) = (self.word_of_kind(end, kind), side.local.get());
        if end == End::Sender {
            self.publish_by(worker.number());
        } else if !self.was_published_by(worker.number()) {
            self.count_remote(word.load().count(), count, worker);
        }
        // Relaxed: see `Side::tell`.
        match side.told.load(Relaxed) {
            0 => {
                if word.publish(count, worker.access()) == Moved::Wake {
                    // The sender is the process that runs, or the one that is ours now.
                    let kind = if end == End::Sender { kind } else { self.sender.kind() };
                    self.wake_peer(end, kind & kind::SMALL != 0, worker);
                }
            }
            told => self.publish_and_tell(end, told, worker),
        }
    }

    /// Publishes one message to a receiver that was seen to sleep here, of a small channel that tells
    /// nothing else: so only this process could wake it, and it sleeps yet.
    #[inline(never)]
    pub(super) fn publish_to_sleeper(self, worker: &Worker) {
        self.publish_by(worker.number());
        let kind = self.sender.kind();
        self.word_of_kind(End::Sender, kind).publish_to_sleeper(self.sender.local.get());
        self.wake_peer(End::Sender, true, worker);
    }

    /// Publishing has taken the peer of `end` out of its wait. `serves`: the channel is small, so the peer
    /// may do one operation without a look.
    #[inline(always)]
    fn wake_peer(self, end: End, serves: bool, worker: &Worker) {
        if let Some(owner) = self.owner(end.peer()) {
            if serves {
                owner.serve(self, end.peer());
            }
            // SAFETY: said by the caller: PARKED is out of the word where it waits.
            unsafe { language::wake(worker, owner) };
        }
    }

    /// Messages have come from another worker: of those that are published as taken now, as far as is
    /// known, for the sender may have changed workers while they were taken.
    #[cold]
    #[inline(always)]
    pub(super) fn count_remote(self, before: u64, count: u64, worker: &Worker) {
        if worker.counts {
            let remote = &self.remote;
            // Relaxed, and no read-modify-write: only the receiver writes.
            remote.store(remote.load(Relaxed) + (count - before), Relaxed);
        }
    }

    /// Publishes, and tells what else is to be told. The last that the caller does, as is waking: so it
    /// keeps nothing for afterwards.
    #[cold]
    #[inline(never)]
    fn publish_and_tell(self, end: End, told: u8, worker: &Worker) {
        let (word, count) = (self.word(end), self.side(end).local.get());
        self.tell_observer(end, worker);
        let moved = if told & told::OUTSIDE != 0 {
            word.publish_outside(count)
        } else {
            word.publish(count, worker.access())
        };
        if moved == Moved::Wake {
            self.wake_peer(end, false, worker);
        }
    }
}
