//! Workers: fixed threads that look for mailboxes with records, nearest to the output first.
//!
//! A worker keeps mailboxes on a stack. What a record wakes goes on top, so the worker follows
//! the records towards the output, and only then comes back to what waits behind; thieves take
//! from the bottom, which is nearest to the input and so the largest piece. That is the order
//! of FRONT's list of stream references, without the search through it.
//!
//! | looks for work        | when                                                            |
//! |-----------------------|-----------------------------------------------------------------|
//! | top of its stack      | first                                                           |
//! | bottom of its stack   | every [`FAIR`]th time, so that nothing is forgotten             |
//! | another worker        | when it has work that holds up what this one makes              |
//! | the input             | when the stack is empty: new records only for idle workers      |
//! | another worker        | when another reads the input, or it has ended                   |
//!
//! What a worker emits is gathered for each destination and put there when it is done with its
//! mailbox; only then may another worker take that mailbox, so streams stay in order.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kahn_engine::sync::Mutex;

use super::backlog::Backlog;
use super::carry::is_dead;
use super::emission::Origin;
use super::frame::{Frame, Next, Owner};
use super::mailbox::{Duty, Mailbox};
use super::ownership::Put;
use super::role::Role;
use super::shared::Shared;
use super::stack::{Bottom, Task};
use super::threads::Wanted;
use crate::runtime::steps::answers::{Facts, Steps};
use crate::runtime::steps::graph::{Kind, Op, OpId};
use crate::runtime::steps::marks::BEFORE_ALL;
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::tickets::{Ticket, Tickets};

/// Records taken from a mailbox at once.
const BATCH: usize = 64;
/// How often the bottom of the stack comes first, at most: after so many activations, of which one
/// that finds a single record counts a [`BATCH`]th. A mailbox where order lets in one record at a
/// time would have the input side run ahead otherwise.
pub(super) const FAIR: usize = 1009 * BATCH;
/// Gathered records for one mailbox, and mailboxes gathered for, before they are put there.
const GATHER: usize = 64;
/// Room of an emptied queue that is kept for the next.
const MOST_ROOM: usize = 4 * GATHER;
/// Tasks that are looked through for one.
const MOST_LOOKED_THROUGH: usize = 64;
/// How long a worker rests that has made too much for another.
const REST: Duration = Duration::from_micros(20);
/// Searches before a worker sleeps.
const PATIENCE: usize = 40;

/// What a worker has while it runs.
pub(super) struct Worker<'w, 'r> {
    pub(super) shared: &'w Shared<'r>,
    pub(super) facts: Facts<'w>,
    pub(super) steps: Steps<'w>,
    pub(super) role: Box<Role>,
    /// For when the thread has no role.
    pub(super) no_role: Option<Box<Role>>,
}

impl<'w, 'r> Worker<'w, 'r> {
    pub(super) fn new(shared: &'w Shared<'r>, role: Box<Role>) -> Self {
        Self { shared, facts: shared.facts, steps: Steps::default(), role, no_role: None }
    }

    /// Works until the input has ended and nothing is left to do, or the run fails.
    pub(super) fn run(&mut self) {
        while self.role.index.is_some() && !self.shared.idle.is_over() {
            if let Some(emitted) = self.role.emitted.take() {
                self.hand_on_for(emitted);
            }
            if let Some(task) = self.search() {
                self.activate(task);
                continue;
            }
            // It may be another role now.
            let Some(role) = self.role.index else { return };
            if self.role.emitted.is_some() {
                continue;
            }
            self.shared.show();
            if self.shared.sleep(role) {
                self.hand_over(Wanted::Last);
            }
        }
    }

    /// Runs the initialisers of the program.
    pub(super) fn start(&mut self) {
        let root = Arc::clone(&self.shared.root);
        self.initialise(&root, BEFORE_ALL, &Tickets::default());
        self.flush();
        self.publish();
    }

