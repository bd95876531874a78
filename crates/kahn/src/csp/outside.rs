//! What is dropped where its network does not run: on another thread, or after the run.
//!
//! Ends and handles are values, so they may come to a thread that runs no process of their network.
//! There they only can be dropped. While the network runs, the call that closes the end is deferred to it:
//! its workers alone may touch what stands behind the gates, for with one worker these are not
//! locked. After the run nobody waits for anything, and the end is dropped on the spot.
//!
//! # A sender that is held
//!
//! A message whose sender still waits may be dropped outside as well; that call, a *release*, says
//! what became of the message. Its receiver may go on or end at the same time, on another worker, and
//! must not say anything else. So calls are begun in the order in which they were deferred, and nothing
//! else happens to the channel between the drop outside and the end of the release:
//!
//! | state of a release | `calls` | `releases` | the receiver comes back, or goes |
//! |---|---|---|---|
//! | deferred | holds it | – | begins it by [`finish_releases`] |
//! | begun by a worker | – | counts it | waits until the count is 0 |
//! | over, when the gate is open | – | – | finds a sender that is held no more |
//!
//! It is deferred and begun under one lock, so it is in one of the first two states until it is over. A
//! begun release takes a gate and runs no code of users before it is over, so waiting is short. A
//! call that is no release is not begun while there is a release, for it may be the receiver's end.

use super::body;
use super::core::Core;
use super::language::Worker;
use super::meeting::{Meeting, Side};
use kahn_engine::scheduler::DEFERRED;
use kahn_engine::sync::{Arc, Ordering::*, StaticMutex, thread};
use kahn_engine::{Scheduler, TaskRef};
use std::collections::{BTreeMap, VecDeque};

/// Something that only a worker of the network may do.
#[derive(Clone, Copy)]
pub(super) enum Deferred {
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

// SAFETY: what it names is type-stable memory, or kept by the reference that the call holds.
unsafe impl Send for Deferred {}

/// To be called when a release has let go of the gate, before code of users may run.
pub(super) type Over<'a> = &'a dyn Fn();

impl Deferred {
    fn run(self, network: u32, worker: Option<&Worker>) {
        match self {
            // SAFETY: the call took over the end.
            Self::Close { meeting, close, side, poison } => unsafe {
                close(meeting, side, poison, worker);
            },
            // SAFETY: the call took over the reference.
            Self::Call { what, call } => unsafe { call(what, worker) },
            // SAFETY: as above.
            Self::Release { what, release } => unsafe {
                release(what, worker, &|| release_is_over(network));
            },
            Self::Handle(task) => {
                if body::join_of(task).detach(false) {
                    Core::of(task).drop_result(task);
                }
                task.scheduler().release(task, false);
            }
        }
    }
}

struct Running {
    scheduler: Arc<Scheduler>,
    calls: VecDeque<Deferred>,
    /// Releases that were begun and are not over.
    releases: usize,
}

impl Running {
    /// Begins the next call, unless there is none or it has to wait for a release.
    fn begin(&mut self) -> Option<Deferred> {
        let is_release = matches!(self.calls.front()?, Deferred::Release { .. });
        if self.releases > 0 && !is_release {
            return None;
        }
        self.releases += usize::from(is_release);
        // Relaxed: a hint.
        self.scheduler.first.fetch_sub(DEFERRED, Relaxed);
        self.calls.pop_front()
    }
}

fn release_is_over(network: u32) {
    if let Some(running) = RUNNING.lock().get_mut(&network) {
        running.releases -= 1;
    }
}

/// The networks that run now, with what was deferred to them.
static RUNNING: StaticMutex<BTreeMap<u32, Running>> = StaticMutex::new(BTreeMap::new());

/// A network runs from now on: what is dropped elsewhere is deferred to it.
pub(super) fn begin(scheduler: &Arc<Scheduler>) {
    let running = Running { scheduler: Arc::clone(scheduler), calls: VecDeque::new(), releases: 0 };
    RUNNING.lock().insert(scheduler.number, running);
}

/// A network has ended: nobody waits in it any more.
pub(super) fn end(network: u32) {
    let running = RUNNING.lock().remove(&network);
    for call in running.into_iter().flat_map(|running| running.calls) {
        call.run(network, None);
    }
}

/// Makes the calls that were deferred to a network until now; tells whether there were any.
pub(super) fn run_deferred(scheduler: &Scheduler) -> bool {
    let network = scheduler.number;
    let count = RUNNING.lock().get(&network).map_or(0, |running| running.calls.len());
    if count == 0 {
        return false;
    }
    // Not as the worker that looks: it may be about to sleep, and must not keep what it wakes.
    let worker = Worker::for_clearing(scheduler);
    for _ in 0..count {
        let Some(call) = next_of(network) else { break };
        call.run(network, Some(&worker));
    }
    true
}

/// Begins the next call of a network; waits for releases that it has to wait for.
fn next_of(network: u32) -> Option<Deferred> {
    loop {
        if let Some(running) = RUNNING.lock().get_mut(&network)
            && !running.calls.is_empty()
        {
            let next = running.begin();
            if next.is_some() {
                return next;
            }
        } else {
            return None;
        }
        thread::yield_now();
    }
}

/// Returns when no release that was deferred before is deferred or begun. A release on this thread does not
/// wait for itself: it is over before anything else runs there.
#[cold]
pub(super) fn finish_releases(scheduler: &Scheduler) {
    let has_release = |running: &Running| {
        running.releases > 0
            || running.calls.iter().any(|all| matches!(all, Deferred::Release { .. }))
    };
    while RUNNING.lock().get(&scheduler.number).is_some_and(has_release) {
        if !run_deferred(scheduler) {
            thread::yield_now();
        }
    }
}

/// Defers a call to a network, or makes it here if that has ended.
pub(super) fn defer(network: u32, call: Deferred) {
    let scheduler = {
        let mut all = RUNNING.lock();
        all.get_mut(&network).map(|running| {
            running.calls.push_back(call);
            running.scheduler.first.fetch_add(DEFERRED, Relaxed);
            Arc::clone(&running.scheduler)
        })
    };
    match (scheduler, call) {
        (Some(scheduler), _) => scheduler.look_again(),
        // The block of the process is gone with its network.
        (None, Deferred::Handle(_)) => {}
        (None, Deferred::Close { .. } | Deferred::Call { .. } | Deferred::Release { .. }) => {
            call.run(network, None);
        }
    }
}
