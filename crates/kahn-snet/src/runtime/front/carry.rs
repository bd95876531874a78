//! Carrying a record through the graph: from a mailbox to the next.
//!
//! Everything without state is done on the way, by the worker that has the record; so is what
//! has state behind a short lock (synchro-cells, tables of replicas). A record is put down only
//! where others may have to wait for their turn: at a replica of a star, at the body of a
//! feedback, at a box, at the end of an order, at the output.

use std::sync::Arc;

use kahn_engine::sync::{Mutex, PlainRwLock};

use super::failing::Failed;
use super::frame::{Entity, Frame, Next, Owner, Table};
use super::mailbox::{Duty, Mailbox};
use super::worker::Worker;
use crate::runtime::steps::cell::{Cell, Offer, Zipper};
use crate::runtime::steps::expression::NoValue;
use crate::runtime::steps::graph::{Kind, MOST_COPIES, OpId, ScopeId};
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::tickets::Tickets;

/// What follows the end of a frame.
enum AfterEnd<'a> {
    Nothing,
    Goes(&'a Arc<Frame>, OpId, Rec),
}

impl Worker<'_, '_> {
    /// Carries a record on from an operation until it is put down or ends; if it fails, its mark.
    pub(super) fn exec(&mut self, frame: &Arc<Frame>, op: OpId, rec: Rec) {
        if rec.is_mark() {
            return self.carry_mark(frame, op, rec);
        }
        if let Err(failed) = self.carry(frame, op, rec) {
            self.carry_mark(&failed.frame, failed.op, failed.mark);
        }
    }

    fn carry(&mut self, frame: &Arc<Frame>, op: OpId, rec: Rec) -> Result<(), Box<Failed>> {
        let facts = self.facts;
        let (mut frame, mut op, mut rec) = (frame, op, rec);
        loop {
            let here = &facts.graph.ops[op.0];
            self.role.counts[op.0] += 1;
            let next = here.next.unwrap_or(op);
            match &here.kind {
                Kind::End => match self.end(frame, rec)? {
                    AfterEnd::Nothing => return Ok(()),
                    AfterEnd::Goes(outer, at, out) => {
                        (frame, op, rec) = (outer, at, out);
                        continue;
                    }
                },
                Kind::Filter { .. } => {
                    let Some(made) = self.filter(frame, op, next, rec)? else { return Ok(()) };
                    rec = made;
                }
                Kind::Choice(_) => {
                    if let Some(entry) = self.steps.route(facts, op, rec.shape) {
                        op = entry;
                        continue;
                    }
                    let failure = facts.no_branch(op, &rec);
                    return Err(self.failed(frame, next, &mut rec, failure));
                }
                Kind::Box(_) => {
                    let mailbox = self.box_mailbox(frame, op);
                    self.put(&mailbox, rec);
                    return Ok(());
                }
                Kind::Initialiser(_) => {
                    let failure = facts.misfit(op, &rec);
                    return Err(self.failed(frame, next, &mut rec, failure));
                }
                Kind::Cell(tests) => {
                    let Some(out) = self.cell(frame, op, tests.len(), rec)? else {
                        return Ok(());
                    };
                    rec = out;
                }
                Kind::Star { zipper, .. } => {
                    let Some(out) = self.star(frame, op, zipper.as_ref().map(Vec::len), rec)?
                    else {
                        return Ok(());
                    };
                    rec = out;
                }
                Kind::Feedback { in_turn, .. } => {
                    self.feed(frame, op, *in_turn, rec);
                    return Ok(());
                }
                Kind::Split { .. } => match self.split(frame, op, rec)? {
                    Some(out) => rec = out,
                    None => return Ok(()),
                },
                Kind::Enter => {
                    self.enter(frame, op, [&mut rec]);
                }
                Kind::Leave(_) => {
                    if let Some(ticket) = rec.tickets.pop() {
                        self.end_slot(ticket, Some(rec));
                        return Ok(());
                    }
                }
                Kind::Observe { .. } | Kind::Entrance(_) => {
                    if let Err(failure) = self.shared.observers.see(facts, op, &rec) {
                        return Err(self.failed(frame, next, &mut rec, failure));
                    }
                }
            }
            op = next;
        }
    }

