//! Slots: where queues keep items, each of which is one pointer.

use crate::sync::AtomicPtr;
use crate::task::{Task, TaskRef};
use std::fmt;
use std::ptr::{self, NonNull};

/// What stands in a queue: one pointer, which its holder owns.
///
/// # Safety
/// `from_pointer` makes no other use of the pointer than to become what `into_pointer` was called on.
pub unsafe trait Item: Send + Sized {
    /// What it points to.
    type Pointee;

    /// Gives it away as a pointer.
    fn into_pointer(self) -> NonNull<Self::Pointee>;

    /// Takes it back.
    ///
    /// # Safety
    /// `into_pointer` gave this pointer away, and it has not been taken back since.
    unsafe fn from_pointer(pointer: NonNull<Self::Pointee>) -> Self;
}

// SAFETY: the pointer is all that a reference to a task is.
unsafe impl Item for TaskRef {
    type Pointee = Task;

    #[inline(always)]
    fn into_pointer(self) -> NonNull<Task> {
        self.non_null()
    }

    #[inline(always)]
    unsafe fn from_pointer(pointer: NonNull<Task>) -> Self {
        // SAFETY: only references to live tasks are pushed.
        unsafe { Self::new(pointer) }
    }
}

// SAFETY: a box is made of the pointer that it was leaked as.
unsafe impl<T: Send> Item for Box<T> {
    type Pointee = T;

    #[inline]
    fn into_pointer(self) -> NonNull<T> {
        NonNull::from(Self::leak(self))
    }

    #[inline]
    unsafe fn from_pointer(pointer: NonNull<T>) -> Self {
        // SAFETY: the caller has it from `into_pointer`, and takes it back once.
        unsafe { Self::from_raw(pointer.as_ptr()) }
    }
}

/// Slots, numbered round and round.
pub(crate) struct Slots<const COUNT: usize, T: Item = TaskRef>(Box<[AtomicPtr<T::Pointee>; COUNT]>);

impl<const COUNT: usize, T: Item> Slots<COUNT, T> {
    pub(crate) fn new() -> Self {
        let slots: Box<[_]> = (0..COUNT).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Self(slots.try_into().expect("so many were made"))
    }

    #[inline]
    pub(crate) fn at(&self, number: usize) -> &AtomicPtr<T::Pointee> {
        &self.0[number % COUNT]
    }
}

impl<const COUNT: usize, T: Item> fmt::Debug for Slots<COUNT, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{COUNT} slots")
    }
}

/// What stood in a slot that was won.
#[inline]
pub(crate) fn taken<T: Item>(pointer: *mut T::Pointee) -> Option<T> {
    // SAFETY: only items are pushed, and the caller has won this one: no other takes it.
    NonNull::new(pointer).map(|pointer| unsafe { T::from_pointer(pointer) })
}
