//! The runtime: records, not components, are what is scheduled, as in FRONT.
//!
//! | file         | says                                                                      |
//! |--------------|---------------------------------------------------------------------------|
//! | `graph`      | what a program is: operations that know what follows them (static)         |
//! | `frame`      | what exists of it: frames, entities, landings (made on demand)             |
//! | `exec`       | how a record goes from one landing to the next                             |
//! | `body`       | bodies of stars and feedbacks, and how they begin                         |
//! | `worker`     | who carries it, and where workers look for work                            |
//! | `step`       | what an operation does with records of one shape; `answers`: worked out once |
//! | `licence`    | who may work at a landing; `place`: who makes an entity                    |
//! | `idle`       | workers who sleep, and who wakes them                                     |
//! | `threads`    | calls that wait until what they emit is taken, and threads in their place |
//! | `role`       | what a worker has; `handoff`: where it is while a box goes on that has emitted |
//! | `emission`   | what a box emits; `backlog`: where that waits, and which calls wait for it  |
//! | `calls`      | how boxes are called, several at once; `collector`: the order kept         |
//! | `order`      | how deterministic combinators keep order under any nesting                 |
//! | `marks`      | what a run that fails still writes: all that is complete before           |
//! | `cell`       | synchro-cells, and stars of them fused into one                            |
//! | `shape`      | records as shape and values; `expression`: tag expressions bound to a shape |
//!
//! Collectors are not components here: where streams meet without order, records simply go on.

mod answers;
mod backlog;
mod body;
mod calls;
mod cell;
mod collector;
mod emission;
mod exec;
mod expression;
mod failure;
mod frame;
mod graph;
mod handoff;
mod idle;
mod licence;
mod marks;
#[cfg(all(test, loom))]
mod models;
mod network;
mod observe;
mod order;
mod place;
mod report;
mod role;
mod shape;
mod step;
mod sync;
mod threads;
mod watch;
mod worker;

pub use expression::NoValue;
pub use failure::Failure;
pub use graph::TooLarge;
pub use report::{ComponentCount, Report};

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_deque::{Stealer, Worker as Deque};
use parking_lot::Mutex;

use crate::boxes::{BindError, BoxFunction, Boxes};
use crate::plan::NetId;
use crate::program::Program;
use crate::record::{ReadError, Record, WriteError};
use answers::{Answers, Facts};
use frame::{Entity, Frame, Kind as LandingKind, Landing, Owner, Within};
use graph::{Graph, Kind, OpId, ScopeId, Streams};
use idle::{Calls, Idle, Slept};
use marks::Failures;
use observe::Observers;
use order::{Regions, Tickets};
use role::{Counted, Role};
use shape::{Door, Rec, Shapes};
use threads::{Threads, Wanted};
use watch::Watch;
use worker::{Task, Worker};

/// The stack of a worker; records are carried through nested replicas by recursion.
const STACK: usize = 64 << 20;
/// Records admitted at once.
const ADMIT: usize = 32;

/// Where records come from.
pub trait Source: Send {
    /// Returns the next record, waiting for it if need be.
    fn next(&mut self) -> Option<Result<Record, ReadError>>;

    /// Tells whether `next` would not wait.
    fn is_ready(&self) -> bool;
}

/// Records that are there already.
#[derive(Debug)]
pub struct Ready<I>(pub I);

impl<I: Iterator<Item = Record> + Send> Source for Ready<I> {
    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.0.next().map(Ok)
    }

    fn is_ready(&self) -> bool {
        true
    }
}

/// Where records go.
pub trait Sink: Send {
    /// Takes a record.
    ///
    /// # Errors
    /// Returns why it cannot be written.
    fn write(&mut self, record: Record) -> Result<(), WriteError>;

    /// Lets everything taken so far be seen outside.
    ///
    /// # Errors
    /// Returns why it cannot be written.
    fn flush(&mut self) -> Result<(), WriteError>;
}

impl Sink for Vec<Record> {
    fn write(&mut self, record: Record) -> Result<(), WriteError> {
        self.push(record);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }
}

/// How many calls of a box may run at once: for some boxes by name, for all others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Concurrency {
    /// For all boxes; as many as workers if none.
    pub default: Option<usize>,
    /// For boxes of a name or path.
    pub named: BTreeMap<String, usize>,
}

/// What carries the records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Runtime {
    /// Workers that follow records, as in FRONT.
    #[default]
    Front,
    /// A process of a Kahn network for each component, as in S-RTS.
    Network {
        /// The policy of [`kahn::POLICIES`] that runs them; the default one if none.
        policy: Option<String>,
    },
}

