//! The reference interpreter: records, one after the other, each followed to its end; it ends at the
//! first that fails.
//!
//! It reads the syntax tree itself, and shares nothing with the runtime but the parser. It knows
//! what the programs of [`super::tree`] need: tags, and branches that begin with a filter.

use std::collections::{BTreeMap, BTreeSet};

use kahn_snet::record::Record;
use kahn_snet::syntax::ast::{
    BinaryOperator, Definition, Expression, ExpressionKind, Filter, Guarded, ItemValue, Range,
    Topology, TopologyKind, UnaryOperator, WrittenVariant,
};

/// A network with what it keeps.
#[derive(Debug, Clone)]
pub(crate) enum Instance {
    Filter(Filter),
    Box(String),
    Cell {
        patterns: Vec<Guarded>,
        slots: Vec<Option<Record>>,
        fired: bool,
    },
    /// A cell that does all that one could do in some order: passes everything on, and joins
    /// everything with everything; each result once.
    AnyCell {
        patterns: Box<[Guarded; 2]>,
        seen: [Vec<Record>; 2],
        told: BTreeSet<String>,
    },
    Series(Vec<Instance>),
    Choice(Vec<(Option<Vec<String>>, Instance)>),
    Star {
        fresh: Box<Instance>,
        exits: Vec<Guarded>,
        stages: Vec<Instance>,
    },
    Split {
        fresh: Box<Instance>,
        bounds: [String; 2],
        replicas: BTreeMap<i64, Instance>,
    },
    Loop {
        body: Box<Instance>,
        back: Vec<Guarded>,
    },
}

/// Records at once that are too much.
const MOST: usize = 4000;
/// Records that a cell may join with others that are too much.
const MOST_SEEN: usize = 500;

/// What comes out, and whether something failed behind that.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) records: Vec<Record>,
    pub(crate) failed: bool,
    /// Whether it is too much to go on.
    pub(crate) too_much: bool,
}

impl Outcome {
    fn of(records: Vec<Record>) -> Self {
        Self { records, ..Self::default() }
    }

    fn has_ended(&self) -> bool {
        self.failed || self.too_much
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.records.extend(more.records);
        self.failed |= more.failed;
        self.too_much |= more.too_much || self.records.len() > MOST;
    }

    /// Follows each record on, up to the first that fails.
    fn then(self, mut step: impl FnMut(Record) -> Self) -> Self {
        let Self { records, failed, too_much } = self;
        let mut all = Self { records: Vec::new(), failed, too_much };
        for record in records {
            if all.too_much {
                break;
            }
            let next = step(record);
            let fails = next.failed;
            all.add(next);
            if fails {
                break;
            }
        }
        all
    }
}

/// What a box emits for a number, and whether it fails then.
pub(crate) fn emitted(name: &str, n: i64) -> (Vec<i64>, bool) {
    match name {
        "linger" => (vec![n], false),
        "parts" if n < 0 => (Vec::new(), false),
        "parts" => (vec![n / 2, n - n / 2], false),
        // It fails behind what it emits.
        "picky" => (vec![n + 1], n.rem_euclid(7) == 3),
        // The same, and never fails.
        "lenient" => (vec![n + 1], false),
        other => panic!("no box {other}"),
    }
}

/// What the initialiser emits: n and k.
pub(crate) const BEGINNING: [(i64, i64); 2] = [(12, 1), (-3, 2)];

fn beginning() -> Outcome {
    let record = |(n, k)| Record::new().tag("n", n).tag("k", k);
    Outcome::of(BEGINNING.map(record).into())
}

impl Instance {
    /// The program; with cells that do all that they could do in some order, if `any`.
    pub(crate) fn of_program(definitions: &[Definition], any: bool) -> Self {
        match definitions.split_last() {
            Some((Definition::Net(net), before)) => Self::of(&net.body, before, any),
            _ => panic!("a program whose last definition is a net"),
        }
    }

