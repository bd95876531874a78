//! Processes with one stream in and one out.

use std::sync::Arc;

use kahn::Receiver;
use smallvec::SmallVec;

use super::wiring::{Carried, Inside, Item, Outlet};
use super::{Count, World};
use crate::plan::BoxId;
use crate::runtime::cell::{Cell, Offer, Zipper};
use crate::runtime::exec::Flow;
use crate::runtime::failure::Failure;
use crate::runtime::frame::Within;
use crate::runtime::graph::OpId;
use crate::runtime::order::Tickets;
use crate::runtime::shape::{Rec, ShapeId};
use crate::runtime::step::BoxStep;

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

/// Takes the next record; passes marks on.
pub(super) async fn next_record(
    input: &mut Receiver<Item>,
    output: &mut Outlet,
) -> Option<Carried> {
    loop {
        match input.recv().await? {
            Item::Record(carried) => return Some(carried),
            Item::Mark => output.mark().await,
        }
    }
}

/// A filter.
pub(super) async fn filter<'a>(
    world: &'a World<'a>,
    op: OpId,
    mut input: Receiver<Item>,
    mut output: Outlet,
) -> Flow {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    while let Some(Carried { mut rec, loops }) = next_record(&mut input, &mut output).await {
        count.one();
        let arms = memo.get(rec.shape, || facts.filter(op, rec.shape));
        let arms = arms.ok_or_else(|| facts.misfit(op, &rec))?;
        for arm in arms {
            let taken = match &arm.guard {
                None => true,
                Some(guard) => {
                    guard.value(&rec.tags).map_err(|error| facts.no_value(op, &rec, error))? != 0
                }
            };
            if taken {
                for made in &arm.records {
                    let out = made.from(&mut rec);
                    let rec = out.map_err(|error| facts.no_value(op, &rec, error))?;
                    output.send(world, Carried { rec, loops: loops.clone() }).await?;
                }
                break;
            }
        }
    }
    Ok(())
}

/// A box, called for one record after the other.
pub(super) async fn boxed<'a>(
    world: &'a World<'a>,
    op: OpId,
    id: BoxId,
    mut input: Receiver<Item>,
    mut output: Outlet,
) -> Flow {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    while let Some(Carried { rec, loops }) = next_record(&mut input, &mut output).await {
        count.one();
        let step = memo.get(rec.shape, || facts.of_box(op, rec.shape));
        let step = step.ok_or_else(|| facts.misfit(op, &rec))?;
        for rec in call(world, id, step, &rec)? {
            output.send(world, Carried { rec, loops: loops.clone() }).await?;
        }
    }
    Ok(())
}

/// What a box emits for a record.
fn call(world: &World<'_>, id: BoxId, step: &BoxStep, rec: &Rec) -> Result<Vec<Rec>, Box<Failure>> {
    let mut outputs = Vec::new();
    let function = &world.functions[id.0];
    world.facts.call(&**function, id, step, rec, &mut |some| {
        outputs.append(some);
        Ok(())
    })?;
    Ok(outputs)
}

/// An initialiser: emits, and then passes marks on.
pub(super) async fn initialiser<'a>(
    world: &'a World<'a>,
    op: OpId,
    id: BoxId,
    loops: Option<Arc<Inside>>,
    mut input: Receiver<Item>,
    mut output: Outlet,
) -> Flow {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    count.one();
    let (shape, _) = facts.shapes.shape(&[]);
    let nothing =
        Rec { shape, tickets: Tickets::default(), tags: SmallVec::new(), fields: SmallVec::new() };
    let step = facts.of_box(op, shape).ok_or_else(|| facts.misfit(op, &nothing))?;
    for rec in call(world, id, step, &nothing)? {
        output.send(world, Carried { rec, loops: loops.clone() }).await?;
    }
    drop(loops);
    world.an_initialiser_is_done();
    match next_record(&mut input, &mut output).await {
        None => Ok(()),
        Some(Carried { rec, .. }) => Err(facts.misfit(op, &rec).into()),
    }
}

/// A synchro-cell.
pub(super) async fn cell<'a>(
    world: &'a World<'a>,
    op: OpId,
    within: Option<Arc<Within>>,
    patterns: usize,
    mut input: Receiver<Item>,
    mut output: Outlet,
) -> Flow {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    let mut cell = Cell::new();
    while let Some(Carried { rec, loops }) = next_record(&mut input, &mut output).await {
        count.one();
        let tests = memo.get(rec.shape, || facts.patterns(op, rec.shape));
        let fits = tests.all(&rec).map_err(|error| facts.no_value(op, &rec, error))?;
        let rec = match cell.offer(rec, fits, patterns) {
            Offer::Kept => continue,
            Offer::Passed(rec) => rec,
            Offer::Complete(slots) => facts.merge(op, &slots),
        };
        output.send(world, Carried { rec, loops }).await?;
    }
    let held = cell.half_filled().map(|rec| facts.held(op, within.as_ref(), rec));
    world.half_filled.lock().extend(held);
    Ok(())
}

/// A star of synchro-cells, as one process; `place` says where the cell of a number lies.
pub(super) async fn zipper<'a>(
    world: &'a World<'a>,
    op: OpId,
    place: impl Fn(i64) -> Within,
    patterns: usize,
    mut input: Receiver<Item>,
    mut output: Outlet,
) -> Flow {
    let facts = world.facts;
    let mut count = Count::new(world, op);
    let mut leaving = Memo::new();
    let mut fitting = Memo::new();
    let mut zipper = Zipper::new(patterns);
    while let Some(Carried { mut rec, loops }) = next_record(&mut input, &mut output).await {
        count.one();
        let mut from = 0;
        let out = loop {
            let exits = leaving.get(rec.shape, || facts.exits(op, rec.shape));
            if exits.matches(&rec).map_err(|error| facts.no_value(op, &rec, error))? {
                break Some(rec);
            }
            let tests = fitting.get(rec.shape, || facts.patterns(op, rec.shape));
            let fits = tests.all(&rec).map_err(|error| facts.no_value(op, &rec, error))?;
            if fits == 0 {
                return Err(facts.never_kept(op, &rec).into());
            }
            let (offer, number) = zipper.offer(rec, fits, from);
            match offer {
                Offer::Kept | Offer::Passed(_) => break None,
                Offer::Complete(slots) => rec = facts.merge(op, &slots),
            }
            from = number + 1;
        };
        if let Some(rec) = out {
            output.send(world, Carried { rec, loops }).await?;
        }
    }
    let held = zipper.half_filled();
    let held = held.map(|(number, rec)| facts.held(op, Some(&Arc::new(place(number))), rec));
    world.half_filled.lock().extend(held);
    Ok(())
}
