//! Runs that fail: what they still write, what they say, and that both hold for every way to run.

mod common;

use common::program;
use kahn_snet::Program;
use kahn_snet::boxes::{Boxes, Emitter, Tag};
use kahn_snet::record::{ReadError, Record};
use kahn_snet::runtime::{Failure, Handle, Options, Ready, RunError, Runtime, Source, run};

/// What is written in every way to run, which must be the same, and what is said of the failure.
fn written(program: &Program, boxes: &Boxes, input: &[Record]) -> (Vec<String>, String) {
    let mut all = Vec::new();
    for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
        for workers in [1, 2, 7] {
            for _ in 0..10 {
                let options = Options { workers, runtime: runtime.clone(), ..Options::default() };
                let mut output = Vec::new();
                let source = Ready(input.iter().cloned());
                let net = program.net(None).expect("a net");
                let ran = run(program, net, boxes, &options, source, &mut output);
                let failure = ran.expect_err("it fails").to_string();
                let output: Vec<String> = output.iter().map(ToString::to_string).collect();
                all.push((output, failure, format!("{workers} workers, {runtime:?}")));
            }
        }
    }
    let (output, failure, _) = all[0].clone();
    for (found, said, way) in all {
        assert_eq!((found, said), (output.clone(), failure.clone()), "{way}");
    }
    (output, failure)
}

fn tags(name: &str, values: impl IntoIterator<Item = i64>) -> Vec<String> {
    values.into_iter().map(|value| Record::new().tag(name, value).to_string()).collect()
}

fn numbers(count: i64) -> Vec<Record> {
    common::numbers(count).collect()
}

#[test]
fn all_that_is_complete_before_the_record_that_fails_is_written_and_nothing_else() {
    let program = program(
        "box slow ((<n>) -> (<n>)); box picky ((<n>) -> (<n>));
         net main connect slow .. picky .. slow;",
    );
    let mut boxes = Boxes::of(&program);
    let slow = |n: Tag, out: &mut Emitter<'_>| {
        (0..n.0 % 5 * 20).for_each(|_| std::thread::yield_now());
        out.emit(1, (n,))
    };
    boxes.add("slow", slow).expect("it fits");
    let picky = |n: Tag, out: &mut Emitter<'_>| {
        out.emit(1, (Tag(-n.0),))?;
        if n.0 >= 50 { Err(format!("{} is too much", n.0).into()) } else { Ok(()) }
    };
    boxes.add("picky", picky).expect("it fits");
    let (output, failure) = written(&program, &boxes, &numbers(200));
    // What the record itself emitted before it failed is complete, too.
    assert_eq!(output, tags("n", (0..=50).map(|n| -n)));
    assert!(failure.starts_with("box `picky` failed: 50 is too much"), "{failure}");
}

#[test]
fn what_a_record_became_behind_the_part_of_it_that_fails_is_not_written() {
    // Each becomes three, and the second of record 50 fails.
    let program = program(
        "net main connect [{<n>} -> {<n>, <k=0>}; {<n>, <k=1>}; {<n>, <k=2>}]
            .. [{<n>, <k>} -> {<n=n * 3 + k + 0 / ((n - 50) * (n - 50) + (k - 1) * (k - 1))>}];",
    );
    let (output, failure) = written(&program, &Boxes::of(&program), &numbers(100));
    assert_eq!(output, tags("n", 0..=150));
    assert!(failure.contains(r#""n":50"#), "{failure}");
}

#[test]
fn of_several_records_that_fail_the_first_of_a_sequential_run_counts() {
    // Record 20 fails early on its way, record 19 late.
    let program = program(
        "net main connect [{<n>} -> if <20 / (20 - n) == 0> then {<n>} else {<n>}]
            .. ([{<n>} -> {<n>, <c=5>}]
                .. ([{<n>, <c>} -> {<n>, <c=c - 1>}] ** {<c>} if <c <= 0>))
            .. [{<n>} -> if <19 / (19 - n) == 0> then {<n>} else {<n>}];",
    );
    let (output, failure) = written(&program, &Boxes::of(&program), &numbers(100));
    assert_eq!(output.len(), 19);
    assert!(failure.contains(r#""n":19"#), "{failure}");
}

#[test]
fn a_failure_inside_of_every_doubled_combinator_leaves_what_comes_before_it() {
    // The second record that 3 becomes in the feedback fails, behind the first and its own.
    let program = program(
        "net main connect (([{<n>} -> if <n < 10> then {<n=n + 10>}; {<n=n + 20>} else {<n>}]
            .. ([{<n>, <k>} -> {<n=n + 0 / (n - 23)>, <k>}] || [{<n>} -> {<n>}])
            ) \\\\ {<n>} if <n < 10>) !! <k>;",
    );
    let input: Vec<Record> = (0..8).map(|n| Record::new().tag("n", n).tag("k", n % 2)).collect();
    let (output, failure) = written(&program, &Boxes::of(&program), &input);
    let wanted: Vec<String> = [(0, 10), (0, 20), (1, 11), (1, 21), (0, 12), (0, 22), (1, 13)]
        .map(|(k, n)| Record::new().tag("n", n).tag("k", k).to_string())
        .into();
    assert_eq!(output, wanted);
    assert!(failure.starts_with("a tag is divided by zero"), "{failure}");
}

#[test]
fn a_record_that_fails_leaves_those_before_it_also_where_nothing_keeps_order() {
    let program = program(
        "box slow ((<s>) -> (<s>)); box quick ((<q>) -> (<q>));
         net main connect slow | quick;",
    );
    let mut boxes = Boxes::of(&program);
    let slow = |s: Tag, out: &mut Emitter<'_>| {
        (0..1000).for_each(|_| std::thread::yield_now());
        out.emit(1, (s,))
    };
    boxes.add("slow", slow).expect("it fits");
    boxes.add("quick", |_: Tag, _: &mut Emitter<'_>| Err("no".into())).expect("it fits");
    let mut input: Vec<Record> = (0..5).map(|s| Record::new().tag("s", s)).collect();
    input.push(Record::new().tag("q", 1));
    let (output, _) = written(&program, &boxes, &input);
    assert_eq!(output, tags("s", 0..5));
}

/// Records, and then what is none.
struct Broken(i64);

impl Source for Broken {
    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.0 += 1;
        let error = || ReadError { line: 31, column: 1, problem: "no record".to_owned() };
        Some(if self.0 > 30 { Err(error()) } else { Ok(Record::new().tag("n", self.0)) })
    }

    fn is_ready(&self) -> bool {
        true
    }
}

#[test]
fn all_that_comes_before_a_malformed_record_is_written() {
    let program = program("net main connect [{<n>} -> {<n>}] ** {<n>} if <n > 0>;");
    let net = program.net(None).expect("a net");
    for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
        for workers in [1, 2, 7] {
            let options = Options { workers, runtime: runtime.clone(), ..Options::default() };
            let mut output: Vec<Record> = Vec::new();
            let boxes = Boxes::of(&program);
            let ran = run(&program, net, &boxes, &options, Broken(0), &mut output);
            let failure = ran.expect_err("it fails").to_string();
            assert_eq!(failure, "line 31, column 1: no record");
            assert_eq!(output.len(), 30, "{workers} workers, {runtime:?}");
        }
    }
}

