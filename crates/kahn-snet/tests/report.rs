//! What a report says of a run, in both runtimes.

use kahn_snet::Program;
use kahn_snet::boxes::{Boxes, Emitter, Tag};
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, Report, Runtime, run};

const NETWORK: Runtime = Runtime::Network { policy: None };

fn report(source: &str, input: &[&str], runtime: Runtime) -> Report {
    let program = Program::read("main.snet", source);
    assert!(program.is_valid(), "{}", program.render(false));
    let net = program.net(None).expect("a net");
    let records = input.iter().map(|line| line.parse::<Record>().expect("a record"));
    let options = Options { runtime, workers: 2, ..Options::default() };
    let mut output = Vec::new();
    run(&program, net, &Boxes::of(&program), &options, Ready(records), &mut output)
        .expect("it runs")
}

#[test]
fn a_run_is_marked_if_records_may_overtake_each_other() {
    let step = "[{<n>} -> if <n > 0> then {<n=n - 1>} else {<done>}]";
    // The network, and whether workers and processes let records overtake.
    let cases = [
        (format!("[{{<n>}} -> {{<n>}}] .. {step}"), false, false),
        ("[| {<n>}, {<m>} |] * {<n>, <m>}".to_owned(), false, false),
        // A worker carries a record through a choice; processes are overtaken.
        ("[{<n>} -> {<n>}] | [{<n>, <m>} -> {<n>}]".to_owned(), false, true),
        ("[{<n>} -> {<n>}] || [{<n>, <m>} -> {<n>}]".to_owned(), false, false),
        (format!("{step} * {{<done>}}"), true, true),
        (format!("{step} ** {{<done>}}"), false, false),
        (format!("({step} * {{<done>}}) !! <n>"), true, false),
        (format!("{step} \\ {{<n>}}"), true, true),
        (format!("{step} \\\\ {{<n>}}"), false, false),
    ];
    for (network, front, processes) in cases {
        let source = format!("net main connect {network};");
        let input = [r#"{"tags":{"n":2}}"#];
        for (runtime, wanted) in [(Runtime::Front, front), (NETWORK, processes)] {
            let report = report(&source, &input, runtime.clone());
            assert_eq!(report.chooses, wanted, "{network}, {runtime:?}");
            let told = report.to_string().contains("may depend on the schedule");
            assert_eq!(told, wanted, "{network}, {runtime:?}");
        }
    }
}

#[test]
fn a_cell_that_still_waits_is_named_with_the_replicas_it_lies_in() {
    let source = "net main connect (cell ! <b>) ! <a>; net cell connect [| {x}, {y} |];";
    let input = [r#"{"fields":{"x":1},"tags":{"a":-7,"b":3}}"#];
    let wanted = "synchro-cell [| {x}, {y} |] in net `cell` at <a> = -7, <b> = 3 \
                  holds {\"fields\":{\"x\":1},\"tags\":{\"a\":-7,\"b\":3}}";
    for runtime in [Runtime::Front, NETWORK] {
        assert_eq!(report(source, &input, runtime).half_filled, [wanted]);
    }
    let source = "net main connect [| {x}, {y} |] ! <a>:<b>;";
    let input = [r#"{"fields":{"x":1},"tags":{"a":4,"b":5}}"#];
    for runtime in [Runtime::Front, NETWORK] {
        let found = report(source, &input, runtime).half_filled;
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("at <a>:<b> = 4 holds"), "{found:?}");
        assert!(found[1].contains("at <a>:<b> = 5 holds"), "{found:?}");
    }
}

#[test]
fn a_cell_that_still_waits_is_named_with_the_stage_it_lies_in() {
    // The first replica fires; the record that it lets through waits in the second.
    let star = "net main connect ([| {sum}, {add} |] .. ([{sum, add} -> {sum=add}] | [])) * {now};";
    let zipper = "net main connect [| {sum}, {add} |] * {sum, add};";
    let both = [r#"{"fields":{"sum":1}}"#, r#"{"fields":{"add":2}}"#];
    let late = r#"{"fields":{"add":3}}"#;
    for runtime in [Runtime::Front, NETWORK] {
        let found = report(star, &both, runtime.clone()).half_filled;
        let wanted = "at stage 2 holds {\"fields\":{\"sum\":2}}";
        assert!(found.len() == 1 && found[0].ends_with(wanted), "{found:?}");
        let found = report(zipper, &[both[0], both[1], late], runtime).half_filled;
        let wanted = "at stage 2 holds {\"fields\":{\"add\":3}}";
        assert!(found.len() == 1 && found[0].ends_with(wanted), "{found:?}");
    }
}

#[test]
fn the_records_that_waited_are_told_in_both_runtimes() {
    let source = "box slow ((<n>) -> (<n>)); net main connect slow;";
    let program = Program::read("main.snet", source);
    let net = program.net(None).expect("a net");
    let mut boxes = Boxes::of(&program);
    let pass = |n: Tag, out: &mut Emitter| out.emit(1, (n,));
    boxes.add("slow", pass).expect("it is declared");
    for runtime in [Runtime::Front, NETWORK] {
        for workers in [1, 2] {
            let records = (0..100).map(|n| Record::new().tag("n", n));
            let options = Options { runtime: runtime.clone(), workers, ..Options::default() };
            let mut output = Vec::new();
            let report = run(&program, net, &boxes, &options, Ready(records), &mut output);
            let report = report.expect("it runs");
            let slow = &report.components[0];
            assert_eq!((slow.name.as_str(), slow.records), ("box `slow`", 100));
            assert!(slow.waited > 0, "{runtime:?}, {workers}: {report}");
        }
    }
}
