//! Which process uses an end of a channel.
//!
//! *The process that used an end last uses it most often again.* If it is the one that runs on this thread, an operation
//! knows by one comparison that it is in its network, and by which worker it is run. The network was looked at when the
//! process began to use the end; when the network has ended, that is forgotten, before the memory of its processes goes.
//! So is known, too, that what has left the channel and is polled again does not sleep there.

use crate::channel::gone::Outcome;
use crate::channel::rendezvous::{BOTH_WAIT, Rendezvous, Side, flag};
use crate::language::csp::Worker;
use crate::language::running;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Cell, Ordering::Relaxed};
use std::ptr;

/// What messages call what is used outside of its network.
pub(super) const AN_END: &str = "an end of a channel";

impl Rendezvous {
    /// Whether the process that runs is the one that used this end last. So it is of the channel's network, and
    /// does not sleep here.
    #[inline(always)]
    pub(super) fn is_used_here(&self, side: Side) -> bool {
        // None, or a process of this network: it was looked at when it began to use the end, and is
        // forgotten when the network ends. The digest of what dropped an end stands there no sooner
        // than that is gone.
        Worker::runs_here(self.user(side))
    }

    /// The process that runs begins to use an end; `false` if that cannot be noted yet.
    ///
    /// # Panics
    /// Panics if the process is of another network.
    #[inline(never)]
    pub(super) fn has_new_user(&self, side: Side) -> bool {
        let (_, task) = running::in_network(self.network(), AN_END);
        // An alternation may have been forgotten there, whose process is named by this until that is found out.
        let is_free = self.gate.peek() & side.waits() == 0;
        if is_free {
            self.used_by(side, task);
        }
        is_free
    }

    /// The process that has left the channel at a side to its partner, in a slot with this outcome, is polled again:
    /// whether it is that process, and its partner has moved the message.
    #[inline(always)]
    pub(super) fn has_done(&self, side: Side, outcome: &Cell<Outcome>) -> bool {
        // If it runs, it does not sleep, and the slot is its own.
        self.is_used_here(side) && outcome.get() == Outcome::Done
    }

    /// The network has ended: none of its processes waits here, is held or uses an end from now on.
    #[cfg_attr(loom, expect(dead_code, reason = "what a model makes is gone with it"))]
    pub(super) fn forget_users(&self) {
        let flags = self.gate.lock_after_the_run(BOTH_WAIT);
        for side in [Side::Sender, Side::Receiver] {
            if flags & side.gone() == 0 {
                self.users[side as usize].store(ptr::null_mut(), Relaxed);
            }
        }
        // One that had not come back is known by its slot.
        let held = if flags & flag::SENDER_RUNS == 0 { flag::SENDER_HELD } else { 0 };
        self.gate.unlock(flags & !(BOTH_WAIT | held));
    }

    /// The process that has an end: notes that it uses it.
    #[inline(always)]
    pub(super) fn used_by(&self, side: Side, task: TaskRef) {
        // Relaxed: the word hands it over. Most are used by one process for long.
        let user = &self.users[side as usize];
        let task = task.as_ptr().cast_mut();
        if user.load(Relaxed) != task {
            user.store(task, Relaxed);
        }
    }
}
