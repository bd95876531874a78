//! The run: prepare, run, clear away, report.

use super::check::Problem;
use super::core::{Core, Verdict};
use super::observed::Observed;
use super::options::{Choice, RunOptions};
use super::weights::{growth, too_heavy, weight_unknown};
use super::{Network, StopHandle};
use crate::channel::language::Worker;
use crate::channel::language::{Detecting, Kahn};
use crate::channel::table::{ChannelCounts, ChannelRecord};
use crate::deadlock::{Detection, Resolver};
use kahn_engine::WorkerCore;
use kahn_engine::accounting::Accounting;
use kahn_engine::policy::{self, POLICIES, Placement, PlacementError, Policy, Threads};
use kahn_engine::sync::system::{ThreadDoor, clock, cores};
use kahn_engine::sync::{Arc, Mutex, Ordering::*, panics, thread};
use kahn_engine::{
    Balance, Config, EndCause, Kind, ProcessCounts, ProcessRecord, Scheduler, Settings, ThreadSet,
};
use kahn_report::{
    ChannelReport, Detail, Ending, Name, ProcessEnd, ProcessReport, Rebalances, Report, Summary,
    WorkerReport,
};
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Why a run gave no success.
///
/// Shows the explanation as its `Debug` form too, so that `unwrap` and a `main` that returns it
/// speak to people.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The network is written down wrong; nothing ran.
    #[error("the network cannot run:{}", listed(.0))]
    Check(Vec<Problem>),
    /// There is no policy of that name; nothing ran.
    #[error("there is no policy `{name}`: choose one of {}", policy_names())]
    UnknownPolicy {
        /// The name.
        name: String,
    },
    /// The list of places makes no sense for this network; nothing ran.
    #[error("the placement, {0}")]
    Placement(PlacementError),
    /// `run` was called inside an async process, whose worker it would hold; nothing ran.
    #[error(
        "a network cannot be run inside an async process, for it would hold the worker: \
         use `run_async().await`, or a blocking process"
    )]
    Nested,
    /// The system refused threads for the workers, and the policy, which is the caller's own, was made
    /// for all of them; nothing ran.
    #[error("out of threads: {0}")]
    OutOfThreads(String),
    /// The run did not end as it should.
    #[error("{}", .0.reason())]
    Ended(Box<Report>),
}

/// Problems that a message tells one by one; the error itself has all of them.
const LISTED: usize = 20;

fn listed(problems: &[Problem]) -> String {
    let first = problems.iter().take(LISTED);
    let text = first.fold(String::new(), |text, problem| text + "\n  " + &problem.to_string());
    match problems.len().saturating_sub(LISTED) {
        0 => text,
        more => format!("{text}\n  and {more} more"),
    }
}

fn policy_names() -> String {
    let names: Vec<_> = POLICIES.iter().map(|entry| entry.name).collect();
    names.join(", ")
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RunError {
    /// Returns the report, if anything ran.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Ended(report) => Some(report),
            _ => None,
        }
    }
}

/// What a run leaves behind: the report, and the records it was made from.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) channels: Vec<ChannelRecord>,
}

impl Network<'_> {
    /// Runs the network on all cores under the default policy; returns when all processes have
    /// ended.
    ///
    /// The calling thread is one of the workers. A task of another executor that calls this holds
    /// the thread it runs on until the run is over, and with it the tasks that wait for that thread:
    /// nothing can be seen of it here, so nothing refuses it. In a task, await
    /// [`run_async`](Network::run_async), as the example `other_executor` does, or give the call to a
    /// thread that may be held (tokio's `spawn_blocking`).
    ///
    /// # Failures
    /// A process fails by returning an error or by a panic. A process that receives from it gets
    /// what it sent before, and fails with it where that ends; all others run to their end. The
    /// failure counts, and the run is no success, unless its process may be
    /// [pruned](crate::ProcessEnd::Pruned): if all readers of the senders that it held last left
    /// before their end, the process is dropped when it next waits or begins an operation, so whether
    /// it came to its failure is a matter of the schedule. Nothing is told of such a failure. A
    /// process with [effects](crate::Process::effects), one that may create others and one that never
    /// had a sender always count.
    ///
    /// A panic is printed by the hook for panics, when it happens, and told with its place in the
    /// report ([`FailureReport::at`](crate::FailureReport::at)): the first run puts a hook in front of
    /// the one that is there, which it calls.
    ///
    /// # Errors
    /// [`RunError::Check`] if the network is written down wrong; [`RunError::Ended`] if a failure
    /// counts, if processes are left that can never go on, if the byte budget did not allow a
    /// channel to grow, if an end was misused, or if the run was stopped.
    pub fn run(self) -> Result<Report, RunError> {
        self.run_with(RunOptions::default())
    }

    /// Runs the network as told; see [`run`](Self::run).
    ///
    /// # Errors
    /// As for [`run`](Self::run); [`RunError::UnknownPolicy`] for a policy that does not exist.
    pub fn run_with(self, options: RunOptions) -> Result<Report, RunError> {
        let outcome = execute(self, options)?;
        let report = outcome.report;
        if report.is_success() { Ok(report) } else { Err(RunError::Ended(Box::new(report))) }
    }
}

