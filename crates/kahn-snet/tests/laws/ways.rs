//! Running a program in every way, and what the reference says of it.

use kahn_snet::boxes::{Boxes, Emitter, Tag};
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, Runtime, run};
use kahn_snet::{Program, syntax};

use super::reference::{self, Instance, Outcome, Stream};
use super::tree::{CELL, Order, Tree};

/// Every way to run a program: the runtime, and how many workers.
pub(crate) fn ways() -> impl Iterator<Item = (Runtime, usize)> {
    let network = Runtime::Network { policy: None };
    let runtimes = [Runtime::Front, network];
    runtimes.into_iter().flat_map(|runtime| [1, 2, 8].map(|workers| (runtime.clone(), workers)))
}

/// The boxes of the programs; they take their time, each call another.
fn boxes(program: &Program) -> Boxes {
    let mut boxes = Boxes::of(program);
    for name in ["linger", "parts", "picky"] {
        let call = move |n: Tag, out: &mut Emitter<'_>| {
            let (numbers, failed) = reference::emitted(name, n.0);
            for number in numbers {
                (0..number.rem_euclid(5) * 3).for_each(|_| std::thread::yield_now());
                out.emit(1, (Tag(number),))?;
            }
            if failed { Err("it is picky".into()) } else { Ok(()) }
        };
        // Programs that are written out here have none.
        let _ = boxes.add(name, call);
    }
    let begin = |out: &mut Emitter<'_>| {
        reference::BEGINNING.into_iter().try_for_each(|(n, k)| out.emit(1, (Tag(n), Tag(k))))
    };
    let _ = boxes.add("begin", begin);
    boxes
}

/// What a run gives that is run in this way, and whether it fails.
pub(crate) fn outcome(
    program: &Program,
    input: &[Record],
    (runtime, workers): (Runtime, usize),
) -> Outcome {
    let net = program.net(None).expect("a net");
    let options = Options { workers, runtime, ..Options::default() };
    let mut records = Vec::new();
    let source = Ready(input.iter().cloned());
    let ran = run(program, net, &boxes(program), &options, source, &mut records);
    Outcome { records, failed: ran.is_err() }
}

/// What the reference gives, and behind how many records it fails; none if it is too much.
fn followed(source: &str, input: &[Record], any: bool) -> Option<(Outcome, usize)> {
    let parsed = syntax::parse(source);
    let mut instance = Instance::of_program(&parsed.definitions, any);
    let mut output = instance.start();
    let mut before = 0;
    for record in input {
        if output.has_failed() {
            break;
        }
        before += 1;
        if is_foreign(record) {
            output.add(Stream::default().then_failing());
            break;
        }
        output.add(instance.feed(record.clone()));
        if output.too_much {
            return None;
        }
    }
    (!output.too_much).then(|| (output.written(), before))
}

/// What the reference gives; none if it is too much.
pub(crate) fn expected(source: &str, input: &[Record]) -> Option<Outcome> {
    followed(source, input, false).map(|(output, _)| output)
}

/// What a run of a program may give.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// These records in this order; if it fails, the first of those that come if nothing fails.
    InOrder { wanted: Outcome, unless_failing: Vec<String> },
    /// These records, in some order.
    InSomeOrder(Outcome),
    /// A failure; and before it some of `most`, but all of `least`.
    Failing { least: Vec<String>, most: Vec<String> },
    /// Some of these, as a cell joins them in some order; and perhaps a failure.
    Some { all: Vec<String>, may_fail: bool },
}

impl Wanted {
    /// What a program may give; none if it is too much.
    pub(crate) fn of(tree: &Tree, order: Order, input: &[Record]) -> Option<Self> {
        let source = tree.program(order);
        let lenient = |source: &str| source.replace("picky", "lenient");
        let fitting: Vec<Record> = input.iter().filter(|it| !is_foreign(it)).cloned().collect();
        if order == Order::All {
            let wanted = expected(&source, input)?;
            let unless_failing = lines(&expected(&lenient(&source), &fitting)?.records);
            return Some(Self::InOrder { wanted, unless_failing });
        }
        if tree.has(|part| matches!(part, Tree::Cell)) {
            let (all, _) = followed(&lenient(&source), &fitting, true)?;
            // Each of them once. A cell that joins nothing, for another took what it waits for, passes on as many as
            // come: doubled in every round of a star, that may be more than there is memory.
            followed(&lenient(&source).replace(CELL, "[{<n>} -> {<n>}]"), &fitting, false)?;
            let may_fail =
                tree.has(|part| matches!(part, Tree::Picky)) || input.len() > fitting.len();
            return Some(Self::Some { all: lines(&all.records), may_fail });
        }
        let (whole, before) = followed(&source, input, false)?;
        if !whole.failed {
            return Some(Self::InSomeOrder(whole));
        }
        let most = expected(&lenient(&source), &fitting)?;
        // What begins in a replica is of the record that comes there first, which may be a later one.
        let certain = tree.without_late_beginnings(false).program(order);
        let least = match before.checked_sub(1) {
            None => Outcome::default(),
            Some(before) => expected(&certain, &input[..before])?,
        };
        Some(Self::Failing { least: sorted(&least.records), most: sorted(&most.records) })
    }

    /// Says what is wrong about what a run gave.
    pub(crate) fn differs(&self, found: &Outcome) -> Option<String> {
        let holds = match self {
            Self::InOrder { wanted, unless_failing } => {
                let found_lines = lines(&found.records);
                found_lines == lines(&wanted.records)
                    && found.failed == wanted.failed
                    && unless_failing.starts_with(&found_lines)
            }
            Self::InSomeOrder(wanted) => {
                sorted(&found.records) == sorted(&wanted.records) && found.failed == wanted.failed
            }
            Self::Failing { least, most } => {
                let found_lines = sorted(&found.records);
                found.failed && are_among(least, &found_lines) && are_among(&found_lines, most)
            }
            Self::Some { all, may_fail } => {
                (*may_fail || !found.failed)
                    && lines(&found.records).iter().all(|line| all.contains(line))
            }
        };
        (!holds).then(|| format!("expected {self:?}; got {found:?}"))
    }
}

fn is_foreign(record: &Record) -> bool {
    record.tags.contains_key("foreign")
}

fn lines(records: &[Record]) -> Vec<String> {
    records.iter().map(ToString::to_string).collect()
}

fn sorted(records: &[Record]) -> Vec<String> {
    let mut lines = lines(records);
    lines.sort();
    lines
}

/// Whether all of some sorted lines are among others, each as often.
fn are_among(some: &[String], others: &[String]) -> bool {
    let mut others = others.iter();
    some.iter().all(|line| others.any(|other| other == line))
}
