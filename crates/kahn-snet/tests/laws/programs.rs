//! Programs and texts that chance makes.

use proptest::prelude::*;

use crate::tree::{Order, Tree};

/// Networks without boxes that fail.
pub(crate) fn tree(order: Order) -> impl Strategy<Value = Tree> {
    network(order, false)
}

/// Networks with boxes that fail for some numbers.
pub(crate) fn failing_tree(order: Order) -> impl Strategy<Value = Tree> {
    network(order, true)
}

fn network(order: Order, fails: bool) -> impl Strategy<Value = Tree> {
    let filter = (0_u8..8).prop_map(Tree::Filter);
    let stateless = prop_oneof![
        8 => filter,
        3 => (0_u8..2).prop_map(Tree::Box),
        1 => Just(Tree::Begin),
        1 => Just(if fails { Tree::Picky } else { Tree::Box(0) }),
    ];
    let leaf = if order == Order::All {
        prop_oneof![4 => stateless, 1 => Just(Tree::Cell)].boxed()
    } else {
        stateless.boxed()
    };
    leaf.prop_recursive(4, 12, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            3 => (boxed(), boxed()).prop_map(|(a, b)| Tree::Series(a, b)),
            2 => (boxed(), boxed()).prop_map(|(a, b)| Tree::Choice(a, b)),
            2 => boxed().prop_map(|body| Tree::Star(Box::new(body.without_initialisers()))),
            2 => boxed().prop_map(Tree::Split),
            1 => boxed().prop_map(|body| Tree::Range(Box::new(body.without_initialisers()))),
            2 => boxed().prop_map(|body| Tree::Loop(Box::new(body.without_initialisers()))),
        ]
    })
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
