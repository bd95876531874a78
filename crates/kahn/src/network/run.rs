//! The run: prepare, run, clear away, report.

use super::check::Problem;
use super::core::{Core, Verdict};
use super::local::HereLocal;
use super::making::Whole;
use super::options::Options;
use super::replay::Again;
use super::summary::{Outcome, Outline, RunPart, tell};
use super::weights::too_heavy;
use super::{Network, StopHandle};
use crate::channel::events;
use crate::channel::language::{Detecting, Kahn};
use crate::channel::observer::ObserverHandle;
use crate::deadlock::{Detection, Resolver};
use kahn_engine::Accounting;
use kahn_engine::policy::Misplaced;
use kahn_engine::run::{Refused, RunPlan, end_what_is_left, outline, take_listed};
use kahn_engine::scheduler::Elapsed;
use kahn_engine::sync::system::unpinned;
use kahn_engine::sync::{Arc, Mutex, Ordering::*, thread};
use kahn_engine::{Config, Kind};
use kahn_report::Report;
use kahn_report::observe::Script;
use kahn_report::ranks::Links;
use std::error::Error;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Why a run gave no success.
///
/// Shows the explanation as its `Debug` form too, so that `unwrap` and a `main` that returns it
/// speak to people.
///
/// # Examples
///
/// ```
/// use kahn::{Network, RunError};
///
/// let mut network = Network::new();
/// let (_out, numbers) = network.channel::<u32>("numbers");
/// network.for_each("ignore", numbers, |_| {});
/// let error = network.run().expect_err("the sender is gone");
/// assert!(matches!(error, RunError::Check(_)));
/// assert!(error.to_string().contains("the sender of channel `numbers` belongs to no process"));
/// ```
#[non_exhaustive]
pub enum RunError {
    /// The network is written down wrong; nothing ran.
    Check(Vec<Problem>),
    /// The policy cannot place the processes as it was asked to; nothing ran.
    Placement(Misplaced),
    /// `run` was called inside an async process, whose worker it would hold; nothing ran.
    Nested,
    /// The system refused threads for the workers, and the policy, which is the caller's own, was made
    /// for all of them; nothing ran.
    OutOfThreads(String),
    /// Its observer has refused the run, and says why.
    Refused(String),
    /// The run did not end as it should.
    Ended(Box<Report>),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(problems) => write!(f, "the network cannot run:{}", listed(problems)),
            Self::Placement(misplaced) => write!(f, "the placement, {misplaced}"),
            Self::Nested => f.write_str(
                "a network cannot be run inside an async process, for it would hold the worker: \
                 use `run_async().await`, or a blocking process",
            ),
            Self::OutOfThreads(text) => write!(f, "out of threads: {text}"),
            Self::Refused(why) => f.write_str(why),
            Self::Ended(report) => f.write_str(&report.reason()),
        }
    }
}

/// The source is the error that the first process returned whose failure counts.
impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let error = self.report()?.failures.first()?.error()?;
        Some(error)
    }
}

impl From<Refused> for RunError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Nested => Self::Nested,
            Refused::OutOfThreads(text) => Self::OutOfThreads(text),
        }
    }
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

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RunError {
    /// Returns the report, if anything ran.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Summary};
    ///
    /// let mut network = Network::new();
    /// network.process("fail", (), async |()| Err::<(), _>("no luck"));
    /// let error = network.run().expect_err("it fails");
    /// let report = error.report().expect("it has run");
    /// assert_eq!(report.outcome, Summary::Failed);
    /// ```
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Ended(report) => Some(report),
            _ => None,
        }
    }

    /// Returns the first error of this type among those that processes returned and their causes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::error::Error;
    /// use std::io;
    ///
    /// let mut network = Network::new();
    /// network.process("read", (), async |()| {
    ///     std::fs::read("no such file")?;
    ///     Ok::<(), io::Error>(())
    /// });
    /// let error = network.run().expect_err("there is none");
    /// let cause = error.downcast_ref::<io::Error>().expect("what the process returned");
    /// assert_eq!(cause.kind(), io::ErrorKind::NotFound);
    /// assert!(error.source().is_some_and(|source| source.is::<io::Error>()));
    /// ```
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.report()?.failures.iter().find_map(|failure| {
            let mut next = failure.error().map(|error| error as &(dyn Error + 'static));
            while let Some(error) = next {
                if let Some(found) = error.downcast_ref() {
                    return Some(found);
                }
                next = error.source();
            }
            None
        })
    }
}