    fn filter(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        next: OpId,
        mut rec: Rec,
    ) -> Result<Option<Rec>, Box<Failed>> {
        let facts = self.facts;
        let Some(arms) = self.steps.filter(facts, op, rec.shape) else {
            let failure = facts.misfit(op, &rec);
            return Err(self.failed(frame, next, &mut rec, failure));
        };
        for arm in arms {
            let taken = match &arm.guard {
                None => true,
                Some(guard) => match guard.value(&rec.tags) {
                    Ok(value) => value != 0,
                    Err(error) => return Err(self.no_value(frame, op, next, &mut rec, error)),
                },
            };
            if !taken {
                continue;
            }
            let Some((last, others)) = arm.records.split_last() else { break };
            for made in others {
                match made.from(&mut rec) {
                    Ok(mut out) => {
                        out.tickets = self.shared.regions.before(&rec.tickets);
                        self.exec(frame, next, out);
                    }
                    Err(error) => return Err(self.no_value(frame, op, next, &mut rec, error)),
                }
            }
            let mut out = match last.from(&mut rec) {
                Ok(out) => out,
                Err(error) => return Err(self.no_value(frame, op, next, &mut rec, error)),
            };
            out.tickets = std::mem::take(&mut rec.tickets);
            return Ok(Some(out));
        }
        self.settle(rec.tickets);
        Ok(None)
    }

    /// Says that a tag expression of an operation has no value for a record.
    #[cold]
    fn no_value(
        &self,
        frame: &Arc<Frame>,
        op: OpId,
        next: OpId,
        rec: &mut Rec,
        error: NoValue,
    ) -> Box<Failed> {
        let failure = self.facts.no_value(op, rec, error);
        self.failed(frame, next, rec, failure)
    }

    /// Whether a record leaves a star or goes back in a feedback.
    fn matches(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        rec: &mut Rec,
    ) -> Result<bool, Box<Failed>> {
        let tests = self.steps.exits(self.facts, op, rec.shape);
        match tests.matches(rec) {
            Ok(matches) => Ok(matches),
            Err(error) => Err(self.no_value(frame, op, self.after(op), rec, error)),
        }
    }

    /// The patterns of a cell that a record matches.
    fn fits(&mut self, frame: &Arc<Frame>, op: OpId, rec: &mut Rec) -> Result<u64, Box<Failed>> {
        let tests = self.steps.patterns(self.facts, op, rec.shape);
        match tests.all(rec) {
            Ok(fits) => Ok(fits),
            Err(error) => Err(self.no_value(frame, op, self.after(op), rec, error)),
        }
    }

    /// What follows an operation.
    fn after(&self, op: OpId) -> OpId {
        self.facts.graph.ops[op.0].next.unwrap_or(op)
    }

    /// Ends the order slots of a record that ended.
    pub(super) fn settle(&mut self, mut tickets: Tickets) {
        // The innermost first: what it lets go on may still wait in the outer orders.
        while let Some(ticket) = tickets.pop() {
            self.end_slot(ticket, None);
        }
    }

    fn cell(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        patterns: usize,
        rec: Rec,
    ) -> Result<Option<Rec>, Box<Failed>> {
        let Entity::Cell(cell) = entity(frame, self.facts.graph.ops[op.0].entity, || {
            Entity::Cell(Mutex::new(Cell::new()))
        }) else {
            return Ok(Some(rec));
        };
        self.offer_to(frame, op, rec, |rec, fits| cell.lock().offer(rec, fits, patterns))
    }

