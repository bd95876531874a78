//! Processes with one stream in and one out.

use std::sync::Arc;

use kahn::Receiver;
use smallvec::SmallVec;

use super::wiring::{Carried, InBody, Message, Outlet};
use super::{Count, Initialising, World};
use crate::plan::BoxId;
use crate::runtime::steps::boxes::BoxStep;
use crate::runtime::steps::cell::{Cell, Offer, Zipper};
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::filter::ArmStep;
use crate::runtime::steps::graph::OpId;
use crate::runtime::steps::shape::{Rec, ShapeId};
use crate::runtime::steps::tickets::Tickets;
use crate::runtime::steps::within::Within;

/// Answers for the few shapes that come to one process.
pub(super) struct Memo<T>(SmallVec<[(ShapeId, T); 2]>);

impl<T: Copy> Memo<T> {
    pub(super) fn new() -> Self {
        Self(SmallVec::new())
    }

    pub(super) fn get(&mut self, shape: ShapeId, ask: impl FnOnce() -> T) -> T {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| *known == shape) {
            return *known;
        }
        let answer = ask();
        self.0.push((shape, answer));
        answer
    }
}

/// Takes the next record that is to be worked at; passes marks of both kinds on.
pub(super) async fn next_record(
    world: &World<'_>,
    input: &mut Receiver<Message>,
    output: &mut Outlet,
) -> Option<Carried> {
    loop {
        match input.recv().await? {
            Message::Mark => output.mark().await,
            Message::Record(carried) if carried.rec.is_mark() => output.send(world, carried).await,
            Message::Record(carried) if world.failures.wants(carried.rec.number) => {
                return Some(carried);
            }
            Message::Record(_) => {}
        }
    }
}

/// A filter.
pub(super) async fn filter<'a>(
    world: &'a World<'a>,
    op: OpId,
    mut input: Receiver<Message>,
    mut output: Outlet,
) {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    while let Some(Carried { mut rec, loops }) = next_record(world, &mut input, &mut output).await {
        count.one();
        let arms = memo.get(rec.shape, || facts.filter(op, rec.shape));
        let filtered = match arms.ok_or_else(|| facts.misfit(op, &rec)) {
            Ok(arms) => filtered(world, op, arms, &mut rec, loops.as_ref(), &mut output).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = filtered {
            output.send(world, Carried::mark(world, rec.number, loops, failure)).await;
        }
    }
}

/// Sends what the first arm whose guard holds makes of a record.
async fn filtered(
    world: &World<'_>,
    op: OpId,
    arms: &[ArmStep],
    rec: &mut Rec,
    loops: Option<&Arc<InBody>>,
    output: &mut Outlet,
) -> Result<(), Failure> {
    let facts = world.facts;
    for arm in arms {
        let taken = match &arm.guard {
            None => true,
            Some(guard) => {
                guard.value(&rec.tags).map_err(|error| facts.no_value(op, rec, error))? != 0
            }
        };
        if taken {
            for made in &arm.records {
                let made = made.from(rec).map_err(|error| facts.no_value(op, rec, error))?;
                output.send(world, Carried { rec: made, loops: loops.cloned() }).await;
            }
            break;
        }
    }
    Ok(())
}

/// What [`next_record`] takes, on a thread of its own.
fn next_record_blocking(
    world: &World<'_>,
    input: &mut Receiver<Message>,
    output: &mut Outlet,
) -> Option<Carried> {
    loop {
        match input.recv_blocking()? {
            Message::Mark => output.mark_blocking(),
            Message::Record(carried) if carried.rec.is_mark() => {
                output.send_blocking(world, carried);
            }
            Message::Record(carried) if world.failures.wants(carried.rec.number) => {
                return Some(carried);
            }
            Message::Record(_) => {}
        }
    }
}

/// A box, called for one record after the other. It has a thread of its own, for what a call emits
/// goes on while it runs, and the call waits where there is no room for it.
pub(super) fn boxed<'a>(
    world: &'a World<'a>,
    op: OpId,
    id: BoxId,
    mut input: Receiver<Message>,
    mut output: Outlet,
) {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    while let Some(Carried { rec, loops }) = next_record_blocking(world, &mut input, &mut output) {
        count.one();
        let step = memo.get(rec.shape, || facts.of_box(op, rec.shape));
        call(world, op, (id, step), &rec, loops, &mut output);
    }
}

