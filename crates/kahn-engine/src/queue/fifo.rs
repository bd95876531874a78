//! A bounded queue for processes that wait their turn: its owner puts them in at the back, owner and
//! thieves take them from the front, thieves several at once.
//!
//! ```text
//!        front ≤ back ≤ front + SLOTS
//!   slots  …  taken │ ready ready ready │ free  …
//!                   ^ front: all        ^ back: the owner
//! ```
//!
//! | step  | by     | moves    | how |
//! |-------|--------|----------|-----|
//! | push  | owner  | `back` up    | slot, then Release store |
//! | take  | all    | `front` up   | look at both, read the slots, CAS on `front` |
//! | rotate | owner, alone | both up | slot at `front`, slot at `back`, stores |
//!
//! Nothing is taken twice, for each number is taken by the one exchange that moves `front` past it.
//! What was read is what stood there: a slot is written again only when `front` has passed it, and
//! then the exchange of a thread that read it before fails. No thread takes from the back, so there is nothing
//! that owner and thief could both believe they have, and no fence as in [`crate::queue::deque`].
//!
//! Each process brings a *stamp*, which is the owner's to understand; others may read an old one.
//!
//! While there are no thieves, the owner takes without an exchange.

use crate::queue::slots::taken;
use crate::sync::{Access, AtomicPtr, AtomicUsize, Ordering::*, Padded, PlainAtomicUsize};
use crate::task::{Task, TaskRef};
use std::ptr;

/// Under loom few, so that wrap-around lies within a model, and enough for a half to be more than one.
const SLOTS: usize = if cfg!(loom) { 3 } else { 256 };

/// The queue. `push` and filling it are the owner's alone.
#[derive(Debug)]
pub(crate) struct Fifo {
    front: Padded<AtomicUsize>,
    back: Padded<AtomicUsize>,
    slots: Box<[Slot; SLOTS]>,
}

/// A process, and its stamp.
#[derive(Debug)]
struct Slot {
    task: AtomicPtr<Task>,
    stamp: PlainAtomicUsize,
}

impl Slot {
    fn new() -> Self {
        Self { task: AtomicPtr::new(ptr::null_mut()), stamp: PlainAtomicUsize::new(0) }
    }

    /// Owner: puts a process here.
    #[inline(always)]
    fn set(&self, task: *mut Task, stamp: usize) {
        self.task.store(task, Relaxed);
        self.stamp.store(stamp, Relaxed);
    }
}

impl Fifo {
    pub(crate) fn new() -> Self {
        Self {
            front: Padded(AtomicUsize::new(0)),
            back: Padded(AtomicUsize::new(0)),
            slots: Box::new(std::array::from_fn(|_| Slot::new())),
        }
    }

    #[inline]
    fn slot(&self, number: usize) -> &Slot {
        &self.slots[number % SLOTS]
    }

    /// Owner: puts a process at the back; gives it back if the queue is full.
    #[inline]
    pub(crate) fn push(&self, task: TaskRef, stamp: usize) -> Result<(), TaskRef> {
        // Relaxed: ours alone.
        let back = self.back.load(Relaxed);
        if self.room_behind(back) == 0 {
            return Err(task);
        }
        self.slot(back).set(task.as_ptr().cast_mut(), stamp);
        // Release pairs with the thief's Acquire load of `back`: slot and process are visible.
        self.back.store(back.wrapping_add(1), Release);
        Ok(())
    }

    /// Owner: for how many there is room.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.room_behind(self.back.load(Relaxed))
    }

    #[inline]
    fn room_behind(&self, back: usize) -> usize {
        // Acquire: a slot is free only if the thief that moved `front` has read it.
        SLOTS - back.wrapping_sub(self.front.load(Acquire))
    }

    /// Owner: the stamp of the process at the front, if there is one.
    pub(crate) fn first_stamp(&self) -> Option<usize> {
        let front = self.front.load(Relaxed);
        (self.len() > 0).then(|| self.slot(front).stamp.load(Relaxed))
    }

    /// The numbers of the process at the front, and of the next at the back.
    pub(crate) fn ends(&self) -> (usize, usize) {
        (self.front.load(Relaxed), self.back.load(Relaxed))
    }

    /// Takes the process at the front. `access`: whether others may do the same now.
    #[inline]
    pub(crate) fn take(&self, access: Access) -> Option<TaskRef> {
        loop {
            // Acquire pairs with the owner's Release in `push`; a thread that takes more than once sees its
            // own `front` at least.
            let front = self.front.load(Acquire);
            let back = self.back.load(Acquire);
            if back.wrapping_sub(front).cast_signed() <= 0 {
                return None;
            }
            // May be stale: then the exchange fails.
            let task = self.slot(front).task.load(Relaxed);
            if self.advance(front, 1, access) {
                return taken(task);
            }
        }
    }

    /// Owner, while there are no thieves: takes the process at the front and puts another at the back; gives `None` and
    /// does nothing if there is none.
    #[inline]
    pub(crate) fn rotate(&self, task: TaskRef, stamp: usize) -> Option<TaskRef> {
        // Relaxed: ours alone.
        let (front, back) = (self.front.load(Relaxed), self.back.load(Relaxed));
        if front == back {
            return None;
        }
        // Before the other is put down: in a full queue that is the same slot.
        let first = self.slot(front).task.load(Relaxed);
        self.slot(back).set(task.as_ptr().cast_mut(), stamp);
        // Relaxed: a thief that comes acquires what was done before.
        self.front.store(front.wrapping_add(1), Relaxed);
        self.back.store(back.wrapping_add(1), Relaxed);
        taken(first)
    }

    /// Owner: moves half of what another queue holds to the back of this one, with this stamp, but
    /// for the first, which it returns, with the number of all that were taken.
    pub(crate) fn take_half_of(&self, victim: &Self, stamp: usize) -> Option<(TaskRef, usize)> {
        let back = self.back.load(Relaxed);
        let room = self.room();
        loop {
            let front = victim.front.load(Acquire);
            let length = victim.back.load(Acquire).wrapping_sub(front).cast_signed();
            let size = usize::try_from(length).unwrap_or(0).div_ceil(2).min(room + 1);
            if size == 0 {
                return None;
            }
            let first = victim.slot(front).task.load(Relaxed);
            for number in 1..size {
                let task = victim.slot(front.wrapping_add(number)).task.load(Relaxed);
                // Beyond `back`: no thread looks there yet.
                self.slot(back.wrapping_add(number - 1)).set(task, stamp);
            }
            if victim.advance(front, size, Access::SHARED) {
                // Release: as in `push`.
                self.back.store(back.wrapping_add(size - 1), Release);
                return taken(first).map(|first| (first, size));
            }
        }
    }

    /// Moves `front`, unless another thread has.
    #[inline]
    fn advance(&self, front: usize, by: usize, access: Access) -> bool {
        let next = front.wrapping_add(by);
        if access.is_alone() {
            self.front.store(next, Relaxed);
            return true;
        }
        // Release: the slots are read before the owner, which sees the new `front`, writes them.
        self.front.compare_exchange(front, next, Release, Relaxed).is_ok()
    }

    /// Roughly how many processes are in it.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let front = self.front.load(Relaxed);
        let length = self.back.load(Relaxed).wrapping_sub(front).cast_signed();
        usize::try_from(length).unwrap_or(0)
    }
}
