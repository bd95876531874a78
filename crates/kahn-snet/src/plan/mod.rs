//! The plan: a program with its names resolved, as the types and the runtime read it.
//!
//! Parts of a network are in one list and point at each other by number; a net that is used
//! twice is one part used twice. What is *static* about a program is here and nowhere else: the
//! property graph of FRONT. What exists of it at run time is made when the first record comes.

mod dot;
mod resolve;

pub use dot::{dot, svg};
pub use resolve::resolve;

use crate::syntax::Span;
use crate::syntax::ast::Expression;
use crate::types::{Label, Variant};

/// A part of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub(crate) usize);

/// A net of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetId(pub(crate) usize);

/// A box of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoxId(pub(crate) usize);

/// A program with its names resolved.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub(crate) parts: Vec<Part>,
    pub(crate) nets: Vec<Net>,
    pub(crate) boxes: Vec<BoxPlan>,
    /// The nets of the file itself, in order.
    pub(crate) outermost: Vec<NetId>,
}

impl Plan {
    pub(crate) fn part(&self, id: PartId) -> &Part {
        &self.parts[id.0]
    }

    /// Whether something could not be resolved.
    pub(crate) fn has_errors(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.kind, PartKind::Error))
    }

    pub(crate) fn net(&self, id: NetId) -> &Net {
        &self.nets[id.0]
    }

    pub(crate) fn box_plan(&self, id: BoxId) -> &BoxPlan {
        &self.boxes[id.0]
    }

    /// Finds an outermost net by its name, or the last one.
    pub fn find_net(&self, name: Option<&str>) -> Option<NetId> {
        match name {
            None => self.outermost.last().copied(),
            Some(name) => {
                self.outermost.iter().rev().copied().find(|id| self.net(*id).name == name)
            }
        }
    }

    /// Returns the names of the outermost nets.
    pub fn net_names(&self) -> impl Iterator<Item = &str> {
        self.outermost.iter().map(|id| self.net(*id).name.as_str())
    }

    /// Returns the path of every box, with its signature as written.
    pub fn boxes(&self) -> impl Iterator<Item = &BoxPlan> {
        self.boxes.iter()
    }
}

/// A part and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) span: Span,
}

/// What a part is.
#[derive(Debug, Clone)]
pub(crate) enum PartKind {
    /// What could not be read or resolved; nothing is said about it any more.
    Error,
    Identity,
    Filter(FilterPlan),
    Box(BoxId),
    Cell(Vec<Pattern>),
    Serial(Vec<PartId>),
    Choice {
        ordered: bool,
        branches: Vec<PartId>,
    },
    Star {
        ordered: bool,
        body: PartId,
        exits: Vec<Pattern>,
    },
    Feedback {
        ordered: bool,
        body: PartId,
        back: Vec<Pattern>,
    },
    Split {
        ordered: bool,
        body: PartId,
        range: SplitRange,
    },
    Net(NetId),
}

/// The tags that select replicas.
#[derive(Debug, Clone)]
pub(crate) enum SplitRange {
    Index(Label),
    Between(Label, Label),
}

impl SplitRange {
    pub(crate) fn labels(&self) -> Vec<Label> {
        match self {
            Self::Index(label) => vec![label.clone()],
            Self::Between(low, high) => vec![low.clone(), high.clone()],
        }
    }
}

/// A variant with a guard.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) variant: Variant,
    pub(crate) guard: Option<Expression>,
    pub(crate) span: Span,
}

/// A filter.
#[derive(Debug, Clone)]
pub(crate) struct FilterPlan {
    pub(crate) pattern: Variant,
    pub(crate) arms: Vec<ArmPlan>,
}

impl FilterPlan {
    /// Returns whether every record that fits goes on as it is.
    pub(crate) fn passes(&self) -> bool {
        let [ArmPlan { guard: None, records }] = self.arms.as_slice() else { return false };
        let [record] = records.as_slice() else { return false };
        let same = |(label, source): &(Label, ValueSource)| matches!(source, ValueSource::Label(from) if from == label);
        record.len() == self.pattern.0.len() && record.iter().all(same)
    }
}

/// An arm of a filter; the last has no guard.
#[derive(Debug, Clone)]
pub(crate) struct ArmPlan {
    pub(crate) guard: Option<Expression>,
    pub(crate) records: Vec<Vec<(Label, ValueSource)>>,
}

/// Where the value of a label comes from.
#[derive(Debug, Clone)]
pub(crate) enum ValueSource {
    /// From a label of the pattern.
    Label(Label),
    /// From an expression; 0 for a tag made from nothing.
    Expression(Expression),
    Zero,
}

/// A box as declared.
#[derive(Debug, Clone)]
pub struct BoxPlan {
    /// Its name.
    pub name: String,
    /// The names of the nets around it, then its own, joined by `/`.
    pub path: String,
    /// What it takes, in order; none for an initialiser.
    pub input: Option<Vec<Label>>,
    /// Which of those are passed on although taken.
    pub kept: Vec<Label>,
    /// What it may emit, in order, numbered from 1.
    pub outputs: Vec<Vec<Label>>,
    /// What metadata says about it, the most specific last.
    pub metadata: Vec<(String, String)>,
    /// Code given in the file: its language and its text.
    pub code: Option<(String, String)>,
}

impl BoxPlan {
    /// Returns the last value that metadata gives for a key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Returns the labels it takes, as a set.
    pub fn accepts(&self) -> Option<Variant> {
        Some(self.input.as_ref()?.iter().cloned().collect())
    }

    /// Returns the labels that are gone from a record once it has taken them.
    pub(crate) fn consumes(&self) -> Variant {
        let taken = self.input.iter().flatten();
        taken.filter(|label| !self.kept.contains(label)).cloned().collect()
    }
}

/// A net as declared.
#[derive(Debug, Clone)]
pub(crate) struct Net {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) body: PartId,
    pub(crate) declared: Option<Vec<DeclaredMap>>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) name_span: Span,
    pub(crate) signature_span: Span,
}

impl Net {
    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// A declared map.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredMap {
    /// None for what initialisers emit.
    pub(crate) inputs: Option<Vec<Variant>>,
    /// None if left to inference.
    pub(crate) outputs: Option<Vec<DeclaredOutput>>,
    pub(crate) span: Span,
}

/// A declared output, and the labels it promises to be unchanged.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredOutput {
    pub(crate) variant: Variant,
    pub(crate) same: Variant,
    pub(crate) span: Span,
}