    /// Offers a record to a cell.
    fn offer_to(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        mut rec: Rec,
        to: impl FnOnce(Rec, u64) -> Offer,
    ) -> Result<Option<Rec>, Box<Failed>> {
        let fits = self.fits(frame, op, &mut rec)?;
        let tickets = std::mem::take(&mut rec.tickets);
        Ok(match to(rec, fits) {
            Offer::Kept => {
                self.settle(tickets);
                None
            }
            Offer::Passed(mut rec) => {
                rec.tickets = tickets;
                Some(rec)
            }
            Offer::Complete(slots) => Some(self.merge(op, &slots, tickets)),
        })
    }

    /// Offers a record to the cell of its value, where each replica of a split is a cell.
    fn cell_of_value(
        &mut self,
        frame: &Arc<Frame>,
        split: OpId,
        cell: OpId,
        value: i64,
        rec: Rec,
    ) -> Result<Option<Rec>, Box<Failed>> {
        self.role.counts[cell.0] += 1;
        let graph = self.facts.graph;
        let make = || Entity::Cells(Mutex::default());
        let (Entity::Cells(cells), Kind::Cell(tests)) =
            (entity(frame, graph.ops[split.0].entity, make), &graph.ops[cell.0].kind)
        else {
            return Ok(Some(rec));
        };
        self.offer_to(frame, cell, rec, |rec, fits| {
            cells.lock().entry(value).or_insert_with(Cell::new).offer(rec, fits, tests.len())
        })
    }

    fn merge(&self, op: OpId, slots: &[Rec], tickets: Tickets) -> Rec {
        Rec { tickets, ..self.facts.merge(op, slots) }
    }

    /// The test before the first replica; gives back what leaves at once.
    fn star(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        zipper: Option<usize>,
        mut rec: Rec,
    ) -> Result<Option<Rec>, Box<Failed>> {
        if self.matches(frame, op, &mut rec)? {
            return Ok(Some(rec));
        }
        let index = self.facts.graph.ops[op.0].entity;
        let Some(patterns) = zipper else {
            let first = || Entity::Star(Mutex::default());
            if let Entity::Star(first) = entity(frame, index, first) {
                let mut first = first.lock();
                Self::follow(frame, op, &mut first);
                let to = first.clone();
                drop(first);
                self.put_at_replica(frame, op, &to, rec);
            }
            return Ok(None);
        };
        let make = || Entity::Zipper(Mutex::new(Zipper::new(patterns)));
        let Entity::Zipper(zipper) = entity(frame, index, make) else { return Ok(None) };
        let mut from = 0;
        loop {
            let fits = self.fits(frame, op, &mut rec)?;
            if fits == 0 {
                let failure = self.facts.never_kept(op, &rec);
                return Err(self.failed(frame, self.after(op), &mut rec, failure));
            }
            let tickets = std::mem::take(&mut rec.tickets);
            let (offer, number) = zipper.lock().offer(rec, fits, from);
            match offer {
                Offer::Kept => {
                    self.settle(tickets);
                    return Ok(None);
                }
                Offer::Passed(_) => return Ok(None),
                Offer::Complete(slots) => rec = self.merge(op, &slots, tickets),
            }
            if self.matches(frame, op, &mut rec)? {
                return Ok(Some(rec));
            }
            from = number + 1;
        }
    }

    /// Makes `next` point at a replica that is not collected, which is made if need be.
    fn follow(parent: &Arc<Frame>, star: OpId, next: &mut Next) {
        let Some(mailbox) = &mut next.mailbox else {
            let body = Duty::Body(Mutex::default());
            next.mailbox = Some(Mailbox::new(Arc::downgrade(parent), star, body));
            return;
        };
        while let Some(forward) = mailbox.waiting.forward() {
            next.dead += forward.dead;
            match forward.mailbox.clone() {
                Some(further) => *mailbox = further,
                None => return,
            }
        }
    }