impl Network<'static> {
    /// Runs the network on threads of its own, beside whoever awaits it.
    ///
    /// For tasks of other executors, and for a network inside an async process. Dropping the result
    /// stops the run and leaves its threads to end by themselves, which is why nothing may be
    /// borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, RunOptions};
    ///
    /// let mut outer = Network::new();
    /// let (out, sums) = outer.channel("sums");
    /// outer.process("inner runs", out, async |mut out| {
    ///     let mut inner = Network::new();
    ///     let numbers = inner.source("numbers", 0..10_u32);
    ///     let sum = inner.fold("sum", numbers, 0, |sum, n| sum + n);
    ///     inner.run_async(RunOptions::new().workers(1)).await?;
    ///     out.send(sum.take().unwrap_or(0)).await;
    ///     Ok::<(), kahn::RunError>(())
    /// });
    /// let all = outer.collect("all", sums);
    /// outer.run()?;
    /// assert_eq!(all.take(), Some(vec![45]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn run_async(self, options: RunOptions) -> Running {
        let stop = self.stop_handle();
        let shared = Arc::new(Mutex::new(Shared { result: None, waker: None }));
        let theirs = Arc::clone(&shared);
        let spawned = thread::Builder::new().name("kahn worker 0".into()).spawn(move || {
            let result = self.run_with(options);
            let waker = {
                let mut shared = theirs.lock();
                shared.result = Some(result);
                shared.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        let refused = spawned.err();
        Running { stop, shared, refused }
    }
}

#[derive(Debug)]
struct Shared {
    result: Option<Result<Report, RunError>>,
    waker: Option<Waker>,
}

/// A run beside its caller; made by [`Network::run_async`].
#[derive(Debug)]
#[must_use = "dropping it stops the run"]
pub struct Running {
    stop: StopHandle,
    shared: Arc<Mutex<Shared>>,
    refused: Option<std::io::Error>,
}

impl Future for Running {
    type Output = Result<Report, RunError>;

    /// # Panics
    /// Panics if the system refused a thread.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = self.refused.take() {
            panic!("the system refused a thread for a network: {error}");
        }
        let mut shared = self.shared.lock();
        if let Some(result) = shared.result.take() {
            return Poll::Ready(result);
        }
        shared.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// What options come to: who runs the processes.
pub(crate) struct Plan {
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) thread_set: ThreadSet,
    /// Each process has a thread of its own.
    pub(crate) own_threads: bool,
    /// The policy wants every operation to wait once.
    pub(crate) waits_once: bool,
    pub(crate) placement: Placement,
}

