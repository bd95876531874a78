//! Patterns: the branch that a record takes, whether it leaves, goes back, or fits a synchro-cell.

use super::answers::Facts;
use super::expression::{BoundCode, NoValue};
use super::graph::{Kind, OpId, Test};
use super::shape::{Position, Rec, ShapeId, Shapes};

/// Which patterns a record fits, with their guards.
#[derive(Debug, Default)]
pub(crate) struct TestStep(Vec<(usize, Option<BoundCode>)>);

impl TestStep {
    /// Whether the record matches one of the patterns.
    pub(crate) fn matches(&self, rec: &Rec) -> Result<bool, NoValue> {
        for (_, guard) in &self.0 {
            match guard {
                None => return Ok(true),
                Some(guard) if guard.value(&rec.tags)? != 0 => return Ok(true),
                Some(_) => {}
            }
        }
        Ok(false)
    }

    /// The patterns that the record matches, a bit for each.
    pub(crate) fn all(&self, rec: &Rec) -> Result<u64, NoValue> {
        let mut bits = 0;
        for (pattern, guard) in &self.0 {
            let holds = match guard {
                None => true,
                Some(guard) => guard.value(&rec.tags)? != 0,
            };
            bits |= u64::from(holds) << pattern;
        }
        Ok(bits)
    }
}

/// The branch of a choice that a record takes, as its index.
pub(crate) fn route(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<usize> {
    let Kind::Choice(branches) = &facts.graph.ops[op.0].kind else { return None };
    let of = facts.shapes.get(shape);
    let mut best: Option<(usize, usize)> = None;
    for (index, branch) in branches.iter().enumerate() {
        let fitting = branch.wanted.iter().filter(|wanted| of.fits(wanted));
        let score = fitting.map(|wanted| wanted.score()).max();
        if let Some(score) = score
            && best.is_none_or(|(most, _)| score > most)
        {
            best = Some((score, index));
        }
    }
    best.map(|(_, index)| index)
}

/// The tests at the end of a replica or of the body of a feedback.
pub(crate) fn exits(facts: Facts<'_>, op: OpId, shape: ShapeId) -> TestStep {
    match &facts.graph.ops[op.0].kind {
        Kind::Star { exits: tests, .. } | Kind::Feedback { back: tests, .. } => {
            bind(tests, shape, facts.shapes)
        }
        _ => TestStep::default(),
    }
}

/// The patterns of a synchro-cell.
pub(crate) fn patterns(facts: Facts<'_>, op: OpId, shape: ShapeId) -> TestStep {
    match &facts.graph.ops[op.0].kind {
        Kind::Cell(tests) | Kind::Star { zipper: Some(tests), .. } => {
            bind(tests, shape, facts.shapes)
        }
        _ => TestStep::default(),
    }
}

/// Where the tags of a split lie.
pub(crate) fn tags(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<(usize, usize)> {
    let Kind::Split { range: (low, high), .. } = &facts.graph.ops[op.0].kind else { return None };
    let of = facts.shapes.get(shape);
    match (of.position(*low)?, of.position(high.unwrap_or(*low))?) {
        (Position::Tag(low), Position::Tag(high)) => Some((low, high)),
        _ => None,
    }
}

fn bind(tests: &[Test], shape: ShapeId, shapes: &Shapes) -> TestStep {
    let of = shapes.get(shape);
    let fitting = tests.iter().enumerate().filter(|(_, test)| of.fits(&test.wanted));
    let bound = fitting.map(|(index, test)| {
        (index, test.guard.as_ref().map(|guard| BoundCode::bind(guard, &of, shapes)))
    });
    TestStep(bound.collect())
}
