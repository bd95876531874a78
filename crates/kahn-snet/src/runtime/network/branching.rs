//! Choices, stars, splits, feedbacks, and the collectors behind those that keep order.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kahn::{Receiver, Sender, Spawner};

use super::component::{Memo, next_record};
use super::meeting::{Exit, meeting};
use super::wiring::{Carried, InBody, Maker, Message, Outlet, Wiring};
use super::{Count, World};
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::graph::{Kind, MOST_COPIES, OpId, ScopeId};
use crate::runtime::steps::pattern::{self, TestStep};

/// What a collector does next.
#[derive(Debug)]
pub(super) enum Turn {
    /// Pass on a mark of a combinator around.
    Mark,
    /// Pass on a record that took no branch.
    Direct(Carried),
    /// There is a new branch.
    New(Exit<Message>),
    /// Take from a branch, up to its mark.
    Lane(usize),
}

/// Takes from each branch what its turn is.
pub(super) async fn collector(
    world: &World<'_>,
    mut turns: Receiver<Turn>,
    mut lanes: Vec<Exit<Message>>,
    mut output: Outlet,
) {
    while let Some(turn) = turns.recv().await {
        match turn {
            Turn::Mark => output.mark().await,
            Turn::Direct(carried) => output.send(world, carried).await,
            Turn::New(lane) => lanes.push(lane),
            Turn::Lane(index) => {
                while let Some(Message::Record(carried)) = lanes[index].next().await {
                    output.send(world, carried).await;
                }
            }
        }
    }
}

/// Passes on what meets, in the order of arrival.
pub(super) async fn merge(mut exit: Exit<Message>, mut output: Outlet) {
    while let Some(item) = exit.next().await {
        output.pass(item).await;
    }
}

type Memoed<'a> = Memo<&'a TestStep>;

/// Whether a record leaves a star, or goes back in a feedback.
fn leaves<'a>(
    world: &'a World<'a>,
    op: OpId,
    memo: &mut Memoed<'a>,
    carried: &Carried,
) -> Result<bool, Failure> {
    let (facts, rec) = (world.facts, &carried.rec);
    let tests = memo.get(rec.shape, || facts.exits(op, rec.shape));
    tests.matches(rec).map_err(|error| facts.no_value(op, rec, error))
}

/// Whether it is the mark of a record that failed, or a record that is to be worked at.
fn is_wanted(world: &World<'_>, carried: &Carried) -> bool {
    carried.rec.is_mark() || world.failures.wants(carried.rec.number)
}

fn branch(
    world: &World<'_>,
    op: OpId,
    memo: &mut Memo<Option<usize>>,
    carried: &Carried,
) -> Result<usize, Failure> {
    let shape = carried.rec.shape;
    if carried.rec.is_mark() {
        return Ok(0);
    }
    let index = memo.get(shape, || pattern::route(world.facts, op, shape));
    index.ok_or_else(|| world.facts.no_branch(op, &carried.rec))
}

/// The branch that a record takes; if there is none, its mark takes the first.
fn branch_or_mark(
    world: &World<'_>,
    op: OpId,
    memo: &mut Memo<Option<usize>>,
    carried: Carried,
) -> (usize, Carried) {
    match branch(world, op, memo, &carried) {
        Ok(index) => (index, carried),
        Err(failure) => (0, Carried::mark(world, carried.rec.number, carried.loops, failure)),
    }
}

/// A choice whose branches meet behind it.
pub(super) async fn choice<'a>(
    world: &'a World<'a>,
    op: OpId,
    mut input: Receiver<Message>,
    mut outlets: Vec<Outlet>,
) {
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    while let Some(item) = input.recv().await {
        let Message::Record(carried) = item else { continue };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let (index, carried) = branch_or_mark(world, op, &mut memo, carried);
        outlets[index].send(world, carried).await;
    }
}

/// A choice with a collector behind it.
pub(super) async fn ordered_choice<'a>(
    world: &'a World<'a>,
    op: OpId,
    mut input: Receiver<Message>,
    mut turns: Sender<Turn>,
    mut outlets: Vec<Outlet>,
    starts: Vec<bool>,
) {
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    for index in (0..outlets.len()).filter(|index| starts[*index]) {
        outlets[index].mark().await;
        turns.send(Turn::Lane(index)).await;
    }
    while let Some(item) = input.recv().await {
        let Message::Record(carried) = item else {
            turns.send(Turn::Mark).await;
            continue;
        };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let (index, carried) = branch_or_mark(world, op, &mut memo, carried);
        outlets[index].send(world, carried).await;
        outlets[index].mark().await;
        turns.send(Turn::Lane(index)).await;
    }
}