impl Network<'_> {
    /// Has processes do again what they did in another run: those that are joined to the outside are not
    /// run, and do what the script tells.
    ///
    /// These are outside parties, whose threads are told that the run has ended; processes with
    /// [declared effects](super::Process::effects); processes that block and receive nothing. What they
    /// capture is dropped when they are created.
    ///
    /// # Examples
    ///
    /// See [`Script`].
    ///
    /// ```
    /// use kahn::observe::{Script, Step};
    /// use kahn::{Network, Process};
    /// use std::sync::Arc;
    ///
    /// /// Each process ends at once.
    /// struct Nothing;
    ///
    /// impl Script for Nothing {
    ///     fn next(&self, _process: u64, _message: &mut Vec<u8>) -> Option<Step> {
    ///         Some(Step::Ends { failure: None })
    ///     }
    ///
    ///     fn parts(&self, _what: String) {}
    /// }
    ///
    /// let mut network = Network::new();
    /// network.replay(Arc::new(Nothing));
    /// let numbers = network.source("numbers", 0..3_u32);
    /// network.process_with(Process::named("print").effects(), numbers, async |mut numbers| {
    ///     assert_eq!(numbers.recv().await, None, "it is not run");
    /// });
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there are processes already, or another script.
    pub fn replay(&mut self, script: Arc<dyn Script>) {
        let core = &self.made.core;
        assert!(self.size() == (0, 0), "a network is replayed from its first process on");
        assert!(core.script.set(Again(script)).is_ok(), "a network does one thing again");
    }

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
    /// # Loops
    /// The processes of a loop read each other. So all that is left is dropped, too, when nothing is left that could see
    /// it: no process with effects, none that may create others or was created while the network ran, none without a
    /// sender. That is so if each process that is there at the start leads to one of these along the channels; a network
    /// with a ring that leads nowhere runs until that ends. What waits for ever in a loop that nothing could see is told as
    /// pruned, and is no deadlock.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "three"]);
    /// let numbers = network.map("parse", texts, |text| text.parse::<u32>());
    /// network.for_each("check", numbers, |number| number.map(drop));
    /// let error = network.run().expect_err("`three` is no number");
    /// assert!(error.to_string().starts_with("process `check` failed at message 3 of `parse`: invalid"));
    /// ```
    ///
    /// # Errors
    /// [`RunError::Check`] if the network is written down wrong; [`RunError::Ended`] if a failure
    /// counts, if processes are left that can never go on, if the byte budget did not allow a
    /// channel to grow, if an end was misused, or if the run was stopped.
    pub fn run(self) -> Result<Report, RunError> {
        self.run_with(Options::default())
    }

    /// Runs the network as told; see [`run`](Self::run).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// network.run_with(Options::new().workers(1).capacity(1))?;
    /// assert_eq!(sum.take(), Some(55));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`run`](Self::run); [`RunError::Placement`] if the policy cannot place the processes.
    pub fn run_with(self, options: Options) -> Result<Report, RunError> {
        let outcome = execute(self, options)?;
        let report = outcome.report;
        if report.is_success() { Ok(report) } else { Err(RunError::Ended(Box::new(report))) }
    }
}

