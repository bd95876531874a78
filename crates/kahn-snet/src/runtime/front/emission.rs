//! What a box emits, and the role of its worker, from the begin of a call to its end.
//!
//! Outputs are gathered and handed on by the [`CHUNK`], or when a [`LONG`] time has passed since the
//! last were; what is left then, and the role, are in a handoff slot while the box goes on (see `handoff`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::frame::Frame;
use super::handoff::{Left, LeftOutputs, Since};
use super::mailbox::{Duty, Mailbox};
use super::threads::Until;
use super::worker::Worker;
use crate::runtime::steps::graph::OpId;
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::watch::now;

/// Outputs of a call that are handed on together.
const CHUNK: usize = 64;
/// How long a call may take until the next record that it emits is handed on by itself.
const LONG: Duration = Duration::from_millis(1);
/// How many records a call may emit while there are others that no thread has come to.
const MOST_AHEAD: usize = 512;

/// Where a call of a box comes from, and so where what it emits goes on.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) frame: Arc<Frame>,
    pub(super) op: OpId,
    /// Where its record waited, and its number among the calls there; an initialiser has none.
    pub(super) at: Option<(Arc<Mailbox>, u64)>,
}

/// What a call has emitted.
#[derive(Debug)]
pub(super) struct Emission {
    /// None while it is in a handoff slot.
    origin: Option<Origin>,
    /// What has not been handed on.
    outputs: Vec<Rec>,
    /// How many were emitted since the call has waited.
    ahead: usize,
    /// When something was handed on, or the first was emitted.
    last: Option<Instant>,
    /// Whether backlogs are noted because of it.
    long: bool,
    /// Since when its role and outputs are in a handoff slot.
    left: Option<Since>,
}

impl Emission {
    pub(super) fn of(origin: Origin) -> Self {
        let (origin, outputs) = (Some(origin), Vec::new());
        Self { origin, outputs, ahead: 0, last: None, long: false, left: None }
    }

    /// Takes a record; tells whether it is time to hand on.
    fn take(&mut self, rec: Rec) -> bool {
        self.outputs.push(rec);
        self.ahead += 1;
        self.outputs.len() >= CHUNK || self.last.get_or_insert_with(now).elapsed() >= LONG
    }
}

impl Worker<'_, '_> {
    /// Takes what a call emits for the record `rec`.
    pub(super) fn emit(&mut self, emission: &mut Emission, rec: &Rec, out: Rec) {
        self.take_up(emission, rec);
        if emission.take(out) {
            self.hand_on(emission, rec);
        }
        self.leave(emission, rec);
    }

    /// Ends an emission.
    pub(super) fn end_emission(&mut self, emission: &mut Emission, rec: &Rec) {
        self.take_up(emission, rec);
        self.role.ahead += emission.ahead;
        self.hand_out(emission, None);
        if emission.long {
            self.shared.threads.backlogs.end();
        }
    }

    /// Lets outputs go on.
    pub(super) fn go_on(&mut self, origin: &Origin, outputs: &mut Vec<Rec>) {
        if let Some((mailbox, number)) = &origin.at
            && let Duty::Box(Some(turn)) = &mailbox.duty
        {
            self.hand_in(mailbox, turn, *number, std::mem::take(outputs), false);
            return;
        }
        let next = self.facts.graph.ops[origin.op.0].next.unwrap_or(origin.op);
        for out in outputs.drain(..) {
            self.exec(&origin.frame, next, out);
        }
    }

    /// Lets what a call has emitted go on, and its mark if it has failed.
    pub(super) fn hand_out(&mut self, emission: &mut Emission, mark: Option<Rec>) {
        emission.outputs.extend(mark);
        if let Some(origin) = &emission.origin {
            self.go_on(origin, &mut emission.outputs);
        }
    }

