//! Processes that wait together and go on together: where they ran, there they go on.
//!
//! Whoever releases them makes those ready that ran on its own worker. The others it hands to the
//! policy for their worker, as they are, one lock for a crowd: their headers and bodies are in that
//! core's cache, and it makes its way through them at the same time. The policy may refuse: processes
//! that do nothing but wait for each other are faster on one core.

use super::policy::Ready;
use super::task::{Task, own};
use super::{Kind, TaskRef, Worker};

/// For fewer a lock and a wake-up cost more than they save.
const CROWD: usize = 16;

/// Processes that wait, by worker.
#[derive(Debug, Default)]
pub(crate) struct Crowds {
    /// First those that run in a place of their own: a priority, a worker they are pinned to, a
    /// thread. Then, for each worker, those that ran there last.
    lists: Vec<Vec<TaskRef>>,
}

impl Crowds {
    /// Adds a process that `worker` runs.
    #[inline]
    pub(crate) fn add(&mut self, task: TaskRef, worker: &Worker) {
        let is_usual =
            !worker.is_dedicated() && task.kind() == Kind::Pooled && task.notes() & own::APART == 0;
        let list = if is_usual { worker.index() + 1 } else { 0 };
        if list >= self.lists.len() {
            self.lists.resize_with(list + 1, Vec::new);
        }
        self.lists[list].push(task);
    }

    /// Takes a process out, if it is here.
    pub(crate) fn remove(&mut self, task: *const Task) -> bool {
        self.lists.iter_mut().any(|list| {
            let place = list.iter().position(|waits| waits.as_ptr() == task);
            place.map(|place| list.swap_remove(place)).is_some()
        })
    }

    pub(crate) fn has(&self, task: TaskRef) -> bool {
        self.lists.iter().any(|list| list.contains(&task))
    }

    pub(crate) fn are_empty(&self) -> bool {
        self.lists.iter().all(Vec::is_empty)
    }
}

impl Worker {
    /// Makes all of them ready, and runs one of its own next.
    pub(crate) fn release(&self, crowds: &mut Crowds) {
        let own = if self.is_dedicated() { 0 } else { self.index() + 1 };
        for (place, crowd) in crowds.lists.iter_mut().enumerate() {
            let sent = place != own && place > 0 && self.send_home(place - 1, crowd);
            if !sent && place != own {
                self.wake_all(crowd.drain(..));
            }
        }
        if let Some(crowd) = crowds.lists.get_mut(own) {
            self.wake_all(crowd.drain(..));
        }
    }

    /// Hands a crowd to its worker; `false`, and nothing done, if it is small, or the policy would
    /// rather have them here.
    fn send_home(&self, worker: usize, crowd: &mut Vec<TaskRef>) -> bool {
        if self.is_dedicated() {
            return false;
        }
        let Some(policy) = self.policy() else { return false };
        let sent = crowd.len() >= CROWD
            && policy.take_crowd(self.index(), worker, &mut crowd.iter().copied().map(Ready::new));
        if sent {
            crowd.clear();
            self.scheduler().notify_anyone();
        }
        sent
    }
}
