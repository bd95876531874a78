//! What a process asks of its worker when its poll returns.

use super::Worker;
use super::word::{Seen, Word};
use std::ptr;

/// What a process asks of its worker when its poll returns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Request {
    /// Nothing: if it is not complete, it waits for a foreign waker.
    #[default]
    None,
    /// Park it at a channel: where, the worker was told.
    Wait,
    /// Run it again: soon, or after everybody else.
    Again { cold: bool },
    /// Drop it.
    End(EndCause),
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

/// Why a process is dropped before it is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndCause {
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
