//! Communicating processes are traced as networks are: where each waits for its partner.

use super::{check, decode::Decoded, everywhere_for};
use kahn_csp::{self as csp, Accounting};
use kahn_observe::trace::{Level, Timeline, Trace};
use kahn_report::Report;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A pipeline of rendezvous, a buffered channel, a choice, a barrier, and processes that are joined.
async fn talk(scope: csp::Scope<'_>) -> u64 {
    let (mut out, mut numbers) = csp::channel::<u64>("numbers");
    let (mut doubled, mut results) = csp::buffered::<u64>("doubled", 3);
    let (mut stop, mut stopped) = csp::channel::<()>("stop");
    scope.spawn("source", async move {
        for number in 0..100 {
            out.send(number).await?;
        }
        Ok::<(), csp::Unsent<u64>>(())
    });
    scope.spawn("double", async move {
        while let Ok(number) = numbers.recv().await {
            if doubled.send(2 * number).await.is_err() {
                break;
            }
        }
    });
    scope.spawn("stopper", async move { stop.send(()).await });
    let (mut sum, mut is_stopped) = (0, false);
    loop {
        if is_stopped {
            match results.recv().await {
                Ok(number) => sum += number,
                Err(_) => return sum,
            }
            continue;
        }
        match csp::pri((stopped.recv(), results.recv())).await {
            csp::OneOf2::First(_) => is_stopped = true,
            csp::OneOf2::Second(Ok(number)) => sum += number,
            // The one that stops may not have run yet.
            csp::OneOf2::Second(Err(_)) => return stopped.recv().await.map_or(0, |()| sum),
        }
    }
}

fn traced(options: csp::Options, trace: Trace) -> (Timeline, Report) {
    let trace = Arc::new(trace);
    let options = options.accounting(Accounting::Timing).observer(Arc::clone(&trace));
    let run = csp::run(options, talk).expect("it ends well");
    assert_eq!(run.result, 9900);
    (trace.timeline(), run.report)
}

fn slices<'a>(decoded: &'a Decoded, name: &str) -> Vec<&'a super::decode::Slice> {
    decoded.processes()[name].iter().flat_map(|track| &track.slices).collect()
}

#[test]
fn communicating_processes_are_traced_with_the_times_of_the_report() {
    everywhere_for(|policy, workers, at| {
        let mut options = csp::Options::new().policy(kahn_laws::policy(policy));
        if let Some(workers) = workers {
            options = options.workers(workers);
        }
        let (timeline, report) = traced(options, Trace::new(Level::Schedule));
        assert_eq!(timeline.lost(), 0, "{at}");
        let decoded = check(&timeline, at);
        let names: Vec<_> = decoded.processes().into_keys().map(str::to_owned).collect();
        assert_eq!(names, ["double", "main", "source", "stopper"], "{at}");
        for process in &report.processes {
            let slices = slices(&decoded, process.name.as_str());
            let runs: Vec<_> = slices.iter().filter(|slice| slice.name == "runs").collect();
            if process.polls > 1 {
                assert_eq!(runs.len() as u64, process.polls, "{at}: {}", process.name);
            }
            let ran: u64 = runs.iter().map(|slice| slice.numbers["cpu ns"]).sum();
            let told = process.cpu_seconds.expect("it is timed");
            let told = Duration::from_secs_f64(told).as_nanos();
            assert_eq!(u128::from(ran), told, "{at}: {}", process.name);
        }
        let waits_of = |name| {
            let mut waits = BTreeMap::<_, Vec<_>>::new();
            for slice in slices(&decoded, name) {
                if slice.name.starts_with("waits") {
                    let by = slice.texts.get("ended by").cloned();
                    waits.entry(slice.name.clone()).or_default().extend(by);
                }
            }
            waits
        };
        for (name, at_channel, partners) in [
            ("source", "waits for a partner at numbers", &["double"][..]),
            ("stopper", "waits for a partner at stop", &["main"]),
            ("double", "waits for a partner at numbers", &["source"]),
        ] {
            let waits = waits_of(name);
            let ended_by = waits.get(at_channel).into_iter().flatten();
            assert!(ended_by.clone().all(|by| partners.contains(&&**by)), "{at}: {waits:?}");
        }
        // Of two that meet, the first to come waits for the other; one that is alone always does.
        if workers == Some(1) {
            let met = [waits_of("source"), waits_of("double")];
            let ended = met.iter().filter_map(|of| of.get("waits for a partner at numbers"));
            assert!(ended.flatten().count() > 50, "{at}: {met:?}");
        }
        let known = ["numbers", "doubled", "stop", "a choice", "a join"];
        let of_main = waits_of("main");
        let is_known = |wait: &String| {
            known.iter().any(|name| *wait == format!("waits for a partner at {name}"))
        };
        assert!(of_main.keys().all(is_known), "{at}: {of_main:?}");
    });
}

#[test]
fn what_is_lost_of_communicating_processes_is_counted() {
    let trace = Trace::new(Level::Schedule).events(16);
    let (timeline, _) = traced(csp::Options::new().workers(2), trace);
    assert!(timeline.lost() > 0);
    check(&timeline, "with a small ring");
}
