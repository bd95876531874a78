//! Carrying a record through the graph: from a landing to the next.
//!
//! Everything without state is done on the way, by the worker that has the record; so is what
//! has state behind a short lock (synchro-cells, tables of replicas). A record is put down only
//! where others may have to wait for their turn: at a replica of a star, at the body of a
//! feedback, at a box, at the end of an order, at the output.

use std::sync::Arc;

use smallvec::SmallVec;

use super::cell::{Cell, Offer, Zipper};
use super::failure::Failure;
use super::frame::{Entity, Frame, Kind as LandingKind, Landing, Next, Owner, Table};
use super::graph::{Kind, OpId, ScopeId};
use super::order::Tickets;
use super::shape::Rec;
use super::worker::Worker;

/// The most replicas that one record may be copied to.
pub(super) const MOST_COPIES: i128 = 1 << 24;

/// What a failure ends.
pub(in crate::runtime) type Flow = Result<(), Box<Failure>>;

/// What follows the end of a frame.
enum AfterEnd<'a> {
    Nothing,
    Goes(&'a Arc<Frame>, OpId, Rec),
}

impl Worker<'_, '_> {
    /// Carries a record on from an operation until it is put down or ends.
    pub(super) fn exec(&mut self, frame: &Arc<Frame>, op: OpId, rec: Rec) -> Flow {
        let facts = self.facts;
        let (mut frame, mut op, mut rec) = (frame, op, rec);
        loop {
            let here = &facts.graph.ops[op.0];
            self.counts[op.0] += 1;
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
                Kind::Choice(_) => match self.steps.route(facts, op, rec.shape) {
                    Some(entry) => {
                        op = entry;
                        continue;
                    }
                    None => return Err(self.facts.no_branch(op, &rec).into()),
                },
                Kind::Box(_) => {
                    let landing = self.box_landing(frame, op);
                    self.put(&landing, rec);
                    return Ok(());
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
                        self.end_place(ticket, Some(rec));
                        return Ok(());
                    }
                }
                Kind::Observe { .. } => self.shared.observers.see(facts, op, &rec)?,
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
    ) -> Result<Option<Rec>, Box<Failure>> {
        let Some(arms) = self.steps.filter(self.facts, op, rec.shape) else {
            return Err(self.facts.misfit(op, &rec).into());
        };
        for arm in arms {
            let taken = match &arm.guard {
                None => true,
                Some(guard) => {
                    guard.value(&rec.tags).map_err(|e| self.facts.no_value(op, &rec, e))? != 0
                }
            };
            if !taken {
                continue;
            }
            let Some((last, others)) = arm.records.split_last() else { break };
            for made in others {
                let out = made.from(&mut rec);
                let mut out = out.map_err(|error| self.facts.no_value(op, &rec, error))?;
                out.tickets = rec.tickets.before(self.facts.regions);
                self.exec(frame, next, out)?;
            }
            let out = last.from(&mut rec);
            let mut out = out.map_err(|error| self.facts.no_value(op, &rec, error))?;
            out.tickets = std::mem::take(&mut rec.tickets);
            return Ok(Some(out));
        }
        self.settle(rec.tickets);
        Ok(None)
    }

    /// Ends the places of a record that ended.
    pub(super) fn settle(&mut self, mut tickets: Tickets) {
        // The innermost first: what it lets go on may still wait in the outer orders.
        while let Some(ticket) = tickets.pop() {
            self.end_place(ticket, None);
        }
    }

    fn cell(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        patterns: usize,
        rec: Rec,
    ) -> Result<Option<Rec>, Box<Failure>> {
        let Entity::Cell(cell) = entity(frame, self.facts.graph.ops[op.0].entity, || {
            Entity::Cell(parking_lot::Mutex::new(Cell::new()))
        }) else {
            return Ok(Some(rec));
        };
        self.offer_to(op, rec, |rec, fits| cell.lock().offer(rec, fits, patterns))
    }

