//! `threads`: one thread of the operating system for each process, scheduled by the system.

use super::{Notify, Origin, Policy, Ready, Reason, Turn};

/// Has no queues: processes are bound to their threads, and the one worker only monitors them.
#[derive(Debug)]
pub(super) struct PerProcess;

impl Policy for PerProcess {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        unreachable!("process `{}` has a thread of its own", ready.name())
    }

    fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
        None
    }

    fn has_work(&self, _worker: usize) -> bool {
        false
    }
}
