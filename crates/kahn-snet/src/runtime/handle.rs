//! A run from outside: stop it, look into it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use kahn_report::Explanation;
use kahn_report::observe::{Look, Sampled, Survey};
use parking_lot::Mutex;

use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::marks::Failures;

/// Stops a run from outside, and lets it be looked at while it goes on: with
/// [`Runtime::Network`](super::Runtime::Network), for [`Runtime::Front`](super::Runtime::Front) has no processes,
/// and nothing is seen of it.
///
/// Clones are of the same run, which is the one that has it in its [`Options`](super::Options).
///
/// # Examples
///
/// ```
/// use kahn_snet::boxes::Boxes;
/// use kahn_snet::record::Record;
/// use kahn_snet::runtime::{Failure, Handle, Options, Ready, RunError, run};
/// use kahn_snet::Program;
///
/// let program = Program::read("main.snet", "net main connect [{<n>} -> {<n=n + 1>}];");
/// let net = program.net(None).unwrap();
/// let handle = Handle::new();
/// let options = Options { handle: Some(handle.clone()), ..Options::default() };
/// let input = (0..).map(|n| {
///     if n == 1000 {
///         handle.stop();
///     }
///     Record::new().tag("n", n)
/// });
/// let mut output: Vec<Record> = Vec::new();
/// let ended = run(&program, net, &Boxes::of(&program), &options, Ready(input), &mut output);
/// assert!(matches!(ended, Err(RunError::Failed(why)) if matches!(*why, Failure::Stopped)));
/// ```
#[derive(Clone, Default)]
pub struct Handle(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_stopped: bool,
    running: Option<Running>,
}

/// What can be done with a run that goes on.
#[derive(Clone)]
struct Running {
    failures: Arc<Failures>,
    /// What looks into it, if its runtime has that.
    seen: Option<Arc<dyn Sampled>>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("is_stopped", &self.0.lock().is_stopped).finish()
    }
}

impl Handle {
    /// Makes the handle of a run that is still to come.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::runtime::{Handle, Options};
    ///
    /// let options = Options { handle: Some(Handle::new()), ..Options::default() };
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run, or lets it not begin: no record is worked at any more. It is over when the calls of boxes
    /// have returned, and the input that it waits for has come.
    ///
    /// # Examples
    ///
    /// See [`Handle`].
    pub fn stop(&self) {
        let mut state = self.0.lock();
        state.is_stopped = true;
        if let Some(running) = &state.running {
            running.failures.end_at_once(Failure::Stopped);
        }
    }

    /// Tells of a run that begins, until what is returned goes.
    pub(super) fn begin(
        this: Option<&Self>,
        failures: &Arc<Failures>,
        seen: impl FnOnce() -> Option<Arc<dyn Sampled>>,
    ) -> Begun {
        let Some(handle) = this else { return Begun(None) };
        let failures = Arc::clone(failures);
        let running = Running { failures, seen: seen() };
        let mut state = handle.0.lock();
        if state.is_stopped {
            running.failures.end_at_once(Failure::Stopped);
        }
        state.running = Some(running);
        drop(state);
        Begun(Some(handle.clone()))
    }

    /// What can be looked at, not under the lock: looks may take long.
    fn seen(&self) -> Option<Arc<dyn Sampled>> {
        self.0.lock().running.as_ref()?.seen.clone()
    }
}

impl Sampled for Handle {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        match self.seen() {
            Some(run) => run.look(places, found),
            None => *found = Look::default(),
        }
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        self.seen().map_or_else(Survey::default, |run| run.survey(processes, channels))
    }

    fn explain(&self) -> Explanation {
        self.seen().map_or_else(Explanation::default, |run| run.explain())
    }
}

/// A run that goes on while this lives.
#[must_use = "the run is over when this goes"]
pub(super) struct Begun(Option<Handle>);

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(Handle(state)) = &self.0 {
            state.lock().running = None;
        }
    }
}
