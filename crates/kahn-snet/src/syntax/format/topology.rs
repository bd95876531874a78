//! Networks as text: on one line if it fits, else broken at the loosest combinator.

use super::{STEP, WIDTH, expression, label, variant};
use crate::syntax::ast::{Filter, Guarded, Item, ItemValue, Range, Template};
use crate::syntax::ast::{Topology, TopologyKind};

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
            let tag = |tag: &crate::syntax::ast::Label| label(tag.kind, &tag.name);
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

/// The network behind `column`, broken if it is too long; its further lines start at `indent`.
pub(super) fn broken(topology: &Topology, indent: &str, column: usize) -> String {
    let line = flat(topology);
    if indent.len() + column + line.len() < WIDTH {
        return line;
    }
    let deeper = format!("{indent}{STEP}");
    if let Some((parts, combinator)) = operands(topology) {
        let parts = parts.iter().map(|part| match level(part) {
            Level::Operand => broken(part, &deeper, combinator.len() + 1),
            _ => bracketed(part, &deeper, ""),
        });
        let parts: Vec<String> = parts.collect();
        return parts.join(&format!("\n{deeper}{combinator} "));
    }
    match &topology.kind {
        TopologyKind::Filter(filter) => broken_filter(filter, &deeper),
        TopologyKind::Name(_) | TopologyKind::Cell(_) | TopologyKind::Error => line,
        _ => {
            let (body, suffix) = postfix(topology);
            match level(body) {
                Level::Operand => format!("{}{suffix}", broken(body, indent, column)),
                _ => bracketed(body, indent, &suffix),
            }
        }
    }
}

fn bracketed(topology: &Topology, indent: &str, suffix: &str) -> String {
    let line = flat(topology);
    if indent.len() + line.len() + suffix.len() + 2 < WIDTH {
        return format!("({line}){suffix}");
    }
    let deeper = format!("{indent}{STEP}");
    let inner = broken(topology, &deeper, 0);
    format!("(\n{deeper}{inner}\n{indent}){suffix}")
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
