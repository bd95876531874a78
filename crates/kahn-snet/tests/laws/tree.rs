//! Programs as trees: every network in them takes `{<n>, <k>}` and gives the same.
//!
//! The records of initialisers inside of stars, feedbacks and splits over a range get the counters and
//! bounds that the other records there have.

/// A network.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// One of a few filters.
    Filter(u8),
    /// A synchro-cell over even and odd numbers; only where order is kept.
    Cell,
    /// One of [`BOXES`].
    Box(u8),
    /// A box that fails for some numbers.
    Picky,
    /// An initialiser beside what passes.
    Begin,
    Series(Box<Tree>, Box<Tree>),
    /// By whether the number is even.
    Choice(Box<Tree>, Box<Tree>),
    /// As often as the number says, up to three times.
    Star(Box<Tree>),
    Split(Box<Tree>),
    /// By two numbers next to each other, so that there are two copies.
    Range(Box<Tree>),
    /// Up to twice more.
    Loop(Box<Tree>),
    /// A net of its own, which is named here; with a declared type, or an inferred one.
    Net {
        declared: bool,
        body: Box<Tree>,
    },
}

/// A synchro-cell: joins an even number and an odd one.
pub(crate) const CELL: &str = "[| {<n>} if <n % 2 == 0>, {<n>} if <n % 2 != 0> |]";

/// The boxes of all programs; what they do, `main` and the reference say.
pub(crate) const BOXES: &str = "box linger ((<n>) -> (<n>));
box parts ((<n>) -> (<n>));
box picky ((<n>) -> (<n>));
box begin (-> (<n>, <k>));
";

/// Which combinators are doubled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    All,
    Some,
    None,
}

impl Tree {
    /// The parts.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Series(a, b) | Self::Choice(a, b) => vec![a, b],
            Self::Star(body)
            | Self::Split(body)
            | Self::Range(body)
            | Self::Loop(body)
            | Self::Net { body, .. } => vec![body],
            Self::Filter(_) | Self::Cell | Self::Box(_) | Self::Picky | Self::Begin => Vec::new(),
        }
    }

    /// Whether something in it is as asked for.
    pub(crate) fn has(&self, wanted: fn(&Self) -> bool) -> bool {
        wanted(self) || self.parts().into_iter().any(|part| part.has(wanted))
    }

    /// Without the initialisers that begin when a record makes a replica.
    pub(crate) fn without_late_beginnings(&self, in_replica: bool) -> Self {
        let within = |tree: &Self| Box::new(tree.without_late_beginnings(true));
        let here = |tree: &Self| Box::new(tree.without_late_beginnings(in_replica));
        match self {
            Self::Begin if in_replica => Self::Filter(6),
            Self::Series(a, b) => Self::Series(here(a), here(b)),
            Self::Choice(a, b) => Self::Choice(here(a), here(b)),
            Self::Star(body) => Self::Star(within(body)),
            Self::Split(body) => Self::Split(within(body)),
            Self::Range(body) => Self::Range(within(body)),
            Self::Loop(body) => Self::Loop(here(body)),
            Self::Net { declared, body } => Self::Net { declared: *declared, body: here(body) },
            other => other.clone(),
        }
    }

    pub(crate) fn program(&self, order: Order) -> String {
        let mut text = Text { order, nets: Vec::new() };
        let network = text.of(self, "", 0);
        text.define("main", self, true, &network);
        format!("{BOXES}{}", text.nets.concat())
    }
}

/// The text of a program in the making.
struct Text {
    order: Order,
    /// The nets that are defined, each after those that it names.
    nets: Vec<String>,
}

impl Text {
    fn define(&mut self, name: &str, tree: &Tree, declared: bool, body: &str) {
        let begins = if tree.has(|part| matches!(part, Tree::Begin)) { ", -> ..." } else { "" };
        let declared =
            if declared { format!(" ({{<n>, <k>}} -> ...{begins})") } else { String::new() };
        self.nets.push(format!("net {name}{declared} connect {body};\n"));
    }

