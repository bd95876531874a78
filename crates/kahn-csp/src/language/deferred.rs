//! What is dropped where its network does not run: on another thread, or after the run.
//!
//! Ends and handles are values, so they may come to a thread that runs no process of their network.
//! There they only can be dropped. While the network runs, the call that closes the end is deferred to it:
//! its workers alone may touch what stands behind the gates, for with one worker these are not
//! locked. After the run nothing waits, and the end is dropped on the spot.
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
//! | deferred | holds it | – | begins it by [`Calls::finish_releases`] |
//! | begun by a worker | – | counts it | waits until the count is 0 |
//! | over, when the gate is open | – | – | finds a sender that is held no more |
//!
//! It is deferred and begun under one lock, so it is in one of the first two states until it is over. A
//! begun release takes a gate and runs no code of users before it is over, so waiting is short. A
//! call that is no release is not begun while there is a release, for it may be the receiver's end.

use crate::language::csp::Worker;
use kahn_engine::Scheduler;
use kahn_engine::scheduler::DEFERRED;
use kahn_engine::sync::{Arc, Ordering::*, StaticMutex, thread};
use std::collections::VecDeque;

/// To be called when a release has let go of the gate, before code of users may run.
pub(crate) type Over<'a> = &'a dyn Fn();

/// Does what was deferred to `what`; with no worker if the network does not run any more.
pub(super) type Call = unsafe fn(*const (), Option<&Worker>, Over<'_>);

/// Something that only a worker of the network may do.
#[derive(Clone, Copy)]
pub(crate) struct Deferred {
    /// What is done something to; the call takes it over.
    what: *const (),
    call: Call,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is done in any case.
    Call,
    /// It says what became of a message whose sender is held. Done in any case.
    Release,
    /// Nothing is to be done if the network is gone.
    WithTheNetwork,
}

// SAFETY: what it names is type-stable memory, or kept by a reference that the call takes over.
unsafe impl Send for Deferred {}

impl Deferred {
    /// Something that is done in any case.
    pub(crate) fn call(what: *const (), call: Call) -> Self {
        Self { what, call, kind: Kind::Call }
    }

    /// What says what became of a message whose sender is held.
    pub(crate) fn release(what: *const (), call: Call) -> Self {
        Self { what, call, kind: Kind::Release }
    }

    /// Something that needs not be done if the network is gone.
    pub(crate) fn with_the_network(what: *const (), call: Call) -> Self {
        Self { what, call, kind: Kind::WithTheNetwork }
    }

    fn is_release(&self) -> bool {
        self.kind == Kind::Release
    }

    fn run(self, calls: &Calls, worker: Option<&Worker>) {
        // SAFETY: the call takes over what it is done to, and is made once.
        unsafe { (self.call)(self.what, worker, &|| calls.release_is_over()) };
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
        let is_release = self.calls.front()?.is_release();
        if self.releases > 0 && !is_release {
            return None;
        }
        self.releases += usize::from(is_release);
        // Relaxed: a hint.
        self.scheduler.first.fetch_sub(DEFERRED, Relaxed);
        self.calls.pop_front()
    }
}

/// What was deferred to a network, while it runs.
pub(crate) struct Calls(StaticMutex<Option<Running>>);

impl Calls {
    /// Nothing runs yet.
    pub(super) fn new() -> Self {
        Self(StaticMutex::new(None))
    }

    /// The network runs from now on: what is dropped elsewhere is deferred to it.
    pub(crate) fn begin(&self, scheduler: &Arc<Scheduler>) {
        let scheduler = Arc::clone(scheduler);
        *self.0.lock() = Some(Running { scheduler, calls: VecDeque::new(), releases: 0 });
    }

    /// The network has ended: nothing waits in it any more.
    pub(crate) fn end(&self) {
        let running = self.0.lock().take();
        for call in running.into_iter().flat_map(|running| running.calls) {
            call.run(self, None);
        }
    }

    /// Makes the calls that were deferred until now; tells whether there were any.
    pub(crate) fn run(&self, scheduler: &Scheduler) -> bool {
        let count = self.0.lock().as_ref().map_or(0, |running| running.calls.len());
        if count == 0 {
            return false;
        }
        // Not as the worker that looks: it may be about to sleep, and must not keep what it wakes.
        let worker = Worker::for_clearing(scheduler);
        for _ in 0..count {
            let Some(call) = self.next() else { break };
            call.run(self, Some(&worker));
        }
        true
    }

    /// Begins the next call; waits for releases that it has to wait for.
    fn next(&self) -> Option<Deferred> {
        loop {
            if let Some(running) = self.0.lock().as_mut()
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

    fn release_is_over(&self) {
        if let Some(running) = self.0.lock().as_mut() {
            running.releases -= 1;
        }
    }

    /// Returns when no release that was deferred before is deferred or begun. A release on this thread
    /// does not wait for itself: it is over before anything else runs there.
    #[cold]
    pub(crate) fn finish_releases(&self, scheduler: &Scheduler) {
        let has_release = |running: &Running| {
            running.releases > 0 || running.calls.iter().any(Deferred::is_release)
        };
        while self.0.lock().as_ref().is_some_and(has_release) {
            if !self.run(scheduler) {
                thread::yield_now();
            }
        }
    }

    /// Defers a call to the network, or makes it here if that has ended.
    pub(super) fn defer(&self, call: Deferred) {
        let scheduler = self.0.lock().as_mut().map(|running| {
            running.calls.push_back(call);
            running.scheduler.first.fetch_add(DEFERRED, Relaxed);
            Arc::clone(&running.scheduler)
        });
        match scheduler {
            Some(scheduler) => scheduler.look_again(),
            None if call.kind == Kind::WithTheNetwork => {}
            None => call.run(self, None),
        }
    }
}
