//! What operations do with shapes, worked out once for a run and looked up from then on.
//!
//! An answer, once there, stays where it is until the run ends: a worker that looked it up keeps a
//! reference. So workers and processes ask behind the lock once for each shape they meet, and
//! no answer is counted, copied or worked out twice.

use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use smallvec::SmallVec;

use super::boxes::{self, BoxStep};
use super::cell::{self, MergeStep};
use super::filter::{self, ArmStep};
use super::graph::{Graph, Kind, OpId};
use super::pattern::{self, TestStep};
use super::shape::{Rec, ShapeId, Shapes};
use super::watch::Watch;
use crate::plan::Plan;

/// What the answers are worked out from, and where they are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) plan: &'a Plan,
    pub(crate) shapes: &'a Shapes,
    pub(crate) answers: &'a Answers,
    pub(crate) watch: Option<&'a Watch>,
}

/// Answers of one kind; none is ever taken out.
#[derive(Debug)]
struct Store<K, T> {
    index: RwLock<HashMap<K, usize, FixedState>>,
    all: boxcar::Vec<T>,
}

impl<K, T> Default for Store<K, T> {
    fn default() -> Self {
        Self { index: RwLock::default(), all: boxcar::Vec::new() }
    }
}

impl<K: Hash + Eq, T> Store<K, T> {
    fn get(&self, key: K, make: impl FnOnce() -> T) -> &T {
        if let Some(index) = self.index.read().get(&key) {
            return &self.all[*index];
        }
        let made = make();
        let mut index = self.index.write();
        let at = *index.entry(key).or_insert_with(|| self.all.push(made));
        &self.all[at]
    }
}

type Key = (OpId, ShapeId);
type MergeKey = (OpId, SmallVec<[ShapeId; 4]>);

/// All answers of a run.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    filters: Store<Key, Option<Vec<ArmStep>>>,
    exits: Store<Key, TestStep>,
    patterns: Store<Key, TestStep>,
    boxes: Store<Key, Option<BoxStep>>,
    merges: Store<MergeKey, MergeStep>,
}

impl<'a> Facts<'a> {
    /// The arms of a filter; none if the record does not fit it.
    pub(crate) fn filter(self, op: OpId, shape: ShapeId) -> Option<&'a [ArmStep]> {
        let make = || filter::filter(self, op, shape);
        self.answers.filters.get((op, shape), make).as_deref()
    }

    /// The tests at the end of a replica or of the body of a feedback.
    pub(crate) fn exits(self, op: OpId, shape: ShapeId) -> &'a TestStep {
        self.answers.exits.get((op, shape), || pattern::exits(self, op, shape))
    }

    /// The patterns of a synchro-cell.
    pub(crate) fn patterns(self, op: OpId, shape: ShapeId) -> &'a TestStep {
        self.answers.patterns.get((op, shape), || pattern::patterns(self, op, shape))
    }

    /// What a box makes of a record; none if it does not fit.
    pub(crate) fn of_box(self, op: OpId, shape: ShapeId) -> Option<&'a BoxStep> {
        self.answers.boxes.get((op, shape), || boxes::of_box(self, op, shape)).as_ref()
    }

    /// Joins the records of a cell; those that wait for no other any more go.
    pub(crate) fn merge(self, op: OpId, slots: &[Rec]) -> Rec {
        let shapes: SmallVec<[ShapeId; 4]> = slots.iter().map(|rec| rec.shape).collect();
        let key = (op, shapes);
        let merges = &self.answers.merges;
        let known = merges.index.read().get(&key).copied();
        let made = if let Some(index) = known {
            &merges.all[index]
        } else {
            let made = cell::merge(self, op, &key.1);
            merges.get(key, || made)
        };
        made.of(slots)
    }
}

