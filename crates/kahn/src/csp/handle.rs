//! A run from outside: stop it, look into it.
//!
//! | a handle is | means | leaves by |
//! |---|---|---|
//! | `Idle` | nothing runs yet; perhaps it is to stop at once | the run |
//! | `Running` | processes run: a stop or a look goes through the network | the run, when its workers have come back |
//! | `Clearing` | what is left is dropped, calls on other threads are waited for | the run |
//! | `Over` | the run has ended | never |
//!
//! Whoever stops or looks from another thread has the lock of the handle, and the run cannot leave
//! `Running` without it: nothing is dropped that is looked at.

use super::core::{Core, Verdict};
use super::explain::explain;
use super::language::Worker;
use super::outside::{self, Deferred};
use crate::network::StillRunning;
use kahn_engine::Kind;
use kahn_engine::sync::{Arc, Condvar, Mutex};
use kahn_report::{Activity, Explanation};
use std::ptr::NonNull;
use std::time::Duration;

/// How long a look waits for a network with one worker, which has to look itself.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
enum State {
    Idle { is_stopped: bool },
    Running(NonNull<Core>),
    Clearing { calls: usize },
    Over,
}

// SAFETY: the core is shared by threads, and used only while the state says that it is there.
unsafe impl Send for State {}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    over: Condvar,
}

/// Stops a run of communicating processes from outside, and tells who waits for what.
///
/// Made before the run, or by one of its processes with [`handle()`]. Clones are of the same run. A
/// stop drops every process where it is, as soon as it gives its worker back.
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, Summary, csp};
/// use std::time::Duration;
///
/// let handle = csp::Handle::new();
/// let outside = handle.clone();
/// let stopper = std::thread::spawn(move || outside.stop_within(Duration::from_secs(60)));
/// let error = handle.run(RunOptions::new(), async |scope| {
///     scope.spawn("until it is stopped", async {
///         while !csp::handle().is_ending() {
///             csp::yield_now().await;
///         }
///     });
/// });
/// assert!(stopper.join().expect("it does not panic").is_ok());
/// let error = error.expect_err("stopped");
/// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
/// ```
#[derive(Clone, Debug)]
pub struct Handle(Arc<Inner>);

impl Default for Handle {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the handle of the run that this process belongs to. It may be taken to other threads.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](super::run()).
///
/// # Examples
///
/// ```
/// use kahn::csp;
///
/// let run = csp::run(kahn::RunOptions::new(), async |scope| {
///     let (mut a, mut from_a) = csp::channel::<u32>("a");
///     let (mut b, mut from_b) = csp::channel::<u32>("b");
///     let left = csp::Process::named("left").killable();
///     let left = scope.fork(left, async move {
///         a.send(1).await.ok()?;
///         from_b.recv().await.ok()?;
///         a.send(2).await.ok()
///     });
///     let right = csp::Process::named("right").killable();
///     let right = scope.fork(right, async move {
///         from_a.recv().await.ok()?;
///         b.send(1).await.ok()?;
///         b.send(2).await.ok()
///     });
///     // At last both send, and wait for ever.
///     let stuck = loop {
///         let explanation = csp::handle().explain();
///         let stuck = explanation.waiting.into_iter().filter(|waiting| waiting.is_stuck);
///         let stuck = stuck.map(|waiting| waiting.process.to_string()).collect::<Vec<_>>();
///         if stuck.is_empty() { csp::yield_now().await } else { break stuck }
///     };
///     left.kill();
///     right.kill();
///     stuck
/// })?;
/// assert_eq!(run.result, ["left", "right"]);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn handle() -> Handle {
    Core::with_here("a handle of the run", |core, _, _| core.handle.clone())
}

impl Handle {
    /// Makes the handle of a run that is still to come: [`Handle::run`].
    pub fn new() -> Self {
        let state = Mutex::new(State::Idle { is_stopped: false });
        Self(Arc::new(Inner { state, over: Condvar::new() }))
    }

    /// Stops the run, as soon as every process gives its worker back. A run that has not begun
    /// stops when it does.
    pub fn stop(&self) {
        let mut state = self.0.state.lock();
        match &mut *state {
            State::Idle { is_stopped } => *is_stopped = true,
            // SAFETY: it is there while the state says so.
            State::Running(core) => unsafe { core.as_ref() }.end_with(Verdict::Stopped),
            State::Clearing { .. } | State::Over => {}
        }
    }

