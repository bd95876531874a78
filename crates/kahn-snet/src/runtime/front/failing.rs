//! How the mark of a record that failed goes on in its place: see `marks`.

use std::sync::Arc;

use super::frame::{Frame, Owner};
use super::worker::Worker;
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::graph::{Kind, OpId};
use crate::runtime::steps::shape::Rec;

/// A record that failed, and where its mark goes on.
pub(super) struct Failed {
    pub(super) frame: Arc<Frame>,
    pub(super) op: OpId,
    pub(super) mark: Rec,
}

impl Worker<'_, '_> {
    /// Says that a record failed, whose mark goes on at `op`.
    #[cold]
    pub(super) fn failed(
        &self,
        frame: &Arc<Frame>,
        op: OpId,
        rec: &mut Rec,
        failure: Failure,
    ) -> Box<Failed> {
        let tickets = std::mem::take(&mut rec.tickets);
        let mark = self.shared.failures.mark(rec.number, tickets, failure);
        Box::new(Failed { frame: Arc::clone(frame), op, mark })
    }

    /// Carries a mark on, around everything that would work at it.
    #[cold]
    pub(super) fn carry_mark(&mut self, frame: &Arc<Frame>, op: OpId, mut mark: Rec) {
        let facts = self.facts;
        let (mut frame, mut op) = (frame, op);
        loop {
            let here = &facts.graph.ops[op.0];
            let next = here.next.unwrap_or(op);
            op = match &here.kind {
                Kind::End => match &frame.owner {
                    Owner::Program => {
                        let output = Arc::clone(&self.shared.output_mailbox);
                        self.put(&output, mark);
                        return;
                    }
                    Owner::Replica { parent, after } => {
                        frame = parent;
                        *after
                    }
                    Owner::Loop { parent, feedback: at }
                    | Owner::Stage { parent, star: at, .. }
                    | Owner::Dead { parent, star: at, .. } => {
                        frame = parent;
                        facts.graph.ops[at.0].next.unwrap_or(*at)
                    }
                },
                // Behind the calls that began before.
                Kind::Box(_) => {
                    let mailbox = self.box_mailbox(frame, op);
                    self.put(&mailbox, mark);
                    return;
                }
                Kind::Enter => {
                    self.enter(frame, op, [&mut mark]);
                    next
                }
                Kind::Leave(_) => {
                    if let Some(ticket) = mark.tickets.pop() {
                        self.end_slot(ticket, Some(mark));
                        return;
                    }
                    next
                }
                _ => next,
            };
        }
    }
}
