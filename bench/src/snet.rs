//! Random programs of S-Net, held against the sequential reference of its tests.

#[path = "../../crates/kahn-snet/tests/laws/reference.rs"]
mod reference;
#[path = "../../crates/kahn-snet/tests/laws/tree.rs"]
mod tree;
#[path = "../../crates/kahn-snet/tests/laws/ways.rs"]
mod ways;

use kahn_laws::{Campaign, Choice, Draw, Tally, Trouble};
use kahn_snet::Program;
use kahn_snet::record::Record;
use std::fmt::{self, Display, Formatter};
use tree::{Order, Tree};

static ORDER: Choice = Choice {
    name: "combinators",
    answers: &[("all doubled", 6), ("some doubled", 2), ("none doubled", 2)],
};
static LEAF: Choice = Choice {
    name: "component",
    answers: &[
        ("filter", 8),
        ("slow box", 3),
        ("initialiser", 1),
        ("failing box", 1),
        ("synchro-cell", 3),
    ],
};
static INNER: Choice = Choice {
    name: "network",
    answers: &[
        ("component", 3),
        ("series", 4),
        ("choice", 3),
        ("star", 2),
        ("split", 2),
        ("split over a range", 2),
        ("feedback", 3),
    ],
};
static INPUT: Choice =
    Choice { name: "input", answers: &[("fitting", 5), ("with a foreign record", 1)] };

/// All questions.
static CHOICES: &[&Choice] = &[&ORDER, &LEAF, &INNER, &INPUT];

/// How deep networks lie in each other.
const DEPTH: usize = 4;

/// Programs of S-Net.
#[derive(Debug, Default)]
pub(crate) struct Programs;

/// A program, and what it is given.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    order: Order,
    tree: Tree,
    input: Vec<Record>,
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tree.program(self.order))?;
        self.input.iter().try_for_each(|record| writeln!(f, "// > {record}"))
    }
}

fn leaf(draw: &mut Draw, order: Order) -> Tree {
    loop {
        return match draw.pick(&LEAF) {
            "filter" => Tree::Filter(u8::try_from(draw.below(8)).unwrap_or(0)),
            "slow box" => Tree::Box(u8::try_from(draw.below(2)).unwrap_or(0)),
            "initialiser" => Tree::Begin,
            // What is written before a failure, and what a cell joins, is a matter of order.
            _ if order != Order::All => continue,
            "failing box" => Tree::Picky,
            _ => Tree::Cell,
        };
    }
}

fn network(draw: &mut Draw, order: Order, depth: usize) -> Tree {
    if depth == 0 {
        return leaf(draw, order);
    }
    let kind = draw.pick(&INNER);
    let mut inner = || Box::new(network(draw, order, depth - 1));
    let counted = |tree: Box<Tree>| Box::new(tree.without_initialisers());
    match kind {
        "component" => leaf(draw, order),
        "series" => Tree::Series(inner(), inner()),
        "choice" => Tree::Choice(inner(), inner()),
        "star" => Tree::Star(counted(inner())),
        "split" => Tree::Split(inner()),
        "split over a range" => Tree::Range(counted(inner())),
        _ => Tree::Loop(counted(inner())),
    }
}

/// The parts of a tree.
fn parts(tree: &Tree) -> Vec<&Tree> {
    match tree {
        Tree::Series(a, b) | Tree::Choice(a, b) => vec![a, b],
        Tree::Star(body) | Tree::Split(body) | Tree::Range(body) | Tree::Loop(body) => vec![body],
        Tree::Filter(_) | Tree::Cell | Tree::Box(_) | Tree::Picky | Tree::Begin => Vec::new(),
    }
}

fn lines(records: &[Record], order: Order) -> Vec<String> {
    let mut lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    if order != Order::All {
        lines.sort();
    }
    lines
}

impl Campaign for Programs {
    type Case = Case;

    const NAME: &'static str = "snet";

    fn choices(&self) -> &'static [&'static [&'static Choice]] {
        static ALL: &[&[&Choice]] = &[CHOICES];
        ALL
    }

    fn draw(&self, draw: &mut Draw) -> Case {
        let order = match draw.pick(&ORDER) {
            "all doubled" => Order::All,
            "some doubled" => Order::Some,
            _ => Order::None,
        };
        let tree = network(draw, order, DEPTH);
        let number =
            |draw: &mut Draw, low: i64, many| low + i64::try_from(draw.below(many)).unwrap_or(0);
        let mut input: Vec<Record> = Vec::new();
        for _ in 0..draw.below(24) {
            let (n, k) = (number(draw, -20, 60), number(draw, 0, 3));
            input.push(Record::new().tag("n", n).tag("k", k));
        }
        if order == Order::All && draw.pick(&INPUT) != "fitting" {
            let at = draw.below(input.len() + 1);
            input.insert(at, Record::new().tag("foreign", 1).tag("k", 1));
        }
        Case { order, tree, input }
    }

    fn check(&self, case: &Case, _: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        let source = case.tree.program(case.order);
        let Some(wanted) = ways::expected(&source, &case.input) else {
            return Err(Trouble::Refused("too much comes out"));
        };
        let program = Program::read("main.snet", source);
        if !program.is_valid() {
            let said = program.render(false);
            return Err(Trouble::Broken("what is well typed is accepted", said));
        }
        if wanted.failed {
            tally.note("that fail");
        }
        let records = lines(&wanted.records, case.order);
        for way in ways::ways() {
            let found = ways::outcome(&program, &case.input, way.clone());
            tally.schedules += 1;
            tally.messages += records.len() as u64;
            if lines(&found.records, case.order) != records || found.failed != wanted.failed {
                let promise = match case.order {
                    Order::All => "doubled combinators give what a sequential run gives",
                    _ => "single combinators give the same records in some order",
                };
                let said = format!(
                    "{way:?}: expected {records:?}, failed: {}; got {:?}, failed: {}",
                    wanted.failed,
                    lines(&found.records, case.order),
                    found.failed
                );
                return Err(Trouble::Broken(promise, said));
            }
        }
        Ok(())
    }

    fn smaller(&self, case: &Case) -> Vec<Case> {
        let parts =
            parts(&case.tree).into_iter().map(|tree| Case { tree: tree.clone(), ..case.clone() });
        let inputs = (0..case.input.len()).map(|left_out| {
            let mut less = case.clone();
            less.input.remove(left_out);
            less
        });
        parts.chain(inputs).collect()
    }
}