    fn search(&mut self) -> Option<Box<Task>> {
        for _ in 0..PATIENCE {
            if self.shared.threads.has_waiting() && self.hand_over(Wanted::InBacklog) {
                return None;
            }
            if let Some(task) = self.bottom_in_turn() {
                return Some(task);
            }
            if let Some(backlog) = self.role.backlog.take()
                && let Some(task) = self.relief(&backlog)
            {
                return Some(task);
            }
            if let Some(task) = self.role.local.pop() {
                return Some(task);
            }
            if self.shared.threads.has_waiting() {
                if let Some(task) = self.steal() {
                    return Some(task);
                }
                if self.hand_over(Wanted::Any) {
                    return None;
                }
            }
            if self.shared.admit(self) {
                continue;
            }
            if let Some(task) = self.steal() {
                return Some(task);
            }
            if self.shared.stacks.len() == 1 || self.shared.idle.is_over() {
                return None;
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Takes the bottom of the own stack if it was not looked at for long.
    fn bottom_in_turn(&mut self) -> Option<Box<Task>> {
        if self.role.until_bottom > 0 {
            return None;
        }
        // To be put back under all others, which should not cost more than the rest.
        self.role.until_bottom = FAIR.max(self.role.local.len());
        let task = self.role.local.pop_bottom();
        self.role.from_bottom = task.is_some();
        task
    }

    /// Finds what to do before making more records for a mailbox where many wait.
    ///
    /// Best is that mailbox itself, then what another worker has, which may lead to it. If that
    /// other worker is at it already, a short rest lets it catch up; no worker waits for another.
    fn relief(&mut self, backlog: &Arc<Mailbox>) -> Option<Box<Task>> {
        if self.shared.stacks.len() == 1 {
            return None;
        }
        if self.role.local.len() <= MOST_LOOKED_THROUGH {
            let mut others = Vec::new();
            let mut found = None;
            while let Some(task) = self.role.local.pop() {
                if Arc::ptr_eq(&task.mailbox, backlog) {
                    found = Some(task);
                    break;
                }
                others.push(task);
            }
            others.into_iter().rev().for_each(|task| self.role.local.push(task));
            if found.is_some() {
                return found;
            }
        }
        let stolen = self.steal();
        if stolen.is_none() && backlog.waiting.has_backlog() {
            std::thread::park_timeout(REST);
        }
        stolen
    }

    /// Takes the bottom of another worker's stack.
    fn steal(&mut self) -> Option<Box<Task>> {
        let stacks = &self.shared.stacks;
        let own = self.role.index.unwrap_or(0);
        let (before, others) = stacks.split_at(own);
        let mut others = others.iter().skip(1).chain(before);
        let stolen = others.find_map(Bottom::steal);
        self.role.stolen += u64::from(stolen.is_some());
        stolen
    }

    /// Gathers a record for a mailbox.
    pub(super) fn put(&mut self, mailbox: &Arc<Mailbox>, rec: Rec) {
        let known = self.role.outbox.iter_mut().rev().find(|(to, _)| Arc::ptr_eq(to, mailbox));
        if let Some((_, records)) = known {
            records.push_back(rec);
            return;
        }
        let mut records = self.emptied();
        records.push_back(rec);
        self.role.outbox.push((Arc::clone(mailbox), records));
    }

    /// An empty queue, with room if there is one.
    pub(super) fn emptied(&mut self) -> VecDeque<Rec> {
        self.role.emptied.pop().unwrap_or_default()
    }

    /// Keeps a queue for the next time that an empty one is wanted.
    pub(super) fn keep_emptied(&mut self, mut records: VecDeque<Rec>) {
        if records.capacity() <= MOST_ROOM {
            records.clear();
            self.role.emptied.push(records);
        }
    }

    /// Ends an order slot, of a record that comes out or of one that ended, soon: until then it holds up
    /// what comes after it, and nothing else.
    pub(super) fn end_slot(&mut self, ticket: Ticket, rec: Option<Rec>) {
        self.role.ends.push((ticket, rec));
        if self.role.ends.len() > GATHER {
            self.end_slots();
        }
    }

    /// Ends the order slots that are to end, and hands on what they held up.
    fn end_slots(&mut self) {
        if self.role.ends.is_empty() {
            return;
        }
        let (mut ends, mut ready) = (std::mem::take(&mut self.role.ends), self.emptied());
        let backlogs = &self.shared.threads.backlogs;
        let on_backlog = |region| backlogs.note(|| Backlog::Order(region));
        let regions = &self.shared.regions;
        regions.end(&mut ends, &mut ready, |exit, out| self.put_all_now(exit, out), on_backlog);
        self.keep_emptied(ready);
        ends.clear();
        self.role.ends = ends;
    }

    /// Puts records at a mailbox that is never closed, as [`put_now`](Self::put_now) does.
    pub(super) fn put_all_now(&mut self, mailbox: &Arc<Mailbox>, records: &mut VecDeque<Rec>) {
        if let Some(put) = mailbox.waiting.put(records, usize::MAX) {
            self.was_put(mailbox, put);
        }
    }

    /// Puts a record into a mailbox at once; for a worker that holds a lock that keeps an order.
    pub(super) fn put_now(&mut self, mailbox: &Arc<Mailbox>, rec: Rec) {
        self.was_put(mailbox, mailbox.waiting.put_one(rec));
    }

    fn was_put(&mut self, mailbox: &Arc<Mailbox>, put: Put) {
        match put {
            Put::Owned => {
                let home = mailbox.home.upgrade();
                let task = Task { mailbox: Arc::clone(mailbox), home };
                self.role.ready.push(Box::new(task));
            }
            Put::Behind => {}
            Put::InBacklog => {
                self.shared.threads.backlogs.note(|| Backlog::Mailbox(Arc::clone(mailbox)));
                self.role.backlog = Some(Arc::clone(mailbox));
            }
        }
    }

    /// Puts what was gathered where it belongs.
    pub(super) fn flush(&mut self) {
        loop {
            // Each time, for records may go on past a collected replica.
            self.end_slots();
            if self.role.outbox.is_empty() {
                return;
            }
            let mut outbox = std::mem::take(&mut self.role.outbox);
            self.role.flushing = true;
            for (mailbox, mut records) in outbox.drain(..) {
                self.deliver(&mailbox, &mut records);
                self.keep_emptied(records);
            }
            self.role.flushing = false;
            if self.role.outbox.is_empty() {
                self.role.outbox = outbox;
            }
        }
    }

    fn deliver(&mut self, mailbox: &Arc<Mailbox>, records: &mut VecDeque<Rec>) {
        let limit = match &mailbox.duty {
            Duty::Box(Some(turn)) => turn.limit,
            _ => usize::MAX,
        };
        if let Some(put) = mailbox.waiting.put(records, limit) {
            self.was_put(mailbox, put);
        } else if let Some(forward) = mailbox.waiting.forward() {
            self.deliver_further(mailbox, forward, records);
        }
    }

    /// Delivers past a replica that was collected after the records were gathered for it.
    fn deliver_further(&mut self, from: &Mailbox, forward: &Next, records: &mut VecDeque<Rec>) {
        let (Some(parent), Some(to)) = (from.home.upgrade(), &forward.mailbox) else {
            return;
        };
        let mut through = VecDeque::with_capacity(records.len());
        for rec in records.drain(..) {
            if rec.is_mark() || self.steps.passes_dead(self.facts, from.op, rec.shape) {
                through.push_back(rec);
            } else {
                self.deliver_at_once(to, &mut through);
                self.put_at_replica(&parent, from.op, forward, rec);
                for (mailbox, mut made) in std::mem::take(&mut self.role.outbox) {
                    self.deliver_at_once(&mailbox, &mut made);
                    self.keep_emptied(made);
                }
            }
        }
        self.deliver_at_once(to, &mut through);
    }

    /// Delivers what is on its way past a collected replica, before anything else: later records of the
    /// same stream may be gathered for that mailbox already.
    fn deliver_at_once(&mut self, mailbox: &Arc<Mailbox>, records: &mut VecDeque<Rec>) {
        if !records.is_empty() {
            self.deliver(mailbox, records);
        }
    }

    /// Puts mailboxes that are ready on the stack, where others find them.
    pub(super) fn publish(&mut self) {
        let alone = self.role.local.is_empty() && self.role.ready.len() < 2;
        // What is nearest to the output on top: it is built first, so its operation is the least.
        self.role.ready.sort_by_key(|task| Reverse(task.mailbox.op));
        for task in self.role.ready.drain(..) {
            self.role.local.push(task);
        }
        if !alone {
            self.shared.idle.wake();
        }
    }

    /// Keeps a mailbox that has more to do: below what it woke, so that those nearer to the output
    /// come first, and below everything if it was there, for all others are nearer.
    fn keep(&mut self, task: Box<Task>, from_bottom: bool) {
        let mut above = Vec::new();
        if from_bottom {
            above.extend(std::iter::from_fn(|| self.role.local.pop()));
        }
        self.role.local.push(task);
        above.into_iter().rev().for_each(|task| self.role.local.push(task));
    }

    /// Offers a mailbox to others at once.
    pub(super) fn offer(&mut self, task: Box<Task>) {
        self.role.local.push(task);
        self.shared.idle.wake();
    }

    fn activate(&mut self, task: Box<Task>) {
        self.role.activations += 1;
        let from_bottom = std::mem::take(&mut self.role.from_bottom);
        let mailbox = Arc::clone(&task.mailbox);
        match (&mailbox.duty, &task.home) {
            (Duty::Box(Some(turn)), Some(home)) => {
                self.call_in_turn(&task, home, turn);
                self.flush();
                self.publish();
                return;
            }
            (Duty::Box(None), Some(home)) => {
                if let Some((rec, waited)) = mailbox.waiting.take_one() {
                    self.found_waiting(mailbox.op, waited);
                    let (frame, at) = (Arc::clone(home), Some((Arc::clone(&mailbox), 0)));
                    self.call(Origin { frame, op: mailbox.op, at }, rec);
                }
            }
            (Duty::Output, _) => {
                let mut batch = self.take(&mailbox);
                self.shared.write(batch.drain(..));
                self.keep_emptied(batch);
            }
            (Duty::Resume, Some(home)) => {
                let batch = self.take(&mailbox);
                self.carry_on(batch, home, mailbox.op);
            }
            (Duty::Body(_), Some(home)) => {
                let batch = self.take(&mailbox);
                if let Some(first) = batch.front()
                    && let Some(body) = self.body_of(&mailbox, home, first)
                    && let Some(entry) = self.facts.graph.scopes[body.scope.0].entry
                {
                    self.carry_on(batch, &body, entry);
                    self.flush();
                    self.collect(&mailbox, &body);
                }
            }
            _ => mailbox.waiting.clear(),
        }
        self.flush();
        if mailbox.waiting.keeps_ownership() {
            self.keep(task, from_bottom);
        }
        self.publish();
    }

    /// Carries records that waited at a mailbox on from an operation.
    fn carry_on(&mut self, mut batch: VecDeque<Rec>, frame: &Arc<Frame>, mut op: OpId) {
        // Into an order all together.
        while let Op { kind: Kind::Enter, next: Some(next), .. } = &self.facts.graph.ops[op.0] {
            self.enter(frame, op, &mut batch);
            op = *next;
        }
        while let Some(rec) = batch.pop_front() {
            self.exec(frame, op, rec);
            self.flush_if_much();
        }
        self.keep_emptied(batch);
    }

    /// Takes records that wait.
    fn take(&mut self, mailbox: &Mailbox) -> VecDeque<Rec> {
        let empty = self.emptied();
        let (batch, waited) = mailbox.waiting.take(BATCH, empty);
        let share = if batch.len() == 1 { 1 } else { BATCH };
        self.role.until_bottom = self.role.until_bottom.saturating_sub(share);
        self.found_waiting(mailbox.op, waited);
        if self.shared.failures.any() { self.wanted(batch) } else { batch }
    }

    /// Drops the records that are not wanted any more.
    #[cold]
    fn wanted(&mut self, batch: VecDeque<Rec>) -> VecDeque<Rec> {
        let failures = &self.shared.failures;
        let wanted = |rec: &Rec| rec.is_mark() || failures.wants(rec.number);
        let (batch, others): (Vec<Rec>, Vec<Rec>) = batch.into_iter().partition(wanted);
        for rec in others {
            self.settle(rec.tickets);
        }
        batch.into()
    }

    /// Remembers how many records waited for an operation, if these are the most.
    pub(super) fn found_waiting(&mut self, op: OpId, waited: usize) {
        let most = &mut self.role.waited[op.0];
        *most = waited.max(*most);
    }

    /// Hands on what was gathered if it is much.
    fn flush_if_much(&mut self) {
        if self.role.outbox.len() > GATHER
            || self.role.outbox.iter().any(|(_, all)| all.len() > GATHER)
        {
            self.flush();
        }
    }

    /// Takes a replica out of its star if its cells have all fired and nothing waits for it.
    fn collect(&self, mailbox: &Mailbox, body: &Arc<Frame>) {
        let graph = self.facts.graph;
        let Owner::Stage { next, parent, star } = &body.owner else { return };
        let Kind::Star { body: scope, .. } = &graph.ops[star.0].kind else { return };
        if !self.shared.collecting || !graph.scopes[scope.0].collectable || !is_dead(body) {
            return;
        }
        mailbox.waiting.close(|| {
            let mut next = next.lock();
            if next.mailbox.is_none() {
                let fresh = Duty::Body(Mutex::default());
                next.mailbox = Some(Mailbox::new(Arc::downgrade(parent), *star, fresh));
            }
            Next { mailbox: next.mailbox.clone(), dead: next.dead + 1 }
        });
    }
}