    /// A network, behind these definitions: a net that it names is its own copy of that.
    fn of(topology: &Topology, definitions: &[Definition], any: bool) -> Self {
        let part = |topology: &Topology| Self::of(topology, definitions, any);
        let net = |name: &str| {
            definitions.iter().find_map(|definition| match definition {
                Definition::Net(net) if net.name.name == name => Some(&net.body),
                _ => None,
            })
        };
        match &topology.kind {
            TopologyKind::Filter(filter) => Self::Filter(filter.clone()),
            TopologyKind::Name(name) => {
                net(&name.name).map_or_else(|| Self::Box(name.name.clone()), part)
            }
            TopologyKind::Cell(patterns) if any => {
                let patterns = Box::new([patterns[0].clone(), patterns[1].clone()]);
                Self::AnyCell { patterns, seen: Default::default(), told: BTreeSet::new() }
            }
            TopologyKind::Cell(patterns) => {
                let slots = vec![None; patterns.len()];
                Self::Cell { patterns: patterns.clone(), slots, fired: false }
            }
            TopologyKind::Serial(stages) => Self::Series(stages.iter().map(part).collect()),
            TopologyKind::Choice { branches, .. } => {
                Self::Choice(branches.iter().map(|one| (entrance(one), part(one))).collect())
            }
            TopologyKind::Star { body, exits, .. } => {
                let fresh = Box::new(part(body));
                Self::Star { fresh, exits: exits.clone(), stages: Vec::new() }
            }
            TopologyKind::Split { body, range, .. } => {
                let (low, high) = match range {
                    Range::Index(tag) => (tag, tag),
                    Range::Between(low, high) => (low, high),
                };
                let bounds = [low.name.clone(), high.name.clone()];
                Self::Split { fresh: Box::new(part(body)), bounds, replicas: BTreeMap::new() }
            }
            TopologyKind::Feedback { body, back, .. } => {
                Self::Loop { body: Box::new(part(body)), back: back.clone() }
            }
            other => panic!("not in these programs: {other:?}"),
        }
    }

    /// What begins without a record: nearest to the output first, for what begins there is out
    /// before anything gets there.
    pub(crate) fn start(&mut self) -> Outcome {
        match self {
            Self::Box(name) if name == "begin" => beginning(),
            Self::Series(stages) => {
                let mut all = Outcome::default();
                for index in (0..stages.len()).rev() {
                    let begun = stages[index].start();
                    let behind = &mut stages[index + 1..];
                    all.add(begun.then(|record| through(behind, record)));
                    if all.has_ended() {
                        break;
                    }
                }
                all
            }
            Self::Choice(branches) => {
                let branches: Vec<&mut Self> = branches.iter_mut().map(|(_, one)| one).collect();
                let mut all = Outcome::default();
                for branch in branches {
                    all.add(branch.start());
                    if all.has_ended() {
                        break;
                    }
                }
                all
            }
            Self::Loop { body, back } => {
                let begun = body.start();
                begun.then(|out| return_or_leave(body, back, out))
            }
            _ => Outcome::default(),
        }
    }