    /// Offers a record to a cell.
    fn offer_to(
        &mut self,
        op: OpId,
        mut rec: Rec,
        to: impl FnOnce(Rec, u64) -> Offer,
    ) -> Result<Option<Rec>, Box<Failure>> {
        let tests = self.steps.patterns(self.facts, op, rec.shape);
        let fits = tests.all(&rec).map_err(|error| self.facts.no_value(op, &rec, error))?;
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
    ) -> Result<Option<Rec>, Box<Failure>> {
        self.counts[cell.0] += 1;
        let graph = self.facts.graph;
        let make = || Entity::Cells(parking_lot::Mutex::default());
        let (Entity::Cells(cells), Kind::Cell(tests)) =
            (entity(frame, graph.ops[split.0].entity, make), &graph.ops[cell.0].kind)
        else {
            return Ok(Some(rec));
        };
        self.offer_to(cell, rec, |rec, fits| {
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
    ) -> Result<Option<Rec>, Box<Failure>> {
        let exits = self.steps.exits(self.facts, op, rec.shape);
        if exits.matches(&rec).map_err(|error| self.facts.no_value(op, &rec, error))? {
            return Ok(Some(rec));
        }
        let index = self.facts.graph.ops[op.0].entity;
        let Some(patterns) = zipper else {
            let first = || Entity::Star(parking_lot::Mutex::default());
            if let Entity::Star(first) = entity(frame, index, first) {
                let mut first = first.lock();
                Self::follow(frame, op, &mut first);
                let to = first.clone();
                drop(first);
                self.put_at_replica(frame, op, &to, rec)?;
            }
            return Ok(None);
        };
        let make = || Entity::Zipper(parking_lot::Mutex::new(Zipper::new(patterns)));
        let Entity::Zipper(zipper) = entity(frame, index, make) else { return Ok(None) };
        let mut from = 0;
        loop {
            let tests = self.steps.patterns(self.facts, op, rec.shape);
            let fits = tests.all(&rec).map_err(|error| self.facts.no_value(op, &rec, error))?;
            if fits == 0 {
                return Err(self.facts.never_kept(op, &rec).into());
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
            let exits = self.steps.exits(self.facts, op, rec.shape);
            if exits.matches(&rec).map_err(|error| self.facts.no_value(op, &rec, error))? {
                return Ok(Some(rec));
            }
            from = number + 1;
        }
    }

    /// Makes `next` point at a replica that is not collected, which is made if need be.
    fn follow(parent: &Arc<Frame>, star: OpId, next: &mut Next) {
        let Some(landing) = &mut next.landing else {
            let body = LandingKind::Body(parking_lot::Mutex::default());
            next.landing = Some(Landing::new(Arc::downgrade(parent), star, body));
            return;
        };
        while let Some(forward) = landing.waiting.forward() {
            next.dead += forward.dead;
            match forward.landing.clone() {
                Some(further) => *landing = further,
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
    ) -> Flow {
        if next.dead > 0 && !self.steps.passes_dead(self.facts, star, rec.shape) {
            // Rare: it does not pass a collected replica as it is, so it meets a stand-in.
            let Kind::Star { body, .. } = &self.facts.graph.ops[star.0].kind else {
                return Ok(());
            };
            let next = Next { landing: next.landing.clone(), dead: next.dead - 1 };
            let owner = Owner::Dead { parent: Arc::clone(parent), star, next };
            let scope = &self.facts.graph.scopes[body.0];
            let frame = Arc::new(Frame::new(*body, scope.entities, owner));
            self.fire_all(&frame, *body);
            let Some(entry) = scope.entry else { return Ok(()) };
            return self.exec(&frame, entry, rec);
        }
        if let Some(landing) = &next.landing {
            self.put(landing, rec);
        }
        Ok(())
    }

    /// Makes all cells of a frame ones that have fired.
    fn fire_all(&self, frame: &Frame, scope: ScopeId) {
        for op in &self.facts.graph.scopes[scope.0].cells {
            let entity = &frame.entities[self.facts.graph.ops[op.0].entity];
            entity.set(Entity::Cell(parking_lot::Mutex::new(Cell::Done)));
        }
    }

    fn end<'f>(&mut self, frame: &'f Arc<Frame>, rec: Rec) -> Result<AfterEnd<'f>, Box<Failure>> {
        let after = |op: OpId| self.facts.graph.ops[op.0].next.unwrap_or(op);
        match &frame.owner {
            Owner::Program => {
                let output = Arc::clone(&self.shared.output_landing);
                self.put(&output, rec);
                Ok(AfterEnd::Nothing)
            }
            Owner::Replica { parent, after } => Ok(AfterEnd::Goes(parent, *after, rec)),
            Owner::Loop { parent, feedback } => {
                let back = self.steps.exits(self.facts, *feedback, rec.shape);
                if back
                    .matches(&rec)
                    .map_err(|error| self.facts.no_value(*feedback, &rec, error))?
                {
                    let Kind::Feedback { in_turn, .. } = self.facts.graph.ops[feedback.0].kind
                    else {
                        return Ok(AfterEnd::Nothing);
                    };
                    self.feed(parent, *feedback, in_turn, rec);
                    return Ok(AfterEnd::Nothing);
                }
                Ok(AfterEnd::Goes(parent, after(*feedback), rec))
            }
            Owner::Stage { parent, star, .. } | Owner::Dead { parent, star, .. } => {
                let exits = self.steps.exits(self.facts, *star, rec.shape);
                if exits.matches(&rec).map_err(|error| self.facts.no_value(*star, &rec, error))? {
                    return Ok(AfterEnd::Goes(parent, after(*star), rec));
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
                self.put_at_replica(parent, *star, &to, rec)?;
                Ok(AfterEnd::Nothing)
            }
        }
    }

    fn split(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        rec: Rec,
    ) -> Result<Option<Rec>, Box<Failure>> {
        let Some((low, high)) = self.steps.tags(self.facts, op, rec.shape) else {
            return Err(self.facts.misfit(op, &rec).into());
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
            return Err(self.facts.too_many(op, &rec).into());
        }
        let next = self.facts.graph.ops[op.0].next.unwrap_or(op);
        for value in low..high {
            let mut copy = rec.clone();
            copy.tickets = rec.tickets.before(self.facts.regions);
            if let Some(out) = self.replica(frame, op, value, copy)? {
                self.exec(frame, next, out)?;
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
    ) -> Result<Option<Rec>, Box<Failure>> {
        let here = &self.facts.graph.ops[op.0];
        let Kind::Split { body, cell, .. } = here.kind else { return Ok(Some(rec)) };
        if let Some(cell) = cell {
            return self.cell_of_value(frame, op, cell, value, rec);
        }
        let scope = &self.facts.graph.scopes[body.0];
        let table = entity(frame, here.entity, || Entity::Split(parking_lot::RwLock::default()));
        let Entity::Split(table) = table else { return Ok(None) };
        let known = table.read().get(&value).cloned();
        let replica = match known {
            Some(known) => known,
            None => self.replica_made(frame, op, body, table, value, &rec.tickets)?,
        };
        let Some(entry) = scope.entry else { return Ok(None) };
        self.exec(&replica, entry, rec)?;
        Ok(None)
    }

    /// The replica for a value, made if no other worker was quicker.
    fn replica_made(
        &mut self,
        frame: &Arc<Frame>,
        op: OpId,
        body: ScopeId,
        table: &parking_lot::RwLock<Table<Arc<Frame>>>,
        value: i64,
        cause: &Tickets,
    ) -> Result<Arc<Frame>, Box<Failure>> {
        let graph = self.facts.graph;
        let mut table = table.write();
        if let Some(known) = table.get(&value) {
            return Ok(Arc::clone(known));
        }
        let owner =
            Owner::Replica { parent: Arc::clone(frame), after: graph.ops[op.0].next.unwrap_or(op) };
        let replica = Arc::new(Frame::new(body, graph.scopes[body.0].entities, owner));
        table.insert(value, Arc::clone(&replica));
        drop(table);
        self.initialise(&replica, cause)?;
        Ok(replica)
    }

    /// Runs what begins without input in a new frame; in the orders around, what comes of it comes
    /// before the record that caused the frame, whose places are `cause`.
    pub(super) fn initialise(&mut self, frame: &Arc<Frame>, cause: &Tickets) -> Flow {
        let facts = self.facts;
        for (op, orders) in &facts.graph.scopes[frame.scope.0].initialisers {
            let (shape, _) = facts.shapes.shape(&[]);
            let tickets = cause.before(facts.regions);
            let (tags, fields) = (SmallVec::new(), SmallVec::new());
            let mut nothing = Rec { shape, tickets, tags, fields };
            for enter in orders {
                self.enter(frame, *enter, [&mut nothing]);
            }
            if let Kind::Feedback { .. } = facts.graph.ops[op.0].kind {
                let landing = self.loop_landing(frame, *op);
                self.body_of(&landing, frame, &nothing.tickets)?;
                self.settle(nothing.tickets);
            } else {
                self.call_and_go_on(frame, *op, nothing)?;
            }
        }
        Ok(())
    }

    /// Puts a record before the body of a feedback.
    fn feed(&mut self, frame: &Arc<Frame>, feedback: OpId, in_turn: bool, rec: Rec) {
        let rec = if in_turn { self.facts.regions.in_turn(rec) } else { Some(rec) };
        if let Some(rec) = rec {
            let landing = self.loop_landing(frame, feedback);
            self.put(&landing, rec);
        }
    }

    /// The frame behind a landing, which is made if need be, for a record with the places `cause`.
    pub(super) fn body_of(
        &mut self,
        landing: &Arc<Landing>,
        home: &Arc<Frame>,
        cause: &Tickets,
    ) -> Result<Option<Arc<Frame>>, Box<Failure>> {
        let LandingKind::Body(body) = &landing.kind else { return Ok(None) };
        if let Some(known) = body.lock().clone() {
            return Ok(Some(known));
        }
        let op = landing.op;
        let parent = Arc::clone(home);
        let (scope, owner) = match &self.facts.graph.ops[op.0].kind {
            Kind::Star { body, .. } => {
                let next = parking_lot::Mutex::default();
                (*body, Owner::Stage { parent, star: op, next })
            }
            Kind::Feedback { body, .. } => (*body, Owner::Loop { parent, feedback: op }),
            _ => return Ok(None),
        };
        let entities = self.facts.graph.scopes[scope.0].entities;
        let frame = Arc::new(Frame::new(scope, entities, owner));
        *body.lock() = Some(Arc::clone(&frame));
        self.initialise(&frame, cause)?;
        Ok(Some(frame))
    }

    fn loop_landing(&self, frame: &Arc<Frame>, op: OpId) -> Arc<Landing> {
        let index = self.facts.graph.ops[op.0].entity;
        let make = || {
            let body = LandingKind::Body(parking_lot::Mutex::default());
            Entity::Loop(Landing::new(Arc::downgrade(frame), op, body))
        };
        match entity(frame, index, make) {
            Entity::Loop(landing) => Arc::clone(landing),
            _ => Arc::clone(&self.shared.output_landing),
        }
    }

    /// Gives records their places in an order.
    pub(super) fn enter<'b>(
        &self,
        frame: &Arc<Frame>,
        op: OpId,
        records: impl IntoIterator<Item = &'b mut Rec>,
    ) {
        if let Entity::Region(region) = self.entity(frame, op) {
            self.facts.regions.enter(*region, records);
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
            let exit = Landing::new(home, leave.unwrap_or(op), LandingKind::Resume);
            let body = graph.ops[op.0].next.filter(|inner| {
                matches!(graph.ops[inner.0].kind, Kind::Feedback { in_turn: true, .. })
            });
            let body = body.map(|feedback| self.loop_landing(frame, feedback));
            Entity::Region(self.facts.regions.create(exit, body))
        })
    }
}

/// Whether all that a frame keeps are cells that have fired.
pub(super) fn is_dead(frame: &Frame) -> bool {
    frame.entities.iter().all(|entity| match entity.get() {
        Some(Entity::Cell(cell)) => matches!(*cell.lock(), Cell::Done),
        Some(Entity::Box(landing)) => landing.waiting.is_idle(),
        _ => false,
    })
}

/// What a component keeps in a frame, made when first asked for.
pub(super) fn entity(frame: &Frame, index: usize, make: impl FnOnce() -> Entity) -> &Entity {
    frame.entities[index].get_or_init(make)
}
