//! What an operation does with records of one shape; `answers` says who works it out, and when.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::answers::Facts;
use super::expression::{Code, NoValue};
use super::graph::{Kind, OpId, Test};
use super::marks::BEFORE_ALL;
use super::order::Tickets;
use super::shape::{LabelId, Position, Rec, Shape, ShapeId, Shapes};
use crate::plan::{Filter, Source};

/// Where a tag of a new record comes from.
#[derive(Debug)]
pub(super) enum TagFrom {
    Old(usize),
    Code(Code),
    Zero,
}

/// Where a field of a new record comes from, and whether nothing needs it afterwards.
#[derive(Debug)]
pub(super) struct FieldFrom {
    index: usize,
    take: bool,
}

/// A record to make from another.
#[derive(Debug)]
pub(super) struct Made {
    shape: ShapeId,
    tags: Box<[TagFrom]>,
    fields: Box<[FieldFrom]>,
}

impl Made {
    /// Makes the record; the places of the old one are not copied.
    pub(super) fn from(&self, old: &mut Rec) -> Result<Rec, NoValue> {
        let mut tags = SmallVec::from_elem(0, self.tags.len());
        let given: &[i64] = &old.tags;
        for (tag, from) in tags.iter_mut().zip(&self.tags) {
            match from {
                TagFrom::Old(index) => *tag = given[*index],
                TagFrom::Code(code) => *tag = code.value(given)?,
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
pub(super) struct ArmStep {
    pub(super) guard: Option<Code>,
    pub(super) records: Vec<Made>,
}

/// Which patterns a record fits, with their guards.
#[derive(Debug, Default)]
pub(super) struct TestStep(Vec<(usize, Option<Code>)>);

impl TestStep {
    /// Whether the record matches one of the patterns.
    pub(super) fn matches(&self, rec: &Rec) -> Result<bool, NoValue> {
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
    pub(super) fn all(&self, rec: &Rec) -> Result<u64, NoValue> {
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

/// Where a value of an emitted record comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Emitted {
    Given(usize),
    Inherited(usize),
}

/// What a box makes of a record.
#[derive(Debug)]
pub(super) struct BoxStep {
    pub(super) inputs: Vec<Position>,
    pub(super) outputs: Vec<BoxOutput>,
}

/// An output tuple, with what is inherited.
#[derive(Debug)]
pub(super) struct BoxOutput {
    pub(super) shape: ShapeId,
    pub(super) fields: Vec<Emitted>,
    pub(super) tags: Vec<Emitted>,
}

/// How the records of a cell become one.
#[derive(Debug)]
pub(super) struct MergeStep {
    pub(super) shape: ShapeId,
    /// Slot and index.
    fields: Vec<(usize, usize)>,
    tags: Vec<(usize, usize)>,
}

impl MergeStep {
    /// Joins the records; the new one has no places in any order yet.
    pub(super) fn of(&self, slots: &[Rec]) -> Rec {
        let fields = self.fields.iter().map(|(slot, index)| slots[*slot].fields[*index].clone());
        let tags = self.tags.iter().map(|(slot, index)| slots[*slot].tags[*index]);
        let (fields, tags) = (fields.collect(), tags.collect());
        let number = slots.iter().map(|rec| rec.number).max().unwrap_or(BEFORE_ALL);
        Rec { shape: self.shape, number, tickets: Tickets::default(), tags, fields }
    }
}

/// The arms of a filter; none if the record does not fit it.
pub(super) fn filter(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<Vec<ArmStep>> {
    let Kind::Filter { filter, pattern } = &facts.graph.ops[op.0].kind else { return None };
    let of = facts.shapes.get(shape);
    of.fits(pattern).then(|| arms(filter, pattern, &of, facts.shapes))
}

/// The branch of a choice that a record takes, as its index.
pub(super) fn route(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<usize> {
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
pub(super) fn exits(facts: Facts<'_>, op: OpId, shape: ShapeId) -> TestStep {
    match &facts.graph.ops[op.0].kind {
        Kind::Star { exits: tests, .. } | Kind::Feedback { back: tests, .. } => {
            bind(tests, shape, facts.shapes)
        }
        _ => TestStep::default(),
    }
}

/// The patterns of a synchro-cell.
pub(super) fn patterns(facts: Facts<'_>, op: OpId, shape: ShapeId) -> TestStep {
    match &facts.graph.ops[op.0].kind {
        Kind::Cell(tests) | Kind::Star { zipper: Some(tests), .. } => {
            bind(tests, shape, facts.shapes)
        }
        _ => TestStep::default(),
    }
}

/// Where the tags of a split lie.
pub(super) fn tags(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<(usize, usize)> {
    let Kind::Split { range: (low, high), .. } = &facts.graph.ops[op.0].kind else { return None };
    let of = facts.shapes.get(shape);
    match (of.position(*low)?, of.position(high.unwrap_or(*low))?) {
        (Position::Tag(low), Position::Tag(high)) => Some((low, high)),
        _ => None,
    }
}

/// What a box makes of a record; none if it does not fit.
pub(super) fn of_box(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<BoxStep> {
    let (Kind::Box(id) | Kind::Initialiser(id)) = &facts.graph.ops[op.0].kind else { return None };
    let declared = facts.plan.box_plan(*id);
    let of = facts.shapes.get(shape);
    let accepts = declared.accepts().unwrap_or_default();
    if !of.fits(&facts.shapes.of_variant(&accepts)) {
        return None;
    }
    let label = |label| facts.shapes.label(label);
    let inputs = declared.input.iter().flatten();
    let inputs = inputs.filter_map(|one| of.position(label(one))).collect();
    let consumed = declared.consumes();
    let consumed: Vec<LabelId> = consumed.0.iter().map(label).collect();
    let outputs = declared.outputs.iter().map(|tuple| {
        let given: Vec<LabelId> = tuple.iter().map(label).collect();
        box_output(&given, &consumed, &of, facts.shapes)
    });
    Some(BoxStep { inputs, outputs: outputs.collect() })
}

/// How records of these shapes become one in a cell.
pub(super) fn merge(facts: Facts<'_>, op: OpId, slots: &[ShapeId]) -> MergeStep {
    let tests = match &facts.graph.ops[op.0].kind {
        Kind::Cell(tests) | Kind::Star { zipper: Some(tests), .. } => tests.as_slice(),
        _ => &[],
    };
    let mut from: BTreeMap<LabelId, (usize, usize)> = BTreeMap::new();
    for (slot, shape) in slots.iter().enumerate() {
        let of = facts.shapes.get(*shape);
        let labels = if slot == 0 { &of.labels } else { &tests[slot].wanted.labels };
        for label in labels {
            if let Some(Position::Field(index) | Position::Tag(index)) = of.position(*label) {
                from.insert(*label, (slot, index));
            }
        }
    }
    let labels: Vec<LabelId> = from.keys().copied().collect();
    let (shape, of) = facts.shapes.shape(&labels);
    let sources: Vec<(usize, usize)> = from.into_values().collect();
    let (fields, tags) = sources.split_at(of.fields);
    MergeStep { shape, fields: fields.into(), tags: tags.into() }
}

fn bind(tests: &[Test], shape: ShapeId, shapes: &Shapes) -> TestStep {
    let of = shapes.get(shape);
    let fitting = tests.iter().enumerate().filter(|(_, test)| of.fits(&test.wanted));
    let bound = fitting.map(|(index, test)| {
        (index, test.guard.as_ref().map(|guard| Code::bind(guard, &of, shapes)))
    });
    TestStep(bound.collect())
}

fn arms(filter: &Filter, pattern: &Shape, of: &Shape, shapes: &Shapes) -> Vec<ArmStep> {
    let arm = |arm: &crate::plan::Arm| {
        let guard = arm.guard.as_ref().map(|guard| Code::bind(guard, of, shapes));
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
    record: &[(crate::types::Label, Source)],
    pattern: &Shape,
    of: &Shape,
    shapes: &Shapes,
) -> Made {
    let given: Vec<(LabelId, &Source)> =
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
            Some(Source::Label(from)) => of.position(shapes.label(from)),
            Some(Source::Expression(code)) => {
                tags.push(TagFrom::Code(Code::bind(code, of, shapes)));
                continue;
            }
            Some(Source::Zero) => None,
        };
        match from {
            Some(Position::Field(index)) => fields.push(FieldFrom { index, take: false }),
            Some(Position::Tag(index)) => tags.push(TagFrom::Old(index)),
            None => tags.push(TagFrom::Zero),
        }
    }
    Made { shape, tags: tags.into(), fields: fields.into() }
}

fn box_output(given: &[LabelId], consumed: &[LabelId], of: &Shape, shapes: &Shapes) -> BoxOutput {
    let inherited = of.labels.iter().copied().filter(|label| {
        label.is_inherited() && !consumed.contains(label) && !given.contains(label)
    });
    let labels: Vec<LabelId> = given.iter().copied().chain(inherited).collect();
    let (shape, new) = shapes.shape(&labels);
    let from = |label: &LabelId| match given.iter().position(|made| made == label) {
        Some(index) => Emitted::Given(index),
        None => match of.position(*label) {
            Some(Position::Field(index) | Position::Tag(index)) => Emitted::Inherited(index),
            None => Emitted::Given(usize::MAX),
        },
    };
    let (fields, tags) = new.labels.split_at(new.fields);
    BoxOutput {
        shape,
        fields: fields.iter().map(from).collect(),
        tags: tags.iter().map(from).collect(),
    }
}
