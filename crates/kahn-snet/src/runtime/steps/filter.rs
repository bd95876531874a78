//! Filters: what one makes of records of one shape; `answers` says which thread works that out, and when.

use smallvec::SmallVec;

use super::answers::Facts;
use super::expression::{BoundCode, NoValue};
use super::graph::{Kind, OpId};
use super::shape::{LabelId, Position, Rec, Shape, ShapeId, Shapes};
use super::tickets::Tickets;
use crate::plan::{FilterPlan, ValueSource};

/// Where a tag of a new record comes from.
#[derive(Debug)]
pub(crate) enum TagFrom {
    Old(usize),
    BoundCode(BoundCode),
    Zero,
}

/// Where a field of a new record comes from, and whether nothing needs it afterwards.
#[derive(Debug)]
pub(crate) struct FieldFrom {
    index: usize,
    take: bool,
}

/// A record to make from another.
#[derive(Debug)]
pub(crate) struct Made {
    shape: ShapeId,
    tags: Box<[TagFrom]>,
    fields: Box<[FieldFrom]>,
}

impl Made {
    /// Makes the record; the order slots of the old one are not copied.
    pub(crate) fn from(&self, old: &mut Rec) -> Result<Rec, NoValue> {
        let mut tags = SmallVec::from_elem(0, self.tags.len());
        let given: &[i64] = &old.tags;
        for (tag, from) in tags.iter_mut().zip(&self.tags) {
            match from {
                TagFrom::Old(index) => *tag = given[*index],
                TagFrom::BoundCode(code) => *tag = code.value(given)?,
                TagFrom::Zero => {}
            }
        }
        let mut fields = SmallVec::new();
        if !self.fields.is_empty() {
            fields.extend(self.fields.iter().map(|from| {
                let value = &mut old.fields[from.index];
                if from.take { std::mem::take(value) } else { value.clone() }
            }));
        }
        Ok(Rec { shape: self.shape, number: old.number, tickets: Tickets::default(), tags, fields })
    }
}

/// An arm of a filter.
#[derive(Debug)]
pub(crate) struct ArmStep {
    pub(crate) guard: Option<BoundCode>,
    pub(crate) records: Vec<Made>,
}

/// The arms of a filter; none if the record does not fit it.
pub(crate) fn filter(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<Vec<ArmStep>> {
    let Kind::Filter { filter, pattern } = &facts.graph.ops[op.0].kind else { return None };
    let of = facts.shapes.get(shape);
    of.fits(pattern).then(|| arms(filter, pattern, &of, facts.shapes))
}

fn arms(filter: &FilterPlan, pattern: &Shape, of: &Shape, shapes: &Shapes) -> Vec<ArmStep> {
    let arm = |arm: &crate::plan::ArmPlan| {
        let guard = arm.guard.as_ref().map(|guard| BoundCode::bind(guard, of, shapes));
        let mut records: Vec<Made> =
            arm.records.iter().map(|record| made(record, pattern, of, shapes)).collect();
        // The last record may take what it is the last to use.
        if let Some(last) = records.last_mut() {
            for index in 0..last.fields.len() {
                let rest = &last.fields[index + 1..];
                let used = rest.iter().any(|field| field.index == last.fields[index].index);
                last.fields[index].take = !used;
            }
        }
        ArmStep { guard, records }
    };
    filter.arms.iter().map(arm).collect()
}

fn made(
    record: &[(crate::types::Label, ValueSource)],
    pattern: &Shape,
    of: &Shape,
    shapes: &Shapes,
) -> Made {
    let given: Vec<(LabelId, &ValueSource)> =
        record.iter().map(|(label, source)| (shapes.label(label), source)).collect();
    let consumed = &pattern.labels;
    let inherited = of.labels.iter().copied().filter(|label| {
        label.is_inherited()
            && consumed.binary_search(label).is_err()
            && given.iter().all(|(made, _)| made != label)
    });
    let labels: Vec<LabelId> = given.iter().map(|(label, _)| *label).chain(inherited).collect();
    let (shape, new) = shapes.shape(&labels);
    let (mut tags, mut fields) = (Vec::new(), Vec::new());
    for label in &new.labels {
        let source = given.iter().find(|(made, _)| made == label).map(|(_, source)| *source);
        let from = match source {
            None => of.position(*label),
            Some(ValueSource::Label(from)) => of.position(shapes.label(from)),
            Some(ValueSource::Expression(code)) => {
                tags.push(TagFrom::BoundCode(BoundCode::bind(code, of, shapes)));
                continue;
            }
            Some(ValueSource::Zero) => None,
        };
        match from {
            Some(Position::Field(index)) => fields.push(FieldFrom { index, take: false }),
            Some(Position::Tag(index)) => tags.push(TagFrom::Old(index)),
            None => tags.push(TagFrom::Zero),
        }
    }
    Made { shape, tags: tags.into(), fields: fields.into() }
}