/// How to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What carries the records.
    pub runtime: Runtime,
    /// Threads.
    pub workers: usize,
    /// Limits of calls at once.
    pub concurrency: Concurrency,
    /// Whether records are shown before and after every net and box, on standard error.
    pub trace: bool,
    /// Whether half-filled synchro-cells at the end are an error.
    pub strict: bool,
    /// Whether replicas whose synchro-cells have fired are collected.
    pub collect: bool,
    /// How long a call of a box may take; for ever if none. A call that takes longer fails the run,
    /// which then ends when the call does.
    pub box_limit: Option<Duration>,
    /// Whether the process ends, with exit code 1 and without another word than which box it was,
    /// if a call takes twice as long as it may: for a command, which has nothing else to do.
    pub leave_if_stuck: bool,
}

impl Default for Options {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let concurrency = Concurrency::default();
        let runtime = Runtime::default();
        Self {
            runtime,
            workers,
            concurrency,
            trace: false,
            strict: false,
            collect: true,
            box_limit: None,
            leave_if_stuck: false,
        }
    }
}

/// A run could not begin, or ended before its input did.
#[derive(thiserror::Error)]
pub enum RunError {
    /// The program has errors.
    #[error("the program has errors; `kahn snet check` shows them")]
    Invalid,
    /// A box has no function.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The program is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The system gives no thread.
    #[error("cannot start a worker: {0}")]
    Thread(std::io::Error),
    /// The network of processes did not run.
    #[error(transparent)]
    Network(Box<kahn::RunError>),
    /// Something went wrong on the way.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
}

/// Runs a net over `source`, record by record, into `sink`.
///
/// # Errors
/// Returns why the run could not begin or ended early; what was written until then stays.
///
/// # Examples
///
/// ```
/// use kahn_snet::boxes::Boxes;
/// use kahn_snet::record::Record;
/// use kahn_snet::runtime::{Options, Ready, run};
/// use kahn_snet::Program;
///
/// let program = Program::read("main.snet", "net main connect [{<n>} -> {<n=n * n>}];");
/// let input = (1..4).map(|n| Record::new().tag("n", n));
/// let mut output: Vec<Record> = Vec::new();
/// let net = program.net(None).unwrap();
/// run(&program, net, &Boxes::of(&program), &Options::default(), Ready(input), &mut output)?;
/// let squares: Vec<i64> = output.iter().map(|record| record.tags["n"]).collect();
/// assert_eq!(squares, [1, 4, 9]);
/// # Ok::<(), kahn_snet::runtime::RunError>(())
/// ```
pub fn run(
    program: &Program,
    net: NetId,
    boxes: &Boxes,
    options: &Options,
    source: impl Source,
    sink: &mut dyn Sink,
) -> Result<Report, RunError> {
    if !program.is_valid() {
        return Err(RunError::Invalid);
    }
    let functions = boxes.functions()?;
    let shapes = Shapes::default();
    let streams = match options.runtime {
        Runtime::Front => Streams::Carried,
        Runtime::Network { .. } => Streams::Everywhere,
    };
    let graph = graph::build(program.plan(), net, &shapes, options.trace, streams)?;
    let (answers, regions) = (Answers::default(), Regions::default());
    let watch = options.box_limit.map(|limit| Watch::new(limit, options.leave_if_stuck));
    let facts = Facts {
        graph: &graph,
        plan: program.plan(),
        shapes: &shapes,
        answers: &answers,
        regions: &regions,
        watch: watch.as_ref(),
    };
    match &options.runtime {
        Runtime::Front => run_front(facts, program, functions, options, source, sink),
        Runtime::Network { policy } => {
            network::run(facts, functions, options, policy.as_deref(), source, sink)
        }
    }
}

