//! What a process asks of its worker when its poll returns.

use super::word::{Park, Seen, Word};
use super::{TaskRef, Worker};
use std::ptr;

/// What a process asks of its worker when its poll returns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Request {
    /// Nothing: if it is not complete, it waits for a foreign waker.
    #[default]
    None,
    /// Park it at a channel: where, the worker was told.
    Wait,
    /// Have something done when it has left its poll that says where it waits: what, the worker was
    /// told.
    Commit,
    /// Run it again, soon.
    Again,
    /// Run it again after everybody else.
    Yield,
    /// Run it again after a more urgent one.
    GiveWay,
    /// Drop it: why, the worker was told.
    End,
}

/// Where a process wants to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitOn {
    /// The peer's word.
    pub(crate) word: *const Word,
    /// Its value in which there was nothing to do.
    pub(crate) seen: Seen,
    /// Whether it waits to send: the channel is full.
    pub(crate) full: bool,
}

impl WaitOn {
    pub(super) const NOWHERE: Self = Self { word: ptr::null(), seen: Seen::NOTHING, full: false };
}

/// How a process comes to rest in a way that only a layer above knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit {
    /// Something in the process's own memory.
    pub(crate) what: *const (),
    /// Enters the process where it waits, unless it has something to do by now. From the moment
    /// that it can be found there, another worker may run it.
    pub(crate) commit: unsafe fn(*const (), TaskRef, &Worker) -> Park,
}

impl Commit {
    pub(super) const NOTHING: Self = Self { what: ptr::null(), commit: |_, _, _| Park::Moved };

    /// Has it done, for a process that has left its poll.
    pub(super) fn carry_out(self, task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for in the poll that has just returned `Pending`, by something that the
        // process still owns: what is dropped in the same poll takes its request back.
        unsafe { (self.commit)(self.what, task, worker) }
    }
}

/// Why a process is dropped before it is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndCause {
    /// Another process ended it.
    Killed,
    Stopped,
    Pruned,
    /// It reached the failure mark of this channel.
    FailedBy(*const ()),
}

/// An end with operations that its peer does not know of yet.
#[derive(Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) end: *const (),
    /// Publishes what the end has done.
    pub(crate) publish: unsafe fn(*const (), &Worker),
}
