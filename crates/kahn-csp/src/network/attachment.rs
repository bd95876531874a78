//! The state of a run, for those that stop it or look into it from outside.
//!
//! | a run is | means | leaves by |
//! |---|---|---|
//! | `Idle` | nothing runs yet; perhaps a run has taken it, perhaps that is to stop at once | the run |
//! | `Running` | processes run: a stop or a look goes through the network | the run, when its workers have come back |
//! | `Clearing` | what is left is dropped, calls on other threads are waited for | the run |
//! | `Over` | the run has ended | never |
//!
//! The one that stops or looks from another thread has the lock of the state, and the run cannot leave
//! `Running` without it: nothing is dropped that is looked at.

use crate::network::core::{Core, Verdict};
use kahn_engine::sync::{Condvar, Mutex};
use std::ptr::NonNull;
use std::time::Duration;

#[derive(Debug)]
enum State {
    Idle { is_taken: bool, is_stopped: bool },
    Running(NonNull<Core>),
    Clearing { calls: usize },
    Over,
}

// SAFETY: the core is shared by threads, and used only while the state says that it is there.
unsafe impl Send for State {}

/// The state of a run, for those outside. See the module's table.
#[derive(Debug)]
pub(crate) struct Attachment {
    state: Mutex<State>,
    over: Condvar,
}

impl Attachment {
    /// Nothing runs yet.
    pub(crate) fn new() -> Self {
        let idle = State::Idle { is_taken: false, is_stopped: false };
        Self { state: Mutex::new(idle), over: Condvar::new() }
    }

    /// Stops the run, or keeps it from beginning.
    pub(crate) fn stop(&self) {
        match &mut *self.state.lock() {
            State::Idle { is_stopped, .. } => *is_stopped = true,
            // SAFETY: it is there while the state says so.
            State::Running(core) => unsafe { core.as_ref() }.end_with(Verdict::Stopped),
            State::Clearing { .. } | State::Over => {}
        }
    }

    /// Stops the run and waits for its end, or for `deadline`. Then it returns what still runs, which
    /// `busy` tells of processes.
    pub(crate) fn stop_within(
        &self,
        deadline: Duration,
        busy: impl FnOnce(&Core) -> Vec<String>,
    ) -> Result<(), Vec<String>> {
        self.stop();
        let mut state = self.state.lock();
        let is_over = |state: &State| matches!(state, State::Over | State::Idle { .. });
        self.over.wait_while_for(&mut state, |state| !is_over(state), deadline);
        match &*state {
            State::Over | State::Idle { .. } => Ok(()),
            // SAFETY: as above.
            State::Running(core) => Err(busy(unsafe { core.as_ref() })),
            State::Clearing { calls } => {
                Err(vec![format!("{calls} of the blocking calls have not returned")])
            }
        }
    }

    /// Calls `look` with the network while it runs, and keeps it running meanwhile.
    pub(crate) fn with_running<R>(&self, look: impl FnOnce(&Core) -> R) -> Option<R> {
        let state = self.state.lock();
        let State::Running(core) = &*state else { return None };
        // SAFETY: as above.
        Some(look(unsafe { core.as_ref() }))
    }

    /// Whether the run has been told to end, or has ended.
    pub(crate) fn is_ending(&self) -> bool {
        match &*self.state.lock() {
            State::Idle { is_stopped, .. } => *is_stopped,
            // SAFETY: as above.
            State::Running(core) => unsafe { core.as_ref() }.scheduler.is_ending(),
            State::Clearing { .. } | State::Over => true,
        }
    }

    /// Takes it for a run, before anything of that is made.
    ///
    /// # Panics
    /// Panics if there was a run already.
    pub(crate) fn take(&self) {
        match &mut *self.state.lock() {
            State::Idle { is_taken, .. } if !*is_taken => *is_taken = true,
            _ => panic!("a `csp::Handle` is for one run: make another for this one"),
        }
    }

    /// The run that has [taken](Self::take) it begins; what is returned ends it for all that look from
    /// outside.
    pub(crate) fn begin(&self, core: &Core) -> Attached<'_> {
        let mut state = self.state.lock();
        let is_stopped = matches!(*state, State::Idle { is_stopped: true, .. });
        *state = State::Running(NonNull::from(core));
        drop(state);
        if is_stopped {
            core.end_with(Verdict::Stopped);
        }
        Attached(self)
    }
}

/// A run that may be looked at from outside; dropped when it is over.
pub(crate) struct Attached<'a>(&'a Attachment);

impl Attached<'_> {
    /// The workers have come back: processes are not looked at any more.
    pub(crate) fn clear(&self, calls: usize) {
        *self.0.state.lock() = State::Clearing { calls };
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        *self.0.state.lock() = State::Over;
        self.0.over.notify_all();
    }
}