/// Calls a box, and sends what it emits, and its mark if it fails.
fn call(
    world: &World<'_>,
    op: OpId,
    (id, step): (BoxId, Option<&BoxStep>),
    rec: &Rec,
    loops: Option<Arc<InBody>>,
    output: &mut Outlet,
) {
    let called = match step {
        Some(step) => {
            let function = &*world.functions[id.0];
            let wants = || world.failures.wants(rec.number);
            world.facts.call(function, id, step, rec, &wants, &mut |rec| {
                world.facts.rests(true);
                output.send_blocking(world, Carried { rec, loops: loops.clone() });
                world.facts.rests(false);
            })
        }
        None => Err(world.facts.misfit(op, rec).into()),
    };
    if let Err(failure) = called
        && world.failures.wants(rec.number)
    {
        output.send_blocking(world, Carried::mark(world, rec.number, loops, *failure));
    }
}

/// What an initialiser begins with.
pub(super) struct Begin<'a> {
    pub(super) id: BoxId,
    pub(super) number: u32,
    pub(super) loops: Option<Arc<InBody>>,
    /// Lets the input begin when it goes.
    pub(super) waiting: Option<Initialising<'a>>,
}

/// An initialiser: emits, and then passes marks on.
pub(super) fn initialiser<'a>(
    world: &'a World<'a>,
    op: OpId,
    begin: Begin<'a>,
    mut input: Receiver<Message>,
    mut output: Outlet,
) {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    count.one();
    let (shape, _) = facts.shapes.shape(&[]);
    let Begin { id, number, loops, waiting } = begin;
    let (tickets, tags, fields) = (Tickets::default(), SmallVec::new(), SmallVec::new());
    let nothing = Rec { shape, number, tickets, tags, fields };
    call(world, op, (id, facts.of_box(op, shape)), &nothing, loops, &mut output);
    drop(waiting);
    while let Some(Carried { rec, loops }) = next_record_blocking(world, &mut input, &mut output) {
        let failure = facts.misfit(op, &rec);
        output.send_blocking(world, Carried::mark(world, rec.number, loops, failure));
    }
}

/// A synchro-cell.
pub(super) async fn cell<'a>(
    world: &'a World<'a>,
    op: OpId,
    within: Option<Arc<Within>>,
    patterns: usize,
    mut input: Receiver<Message>,
    mut output: Outlet,
) {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    let mut cell = Cell::new();
    while let Some(Carried { rec, loops }) = next_record(world, &mut input, &mut output).await {
        count.one();
        let tests = memo.get(rec.shape, || facts.patterns(op, rec.shape));
        let fits = match tests.all(&rec) {
            Ok(fits) => fits,
            Err(error) => {
                let failure = facts.no_value(op, &rec, error);
                output.send(world, Carried::mark(world, rec.number, loops, failure)).await;
                continue;
            }
        };
        let rec = match cell.offer(rec, fits, patterns) {
            Offer::Kept => continue,
            Offer::Passed(rec) => rec,
            Offer::Complete(slots) => facts.merge(op, &slots),
        };
        output.send(world, Carried { rec, loops }).await;
    }
    let held = cell.half_filled().map(|rec| facts.held(op, within.as_ref(), rec));
    world.half_filled.lock().extend(held);
}

/// A star of synchro-cells, as one process; `place` says where the cell of a number lies.
pub(super) async fn zipper<'a>(
    world: &'a World<'a>,
    op: OpId,
    place: impl Fn(i64) -> Within,
    patterns: usize,
    mut input: Receiver<Message>,
    mut output: Outlet,
) {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut leaving = Memo::new();
    let mut fitting = Memo::new();
    let mut zipper = Zipper::new(patterns);
    while let Some(Carried { mut rec, loops }) = next_record(world, &mut input, &mut output).await {
        count.one();
        let number = rec.number;
        let mut from = 0;
        // What comes out, if anything does.
        let out = loop {
            let exits = leaving.get(rec.shape, || facts.exits(op, rec.shape));
            match exits.matches(&rec) {
                Ok(true) => break Ok(Some(rec)),
                Ok(false) => {}
                Err(error) => break Err(facts.no_value(op, &rec, error)),
            }
            let tests = fitting.get(rec.shape, || facts.patterns(op, rec.shape));
            let fits = match tests.all(&rec) {
                Ok(0) => break Err(facts.never_kept(op, &rec)),
                Ok(fits) => fits,
                Err(error) => break Err(facts.no_value(op, &rec, error)),
            };
            let (offer, cell) = zipper.offer(rec, fits, from);
            match offer {
                Offer::Kept | Offer::Passed(_) => break Ok(None),
                Offer::Complete(slots) => rec = facts.merge(op, &slots),
            }
            from = cell + 1;
        };
        match out {
            Ok(Some(rec)) => output.send(world, Carried { rec, loops }).await,
            Ok(None) => {}
            Err(failure) => {
                output.send(world, Carried::mark(world, number, loops, failure)).await;
            }
        }
    }
    let held = zipper.half_filled();
    let held = held.map(|(number, rec)| facts.held(op, Some(&Arc::new(place(number))), rec));
    world.half_filled.lock().extend(held);
}
