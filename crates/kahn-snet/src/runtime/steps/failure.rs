//! What ends a run.

use std::sync::Arc;

use super::answers::Facts;
use super::expression::NoValue;
use super::graph::{Boundary, Kind, OpId};
use super::shape::{Rec, Shape};
use super::within::Within;
use crate::record::{ReadError, Record, WriteError};
use crate::types::{self, Label, Variant};

/// Says why a run ended before its input did.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A record came to a choice and matched no branch.
    #[error("no branch of {component} takes a record of type {record}\n{}", list(branches))]
    NoBranch {
        /// The choice.
        component: String,
        /// The record's type.
        record: Variant,
        /// What each branch takes.
        branches: Vec<String>,
    },
    /// A record of the input is none that the net takes.
    #[error(
        "net `{net}` does not take record {number} of the input: {why}\n   record: {record}\n   \
        takes: {takes}"
    )]
    Foreign {
        /// The net.
        net: String,
        /// Which record of the input it is, from 1.
        number: u32,
        /// What is wrong about it, with the label that was perhaps meant.
        why: String,
        /// The record.
        record: String,
        /// What the net takes.
        takes: String,
    },
    /// A record came to an inner net that declares that it takes others.
    #[error(
        "net `{net}` does not take a record that comes to it: {why}\n   record: {record}\n   \
        takes: {takes}"
    )]
    Refused {
        /// The net.
        net: String,
        /// What is wrong about it, with the label that was perhaps meant.
        why: String,
        /// The record.
        record: String,
        /// What the net takes.
        takes: String,
    },
    /// A record came to a component that takes others.
    #[error("{component} got a record of type {record}, but takes {wanted}")]
    Misfit {
        /// The component.
        component: String,
        /// The record's type.
        record: Variant,
        /// What it takes.
        wanted: String,
    },
    /// A tag expression has no value.
    #[error("{cause} in {component}\n   record: {record}")]
    NoValue {
        /// The component.
        component: String,
        /// The record.
        record: String,
        /// Why.
        cause: NoValue,
    },
    /// A record came to a star of synchro-cells that would unfold for ever for it.
    #[error("{component} neither keeps nor lets out a record of type {record}")]
    NeverKept {
        /// The component.
        component: String,
        /// The record's type.
        record: Variant,
    },
    /// A range of a split is absurdly large.
    #[error("{component} should copy a record to more than 16777216 replicas\n   record: {record}")]
    TooManyCopies {
        /// The component.
        component: String,
        /// The record.
        record: String,
    },
    /// A box failed.
    #[error("box `{path}` failed: {reason}\n   record: {record}")]
    Box {
        /// The box.
        path: String,
        /// The record it was given.
        record: String,
        /// Why.
        reason: String,
    },
    /// A box takes longer than allowed.
    #[error("box `{path}` has not returned for {seconds} s\n   record: {record}")]
    Blocked {
        /// The box.
        path: String,
        /// The record it was given.
        record: String,
        /// How long it may take.
        seconds: f64,
    },
    /// It was stopped from outside.
    #[error("the run was stopped")]
    Stopped,
    /// Synchro-cells were left half filled, and that was to be an error.
    #[error("the input ended with half-filled synchro-cells\n{}", list(cells))]
    HalfFilled {
        /// The cells, each with what waits in it.
        cells: Vec<String>,
    },
    /// The input is no sequence of records.
    #[error("{0}")]
    Input(ReadError),
    /// A record could not be written.
    #[error("{0}")]
    Output(WriteError),
    /// An observer could not write.
    #[error("the observer of `{component}` cannot write: {cause}")]
    Observer {
        /// What is observed.
        component: String,
        /// Why.
        cause: String,
    },
}

/// What a failure ends.
pub(crate) type OrFailure = Result<(), Box<Failure>>;

fn list(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("   {line}")).collect();
    lines.join("\n")
}

/// What a record lacks that is of none of these types, with what it perhaps has instead.
fn lacks(variant: &Variant, inputs: &[Variant]) -> String {
    let missing = |wanted: &Variant| -> Vec<Label> {
        wanted.0.iter().filter(|label| !variant.has(label)).cloned().collect()
    };
    // Of the labels that it has, those that are in none of the types.
    let other = |label: &&Label| !inputs.iter().any(|wanted| wanted.has(label));
    let others: Vec<&Label> = variant.0.iter().filter(other).collect();
    let meant = |label: &Label| {
        let same = others.iter().find(|other| other.name == label.name);
        same.copied().or_else(|| {
            let names = others.iter().map(|other| &*other.name);
            let close = crate::diagnostics::closest(&label.name, names)?;
            others.iter().copied().find(|other| *other.name == *close)
        })
    };
    // The type that lacks least; of several one that a label was perhaps meant for.
    let nearest = inputs
        .iter()
        .map(missing)
        .min_by_key(|missing| (missing.len(), missing.iter().all(|label| meant(label).is_none())));
    let Some(nearest) = nearest else { return "it takes none".to_owned() };
    let Some(label) = nearest.iter().find(|label| meant(label).is_some()).or(nearest.first())
    else {
        let extra = others.iter().find(|label| !label.is_inherited());
        return extra.map_or_else(
            || "its binding tags are others".to_owned(),
            |label| format!("it has the binding tag `{label}`"),
        );
    };
    match meant(label) {
        None => format!("it has no `{label}`"),
        Some(other) => format!("it has no `{label}`; is `{other}` meant to be it?"),
    }
}

