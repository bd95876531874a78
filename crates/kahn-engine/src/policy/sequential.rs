//! `sequential`: one worker, first come first served. The oracle of every test.

use super::{Notify, Origin, Policy, Ready, Reason, Turn};
use crate::sync::Mutex;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Sequential(Mutex<VecDeque<Ready>>);

impl Policy for Sequential {
    fn name(&self) -> &'static str {
        "sequential"
    }

    fn push(&self, _origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let mut queue = self.0.lock();
        match reason {
            Reason::Preempted => queue.push_front(ready),
            Reason::New | Reason::Woken | Reason::Yielded => queue.push_back(ready),
        }
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
        self.0.lock().pop_front()
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.lock().is_empty()
    }
}
