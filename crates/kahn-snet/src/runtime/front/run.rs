//! A run by workers that carry records, from the first record to the report.

use std::sync::{Arc, Weak};

use kahn_engine::sync::Mutex;

use super::frame::{self, Entity, Frame, Owner};
use super::mailbox::{Duty, Mailbox};
use super::order::Regions;
use super::role::{Counted, Role};
use super::shared::{Entrance, Shared};
use super::sleep::Idle;
use super::threads::{self, Threads};
use crate::boxes::BoxFunction;
use crate::program::Program;
use crate::runtime::error::RunError;
use crate::runtime::handle::Handle;
use crate::runtime::options::Options;
use crate::runtime::report::{ComponentCount, Report};
use crate::runtime::steps::answers::Facts;
use crate::runtime::steps::graph::{Graph, Kind, OpId, ScopeId};
use crate::runtime::steps::marks::Failures;
use crate::runtime::steps::observe::Observers;
use crate::runtime::steps::watch::Watch;
use crate::runtime::steps::within::Within;
use crate::runtime::streams::{Input, Output, Sink, Source};

/// Runs a program by workers that carry records.
pub(in crate::runtime) fn run(
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
    let role = |index| Role::new(Some(index), graph.ops.len());
    let roles: Vec<Role> = (0..options.workers.max(1)).map(role).collect();
    let shared = Shared {
        facts,
        functions,
        limits: limits(graph, program, options),
        stacks: roles.iter().map(|role| role.local.bottom()).collect(),
        output_mailbox: Mailbox::new(Weak::clone(&home), OpId(0), Duty::Output),
        entry_mailbox: Mailbox::new(home, entry, Duty::Resume),
        root: Arc::clone(&root),
        entrance: Mutex::new(Entrance { input: Input::new(source), open: false }),
        output: Mutex::new(Output::new(sink)),
        observers: Observers::default(),
        idle: Idle::new(options.workers.max(1)),
        threads: Threads::new(options.workers.max(1)),
        failures: Arc::new(Failures::new(graph.chooses)),
        regions: Regions::default(),
        collecting: options.collect,
    };
    let _begun = Handle::begin(options.handle.as_ref(), &shared.failures, || None);
    let fail = |number, failure| shared.failures.ends_at(number, failure);
    let totals = Watch::during(facts.watch, facts, fail, || threads::work(&shared, roles))?;
    shared.flush();
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
    let graph = shared.facts.graph;
    let counted = |OpId(index): OpId| {
        let records = totals.iter().map(|counted| counted.counts[index]).sum();
        let waited = totals.iter().map(|counted| counted.waited[index]).max().unwrap_or(0);
        (records, frames[graph.ops[index].scope.0], waited)
    };
    Report {
        read: shared.entrance.lock().input.read,
        written: shared.output.lock().written,
        components: ComponentCount::all_of(graph, counted),
        activations: totals.iter().map(|counted| counted.activations).collect(),
        stolen: totals.iter().map(|counted| counted.stolen).collect(),
        instances: usize::try_from(frames.iter().sum::<u64>()).unwrap_or(usize::MAX),
        half_filled,
        chooses: graph.chooses,
    }
}