/// Decides who runs the processes; refuses to inside an async process, whose worker it would hold.
pub(crate) fn plan(mut options: RunOptions) -> Result<(RunOptions, Plan), RunError> {
    let in_async = WorkerCore::running_here()
        .is_some_and(|task| task.body().is_some_and(|body| !body.blocking));
    if in_async {
        return Err(RunError::Nested);
    }
    if options.places {
        panics::note_places();
    }
    let seed = options.seed;
    let asked = options.workers.unwrap_or_else(cores);
    let choice = mem::replace(&mut options.policy, Choice::Named(String::new()));
    let (threads, waits_once, choice) = match choice {
        Choice::Own(build) => (Threads::AsAsked, false, Ok(build)),
        Choice::Named(name) => {
            let Some(entry) = POLICIES.iter().find(|entry| entry.name == name) else {
                return Err(RunError::UnknownPolicy { name });
            };
            (entry.threads, entry.waits_once, Err(entry.build))
        }
    };
    let door = Arc::new(ThreadDoor::with(options.threads));
    let thread_set = ThreadSet::start(if threads == Threads::AsAsked { asked } else { 1 }, door);
    let workers = thread_set.workers();
    let mut setup = policy::Setup::new(workers);
    (setup.seed, setup.tau) = (seed, options.tau);
    setup.placement = mem::take(&mut options.placement);
    let placement = setup.placement.clone();
    let is_own = choice.is_ok();
    let policy: Box<dyn Policy> = match choice {
        Ok(own) => own(setup),
        Err(build) => build(setup),
    };
    if let (true, Some(refusal)) = (is_own && !policy.shares_work(), &thread_set.refusal) {
        // It may have been made for more workers than there are, and keep processes for each.
        return Err(RunError::OutOfThreads(refusal.clone()));
    }
    let own_threads = threads == Threads::OnePerProcess;
    Ok((options, Plan { policy, thread_set, own_threads, waits_once, placement }))
}

/// Runs a network to its end, whatever that is.
pub(crate) fn execute(mut network: Network<'_>, options: RunOptions) -> Result<Outcome, RunError> {
    let core = Arc::clone(&network.core);
    let (options, plan) = plan(options)?;
    let Plan { policy, thread_set, own_threads, waits_once, placement } = plan;
    let workers = thread_set.workers();
    core.channels.configure(options.budget, options.capacities, options.listed, options.record);
    let (problems, warnings) = core.check();
    if !problems.is_empty() {
        return Err(RunError::Check(problems));
    }
    let processes = core.scheduler.table.lock().all();
    let names = processes.iter().map(|task| task.info().name.as_str());
    if policy.places() {
        placement.check(workers, names, core.has_creators()).map_err(RunError::Placement)?;
    }
    let only_processes = processes.iter().all(|task| task.kind() == Kind::Pooled);
    let (samples, accounting) = (policy.rebalances_after().is_some(), options.accounting);
    core.scheduler.language::<Kahn>().detect(Detecting {
        central: options.detection == Detection::Central,
        probes: options.detection == Detection::Deferred,
    });
    core.scheduler.configure(Config::new(
        policy,
        thread_set,
        Settings {
            accounting: if samples { accounting.max(Accounting::Counters) } else { accounting },
            samples,
            wait_once: waits_once || options.wait_once,
            threads: own_threads,
            pin: options.pin,
            // Until a creator makes a blocking process.
            solo: workers == 1 && !own_threads && only_processes,
            listed_processes: options.listed,
        },
    ));
    // The options were applied once, so a resolver is set once.
    let _ = core.resolver.set(Resolver::new(options.detection));
    core.quiescence.store(options.quiescence, Relaxed);
    for task in core.scheduler.table.lock().all() {
        core.prepare(task);
    }
    if own_threads {
        core.publish_at_once();
    }
    core.find_bridges();
    if core.scheduler.policy().places() {
        core.share_out();
    }

    network.has_run = true;
    clock::start();
    let since = clock::ticks();
    core.scheduler.run();
    let ticks = clock::ticks() - since;
    let refused = core.scheduler.config().refusal.clone();
    let warnings = warnings.into_iter().chain(refused).collect();
    let report = clear_away(&core, warnings, ticks, own_threads);
    core.gone.open();
    Ok(report)
}

