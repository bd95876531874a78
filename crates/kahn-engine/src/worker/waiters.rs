//! Processes that wait for one event, as a phase of a barrier, and are woken together: each goes on
//! where it ran last.
//!
//! The worker that wakes them makes those ready that ran on it. The others it hands to the policy for
//! their home worker, a batch under one lock: their headers and bodies are in that core's cache, and
//! both workers run their share at the same time. The policy may refuse: processes that do nothing
//! but wait for each other are faster on one core.

use crate::policy::Ready;
use crate::queue::lane::Lane;
use crate::task::{Task, own};
use crate::worker::WorkerCore;
use crate::{Kind, TaskRef};

/// For fewer a lock and a wake-up cost more than they save.
const FEWEST_OF_A_BATCH: usize = 16;

/// Processes that wait, by worker.
#[derive(Debug, Default)]
pub struct Waiters {
    /// First those that run in a place of their own: a priority, a worker they are pinned to, a
    /// thread. Then, for each worker, those that ran there last.
    lists: Vec<Vec<TaskRef>>,
}

impl Waiters {
    /// Adds a process that `worker` runs.
    ///
    /// # Safety
    /// The process comes to rest here: until it is removed or released nothing else makes it ready.
    pub unsafe fn add(&mut self, task: TaskRef, worker: &WorkerCore) {
        let list = Self::list_of(task, worker);
        if list >= self.lists.len() {
            self.lists.resize_with(list + 1, Vec::new);
        }
        self.lists[list].push(task);
    }

    /// The same if there is room; `false`, and nothing done, if there is none.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    #[inline(always)]
    pub unsafe fn add_if_room(&mut self, task: TaskRef, worker: &WorkerCore) -> bool {
        let list = self.lists.get_mut(Self::list_of(task, worker));
        let Some(list) = list.filter(|list| list.len() < list.capacity()) else { return false };
        list.push(task);
        true
    }

    /// Where a process stands that this worker runs.
    #[inline(always)]
    fn list_of(task: TaskRef, worker: &WorkerCore) -> usize {
        let is_usual = !worker.is_dedicated() && task.notes() & own::APART == 0;
        debug_assert!(
            worker.is_dedicated() || task.kind() == Kind::Pooled,
            "a process with a thread of its own runs there"
        );
        if is_usual { worker.index() + 1 } else { 0 }
    }

    /// Takes a process out, if it is here.
    pub fn remove(&mut self, task: *const Task) -> bool {
        self.lists.iter_mut().any(|list| {
            let place = list.iter().position(|waits| waits.as_ptr() == task);
            place.map(|place| list.swap_remove(place)).is_some()
        })
    }

    /// Whether a process is here.
    pub fn has(&self, task: TaskRef) -> bool {
        self.lists.iter().any(|list| list.contains(&task))
    }

    /// Whether there is none.
    pub fn are_empty(&self) -> bool {
        self.lists.iter().all(Vec::is_empty)
    }
}

impl WorkerCore {
    /// Makes all of them ready, and runs one of its own next.
    pub fn release(&self, waiters: &mut Waiters) {
        let own = if self.is_dedicated() { 0 } else { self.index() + 1 };
        for (place, batch) in waiters.lists.iter_mut().enumerate() {
            let sent = place != own && place > 0 && self.wake_at_home(place - 1, batch);
            if !sent && place != own {
                self.wake_all(batch.drain(..));
            }
        }
        if let Some(batch) = waiters.lists.get_mut(own) {
            match self.lane().filter(|_| own > 0) {
                Some(lane) => self.wake_usual(lane, batch),
                None => self.wake_all(batch.drain(..)),
            }
        }
    }

    /// Queues processes that are usual, without a look at them, and runs the last next.
    fn wake_usual(&self, lane: &Lane, batch: &mut Vec<TaskRef>) {
        let Some(last) = batch.pop() else { return };
        let has_more = !batch.is_empty();
        lane.queue_all_hot(batch);
        batch.clear();
        if has_more {
            self.has_queued(lane);
        }
        self.wake(Ready::new(last));
    }

    /// Hands a batch to its home worker; `false`, and nothing done, if it is small or the policy
    /// refuses.
    fn wake_at_home(&self, worker: usize, batch: &mut Vec<TaskRef>) -> bool {
        if self.is_dedicated() {
            return false;
        }
        let Some(queues) = self.run_queues() else { return false };
        let sent = batch.len() >= FEWEST_OF_A_BATCH
            && queues.push_batch(self.index(), worker, batch.iter().copied().map(Ready::new));
        if sent {
            batch.clear();
            self.scheduler().notify_anyone();
        }
        sent
    }
}
