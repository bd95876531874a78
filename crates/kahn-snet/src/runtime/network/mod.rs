//! The other runtime: the same operations as processes of a Kahn network, one for each, as in S-RTS.
//!
//! | file        | says                                                               |
//! |-------------|--------------------------------------------------------------------|
//! | here        | the run: what begins and ends it                                   |
//! | `wiring`    | which process reads from which, and what is made while it runs     |
//! | `meeting`   | where streams meet                                                 |
//! | `component` | processes with one stream in and one out: filters, boxes, cells    |
//! | `branching` | choices, stars, splits, feedbacks, and the collectors behind them  |
//! | `seen`      | a run as it is seen from outside: names, and what processes do      |
//!
//! Every process reads one stream, a channel of the network, so no ring of full channels can
//! arise; where streams meet they do so in a [`meeting()`], which never makes a process wait. With
//! several that put into one meeting the order is that of arrival: this is where a program of
//! single combinators is non-deterministic, and the only place.
//!
//! A doubled combinator keeps order with *marks*. Behind each record its branch gets a mark, and
//! the collector gets the name of the branch: it takes from that branch up to the mark, and then
//! does as it is told next. So it is a Kahn process, and waits for nothing but what must come
//! next. The marks of a combinator around take the way by the name, and no branch sees two kinds.
//! Inside a doubled combinator single ones are treated as doubled: any order is theirs.
//!
//! A record that fails leaves a mark in the stream, as in the other runtime (see `marks`). It is no
//! failure mark of a channel, which ends the process that reads it: records from before the one that
//! failed may still come to any process, and what they give is written.

mod branching;
mod component;
mod meeting;
mod seen;
mod wiring;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use kahn::Network;
use kahn::policy::PolicyChoice;
use kahn_report::observe::Observable as _;
use parking_lot::{Condvar, Mutex};

use crate::boxes::BoxFunction;
use crate::runtime::error::RunError;
use crate::runtime::handle::Handle;
use crate::runtime::options::{Observed, Options};
use crate::runtime::report::{ComponentCount, Report};
use crate::runtime::steps::answers::Facts;
use crate::runtime::steps::graph::OpId;
use crate::runtime::steps::marks::{BEFORE_ALL, Failures};
use crate::runtime::steps::observe::Observers;
use crate::runtime::steps::watch::Watch;
use crate::runtime::streams::{Input, Output, Sink, Source};
use meeting::{Exit, meeting};
use seen::{Names, SeenNetwork};
use wiring::{Carried, Maker, Message, Outlet, Wiring};

/// What all processes share.
struct World<'a> {
    facts: Facts<'a>,
    functions: Vec<Arc<dyn BoxFunction>>,
    observers: Observers,
    failures: Arc<Failures>,
    names: Names,
    /// Whether processes are named by the replica they lie in, for those who look.
    is_seen: bool,
    /// How many records came to each operation, and how many processes there were for it.
    counts: Vec<(AtomicU64, AtomicU64)>,
    half_filled: Mutex<Vec<String>>,
    /// Initialisers that the input waits for.
    initialising: Mutex<usize>,
    initialised: Condvar,
    read: AtomicU64,
    written: AtomicU64,
}

impl World<'_> {
    fn await_initialisers(&self) {
        let mut left = self.initialising.lock();
        while *left > 0 {
            self.initialised.wait(&mut left);
        }
    }
}

/// An initialiser of the program, which the input waits for until this goes.
struct Initialising<'a>(&'a World<'a>);

impl<'a> Initialising<'a> {
    fn new(world: &'a World<'a>) -> Self {
        *world.initialising.lock() += 1;
        Self(world)
    }
}

impl Drop for Initialising<'_> {
    fn drop(&mut self) {
        let mut left = self.0.initialising.lock();
        *left -= 1;
        if *left == 0 {
            self.0.initialised.notify_all();
        }
    }
}

/// The records that came to a process; told to the world when it ends.
struct Count<'a> {
    world: &'a World<'a>,
    op: OpId,
    records: u64,
}

impl<'a> Count<'a> {
    fn new(world: &'a World<'a>, op: OpId) -> Self {
        world.counts[op.0].1.fetch_add(1, Relaxed);
        Self { world, op, records: 0 }
    }

    fn one(&mut self) {
        self.records += 1;
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.world.counts[self.op.0].0.fetch_add(self.records, Relaxed);
    }
}