    pub(crate) fn feed(&mut self, record: Record) -> Outcome {
        match self {
            Self::Filter(filter) => Outcome::of(apply(filter, &record)),
            Self::Box(name) => {
                let (numbers, failed) = emitted(name, record.tags["n"]);
                let out = |n| record.clone().tag("n", n);
                let records = numbers.into_iter().map(out).collect();
                Outcome { records, failed, ..Outcome::default() }
            }
            Self::Series(stages) => through(stages, record),
            Self::Choice(branches) => {
                let has = |name: &String| record.tags.contains_key(name.as_str());
                let fits = |wanted: &Option<Vec<String>>| {
                    wanted.as_ref().is_some_and(|wanted| wanted.iter().all(has))
                };
                let fitting = branches.iter_mut().filter(|(wanted, _)| fits(wanted));
                // The first of the largest.
                let score = |wanted: &Option<Vec<String>>| wanted.as_ref().map_or(0, Vec::len);
                let best = fitting.rev().max_by_key(|(wanted, _)| score(wanted));
                best.expect("a branch takes it").1.feed(record)
            }
            Self::Cell { patterns, slots, fired } => {
                let free: Vec<usize> = (0..patterns.len())
                    .filter(|index| slots[*index].is_none() && matches(&record, &patterns[*index]))
                    .collect();
                if *fired || free.is_empty() {
                    return Outcome::of(vec![record]);
                }
                for index in free {
                    slots[index] = Some(record.clone());
                }
                if slots.iter().any(Option::is_none) {
                    return Outcome::default();
                }
                *fired = true;
                let mut all = slots.iter().flatten();
                let mut joined = all.next().expect("two patterns at least").clone();
                for (other, pattern) in all.zip(patterns.iter().skip(1)) {
                    joined = join(joined, other, pattern);
                }
                Outcome::of(vec![joined])
            }
            Self::AnyCell { patterns, seen, told } => {
                let [first, second] = [0, 1].map(|index| matches(&record, &patterns[index]));
                let mut all = vec![record.clone()];
                if first {
                    all.extend(seen[1].iter().map(|it| join(record.clone(), it, &patterns[1])));
                    seen[0].push(record.clone());
                }
                if second {
                    all.extend(seen[0].iter().map(|it| join(it.clone(), &record, &patterns[1])));
                    seen[1].push(record);
                }
                all.retain(|record| told.insert(record.to_string()));
                // What may be joined with all that is made of it grows without bound in a feedback.
                let too_much = seen.iter().any(|seen| seen.len() > MOST_SEEN);
                Outcome { too_much, ..Outcome::of(all) }
            }
            Self::Star { fresh, exits, stages } => star(fresh, exits, stages, 0, record),
            Self::Split { fresh, bounds, replicas } => {
                let [low, high] = bounds.each_ref().map(|name| record.tags[name.as_str()]);
                let mut all = Outcome::default();
                for value in low..=high {
                    let known = replicas.contains_key(&value);
                    let replica = replicas.entry(value).or_insert_with(|| (**fresh).clone());
                    let begun = if known { Outcome::default() } else { replica.start() };
                    all.add(begun);
                    if !all.has_ended() {
                        all.add(replica.feed(record.clone()));
                    }
                    if all.has_ended() {
                        break;
                    }
                }
                all
            }
            // What an output causes comes before the next output.
            Self::Loop { body, back } => feed_back(body, back, record),
        }
    }
}

/// The first record with what the pattern takes of the other.
fn join(mut first: Record, other: &Record, pattern: &Guarded) -> Record {
    for name in names(&pattern.pattern) {
        first.tags.insert(name.as_str().into(), other.tags[name.as_str()]);
    }
    first
}

fn through(stages: &mut [Instance], record: Record) -> Outcome {
    let begin = Outcome::of(vec![record]);
    stages.iter_mut().fold(begin, |records, stage| records.then(|record| stage.feed(record)))
}

fn feed_back(body: &mut Instance, back: &[Guarded], record: Record) -> Outcome {
    body.feed(record).then(|out| return_or_leave(body, back, out))
}

fn return_or_leave(body: &mut Instance, back: &[Guarded], out: Record) -> Outcome {
    if back.iter().any(|pattern| matches(&out, pattern)) {
        feed_back(body, back, out)
    } else {
        Outcome::of(vec![out])
    }
}

fn star(
    fresh: &Instance,
    exits: &[Guarded],
    stages: &mut Vec<Instance>,
    stage: usize,
    record: Record,
) -> Outcome {
    if exits.iter().any(|exit| matches(&record, exit)) {
        return Outcome::of(vec![record]);
    }
    let mut all = Outcome::default();
    if stages.len() == stage {
        stages.push(fresh.clone());
        let begun = stages[stage].start();
        all.add(begun.then(|out| star(fresh, exits, stages, stage + 1, out)));
        if all.has_ended() {
            return all;
        }
    }
    let outputs = stages[stage].feed(record);
    all.add(outputs.then(|out| star(fresh, exits, stages, stage + 1, out)));
    all
}

/// What a branch asks for: the pattern of the filter that it begins with, if it takes anything.
fn entrance(topology: &Topology) -> Option<Vec<String>> {
    match &topology.kind {
        TopologyKind::Serial(stages) => entrance(&stages[0]),
        TopologyKind::Filter(Filter { pattern: Some(pattern), .. }) => Some(names(pattern)),
        // It takes everything.
        TopologyKind::Filter(Filter { pattern: None, .. }) => Some(Vec::new()),
        // An initialiser takes nothing.
        TopologyKind::Name(_) => None,
        other => panic!("a branch that begins with {other:?}"),
    }
}

fn names(variant: &WrittenVariant) -> Vec<String> {
    match variant {
        WrittenVariant::Set { labels, .. } => {
            labels.iter().map(|one| one.label.name.clone()).collect()
        }
        WrittenVariant::Name(name) => panic!("a named type: {name:?}"),
    }
}

fn fits(record: &Record, variant: &WrittenVariant) -> bool {
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
