//! Calling boxes, one or several at once, with their outputs in the order of their inputs.

use std::sync::Arc;

use super::backlog::{Backlog, MOST_EARLY};
use super::carry::entity;
use super::collector::Collector;
use super::emission::{Emission, Origin};
use super::frame::{Entity, Frame};
use super::mailbox::{CallsAtOnce, Duty, Mailbox};
use super::ownership::NextCall;
use super::stack::Task;
use super::worker::Worker;
use crate::runtime::steps::graph::{Kind, OpId};
use crate::runtime::steps::shape::Rec;

impl Worker<'_, '_> {
    /// The mailbox of a box, which is made if need be.
    pub(super) fn box_mailbox(&self, frame: &Arc<Frame>, op: OpId) -> Arc<Mailbox> {
        let here = &self.facts.graph.ops[op.0];
        let make = || {
            let limit = self.shared.limit_of(op);
            let turn = (limit > 1).then(|| {
                let next = here.next.unwrap_or(op);
                let exit = Mailbox::new(Arc::downgrade(frame), next, Duty::Resume);
                CallsAtOnce { limit, collector: Collector::new(), exit }
            });
            Entity::Box(Mailbox::new(Arc::downgrade(frame), op, Duty::Box(turn)))
        };
        match entity(frame, here.entity, make) {
            Entity::Box(mailbox) => Arc::clone(mailbox),
            _ => Arc::clone(&self.shared.output_mailbox),
        }
    }

    /// Takes one record from the mailbox of a box and calls it; others may do the same.
    pub(super) fn call_in_turn(&mut self, task: &Task, home: &Arc<Frame>, turn: &CallsAtOnce) {
        let mailbox = &task.mailbox;
        let Some(call) = mailbox.waiting.begin(turn.limit) else { return };
        let NextCall { record, number, waited, others_may } = call;
        self.found_waiting(mailbox.op, waited);
        if others_may {
            self.offer(Box::new(task.clone()));
        }
        let (frame, at) = (Arc::clone(home), Some((Arc::clone(mailbox), number)));
        self.call(Origin { frame, op: mailbox.op, at }, record);
        self.hand_in(mailbox, turn, number, Vec::new(), true);
        if mailbox.waiting.end(turn.limit) {
            // Below what it made, which is nearer to the output.
            self.role.ready.insert(0, Box::new(task.clone()));
        }
    }

    /// Hands outputs of a call to the collector.
    pub(super) fn hand_in(
        &mut self,
        mailbox: &Arc<Mailbox>,
        turn: &CallsAtOnce,
        number: u64,
        outputs: Vec<Rec>,
        done: bool,
    ) {
        turn.collector.hand_in(number, outputs, done, |out| self.put_now(&turn.exit, out));
        if turn.collector.early() > MOST_EARLY {
            self.shared.threads.backlogs.note(|| Backlog::Calls(Arc::clone(mailbox)));
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
                let called = facts.call(function, *id, step, &rec, &wants, &mut |mut out| {
                    out.tickets = shared.regions.before(&rec.tickets);
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
