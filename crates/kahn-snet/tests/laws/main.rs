//! Laws, on programs and inputs that chance makes.
//!
//! - printing then reading a program gives the same program, and printing it again the same text;
//! - a run gives what the reference interpreter gives: the same records, and for deterministic
//!   programs in the same order, for both runtimes and any number of workers;
//! - what comes out has a type that inference said it may have;
//! - no text and no bytes make a reader panic.

mod programs;
mod reference;
mod tree;
mod ways;

use kahn_snet::record::{Format, Record, RecordReader};
use kahn_snet::{Program, syntax};
use proptest::prelude::*;

use programs::{soup, tree};
use tree::{Order, Tree};
use ways::{Wanted, expected, outcome, ways};

fn lines(records: &[Record]) -> Vec<String> {
    records.iter().map(ToString::to_string).collect()
}

fn inputs() -> impl Strategy<Value = Vec<Record>> {
    let record = (-20_i64..40, 0_i64..3);
    let record = record.prop_map(|(n, k)| Record::new().tag("n", n).tag("k", k));
    proptest::collection::vec(record, 0..24)
}

/// Records of which one may be none that the program takes.
fn perhaps_foreign() -> impl Strategy<Value = Vec<Record>> {
    (inputs(), 0_usize..48).prop_map(|(mut input, at)| {
        if at < input.len() {
            input.insert(at, Record::new().tag("foreign", 1).tag("k", 1));
        }
        input
    })
}

