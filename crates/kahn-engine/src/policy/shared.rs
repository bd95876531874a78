//! `shared`: one queue for all workers, first come first served.

use super::{Notify, Origin, Policy, Reach, Ready, Reason, Turn};
use crate::sync::{AtomicUsize, Mutex, Ordering::*};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Shared {
    ready: Mutex<VecDeque<Ready>>,
    len: AtomicUsize,
}

impl Policy for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn push(&self, _origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let mut queue = self.ready.lock();
        match reason {
            Reason::Preempted => queue.push_front(ready),
            Reason::New | Reason::Woken | Reason::Yielded => queue.push_back(ready),
        }
        self.len.store(queue.len(), Relaxed);
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
        if self.len.load(Relaxed) == 0 {
            return None;
        }
        let mut queue = self.ready.lock();
        let ready = queue.pop_front();
        self.len.store(queue.len(), Relaxed);
        ready
    }

    fn reach(&self) -> Reach {
        Reach::EveryWorker
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.len.load(Relaxed) > 0
    }
}
