//! What the header of a communicating process holds beside the engine's part.

use crate::language::csp::Csp;
use kahn_engine::sync::{AtomicPtr, AtomicU64, Cell, Ordering::*};
use kahn_engine::task::Task;
use kahn_engine::{Kept, TaskRef};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr;

/// Bits of [`Task::marks`].
pub(crate) mod mark {
    pub(crate) use kahn_engine::task::mark::*;

    /// Another process ended it.
    pub(crate) const KILL: u8 = 16;
}

/// Bits of [`Task::own`].
pub(crate) mod own {
    pub(crate) use kahn_engine::task::own::*;

    /// Another process may end it wherever it waits.
    pub(crate) const KILLABLE: u8 = LANGUAGE[0];
    /// How urgent it is.
    pub(crate) const URGENCY: u8 = URGENT | BACKGROUND;
    /// It does not leave channels to its partners, for it may be ended while it waits, or the end of the run
    /// wakes its thread. Nothing is ever left for a worker to do after a poll, so there is room for it.
    pub(crate) const STAYS: u8 = LEFT;
    /// It has met poison.
    pub(crate) const POISONED: u8 = LANGUAGE[1];
}

/// What is touched when a process runs.
#[repr(C)]
pub(crate) struct Hot {
    /// Where it waits or waited last, for explanations; see [`crate::wait::place::Place`].
    waits_at: AtomicPtr<()>,
    /// What it offers while it waits for one of several things; see `wait::select`.
    offer: AtomicU64,
    /// Where its message stands or is to stand, of one that sleeps at a channel for this alone; the
    /// holder's, and then its partner's.
    slot: Cell<*const ()>,
}

// SAFETY: what others read is atomic.
unsafe impl Kept for Hot {
    fn new() -> Self {
        Self {
            waits_at: AtomicPtr::new(ptr::null_mut()),
            offer: AtomicU64::new(0),
            slot: Cell::new(ptr::null()),
        }
    }

    fn restart(&self) {
        self.waits_at.store(ptr::null_mut(), Relaxed);
        // Tickets count on: what was left behind for the old process is not for this one.
        let tickets = self.offer.load(Relaxed) & (u64::from(u32::MAX) << 32);
        self.offer.store(tickets, Relaxed);
    }
}

/// What a communicating process got when it was spawned.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Spawned {
    /// The line that created the process.
    pub(crate) site: &'static Location<'static>,
    /// Where the process's choices are drawn from; 0 before the first.
    pub(crate) draw: Cell<u64>,
}

/// What only the holder touches.
pub(crate) struct Cold(UnsafeCell<MaybeUninit<Spawned>>);

// SAFETY: others read it only of a process whose block is not shared meanwhile.
unsafe impl Kept for Cold {
    fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    fn restart(&self) {}
}

/// What is asked of communicating processes. All tasks that come here are such.
pub(crate) trait Communicates {
    fn waits_at(&self) -> &AtomicPtr<()>;
    fn offer(&self) -> &AtomicU64;

    /// The slot of one that sleeps at a channel, for the holder of the process.
    fn slot(&self) -> &Cell<*const ()>;

    /// Says what the process got when it was spawned.
    ///
    /// # Safety
    /// No thread holds the process yet.
    unsafe fn set_spawned(&self, spawned: Spawned);

    /// What the process got when it was spawned.
    ///
    /// # Safety
    /// It was told by [`set_spawned`](Self::set_spawned).
    unsafe fn spawned(&self) -> &Spawned;
}

impl Communicates for Task {
    #[inline]
    fn waits_at(&self) -> &AtomicPtr<()> {
        &hot_of(self).waits_at
    }

    #[inline]
    fn offer(&self) -> &AtomicU64 {
        &hot_of(self).offer
    }

    #[inline]
    fn slot(&self) -> &Cell<*const ()> {
        &hot_of(self).slot
    }

    unsafe fn set_spawned(&self, spawned: Spawned) {
        // SAFETY: said by the caller; nothing in the one before is to be dropped.
        unsafe { (*cold_of(self).0.get()).write(spawned) };
    }

    unsafe fn spawned(&self) -> &Spawned {
        // SAFETY: it changes only while no thread holds the process.
        let spawned = unsafe { &*cold_of(self).0.get() };
        // SAFETY: said by the caller.
        unsafe { spawned.assume_init_ref() }
    }
}

#[inline]
fn hot_of(task: &Task) -> &Hot {
    // SAFETY: it is a communicating process.
    unsafe { task.hot::<Csp>() }
}

#[inline]
fn cold_of(task: &Task) -> &Cold {
    // SAFETY: as above.
    unsafe { task.cold::<Csp>() }
}

/// What a communicating process got when it was spawned.
pub(crate) fn spawned_of<'a>(task: TaskRef) -> &'a Spawned {
    // SAFETY: the header stands in its block, which is this process's.
    let header = unsafe { &*task.as_ptr() };
    // SAFETY: every communicating process is told when its body is placed in its block.
    unsafe { header.spawned() }
}
