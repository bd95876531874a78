//! Bodies of stars and feedbacks: made for the first record, begun by their initialisers, and fed.

use std::sync::Arc;

use kahn_engine::sync::Mutex;
use smallvec::SmallVec;

use super::carry::entity;
use super::emission::Origin;
use super::frame::{Entity, Frame, Owner};
use super::mailbox::{Duty, Mailbox};
use super::worker::Worker;
use crate::runtime::steps::graph::{Kind, OpId};
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::tickets::Tickets;

impl Worker<'_, '_> {
    /// Runs what begins without input in a new frame; in the orders around, what comes of it comes
    /// before the record that caused the frame, of that number and with these order slots.
    pub(super) fn initialise(&mut self, frame: &Arc<Frame>, number: u32, cause: &Tickets) {
        let facts = self.facts;
        for (op, orders) in &facts.graph.scopes[frame.scope.0].initialisers {
            let (shape, _) = facts.shapes.shape(&[]);
            let tickets = self.shared.regions.before(cause);
            let (tags, fields) = (SmallVec::new(), SmallVec::new());
            let mut nothing = Rec { shape, number, tickets, tags, fields };
            for enter in orders {
                self.enter(frame, *enter, [&mut nothing]);
            }
            if let Kind::Feedback { .. } = facts.graph.ops[op.0].kind {
                let mailbox = self.loop_mailbox(frame, *op);
                self.body_of(&mailbox, frame, &nothing);
                self.settle(nothing.tickets);
            } else {
                let (frame, op) = (Arc::clone(frame), *op);
                self.call(Origin { frame, op, at: None }, nothing);
            }
        }
    }

    /// Puts a record before the body of a feedback.
    pub(super) fn feed(&mut self, frame: &Arc<Frame>, feedback: OpId, in_turn: bool, rec: Rec) {
        let rec = if in_turn { self.shared.regions.in_turn(rec) } else { Some(rec) };
        if let Some(rec) = rec {
            let mailbox = self.loop_mailbox(frame, feedback);
            self.put(&mailbox, rec);
        }
    }

    /// The frame behind a mailbox, which is made if need be, for the record `cause`.
    pub(super) fn body_of(
        &mut self,
        mailbox: &Arc<Mailbox>,
        home: &Arc<Frame>,
        cause: &Rec,
    ) -> Option<Arc<Frame>> {
        let Duty::Body(body) = &mailbox.duty else { return None };
        if let Some(known) = body.lock().clone() {
            return Some(known);
        }
        let op = mailbox.op;
        let parent = Arc::clone(home);
        let (scope, owner) = match &self.facts.graph.ops[op.0].kind {
            Kind::Star { body, .. } => {
                let next = Mutex::default();
                (*body, Owner::Stage { parent, star: op, next })
            }
            Kind::Feedback { body, .. } => (*body, Owner::Loop { parent, feedback: op }),
            _ => return None,
        };
        let entities = self.facts.graph.scopes[scope.0].entities;
        let frame = Arc::new(Frame::new(scope, entities, owner));
        *body.lock() = Some(Arc::clone(&frame));
        self.initialise(&frame, cause.number, &cause.tickets);
        Some(frame)
    }

    pub(super) fn loop_mailbox(&self, frame: &Arc<Frame>, op: OpId) -> Arc<Mailbox> {
        let index = self.facts.graph.ops[op.0].entity;
        let make = || {
            let body = Duty::Body(Mutex::default());
            Entity::Loop(Mailbox::new(Arc::downgrade(frame), op, body))
        };
        match entity(frame, index, make) {
            Entity::Loop(mailbox) => Arc::clone(mailbox),
            _ => Arc::clone(&self.shared.output_mailbox),
        }
    }
}
