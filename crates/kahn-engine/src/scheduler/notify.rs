//! How sleeping workers are notified of work: see [`sleep::sleepers`](crate::sleep::sleepers).

use crate::scheduler::Scheduler;
use crate::sync::{Ordering::*, fence};

impl Scheduler {
    /// Wakes one sleeping worker, if there is one and a core for it.
    pub(crate) fn notify_anyone(&self) {
        // Pairs with the fence in `Sleepers::go_to_sleep`.
        fence(SeqCst);
        if self.has_free_core() {
            self.wake_one();
        }
    }

    /// Whether more workers sleep than are beyond the cores: then one could be awake that is not.
    /// More than there are cores would only take turns; if those that are awake do not get on, the
    /// monitor takes part all the same.
    #[inline]
    pub(crate) fn has_free_core(&self) -> bool {
        // A party may give up its ends before the run: none sleeps then.
        let config = self.config_if_any();
        // Relaxed: read after a fence, or as a hint.
        config.is_some_and(|config| self.sleepers.count(Relaxed) > config.surplus)
    }

    /// Whether some worker has nothing to do.
    #[inline]
    pub(crate) fn is_hungry(&self) -> bool {
        self.searching.load(Relaxed) > 0 || self.has_free_core()
    }

    fn wake_one(&self) {
        if let Some(worker) = self.sleepers.wake_any(&self.activity) {
            self.slots()[worker].parker.unpark();
        }
    }

    /// Wakes one sleeping worker unless one searches already. Called by a worker that is awake and
    /// would run the process itself: a lost chance costs time, nothing else.
    #[inline]
    pub(crate) fn notify_thief(&self) {
        if self.has_free_core() && self.searching.load(Relaxed) == 0 {
            self.notify_anyone();
        }
    }

    /// The same, if this worker has something that another would find. It knows that
    /// [there is a core](Self::has_free_core).
    #[inline(never)]
    pub(crate) fn invite(&self, by: usize) {
        if self.searching.load(Relaxed) == 0 && self.run_queues().has_to_spare(by) {
            self.notify_anyone();
        }
    }

    pub(crate) fn notify_worker(&self, worker: usize) {
        fence(SeqCst);
        if self.sleepers.count(Relaxed) == 0 {
            return;
        }
        if let Some(was_monitor) = self.sleepers.wake(worker, &self.activity) {
            self.slots()[worker].parker.unpark();
            if was_monitor {
                self.pass_on_monitoring();
            }
        }
    }

    /// Whether every worker but the caller sleeps.
    pub(crate) fn all_others_sleep(&self) -> bool {
        self.sleepers.count(SeqCst) + 1 >= self.slots().len()
    }
}