/// Ends everything that is left, and tells what happened.
fn clear_away(
    core: &Arc<Core>,
    mut warnings: Vec<String>,
    ticks: u64,
    own_threads: bool,
) -> Outcome {
    let verdict = core.verdict.lock().clone();
    end_processes(core);
    let (channels, folded_channels) = core.channels.records();
    let (_, budget) = core.channels.usage();
    warnings.extend(too_heavy(&channels, core.channels.most_used(), budget));
    core.channels.drop_messages();
    let records = records(core, verdict.as_ref());
    let is_whole = folded_channels.0 == 0 && core.scheduler.table.lock().folded.0 == 0;
    let last = core.channels.last_senders();
    let observed = Observed::new(&records, &last, core.left.get(), is_whole);
    let failures = observed.failures();
    // How far processes came in a run that was cut short is a matter of the schedule.
    let is_cut_short = verdict.as_ref().is_some_and(Verdict::cuts_short);
    let (outcome, detail) = match &verdict {
        None if failures.is_empty() => (Summary::Finished, None),
        Some(Verdict::Quiescent) if failures.is_empty() => (Summary::Quiescent, None),
        // Whatever is left over is normal then, a failure is not.
        None | Some(Verdict::Quiescent) => (Summary::Failed, None),
        Some(Verdict::Stopped) => (Summary::Stopped, None),
        Some(Verdict::OutOfThreads(why)) => {
            (Summary::OutOfThreads, Some(Detail::Threads(why.clone())))
        }
        Some(Verdict::Misuse(misuse)) => (Summary::Misuse, Some(Detail::from(misuse))),
        Some(Verdict::Deadlock(explanation)) => {
            let mut explanation = explanation.clone();
            if let Some(left) = core.left.get() {
                left.tell(&mut explanation.waiting, |process| observed.may_be_pruned(process));
            }
            (Summary::Deadlock, Some(Detail::Waits(explanation)))
        }
        Some(Verdict::OverBudget { channel, explanation }) => {
            let mut explanation = explanation.clone();
            explanation.remedies.insert(
                0,
                format!("channel `{channel}` has to grow: allow it with a larger byte budget"),
            );
            (Summary::OverBudget, Some(Detail::Waits(explanation)))
        }
    };
    let table = core.scheduler.table.lock();
    let (more, sums) = table.folded;
    let scheduler = &core.scheduler;
    let counts = core.scheduler.settings().accounting != Accounting::Off;
    let report = Report {
        outcome,
        chooses: scheduler.chose.load(Relaxed),
        detail,
        failures,
        policy: scheduler.policy().name().to_owned(),
        workers: scheduler.worker_count(),
        seconds: clock::to_duration(ticks).as_secs_f64(),
        created: (table.created, core.channels.created()),
        slot_bytes: core.channels.usage(),
        most_bytes: core.channels.most_used(),
        grown: channels.iter().filter(|record| record.counts.growths > 0).map(growth).collect(),
        weight_unknown: weight_unknown(&channels),
        walks: core.resolver.get().map_or(0, Resolver::walks),
        warnings,
        processes: observed.processes(is_cut_short, ticks),
        more_processes: (more > 0).then(|| (more, Box::new(process_sums(&sums)))),
        channels: channels.iter().map(channel_report).collect(),
        more_channels: (folded_channels.0 > 0)
            .then(|| (folded_channels.0, Box::new(channel_sums(&folded_channels.1)))),
        meetings: Vec::new(),
        more_meetings: None,
        local_share: local_share(&channels, &folded_channels.1).filter(|_| counts),
        rebalances: core.scheduler.config().balance.as_ref().map(rebalances),
        worker_reports: if own_threads { Vec::new() } else { worker_reports(scheduler) },
    };
    drop(table);
    Outcome { report, channels }
}

/// Drops the bodies of processes that have not ended, in the order of their creation.
pub(super) fn end_processes(core: &Arc<Core>) {
    for party in mem::take(&mut *core.parties.lock()) {
        party.end();
    }
    let mut left = core.scheduler.table.lock().all();
    left.retain(|task| task.body().is_some() && !task.has_ended());
    left.sort_by_key(|task| task.info().identity);
    if left.is_empty() {
        return;
    }
    for task in left {
        // A destructor may be the user's code; it runs as the process, whose operations do nothing.
        Worker::for_clearing(&core.scheduler).end(task, EndCause::Stopped);
    }
}

/// The records of all processes. Who was left over when nothing could run has not ended, whether a
/// thread unwound or a future was dropped in the end.
fn records(core: &Core, verdict: Option<&Verdict>) -> Vec<ProcessRecord> {
    let mut records = core.scheduler.table.lock().records();
    if matches!(verdict, Some(Verdict::Deadlock(_) | Verdict::Quiescent)) {
        for record in &mut records {
            record.ending.take_if(|ending| matches!(ending, Ending::Stopped));
        }
    }
    records
}

