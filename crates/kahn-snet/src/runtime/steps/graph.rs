//! The property graph: the plan as operations that know what follows them.
//!
//! A *scope* is what is replicated as a whole: the program, the body of a star, of a split or of
//! a feedback. Inside a scope each operation names the next; the last is [`Kind::End`], and what
//! follows that is known by the frame. Nets are gone here, a net used twice is there twice.

use std::sync::Arc;

use super::shape::{LabelId, Shape, Shapes};
use crate::inference::infer::Inference;
use crate::plan::{BoxId, FilterPlan, NetId, PartId, PartKind, Pattern, Plan, SplitRange};
use crate::syntax::ast::Expression;
use crate::types::Variant;

/// An operation; the less, the nearer to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OpId(pub(crate) usize);

/// A scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(pub(crate) usize);

/// The most operations; a program that uses nets which use nets twice … grows without end.
const MOST: usize = 1_000_000;

/// The most replicas that one record may be copied to.
pub(crate) const MOST_COPIES: i128 = 1 << 24;

/// The whole graph.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) ops: Vec<Op>,
    pub(crate) scopes: Vec<Scope>,
    /// Whether records may overtake each other, so that the schedule may decide.
    pub(crate) chooses: bool,
    /// What the net takes.
    pub(crate) boundary: Boundary,
}

/// The type of a net at its entrance.
#[derive(Debug, Default)]
pub(crate) struct Boundary {
    pub(crate) net: String,
    pub(crate) inputs: Vec<Variant>,
    shapes: Vec<Arc<Shape>>,
}

impl Boundary {
    /// Whether records of this shape may enter.
    pub(crate) fn takes(&self, shape: &Shape) -> bool {
        self.shapes.iter().any(|wanted| shape.fits(wanted))
    }
}

impl Graph {
    /// The cell of a scope that is nothing else.
    fn only_cell(&self, scope: ScopeId) -> Option<OpId> {
        let entry = self.scopes[scope.0].entry?;
        let Op { kind: Kind::Cell(_), next: Some(next), .. } = &self.ops[entry.0] else {
            return None;
        };
        matches!(self.ops[next.0].kind, Kind::End).then_some(entry)
    }
}

/// What is replicated as a whole.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) entry: Option<OpId>,
    /// How many entities a frame has.
    pub(crate) entities: usize,
    /// The synchro-cells, alone, as stars and as splits.
    pub(crate) cells: Vec<OpId>,
    /// The initialisers, which run once for each frame, and the feedbacks that have some; each with
    /// the orders of the scope that it lies in, outermost first.
    pub(crate) initialisers: Vec<(OpId, Vec<OpId>)>,
    /// Whether a frame of it can be collected once all its cells have fired.
    pub(crate) collectable: bool,
}

/// An operation with its name for messages.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) next: Option<OpId>,
    /// Its entity in the frame.
    pub(crate) entity: usize,
    pub(crate) scope: ScopeId,
}

/// A pattern with a guard.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) wanted: Arc<Shape>,
    pub(crate) guard: Option<Expression>,
}

/// What an operation does.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Goes on outside of the frame.
    End,
    Filter {
        filter: FilterPlan,
        pattern: Arc<Shape>,
    },
    Box(BoxId),
    /// Takes no records.
    Initialiser(BoxId),
    Cell(Vec<Test>),
    Choice(Vec<Branch>),
    /// With the patterns of the cell if that is all there is to the body.
    Star {
        exits: Vec<Test>,
        body: ScopeId,
        zipper: Option<Vec<Test>>,
    },
    Feedback {
        back: Vec<Test>,
        body: ScopeId,
        /// Whether records enter the body one after the other, in order, for it keeps some.
        in_turn: bool,
    },
    /// With the cell if that is all there is to the body.
    Split {
        range: (LabelId, Option<LabelId>),
        body: ScopeId,
        cell: Option<OpId>,
    },
    /// Gives a record its slot in an order.
    Enter,
    /// Lets it out in order; holds the operation that entered.
    Leave(OpId),
    /// Lets in what an inner net declares that it takes.
    Entrance(Boundary),
    /// Shows a record that passes.
    Observe {
        before: bool,
        file: Option<String>,
    },
}

