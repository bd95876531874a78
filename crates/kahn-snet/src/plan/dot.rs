//! The hierarchy of a program as a picture in the language of graphviz.

use std::fmt::Write as _;

use super::{NetId, PartId, PartKind, Plan, SplitRange};
use crate::types::show;

/// The most shapes; nets beyond are drawn as one shape each.
const MOST: usize = 1000;

/// Draws the hierarchy of a net: nets as frames, combinators as the shapes that records meet.
///
/// # Examples
///
/// ```
/// let program = kahn_snet::Program::read("main.snet", "net main connect [{a} -> {b=a}];");
/// let text = kahn_snet::plan::dot(program.plan(), program.net(None).unwrap());
/// assert!(text.starts_with("digraph \"main\" {"));
/// ```
pub fn dot(plan: &Plan, net: NetId) -> String {
    let mut picture = Picture { plan, text: String::new(), next: 0, frames: 0, depth: 1 };
    let name = escape(&plan.net(net).name);
    let head = "  rankdir=LR;\n  node [fontname=\"sans-serif\", shape=box];\n";
    let (entry, exit) = (picture.shape("in", "plaintext"), picture.shape("out", "plaintext"));
    let (first, last) = picture.net(net);
    picture.edge(entry, first, "");
    picture.edge(last, exit, "");
    format!("digraph \"{name}\" {{\n{head}{}}}\n", picture.text)
}

struct Picture<'a> {
    plan: &'a Plan,
    text: String,
    next: usize,
    frames: usize,
    depth: usize,
}

impl Picture<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(self.depth));
    }

    fn shape(&mut self, label: &str, shape: &str) -> usize {
        let id = self.next;
        self.next += 1;
        self.line(&format!("n{id} [label=\"{}\", shape={shape}];", escape(label)));
        id
    }

    fn edge(&mut self, from: usize, to: usize, label: &str) {
        let label = match label {
            "" => String::new(),
            _ => format!(" [label=\"{}\"]", escape(label)),
        };
        self.line(&format!("n{from} -> n{to}{label};"));
    }

    fn net(&mut self, net: NetId) -> (usize, usize) {
        if self.next > MOST {
            let name = format!("{} …", self.plan.net(net).name);
            return twice(self.shape(&name, "folder"));
        }
        let frame = self.frames;
        self.frames += 1;
        let net = self.plan.net(net);
        let label = escape(&net.name);
        self.line(&format!("subgraph cluster{frame} {{"));
        self.depth += 1;
        self.line(&format!("label=\"{label}\";"));
        let ends = self.part(net.body);
        self.depth -= 1;
        self.line("}");
        ends
    }

    /// Draws a part; returns where records enter and leave it.
    fn part(&mut self, part: PartId) -> (usize, usize) {
        match &self.plan.part(part).kind {
            PartKind::Error => twice(self.shape("?", "box")),
            PartKind::Identity => twice(self.shape("[]", "point")),
            PartKind::Filter(filter) => {
                let made = filter.arms.iter().map(|arm| arm.records.len()).max().unwrap_or(0);
                twice(self.shape(&format!("[{} -> {made}]", filter.pattern), "cds"))
            }
            PartKind::Box(id) => {
                let name = self.plan.box_plan(*id).name.clone();
                twice(self.shape(&name, "component"))
            }
            PartKind::Cell(patterns) => {
                let patterns = show(patterns.iter().map(|pattern| &pattern.variant));
                twice(self.shape(&format!("[| {} |]", patterns.replace(" | ", ", ")), "hexagon"))
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
                let (split, join) = (self.shape(mark, "diamond"), self.shape("", "point"));
                for branch in branches {
                    let (entry, exit) = self.part(*branch);
                    self.edge(split, entry, "");
                    self.edge(exit, join, "");
                }
                (split, join)
            }
            PartKind::Star { ordered, body, exits } => {
                let mark = if *ordered { "**" } else { "*" };
                let test = self.shape(mark, "diamond");
                let (entry, exit) = self.part(*body);
                self.edge(test, entry, "");
                self.edge(exit, test, "next replica");
                let out = self.shape("", "point");
                self.edge(test, out, &show(exits.iter().map(|exit| &exit.variant)));
                (test, out)
            }
            PartKind::Feedback { ordered, body, back } => {
                let mark = if *ordered { "\\\\" } else { "\\" };
                let (entry, exit) = self.part(*body);
                let test = self.shape(mark, "diamond");
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
                let split = self.shape(&format!("{mark} {tags}"), "diamond");
                let (entry, exit) = self.part(*body);
                self.edge(split, entry, "one replica a value");
                let join = self.shape("", "point");
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
