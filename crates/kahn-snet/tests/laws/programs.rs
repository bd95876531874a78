//! Programs that chance makes: every network in them takes `{<n>, <k>}` and gives the same.

use proptest::prelude::*;

/// A network.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// One of a few filters.
    Filter(u8),
    /// A synchro-cell over even and odd numbers; only where order is kept.
    Cell,
    Series(Box<Tree>, Box<Tree>),
    /// By whether the number is even.
    Choice(Box<Tree>, Box<Tree>),
    /// As often as the number says, up to three times.
    Star(Box<Tree>),
    Split(Box<Tree>),
    /// Up to twice more.
    Loop(Box<Tree>),
}

pub(crate) fn tree(ordered: bool) -> impl Strategy<Value = Tree> {
    let filter = (0_u8..8).prop_map(Tree::Filter);
    let leaf = prop_oneof![4 => filter.clone(), 1 => Just(Tree::Cell)];
    let leaf = if ordered { leaf.boxed() } else { filter.boxed() };
    leaf.prop_recursive(4, 12, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            3 => (boxed(), boxed()).prop_map(|(a, b)| Tree::Series(a, b)),
            2 => (boxed(), boxed()).prop_map(|(a, b)| Tree::Choice(a, b)),
            2 => boxed().prop_map(Tree::Star),
            2 => boxed().prop_map(Tree::Split),
            1 => boxed().prop_map(Tree::Loop),
        ]
    })
}

impl Tree {
    pub(crate) fn program(&self, ordered: bool) -> String {
        format!("net main ({{<n>, <k>}} -> ...) connect {};\n", self.text(ordered))
    }

    fn text(&self, ordered: bool) -> String {
        let twice = |mark: &str| if ordered { mark.repeat(2) } else { mark.to_owned() };
        match self {
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
    fn guarded(&self, ordered: bool, counter: &str) -> String {
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

/// Texts of tokens in any order.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "net",
        "box",
        "connect",
        "type",
        "typesig",
        "if",
        "then",
        "else",
        "a",
        "b",
        "main",
        "<t>",
        "<#b>",
        "{a}",
        "{<t>}",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "[|",
        "|]",
        "[]",
        ",",
        ";",
        ":",
        "->",
        "...",
        "..",
        "||",
        "|",
        "**",
        "*",
        "!!",
        "!",
        "\\",
        "\\\\",
        "@",
        "=",
        "==",
        "<",
        ">",
        "<=",
        ">=",
        "&&",
        "+",
        "-",
        "/",
        "%",
        "?",
        "#",
        "1",
        "0x1f",
        "// note\n",
        "/* note */",
        "\n",
        "<metadata> <default> <interface value=\"C\" /> </default> </metadata>",
        "<<< C | x >>>",
        "net main connect [{a} -> {b=a}];",
        "box f ((a) -> (b));",
        "net g connect f;",
    ];
    proptest::collection::vec(proptest::sample::select(WORDS), 0..40)
        .prop_map(|words| words.join(" "))
}