impl Kind {
    /// Whether reports leave it out, for it is no component.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::End | Self::Enter | Self::Entrance(_) | Self::Observe { .. })
    }
}

/// A branch of a choice.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) wanted: Vec<Arc<Shape>>,
    pub(crate) entry: OpId,
}

/// A program is too large once its nets are put in place of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the program has more than {MOST} components once all nets are put in place")]
pub struct TooLarge;

/// What joins the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Workers that carry a record through whatever needs no turn: there it cannot be overtaken.
    Carried,
    /// A stream between any two: on two branches records always may overtake each other.
    Everywhere,
}

/// Builds the graph of a net.
pub(crate) fn build(
    plan: &Plan,
    net: NetId,
    shapes: &Shapes,
    trace: bool,
    streams: Joining,
) -> Result<Graph, TooLarge> {
    let mut builder = Builder {
        plan,
        shapes,
        inference: Inference::new(plan),
        graph: Graph::default(),
        open: Vec::new(),
        inside: Vec::new(),
        trace,
        streams,
        regions: Vec::new(),
    };
    builder.scope(Body::Net(net))?;
    builder.graph.boundary = builder.boundary(net);
    Ok(builder.graph)
}

#[derive(Clone, Copy)]
enum Body {
    Net(NetId),
    Part(PartId),
}

struct Builder<'a> {
    plan: &'a Plan,
    shapes: &'a Shapes,
    inference: Inference<'a>,
    graph: Graph,
    /// The scopes being built, innermost last.
    open: Vec<ScopeId>,
    /// The nets being built, innermost last.
    inside: Vec<NetId>,
    trace: bool,
    streams: Joining,
    /// The orders around, innermost last, each with its scope.
    regions: Vec<(ScopeId, OpId)>,
}

