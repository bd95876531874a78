//! Programs and texts that chance makes.

use proptest::prelude::*;

use crate::tree::Tree;

/// Networks; with boxes that fail for some numbers, if `fails`.
pub(crate) fn tree(fails: bool) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        8 => (0_u8..8).prop_map(Tree::Filter),
        3 => (0_u8..2).prop_map(Tree::Box),
        1 => Just(Tree::Begin),
        1 => Just(if fails { Tree::Picky } else { Tree::Box(0) }),
        2 => Just(Tree::Cell),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            3 => (boxed(), boxed()).prop_map(|(a, b)| Tree::Series(a, b)),
            2 => (boxed(), boxed()).prop_map(|(a, b)| Tree::Choice(a, b)),
            2 => boxed().prop_map(Tree::Star),
            2 => boxed().prop_map(Tree::Split),
            1 => boxed().prop_map(Tree::Range),
            2 => boxed().prop_map(Tree::Loop),
            2 => (any::<bool>(), boxed()).prop_map(|(declared, body)| Tree::Net { declared, body }),
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
