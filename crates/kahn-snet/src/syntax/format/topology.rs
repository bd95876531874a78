//! Networks as text: on one line if it fits, else broken at the loosest combinator.

use std::fmt::Write as _;

use super::{STEP, WIDTH, expression, label, variant};
use crate::syntax::Span;
use crate::syntax::ast::{Filter, Guarded, Item, ItemValue, Range, Template};
use crate::syntax::ast::{Topology, TopologyKind};
use crate::syntax::token::Comment;

/// How tightly what is printed holds together.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Choice,
    OrderedChoice,
    Serial,
    Operand,
}

fn level(topology: &Topology) -> Level {
    match &topology.kind {
        TopologyKind::Choice { ordered: false, .. } => Level::Choice,
        TopologyKind::Choice { ordered: true, .. } => Level::OrderedChoice,
        TopologyKind::Serial(_) => Level::Serial,
        _ => Level::Operand,
    }
}

/// The operands of a combinator of many, with the combinator.
fn operands(topology: &Topology) -> Option<(&[Topology], &'static str)> {
    match &topology.kind {
        TopologyKind::Choice { ordered: false, branches } => Some((branches, "|")),
        TopologyKind::Choice { ordered: true, branches } => Some((branches, "||")),
        TopologyKind::Serial(stages) => Some((stages, "..")),
        _ => None,
    }
}

/// The network on one line.
pub(super) fn flat(topology: &Topology) -> String {
    if let Some((parts, combinator)) = operands(topology) {
        let own = level(topology);
        // Mixtures of combinators always show their brackets.
        let parts = parts.iter().map(|part| match level(part) {
            Level::Operand => flat(part),
            Level::Serial if own == Level::Choice => flat(part),
            _ => format!("({})", flat(part)),
        });
        return parts.collect::<Vec<_>>().join(&format!(" {combinator} "));
    }
    match &topology.kind {
        TopologyKind::Name(name) => name.name.clone(),
        TopologyKind::Filter(filter) => flat_filter(filter),
        TopologyKind::Cell(patterns) => format!("[| {} |]", guarded_list(patterns)),
        TopologyKind::Error => "[]".to_owned(),
        _ => {
            let (body, suffix) = postfix(topology);
            if level(body) == Level::Operand {
                format!("{}{suffix}", flat(body))
            } else {
                format!("({}){suffix}", flat(body))
            }
        }
    }
}

/// The operand of a combinator of one, and the combinator with what follows it.
fn postfix(topology: &Topology) -> (&Topology, String) {
    match &topology.kind {
        TopologyKind::Star { ordered, body, exits } => {
            let star = if *ordered { "**" } else { "*" };
            (body, format!(" {star} {}", guarded_list(exits)))
        }
        TopologyKind::Feedback { ordered, body, back } => {
            let back_slash = if *ordered { "\\\\" } else { "\\" };
            (body, format!(" {back_slash} {}", guarded_list(back)))
        }
        TopologyKind::Split { ordered, placed, body, range } => {
            let bang = if *ordered { "!!" } else { "!" };
            let at = if *placed { "@" } else { "" };
            let tag = |tag: &crate::syntax::ast::WrittenLabel| label(tag.kind, &tag.name);
            let range = match range {
                Range::Index(index) => tag(index),
                Range::Between(low, high) => format!("{}:{}", tag(low), tag(high)),
            };
            (body, format!(" {bang}{at} {range}"))
        }
        TopologyKind::Placed { body, place } => (body, format!(" @ {place}")),
        _ => (topology, String::new()),
    }
}

