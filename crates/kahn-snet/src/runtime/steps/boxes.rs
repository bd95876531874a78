//! Boxes: what they take of a record and make of it, and how they are called.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smallvec::SmallVec;

use super::answers::Facts;
use super::failure::{Failure, OrFailure};
use super::graph::{Kind, OpId};
use super::shape::{LabelId, Position, Rec, Shape, ShapeId, Shapes};
use super::tickets::Tickets;
use crate::boxes::{Argument, BoxError, BoxFunction, Emitter};
use crate::plan::BoxId;
use crate::record::Value;

/// Where a value of an emitted record comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueFrom {
    Given(usize),
    Inherited(usize),
}

/// What a box makes of a record.
#[derive(Debug)]
pub(crate) struct BoxStep {
    pub(crate) inputs: Vec<Position>,
    pub(crate) outputs: Vec<BoxOutput>,
}

/// An output tuple, with what is inherited.
#[derive(Debug)]
pub(crate) struct BoxOutput {
    pub(crate) shape: ShapeId,
    pub(crate) fields: Vec<ValueFrom>,
    pub(crate) tags: Vec<ValueFrom>,
}

/// What a box makes of a record; none if it does not fit.
pub(crate) fn of_box(facts: Facts<'_>, op: OpId, shape: ShapeId) -> Option<BoxStep> {
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

impl Facts<'_> {
    /// Calls a box with a record; `go_on` gets what it emits, record by record. Once the record is not
    /// wanted any more, the box may emit nothing.
    pub(crate) fn call(
        self,
        function: &dyn BoxFunction,
        id: BoxId,
        step: &BoxStep,
        rec: &Rec,
        wants: &dyn Fn() -> bool,
        go_on: &mut dyn FnMut(Rec),
    ) -> OrFailure {
        let declared = self.plan.box_plan(id);
        let inputs = step.inputs.iter().map(|position| match position {
            Position::Field(index) => Argument::Field(rec.fields[*index].clone()),
            Position::Tag(index) => Argument::Tag(rec.tags[*index]),
        });
        let inputs: Vec<Argument> = inputs.collect();
        let result = {
            let mut sink = |variant: usize, values: Vec<Argument>| {
                let out = output(step, variant, values, rec);
                go_on(out);
                if wants() { Ok(()) } else { Err(BoxError::new("the run has ended")) }
            };
            let mut emitter = Emitter::new(&declared.outputs, &mut sink);
            let _watched = self.watch.map(|watch| watch.begin(id, rec));
            catch_unwind(AssertUnwindSafe(|| function.call(inputs, &mut emitter)))
        };
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.box_failed(id, rec, error.0).into()),
            Err(panic) => {
                let reason = format!("it panicked: {}", panic_text(&*panic));
                Err(self.box_failed(id, rec, reason).into())
            }
        }
    }

    fn box_failed(self, id: BoxId, rec: &Rec, reason: String) -> Failure {
        let path = self.plan.box_plan(id).path.clone();
        Failure::Box { path, record: self.text_of(rec), reason }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The record that a box emits, with what it inherits; it has no slots in any order yet.
fn output(step: &BoxStep, variant: usize, values: Vec<Argument>, input: &Rec) -> Rec {
    let output = &step.outputs[variant];
    let mut values: SmallVec<[Option<Argument>; 8]> = values.into_iter().map(Some).collect();
    let fields = output.fields.iter().map(|from| match *from {
        ValueFrom::Given(index) => match values.get_mut(index).and_then(Option::take) {
            Some(Argument::Field(value)) => value,
            _ => Value::Null,
        },
        ValueFrom::Inherited(index) => input.fields[index].clone(),
    });
    let fields = fields.collect();
    let tags = output.tags.iter().map(|from| match *from {
        ValueFrom::Given(index) => match values.get(index) {
            Some(Some(Argument::Tag(value))) => *value,
            _ => 0,
        },
        ValueFrom::Inherited(index) => input.tags[index],
    });
    let tags = tags.collect();
    Rec { shape: output.shape, number: input.number, tickets: Tickets::default(), tags, fields }
}

fn box_output(given: &[LabelId], consumed: &[LabelId], of: &Shape, shapes: &Shapes) -> BoxOutput {
    let inherited = of.labels.iter().copied().filter(|label| {
        label.is_inherited() && !consumed.contains(label) && !given.contains(label)
    });
    let labels: Vec<LabelId> = given.iter().copied().chain(inherited).collect();
    let (shape, new) = shapes.shape(&labels);
    let from = |label: &LabelId| match given.iter().position(|made| made == label) {
        Some(index) => ValueFrom::Given(index),
        None => match of.position(*label) {
            Some(Position::Field(index) | Position::Tag(index)) => ValueFrom::Inherited(index),
            None => ValueFrom::Given(usize::MAX),
        },
    };
    let (fields, tags) = new.labels.split_at(new.fields);
    BoxOutput {
        shape,
        fields: fields.iter().map(from).collect(),
        tags: tags.iter().map(from).collect(),
    }
}
