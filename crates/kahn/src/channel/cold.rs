//! What is seldom needed of a channel: who it is, how it ended, and the gate of its closings.

use super::raw::{End, RawChannel};
use crate::graph::{Identity, Name};
use crate::sync::{AtomicU8, AtomicU32, AtomicU64, Cell, Ordering::*, spin_loop};
use std::cell::UnsafeCell;
use std::ptr;

/// Bits of [`Cold::flags`].
pub(crate) mod flag {
    /// Lies on no cycle of the graph as it was when the run started.
    pub(crate) const BRIDGE: u8 = 1;
    /// The sender failed: a failure mark stands after the last message.
    pub(crate) const FAILED: u8 = 2;
    /// The receiver is dead: no message will ever be taken.
    pub(crate) const DEAD_END: u8 = 4;
}

/// Bits of the gate: which ends are closed, and a lock for a few instructions.
mod gate {
    pub(super) const SENDER: u8 = 1;
    pub(super) const RECEIVER: u8 = 2;
    pub(super) const LOCKED: u8 = 4;
}

/// What is seldom needed.
#[derive(Debug)]
pub(crate) struct Cold {
    pub(super) label: UnsafeCell<Option<Label>>,
    /// The count both words started at: message numbers count from here.
    pub(crate) base: AtomicU64,
    pub(crate) capacity: AtomicU32,
    pub(crate) initial: AtomicU32,
    pub(crate) growths: AtomicU32,
    gate: AtomicU8,
    pub(crate) flags: AtomicU8,
    /// The next sender that its process dropped and that has not ended its channel yet.
    pub(crate) next_close: Cell<*const ()>,
}

/// Who a channel is.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) name: Name,
    pub(crate) identity: Identity,
}

impl Cold {
    pub(super) fn new(label: Label) -> Self {
        Self {
            label: UnsafeCell::new(Some(label)),
            base: AtomicU64::new(0),
            capacity: AtomicU32::new(0),
            initial: AtomicU32::new(0),
            growths: AtomicU32::new(0),
            gate: AtomicU8::new(0),
            flags: AtomicU8::new(0),
            next_close: Cell::new(ptr::null()),
        }
    }

    /// Frees what it owns, when both ends are closed.
    pub(super) fn clear(&self) {
        // SAFETY: who asks for it has an end, and none is left; explanations look only at channels
        // of the table, which this one is leaving.
        unsafe { *self.label.get() = None };
    }

    pub(super) fn restart(&self, base: u64, label: Label) {
        // SAFETY: the old channel is gone, and nobody knows the new one.
        unsafe { *self.label.get() = Some(label) };
        self.base.store(base, Relaxed);
        self.capacity.store(0, Relaxed);
        self.initial.store(0, Relaxed);
        self.growths.store(0, Relaxed);
        self.gate.store(0, Relaxed);
        self.flags.store(0, Relaxed);
        self.next_close.set(ptr::null());
    }
}

impl RawChannel {
    /// Runs `f` while no other thread closes an end or hands one on.
    pub(super) fn with_gate<R>(&self, f: impl FnOnce(&mut Gate) -> R) -> R {
        let mut bits = self.cold.gate.load(Relaxed);
        loop {
            if bits & gate::LOCKED != 0 {
                spin_loop();
                bits = self.cold.gate.load(Relaxed);
                continue;
            }
            // Acquire pairs with the Release below: whoever is second sees what the first did.
            match self.cold.gate.compare_exchange_weak(bits, bits | gate::LOCKED, Acquire, Relaxed)
            {
                Ok(_) => break,
                Err(now) => bits = now,
            }
        }
        let mut gate = Gate { bits };
        let result = f(&mut gate);
        self.cold.gate.store(gate.bits, Release);
        result
    }
}

/// Which ends of a channel are closed, while one holds its gate.
pub(super) struct Gate {
    bits: u8,
}

impl Gate {
    fn bit(end: End) -> u8 {
        match end {
            End::Sender => gate::SENDER,
            End::Receiver => gate::RECEIVER,
        }
    }

    pub(super) fn is_closed(&self, end: End) -> bool {
        self.bits & Self::bit(end) != 0
    }

    pub(super) fn close(&mut self, end: End) {
        self.bits |= Self::bit(end);
    }
}