impl Builder<'_> {
    fn scope(&mut self, body: Body) -> Result<ScopeId, TooLarge> {
        let id = ScopeId(self.graph.scopes.len());
        self.graph.scopes.push(Scope { collectable: true, ..Scope::default() });
        self.open.push(id);
        let end = self.op(Kind::End, "end", None, false)?;
        let entry = match body {
            Body::Net(net) => self.net(net, end)?,
            Body::Part(part) => self.part(part, end)?,
        };
        self.open.pop();
        let scope = &mut self.graph.scopes[id.0];
        scope.entry = Some(entry);
        // Without a cell there is nothing in it that could be over.
        scope.collectable &= scope.initialisers.is_empty() && !scope.cells.is_empty();
        Ok(id)
    }

    fn op(
        &mut self,
        kind: Kind,
        name: impl Into<String>,
        next: Option<OpId>,
        keeps: bool,
    ) -> Result<OpId, TooLarge> {
        if self.graph.ops.len() >= MOST {
            return Err(TooLarge);
        }
        let inside = self.open.last().copied().unwrap_or(ScopeId(0));
        let scope = &mut self.graph.scopes[inside.0];
        let entity = scope.entities;
        if matches!(
            kind,
            Kind::Cell(_) | Kind::Star { zipper: Some(_), .. } | Kind::Split { cell: Some(_), .. }
        ) {
            scope.cells.push(OpId(self.graph.ops.len()));
        }
        scope.entities += usize::from(keeps);
        scope.collectable &= !keeps || matches!(kind, Kind::Cell(_) | Kind::Box(_));
        self.graph.ops.push(Op { kind, name: name.into(), next, entity, scope: inside });
        Ok(OpId(self.graph.ops.len() - 1))
    }

    fn net(&mut self, id: NetId, next: OpId) -> Result<OpId, TooLarge> {
        let plan = self.plan;
        let net = plan.net(id);
        let (before, after) = self.observers(&|key: &str| net.metadata(key));
        let file = net.metadata("observer_file").map(str::to_owned);
        let next = self.observe(after, &net.path, false, file.as_deref(), next)?;
        let is_inner = !self.inside.is_empty();
        self.inside.push(id);
        let mut entry = self.part(net.body, next)?;
        self.inside.pop();
        if is_inner && net.declared.is_some() {
            let entrance = Kind::Entrance(self.boundary(id));
            entry = self.op(entrance, &*net.path, Some(entry), false)?;
        }
        self.observe(before, &net.path, true, file.as_deref(), entry)
    }

    /// What a net takes.
    fn boundary(&mut self, net: NetId) -> Boundary {
        let inputs = self.inference.net_inputs(net);
        let shapes = inputs.iter().map(|variant| self.shapes.of_variant(variant)).collect();
        Boundary { net: self.plan.net(net).path.clone(), inputs, shapes }
    }

    /// The name of a component for messages: what it is, and in which net.
    fn named(&self, what: impl std::fmt::Display) -> String {
        match self.inside.last() {
            None => what.to_string(),
            Some(net) => format!("{what} in net `{}`", self.plan.net(*net).path),
        }
    }

    /// Whether records are shown before and after a component.
    fn observers<'b>(&self, key: &dyn Fn(&str) -> Option<&'b str>) -> (bool, bool) {
        if self.trace {
            return (true, true);
        }
        if key("observer").is_none() {
            return (false, false);
        }
        match key("observer_type") {
            Some("before") => (true, false),
            Some("after") => (false, true),
            _ => (true, true),
        }
    }

    fn observe(
        &mut self,
        wanted: bool,
        name: &str,
        before: bool,
        file: Option<&str>,
        next: OpId,
    ) -> Result<OpId, TooLarge> {
        if !wanted {
            return Ok(next);
        }
        let file = file.filter(|_| !self.trace).map(str::to_owned);
        self.op(Kind::Observe { before, file }, name, Some(next), false)
    }

    fn tests(&self, patterns: &[Pattern]) -> Vec<Test> {
        let test = |pattern: &Pattern| Test {
            wanted: self.shapes.of_variant(&pattern.variant),
            guard: pattern.guard.clone(),
        };
        patterns.iter().map(test).collect()
    }

    fn part(&mut self, part: PartId, next: OpId) -> Result<OpId, TooLarge> {
        let plan = self.plan;
        self.graph.chooses |= self.lets_overtake(part);
        match &plan.part(part).kind {
            PartKind::Error | PartKind::Identity => Ok(next),
            PartKind::Net(net) => self.net(*net, next),
            PartKind::Filter(filter) => {
                let pattern = self.shapes.of_variant(&filter.pattern);
                let name = self.named(format_args!("filter [{} -> …]", filter.pattern));
                let kind = Kind::Filter { filter: filter.clone(), pattern };
                self.op(kind, name, Some(next), false)
            }
            PartKind::Box(id) => {
                let declared = plan.box_plan(*id);
                let (before, after) = self.observers(&|key| declared.metadata(key));
                let file = declared.metadata("observer_file");
                let next = self.observe(after, &declared.path, false, file, next)?;
                let name = format!("box `{}`", declared.path);
                if declared.input.is_none() {
                    let op = self.op(Kind::Initialiser(*id), name, Some(next), false)?;
                    self.initialise(op);
                    return Ok(op);
                }
                let op = self.op(Kind::Box(*id), name, Some(next), true)?;
                self.observe(before, &declared.path, true, file, op)
            }
            PartKind::Cell(patterns) => {
                let tests = self.tests(patterns);
                self.op(Kind::Cell(tests), self.named(cell_name(patterns)), Some(next), true)
            }
            PartKind::Serial(stages) => {
                let mut next = next;
                for stage in stages.iter().rev() {
                    next = self.part(*stage, next)?;
                }
                Ok(next)
            }
            PartKind::Choice { ordered, branches } => {
                let ordered = *ordered && !self.is_direct(part);
                self.region(ordered, "||", next, |builder, next| {
                    let mut built = Vec::new();
                    for branch in branches {
                        let wanted = builder.inference.inputs(*branch);
                        let shapes = builder.shapes;
                        let wanted = wanted.iter().map(|one| shapes.of_variant(one)).collect();
                        built.push(Branch { wanted, entry: builder.part(*branch, next)? });
                    }
                    builder.op(Kind::Choice(built), builder.named("choice"), Some(next), false)
                })
            }
            PartKind::Star { ordered, body, exits } => {
                let exit_tests = self.tests(exits);
                let zipper = bare_cell(plan, *body)
                    .map(|patterns| (self.tests(patterns), cell_name(patterns)));
                let ordered = *ordered && !self.is_direct(part);
                self.region(ordered, "**", next, |builder, next| {
                    let inner = builder.scope(Body::Part(*body))?;
                    let (zipper, name) = match zipper {
                        None => (None, format!("star * {}", exits[0].variant)),
                        Some((tests, name)) => (Some(tests), format!("{name} * …")),
                    };
                    let kind = Kind::Star { exits: exit_tests, body: inner, zipper };
                    builder.op(kind, builder.named(name), Some(next), true)
                })
            }
            PartKind::Feedback { ordered, body, back } => {
                let tests = self.tests(back);
                let slash = if *ordered { "\\\\" } else { "\\" };
                let name = self.named(format_args!("feedback {slash} {}", back[0].variant));
                self.region(*ordered, "\\\\", next, |builder, next| {
                    let inner = builder.scope(Body::Part(*body))?;
                    let in_turn = *ordered && builder.keeps_records(*body);
                    let kind = Kind::Feedback { back: tests, body: inner, in_turn };
                    let op = builder.op(kind, name, Some(next), true)?;
                    // What comes without input inside the body must come once, at the start.
                    if !builder.graph.scopes[inner.0].initialisers.is_empty() {
                        builder.initialise(op);
                    }
                    Ok(op)
                })
            }
            PartKind::Split { ordered, body, range } => {
                let name = match range {
                    SplitRange::Index(tag) => format!("split ! {tag}"),
                    SplitRange::Between(low, high) => format!("split ! {low}:{high}"),
                };
                let name = self.named(name);
                let range = match range {
                    SplitRange::Index(tag) => (self.shapes.label(tag), None),
                    SplitRange::Between(low, high) => {
                        (self.shapes.label(low), Some(self.shapes.label(high)))
                    }
                };
                let ordered = *ordered && !self.is_direct(part);
                self.region(ordered, "!!", next, |builder, next| {
                    let inner = builder.scope(Body::Part(*body))?;
                    let cell = builder.graph.only_cell(inner);
                    let kind = Kind::Split { range, body: inner, cell };
                    builder.op(kind, name, Some(next), true)
                })
            }
        }
    }

    /// Puts what `inside` builds between the entry and the exit of an order.
    fn region(
        &mut self,
        ordered: bool,
        name: &str,
        next: OpId,
        inside: impl FnOnce(&mut Self, OpId) -> Result<OpId, TooLarge>,
    ) -> Result<OpId, TooLarge> {
        if !ordered {
            return inside(self, next);
        }
        let enter = self.op(Kind::Enter, format!("order of {name}"), None, true)?;
        let leave = self.op(Kind::Leave(enter), format!("order of {name}"), Some(next), false)?;
        self.regions.push((self.graph.ops[enter.0].scope, enter));
        let entry = inside(self, leave)?;
        self.regions.pop();
        self.graph.ops[enter.0].next = Some(entry);
        Ok(enter)
    }

    /// Notes that something begins at an operation without a record.
    fn initialise(&mut self, op: OpId) {
        let scope = self.graph.ops[op.0].scope;
        let around = self.regions.iter().filter(|(of, _)| *of == scope);
        let around = around.map(|(_, enter)| *enter).collect();
        self.graph.scopes[scope.0].initialisers.push((op, around));
    }

    /// Whether what a part does with a record may depend on those before it: it keeps records for later,
    /// or has replicas where something begins with the first.
    fn keeps_records(&self, part: PartId) -> bool {
        match &self.plan.part(part).kind {
            PartKind::Error | PartKind::Identity | PartKind::Filter(_) | PartKind::Box(_) => false,
            PartKind::Cell(_) => true,
            PartKind::Net(net) => self.keeps_records(self.plan.net(*net).body),
            PartKind::Serial(parts) | PartKind::Choice { branches: parts, .. } => {
                parts.iter().any(|part| self.keeps_records(*part))
            }
            PartKind::Feedback { body, .. } => self.keeps_records(*body),
            PartKind::Star { body, .. } | PartKind::Split { body, .. } => {
                self.keeps_records(*body) || self.begins(*body)
            }
        }
    }

    /// Whether something in a part begins without a record.
    fn begins(&self, part: PartId) -> bool {
        match &self.plan.part(part).kind {
            PartKind::Error | PartKind::Identity | PartKind::Filter(_) | PartKind::Cell(_) => false,
            PartKind::Box(id) => self.plan.box_plan(*id).input.is_none(),
            PartKind::Net(net) => self.begins(self.plan.net(*net).body),
            PartKind::Serial(parts) | PartKind::Choice { branches: parts, .. } => {
                parts.iter().any(|part| self.begins(*part))
            }
            PartKind::Feedback { body, .. }
            | PartKind::Star { body, .. }
            | PartKind::Split { body, .. } => self.begins(*body),
        }
    }

    /// Whether records may overtake each other in a part that keeps no order: processes keep it
    /// inside a doubled combinator as well.
    fn lets_overtake(&self, part: PartId) -> bool {
        let single = match &self.plan.part(part).kind {
            PartKind::Choice { ordered, branches } => !ordered && branches.len() > 1,
            PartKind::Star { ordered, body, .. } => {
                !ordered && bare_cell(self.plan, *body).is_none()
            }
            PartKind::Feedback { ordered, .. } | PartKind::Split { ordered, .. } => !ordered,
            _ => false,
        };
        let kept = self.streams == Joining::Everywhere && !self.regions.is_empty();
        single && !kept && !self.is_direct(part)
    }

    /// Whether records go through a part without being put down, so that they cannot overtake.
    fn is_direct(&self, part: PartId) -> bool {
        if self.streams == Joining::Everywhere {
            return false;
        }
        match &self.plan.part(part).kind {
            PartKind::Error | PartKind::Identity | PartKind::Filter(_) | PartKind::Cell(_) => true,
            PartKind::Net(net) => self.is_direct(self.plan.net(*net).body),
            PartKind::Serial(parts) | PartKind::Choice { branches: parts, .. } => {
                parts.iter().all(|part| self.is_direct(*part))
            }
            PartKind::Split { body, .. } => self.is_direct(*body),
            PartKind::Star { body, .. } => bare_cell(self.plan, *body).is_some(),
            PartKind::Box(_) | PartKind::Feedback { .. } => false,
        }
    }
}

/// The patterns, if a part is a cell and nothing else.
fn bare_cell(plan: &Plan, part: PartId) -> Option<&[Pattern]> {
    match &plan.part(part).kind {
        PartKind::Cell(patterns) => Some(patterns),
        PartKind::Net(net) if plan.net(*net).metadata("observer").is_none() => {
            bare_cell(plan, plan.net(*net).body)
        }
        _ => None,
    }
}

fn cell_name(patterns: &[Pattern]) -> String {
    let patterns: Vec<String> =
        patterns.iter().map(|pattern| pattern.variant.to_string()).collect();
    format!("synchro-cell [| {} |]", patterns.join(", "))
}
