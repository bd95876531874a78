//! Traces of MapReduce jobs, which are networks.

use super::{Trace, check, everywhere, traced};
use kahn::{Accounting, Network};
use kahn_mapreduce::{Job, Split};
use kahn_observe::trace::{self, Level};
use std::collections::BTreeSet;

#[test]
fn a_job_is_traced_with_its_maps_and_reducers() {
    everywhere(|options, at| {
        let mut network = Network::new();
        let lines = (0..300).map(|line| format!("to be or not {line}"));
        let parts = Split::new("lines", 2).batch(1).capacity(1).items(&mut network, lines);
        let counted = Job::new(
            "count",
            |line: String, out| {
                trace::mark("map", line.len() as u64);
                line.split(' ').for_each(|word| out.emit(word.to_owned(), 1_u64));
            },
            |_word, ones, out| {
                trace::mark("reduce", 0);
                out.emit(ones.sum::<u64>());
            },
        )
        .capacity(1)
        .on(&mut network, parts);
        let merged = counted.merge(&mut network, "merge");
        let all = network.collect("all", merged);
        let options = options.accounting(Accounting::Timing);
        let (timeline, report) = traced(network, options, Trace::new(Level::Messages));
        let words: u64 = all.take().into_iter().flatten().flat_map(Vec::from).map(|of| of.1).sum();
        assert_eq!(words, 1500, "{at}");
        let decoded = check(&timeline, at);
        let processes = decoded.processes();
        let told: BTreeSet<_> = processes.keys().copied().collect();
        let reported: BTreeSet<_> =
            report.processes.iter().map(|process| process.name.as_str()).collect();
        assert_eq!(told, reported, "{at}");
        for role in ["lines", "count map", "count reduce", "merge"] {
            assert!(told.iter().any(|name| name.starts_with(role)), "{at}: {role} in {told:?}");
        }
        // Whatever the schedule, something comes too early: a batch, or the process that takes it.
        let slices = processes.values().flatten().flat_map(|track| &track.slices);
        let mut waits = slices.filter_map(|slice| slice.texts.get("channel"));
        assert!(
            waits.any(|channel| channel.starts_with("lines") || channel.starts_with("count")),
            "{at}"
        );
        // A reducer marks its phases by itself.
        for (name, tracks) in &processes {
            let marks = tracks.iter().flat_map(|track| &track.instants);
            let phases: Vec<_> = marks
                .filter(|(_, label)| ["sorts", "reduces", "reduce"].contains(&&**label))
                .map(|(_, label)| label.as_str())
                .collect();
            match &phases[..] {
                ["sorts", "reduces", closures @ ..] => {
                    assert!(name.starts_with("count reduce"), "{at}: {name}");
                    assert!(closures.iter().all(|&label| label == "reduce"), "{at}: {phases:?}");
                }
                phases => {
                    assert!(phases.is_empty() && !name.starts_with("count reduce"), "{at}: {name}");
                }
            }
        }
        // What closures mark stands on the tracks of the processes that call them, inside their slices.
        for (name, tracks) in &processes {
            let mut marked = BTreeSet::new();
            for track in tracks {
                for (when, label) in &track.instants {
                    if ["map", "reduce"].contains(&&**label) {
                        marked.insert(label.as_str());
                        let mut runs = track.slices.iter().filter(|slice| slice.name == "runs");
                        assert!(
                            runs.any(|slice| slice.from <= *when && *when <= slice.until),
                            "{at}: {name} at {when}"
                        );
                    }
                }
            }
            let role = ["map", "reduce"]
                .into_iter()
                .filter(|role| name.starts_with(&format!("count {role}")));
            assert!(marked.into_iter().eq(role), "{at}: {name}");
        }
        for channel in decoded.under("channels") {
            assert!(channel.counts.iter().all(|&(_, count)| count >= 0), "{at}: {}", channel.name);
        }
    });
}
