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
///
/// # Examples
///
/// A worker that has nothing to do sleeps, and is woken:
///
/// ```
/// use kahn_engine::sleep::{activity::ActivityCount, sleepers::Sleepers};
/// use kahn_engine::sync::Parker;
///
/// let (sleepers, activity, parker) = (Sleepers::new(), ActivityCount::of(1), Parker::new());
/// let mut is_last = false;
/// // It has no work, and if none is busy any more it is the one that looks whether the run is over.
/// assert!(sleepers.go_to_sleep(0, false, &activity, || false, || is_last = true));
/// assert!(is_last && activity.is_over());
///
/// // Another thread has made work: `notify` is the fence between that and the look for sleepers.
/// assert_eq!(sleepers.notify(&activity), Some(0));
/// assert!(activity.is_busy(), "the one that is woken counts from now on");
/// parker.unpark();
/// parker.park(); // the sleeper, which goes on
/// ```
#[derive(Debug, Default)]
pub struct Sleepers {
    list: Mutex<Vec<usize>>,
    /// As many as are in the list.
    count: AtomicUsize,
}

impl Sleepers {
    /// Makes an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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

    /// Takes one out, if any sleeps, for work that the caller has made; the caller unparks it.
    pub fn notify(&self, activity: &ActivityCount) -> Option<usize> {
        // Pairs with the fence in `go_to_sleep`.
        fence(SeqCst);
        if self.count(Relaxed) == 0 { None } else { self.wake_any(activity) }
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

    /// Has a worker that sleeps go on by itself, and counts it as busy; `false` if another thread has woken it
    /// already, which has counted it, and unparks it.
    pub fn go_on(&self, worker: usize, activity: &ActivityCount) -> bool {
        activity.wake();
        let goes_on = self.stay_awake(worker);
        if !goes_on {
            activity.withdraw(1);
        }
        goes_on
    }

    /// Takes a worker out that stays awake by itself; `false` if another thread has woken it already.
    fn stay_awake(&self, worker: usize) -> bool {
        let mut list = self.list.lock();
        let Some(place) = list.iter().position(|&sleeper| sleeper == worker) else {
            return false;
        };
        list.swap_remove(place);
        self.count.fetch_sub(1, SeqCst);
        true
    }

    /// Enters a worker, which stops being busy and is to park; `false` if it `has_work` after all. The `last_one`
    /// that was busy looks whether anything can go on.
    pub fn go_to_sleep(
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