/// What is told of one process of a run that took so many ticks.
pub(crate) fn process_report(
    record: &ProcessRecord,
    ending: ProcessEnd,
    ticks: u64,
) -> ProcessReport {
    // An estimate from samples may come to more than one thread can have run.
    let counts =
        ProcessCounts { busy: record.counts.busy.map(|busy| busy.min(ticks)), ..record.counts };
    ProcessReport { name: record.name.clone(), ending, ..process_sums(&counts) }
}

pub(crate) fn process_sums(counts: &ProcessCounts) -> ProcessReport {
    ProcessReport {
        name: Name::from(""),
        ending: ProcessEnd::Finished,
        cpu_seconds: counts.busy.map(|ticks| clock::to_duration(ticks).as_secs_f64()),
        polls: counts.polls,
        waits_empty: counts.waits_empty,
        waits_full: counts.waits_full,
        migrations: counts.migrations,
    }
}

fn channel_report(record: &ChannelRecord) -> ChannelReport {
    ChannelReport {
        name: record.name.clone(),
        from: record.from.clone(),
        to: record.to.clone(),
        message_type: record.type_name,
        message_bytes: record.message_size,
        owned_bytes: record.owned_bytes(),
        capacity: record.capacity,
        ..channel_sums(&record.counts)
    }
}

fn channel_sums(counts: &ChannelCounts) -> ChannelReport {
    ChannelReport {
        name: Name::from(""),
        from: None,
        to: None,
        message_type: "",
        message_bytes: 0,
        owned_bytes: None,
        sent: counts.sent,
        received: counts.received,
        remote: counts.remote,
        most_waiting: counts.most_waiting,
        capacity: 0,
        growths: counts.growths,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn local_share(channels: &[ChannelRecord], others: &ChannelCounts) -> Option<f64> {
    let counts = channels.iter().map(|record| &record.counts).chain([others]);
    let (received, remote) = counts.fold((0, 0), |(received, remote), counts| {
        (received + counts.received, remote + counts.remote)
    });
    (received > 0).then(|| 1.0 - remote as f64 / received as f64)
}

fn rebalances(balance: &Balance) -> Rebalances {
    let counts = balance.counts();
    Rebalances {
        asked: counts.asked,
        changed: counts.changed,
        moved: counts.moved,
        seconds: counts.cost.as_secs_f64(),
    }
}

pub(crate) fn worker_reports(scheduler: &Scheduler) -> Vec<WorkerReport> {
    let seconds = |ticks| clock::to_duration(ticks).as_secs_f64();
    // Fewer than there are slots, if the system refused threads.
    let ran = scheduler.slots().iter().take(scheduler.worker_count()).enumerate();
    let reports = ran.map(|(worker, slot)| {
        let (total, idle) = (slot.times.total.load(Relaxed), slot.times.idle.load(Relaxed));
        let steals = scheduler.policy().steals(worker);
        WorkerReport {
            worker,
            busy_seconds: seconds(total.saturating_sub(idle)),
            idle_seconds: seconds(idle),
            spins: slot.times.spins.load(Relaxed),
            sleeps: slot.times.sleeps.load(Relaxed),
            steals_tried: steals.tried,
            steals_won: steals.won,
        }
    });
    reports.collect()
}

impl Drop for Network<'_> {
    fn drop(&mut self) {
        if !self.has_run {
            self.core.scheduler.end_run();
            if self.core.scheduler.config_if_any().is_none() {
                self.core.scheduler.configure(Config::never_run());
            }
            end_processes(&self.core);
            self.core.channels.drop_messages();
        }
        // Ends that somebody has hidden point into the network's memory: then it stays.
        if self.core.channels.ends_left() > 0 {
            mem::forget(Arc::clone(&self.core));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_twenty_problems_and_how_many_more_there_are() {
        let problems = |count| vec![Problem::SameChannel("twice".into()); count];
        assert_eq!(listed(&problems(LISTED)).lines().count(), LISTED + 1);
        assert!(listed(&problems(LISTED + 7)).ends_with("\n  and 7 more"));
    }
}