fn taken(inputs: &[Variant]) -> String {
    if inputs.is_empty() { "no records".to_owned() } else { types::show(inputs) }
}

impl Facts<'_> {
    /// What is said of a record of the input that the net does not take.
    pub(crate) fn foreign(self, number: u32, record: &Record) -> Failure {
        let boundary = &self.graph.boundary;
        let inputs = &boundary.inputs;
        Failure::Foreign {
            net: boundary.net.clone(),
            number,
            why: lacks(&record.variant(), inputs),
            record: record.to_string(),
            takes: taken(inputs),
        }
    }

    /// What is said of a record that an inner net does not take.
    pub(crate) fn refused(self, boundary: &Boundary, rec: &Rec) -> Failure {
        Failure::Refused {
            net: boundary.net.clone(),
            why: lacks(&self.type_of(rec), &boundary.inputs),
            record: self.text_of(rec),
            takes: taken(&boundary.inputs),
        }
    }

    fn type_of(self, rec: &Rec) -> Variant {
        self.shapes.variant(rec.shape)
    }

    /// The record as text.
    pub(crate) fn text_of(self, rec: &Rec) -> String {
        self.shapes.leave(rec.clone()).to_string()
    }

    /// What is said of a synchro-cell that still keeps a record.
    pub(crate) fn held(self, op: OpId, within: Option<&Arc<Within>>, rec: &Rec) -> String {
        format!("{}{} holds {}", self.name(op), self.place(within, 0), self.text_of(rec))
    }

    /// Says in which replicas something lies, if in any; behind a `stage` of a star, if that is not 0.
    pub(crate) fn place(self, within: Option<&Arc<Within>>, stage: i64) -> String {
        let around = std::iter::successors(within, |inner| inner.outer.as_ref());
        let behind = (stage > 0).then(|| format!("stage {stage}"));
        let around = around.map(|within| self.replica(within));
        let mut around: Vec<String> = behind.into_iter().chain(around).collect();
        around.reverse();
        if around.is_empty() { String::new() } else { format!(" at {}", around.join(", ")) }
    }

    /// A replica of a split, by what was split by, or of a star, by its number.
    fn replica(self, within: &Within) -> String {
        let range = self.graph.ops.iter().find_map(|op| match op.kind {
            Kind::Split { range, body, .. } if body == within.scope => Some(range),
            _ => None,
        });
        if range.is_none() {
            return format!("stage {}", within.value);
        }
        let (low, high) = range.map_or((None, None), |(low, high)| (Some(low), high));
        let labels = low.into_iter().chain(high);
        let labels: Vec<String> = labels.map(|id| self.shapes.name(id).to_string()).collect();
        format!("{} = {}", labels.join(":"), within.value)
    }

    fn name(self, op: OpId) -> String {
        self.graph.ops[op.0].name.clone()
    }

    fn show(self, shapes: &[Arc<Shape>]) -> String {
        let show = |shape: &Arc<Shape>| {
            let labels = shape.labels.iter().map(|label| self.shapes.name(*label));
            labels.collect::<Variant>().to_string()
        };
        let shown: Vec<String> = shapes.iter().map(show).collect();
        if shown.is_empty() { "no records".to_owned() } else { shown.join(" | ") }
    }

    pub(crate) fn no_branch(self, op: OpId, rec: &Rec) -> Failure {
        let mut branches = Vec::new();
        if let Kind::Choice(all) = &self.graph.ops[op.0].kind {
            for (index, branch) in all.iter().enumerate() {
                branches.push(format!("branch {} takes {}", index + 1, self.show(&branch.wanted)));
            }
        }
        Failure::NoBranch { component: self.name(op), record: self.type_of(rec), branches }
    }

    pub(crate) fn misfit(self, op: OpId, rec: &Rec) -> Failure {
        let wanted = match &self.graph.ops[op.0].kind {
            Kind::Filter { filter, .. } => filter.pattern.to_string(),
            Kind::Box(id) => self.plan.box_plan(*id).accepts().unwrap_or_default().to_string(),
            Kind::Initialiser(_) => "no records".to_owned(),
            Kind::Split { range: (low, high), .. } => {
                let labels = std::iter::once(low).chain(high);
                labels.map(|label| self.shapes.name(*label)).collect::<Variant>().to_string()
            }
            _ => "others".to_owned(),
        };
        let record = self.type_of(rec);
        Failure::Misfit { component: self.name(op), record, wanted }
    }

    pub(crate) fn no_value(self, op: OpId, rec: &Rec, cause: NoValue) -> Failure {
        let record = self.text_of(rec);
        Failure::NoValue { component: self.name(op), record, cause }
    }

    pub(crate) fn never_kept(self, op: OpId, rec: &Rec) -> Failure {
        Failure::NeverKept { component: self.name(op), record: self.type_of(rec) }
    }

    pub(crate) fn too_many(self, op: OpId, rec: &Rec) -> Failure {
        let record = self.text_of(rec);
        Failure::TooManyCopies { component: self.name(op), record }
    }
}