fn compare(tree: &Tree, order: Order, input: &[Record]) -> Result<(), TestCaseError> {
    let wanted = Wanted::of(tree, order, input);
    prop_assume!(wanted.is_some());
    let source = tree.program(order);
    let program = Program::read("main.snet", source.clone());
    prop_assert!(program.is_valid(), "{source}\n{}", program.render(false));
    for way in ways() {
        let found = outcome(&program, input, way.clone());
        let wrong = wanted.as_ref().and_then(|wanted| wanted.differs(&found));
        prop_assert_eq!(wrong, None, "{:?}\n{}", way, source);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deterministic_programs_give_the_records_of_the_reference_in_its_order(
        tree in tree(false), input in inputs(),
    ) {
        compare(&tree, Order::All, &input)?;
    }

    #[test]
    fn deterministic_programs_that_fail_give_what_the_reference_gives_before(
        tree in tree(true), input in perhaps_foreign(),
    ) {
        compare(&tree, Order::All, &input)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_without_order_give_what_some_order_gives(
        tree in tree(true), input in perhaps_foreign(),
    ) {
        compare(&tree, Order::None, &input)?;
    }

    #[test]
    fn programs_with_some_order_give_what_some_order_gives(
        tree in tree(true), input in perhaps_foreign(),
    ) {
        compare(&tree, Order::Some, &input)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_comes_out_has_an_inferred_type(tree in tree(false), input in inputs()) {
        let source = tree.program(Order::All);
        let program = Program::read("main.snet", source.clone());
        let signature = program.signatures().last().expect("a net");
        let wanted = expected(&source, &input);
        prop_assume!(wanted.is_some());
        for record in wanted.unwrap_or_default().records {
            let variant = record.variant();
            let allowed = signature.maps.iter().any(|map| map.outputs.contains(&variant));
            prop_assert!(allowed, "{} is not in\n{}", variant, signature);
        }
    }

    #[test]
    fn printing_then_reading_is_the_identity(tree in tree(false), ordered in any::<bool>()) {
        let source = tree.program(if ordered { Order::All } else { Order::None });
        let printed = syntax::format(&source).expect("it is a program");
        prop_assert_eq!(
            syntax::parse(&printed).definitions, syntax::parse(&source).definitions, "{}", printed
        );
        prop_assert_eq!(syntax::format(&printed).expect("still a program"), printed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_front_end_panic(text in soup()) {
        let program = Program::read("main.snet", text.clone());
        let _ = program.render(false);
        if let Ok(printed) = syntax::format(&text) {
            prop_assert_eq!(
                &syntax::parse(&printed).definitions, &syntax::parse(&text).definitions,
                "{}\n----\n{}", text, printed
            );
            prop_assert_eq!(syntax::format(&printed).expect("still a program"), printed);
        }
    }

    #[test]
    fn no_characters_make_the_front_end_panic(text in any::<String>()) {
        let _ = Program::read("main.snet", text).render(false);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in [Format::Json, Format::Xml] {
            for record in RecordReader::new(format, bytes.as_slice()) {
                if record.is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written(
        a in any::<i64>(), real in any::<f64>(), text in ".*", n in any::<i64>(),
    ) {
        prop_assume!(!real.is_nan());
        let record = Record::new().field("a", a).field("r", real).field("s", text).tag("n", n);
        let line = record.to_string();
        prop_assert_eq!(line.parse::<Record>().expect("a record"), record, "{}", line);
    }
}

#[test]
fn the_reference_and_the_runtime_agree_on_a_program_with_everything() {
    let leaf = || Box::new(Tree::Filter(5));
    let pair = Tree::Series(Box::new(Tree::Cell), Box::new(Tree::Split(leaf())));
    let star = Tree::Star(Box::new(Tree::Choice(Box::new(pair), leaf())));
    let tree = Tree::Series(Box::new(star), Box::new(Tree::Loop(leaf())));
    let source = tree.program(Order::All);
    let input: Vec<Record> =
        (0..40).map(|n| Record::new().tag("n", n * 7 - 20).tag("k", n % 3)).collect();
    let wanted = expected(&source, &input).expect("few records").records;
    let program = Program::read("main.snet", source);
    assert!(!wanted.is_empty());
    for way in ways() {
        assert_eq!(
            lines(&outcome(&program, &input, way.clone()).records),
            lines(&wanted),
            "{way:?}"
        );
    }
}

#[test]
fn orders_inside_an_order_keep_it_for_more_records_than_a_worker_carries_at_once() {
    let source = "net main connect ([{<n>} -> {<n>, <p=1>}]
        .. ([{<n>, <p>} -> if <n <= 1> then {<r=n>, <p>}
            else {<n=n - 1>, <p=2 * p + 1>}; {<n=n - 2>, <p=2 * p>}] ** {<r>})
        .. ([{<r>, <p>} -> if <r <= 0> then {<e>, <p>}
            else {<r=r - 1>, <p=2 * p + 1>}; {<r=r - 2>, <p=2 * p>}] ** {<e>})) !! <k>;";
    let input: Vec<Record> = (0..14).map(|n| Record::new().tag("n", n).tag("k", n % 3)).collect();
    let wanted = expected(source, &input).expect("few records").records;
    let program = Program::read("main.snet", source);
    assert!(program.is_valid(), "{}", program.render(false));
    assert!(wanted.len() > 1000);
    for way in ways() {
        assert_eq!(
            lines(&outcome(&program, &input, way.clone()).records),
            lines(&wanted),
            "{way:?}"
        );
    }
}

#[test]
fn an_ordered_feedback_gives_its_body_records_in_the_order_of_a_sequential_run() {
    // The join of x=3 and y=2 sends x=2 back, which must meet y=4: the other way round it would be
    // the last of the two, and 42 would come out in its place, before 23.
    let source = "net main connect (([| {<x>}, {<y>} |] ** {<x>, <y>})
        .. [{<x>, <y>} -> if <y % 2 == 0> then {<x=y>}; {<r=10 * y + x>} else {<r=10 * y + x>}])
        \\\\ {<x>};";
    let program = Program::read("main.snet", source);
    assert!(program.is_valid(), "{}", program.render(false));
    let record = |(label, value): (&str, i64)| Record::new().tag(label, value);
    let input = [("x", 0), ("y", 1), ("y", 2), ("x", 3), ("y", 4)].map(record);
    for way in ways() {
        for _ in 0..20 {
            let output = outcome(&program, &input, way.clone());
            let results: Vec<i64> = output.records.iter().map(|record| record.tags["r"]).collect();
            assert_eq!(results, [10, 23, 42], "{way:?}");
        }
    }
}

#[test]
fn the_rest_of_what_fails_goes_on_until_the_failure_is_out() {
    // The first of the three goes round and meets in the cell what the third left there, which is behind
    // the second, of which the box fails behind what it emits.
    let source = "box picky ((<n>) -> (<n>));
        net main connect ((([{<n>} -> {<again>}; {<bad=n>}; {<c>, <y=2>}]
                || [{<again>} -> {<c>, <x=1>}])
            .. (([{<bad>} -> {<n=bad>}] .. picky .. [{<n>} -> {<r=n>}])
                || ([{<c>} -> {}] .. [| {<x>}, {<y>} |])
                || [{<again>} -> {<again>}])))
            \\\\ {<again>};";
    let input = [3, 4].map(|n| Record::new().tag("n", n));
    let program = Program::read("main.snet", source);
    assert!(program.is_valid(), "{}", program.render(false));
    let wanted = expected(source, &input).expect("few records");
    for way in ways() {
        for _ in 0..20 {
            let found = outcome(&program, &input, way.clone());
            let joined = r#"{"tags":{"x":1,"y":2}}"#;
            assert_eq!(lines(&found.records), [joined, r#"{"tags":{"r":4}}"#], "{way:?}");
            assert_eq!(lines(&found.records), lines(&wanted.records), "{way:?}");
            assert!(found.failed && wanted.failed, "{way:?}");
        }
    }
}