    /// Puts a record down at a replica, past those that were collected.
    pub(super) fn put_at_replica(
        &mut self,
        parent: &Arc<Frame>,
        star: OpId,
        next: &Next,
        rec: Rec,
    ) {
        if next.dead > 0 && !self.steps.passes_dead(self.facts, star, rec.shape) {
            // Rare: it does not pass a collected replica as it is, so it meets a stand-in.
            let Kind::Star { body, .. } = &self.facts.graph.ops[star.0].kind else {
                return;
            };
            let next = Next { mailbox: next.mailbox.clone(), dead: next.dead - 1 };
            let owner = Owner::Dead { parent: Arc::clone(parent), star, next };
            let scope = &self.facts.graph.scopes[body.0];
            let frame = Arc::new(Frame::new(*body, scope.entities, owner));
            self.fire_all(&frame, *body);
            let Some(entry) = scope.entry else { return };
            return self.exec(&frame, entry, rec);
        }
        if let Some(mailbox) = &next.mailbox {
            self.put(mailbox, rec);
        }
    }

    /// Makes all cells of a frame ones that have fired.
    fn fire_all(&self, frame: &Frame, scope: ScopeId) {
        for op in &self.facts.graph.scopes[scope.0].cells {
            let entity = &frame.entities[self.facts.graph.ops[op.0].entity];
            entity.set(Entity::Cell(Mutex::new(Cell::Done)));
        }
    }