fn guarded_list(list: &[Guarded]) -> String {
    let parts = list.iter().map(|Guarded { pattern, guard }| match guard {
        None => variant(pattern),
        Some(guard) => format!("{} if <{}>", variant(pattern), expression::print(guard)),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The comments inside a network, each taken when it is printed.
pub(super) struct Inside<'a> {
    pub(super) source: &'a str,
    pub(super) comments: Vec<&'a Comment>,
}

impl Inside<'_> {
    /// Takes those that begin in a range.
    pub(super) fn take(&mut self, from: usize, to: usize) -> Vec<String> {
        let within = |comment: &&Comment| (from..to).contains(&comment.span.start);
        let taken = self.comments.iter().filter(|one| within(one)).map(|one| one.text.clone());
        let taken = taken.collect();
        self.comments.retain(|one| !within(one));
        taken
    }

    fn any(&self, span: Span) -> bool {
        self.comments.iter().any(|one| (span.start..span.end).contains(&one.span.start))
    }

    /// Takes those that stand behind an operand, on the line on which it ends.
    fn take_behind(&mut self, end: usize, to: usize) -> Vec<String> {
        let rest = &self.source[end..to.max(end)];
        self.take(end, end + rest.find('\n').unwrap_or(rest.len()))
    }

    /// Takes those in a range and those in what is printed on one line, of an operand.
    fn take_before(&mut self, from: usize, part: &Topology) -> Vec<String> {
        let mut taken = self.take(from, part.at.0.start);
        let mut inner = part;
        // What follows an operand is printed behind it; the operand itself may be broken.
        loop {
            let (body, suffix) = postfix(inner);
            if operands(inner).is_some() {
                return taken;
            }
            if suffix.is_empty() {
                taken.extend(self.take(inner.at.0.start, inner.at.0.end));
                return taken;
            }
            taken.extend(self.take(inner.at.0.start, body.at.0.start));
            taken.extend(self.take(body.at.0.end, inner.at.0.end));
            inner = body;
        }
    }
}

/// The network behind `column`, broken if it is too long or holds comments; its further lines
/// start at `indent`. Begins a line of its own if a comment comes first.
pub(super) fn broken(
    topology: &Topology,
    indent: &str,
    column: usize,
    inside: &mut Inside<'_>,
) -> String {
    let line = flat(topology);
    if !inside.any(topology.at.0) && indent.len() + column + line.len() < WIDTH {
        return line;
    }
    let deeper = format!("{indent}{STEP}");
    if let Some((parts, combinator)) = operands(topology) {
        let mut text = String::new();
        let mut end = topology.at.0.start;
        for (index, part) in parts.iter().enumerate() {
            for comment in inside.take_before(end, part) {
                let _ = write!(text, "\n{deeper}{comment}");
            }
            if index > 0 {
                let _ = write!(text, "\n{deeper}{combinator} ");
            } else if !text.is_empty() {
                let _ = write!(text, "\n{deeper}");
            }
            text.push_str(&match level(part) {
                Level::Operand => broken(part, &deeper, combinator.len() + 1, inside),
                _ => bracketed(part, &deeper, "", inside),
            });
            end = part.at.0.end;
            let next = parts.get(index + 1).map_or(topology.at.0.end, |next| next.at.0.start);
            for comment in inside.take_behind(end, next) {
                let _ = write!(text, "  {comment}");
            }
        }
        return text;
    }
    match &topology.kind {
        TopologyKind::Filter(filter) => broken_filter(filter, &deeper),
        TopologyKind::Name(_) | TopologyKind::Cell(_) | TopologyKind::Error => line,
        _ => {
            let (body, suffix) = postfix(topology);
            match level(body) {
                Level::Operand => format!("{}{suffix}", broken(body, indent, column, inside)),
                _ => bracketed(body, indent, &suffix, inside),
            }
        }
    }
}

fn bracketed(topology: &Topology, indent: &str, suffix: &str, inside: &mut Inside<'_>) -> String {
    let line = flat(topology);
    if !inside.any(topology.at.0) && indent.len() + line.len() + suffix.len() + 2 < WIDTH {
        return format!("({line}){suffix}");
    }
    let deeper = format!("{indent}{STEP}");
    let inner = broken(topology, &deeper, 0, inside);
    let space = if inner.starts_with('\n') { String::new() } else { format!("\n{deeper}") };
    format!("({space}{inner}\n{indent}){suffix}")
}

/// The network behind `connect`, with all comments in it.
pub(super) fn body(
    topology: &Topology,
    indent: &str,
    from: usize,
    inside: &mut Inside<'_>,
) -> String {
    let mut text = String::new();
    let leading = match operands(topology) {
        None => inside.take_before(from, topology),
        Some(_) => inside.take(from, topology.at.0.start),
    };
    for comment in leading {
        let _ = write!(text, "\n{indent}{STEP}{comment}");
    }
    // On a line of its own it stands deeper.
    let deeper = format!("{indent}{STEP}");
    let own = !text.is_empty() && operands(topology).is_none();
    let network = broken(topology, if own { &deeper } else { indent }, "connect ".len(), inside);
    if !text.is_empty() && !network.starts_with('\n') {
        let _ = write!(text, "\n{indent}{STEP}");
    }
    text + &network
}

fn template(template: &Template) -> String {
    let items = template.items.iter().map(|Item { label: made, value }| {
        let name = label(made.kind, &made.name);
        match value {
            ItemValue::Same => name,
            ItemValue::Field(from) => format!("{name}={}", from.name),
            ItemValue::Expression(value) => {
                let open = name.trim_end_matches('>');
                format!("{open}={}>", expression::print(value))
            }
        }
    });
    format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
}

/// The arms as they stand one after the other, and the pattern before them.
fn filter_parts(filter: &Filter) -> (String, Vec<String>) {
    let head = filter.pattern.as_ref().map(variant).unwrap_or_default();
    let mut arms = Vec::new();
    for arm in &filter.arms {
        let records: Vec<String> = arm.records.iter().map(template).collect();
        let records = records.join("; ");
        let space = if records.is_empty() { "" } else { " " };
        arms.push(match &arm.guard {
            None => records,
            Some(guard) => {
                format!("if <{}> then{space}{records} else", expression::print(guard))
            }
        });
    }
    (head, arms)
}

fn flat_filter(filter: &Filter) -> String {
    if filter.pattern.is_none() {
        return "[]".to_owned();
    }
    let (head, arms) = filter_parts(filter);
    let arms = arms.join(" ");
    format!("[{head} -> {}]", arms.trim_end()).replace("-> ]", "->]")
}

fn broken_filter(filter: &Filter, indent: &str) -> String {
    let (head, arms) = filter_parts(filter);
    if arms.len() > 1 {
        let mut lines: Vec<&str> = vec![""];
        lines.extend(arms.iter().map(String::as_str).filter(|arm| !arm.is_empty()));
        return format!("[{head} ->{}]", lines.join(&format!("\n{indent}")));
    }
    let arms = arms.join("").replace("; {", &format!(";\n{indent}{{"));
    format!("[{head} ->\n{indent}{arms}]")
}
