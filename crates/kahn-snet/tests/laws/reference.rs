//! The reference interpreter: records, one after the other, each followed to its end; it ends at the
//! first of which something fails.
//!
//! What fails leaves a mark in its place, which goes out as a record does that nothing takes; the rest of
//! that record goes on, and what is in front of the first mark is the output. So a run that fails gives
//! the beginning of what the same run gives if nothing fails.
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

/// What is written, and whether something failed behind that.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) records: Vec<Record>,
    pub(crate) failed: bool,
}

/// What comes out of a network.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Records, and none where something failed.
    all: Vec<Option<Record>>,
    /// Whether it is too much to go on.
    pub(crate) too_much: bool,
}

impl Stream {
    fn of(records: Vec<Record>) -> Self {
        Self { all: records.into_iter().map(Some).collect(), too_much: false }
    }

    /// These records, and the mark of what failed behind them.
    pub(crate) fn then_failing(mut self) -> Self {
        self.all.push(None);
        self
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.all.iter().any(Option::is_none)
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.all.extend(more.all);
        self.too_much |= more.too_much || self.all.len() > MOST;
    }

    /// Follows each record on; marks go on as they are.
    fn then(self, mut step: impl FnMut(Record) -> Self) -> Self {
        let mut all = Self { all: Vec::new(), too_much: self.too_much };
        for one in self.all {
            if all.too_much {
                break;
            }
            all.add(one.map_or_else(|| Self::default().then_failing(), &mut step));
        }
        all
    }

    /// What is written of it.
    pub(crate) fn written(self) -> Outcome {
        let failed = self.has_failed();
        Outcome { records: self.all.into_iter().map_while(|one| one).collect(), failed }
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

fn beginning() -> Stream {
    let record = |(n, k)| Record::new().tag("n", n).tag("k", k);
    Stream::of(BEGINNING.map(record).into())
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
    pub(crate) fn start(&mut self) -> Stream {
        match self {
            Self::Box(name) if name == "begin" => beginning(),
            Self::Series(stages) => {
                let mut all = Stream::default();
                for index in (0..stages.len()).rev() {
                    let begun = stages[index].start();
                    let behind = &mut stages[index + 1..];
                    all.add(begun.then(|record| through(behind, record)));
                    if all.too_much {
                        break;
                    }
                }
                all
            }
            Self::Choice(branches) => {
                let branches: Vec<&mut Self> = branches.iter_mut().map(|(_, one)| one).collect();
                let mut all = Stream::default();
                for branch in branches {
                    all.add(branch.start());
                    if all.too_much {
                        break;
                    }
                }
                all
            }
            Self::Loop { body, back } => {
                let begun = body.start();
                begun.then(|out| return_or_leave(body, back, out))
            }
            _ => Stream::default(),
        }
    }

    pub(crate) fn feed(&mut self, record: Record) -> Stream {
        match self {
            Self::Filter(filter) => Stream::of(apply(filter, &record)),
            Self::Box(name) => {
                let (numbers, failed) = emitted(name, record.tags["n"]);
                let out = |n| record.clone().tag("n", n);
                let emitted = Stream::of(numbers.into_iter().map(out).collect());
                if failed { emitted.then_failing() } else { emitted }
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
                    return Stream::of(vec![record]);
                }
                for index in free {
                    slots[index] = Some(record.clone());
                }
                if slots.iter().any(Option::is_none) {
                    return Stream::default();
                }
                *fired = true;
                let mut all = slots.iter().flatten();
                let mut joined = all.next().expect("two patterns at least").clone();
                for (other, pattern) in all.zip(patterns.iter().skip(1)) {
                    joined = join(joined, other, pattern);
                }
                Stream::of(vec![joined])
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
                Stream { too_much, ..Stream::of(all) }
            }
            Self::Star { fresh, exits, stages } => star(fresh, exits, stages, 0, record),
            Self::Split { fresh, bounds, replicas } => {
                let [low, high] = bounds.each_ref().map(|name| record.tags[name.as_str()]);
                let mut all = Stream::default();
                for value in low..=high {
                    let known = replicas.contains_key(&value);
                    let replica = replicas.entry(value).or_insert_with(|| (**fresh).clone());
                    let begun = if known { Stream::default() } else { replica.start() };
                    all.add(begun);
                    if !all.too_much {
                        all.add(replica.feed(record.clone()));
                    }
                    if all.too_much {
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

fn through(stages: &mut [Instance], record: Record) -> Stream {
    let begin = Stream::of(vec![record]);
    stages.iter_mut().fold(begin, |records, stage| records.then(|record| stage.feed(record)))
}

fn feed_back(body: &mut Instance, back: &[Guarded], record: Record) -> Stream {
    body.feed(record).then(|out| return_or_leave(body, back, out))
}

fn return_or_leave(body: &mut Instance, back: &[Guarded], out: Record) -> Stream {
    if back.iter().any(|pattern| matches(&out, pattern)) {
        feed_back(body, back, out)
    } else {
        Stream::of(vec![out])
    }
}

fn star(
    fresh: &Instance,
    exits: &[Guarded],
    stages: &mut Vec<Instance>,
    stage: usize,
    record: Record,
) -> Stream {
    if exits.iter().any(|exit| matches(&record, exit)) {
        return Stream::of(vec![record]);
    }
    let mut all = Stream::default();
    if stages.len() == stage {
        stages.push(fresh.clone());
        let begun = stages[stage].start();
        all.add(begun.then(|out| star(fresh, exits, stages, stage + 1, out)));
        if all.too_much {
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
