//! What a language keeps in the headers of its processes.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Words that a language has in the first line of a header, and in the second. loom's atomics are larger.
pub(crate) const HOT: usize = if cfg!(loom) { 64 } else { 3 };
pub(crate) const COLD: usize = if cfg!(loom) { 64 } else { 2 };

/// What a language keeps in the header of a process.
///
/// # Safety
/// A header may be looked at when its process has ended and another is in its block. So what others than
/// the holder of the process read is atomic, and `restart` stores into it.
pub unsafe trait Kept: Sized {
    /// That of a new process.
    fn new() -> Self;
    /// The same, in a block that another process was in.
    fn restart(&self);
}

/// Room for something that a language keeps.
#[repr(C)]
pub(crate) struct Room<const WORDS: usize>(UnsafeCell<[MaybeUninit<u64>; WORDS]>);

impl<const WORDS: usize> Room<WORDS> {
    pub(crate) const fn holding<T: Kept>(kept: T) -> Self {
        const {
            assert!(size_of::<T>() <= WORDS * size_of::<u64>());
            assert!(align_of::<T>() <= align_of::<u64>());
        };
        let room = Self(UnsafeCell::new([MaybeUninit::uninit(); WORDS]));
        // SAFETY: there is room for it, as asserted.
        unsafe { room.0.get().cast::<T>().write(kept) };
        room
    }

    /// What is kept there.
    ///
    /// # Safety
    /// It was made by [`holding`](Self::holding) a `T`.
    #[inline(always)]
    pub(crate) unsafe fn get<T: Kept>(&self) -> &T {
        // SAFETY: said by the caller; it is never written again as a whole.
        unsafe { &*self.0.get().cast::<T>() }
    }
}

/// What the headers of a language's processes hold besides the engine's own.
pub trait Header: Sized {
    /// What it keeps in the first line of a header, which is touched when the process runs.
    type Hot: Kept;

    /// What it keeps in the second line.
    type Cold: Kept;
}
