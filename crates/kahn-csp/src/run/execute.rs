//! The run of a network of communicating processes.

use crate::channel::blocks::{self, Blocks, Ended};
use crate::language::common::Common;
use crate::language::csp::Csp;
use crate::network::clock::Timers;
use crate::network::core::{Core, Verdict};
use crate::network::error::RunError;
use crate::network::helpers::Helpers;
use crate::process::create::create;
use crate::process::scope::{Process, Scope};
use crate::run::channels;
use crate::run::handle::Handle;
use crate::run::options::{Announcement, Options};
use crate::wait::place::Place;
use kahn_engine::run::{RunPlan, end_what_is_left, outline, process_report, take_listed};
use kahn_engine::scheduler::Elapsed;
use kahn_engine::sync::{Access, Arc, Mutex, Ordering::*};
use kahn_engine::{Scheduler, WorkerCore};
use kahn_report::{Detail, Ending, FailureReport, ProcessEnd, Report, Summary};
use std::panic::Location;

/// What a run leaves behind.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     6 * 7
/// })?;
/// assert_eq!(run.result, 42);
/// assert_eq!(run.report.processes.len(), 1);
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Run<R> {
    /// What the first process returned.
    pub result: R,
    /// What happened, and what it cost.
    pub report: Report,
}

/// Runs a network of communicating processes, and returns when all of them have ended.
///
/// The code is the first process; the others are created by it and by each other, with the
/// [`Scope`] it is given. The calling thread is one of the workers.
///
/// What these processes come to may depend on the schedule, for they may choose: the report says so
/// with [`chooses`](Report::chooses). With one worker and a seed, every choice is repeatable.
///
/// # Errors
/// [`RunError::Ended`] if a process failed, or if processes are left that can never go on;
/// [`RunError::Nested`] inside an async process.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options};
///
/// let run = csp::run(Options::new(), async |scope| {
///     let (mut out, mut numbers) = csp::channel::<u32>("numbers");
///     scope.spawn("source", async move {
///         for n in 1..=10 {
///             out.send(n).await?;
///         }
///         Ok::<(), csp::Unsent<u32>>(())
///     });
///     let mut sum = 0;
///     while let Ok(n) = numbers.recv().await {
///         sum += n;
///     }
///     sum
/// })?;
/// assert_eq!(run.result, 55);
/// assert!(run.report.chooses);
/// # Ok::<(), csp::RunError>(())
/// ```
#[track_caller]
pub fn run<'env, C, F, R>(options: Options, code: C) -> Result<Run<R>, RunError>
where
    C: FnOnce(Scope<'env>) -> F,
    F: Future<Output = R> + Send + 'env,
    R: Send,
{
    Handle::new().run(options, code)
}

impl Handle {
    /// Runs a network of communicating processes as [`csp::run`](crate::run()) does, for any thread that
    /// has a clone of this handle.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options, Summary};
    ///
    /// let handle = csp::Handle::new();
    /// handle.stop();
    /// // It stops as soon as it has begun.
    /// let stopped = handle.run(Options::new(), async |_scope| std::future::pending::<()>().await);
    /// let error = stopped.expect_err("stopped");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
    /// ```
    ///
    /// # Errors
    /// As for [`csp::run`](crate::run()).
    ///
    /// # Panics
    /// Panics if the handle has had a run: each is for one.
    #[expect(clippy::needless_pass_by_value, reason = "as for every other kind of network")]
    #[track_caller]
    pub fn run<'env, C, F, R>(&self, options: Options, code: C) -> Result<Run<R>, RunError>
    where
        C: FnOnce(Scope<'env>) -> F,
        F: Future<Output = R> + Send + 'env,
        R: Send,
    {
        run_under(self, &options, code, Location::caller())
    }
}

fn run_under<'env, C, F, R>(
    handle: &Handle,
    options: &Options,
    code: C,
    site: &'static Location<'static>,
) -> Result<Run<R>, RunError>
where
    C: FnOnce(Scope<'env>) -> F,
    F: Future<Output = R> + Send + 'env,
    R: Send,
{
    let mut plan = RunPlan::new(options.schedule.clone())?;
    handle.attachment().take();
    if let Some(observer) = options.schedule.observer() {
        let stopped = handle.clone();
        observer
            .begins(&(Arc::new(handle.clone()) as _), &(Arc::new(move || stopped.stop()) as _))
            .map_err(RunError::Refused)?;
    }
    WorkerCore::with_current(|worker| {
        if let Some(worker) = worker {
            // Relaxed: read when the run that this one is part of is over.
            worker.scheduler().chose.store(true, Relaxed);
        }
    });
    let core = new_core(handle, options);
    let scheduler = Arc::clone(&core.scheduler);
    if let Some(observer) = options.schedule.observer() {
        let log = observer.log();
        if let Some(log) = &log {
            Place::log_kinds(&**log);
        }
        plan.log(log);
        if observer.wants().schedule {
            scheduler.language::<Csp>().observe_by(Arc::clone(observer));
            plan.observe();
        }
    }
    // Threads of blocking calls touch nothing but run queues.
    plan.configure(&scheduler, true);
    let mut first = create(&core, Process::named("main"), site, None, code(Scope::new()));
    core.timers.start(&scheduler);
    core.common.calls.begin(&scheduler);
    let attached = core.attachment.begin(&core);
    if let Some(Announcement(tell)) = &options.begun {
        tell(handle.clone());
    }
    let elapsed = scheduler.timed_run();
    attached.clear(core.helpers.calls());
    // SAFETY: the run is over.
    unsafe { end_what_is_left::<Csp>(&scheduler) };
    // Before ends that were dropped elsewhere are dropped here.
    let met = channels::left(&core);
    core.timers.end();
    core.helpers.end();
    core.common.calls.end();
    drop(attached);
    blocks::clear_buffers(&core.common);
    let result = first.take(Access::SHARED);
    core.drop_results();
    if let Some(Err(failed)) = &result
        && failed.panicked
    {
        core.unheard(failed.clone());
    }
    let mut report = report(&core, &met, elapsed);
    if let Some(observer) = options.schedule.observer() {
        observer.ends(elapsed.tick);
        let warnings = observer.reports(&report);
        report.warnings.extend(warnings);
    }
    match result {
        Some(Ok(result)) if report.is_success() => Ok(Run { result, report }),
        _ => Err(RunError::Ended(Box::new(report))),
    }
}

/// Makes what a network shares, and makes it known to its scheduler.
pub(crate) fn new_core(handle: &Handle, options: &Options) -> Box<Core> {
    let scheduler = Scheduler::new::<Csp>();
    let memory = Blocks::new(options.schedule.most_listed());
    let core = Box::new(Core {
        common: Common::new(scheduler.number, options.schedule.the_seed(), memory),
        attachment: handle.attachment(),
        scheduler,
        verdict: Mutex::new(None),
        quiescence: options.quiescence,
        places: options.schedule.names_places(),
        timers: Timers::new(options.virtual_time),
        helpers: Helpers::new(options.blocking_calls),
        unheard: Mutex::new(Vec::new()),
    });
    core.scheduler.set_language(core.language());
    core
}

fn report(core: &Core, met: &Ended, elapsed: Elapsed) -> Report {
    let verdict = core.verdict.lock().clone();
    let verdict = verdict.or_else(|| core.scheduler.refused_thread().map(Verdict::OutOfThreads));
    let cannot_run = matches!(verdict, Some(Verdict::Deadlock(_) | Verdict::Quiescent));
    let records = take_listed(&core.scheduler, cannot_run);
    let mut failures: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.ending {
            Some(Ending::Failed(failure)) => {
                Some(FailureReport::new(record.name.clone(), failure.clone(), Vec::new()))
            }
            _ => None,
        })
        .collect();
    failures.extend(core.unheard.lock().drain(..).map(FailureReport::from));
    if !core.places {
        for failure in &mut failures {
            failure.at = None;
        }
    }
    let (outcome, detail) = match verdict {
        Some(Verdict::Deadlock(waits)) => (Summary::Deadlock, Some(Detail::Waits(waits))),
        Some(Verdict::Stopped) => (Summary::Stopped, None),
        Some(Verdict::OutOfThreads(why)) => (Summary::OutOfThreads, Some(Detail::Threads(why))),
        _ if !failures.is_empty() => (Summary::Failed, None),
        Some(Verdict::Quiescent) => (Summary::Quiescent, None),
        None => (Summary::Finished, None),
    };
    let outline = outline(&core.scheduler, elapsed);
    let told = records.iter();
    Report {
        outcome,
        chooses: true,
        detail,
        failures,
        created: (outline.created.0, core.scheduler.language::<Csp>().channels()),
        processes: told
            .map(|record| process_report(record, ProcessEnd::of(record.ending.as_ref()), elapsed))
            .collect(),
        meetings: channels::reports(met, &records),
        more_meetings: (met.folded.0 > 0).then_some(met.folded),
        ..outline
    }
}
