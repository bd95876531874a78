//! Calling boxes, one or several at once, with their outputs in the order of their inputs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use super::answers::Facts;
use super::backlog::{Backlog, MOST_EARLY};
use super::collector::Collector;
use super::emission::{Emission, Origin};
use super::exec::entity;
use super::failure::{Failure, Flow};
use super::frame::{Entity, Frame, Kind as LandingKind, Landing, Turn};
use super::graph::{Kind, OpId};
use super::licence::Call;
use super::order::Tickets;
use super::shape::{Position, Rec};
use super::step::{BoxStep, Emitted};
use super::worker::{Task, Worker};
use crate::boxes::{Argument, BoxError, BoxFunction, Emitter};
use crate::plan::BoxId;
use crate::record::Value;

impl Worker<'_, '_> {
    /// The landing of a box, which is made if need be.
    pub(super) fn box_landing(&self, frame: &Arc<Frame>, op: OpId) -> Arc<Landing> {
        let here = &self.facts.graph.ops[op.0];
        let make = || {
            let limit = self.shared.limit_of(op);
            let turn = (limit > 1).then(|| {
                let next = here.next.unwrap_or(op);
                let exit = Landing::new(Arc::downgrade(frame), next, LandingKind::Resume);
                Turn { limit, collector: Collector::new(), exit }
            });
            Entity::Box(Landing::new(Arc::downgrade(frame), op, LandingKind::Box(turn)))
        };
        match entity(frame, here.entity, make) {
            Entity::Box(landing) => Arc::clone(landing),
            _ => Arc::clone(&self.shared.output_landing),
        }
    }

    /// Takes one record from the landing of a box and calls it; others may do the same.
    pub(super) fn call_in_turn(&mut self, task: &Task, home: &Arc<Frame>, turn: &Turn) {
        let landing = &task.landing;
        let Some(call) = landing.waiting.begin(turn.limit) else { return };
        let Call { record, number, waited, others_may } = call;
        self.found_waiting(landing.op, waited);
        if others_may {
            self.offer(task.clone());
        }
        let (frame, at) = (Arc::clone(home), Some((Arc::clone(landing), number)));
        self.call(Origin { frame, op: landing.op, at }, record);
        self.hand_in(landing, turn, number, Vec::new(), true);
        if landing.waiting.end(turn.limit) {
            // Below what it made, which is nearer to the output.
            self.role.ready.insert(0, task.clone());
        }
    }

    /// Hands outputs of a call to the collector.
    pub(super) fn hand_in(
        &mut self,
        landing: &Arc<Landing>,
        turn: &Turn,
        number: u64,
        outputs: Vec<Rec>,
        done: bool,
    ) {
        turn.collector.hand_in(number, outputs, done, |out| self.put_now(&turn.exit, out));
        if turn.collector.early() > MOST_EARLY {
            self.shared.threads.backlogs.note(|| Backlog::Calls(Arc::clone(landing)));
        }
    }

    /// Calls a box; what it emits goes on while it runs, and its mark if it fails.
    pub(super) fn call(&mut self, origin: Origin, rec: Rec) {
        let (facts, shared) = (self.facts, self.shared);
        if rec.is_mark() {
            return self.go_on(&origin, &mut vec![rec]);
        }
        let op = origin.op;
        let wants = || shared.failures.wants(rec.number);
        let mut emission = Emission::of(origin);
        let called = match (&facts.graph.ops[op.0].kind, self.steps.of_box(facts, op, rec.shape)) {
            _ if !wants() => Ok(()),
            (Kind::Box(id) | Kind::Initialiser(id), Some(step)) => {
                let function = &*shared.functions[id.0];
                self.begin_emission(&mut emission, &rec);
                let called = facts.call(function, *id, step, &rec, &wants, &mut |out| {
                    self.emit(&mut emission, &rec, out);
                });
                // What it emitted before it failed counts.
                self.end_emission(&mut emission, &rec);
                called
            }
            _ => Err(facts.misfit(op, &rec).into()),
        };
        match called {
            Err(failure) if wants() => {
                let mark = shared.failures.mark(rec.number, rec.tickets, *failure);
                self.hand_out(&mut emission, Some(mark));
            }
            _ => self.settle(rec.tickets),
        }
    }
}

impl Facts<'_> {
    /// Calls a box with a record; `go_on` gets what it emits, record by record. Once the record is not
    /// wanted any more, the box may emit nothing.
    pub(super) fn call(
        self,
        function: &dyn BoxFunction,
        id: BoxId,
        step: &BoxStep,
        rec: &Rec,
        wants: &dyn Fn() -> bool,
        go_on: &mut dyn FnMut(Rec),
    ) -> Flow {
        let declared = self.plan.box_plan(id);
        let inputs = step.inputs.iter().map(|position| match position {
            Position::Field(index) => Argument::Field(rec.fields[*index].clone()),
            Position::Tag(index) => Argument::Tag(rec.tags[*index]),
        });
        let inputs: Vec<Argument> = inputs.collect();
        let result = {
            let mut sink = |variant: usize, values: Vec<Argument>| {
                let mut out = output(step, variant, values, rec);
                out.tickets = rec.tickets.before(self.regions);
                go_on(out);
                if wants() { Ok(()) } else { Err(BoxError::new("the run has ended")) }
            };
            let mut emitter = Emitter::new(&declared.outputs, &mut sink);
            let _watched = self.watch.map(|watch| watch.begin(id, rec));
            catch_unwind(AssertUnwindSafe(|| function.call(inputs, &mut emitter)))
        };
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.box_failed(id, rec, error.0).into()),
            Err(panic) => {
                let reason = format!("it panicked: {}", panic_text(&*panic));
                Err(self.box_failed(id, rec, reason).into())
            }
        }
    }

    fn box_failed(self, id: BoxId, rec: &Rec, reason: String) -> Failure {
        let path = self.plan.box_plan(id).path.clone();
        Failure::Box { path, record: self.text_of(rec), reason }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The record that a box emits, with what it inherits; it has no places in any order yet.
fn output(step: &BoxStep, variant: usize, values: Vec<Argument>, input: &Rec) -> Rec {
    let output = &step.outputs[variant];
    let mut values: SmallVec<[Option<Argument>; 8]> = values.into_iter().map(Some).collect();
    let fields = output.fields.iter().map(|from| match *from {
        Emitted::Given(index) => match values.get_mut(index).and_then(Option::take) {
            Some(Argument::Field(value)) => value,
            _ => Value::Null,
        },
        Emitted::Inherited(index) => input.fields[index].clone(),
    });
    let fields = fields.collect();
    let tags = output.tags.iter().map(|from| match *from {
        Emitted::Given(index) => match values.get(index) {
            Some(Some(Argument::Tag(value))) => *value,
            _ => 0,
        },
        Emitted::Inherited(index) => input.tags[index],
    });
    let tags = tags.collect();
    Rec { shape: output.shape, number: input.number, tickets: Tickets::default(), tags, fields }
}