    /// Stops the run and waits until every process has ended, or for `deadline`.
    ///
    /// Not for a process of the run itself: it would wait for its own end.
    ///
    /// # Errors
    /// [`StillRunning`] names the processes that have not given their workers back, and calls on
    /// other threads that have not returned. The run goes on waiting for them.
    pub fn stop_within(&self, deadline: Duration) -> Result<(), StillRunning> {
        self.stop();
        let mut state = self.0.state.lock();
        let is_over = |state: &State| matches!(state, State::Over | State::Idle { .. });
        self.0.over.wait_while_for(&mut state, |state| !is_over(state), deadline);
        let processes = match &*state {
            State::Over | State::Idle { .. } => return Ok(()),
            // SAFETY: as above.
            State::Running(core) => busy(unsafe { core.as_ref() }),
            State::Clearing { calls } => {
                vec![format!("{calls} of the blocking calls have not returned")]
            }
        };
        Err(StillRunning { processes })
    }

    /// Tells what every process does right now, who waits for whom, and which of them can
    /// [never go on](crate::Waiting::is_stuck). Empty unless the run is on.
    ///
    /// A network with one worker looks itself, as soon as the process that runs gives the worker
    /// back; if that takes seconds, only the process that keeps it is told of.
    pub fn explain(&self) -> Explanation {
        let state = self.0.state.lock();
        let State::Running(core) = &*state else { return Explanation::default() };
        // SAFETY: as above.
        let core = unsafe { core.as_ref() };
        let network = core.scheduler.number;
        // With one worker the gates are not locked: nobody else may look behind them.
        let is_ours = core.has_gates() || Worker::running_in(network).is_some();
        if is_ours {
            return explain(core);
        }
        let busy = busy_processes(core);
        drop(state);
        let answer = Arc::new(Answer::default());
        let what = Arc::into_raw(Arc::clone(&answer)).cast();
        outside::defer(network, Deferred::Call { what, call: answer_at });
        let mut text = answer.text.lock();
        answer.bell.wait_while_for(&mut text, |text| text.is_none(), PATIENCE);
        text.take().unwrap_or(Explanation { waiting: busy, ..Explanation::default() })
    }

    /// Whether the run has been told to end, or has ended.
    pub fn is_ending(&self) -> bool {
        match &*self.0.state.lock() {
            State::Idle { is_stopped } => *is_stopped,
            // SAFETY: as above.
            State::Running(core) => unsafe { core.as_ref() }.scheduler.is_ending(),
            State::Clearing { .. } | State::Over => true,
        }
    }

    /// The run begins; what is returned ends it for whoever has a handle.
    ///
    /// # Panics
    /// Panics if the handle has had a run.
    pub(super) fn begin(&self, core: &Core) -> Attached<'_> {
        let mut state = self.0.state.lock();
        let State::Idle { is_stopped } = *state else {
            panic!("a `csp::Handle` is for one run: make another for this one")
        };
        *state = State::Running(NonNull::from(core));
        drop(state);
        if is_stopped {
            core.end_with(Verdict::Stopped);
        }
        Attached(self)
    }
}

/// A run that has a handle; dropped when it is over.
pub(super) struct Attached<'a>(&'a Handle);

impl Attached<'_> {
    /// The workers have come back: nobody looks at processes any more.
    pub(super) fn clear(&self, calls: usize) {
        *self.0.0.state.lock() = State::Clearing { calls };
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        *self.0.0.state.lock() = State::Over;
        self.0.0.over.notify_all();
    }
}

/// Where a worker of the network puts what it has seen.
#[derive(Default)]
struct Answer {
    text: Mutex<Option<Explanation>>,
    bell: Condvar,
}

unsafe fn answer_at(answer: *const (), worker: Option<&Worker>) {
    // SAFETY: the call has a counted reference, which is given up here.
    let answer = unsafe { Arc::from_raw(answer.cast::<Answer>()) };
    let text = worker.map(|worker| Core::with_worker(worker, explain)).unwrap_or_default();
    *answer.text.lock() = Some(text);
    answer.bell.notify_all();
}

/// Those that workers or threads of their own run at this moment.
fn busy_processes(core: &Core) -> Vec<kahn_report::Waiting> {
    let table = core.scheduler.table.lock();
    let running = core.scheduler.running();
    let mut busy = table.all();
    busy.retain(|task| running.contains(task) || task.kind() == Kind::Threaded);
    busy.sort_by_key(|task| task.info().identity);
    busy.into_iter().map(|task| super::explain::told(core, task, Activity::Computes)).collect()
}

fn busy(core: &Core) -> Vec<String> {
    busy_processes(core).iter().map(ToString::to_string).collect()
}
