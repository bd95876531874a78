//! Whether a thread is the only one that can touch something.

use super::biased_lock::OWNERS;
use std::fmt;

/// Whether other threads may touch something at the same time.
///
/// A network with one worker and no other threads is in *single-threaded mode*: nothing happens
/// between two instructions of its worker, so protocols need no read-modify-writes. The mode is known
/// before the run starts, and ends when a process gets a thread of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Access(u8);

impl Access {
    /// No other thread: plain loads and stores do.
    pub const ALONE: Self = Self(0);
    /// Other threads may do the same now.
    pub const SHARED: Self = Self(u8::MAX);

    /// The same, of the thread of a worker: it may own a [`BiasedLock`](super::BiasedLock).
    pub(crate) fn of_worker(index: usize) -> Self {
        let owner = u8::try_from(index + 1).ok().filter(|&owner| usize::from(owner) < OWNERS);
        owner.map_or(Self::SHARED, Self)
    }

    /// As which of the threads that may own a lock it comes there; another number, if as none.
    #[inline(always)]
    pub(super) fn owner(self) -> usize {
        self.0.into()
    }

    /// Alone if so, else shared.
    #[inline(always)]
    pub fn alone_if(is_alone: bool) -> Self {
        if is_alone { Self::ALONE } else { Self::SHARED }
    }

    /// Whether there is no other thread.
    #[inline(always)]
    pub fn is_alone(self) -> bool {
        self == Self::ALONE
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALONE => f.write_str("Alone"),
            Self::SHARED => f.write_str("Shared"),
            Self(owner) => f.debug_tuple("Worker").field(&(owner - 1)).finish(),
        }
    }
}
