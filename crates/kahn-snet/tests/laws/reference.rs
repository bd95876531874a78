//! The reference interpreter: records, one after the other, each followed to its end.
//!
//! It reads the syntax tree itself, and shares nothing with the runtime but the parser. It knows
//! what the programs of [`super::programs`] need: tags, and branches that begin with a filter.

use std::collections::BTreeMap;

use kahn_snet::record::Record;
use kahn_snet::syntax::ast::{
    BinaryOperator, Definition, Expression, ExpressionKind, Filter, Guarded, ItemValue, Range,
    Topology, TopologyKind, UnaryOperator, Variant,
};

/// A network with what it keeps.
#[derive(Debug, Clone)]
pub(crate) enum Instance {
    Filter(Filter),
    Cell { patterns: Vec<Guarded>, slots: Vec<Option<Record>>, fired: bool },
    Series(Vec<Instance>),
    Choice(Vec<(Variant, Instance)>),
    Star { fresh: Box<Instance>, exits: Vec<Guarded>, stages: Vec<Instance> },
    Split { fresh: Box<Instance>, tag: String, replicas: BTreeMap<i64, Instance> },
    Loop { body: Box<Instance>, back: Vec<Guarded> },
}

impl Instance {
    pub(crate) fn of_program(definitions: &[Definition]) -> Self {
        match definitions.last() {
            Some(Definition::Net(net)) => Self::of(&net.body),
            _ => panic!("a program of one net"),
        }
    }

    fn of(topology: &Topology) -> Self {
        match &topology.kind {
            TopologyKind::Filter(filter) => Self::Filter(filter.clone()),
            TopologyKind::Cell(patterns) => {
                let slots = vec![None; patterns.len()];
                Self::Cell { patterns: patterns.clone(), slots, fired: false }
            }
            TopologyKind::Serial(stages) => Self::Series(stages.iter().map(Self::of).collect()),
            TopologyKind::Choice { branches, .. } => {
                Self::Choice(branches.iter().map(|one| (entrance(one), Self::of(one))).collect())
            }
            TopologyKind::Star { body, exits, .. } => {
                let fresh = Box::new(Self::of(body));
                Self::Star { fresh, exits: exits.clone(), stages: Vec::new() }
            }
            TopologyKind::Split { body, range: Range::Index(tag), .. } => {
                let (fresh, tag) = (Box::new(Self::of(body)), tag.name.clone());
                Self::Split { fresh, tag, replicas: BTreeMap::new() }
            }
            TopologyKind::Feedback { body, back, .. } => {
                Self::Loop { body: Box::new(Self::of(body)), back: back.clone() }
            }
            other => panic!("not in these programs: {other:?}"),
        }
    }

    pub(crate) fn feed(&mut self, record: Record) -> Vec<Record> {
        match self {
            Self::Filter(filter) => apply(filter, &record),
            Self::Series(stages) => stages.iter_mut().fold(vec![record], |records, stage| {
                records.into_iter().flat_map(|record| stage.feed(record)).collect()
            }),
            Self::Choice(branches) => {
                let fitting = branches.iter_mut().filter(|(wanted, _)| fits(&record, wanted));
                // The first of the largest.
                let best = fitting.rev().max_by_key(|(wanted, _)| names(wanted).len());
                best.expect("a branch takes it").1.feed(record)
            }
            Self::Cell { patterns, slots, fired } => {
                let free: Vec<usize> = (0..patterns.len())
                    .filter(|index| slots[*index].is_none() && matches(&record, &patterns[*index]))
                    .collect();
                if *fired || free.is_empty() {
                    return vec![record];
                }
                for index in free {
                    slots[index] = Some(record.clone());
                }
                if slots.iter().any(Option::is_none) {
                    return Vec::new();
                }
                *fired = true;
                let mut all = slots.iter().flatten();
                let mut joined = all.next().expect("two patterns at least").clone();
                for (other, pattern) in all.zip(patterns.iter().skip(1)) {
                    for name in names(&pattern.pattern) {
                        joined.tags.insert(name.as_str().into(), other.tags[name.as_str()]);
                    }
                }
                vec![joined]
            }
            Self::Star { fresh, exits, stages } => star(fresh, exits, stages, 0, record),
            Self::Split { fresh, tag, replicas } => {
                let value = record.tags[tag.as_str()];
                replicas.entry(value).or_insert_with(|| (**fresh).clone()).feed(record)
            }
            // What an output causes comes before the next output.
            Self::Loop { body, back } => feed_back(body, back, record),
        }
    }
}

