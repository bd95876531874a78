//! Whether a thread is the only one that can touch something.

/// Whether other threads may touch something at the same time.
///
/// A network with one worker and no other threads is in *single-threaded mode*: nothing happens
/// between two instructions of its worker, so protocols need no read-modify-writes. The mode is known
/// before the run starts, and ends when a process gets a thread of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// No other thread: plain loads and stores do.
    Alone,
    /// Other threads may do the same now.
    Shared,
}

impl Access {
    /// [`Alone`](Self::Alone) if so, else [`Shared`](Self::Shared).
    #[inline(always)]
    pub fn alone_if(is_alone: bool) -> Self {
        if is_alone { Self::Alone } else { Self::Shared }
    }

    /// Whether there is no other thread.
    #[inline(always)]
    pub fn is_alone(self) -> bool {
        matches!(self, Self::Alone)
    }
}
