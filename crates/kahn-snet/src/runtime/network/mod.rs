//! The other runtime: the same operations as processes of a Kahn network, one for each, as in S-RTS.
//!
//! | file        | says                                                               |
//! |-------------|--------------------------------------------------------------------|
//! | here        | the run: what begins and ends it                                   |
//! | `wiring`    | which process reads from which, and what is made while it runs     |
//! | `meeting`   | where streams meet                                                 |
//! | `component` | processes with one stream in and one out: filters, boxes, cells    |
//! | `branching` | choices, stars, splits, feedbacks, and the collectors behind them  |
//!
//! Every process reads one stream, a channel of the network, so no ring of full channels can
//! arise; where streams meet they do so in a [`meeting()`], which never makes anybody wait. With
//! several who put into one meeting the order is that of arrival: this is where a program of
//! single combinators is non-deterministic, and the only place.
//!
//! A doubled combinator keeps order with *marks*. Behind each record its branch gets a mark, and
//! the collector gets the name of the branch: it takes from that branch up to the mark, and then
//! does as it is told next. So it is a Kahn process, and waits for nothing but what must come
//! next. The marks of a combinator around take the way by the name, and no branch sees two kinds.
//! Inside a doubled combinator single ones are treated as doubled: any order is theirs.

mod branching;
mod component;
mod meeting;
mod wiring;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use kahn::{Network, RunOptions, StopHandle};
use parking_lot::{Condvar, Mutex};

use super::answers::Facts;
use super::failure::Failure;
use super::graph::{Kind, OpId};
use super::observe::Observers;
use super::report::{ComponentCount, Report};
use super::shape::Door;
use super::watch::Watch;
use super::{Options, RunError, Sink, Source};
use crate::boxes::BoxFunction;
use meeting::{Exit, meeting};
use wiring::{Carried, Item, Maker, Outlet, Wiring};

/// What all processes share.
struct World<'a> {
    facts: Facts<'a>,
    functions: Vec<Arc<dyn BoxFunction>>,
    observers: Observers,
    failure: Mutex<Option<Failure>>,
    stop: Mutex<Option<StopHandle>>,
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
    /// The first failure counts, and ends the run.
    fn fail(&self, failure: Failure) {
        self.failure.lock().get_or_insert(failure);
        if let Some(stop) = &*self.stop.lock() {
            stop.stop();
        }
        *self.initialising.lock() = 0;
        self.initialised.notify_all();
    }

    fn an_initialiser_is_done(&self) {
        let mut left = self.initialising.lock();
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.initialised.notify_all();
        }
    }

    fn await_initialisers(&self) {
        let mut left = self.initialising.lock();
        while *left > 0 {
            self.initialised.wait(&mut left);
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

/// Runs a program as a network of processes, under a policy of `kahn`.
pub(super) fn run(
    facts: Facts<'_>,
    functions: Vec<Arc<dyn BoxFunction>>,
    options: &Options,
    policy: Option<&str>,
    source: impl Source,
    sink: &mut dyn Sink,
) -> Result<Report, RunError> {
    let world = World {
        facts,
        functions,
        observers: Observers::default(),
        failure: Mutex::default(),
        stop: Mutex::default(),
        counts: facts.graph.ops.iter().map(|_| Default::default()).collect(),
        half_filled: Mutex::default(),
        initialising: Mutex::default(),
        initialised: Condvar::new(),
        read: AtomicU64::new(0),
        written: AtomicU64::new(0),
    };
    let mut choice = RunOptions::new().workers(options.workers.max(1));
    if let Some(policy) = policy {
        choice = choice.policy(policy);
    }
    let fail = |failure| world.fail(failure);
    let ended = Watch::during(facts.watch, facts, fail, || run_in(&world, choice, source, sink));
    if let Some(failure) = world.failure.lock().take() {
        return Err(RunError::Failed(Box::new(failure)));
    }
    let ran = ended.map_err(|error| RunError::Network(Box::new(error)))?;
    let mut half_filled = std::mem::take(&mut *world.half_filled.lock());
    half_filled.sort();
    if options.strict && !half_filled.is_empty() {
        return Err(RunError::Failed(Box::new(Failure::HalfFilled { cells: half_filled })));
    }
    Ok(report(&world, &ran, half_filled))
}

fn run_in<'a>(
    world: &'a World<'a>,
    choice: RunOptions,
    source: impl Source + 'a,
    sink: &'a mut dyn Sink,
) -> Result<kahn::Report, kahn::RunError> {
    let mut network = Network::new();
    *world.stop.lock() = Some(network.stop_handle());
    let (entry, exit) = meeting();
    network.process("output", (), async move |()| {
        if let Err(failure) = write(world, exit, sink).await {
            world.fail(*failure);
        }
    });
    let wiring = Wiring { world, ordered: false, loops: None, within: None, stage: 0 };
    let start = wiring.program(&mut Maker::Network(&mut network), Outlet::meeting(entry));
    network.blocking("input", start, move |start| {
        if let Err(failure) = read(world, source, start) {
            world.fail(*failure);
        }
    });
    network.run_with(choice)
}

/// Reads records until there are no more.
fn read(world: &World<'_>, mut source: impl Source, mut start: Outlet) -> Result<(), Box<Failure>> {
    world.await_initialisers();
    let mut door = Door::default();
    while let Some(record) = source.next() {
        let record = record.map_err(|error| Box::new(Failure::Input(error)))?;
        world.read.fetch_add(1, Relaxed);
        let rec = door.enter(world.facts.shapes, record);
        start.send_blocking(world, Carried { rec, loops: None })?;
    }
    Ok(())
}

/// Writes what comes out, and lets it be seen whenever there is no more for the moment.
async fn write(
    world: &World<'_>,
    mut exit: Exit<Item>,
    sink: &mut dyn Sink,
) -> Result<(), Box<Failure>> {
    let failed = |error| Box::new(Failure::Output(error));
    loop {
        if exit.is_empty() {
            sink.flush().map_err(failed)?;
        }
        match exit.next().await {
            None => return Ok(()),
            Some(Item::Mark) => {}
            Some(Item::Record(carried)) => {
                let record = world.facts.shapes.leave(carried.rec);
                sink.write(record).map_err(failed)?;
                world.written.fetch_add(1, Relaxed);
            }
        }
    }
}

fn report(world: &World<'_>, ran: &kahn::Report, half_filled: Vec<String>) -> Report {
    let graph = world.facts.graph;
    let mut waited = vec![0; graph.ops.len()];
    for channel in &ran.channels {
        // The stream that a process reads has its name.
        if let Some(most) = wiring::op_of(channel.name.as_str()).and_then(|op| waited.get_mut(op.0))
        {
            *most = channel.most_waiting.max(*most);
        }
    }
    let mut components = Vec::new();
    let mut all = 0;
    let counted = graph.ops.iter().zip(&world.counts).zip(waited).rev();
    for ((op, (records, processes)), waited) in counted {
        let (records, processes) = (records.load(Relaxed), processes.load(Relaxed));
        all += processes;
        if records > 0 && !matches!(op.kind, Kind::End | Kind::Enter | Kind::Observe { .. }) {
            let (name, instances) = (op.name.clone(), processes);
            components.push(ComponentCount { name, records, instances, waited: waited as usize });
        }
    }
    Report {
        read: world.read.load(Relaxed),
        written: world.written.load(Relaxed),
        components,
        instances: usize::try_from(all).unwrap_or(usize::MAX),
        half_filled,
        chooses: graph.chooses,
        ..Report::default()
    }
}