/// Answers by operation and shape, found without a lock.
#[derive(Debug)]
struct Table<T>(Vec<Vec<Option<T>>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Table<T> {
    fn get(&mut self, op: OpId, shape: ShapeId, make: impl FnOnce() -> T) -> T {
        let at = shape.0 as usize;
        if let Some(Some(known)) = self.0.get(op.0).and_then(|row| row.get(at)) {
            return *known;
        }
        self.learn(op, at, make())
    }

    #[cold]
    fn learn(&mut self, op: OpId, at: usize, made: T) -> T {
        if self.0.len() <= op.0 {
            self.0.resize_with(op.0 + 1, Vec::new);
        }
        let row = &mut self.0[op.0];
        if row.len() <= at {
            row.resize_with(at + 1, || None);
        }
        row[at] = Some(made);
        made
    }
}

/// The answers that a worker has looked up.
#[derive(Debug, Default)]
pub(crate) struct Steps<'a> {
    filters: Table<Option<&'a [ArmStep]>>,
    routes: Table<Option<OpId>>,
    exits: Table<&'a TestStep>,
    patterns: Table<&'a TestStep>,
    positions: Table<Option<(usize, usize)>>,
    boxes: Table<Option<&'a BoxStep>>,
    idle: Table<bool>,
}

impl<'a> Steps<'a> {
    pub(crate) fn filter(
        &mut self,
        facts: Facts<'a>,
        op: OpId,
        shape: ShapeId,
    ) -> Option<&'a [ArmStep]> {
        self.filters.get(op, shape, || facts.filter(op, shape))
    }

    /// Where a record goes on that comes to a choice.
    pub(crate) fn route(&mut self, facts: Facts<'a>, op: OpId, shape: ShapeId) -> Option<OpId> {
        self.routes.get(op, shape, || {
            let Kind::Choice(branches) = &facts.graph.ops[op.0].kind else { return None };
            pattern::route(facts, op, shape).map(|index| branches[index].entry)
        })
    }

    pub(crate) fn exits(&mut self, facts: Facts<'a>, op: OpId, shape: ShapeId) -> &'a TestStep {
        self.exits.get(op, shape, || facts.exits(op, shape))
    }

    pub(crate) fn patterns(&mut self, facts: Facts<'a>, op: OpId, shape: ShapeId) -> &'a TestStep {
        self.patterns.get(op, shape, || facts.patterns(op, shape))
    }

    pub(crate) fn tags(
        &mut self,
        facts: Facts<'a>,
        op: OpId,
        shape: ShapeId,
    ) -> Option<(usize, usize)> {
        self.positions.get(op, shape, || pattern::tags(facts, op, shape))
    }

    pub(crate) fn of_box(
        &mut self,
        facts: Facts<'a>,
        op: OpId,
        shape: ShapeId,
    ) -> Option<&'a BoxStep> {
        self.boxes.get(op, shape, || facts.of_box(op, shape))
    }

    /// Whether a replica whose cells have all fired lets a record through as it is.
    pub(crate) fn passes_dead(&mut self, facts: Facts<'a>, star: OpId, shape: ShapeId) -> bool {
        let Kind::Star { body, .. } = &facts.graph.ops[star.0].kind else { return false };
        let Self { idle, routes, .. } = self;
        idle.get(star, shape, || {
            let mut op = facts.graph.scopes[body.0].entry;
            while let Some(at) = op {
                let here = &facts.graph.ops[at.0];
                op = match &here.kind {
                    Kind::End => return true,
                    Kind::Cell(_) => here.next,
                    Kind::Entrance(boundary) if boundary.takes(&facts.shapes.get(shape)) => {
                        here.next
                    }
                    // A bypass that names its type.
                    Kind::Filter { filter, pattern }
                        if filter.passes() && facts.shapes.get(shape).fits(pattern) =>
                    {
                        here.next
                    }
                    Kind::Choice(branches) => routes.get(at, shape, || {
                        pattern::route(facts, at, shape).map(|index| branches[index].entry)
                    }),
                    _ => None,
                };
            }
            false
        })
    }
}