fn feed_back(body: &mut Instance, back: &[Guarded], record: Record) -> Vec<Record> {
    let outputs = body.feed(record);
    let follow = |out: Record| {
        if back.iter().any(|pattern| matches(&out, pattern)) {
            feed_back(body, back, out)
        } else {
            vec![out]
        }
    };
    outputs.into_iter().flat_map(follow).collect()
}

fn star(
    fresh: &Instance,
    exits: &[Guarded],
    stages: &mut Vec<Instance>,
    stage: usize,
    record: Record,
) -> Vec<Record> {
    if exits.iter().any(|exit| matches(&record, exit)) {
        return vec![record];
    }
    if stages.len() == stage {
        stages.push(fresh.clone());
    }
    let outputs = stages[stage].feed(record);
    outputs.into_iter().flat_map(|out| star(fresh, exits, stages, stage + 1, out)).collect()
}

/// What a branch asks for: the pattern of the filter that it begins with.
fn entrance(topology: &Topology) -> Variant {
    match &topology.kind {
        TopologyKind::Serial(stages) => entrance(&stages[0]),
        TopologyKind::Filter(Filter { pattern: Some(pattern), .. }) => pattern.clone(),
        other => panic!("a branch that begins with {other:?}"),
    }
}

fn names(variant: &Variant) -> Vec<String> {
    match variant {
        Variant::Set { labels, .. } => labels.iter().map(|one| one.label.name.clone()).collect(),
        Variant::Name(name) => panic!("a named type: {name:?}"),
    }
}

fn fits(record: &Record, variant: &Variant) -> bool {
    names(variant).iter().all(|name| record.tags.contains_key(name.as_str()))
}

fn matches(record: &Record, pattern: &Guarded) -> bool {
    let holds = |guard: &Expression| value(guard, record) != 0;
    fits(record, &pattern.pattern) && pattern.guard.as_ref().is_none_or(holds)
}

fn apply(filter: &Filter, record: &Record) -> Vec<Record> {
    let Some(pattern) = &filter.pattern else { return vec![record.clone()] };
    assert!(fits(record, pattern), "{record} does not fit {pattern:?}");
    let taken = filter
        .arms
        .iter()
        .find(|arm| arm.guard.as_ref().is_none_or(|guard| value(guard, record) != 0))
        .expect("the last arm has no guard");
    let consumed = names(pattern);
    let mut outputs = Vec::new();
    for template in &taken.records {
        let mut out = record.clone();
        for name in &consumed {
            out.tags.remove(name.as_str());
        }
        for item in &template.items {
            let name = item.label.name.as_str();
            let made = match &item.value {
                ItemValue::Same if consumed.iter().any(|one| one == name) => record.tags[name],
                ItemValue::Same => 0,
                ItemValue::Expression(expression) => value(expression, record),
                ItemValue::Field(_) => panic!("a field"),
            };
            out.tags.insert(name.into(), made);
        }
        outputs.push(out);
    }
    outputs
}

fn value(expression: &Expression, record: &Record) -> i64 {
    let of = |part: &Expression| value(part, record);
    match &expression.kind {
        ExpressionKind::Integer(number) => *number,
        ExpressionKind::Tag(label) => record.tags[label.name.as_str()],
        ExpressionKind::Unary(UnaryOperator::Negate, operand) => -of(operand),
        ExpressionKind::Unary(UnaryOperator::Not, operand) => i64::from(of(operand) == 0),
        ExpressionKind::Unary(UnaryOperator::Absolute, operand) => of(operand).abs(),
        ExpressionKind::Conditional(condition, yes, no) => {
            if of(condition) != 0 {
                of(yes)
            } else {
                of(no)
            }
        }
        ExpressionKind::Binary(operator, left, right) => {
            let (left, right) = (of(left), of(right));
            match operator {
                BinaryOperator::Or => i64::from(left != 0 || right != 0),
                BinaryOperator::And => i64::from(left != 0 && right != 0),
                BinaryOperator::Equal => i64::from(left == right),
                BinaryOperator::NotEqual => i64::from(left != right),
                BinaryOperator::Less => i64::from(left < right),
                BinaryOperator::LessEqual => i64::from(left <= right),
                BinaryOperator::Greater => i64::from(left > right),
                BinaryOperator::GreaterEqual => i64::from(left >= right),
                BinaryOperator::Add => left + right,
                BinaryOperator::Subtract => left - right,
                BinaryOperator::Multiply => left * right,
                BinaryOperator::Divide => left / right,
                BinaryOperator::Remainder => left % right,
                BinaryOperator::Minimum => left.min(right),
                BinaryOperator::Maximum => left.max(right),
            }
        }
    }
}