/// Before a replica of a star; all that leave meet behind it.
pub(super) async fn star<'a>(
    wiring: Wiring<'a>,
    op: OpId,
    mut input: Receiver<Message>,
    shared: Outlet,
    mut creator: Spawner<'a>,
) {
    let world = wiring.world;
    let Kind::Star { body, .. } = world.facts.graph.ops[op.0].kind else { return };
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    let mut shared = shared;
    let mut next: Option<Outlet> = None;
    while let Some(item) = input.recv().await {
        let Message::Record(carried) = item else { continue };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let (leaves, carried) = leaves_or_mark(world, op, &mut memo, carried);
        if leaves {
            shared.send(world, carried).await;
            continue;
        }
        if next.is_none() {
            let here = wiring.for_record(&carried);
            let maker = &mut Maker::Spawner(&mut creator);
            next = shared.again().map(|to| here.replica(maker, op, body, to));
        }
        if let Some(next) = &mut next {
            next.send(world, carried).await;
        }
    }
}

/// Before a replica of a star that keeps order; the rest of the star is one branch.
pub(super) async fn ordered_star<'a>(
    wiring: Wiring<'a>,
    op: OpId,
    mut input: Receiver<Message>,
    mut turns: Sender<Turn>,
    mut creator: Spawner<'a>,
) {
    let world = wiring.world;
    let Kind::Star { body, .. } = world.facts.graph.ops[op.0].kind else { return };
    let starts = !world.facts.graph.scopes[body.0].initialisers.is_empty();
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    let mut next: Option<Outlet> = None;
    while let Some(item) = input.recv().await {
        let Message::Record(carried) = item else {
            turns.send(Turn::Mark).await;
            continue;
        };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let (leaves, carried) = leaves_or_mark(world, op, &mut memo, carried);
        if leaves {
            turns.send(Turn::Direct(carried)).await;
            continue;
        }
        if next.is_none() {
            let (entry, exit) = meeting();
            let here = wiring.for_record(&carried);
            let maker = &mut Maker::Spawner(&mut creator);
            let mut made = here.replica(maker, op, body, Outlet::meeting(entry));
            turns.send(Turn::New(exit)).await;
            if starts {
                made.mark().await;
                turns.send(Turn::Lane(0)).await;
            }
            next = Some(made);
        }
        if let Some(next) = &mut next {
            next.send(world, carried).await;
            next.mark().await;
            turns.send(Turn::Lane(0)).await;
        }
    }
}

/// Whether a record leaves a star, or is the mark of one that failed.
fn leaves_or_mark<'a>(
    world: &'a World<'a>,
    op: OpId,
    memo: &mut Memoed<'a>,
    carried: Carried,
) -> (bool, Carried) {
    if carried.rec.is_mark() {
        return (true, carried);
    }
    match leaves(world, op, memo, &carried) {
        Ok(leaves) => (leaves, carried),
        Err(failure) => (true, Carried::mark(world, carried.rec.number, carried.loops, failure)),
    }
}

/// The replicas that a record is for; if there are none for it, its mark.
fn values(
    world: &World<'_>,
    op: OpId,
    memo: &mut Memo<Option<(usize, usize)>>,
    carried: &Carried,
) -> Result<std::ops::RangeInclusive<i64>, Box<Carried>> {
    if carried.rec.is_mark() {
        return Err(Box::new(carried.copy()));
    }
    let (facts, rec) = (world.facts, &carried.rec);
    let mark = |failure| Box::new(Carried::mark(world, rec.number, carried.loops.clone(), failure));
    let at = memo.get(rec.shape, || pattern::tags(facts, op, rec.shape));
    let (low, high) = at.ok_or_else(|| mark(facts.misfit(op, rec)))?;
    let (low, high) = (rec.tags[low], rec.tags[high]);
    if i128::from(high) - i128::from(low) >= MOST_COPIES {
        return Err(mark(facts.too_many(op, rec)));
    }
    Ok(low..=high)
}

/// A split whose replicas meet behind it.
pub(super) async fn split<'a>(
    wiring: Wiring<'a>,
    op: OpId,
    body: ScopeId,
    mut input: Receiver<Message>,
    mut shared: Outlet,
    mut creator: Spawner<'a>,
) {
    let world = wiring.world;
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    let mut replicas: HashMap<i64, Outlet, FixedState> = HashMap::default();
    while let Some(item) = input.recv().await {
        let Message::Record(carried) = item else { continue };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let values = match values(world, op, &mut memo, &carried) {
            Ok(values) => values,
            Err(mark) => {
                shared.send(world, *mark).await;
                continue;
            }
        };
        for value in values {
            if !replicas.contains_key(&value) {
                let here = wiring.in_replica(body, value, &carried);
                let Some(to) = shared.again() else { return };
                let maker = &mut Maker::Spawner(&mut creator);
                replicas.insert(value, here.scope(maker, body, to));
            }
            if let Some(replica) = replicas.get_mut(&value) {
                replica.send(world, carried.copy()).await;
            }
        }
    }
}

