//! S-Net programs are traced as the networks that they are: components by their names, records as messages.

use super::{check, decode::Decoded, everywhere_for};
use kahn_observe::trace::{Level, Timeline, Trace};
use kahn_snet::Program;
use kahn_snet::boxes::{Boxes, Emitter, Tag};
use kahn_snet::record::Record;
use kahn_snet::runtime::{Observed, Options, Ready, Report, Runtime, run};
use std::sync::Arc;

/// Filters, a box, a choice that keeps order, a star with replicas, a split, and where their streams meet.
const PROGRAM: &str = "
    box twice ((<n>) -> (<n>));
    net main connect
        [{<n>} -> {<n=n + 1>}] .. twice
        .. ([{<n>} -> {<n>}] || [{<n>, <m>} -> {<n>}])
        .. ([{<n>} -> if <n > 0> then {<n=n - 8>} else {<n>, <done>}] * {<done>})
        .. [{<n>} -> {<n>}] ! <n>;
";

const RECORDS: i64 = 40;

fn traced(options: Options, trace: Trace) -> (Timeline, Report) {
    let trace = Arc::new(trace);
    let program = Program::read("main.snet", PROGRAM);
    assert!(program.is_valid(), "{}", program.render(false));
    let mut boxes = Boxes::of(&program);
    let twice = |Tag(n): Tag, out: &mut Emitter| out.emit(1, (Tag(2 * n),));
    boxes.add("twice", twice).expect("it is declared");
    let options = Options { observer: Some(Observed(Arc::clone(&trace) as _)), ..options };
    let input = (0..RECORDS).map(|n| Record::new().tag("n", n));
    let (net, mut output) = (program.net(None).expect("a net"), Vec::<Record>::new());
    let report = run(&program, net, &boxes, &options, Ready(input), &mut output);
    let report = report.expect("it ends well");
    assert_eq!(output.len(), 40);
    (trace.timeline(), report)
}

/// What the channels of this name have taken in.
fn sent(decoded: &Decoded, name: &str) -> i64 {
    let tracks = decoded.under("channels").filter(|track| track.name == name);
    let grown = |counts: &[(u64, i64)]| -> i64 {
        let before = [0].into_iter().chain(counts.iter().map(|&(_, count)| count));
        before.zip(counts).map(|(last, &(_, count))| (count - last).max(0)).sum()
    };
    tracks.map(|track| grown(&track.counts)).sum()
}

#[test]
fn components_are_traced_by_name_and_records_as_messages() {
    everywhere_for(|policy, workers, at| {
        let runtime = Runtime::Network { policy: Some(kahn_laws::policy(policy)) };
        for workers in workers.map_or(vec![1], |workers| vec![workers, 8]) {
            let at = format!("{at}, of which {workers}");
            let options = Options { runtime: runtime.clone(), workers, ..Options::default() };
            let (timeline, report) = traced(options, Trace::new(Level::Messages));
            assert_eq!(timeline.lost(), 0, "{at}");
            let decoded = check(&timeline, &at);
            let processes = decoded.processes();
            for wanted in [
                "input",
                "output",
                "box `twice`",
                "choice in net `main`",
                "collector of choice in net `main`",
                "filter [{<n>} -> …] in net `main`",
                "filter [{<n>} -> …] in net `main` (2)",
                "star * {<done>} in net `main`",
                "star * {<done>} in net `main` at stage 2",
                "filter [{<n>} -> …] in net `main` (3) at stage 1",
                "split ! <n> in net `main`",
                "filter [{<n>} -> …] in net `main` (4) at <n> = 0",
            ] {
                assert!(processes.contains_key(wanted), "{at}: {wanted} in {:?}", processes.keys());
            }
            // What comes to a component is counted by it, and by the messages of its stream.
            let counted = |name: &str| {
                let component = report.components.iter().find(|component| component.name == name);
                component.map(|component| component.records)
            };
            for name in ["box `twice`", "choice in net `main`", "split ! <n> in net `main`"] {
                assert_eq!(counted(name), Some(40), "{at}: {name}");
                // The clock is read after a publication: on several workers a message may be taken, by the clock,
                // before it was sent, and then a channel is never seen to hold it.
                let sent = sent(&decoded, name);
                let is_right = if workers == 1 { sent == 40 } else { (1..=40).contains(&sent) };
                assert!(is_right, "{at}: {name}: {sent}");
            }
            for track in decoded.under("channels") {
                let last = track.counts.last().map_or(0, |&(_, count)| count);
                assert_eq!(last, 0, "{at}: {} is empty", track.name);
            }
            let of_box = processes["box `twice`"].iter().flat_map(|track| &track.slices);
            let waits = of_box.filter(|slice| slice.name.starts_with("waits for a message"));
            for wait in waits {
                assert_eq!(wait.texts["channel"], "box `twice`", "{at}");
                assert!(wait.numbers["message"] <= 40, "{at}: {wait:?}");
            }
        }
    });
}

#[test]
fn what_is_lost_of_a_program_is_counted() {
    let options =
        Options { runtime: Runtime::Network { policy: None }, workers: 2, ..Options::default() };
    let (timeline, _) = traced(options, Trace::new(Level::Messages).events(16));
    assert!(timeline.lost() > 0);
    check(&timeline, "with a small ring");
}