/// Runs a program as a network of processes, under a policy.
pub(super) fn run(
    facts: Facts<'_>,
    functions: Vec<Arc<dyn BoxFunction>>,
    options: &Options,
    policy: Option<&PolicyChoice>,
    source: impl Source,
    sink: &mut dyn Sink,
) -> Result<Report, RunError> {
    let world = World {
        facts,
        functions,
        observers: Observers::default(),
        failures: Arc::new(Failures::new(facts.graph.chooses)),
        names: Names::new(facts.graph),
        is_seen: options.observer.is_some() || options.handle.is_some(),
        counts: facts.graph.ops.iter().map(|_| Default::default()).collect(),
        half_filled: Mutex::default(),
        initialising: Mutex::default(),
        initialised: Condvar::new(),
        read: AtomicU64::new(0),
        written: AtomicU64::new(0),
    };
    let mut choice = kahn::Options::new().workers(options.workers.max(1));
    if let Some(policy) = policy {
        choice = choice.policy(policy.clone());
    }
    if let Some(Observed(observer)) = &options.observer {
        choice = choice.observed_by(Arc::clone(observer));
    }
    let fail = |number, failure| world.failures.ends_at(number, failure);
    let ended = Watch::during(facts.watch, facts, fail, || {
        run_in(&world, choice, options.handle.as_ref(), Input::new(source), Output::new(sink))
    });
    if let Some(failure) = world.failures.take() {
        return Err(RunError::Failed(Box::new(failure)));
    }
    let ran = ended.map_err(|error| RunError::Network(Box::new(error)))?;
    Ok(report(&world, &ran))
}

fn run_in<'a>(
    world: &'a World<'a>,
    choice: kahn::Options,
    handle: Option<&Handle>,
    input: Input<'a>,
    output: Output<'a>,
) -> Result<kahn::Report, kahn::RunError> {
    let mut network = Network::new();
    let (entry, exit) = meeting();
    network.process("output", (), async move |()| write(world, exit, output).await);
    let (number, stage) = (BEFORE_ALL, 0);
    let wiring = Wiring { world, ordered: false, loops: None, within: None, number, stage };
    let start = wiring.program(&mut Maker::Network(&mut network), Outlet::meeting(entry));
    network.blocking("input", start, move |start| read(world, input, start));
    let stop = network.stop_handle();
    let _begun = Handle::begin(handle, &world.failures, || Some(Arc::new(SeenNetwork(stop))));
    network.run_with(choice)
}

/// Reads records until there are no more.
fn read(world: &World<'_>, mut input: Input<'_>, mut start: Outlet) {
    world.await_initialisers();
    while !world.failures.any()
        && let Some(next) = input.source.next()
    {
        let rec = input.enter(world.facts, &world.failures, next);
        world.read.store(input.read, Relaxed);
        start.send_blocking(world, Carried { rec, loops: None });
    }
}

/// Writes what comes out, and lets it be seen whenever there is no more for the moment.
async fn write(world: &World<'_>, mut exit: Exit<Message>, mut output: Output<'_>) {
    loop {
        if exit.is_empty() {
            output.flush(&world.failures);
        }
        match exit.next().await {
            None => return,
            Some(Message::Record(carried)) => {
                output.write(world.facts, &world.failures, carried.rec);
                world.written.store(output.written, Relaxed);
            }
            Some(Message::Mark) => {}
        }
    }
}

fn report(world: &World<'_>, ran: &kahn::Report) -> Report {
    let graph = world.facts.graph;
    let mut waited = vec![0; graph.ops.len()];
    for channel in &ran.channels {
        // The stream that a process reads has its name.
        if let Some(OpId(op)) = world.names.op_of(channel.name.as_str()) {
            let most = &mut waited[op];
            *most = channel.most_waiting.max(*most);
        }
    }
    let counted = |OpId(index): OpId| {
        let (records, processes) = &world.counts[index];
        (records.load(Relaxed), processes.load(Relaxed), waited[index] as usize)
    };
    let all = world.counts.iter().map(|(_, processes)| processes.load(Relaxed)).sum::<u64>();
    Report {
        read: world.read.load(Relaxed),
        written: world.written.load(Relaxed),
        components: ComponentCount::all_of(graph, counted),
        instances: usize::try_from(all).unwrap_or(usize::MAX),
        half_filled: std::mem::take(&mut world.half_filled.lock()),
        chooses: graph.chooses,
        ..Report::default()
    }
}
