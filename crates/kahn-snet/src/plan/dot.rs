//! The hierarchy of a program as a drawing: in the language of Graphviz, or as SVG.

use std::fmt::Write as _;

use kahn_report::{Picture, VertexKind};

use super::{NetId, PartId, PartKind, Plan, SplitRange};
use crate::types::show;

/// The most shapes; nets beyond are drawn as one shape each.
const MOST: usize = 1000;

/// Draws the hierarchy of a net in the language of Graphviz: nets as frames, combinators as the shapes
/// that records meet.
///
/// # Examples
///
/// ```
/// let program = kahn_snet::Program::read("main.snet", "net main connect [{a} -> {b=a}];");
/// let text = kahn_snet::plan::dot(program.plan(), program.net(None).unwrap());
/// assert!(text.starts_with("digraph \"main\" {"));
/// ```
pub fn dot(plan: &Plan, net: NetId) -> String {
    let mut text = format!("digraph \"{}\" {{\n", escape(&plan.net(net).name));
    text.push_str("  rankdir=LR;\n  node [fontname=\"sans-serif\", shape=box];\n");
    let mut depth = 1;
    let (mut shapes, mut frames) = (0, 0);
    for line in Drawing::of(plan, net).lines {
        depth -= usize::from(matches!(line, Line::Close));
        let _ = write!(text, "{}", "  ".repeat(depth));
        let _ = match line {
            Line::Shape(shape, label) => {
                shapes += 1;
                let (number, name) = (shapes - 1, shape.name());
                writeln!(text, "n{number} [label=\"{}\", shape={name}];", escape(&label))
            }
            Line::Edge(from, to, label) if label.is_empty() => writeln!(text, "n{from} -> n{to};"),
            Line::Edge(from, to, label) => {
                writeln!(text, "n{from} -> n{to} [label=\"{}\"];", escape(&label))
            }
            Line::Open(name) => {
                (depth, frames) = (depth + 1, frames + 1);
                let indent = "  ".repeat(depth);
                let (frame, name) = (frames - 1, escape(&name));
                writeln!(text, "subgraph cluster{frame} {{\n{indent}label=\"{name}\";")
            }
            Line::Close => writeln!(text, "}}"),
        };
    }
    text.push_str("}\n");
    text
}

/// Draws the hierarchy of a net as SVG, without another program. Frames of nets are left out.
///
/// # Examples
///
/// ```
/// let program = kahn_snet::Program::read("main.snet", "net main connect [{a} -> {b=a}];");
/// let picture = kahn_snet::plan::svg(program.plan(), program.net(None).unwrap());
/// assert!(picture.starts_with("<svg"));
/// ```
pub fn svg(plan: &Plan, net: NetId) -> String {
    let mut picture = Picture::default();
    let lines = Drawing::of(plan, net).lines;
    for line in &lines {
        if let Line::Shape(shape, label) = line {
            picture.vertex(label, shape.kind());
        }
    }
    for line in &lines {
        if let Line::Edge(from, to, label) = line {
            picture.edge(*from, *to, label, 0);
        }
    }
    picture.svg()
}

/// What stands for a part of a net.
#[derive(Clone, Copy)]
enum Shape {
    /// Where records come from or go to.
    End,
    Unknown,
    /// A net that is not drawn in full.
    Net,
    Filter,
    Box,
    Cell,
    /// Where records part.
    Choice,
    /// Where they come together.
    Join,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::End => "plaintext",
            Self::Unknown => "box",
            Self::Net => "folder",
            Self::Filter => "cds",
            Self::Box => "component",
            Self::Cell => "hexagon",
            Self::Choice => "diamond",
            Self::Join => "point",
        }
    }

    fn kind(self) -> VertexKind {
        match self {
            Self::End => VertexKind::Outside,
            Self::Choice => VertexKind::Choice,
            Self::Join => VertexKind::Join,
            _ => VertexKind::Component,
        }
    }
}

enum Line {
    /// A shape with its label; shapes are numbered as they come.
    Shape(Shape, String),
    Edge(usize, usize, String),
    /// The frame of a net begins.
    Open(String),
    Close,
}

struct Drawing<'a> {
    plan: &'a Plan,
    lines: Vec<Line>,
    next: usize,
}

