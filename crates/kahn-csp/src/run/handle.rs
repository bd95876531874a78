//! A run from outside: stop it, look into it.

use crate::language::csp::Worker;
use crate::language::deferred::{Deferred, Over};
use crate::network::attachment::Attachment;
use crate::network::core::Core;
use crate::run::explain::{Stuck, explain, find_stuck, told};
use crate::run::look::{look, survey};
use kahn_engine::Kind;
use kahn_engine::sync::{Arc, Condvar, Mutex};
use kahn_report::observe::{Look, Sampled, Survey};
use kahn_report::{Activity, Explanation, StillRunning, Waiting};
use std::mem;
use std::ops::Range;
use std::time::Duration;

/// How long a look waits for a network with one worker, which has to look itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it waits for what is told a few times a second, where it can do without.
const SOON: Duration = Duration::from_millis(20);

/// Of how many processes it is found, a few times a second, whether they are stuck.
const MOST: usize = 2000;

/// Stops a run of communicating processes from outside, tells which process waits for what, and lets it be
/// [sampled](Sampled).
///
/// Made before the run, or by one of its processes with [`handle()`]. Clones are of the same run. A
/// stop drops every process where it is, as soon as it gives its worker back.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options, Summary};
/// use std::time::Duration;
///
/// let handle = csp::Handle::new();
/// let outside = handle.clone();
/// let stopper = std::thread::spawn(move || outside.stop_within(Duration::from_secs(60)));
/// let error = handle.run(Options::new(), async |scope| {
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
pub struct Handle(Arc<Attachment>);

impl Default for Handle {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the handle of the run that this process belongs to. It may be taken to other threads.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
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
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn handle() -> Handle {
    Core::with_here("a handle of the run", |core| Handle(Arc::clone(&core.attachment)))
}

impl Handle {
    /// Makes the handle of a run that is still to come: [`Handle::run`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let handle = csp::Handle::new();
    /// let run = handle.run(Options::new(), async |_scope| 1)?;
    /// assert_eq!(run.result, 1);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn new() -> Self {
        Self(Arc::new(Attachment::new()))
    }

    /// Stops the run, as soon as every process gives its worker back: each is dropped where it is. A run
    /// that has not begun stops when it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options, Summary};
    ///
    /// let error = csp::run(Options::new(), async |scope| {
    ///     scope.spawn("for ever", std::future::pending::<()>());
    ///     csp::handle().stop();
    /// });
    /// let error = error.expect_err("stopped");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
    /// ```
    ///
    /// Source: CCSP section 1.1, `Shutdown`.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Stops the run and waits until every process has ended, or for `deadline`.
    ///
    /// Not for a process of the run itself: it would wait for its own end.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    /// use std::time::Duration;
    ///
    /// let handle = csp::Handle::new();
    /// let outside = handle.clone();
    /// let stopper = std::thread::spawn(move || outside.stop_within(Duration::from_secs(60)));
    /// let stopped = handle.run(Options::new(), async |_scope| std::future::pending::<()>().await);
    /// assert!(stopped.is_err());
    /// assert!(stopper.join().expect("it does not panic").is_ok());
    /// ```
    ///
    /// # Errors
    /// [`StillRunning`] names the processes that have not given their workers back, and calls on
    /// other threads that have not returned. The run goes on waiting for them.
    pub fn stop_within(&self, deadline: Duration) -> Result<(), StillRunning> {
        let names = |core: &Core| busy_processes(core).iter().map(ToString::to_string).collect();
        self.0.stop_within(deadline, names).map_err(|processes| StillRunning { processes })
    }

