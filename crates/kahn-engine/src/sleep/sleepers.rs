//! The workers that sleep, and how one comes to be among them or is woken without work being missed.
//!
//! # The protocol
//!
//! *To sleep*: enter `sleepers` and count in `sleeping`, fence, look into the queues once more, stop
//! being `busy`, park. *To notify*: fence (after the work is in a queue), and if `sleeping` is not
//! zero and a core is free take one out of `sleepers`, count it `busy`, unpark it.
//!
//! A core is free while fewer workers are awake than there are cores. Without a free core neither
//! side need act: a worker that is awake comes to the work, and the last of them to go to sleep sees a
//! free core and looks. (What is pinned to a worker, that looks for itself.) So workers beyond the cores
//! are asleep from the start ([`crate::thread`]); the
//! monitor joins in if one that is awake dispatches nothing. All this only under policies that
//! share their work.
//!
//! The race to fear: the sleeper looks before the work is there, and the notifier looks before the
//! sleeper has entered. The two fences rule it out: in the order of the fences either the sleeper's
//! comes first, then the notifier sees `sleeping`; or the notifier's does, then the sleeper sees
//! the work. A worker that is taken out of `sleepers` finds its parker notified, so it does not sleep
//! even if it had not parked yet.
//!
//! The list and the count change together, under the lock of the list. A worker that is in the list
//! before it is counted can be taken out and counted off, and the count is one too low until it
//! counts itself: a notifier of another sleeper may find zero then, and wake none.

use crate::sleep::activity::ActivityCount;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, Ordering::*, fence};

/// The workers that sleep, by their indices. The first monitors the others, the last is woken first.
#[derive(Debug)]
pub struct Sleepers {
    list: Mutex<Vec<usize>>,
    /// As many as are in the list.
    count: AtomicUsize,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self { list: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    /// Those that sleep before anything runs.
    pub(crate) fn begin(&self, sleepers: impl Iterator<Item = usize>) {
        let mut list = self.list.lock();
        list.extend(sleepers);
        self.count.store(list.len(), SeqCst);
    }

    /// The list, which does not change while it is locked.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.list.lock()
    }

    /// How many sleep.
    #[inline]
    pub(crate) fn count(&self, order: Ordering) -> usize {
        self.count.load(order)
    }

    /// The one that monitors the others.
    pub(crate) fn monitor(&self) -> Option<usize> {
        self.list.lock().first().copied()
    }

    /// Whether a worker is among them.
    pub(crate) fn has(&self, worker: usize) -> bool {
        self.list.lock().contains(&worker)
    }

    /// Takes one out and counts it as busy; the caller unparks it.
    pub(crate) fn wake_any(&self, activity: &ActivityCount) -> Option<usize> {
        let mut list = self.list.lock();
        let worker = list.pop()?;
        self.count_woken(activity);
        Some(worker)
    }

    /// Takes this one out, if it is there, and counts it as busy; the caller unparks it. Returns
    /// whether it was the monitor.
    pub(crate) fn wake(&self, worker: usize, activity: &ActivityCount) -> Option<bool> {
        let mut list = self.list.lock();
        let place = list.iter().position(|&sleeper| sleeper == worker)?;
        list.remove(place);
        self.count_woken(activity);
        Some(place == 0)
    }

    /// The list is locked: a worker that finds itself taken out, whatever unparked it, goes on as one
    /// that is busy.
    fn count_woken(&self, activity: &ActivityCount) {
        activity.wake();
        self.count.fetch_sub(1, SeqCst);
    }

    /// Takes a worker out that stays awake by itself; `false` if another thread has woken it already.
    pub(crate) fn stay_awake(&self, worker: usize) -> bool {
        let mut list = self.list.lock();
        let Some(place) = list.iter().position(|&sleeper| sleeper == worker) else {
            return false;
        };
        list.swap_remove(place);
        self.count.fetch_sub(1, SeqCst);
        true
    }

    /// Enters a worker, which stops being busy; `false` if it `has_work` after all. The `last_one`
    /// that was busy looks whether anything can go on.
    pub(crate) fn go_to_sleep(
        &self,
        worker: usize,
        as_monitor: bool,
        activity: &ActivityCount,
        has_work: impl FnOnce() -> bool,
        last_one: impl FnOnce(),
    ) -> bool {
        {
            let mut list = self.list.lock();
            let place = if as_monitor { 0 } else { list.len() };
            list.insert(place, worker);
            self.count.fetch_add(1, SeqCst);
        }
        // Pairs with the fence of the notifier.
        fence(SeqCst);
        if has_work() && self.stay_awake(worker) {
            return false;
        }
        if activity.go_idle() {
            last_one();
        }
        true
    }
}