    fn end<'f>(
        &mut self,
        frame: &'f Arc<Frame>,
        mut rec: Rec,
    ) -> Result<AfterEnd<'f>, Box<Failed>> {
        match &frame.owner {
            Owner::Program => {
                let output = Arc::clone(&self.shared.output_mailbox);
                self.put(&output, rec);
                Ok(AfterEnd::Nothing)
            }
            Owner::Replica { parent, after } => Ok(AfterEnd::Goes(parent, *after, rec)),
            Owner::Loop { parent, feedback } => {
                if self.matches(parent, *feedback, &mut rec)? {
                    let Kind::Feedback { in_turn, .. } = self.facts.graph.ops[feedback.0].kind
                    else {
                        return Ok(AfterEnd::Nothing);
                    };
                    self.feed(parent, *feedback, in_turn, rec);
                    return Ok(AfterEnd::Nothing);
                }
                Ok(AfterEnd::Goes(parent, self.after(*feedback), rec))
            }
            Owner::Stage { parent, star, .. } | Owner::Dead { parent, star, .. } => {
                if self.matches(parent, *star, &mut rec)? {
                    return Ok(AfterEnd::Goes(parent, self.after(*star), rec));
                }
                let to = match &frame.owner {
                    Owner::Stage { next, .. } => {
                        let mut next = next.lock();
                        Self::follow(parent, *star, &mut next);
                        next.clone()
                    }
                    Owner::Dead { next, .. } => next.clone(),
                    _ => Next::default(),
                };
                self.put_at_replica(parent, *star, &to, rec);
                Ok(AfterEnd::Nothing)
            }
        }
    }

    fn split(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        mut rec: Rec,
    ) -> Result<Option<Rec>, Box<Failed>> {
        let next = self.after(op);
        let Some((low, high)) = self.steps.tags(self.facts, op, rec.shape) else {
            let failure = self.facts.misfit(op, &rec);
            return Err(self.failed(frame, next, &mut rec, failure));
        };
        if low == high {
            let value = rec.tags[low];
            return self.replica(frame, op, value, rec);
        }
        let (low, high) = (rec.tags[low], rec.tags[high]);
        if low > high {
            self.settle(rec.tickets);
            return Ok(None);
        }
        if i128::from(high) - i128::from(low) >= MOST_COPIES {
            let failure = self.facts.too_many(op, &rec);
            return Err(self.failed(frame, next, &mut rec, failure));
        }
        for value in low..high {
            let mut copy = rec.clone();
            copy.tickets = self.shared.regions.before(&rec.tickets);
            match self.replica(frame, op, value, copy) {
                Ok(None) => {}
                Ok(Some(out)) => self.exec(frame, next, out),
                Err(failed) => self.carry_mark(&failed.frame, failed.op, failed.mark),
            }
        }
        self.replica(frame, op, high, rec)
    }

    /// Carries a record through a replica; gives back what comes out of one that is only a cell.
    fn replica(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        value: i64,
        rec: Rec,
    ) -> Result<Option<Rec>, Box<Failed>> {
        let here = &self.facts.graph.ops[op.0];
        let Kind::Split { body, cell, .. } = here.kind else { return Ok(Some(rec)) };
        if let Some(cell) = cell {
            return self.cell_of_value(frame, op, cell, value, rec);
        }
        let scope = &self.facts.graph.scopes[body.0];
        let table = entity(frame, here.entity, || Entity::Split(PlainRwLock::default()));
        let Entity::Split(table) = table else { return Ok(None) };
        let known = table.read().get(&value).cloned();
        let replica = match known {
            Some(known) => known,
            None => self.replica_made(frame, op, body, table, value, &rec),
        };
        let Some(entry) = scope.entry else { return Ok(None) };
        self.exec(&replica, entry, rec);
        Ok(None)
    }

    /// The replica for a value, made if no other worker was quicker.
    fn replica_made(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        body: ScopeId,
        table: &PlainRwLock<Table<Arc<Frame>>>,
        value: i64,
        cause: &Rec,
    ) -> Arc<Frame> {
        let graph = self.facts.graph;
        let mut table = table.write();
        if let Some(known) = table.get(&value) {
            return Arc::clone(known);
        }
        let owner =
            Owner::Replica { parent: Arc::clone(frame), after: graph.ops[op.0].next.unwrap_or(op) };
        let replica = Arc::new(Frame::new(body, graph.scopes[body.0].entities, owner));
        table.insert(value, Arc::clone(&replica));
        drop(table);
        self.initialise(&replica, cause.number, &cause.tickets);
        replica
    }

    /// Gives records their slots in an order.
    pub(super) fn enter<'b>(
        &self,
        frame: &Arc<Frame>,
        op: OpId,
        records: impl IntoIterator<Item = &'b mut Rec>,
    ) {
        if let Entity::Region(region) = self.entity(frame, op) {
            self.shared.regions.enter(*region, records);
        }
    }

    /// The entity of an operation that enters an order.
    fn entity<'f>(&self, frame: &'f Arc<Frame>, op: OpId) -> &'f Entity {
        let graph = self.facts.graph;
        entity(frame, graph.ops[op.0].entity, || {
            let leave = graph.ops.iter().find_map(|other| match other.kind {
                Kind::Leave(enter) if enter == op => other.next,
                _ => None,
            });
            let home = Arc::downgrade(frame);
            let exit = Mailbox::new(home, leave.unwrap_or(op), Duty::Resume);
            let body = graph.ops[op.0].next.filter(|inner| {
                matches!(graph.ops[inner.0].kind, Kind::Feedback { in_turn: true, .. })
            });
            let body = body.map(|feedback| self.loop_mailbox(frame, feedback));
            Entity::Region(self.shared.regions.create(exit, body))
        })
    }
}

/// Whether all that a frame keeps are cells that have fired.
pub(super) fn is_dead(frame: &Frame) -> bool {
    frame.entities.iter().all(|entity| match entity.get() {
        Some(Entity::Cell(cell)) => matches!(*cell.lock(), Cell::Done),
        Some(Entity::Box(mailbox)) => mailbox.waiting.is_idle(),
        _ => false,
    })
}

/// What a component keeps in a frame, made when first asked for.
pub(super) fn entity(frame: &Frame, index: usize, make: impl FnOnce() -> Entity) -> &Entity {
    frame.entities[index].get_or_init(make)
}