impl<'a> Drawing<'a> {
    fn of(plan: &'a Plan, net: NetId) -> Self {
        let mut drawing = Self { plan, lines: Vec::new(), next: 0 };
        let (entry, exit) = (drawing.shape("in", Shape::End), drawing.shape("out", Shape::End));
        let (first, last) = drawing.net(net);
        drawing.edge(entry, first, "");
        drawing.edge(last, exit, "");
        drawing
    }

    fn shape(&mut self, label: &str, shape: Shape) -> usize {
        self.lines.push(Line::Shape(shape, label.to_owned()));
        self.next += 1;
        self.next - 1
    }

    fn edge(&mut self, from: usize, to: usize, label: &str) {
        self.lines.push(Line::Edge(from, to, label.to_owned()));
    }

    fn net(&mut self, net: NetId) -> (usize, usize) {
        if self.next > MOST {
            let name = format!("{} …", self.plan.net(net).name);
            return twice(self.shape(&name, Shape::Net));
        }
        let net = self.plan.net(net);
        self.lines.push(Line::Open(net.name.clone()));
        let ends = self.part(net.body);
        self.lines.push(Line::Close);
        ends
    }

    /// Draws a part; returns where records enter and leave it.
    fn part(&mut self, part: PartId) -> (usize, usize) {
        match &self.plan.part(part).kind {
            PartKind::Error => twice(self.shape("?", Shape::Unknown)),
            PartKind::Identity => twice(self.shape("[]", Shape::Join)),
            PartKind::Filter(filter) => {
                let made = filter.arms.iter().map(|arm| arm.records.len()).max().unwrap_or(0);
                twice(self.shape(&format!("[{} -> {made}]", filter.pattern), Shape::Filter))
            }
            PartKind::Box(id) => {
                let name = self.plan.box_plan(*id).name.clone();
                twice(self.shape(&name, Shape::Box))
            }
            PartKind::Cell(patterns) => {
                let patterns = show(patterns.iter().map(|pattern| &pattern.variant));
                twice(self.shape(&format!("[| {} |]", patterns.replace(" | ", ", ")), Shape::Cell))
            }
            PartKind::Serial(stages) => {
                let ends: Vec<_> = stages.iter().map(|stage| self.part(*stage)).collect();
                for pair in ends.windows(2) {
                    self.edge(pair[0].1, pair[1].0, "");
                }
                (ends[0].0, ends[ends.len() - 1].1)
            }
            PartKind::Choice { ordered, branches } => {
                let mark = if *ordered { "||" } else { "|" };
                let (split, join) = (self.shape(mark, Shape::Choice), self.shape("", Shape::Join));
                for branch in branches {
                    let (entry, exit) = self.part(*branch);
                    self.edge(split, entry, "");
                    self.edge(exit, join, "");
                }
                (split, join)
            }
            PartKind::Star { ordered, body, exits } => {
                let mark = if *ordered { "**" } else { "*" };
                let test = self.shape(mark, Shape::Choice);
                let (entry, exit) = self.part(*body);
                self.edge(test, entry, "");
                self.edge(exit, test, "next replica");
                let out = self.shape("", Shape::Join);
                self.edge(test, out, &show(exits.iter().map(|exit| &exit.variant)));
                (test, out)
            }
            PartKind::Feedback { ordered, body, back } => {
                let mark = if *ordered { "\\\\" } else { "\\" };
                let (entry, exit) = self.part(*body);
                let test = self.shape(mark, Shape::Choice);
                self.edge(exit, test, "");
                self.edge(test, entry, &show(back.iter().map(|back| &back.variant)));
                (entry, test)
            }
            PartKind::Split { ordered, body, range } => {
                let mark = if *ordered { "!!" } else { "!" };
                let tags = match range {
                    SplitRange::Index(tag) => tag.to_string(),
                    SplitRange::Between(low, high) => format!("{low}:{high}"),
                };
                let split = self.shape(&format!("{mark} {tags}"), Shape::Choice);
                let (entry, exit) = self.part(*body);
                self.edge(split, entry, "one replica a value");
                let join = self.shape("", Shape::Join);
                self.edge(exit, join, "");
                (split, join)
            }
            PartKind::Net(net) => self.net(*net),
        }
    }
}

fn twice(id: usize) -> (usize, usize) {
    (id, id)
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