/// Runs a program by workers that carry records.
fn run_front(
    facts: Facts<'_>,
    program: &Program,
    functions: Vec<Arc<dyn BoxFunction>>,
    options: &Options,
    source: impl Source,
    sink: &mut dyn Sink,
) -> Result<Report, RunError> {
    let graph = facts.graph;
    let root = Frame::new(ScopeId(0), graph.scopes[0].entities, Owner::Program);
    let root = Arc::new(root);
    let entry = graph.scopes[0].entry.unwrap_or(OpId(0));
    let home = Arc::downgrade(&root);
    let role = |index| Role::new(Some(index), Deque::new_lifo(), graph.ops.len());
    let roles: Vec<Role> = (0..options.workers.max(1)).map(role).collect();
    let shared = Shared {
        facts,
        functions,
        limits: limits(graph, program, options),
        stealers: roles.iter().map(|role| role.local.stealer()).collect(),
        output_landing: Landing::new(Weak::clone(&home), OpId(0), LandingKind::Output),
        entry_landing: Landing::new(home, entry, LandingKind::Resume),
        root: Arc::clone(&root),
        input: Mutex::new(Input {
            source: Box::new(source),
            door: Door::default(),
            open: true,
            read: 0,
        }),
        output: Mutex::new(Output { sink, written: 0 }),
        observers: Observers::default(),
        idle: Idle::new(options.workers.max(1)),
        threads: Threads::new(options.workers.max(1)),
        failures: Failures::new(graph.chooses),
        collecting: options.collect,
    };
    let fail = |number, failure| shared.failures.ends_at(number, failure);
    let totals = Watch::during(facts.watch, facts, fail, || threads::work(&shared, roles))?;
    let failure = shared.failures.take();
    let mut half_filled = Vec::new();
    let mut frames = vec![0; graph.scopes.len()];
    frame::dismantle(root, |frame, within| {
        frames[frame.scope.0] += 1;
        half_filled.extend(half_filled_in(facts, frame, within, &mut frames));
    });
    if let Some(failure) = failure {
        return Err(RunError::Failed(Box::new(failure)));
    }
    shared.output.lock().sink.flush().map_err(|error| Box::new(Failure::Output(error)))?;
    half_filled.sort();
    if options.strict && !half_filled.is_empty() {
        return Err(RunError::Failed(Box::new(Failure::HalfFilled { cells: half_filled })));
    }
    Ok(report(&shared, &totals, &frames, half_filled))
}

fn limits(graph: &Graph, program: &Program, options: &Options) -> Vec<usize> {
    let limit = |kind: &Kind| {
        let Kind::Box(id) = kind else { return 1 };
        let declared = program.plan().box_plan(*id);
        let named = &options.concurrency.named;
        let chosen = named.get(&declared.path).or_else(|| named.get(&declared.name)).copied();
        let metadata = || declared.metadata("concurrency").and_then(|text| text.parse().ok());
        let limit = chosen.or_else(metadata).or(options.concurrency.default);
        limit.unwrap_or(options.workers).clamp(1, 1 << 16)
    };
    graph.ops.iter().map(|op| limit(&op.kind)).collect()
}

/// What the cells of a frame hold. Cells that are replicas are counted in `frames`.
fn half_filled_in(
    facts: Facts<'_>,
    frame: &Frame,
    within: Option<&Arc<Within>>,
    frames: &mut [u64],
) -> Vec<String> {
    let mut found = Vec::new();
    for id in &facts.graph.scopes[frame.scope.0].cells {
        let op = &facts.graph.ops[id.0];
        let Some(entity) = frame.entities.get(op.entity).and_then(|entity| entity.get()) else {
            continue;
        };
        let place = |scope, value| Arc::new(Within { scope, value, outer: within.cloned() });
        match (entity, &op.kind) {
            (Entity::Cell(cell), _) => {
                let cell = cell.lock();
                found.extend(cell.half_filled().map(|rec| facts.held(*id, within, rec)));
            }
            (Entity::Cells(cells), Kind::Split { body, cell: Some(id), .. }) => {
                let cells = cells.lock();
                let mut open: Vec<_> = cells.iter().filter(|(_, cell)| cell.is_open()).collect();
                open.sort_unstable_by_key(|(value, _)| **value);
                frames[body.0] += open.len() as u64;
                for (value, cell) in open {
                    let place = place(*body, *value);
                    found.extend(cell.half_filled().map(|rec| facts.held(*id, Some(&place), rec)));
                }
            }
            (Entity::Zipper(zipper), Kind::Star { body, .. }) => {
                for (number, rec) in zipper.lock().half_filled() {
                    found.push(facts.held(*id, Some(&place(*body, number)), rec));
                }
            }
            _ => {}
        }
    }
    found
}

fn report(
    shared: &Shared<'_>,
    totals: &[Counted],
    frames: &[u64],
    half_filled: Vec<String>,
) -> Report {
    let mut components: Vec<ComponentCount> = Vec::new();
    let graph = shared.facts.graph;
    for (index, op) in graph.ops.iter().enumerate().rev() {
        let records = totals.iter().map(|counted| counted.counts[index]).sum();
        if records > 0 && !op.kind.is_silent() {
            let (name, instances) = (op.name.clone(), frames[op.scope.0]);
            let waited = totals.iter().map(|counted| counted.waited[index]).max().unwrap_or(0);
            components.push(ComponentCount { name, records, instances, waited });
        }
    }
    Report {
        read: shared.input.lock().read,
        written: shared.output.lock().written,
        components,
        activations: totals.iter().map(|counted| counted.activations).collect(),
        stolen: totals.iter().map(|counted| counted.stolen).collect(),
        instances: usize::try_from(frames.iter().sum::<u64>()).unwrap_or(usize::MAX),
        half_filled,
        chooses: graph.chooses,
    }
}

struct Input<'r> {
    source: Box<dyn Source + 'r>,
    door: Door,
    open: bool,
    read: u64,
}