    /// Lets what was carried on go to others while the call runs that emitted it; the call waits here
    /// if it is far ahead of them.
    fn hand_on(&mut self, emission: &mut Emission, rec: &Rec) {
        self.hand_out(emission, None);
        if self.role.flushing || self.shared.idle.is_over() {
            return;
        }
        self.is_long(emission);
        self.flush();
        self.publish();
        self.shared.idle.wake();
        let at = now();
        let was_long = emission.last.is_none_or(|last| at.duration_since(last) >= LONG);
        emission.last = Some(at);
        if (was_long || emission.ahead >= MOST_AHEAD)
            && (!self.role.local.is_empty() || self.is_held_up(emission, rec))
        {
            self.wait(emission, rec);
        }
    }

    /// Has a call wait before it begins while a backlog holds it up, if those before it have emitted much: each
    /// emits little perhaps, and all of them much.
    pub(super) fn begin_emission(&mut self, emission: &mut Emission, rec: &Rec) {
        let idle = &self.shared.idle;
        let is_asked = self.role.ahead >= MOST_AHEAD && self.shared.threads.backlogs.are_noted();
        if !is_asked || self.role.flushing || idle.is_over() {
            return;
        }
        self.role.ahead = 0;
        if emission.origin.as_ref().is_some_and(|it| it.at.is_some())
            && self.is_held_up(emission, rec)
        {
            self.is_long(emission);
            self.flush();
            self.publish();
            idle.wake();
            self.wait(emission, rec);
        }
    }

    fn is_held_up(&self, emission: &Emission, rec: &Rec) -> bool {
        let (Some(origin), regions) = (&emission.origin, &self.shared.regions) else {
            return false;
        };
        let backlogs = self.shared.threads.backlogs.left(regions);
        backlogs.iter().any(|backlog| backlog.holds_up(origin, &rec.tickets, regions))
    }

    fn is_long(&self, emission: &mut Emission) {
        if !std::mem::replace(&mut emission.long, true) {
            self.shared.threads.backlogs.begin();
        }
    }

    /// Has a call wait, whose role goes to another thread.
    fn wait(&mut self, emission: &mut Emission, rec: &Rec) {
        let Some(origin) = &emission.origin else { return };
        let until = Until::Room(origin.clone(), rec.tickets.clone());
        self.facts.rests(true);
        let role = self.without_role();
        self.with_role(self.shared.threads.wait(role, rec.number, until));
        self.facts.rests(false);
        emission.ahead = 0;
        emission.last = Some(now());
    }

    /// Leaves the role and the outputs in the handoff slot until the call emits again or ends.
    fn leave(&mut self, emission: &mut Emission, rec: &Rec) {
        // Inside of what empties the outbox no other thread could go on.
        let Some(handoff) = self.role.index.filter(|_| !self.role.flushing) else { return };
        let Some(origin) = emission.origin.take() else { return };
        let (role, outputs) = (self.without_role(), std::mem::take(&mut emission.outputs));
        let within = emission.long.then(|| rec.tickets.clone());
        let times = self.shared.threads.leave(handoff, Left { role, outputs, origin, within });
        emission.left = Some(Since { handoff, times });
    }

    /// Takes back what was left in the handoff slot, or asks for a role if another thread has it.
    fn take_up(&mut self, emission: &mut Emission, rec: &Rec) {
        let Some(since) = emission.left.take() else { return };
        let shared = self.shared;
        if let Some(left) = shared.threads.take_back(since) {
            self.with_role(Some(left.role));
            emission.outputs = left.outputs;
            emission.origin = Some(left.origin);
            return;
        }
        self.facts.rests(true);
        self.is_long(emission);
        let (role, origin) = shared.threads.ask(since, rec.number, &shared.idle);
        self.with_role(role);
        self.facts.rests(false);
        emission.origin = origin;
    }

    /// Hands on what was emitted by a call that is away.
    pub(super) fn hand_on_for(&mut self, emitted: LeftOutputs) {
        let LeftOutputs { mut outputs, origin, since } = emitted;
        self.go_on(&origin, &mut outputs);
        self.flush();
        self.publish();
        self.shared.threads.is_handed_on(since);
    }
}