    /// Tells what every process does right now, which waits for which, and which of them can
    /// [never go on](crate::Waiting::is_stuck). Empty unless the run is on.
    ///
    /// A network with one worker looks itself, as soon as the process that runs gives the worker
    /// back; if that takes seconds, only the process that keeps it is told of.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new().workers(1), async |scope| {
    ///     let (_out, mut silent) = csp::channel::<u32>("silent");
    ///     let listener = csp::Process::named("listener").killable();
    ///     let listener = scope.fork(listener, async move { silent.recv().await });
    ///     csp::yield_now().await;
    ///     let explanation = csp::handle().explain();
    ///     listener.kill();
    ///     explanation.waiting.iter().any(|waiting| waiting.process.to_string() == "listener")
    /// })?;
    /// assert!(run.result);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        let explained = self.find(PATIENCE, explain, |core| Explanation {
            waiting: busy_processes(core),
            ..Explanation::default()
        });
        explained.unwrap_or_default()
    }

    /// Finds something of the run, if it is on. A network with one worker does so itself; if it does not come to it
    /// in time, `instead` is found by this thread.
    fn find<T: Send + 'static>(
        &self,
        patience: Duration,
        find: fn(&Core) -> T,
        instead: impl FnOnce(&Core) -> T,
    ) -> Option<T> {
        let found = self.0.with_running(|core| {
            // With one worker the gates are not locked: no other thread may look behind them.
            let network = core.scheduler.number;
            let is_ours = core.has_gates() || Worker::running_in(network).is_some();
            if is_ours { Ok(find(core)) } else { Err((Arc::clone(&core.common), instead(core))) }
        });
        let (common, instead) = match found? {
            Ok(found) => return Some(found),
            Err(asked) => asked,
        };
        let answer =
            Arc::new(Answer { find, found: Mutex::new(Given::NotYet), given: Condvar::new() });
        let what = Arc::into_raw(Arc::clone(&answer)).cast();
        common.defer(Deferred::call(what, answer_at::<T>));
        let mut found = answer.found.lock();
        answer.given.wait_while_for(&mut found, |found| matches!(found, Given::NotYet), patience);
        match mem::replace(&mut *found, Given::Over) {
            Given::Found(found) => Some(found),
            Given::NotYet => Some(instead),
            Given::Over => None,
        }
    }

    /// Tells whether the run has been told to end, or has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let handle = csp::Handle::new();
    /// assert!(!handle.is_ending());
    /// handle.run(Options::new(), async |_scope| {})?;
    /// assert!(handle.is_ending());
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn is_ending(&self) -> bool {
        self.0.is_ending()
    }

    /// The state of the run that this is a handle of.
    pub(crate) fn attachment(&self) -> Arc<Attachment> {
        Arc::clone(&self.0)
    }
}

impl Sampled for Handle {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        let looked = self.0.with_running(|core| look(core, places, found));
        if looked.is_none() {
            *found = Look::default();
        }
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        let stuck = self.find(SOON, |core| find_stuck(core, MOST), |_| Stuck::default());
        let stuck = stuck.unwrap_or_default();
        let survey = self.0.with_running(|core| survey(core, processes, &channels, stuck));
        survey.unwrap_or_default()
    }

    fn explain(&self) -> Explanation {
        Self::explain(self)
    }
}

/// What a worker was asked to find.
enum Given<T> {
    NotYet,
    Found(T),
    /// The run is over.
    Over,
}

/// Where a worker of the network puts what it has found.
struct Answer<T> {
    find: fn(&Core) -> T,
    found: Mutex<Given<T>>,
    given: Condvar,
}

unsafe fn answer_at<T>(answer: *const (), worker: Option<&Worker>, _is_over: Over<'_>) {
    // SAFETY: the call has a counted reference, which is given up here.
    let answer = unsafe { Arc::from_raw(answer.cast::<Answer<T>>()) };
    let found = worker.map(|worker| (answer.find)(Core::of_worker(worker)));
    *answer.found.lock() = found.map_or(Given::Over, Given::Found);
    answer.given.notify_all();
}

/// Those that workers or threads of their own run at this moment.
fn busy_processes(core: &Core) -> Vec<Waiting> {
    let table = core.scheduler.table.lock();
    let running = core.scheduler.running();
    let mut busy = table.all();
    busy.retain(|task| running.contains(task) || task.kind() == Kind::Threaded);
    busy.sort_by_key(|task| task.info().identity);
    busy.into_iter().map(|task| told(core, task, Activity::Computes)).collect()
}
