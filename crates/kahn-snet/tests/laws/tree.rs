//! Programs as trees: every network in them takes `{<n>, <k>}` and gives the same.
//!
//! Left out is, and `docs/snet.md` says so: synchro-cells where a single combinator lets records
//! overtake each other, for what they join is the schedule's choice then; and initialisers inside of
//! stars, feedbacks and splits over a range, whose counters and bounds their records would lack.

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
}

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
    /// Replaces initialisers.
    pub(crate) fn without_initialisers(self) -> Self {
        let inner = |tree: Box<Self>| Box::new(tree.without_initialisers());
        match self {
            Self::Begin => Self::Box(1),
            Self::Series(a, b) => Self::Series(inner(a), inner(b)),
            Self::Choice(a, b) => Self::Choice(inner(a), inner(b)),
            Self::Split(body) => Self::Split(inner(body)),
            // Inner ones have none already.
            other => other,
        }
    }

    fn begins(&self) -> bool {
        match self {
            Self::Begin => true,
            Self::Series(a, b) | Self::Choice(a, b) => a.begins() || b.begins(),
            Self::Star(body) | Self::Split(body) | Self::Range(body) | Self::Loop(body) => {
                body.begins()
            }
            Self::Filter(_) | Self::Cell | Self::Box(_) | Self::Picky => false,
        }
    }

    pub(crate) fn program(&self, order: Order) -> String {
        let begins = if self.begins() { ", -> ..." } else { "" };
        let network = self.text(order);
        format!("{BOXES}net main ({{<n>, <k>}} -> ...{begins}) connect {network};\n")
    }

    fn text(&self, ordered: Order) -> String {
        let doubled = match ordered {
            Order::All => true,
            Order::None => false,
            // As good as chance, and the same whenever the program is printed.
            Order::Some => format!("{self:?}").len().is_multiple_of(2),
        };
        let twice = |mark: &str| if doubled { mark.repeat(2) } else { mark.to_owned() };
        match self {
            Self::Box(0) => "linger".to_owned(),
            Self::Box(_) => "parts".to_owned(),
            Self::Picky => "picky".to_owned(),
            Self::Begin => format!("(begin {} [])", twice("|")),
            Self::Filter(which) => match which {
                0 => "[{<n>} -> {<n=n + 1>}]",
                1 => "[{<n>} -> {<n=n * 3 % 101>}]",
                2 => "[{<n>} -> if <n % 3 == 0> then else {<n>}]",
                3 => "[{<n>} -> {<n=n - 7>}; {<n=n / 2>}]",
                4 => "[{<n>, <k>} -> {<n=n max k>, <k=(k + 1) % 4>}]",
                5 => "[{<n>} -> if <n > 10> then {<n=n - 10>}; {<n=3>} else {<n=-n>}]",
                6 => "[]",
                _ => "[{<n>} -> {<n=n ? abs n % 50 : 17>}]",
            }
            .to_owned(),
            Self::Cell => "[| {<n>} if <n % 2 == 0>, {<n>} if <n % 2 != 0> |]".to_owned(),
            Self::Series(a, b) => format!("({} .. {})", a.text(ordered), b.text(ordered)),
            Self::Choice(a, b) => format!(
                "([{{<n>}} -> if <n % 2 == 0> then {{<n>, <even>}} else {{<n>, <odd>}}] .. \
                 (([{{<even>}} -> {{}}] .. {}) {} ([{{<odd>}} -> {{}}] .. {})))",
                a.text(ordered),
                twice("|"),
                b.text(ordered)
            ),
            Self::Star(body) => format!(
                "([{{<n>}} -> {{<n>, <i=abs n % 4>}}] .. \
                 (([{{<i>}} -> {{<up=i>}}] .. {} .. [{{<up>}} -> {{<i=up - 1>}}]) {} {{<i>}} if <i <= 0>) \
                 .. [{{<i>}} -> {{}}])",
                body.guarded(ordered, "i"),
                twice("*")
            ),
            Self::Split(body) => format!("({} {} <k>)", body.text(ordered), twice("!")),
            Self::Range(body) => {
                let text = body.text(ordered);
                // Unlike those of inner ones.
                let depth = text.matches("<low").count();
                format!(
                    "([{{<n>}} -> {{<n>, <low{depth}=abs n % 2>, <high{depth}=abs n % 2 + 1>}}] .. \
                     ({text} {} <low{depth}>:<high{depth}>) .. \
                     [{{<low{depth}>, <high{depth}>}} -> {{}}])",
                    twice("!")
                )
            }
            Self::Loop(body) => format!(
                "([{{<n>}} -> {{<n>, <j=abs n % 3>}}] .. \
                 (([{{<j>}} -> {{<again=j>}}] .. {} .. [{{<again>}} -> {{<j=again - 1>}}]) {} {{<j>}} if <j > 0>) \
                 .. [{{<j>}} -> {{}}])",
                body.guarded(ordered, "j"),
                twice("\\")
            ),
        }
    }

    /// The network, with the counters of inner stars and loops kept apart from those around.
    fn guarded(&self, ordered: Order, counter: &str) -> String {
        let (from, to) = match counter {
            "i" => ("up", "outer_up"),
            _ => ("again", "outer_again"),
        };
        let text = self.text(ordered);
        let deeper = text.matches(&format!("<{to}")).count();
        let to = format!("{to}{deeper}");
        format!(
            "([{{<{from}>}} -> {{<{to}={from}>}}] .. {text} .. [{{<{to}>}} -> {{<{from}={to}>}}])"
        )
    }
}
