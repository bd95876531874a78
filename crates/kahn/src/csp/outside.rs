//! What is dropped where its network does not run: on another thread, or after the run.
//!
//! Ends and handles are values, so they may come to a thread that runs no process of their network.
//! There they only can be dropped. While the network runs, the dropping is left to it as an errand:
//! its workers alone may touch what stands behind the gates, for with one worker these are not
//! locked. After the run nobody waits for anything, and the end is dropped on the spot.
//!
//! # A sender that is held
//!
//! A message whose sender still waits may be dropped outside as well; that errand, a *release*, says
//! what became of the message. Its receiver may go on or end at the same time, on another worker, and
//! must not say anything else. So errands are begun in the order in which they were left, and nothing
//! else happens to the channel between the drop outside and the end of the release:
//!
//! | state of a release | `errands` | `releases` | the receiver comes back, or goes |
//! |---|---|---|---|
//! | left | holds it | – | begins it by [`finish_releases`] |
//! | begun by a worker | – | counts it | waits until the count is 0 |
//! | over, when the gate is open | – | – | finds a sender that is held no more |
//!
//! It is left and begun under one lock, so it is in one of the first two states until it is over. A
//! begun release takes a gate and runs no code of users before it is over, so waiting is short. An
//! errand that is no release is not begun while there is a release, for it may be the receiver's end.

use super::body;
use super::meeting::{Meeting, Side};
use crate::scheduler::{ERRAND, Scheduler, TaskRef, Worker};
use crate::sync::{Arc, Ordering::*, StaticMutex, thread};
use std::collections::{BTreeMap, VecDeque};

/// Something that only a worker of the network may do.
#[derive(Clone, Copy)]
pub(super) enum Errand {
    /// Close an end; the function knows the type of the messages.
    Close {
        meeting: *const Meeting,
        close: unsafe fn(*const Meeting, Side, bool, Option<&Worker>),
        side: Side,
        poison: bool,
    },
    /// Do something to what is behind a counted reference, and give that up.
    Call { what: *const (), call: unsafe fn(*const (), Option<&Worker>) },
    /// Say what became of a message whose sender is held.
    Release { what: *const (), release: unsafe fn(*const (), Option<&Worker>, Over<'_>) },
    /// Give up the handle of a process.
    Handle(TaskRef),
}

// SAFETY: what it names is type-stable memory, or kept by the reference that the errand holds.
unsafe impl Send for Errand {}

/// To be called when a release has let go of the gate, before code of users may run.
pub(super) type Over<'a> = &'a dyn Fn();

impl Errand {
    fn run(self, network: u32, worker: Option<&Worker>) {
        match self {
            // SAFETY: the errand took over the end.
            Self::Close { meeting, close, side, poison } => unsafe {
                close(meeting, side, poison, worker);
            },
            // SAFETY: the errand took over the reference.
            Self::Call { what, call } => unsafe { call(what, worker) },
            // SAFETY: as above.
            Self::Release { what, release } => unsafe {
                release(what, worker, &|| release_is_over(network));
            },
            Self::Handle(task) => {
                // Its result, if there is one by now, is dropped with the network's memory: nobody
                // here knows its type. That is a leak of what it owns, and only of that.
                body::join_of(task).detach(false);
                task.scheduler().release(task, false);
            }
        }
    }
}

struct Left {
    scheduler: Arc<Scheduler>,
    errands: VecDeque<Errand>,
    /// Releases that were begun and are not over.
    releases: usize,
}

impl Left {
    /// Begins the next errand, unless there is none or it has to wait for a release.
    fn begin(&mut self) -> Option<Errand> {
        let is_release = matches!(self.errands.front()?, Errand::Release { .. });
        if self.releases > 0 && !is_release {
            return None;
        }
        self.releases += usize::from(is_release);
        // Relaxed: a hint.
        self.scheduler.first.fetch_sub(ERRAND, Relaxed);
        self.errands.pop_front()
    }
}

fn release_is_over(network: u32) {
    if let Some(left) = RUNNING.lock().get_mut(&network) {
        left.releases -= 1;
    }
}

/// The networks that run now, with what others have left for them.
static RUNNING: StaticMutex<BTreeMap<u32, Left>> = StaticMutex::new(BTreeMap::new());

/// A network runs from now on: what is dropped elsewhere is left for it.
pub(super) fn begin(scheduler: &Arc<Scheduler>) {
    let left = Left { scheduler: Arc::clone(scheduler), errands: VecDeque::new(), releases: 0 };
    RUNNING.lock().insert(scheduler.number, left);
}

/// A network has ended: nobody waits in it any more.
pub(super) fn end(network: u32) {
    let left = RUNNING.lock().remove(&network);
    for errand in left.into_iter().flat_map(|left| left.errands) {
        errand.run(network, None);
    }
}

/// Does what was left for a network until now; tells whether there was anything.
pub(super) fn run_errands(scheduler: &Scheduler) -> bool {
    let network = scheduler.number;
    let count = RUNNING.lock().get(&network).map_or(0, |left| left.errands.len());
    if count == 0 {
        return false;
    }
    // Not as the worker that looks: it may be about to sleep, and must not keep what it wakes.
    let worker = Worker::for_clearing(scheduler);
    for _ in 0..count {
        let Some(errand) = next_of(network) else { break };
        errand.run(network, Some(&worker));
    }
    true
}

/// Begins the next errand of a network; waits for releases that it has to wait for.
fn next_of(network: u32) -> Option<Errand> {
    loop {
        if let Some(left) = RUNNING.lock().get_mut(&network)
            && !left.errands.is_empty()
        {
            let next = left.begin();
            if next.is_some() {
                return next;
            }
        } else {
            return None;
        }
        thread::yield_now();
    }
}

/// Returns when no release that was left before is left or begun. A release on this thread does not
/// wait for itself: it is over before anything else runs there.
#[cold]
pub(super) fn finish_releases(scheduler: &Scheduler) {
    let has_release = |left: &Left| {
        left.releases > 0 || left.errands.iter().any(|all| matches!(all, Errand::Release { .. }))
    };
    while RUNNING.lock().get(&scheduler.number).is_some_and(has_release) {
        if !run_errands(scheduler) {
            thread::yield_now();
        }
    }
}

/// Leaves something to a network, or does it here if that has ended.
pub(super) fn leave(network: u32, errand: Errand) {
    let scheduler = {
        let mut running = RUNNING.lock();
        running.get_mut(&network).map(|left| {
            left.errands.push_back(errand);
            left.scheduler.first.fetch_add(ERRAND, Relaxed);
            Arc::clone(&left.scheduler)
        })
    };
    match (scheduler, errand) {
        (Some(scheduler), _) => scheduler.look_again(),
        // The block of the process is gone with its network.
        (None, Errand::Handle(_)) => {}
        (None, Errand::Close { .. } | Errand::Call { .. } | Errand::Release { .. }) => {
            errand.run(network, None);
        }
    }
}
