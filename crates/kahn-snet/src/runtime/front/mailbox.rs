//! Mailboxes: where records wait for a worker, and what it does with them.

use std::sync::{Arc, Weak};

use kahn_engine::sync::Mutex;

use super::collector::Collector;
use super::frame::{Frame, Next};
use super::ownership::Waiting;
use crate::runtime::steps::graph::OpId;
use crate::runtime::steps::shape::Rec;

/// A queue of records that wait for a worker; one worker at a time drains it.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// The frame it lies in; held by the worker or stack that has work here, not by the mailbox,
    /// for the frame holds the mailbox.
    pub(super) home: Weak<Frame>,
    pub(super) op: OpId,
    pub(super) duty: Duty,
    /// Closed when the replica here was collected.
    pub(super) waiting: Waiting<Rec, Next>,
}

/// What a worker does with the records that wait.
#[derive(Debug)]
pub(super) enum Duty {
    /// Goes on behind the operation.
    Resume,
    /// Goes on in a replica or body, which is made when the first record comes.
    Body(Mutex<Option<Arc<Frame>>>),
    /// Calls a box, for as many records at once as allowed.
    Box(Option<CallsAtOnce>),
    /// Writes records out.
    Output,
}

/// What keeps the order of a box that runs for several records at once.
#[derive(Debug)]
pub(super) struct CallsAtOnce {
    pub(super) limit: usize,
    pub(super) collector: Collector<Rec>,
    /// Where its outputs go on, in order.
    pub(super) exit: Arc<Mailbox>,
}

impl Mailbox {
    pub(super) fn new(home: Weak<Frame>, op: OpId, duty: Duty) -> Arc<Self> {
        Arc::new(Self { home, op, duty, waiting: Waiting::new() })
    }
}

impl Drop for Mailbox {
    /// Drops a chain of collected replicas one by one, not one inside the other.
    fn drop(&mut self) {
        let mut next = self.waiting.take_forward().and_then(|next| next.mailbox);
        while let Some(mut mailbox) = next.and_then(Arc::into_inner) {
            next = mailbox.waiting.take_forward().and_then(|next| next.mailbox);
        }
    }
}