    /// The network, so deep inside of others, where records have these counters and bounds as well.
    fn of(&mut self, tree: &Tree, around: &str, depth: usize) -> String {
        let doubled = match self.order {
            Order::All => true,
            Order::None => false,
            // As good as chance, and the same whenever the program is printed.
            Order::Some => format!("{tree:?}").len().is_multiple_of(2),
        };
        let twice = |mark: &str| if doubled { mark.repeat(2) } else { mark.to_owned() };
        match tree {
            Tree::Box(0) => "linger".to_owned(),
            Tree::Box(_) => "parts".to_owned(),
            Tree::Picky => "picky".to_owned(),
            Tree::Begin if around.is_empty() => format!("(begin {} [])", twice("|")),
            Tree::Begin => {
                format!("((begin .. [{{<n>, <k>}} -> {{<n>, <k>{around}}}]) {} [])", twice("|"))
            }
            Tree::Filter(which) => filter(*which).to_owned(),
            Tree::Cell => CELL.to_owned(),
            Tree::Series(a, b) => {
                format!("({} .. {})", self.of(a, around, depth), self.of(b, around, depth))
            }
            Tree::Choice(a, b) => format!(
                "([{{<n>}} -> if <n % 2 == 0> then {{<n>, <even>}} else {{<n>, <odd>}}] .. \
                 (([{{<even>}} -> {{}}] .. {}) {} ([{{<odd>}} -> {{}}] .. {})))",
                self.of(a, around, depth),
                twice("|"),
                self.of(b, around, depth)
            ),
            Tree::Star(body) => format!(
                "([{{<n>}} -> {{<n>, <i=abs n % 4>}}] .. \
                 (([{{<i>}} -> {{<up{depth}=i>}}] .. {} .. [{{<up{depth}>}} -> {{<i=up{depth} - 1>}}]) \
                 {} {{<i>}} if <i <= 0>) .. [{{<i>}} -> {{}}])",
                // What begins in a replica leaves it, lest there be a next one for ever.
                self.of(body, &format!("{around}, <up{depth}=1>"), depth + 1),
                twice("*")
            ),
            Tree::Split(body) => {
                format!("({} {} <k>)", self.of(body, around, depth), twice("!"))
            }
            Tree::Range(body) => format!(
                "([{{<n>}} -> {{<n>, <low{depth}=abs n % 2>, <high{depth}=abs n % 2 + 1>}}] .. \
                 ({} {} <low{depth}>:<high{depth}>) .. [{{<low{depth}>, <high{depth}>}} -> {{}}])",
                self.of(body, &format!("{around}, <low{depth}=0>, <high{depth}=1>"), depth + 1),
                twice("!")
            ),
            Tree::Loop(body) => format!(
                "([{{<n>}} -> {{<n>, <j=abs n % 3>}}] .. \
                 (([{{<j>}} -> {{<again{depth}=j>}}] .. {} .. \
                 [{{<again{depth}>}} -> {{<j=again{depth} - 1>}}]) {} {{<j>}} if <j > 0>) \
                 .. [{{<j>}} -> {{}}])",
                self.of(body, &format!("{around}, <again{depth}=2>"), depth + 1),
                twice("\\")
            ),
            Tree::Net { declared, body } => {
                let text = self.of(body, around, depth);
                let name = format!("inner{}", self.nets.len());
                self.define(&name, body, *declared, &text);
                name
            }
        }
    }
}

fn filter(which: u8) -> &'static str {
    match which {
        0 => "[{<n>} -> {<n=n + 1>}]",
        1 => "[{<n>} -> {<n=n * 3 % 101>}]",
        2 => "[{<n>} -> if <n % 3 == 0> then else {<n>}]",
        3 => "[{<n>} -> {<n=n - 7>}; {<n=n / 2>}]",
        4 => "[{<n>, <k>} -> {<n=n max k>, <k=(k + 1) % 4>}]",
        5 => "[{<n>} -> if <n > 10> then {<n=n - 10>}; {<n=3>} else {<n=-n>}]",
        6 => "[]",
        _ => "[{<n>} -> {<n=n ? abs n % 50 : 17>}]",
    }
}
