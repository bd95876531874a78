//! What a report says of a run, in both runtimes.

use kahn_snet::Program;
use kahn_snet::boxes::Boxes;
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
