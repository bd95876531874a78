//! Handoff slots: where the role of a worker is while a box that has emitted something goes on.
//!
//! Nothing ends a box, and nothing tells how long it takes until it emits again: it may even wait
//! until what it has emitted is out. So the role, and what was emitted and not yet handed on, are in the
//! *handoff slot* of the role meanwhile. The call takes them back when it emits again or ends. If they are
//! there for longer than a [`LOOK`], the thread that starts the others takes them and gives them to a
//! thread in reserve, which hands on what was emitted before anything else.
//!
//! ```text
//!              emitted                    two looks, and something to hand on
//!   with the call ──► in the slot ────────────────────────────► with another thread: the call is away
//!        ▲                 │                                              │ what was there is handed on
//!        │  emits or ends  │                                              ▼
//!        └─────────────────┴────── a worker with nothing else to do ◄── the call emits or ends: it asks
//! ```
//!
//! The thread that looks sleeps while every slot is empty, no call waits and none is away. A
//! call fills its slot first, and then looks whether that thread sleeps; that thread says
//! that it will sleep first, and then looks at the slots once more.

use std::time::Duration;

use super::emission::Origin;
use super::role::Role;
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::tickets::Tickets;
use kahn_engine::sync::Mutex;

/// How often the slots are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(2);

/// What is in a handoff slot.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) role: Box<Role>,
    /// What was emitted and not handed on.
    pub(super) outputs: Vec<Rec>,
    pub(super) origin: Origin,
    /// Slots in the orders that the record of the call is in; if none, those of the outputs are.
    pub(super) within: Option<Tickets>,
}

impl Left {
    /// Whether another thread would find something to do.
    pub(super) fn is_wanted(&self) -> bool {
        !self.outputs.is_empty() || !self.role.local.is_empty() || !self.role.ready.is_empty()
    }
}

/// What was emitted by a call that is away, and is to be handed on before all else.
#[derive(Debug)]
pub(super) struct LeftOutputs {
    pub(super) outputs: Vec<Rec>,
    pub(super) origin: Origin,
    pub(super) since: Since,
}

/// When a slot was filled: which one, and how often that was done there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Since {
    pub(super) handoff: usize,
    pub(super) times: u64,
}

#[derive(Debug, Default)]
struct Top {
    times: u64,
    left: Option<Left>,
}

/// A handoff slot, on a cache line of its own: it is used for every record that a box emits.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Handoff(Mutex<Top>);

impl Handoff {
    /// Puts something there; returns how often that was done.
    pub(super) fn put(&self, left: Left) -> u64 {
        let mut top = self.0.lock();
        top.times += 1;
        top.left = Some(left);
        top.times
    }

    /// Takes back what was put there that time, if no thread has taken it.
    pub(super) fn take_back(&self, times: u64) -> Option<Left> {
        let mut top = self.0.lock();
        if top.times == times { top.left.take() } else { None }
    }

    /// How often it was filled, if what is there gives another thread something to do.
    pub(super) fn wanted(&self) -> Option<u64> {
        let top = self.0.lock();
        top.left.as_ref().is_some_and(Left::is_wanted).then_some(top.times)
    }

    /// Takes what was put there that time, if another thread would find something to do with it.
    pub(super) fn take_away(&self, times: u64) -> Option<Left> {
        let mut top = self.0.lock();
        if top.times == times && top.left.as_ref().is_some_and(Left::is_wanted) {
            return top.left.take();
        }
        None
    }
}