/// A split with a collector behind it.
pub(super) async fn ordered_split<'a>(
    wiring: Wiring<'a>,
    op: OpId,
    body: ScopeId,
    mut input: Receiver<Message>,
    mut turns: Sender<Turn>,
    mut creator: Spawner<'a>,
) {
    let world = wiring.world;
    let starts = !world.facts.graph.scopes[body.0].initialisers.is_empty();
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    let mut replicas: HashMap<i64, (usize, Outlet), FixedState> = HashMap::default();
    while let Some(item) = input.recv().await {
        let Message::Record(carried) = item else {
            turns.send(Turn::Mark).await;
            continue;
        };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let values = match values(world, op, &mut memo, &carried) {
            Ok(values) => values,
            Err(mark) => {
                turns.send(Turn::Direct(*mark)).await;
                continue;
            }
        };
        for value in values {
            if !replicas.contains_key(&value) {
                let (entry, exit) = meeting();
                let here = wiring.in_replica(body, value, &carried);
                let maker = &mut Maker::Spawner(&mut creator);
                let mut made = here.scope(maker, body, Outlet::meeting(entry));
                let lane = replicas.len();
                turns.send(Turn::New(exit)).await;
                if starts {
                    made.mark().await;
                    turns.send(Turn::Lane(lane)).await;
                }
                replicas.insert(value, (lane, made));
            }
            if let Some((lane, replica)) = replicas.get_mut(&value) {
                replica.send(world, carried.copy()).await;
                replica.mark().await;
                turns.send(Turn::Lane(*lane)).await;
            }
        }
    }
}

/// Lets records into a feedback.
pub(super) async fn into_feedback(mut input: Receiver<Message>, inside: Arc<InBody>) {
    while let Some(item) = input.recv().await {
        let Message::Record(Carried { rec, loops }) = item else { continue };
        let within = match loops {
            None => Arc::clone(&inside),
            outer => Arc::new(InBody { entry: inside.entry.clone(), outer }),
        };
        inside.entry.put(Message::Record(Carried { rec, loops: Some(within) }));
    }
}

/// Sends records back or out behind the body of a feedback.
pub(super) async fn test_of_feedback<'a>(
    world: &'a World<'a>,
    op: OpId,
    mut from_body: Receiver<Message>,
    mut output: Outlet,
) {
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    while let Some(item) = from_body.recv().await {
        let Message::Record(carried) = item else { continue };
        if !is_wanted(world, &carried) {
            continue;
        }
        count.one();
        let (back, Carried { rec, loops }) = leaves_or_mark(world, op, &mut memo, carried);
        let Some(inside) = loops else { continue };
        if back && !rec.is_mark() {
            let entry = inside.entry.clone();
            entry.put(Message::Record(Carried { rec, loops: Some(inside) }));
        } else {
            let loops = inside.outer.clone();
            output.send(world, Carried { rec, loops }).await;
        }
    }
}

/// A feedback that keeps order: what an output causes comes before the next output.
pub(super) async fn ordered_feedback<'a>(
    world: &'a World<'a>,
    op: OpId,
    mut input: Receiver<Message>,
    mut output: Outlet,
    mut to_body: Outlet,
    mut from_body: Receiver<Message>,
    starts: bool,
) {
    let mut count = Count::new(world, op);
    let mut memo = Memo::new();
    // What is still to be tested, the next one last.
    let mut left = Vec::new();
    if starts {
        to_body.mark().await;
        made_by_body(&mut from_body, &mut left).await;
    }
    loop {
        while let Some(carried) = left.pop() {
            if !is_wanted(world, &carried) {
                continue;
            }
            let (back, carried) = leaves_or_mark(world, op, &mut memo, carried);
            if back && !carried.rec.is_mark() {
                to_body.send(world, carried).await;
                to_body.mark().await;
                made_by_body(&mut from_body, &mut left).await;
            } else {
                output.send(world, carried).await;
            }
        }
        let Some(carried) = next_record(world, &mut input, &mut output).await else {
            return;
        };
        count.one();
        to_body.send(world, carried).await;
        to_body.mark().await;
        made_by_body(&mut from_body, &mut left).await;
    }
}

/// Takes all that the body makes of a record, the first last.
async fn made_by_body(from_body: &mut Receiver<Message>, left: &mut Vec<Carried>) {
    let before = left.len();
    while let Some(Message::Record(carried)) = from_body.recv().await {
        left.push(carried);
    }
    left[before..].reverse();
}
