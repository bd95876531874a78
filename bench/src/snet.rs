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
use ways::Wanted;

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
        ("net with a declared type", 2),
        ("net with an inferred type", 1),
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

fn leaf(draw: &mut Draw) -> Tree {
    match draw.pick(&LEAF) {
        "filter" => Tree::Filter(u8::try_from(draw.below(8)).unwrap_or(0)),
        "slow box" => Tree::Box(u8::try_from(draw.below(2)).unwrap_or(0)),
        "initialiser" => Tree::Begin,
        "failing box" => Tree::Picky,
        _ => Tree::Cell,
    }
}

fn network(draw: &mut Draw, depth: usize) -> Tree {
    if depth == 0 {
        return leaf(draw);
    }
    let kind = draw.pick(&INNER);
    let mut inner = || Box::new(network(draw, depth - 1));
    match kind {
        "component" => leaf(draw),
        "series" => Tree::Series(inner(), inner()),
        "choice" => Tree::Choice(inner(), inner()),
        "star" => Tree::Star(inner()),
        "split" => Tree::Split(inner()),
        "split over a range" => Tree::Range(inner()),
        "feedback" => Tree::Loop(inner()),
        kind => Tree::Net { declared: kind == "net with a declared type", body: inner() },
    }
}

/// Whether something begins inside of a combinator that makes replicas or sends records back.
fn late_beginning(tree: &Tree, inside: bool) -> bool {
    let around = matches!(tree, Tree::Star(_) | Tree::Split(_) | Tree::Range(_) | Tree::Loop(_));
    (inside && matches!(tree, Tree::Begin))
        || tree.parts().into_iter().any(|part| late_beginning(part, inside || around))
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
        let tree = network(draw, DEPTH);
        let number =
            |draw: &mut Draw, low: i64, many| low + i64::try_from(draw.below(many)).unwrap_or(0);
        let mut input: Vec<Record> = Vec::new();
        for _ in 0..draw.below(24) {
            let (n, k) = (number(draw, -20, 60), number(draw, 0, 3));
            input.push(Record::new().tag("n", n).tag("k", k));
        }
        if draw.pick(&INPUT) != "fitting" {
            let at = draw.below(input.len() + 1);
            input.insert(at, Record::new().tag("foreign", 1).tag("k", 1));
        }
        Case { order, tree, input }
    }

    fn check(&self, case: &Case, _: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        let Some(wanted) = Wanted::of(&case.tree, case.order, &case.input) else {
            return Err(Trouble::Refused("too much comes out"));
        };
        let program = Program::read("main.snet", case.tree.program(case.order));
        if !program.is_valid() {
            let said = program.render(false);
            return Err(Trouble::Broken("what is well typed is accepted", said));
        }
        tally.note(match &wanted {
            Wanted::InOrder { wanted, .. } if wanted.failed => "compared in order, that fail",
            Wanted::InOrder { .. } => "compared in order",
            Wanted::InSomeOrder(_) => "compared in some order",
            Wanted::Failing { .. } => "compared with bounds, that fail",
            Wanted::Some { .. } => "compared with all that cells may join",
        });
        if late_beginning(&case.tree, false) {
            tally.note("with an initialiser in a star, a split or a feedback");
        }
        for way in ways::ways() {
            let found = ways::outcome(&program, &case.input, way.clone());
            tally.schedules += 1;
            tally.messages += found.records.len() as u64;
            if let Some(said) = wanted.differs(&found) {
                let promise = match case.order {
                    Order::All => "doubled combinators give what a sequential run gives",
                    _ => "single combinators give what a sequential run gives in some order",
                };
                return Err(Trouble::Broken(promise, format!("{way:?}: {said}")));
            }
        }
        Ok(())
    }

    fn smaller(&self, case: &Case) -> Vec<Case> {
        let parts =
            case.tree.parts().into_iter().map(|tree| Case { tree: tree.clone(), ..case.clone() });
        let inputs = (0..case.input.len()).map(|left_out| {
            let mut less = case.clone();
            less.input.remove(left_out);
            less
        });
        parts.chain(inputs).collect()
    }
}
