//! What is dropped where its network does not run: on another thread, or after the run.
//!
//! Ends and handles are values, so they may come to a thread that runs no process of their network.
//! There they only can be dropped. While the network runs, the dropping is left to it as an errand:
//! its workers alone may touch what stands behind the gates, for with one worker these are not
//! locked. After the run nobody waits for anything, and the end is dropped on the spot.

use super::body;
use super::meeting::{Meeting, Side};
use crate::scheduler::{ERRAND, Scheduler, TaskRef, Worker};
use crate::sync::{Arc, Ordering::*, StaticMutex};
use std::collections::BTreeMap;
use std::mem;

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
    /// Give up the handle of a process.
    Handle(TaskRef),
}

// SAFETY: what it names is type-stable memory, or kept by the reference that the errand holds.
unsafe impl Send for Errand {}

impl Errand {
    fn run(self, worker: Option<&Worker>) {
        match self {
            // SAFETY: the errand took over the end.
            Self::Close { meeting, close, side, poison } => unsafe {
                close(meeting, side, poison, worker);
            },
            // SAFETY: the errand took over the reference.
            Self::Call { what, call } => unsafe { call(what, worker) },
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
    errands: Vec<Errand>,
}

/// The networks that run now, with what others have left for them.
static RUNNING: StaticMutex<BTreeMap<u32, Left>> = StaticMutex::new(BTreeMap::new());

/// A network runs from now on: what is dropped elsewhere is left for it.
pub(super) fn begin(scheduler: &Arc<Scheduler>) {
    let left = Left { scheduler: Arc::clone(scheduler), errands: Vec::new() };
    RUNNING.lock().insert(scheduler.number, left);
}

/// A network has ended: nobody waits in it any more.
pub(super) fn end(network: u32) {
    let left = RUNNING.lock().remove(&network);
    for errand in left.into_iter().flat_map(|left| left.errands) {
        errand.run(None);
    }
}

/// Does what was left for a network; tells whether there was anything.
pub(super) fn run_errands(scheduler: &Scheduler) -> bool {
    let errands = {
        let mut running = RUNNING.lock();
        running.get_mut(&scheduler.number).map(|left| mem::take(&mut left.errands))
    };
    let errands = errands.unwrap_or_default();
    if errands.is_empty() {
        return false;
    }
    // Relaxed: a hint.
    scheduler.first.fetch_sub(errands.len() * ERRAND, Relaxed);
    // Not as the worker that looks: it may be about to sleep, and must not keep what it wakes.
    let worker = Worker::for_clearing(scheduler);
    for &errand in &errands {
        errand.run(Some(&worker));
    }
    true
}

/// Leaves something to a network, or does it here if that has ended.
pub(super) fn leave(network: u32, errand: Errand) {
    let scheduler = {
        let mut running = RUNNING.lock();
        running.get_mut(&network).map(|left| {
            left.errands.push(errand);
            left.scheduler.first.fetch_add(ERRAND, Relaxed);
            Arc::clone(&left.scheduler)
        })
    };
    match (scheduler, errand) {
        (Some(scheduler), _) => scheduler.look_again(),
        // The block of the process is gone with its network.
        (None, Errand::Handle(_)) => {}
        (None, Errand::Close { .. } | Errand::Call { .. }) => errand.run(None),
    }
}