impl Network<'static> {
    /// Runs the network on threads of its own, beside the task that awaits it.
    ///
    /// For tasks of other executors, and for a network inside an async process. Dropping the result
    /// stops the run and leaves its threads to end by themselves, which is why nothing may be
    /// borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut outer = Network::new();
    /// let (out, sums) = outer.channel("sums");
    /// outer.process("inner runs", out, async |mut out| {
    ///     let mut inner = Network::new();
    ///     let numbers = inner.source("numbers", 0..10_u32);
    ///     let sum = inner.fold("sum", numbers, 0, |sum, n| sum + n);
    ///     inner.run_async(Options::new().workers(1)).await?;
    ///     out.send(sum.take().unwrap_or(0)).await;
    ///     Ok::<(), kahn::RunError>(())
    /// });
    /// let all = outer.collect("all", sums);
    /// outer.run()?;
    /// assert_eq!(all.take(), Some(vec![45]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn run_async(self, options: Options) -> Running {
        let stop = self.stop_handle();
        let shared = Arc::new(Mutex::new(Shared { result: None, waker: None }));
        let theirs = Arc::clone(&shared);
        let spawned =
            thread::Builder::new().name("kahn worker 0".into()).spawn(unpinned(move || {
                let result = self.run_with(options);
                let waker = {
                    let mut shared = theirs.lock();
                    shared.result = Some(result);
                    shared.waker.take()
                };
                if let Some(waker) = waker {
                    waker.wake();
                }
            }));
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
///
/// # Examples
///
/// A run that is dropped is stopped:
///
/// ```
/// use kahn::{Network, Options};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0_u64..);
/// network.for_each("ignore", numbers, |_| {});
/// let running = network.run_async(Options::new());
/// drop(running);
/// ```
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

/// Runs a network to its end, whatever that is.
pub(crate) fn execute(network: Network<'_>, options: Options) -> Result<Outcome, RunError> {
    let (core, observer) = (Arc::clone(&network.made.core), options.observer.clone());
    let part = perform(network, options, None)?;
    let tick = part.elapsed.tick;
    let mut outcome = tell(part);
    if let Some(ObserverHandle { observer, .. }) = observer {
        observer.ends(tick);
        let warnings = observer.reports(&outcome.report);
        outcome.report.warnings.extend(warnings);
    }
    core.gone.open();
    Ok(outcome)
}

/// Runs what runs here: all of a network, or what is on the rank of `links`.
pub(super) fn perform(
    mut network: Network<'_>,
    options: Options,
    links: Option<&Arc<dyn Links>>,
) -> Result<RunPart, RunError> {
    let core = Arc::clone(&network.made.core);
    let listed = options.schedule.most_listed();
    let mut plan = RunPlan::new(options.schedule)?;
    if let Some(observer) = &options.observer {
        core.scheduler.language::<Kahn>().observe_by(observer);
        core.channels.observe_by(observer.clone());
        plan.log(observer.observer.log());
        if observer.wants.schedule {
            plan.observe();
        }
    }
    // Parties keep the ends that they give up until they are told that the run begins.
    core.channels.configure(options.budget, options.capacities, listed, options.record);
    let (problems, warnings) = core.check();
    if !problems.is_empty() {
        return Err(RunError::Check(problems));
    }
    if let Some(ObserverHandle { observer, .. }) = &options.observer {
        core.tell_of_graph(&**observer, &network.made.inputs).map_err(RunError::Refused)?;
    }
    let prunes_loops = core.prunes_loops();
    if let Some(links) = links {
        core.cut(links).map_err(RunError::Refused)?;
        if let Some(ObserverHandle { observer, .. }) = &options.observer {
            core.tell_of_links(&**observer);
        }
        plan.drive(links.driver());
    }
    if let Some(placing) = plan.placing() {
        core.share_out(placing, plan.workers()).map_err(RunError::Placement)?;
    }
    if let Some(ObserverHandle { observer, .. }) = &options.observer {
        let run = network.stop_handle();
        let stop = run.clone();
        observer
            .begins(&(Arc::new(run) as _), &(Arc::new(move || stop.stop()) as _))
            .map_err(RunError::Refused)?;
    }
    plan.look(options.detection == Detection::Deferred);
    core.scheduler.language::<Kahn>().detect(Detecting {
        central: options.detection == Detection::Central,
        probes: options.detection == Detection::Deferred,
    });
    let processes = core.scheduler.table.lock().all();
    // What goes on with other ranks is other threads' doing.
    let only_pooled = links.is_none() && processes.iter().all(|task| task.kind() == Kind::Pooled);
    let workers = plan.workers();
    plan.configure(&core.scheduler, only_pooled);
    if core.scheduler.settings().accounting == Accounting::Off {
        core.channels.leave_uncounted();
    }
    // The options were applied once, so a resolver is set once.
    let _ = core.resolver.set(Resolver::new(options.detection));
    core.quiescence.store(options.quiescence, Relaxed);
    for task in core.scheduler.table.lock().all() {
        core.prepare(task);
    }
    if core.scheduler.settings().threads {
        core.publish_at_once();
    }
    core.find_bridges();
    if prunes_loops {
        core.watch_root();
    }
    let parties = core.parties.lock().clone();
    for party in parties {
        party.begin();
    }
    events::start(processes.len(), core.channels.created(), workers);
    if let Some(links) = links {
        links.begins(Arc::new(HereLocal::new(&core)));
    }

    network.made.has_run = true;
    let elapsed = core.scheduler.timed_run();
    Ok(clear_away(&core, warnings, elapsed, prunes_loops))
}