struct Output<'r> {
    sink: &'r mut dyn Sink,
    written: u64,
}

/// What all workers share.
pub(crate) struct Shared<'r> {
    facts: Facts<'r>,
    functions: Vec<Arc<dyn BoxFunction>>,
    limits: Vec<usize>,
    stealers: Vec<Stealer<Task>>,
    output_landing: Arc<Landing>,
    entry_landing: Arc<Landing>,
    root: Arc<Frame>,
    input: Mutex<Input<'r>>,
    output: Mutex<Output<'r>>,
    observers: Observers,
    idle: Idle,
    threads: Threads,
    failures: Failures,
    collecting: bool,
}

impl Shared<'_> {
    fn limit_of(&self, op: OpId) -> usize {
        self.limits[op.0]
    }

    /// Sleeps until there may be work, or there never will be.
    fn sleep(&self) -> Slept {
        let regions = self.facts.regions;
        let is_there_work = |input_counts: bool| {
            let input = || self.input.try_lock().is_some_and(|input| self.may_read(&input));
            self.stealers.iter().any(|stealer| !stealer.is_empty())
                || self.threads.has_next(regions, Wanted::Any)
                || (input_counts && !self.threads.holds_input(regions) && input())
        };
        let calls = |awake| {
            // One that waits for input is as good as asleep.
            let all_sleep = awake == 0 || (awake == 1 && self.input.try_lock().is_none());
            // Asked first: a call that is not away any more is seen to wait.
            let are_away = self.threads.has_away();
            if all_sleep && self.threads.has_next(regions, Wanted::Last) {
                Calls::MayGoOn
            } else if are_away || self.threads.has_waiting() {
                Calls::WillGoOn
            } else {
                Calls::None
            }
        };
        self.idle.sleep(is_there_work, calls)
    }

    /// Wakes a worker for what may go on without another having said so.
    fn wake_for_calls(&self) {
        let input = || self.input.try_lock().is_some_and(|input| self.may_read(&input));
        let away =
            || self.threads.has_away() && !self.threads.holds_input(self.facts.regions) && input();
        if self.idle.any_sleeps()
            && (self.threads.has_next(self.facts.regions, Wanted::Any) || away())
        {
            self.idle.wake();
        }
    }

    /// Whether records may be read: the only worker does not wait for them while a call is away, which
    /// will need it.
    fn may_read(&self, input: &Input<'_>) -> bool {
        let may_wait = self.stealers.len() > 1 || !self.threads.has_away();
        input.open && (may_wait || input.source.is_ready())
    }

    /// Reads records, if no one else does; tells whether some were read.
    fn admit(&self, worker: &mut Worker<'_, '_>) -> bool {
        if self.threads.holds_input(self.facts.regions) {
            return false;
        }
        let Some(mut input) = self.input.try_lock() else { return false };
        input.open &= !self.failures.any();
        if !self.may_read(&input) || !self.idle.is_input_open() {
            return false;
        }
        if !input.source.is_ready() {
            // It may wait long.
            self.flush();
        }
        let mut read = worker.emptied();
        while read.len() < ADMIT && (read.is_empty() || input.source.is_ready()) {
            let Some(next) = input.source.next() else {
                input.open = false;
                break;
            };
            let number = marks::number_behind(input.read);
            let entered = match next {
                Ok(record) => input.door.enter(self.facts, number, record),
                Err(error) => Err(Failure::Input(error)),
            };
            input.read += u64::from(entered.is_ok());
            input.open = entered.is_ok();
            read.push_back(
                entered.unwrap_or_else(|failure| {
                    self.failures.mark(number, Tickets::default(), failure)
                }),
            );
            if !input.open {
                break;
            }
        }
        let any = !read.is_empty();
        if any {
            worker.put_all_now(&self.entry_landing, &mut read);
        }
        worker.keep_emptied(read);
        let more = input.open;
        drop(input);
        worker.publish();
        if more && any {
            self.idle.wake();
        }
        any
    }

    /// Lets everything be seen that is done, if another worker waits for input meanwhile.
    fn show(&self) {
        if self.input.try_lock().is_none() {
            self.flush();
        }
    }

    fn flush(&self) {
        if let Err(error) = self.output.lock().sink.flush() {
            self.failures.end_at_once(Failure::Output(error));
        }
    }

    fn write(&self, records: impl Iterator<Item = Rec>) {
        let mut output = self.output.lock();
        for rec in records {
            if rec.is_mark() {
                self.failures.came_out(&rec);
            } else if self.failures.wants(rec.number) {
                let record = self.facts.shapes.leave(rec);
                match output.sink.write(record) {
                    Ok(()) => output.written += 1,
                    Err(error) => self.failures.end_at_once(Failure::Output(error)),
                }
            }
        }
    }
}