#[test]
fn a_record_that_the_net_does_not_take_ends_the_run_and_the_label_that_was_meant_is_named() {
    // Declared, and a field where a tag is wanted.
    let declared = program("net main ({<n>} -> ...) connect [];");
    let input = [Record::new().tag("n", 1), Record::new().field("n", 2)];
    let (output, failure) = written(&declared, &Boxes::of(&declared), &input);
    assert_eq!(output, tags("n", [1]));
    assert!(failure.contains("it has no `<n>`; is `n` meant to be it?"), "{failure}");

    // Inferred; and one that entered would go round for ever.
    let state = program(
        "net main connect ([| {<sum>}, {<add>} |] .. (step || [])) ** {<now>};
         net step connect [{<sum>, <add>} -> {<sum=sum + add>}; {<now=sum + add>}];",
    );
    let add = |n| Record::new().tag("add", n);
    let input = [Record::new().tag("sum", 0), add(5), add(6), Record::new().tag("ad", 7), add(8)];
    let (output, failure) = written(&state, &Boxes::of(&state), &input);
    assert_eq!(output, tags("now", [5, 11]));
    let said: Vec<&str> = failure.lines().collect();
    assert_eq!(
        said[0],
        "net `main` does not take record 4 of the input: it has no `<add>`; is `<ad>` meant to be \
         it?"
    );
    assert_eq!(said[1], r#"   record: {"tags":{"ad":7}}"#);
}

#[test]
fn a_record_that_an_inner_net_does_not_declare_ends_the_run_in_both_runtimes() {
    // Once the cell has fired, what it would have kept goes through it, as it is.
    let program = program(
        "net inner ({<a>, <b>} -> ...) connect [];
         net main connect [| {<a>}, {<b>} |] .. inner;",
    );
    let tag = |label: &str, value| Record::new().tag(label, value);
    let input = [tag("a", 1), tag("b", 2), tag("a", 3), tag("a", 4)];
    let (output, failure) = written(&program, &Boxes::of(&program), &input);
    assert_eq!(output, [tag("a", 1).tag("b", 2).to_string()]);
    let said: Vec<&str> = failure.lines().collect();
    assert_eq!(said[0], "net `inner` does not take a record that comes to it: it has no `<b>`");
    assert_eq!(said[1], r#"   record: {"tags":{"a":3}}"#);
}

#[test]
fn a_run_that_is_stopped_says_so_and_writes_no_more_than_had_come() {
    let program = program("net main connect [{<n>} -> {<n=n + 1>}];");
    let (boxes, net) = (Boxes::of(&program), program.net(None).expect("a net"));
    for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
        for workers in [1, 2, 7] {
            let handle = Handle::new();
            let options = Options { workers, runtime: runtime.clone(), ..Options::default() };
            let options = Options { handle: Some(handle.clone()), ..options };
            let stopped = |stop: Handle| {
                let input = (0..50_000).map(move |n| {
                    if n == 300 {
                        stop.stop();
                    }
                    Record::new().tag("n", n)
                });
                let mut output = Vec::<Record>::new();
                let ran = run(&program, net, &boxes, &options, Ready(input), &mut output);
                let is_stopped = |why: &Failure| matches!(why, Failure::Stopped);
                assert!(matches!(ran, Err(RunError::Failed(why)) if is_stopped(&why)));
                output.iter().map(ToString::to_string).collect::<Vec<_>>()
            };
            let output = stopped(handle.clone());
            assert!(output.len() <= 300, "{workers} workers, {runtime:?}");
            assert_eq!(output, tags("n", (1..).take(output.len())));
            assert_eq!(stopped(handle), Vec::<String>::new(), "it does not begin");
        }
    }
}