/// Ends everything that is left, and finds out what happened.
fn clear_away(
    core: &Arc<Core>,
    mut warnings: Vec<String>,
    elapsed: Elapsed,
    prunes_loops: bool,
) -> RunPart {
    let verdict = core.verdict.lock().clone();
    let verdict = verdict.or_else(|| core.scheduler.refused_thread().map(Verdict::OutOfThreads));
    end_processes(core);
    let (channels, folded_channels) = core.channels.take_records();
    let from_outside = core.from_outside.lock().clone();
    warnings.extend(from_outside.iter().map(|process| {
        format!("order from outside: in which order `{process}` is asked is not the network's")
    }));
    let (_, budget) = core.channels.usage();
    warnings.extend(too_heavy(&channels, core.channels.most_used(), budget));
    core.channels.drop_messages();
    let cannot_run = matches!(verdict, Some(Verdict::Deadlock(_) | Verdict::Quiescent));
    let outline = outline(&core.scheduler, elapsed);
    RunPart {
        verdict,
        records: take_listed(&core.scheduler, cannot_run),
        last: core.channels.last_senders(),
        left: core.left.get().cloned(),
        is_whole: folded_channels.0 == 0 && core.scheduler.table.lock().folded.0 == 0,
        prunes_loops,
        channels,
        folded_channels,
        from_outside,
        warnings: [outline.warnings.clone(), warnings].concat(),
        created: (outline.created.0, core.channels.created()),
        slot_bytes: core.channels.usage(),
        most_bytes: core.channels.most_used(),
        walks: core.resolver.get().map_or(0, Resolver::walks),
        counts: core.scheduler.settings().accounting != Accounting::Off,
        outline: Outline(outline),
        elapsed,
    }
}

/// Drops the bodies of processes that have not ended, in the order of their creation.
pub(super) fn end_processes(core: &Arc<Core>) {
    for party in mem::take(&mut *core.parties.lock()) {
        party.end();
    }
    // SAFETY: the run is over, or there was none.
    unsafe { end_what_is_left::<Kahn>(&core.scheduler) };
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        if !self.has_run {
            self.core.scheduler.end_run();
            if self.core.scheduler.config_if_any().is_none() {
                self.core.scheduler.configure(Config::never_run());
            }
            end_processes(&self.core);
            self.core.channels.drop_messages();
        }
        // Ends that a process has hidden point into the network's memory: then it stays.
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
