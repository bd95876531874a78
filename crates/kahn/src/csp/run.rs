//! The run of a network of communicating processes.

use super::blocking::Helpers;
use super::core::{Core, Verdict};
use super::handle::Handle;
use super::language::Csp;
use super::language::Worker;
use super::memory::{self, Ended};
use super::process::{Process, Scope};
use super::timer::Timers;
use super::{outside, tally};
use crate::network::run::{Plan, plan, process_report, process_sums, worker_reports};
use crate::network::{RunError, RunOptions};
use kahn_engine::sync::system::clock;
use kahn_engine::sync::{Arc, AtomicU64, Mutex, Ordering::*};
use kahn_engine::{Config, EndCause, Scheduler, Settings, WorkerCore};
use kahn_report::{Detail, Ending, FailureReport, ProcessEnd, Report, Summary};
use std::panic::Location;

/// What a run leaves behind.
///
/// # Examples
///
/// See [`run()`].
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
/// [`RunError::UnknownPolicy`]; [`RunError::Nested`] inside an async process.
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, csp};
///
/// let run = csp::run(RunOptions::new(), async |scope| {
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
/// # Ok::<(), kahn::RunError>(())
/// ```
#[track_caller]
pub fn run<'env, C, F, R>(options: RunOptions, code: C) -> Result<Run<R>, RunError>
where
    C: FnOnce(Scope<'env>) -> F,
    F: Future<Output = R> + Send + 'env,
    R: Send,
{
    Handle::new().run(options, code)
}

impl Handle {
    /// Runs a network of communicating processes as [`csp::run`](super::run()) does, for whoever
    /// has a clone of this handle.
    ///
    /// # Errors
    /// As for [`csp::run`](super::run()).
    ///
    /// # Panics
    /// Panics if the handle has had a run: each is for one.
    ///
    /// # Examples
    ///
    /// See [`Handle`].
    #[track_caller]
    pub fn run<'env, C, F, R>(&self, options: RunOptions, code: C) -> Result<Run<R>, RunError>
    where
        C: FnOnce(Scope<'env>) -> F,
        F: Future<Output = R> + Send + 'env,
        R: Send,
    {
        run_under(self, options, code, Location::caller())
    }
}

fn run_under<'env, C, F, R>(
    handle: &Handle,
    options: RunOptions,
    code: C,
    site: &'static Location<'static>,
) -> Result<Run<R>, RunError>
where
    C: FnOnce(Scope<'env>) -> F,
    F: Future<Output = R> + Send + 'env,
    R: Send,
{
    let (options, Plan { policy, thread_set, own_threads, waits_once, .. }) = plan(options)?;
    WorkerCore::with_current(|worker| {
        if let Some(worker) = worker {
            // Relaxed: read when the run that this one is part of is over.
            worker.scheduler().chose.store(true, Relaxed);
        }
    });
    let workers = thread_set.workers();
    let core = new_core(handle, &options);
    let scheduler = Arc::clone(&core.scheduler);
    scheduler.configure(Config::new(
        policy,
        thread_set,
        Settings {
            accounting: options.accounting,
            wait_once: waits_once || options.wait_once,
            samples: false,
            threads: own_threads,
            pin: options.pin,
            // Threads that help out touch nothing but run queues.
            solo: workers == 1 && !own_threads,
            listed_processes: options.listed,
        },
    ));
    core.timers.start(&scheduler);
    let mut first = core.create(Process::named("main"), site, None, code(Scope::new()));
    outside::begin(&scheduler);
    memory::begin(scheduler.number, options.listed);
    let attached = handle.begin(&core);
    clock::start();
    let since = clock::ticks();
    scheduler.run();
    let ticks = clock::ticks() - since;
    attached.clear(core.helpers.calls());
    end_processes(&scheduler);
    // Before ends that were dropped elsewhere are dropped here.
    let channels = tally::left(&core);
    core.timers.end();
    core.helpers.end();
    outside::end(scheduler.number);
    drop(attached);
    memory::clear_buffers(scheduler.number);
    let result = first.take();
    if let Some(Err(failed)) = &result
        && failed.panicked
    {
        core.unheard(failed.clone());
    }
    let report = report(&core, &channels, ticks, own_threads);
    match result {
        Some(Ok(result)) if report.is_success() => Ok(Run { result, report }),
        _ => Err(RunError::Ended(Box::new(report))),
    }
}

/// Makes what a network shares, and makes it known to its scheduler.
pub(super) fn new_core(handle: &Handle, options: &RunOptions) -> Box<Core> {
    let core = Box::new(Core {
        handle: handle.clone(),
        scheduler: Scheduler::new(Csp::tag()),
        verdict: Mutex::new(None),
        quiescence: options.quiescence,
        seed: options.seed,
        places: options.places,
        channels: AtomicU64::new(0),
        timers: Timers::new(options.virtual_time),
        helpers: Helpers::new(options.blocking_calls),
        unheard: Mutex::new(Vec::new()),
    });
    core.scheduler.set_language(Csp::new(&core));
    core
}

/// Ends the run this process belongs to: every process is dropped where it is. The outcome is
/// [`Summary::Stopped`].
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, Summary, csp};
///
/// let error = csp::run(RunOptions::new(), async |scope| {
///     scope.spawn("for ever", std::future::pending::<()>());
///     csp::stop();
/// });
/// let error = error.expect_err("stopped");
/// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
/// ```
///
/// # Panics
/// Panics outside of a process of [`run()`].
///
/// Source: CCSP section 1.1, `Shutdown`.
pub fn stop() {
    Core::with_here("stopping", |core, _, _| core.end_with(Verdict::Stopped));
}

/// Drops the bodies of processes that have not ended, in the order of their creation.
fn end_processes(scheduler: &Scheduler) {
    let mut left = scheduler.table.lock().all();
    left.retain(|task| !task.has_ended());
    left.sort_by_key(|task| task.info().identity);
    for task in left {
        Worker::for_clearing(scheduler).end(task, EndCause::Stopped);
    }
}

fn report(core: &Core, channels: &Ended, ticks: u64, own_threads: bool) -> Report {
    let scheduler = &core.scheduler;
    let verdict = core.verdict.lock().clone();
    let table = scheduler.table.lock();
    let mut records = table.records();
    if matches!(verdict, Some(Verdict::Deadlock(_) | Verdict::Quiescent)) {
        for record in &mut records {
            record.ending.take_if(|ending| matches!(ending, Ending::Stopped));
        }
    }
    let mut failures: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.ending {
            Some(Ending::Failed(failure)) => Some(FailureReport {
                process: record.name.clone(),
                message: failure.message.clone(),
                panicked: failure.panicked,
                at: failure.at.clone().filter(|_| core.places),
                ended_with_it: Vec::new(),
            }),
            _ => None,
        })
        .collect();
    failures.extend(core.unheard.lock().drain(..).map(|failed| FailureReport {
        process: failed.process,
        message: failed.message,
        panicked: failed.panicked,
        at: failed.at.filter(|_| core.places),
        ended_with_it: Vec::new(),
    }));
    let (outcome, detail) = match verdict {
        Some(Verdict::Deadlock(waits)) => (Summary::Deadlock, Some(Detail::Waits(waits))),
        Some(Verdict::Stopped) => (Summary::Stopped, None),
        Some(Verdict::OutOfThreads(why)) => (Summary::OutOfThreads, Some(Detail::Threads(why))),
        _ if !failures.is_empty() => (Summary::Failed, None),
        Some(Verdict::Quiescent) => (Summary::Quiescent, None),
        None => (Summary::Finished, None),
    };
    let (more, sums) = table.folded;
    Report {
        outcome,
        chooses: true,
        detail,
        failures,
        policy: scheduler.policy().name().to_owned(),
        workers: scheduler.worker_count(),
        seconds: clock::to_duration(ticks).as_secs_f64(),
        created: (table.created, core.channels.load(Relaxed)),
        slot_bytes: (0, 0),
        most_bytes: 0,
        grown: Vec::new(),
        weight_unknown: Vec::new(),
        walks: 0,
        warnings: scheduler.config().refusal.clone().into_iter().collect(),
        processes: records
            .iter()
            .map(|record| process_report(record, ProcessEnd::of(record.ending.as_ref()), ticks))
            .collect(),
        more_processes: (more > 0).then(|| (more, Box::new(process_sums(&sums)))),
        channels: Vec::new(),
        more_channels: None,
        meetings: tally::reports(channels, &records),
        more_meetings: (channels.folded.0 > 0).then_some(channels.folded),
        rebalances: None,
        local_share: None,
        worker_reports: if own_threads { Vec::new() } else { worker_reports(scheduler) },
    }
}
