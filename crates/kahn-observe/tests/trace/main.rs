//! Laws of traces, in every schedule, by a reader of their files that shares nothing with the crate.

mod communicating;
mod decode;
mod jobs;
mod records;
mod stream;

use self::decode::{Decoded, decode};
use kahn::policy::Threads;
use kahn::{Accounting, Network, Options, Report, RunError};
use kahn_laws::add_every_kind;
use kahn_observe::trace::{self, Level, Timeline, Trace};
use kahn_policies::POLICIES;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const MESSAGES: u64 = 300;

/// A pipeline with an ordered farm, a blocking process, a channel made at run time, a ring that grows and a
/// process that is pruned.
fn network() -> Network<'static> {
    network_of(MESSAGES)
}

fn network_of(messages: u64) -> Network<'static> {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("source", out, async move |mut out| {
        for number in 0..messages {
            if number % 100 == 0 {
                trace::mark("hundred", number);
            }
            out.send(number).await;
        }
    });
    let squares = network.ordered_map("square", numbers, 3, 8, |number| number * number);
    add_every_kind(&mut network, squares);
    network
}

fn everywhere(test: impl Fn(Options, &str)) {
    for entry in POLICIES {
        let pairs: &[(usize, u32)] = match entry.threads() {
            Threads::AsAsked => &[(1, 1), (1, 64), (2, 2), (3, 1), (4, 64)],
            _ => &[(1, 1), (1, 64)],
        };
        for &(workers, capacity) in pairs {
            let options = Options::new()
                .policy(kahn_laws::policy(entry.name()))
                .workers(workers)
                .capacity(capacity);
            test(options, &format!("{}, {workers} workers, capacity {capacity}", entry.name()));
        }
    }
}

/// The same for another kind of network: policy, and workers unless the policy decides.
fn everywhere_for(test: impl Fn(&str, Option<usize>, &str)) {
    for entry in POLICIES {
        let workers: &[Option<usize>] = match entry.threads() {
            Threads::AsAsked => &[Some(1), Some(2), Some(3)],
            _ => &[None],
        };
        for &workers in workers {
            test(entry.name(), workers, &format!("{}, {workers:?} workers", entry.name()));
        }
    }
}

fn traced(network: Network<'_>, options: Options, trace: Trace) -> (Timeline, Report) {
    let trace = Arc::new(trace);
    let report = match network.run_with(options.observer(Arc::clone(&trace))) {
        Ok(report) => report,
        Err(RunError::Ended(report)) => *report,
        Err(error) => panic!("{error}"),
    };
    (trace.timeline(), report)
}

fn written(timeline: &Timeline) -> Vec<u8> {
    let mut file = Vec::new();
    timeline.write(&mut file).expect("memory takes it");
    file
}

/// What holds of every trace, whatever was lost and wherever it was cut off.
fn check(timeline: &Timeline, at: &str) -> Decoded {
    let file = written(timeline);
    assert_eq!(&Timeline::read(&file).expect("it reads what it writes"), timeline, "{at}");
    check_file(&file, at)
}

/// What holds of every file, whatever wrote it.
fn check_file(file: &[u8], at: &str) -> Decoded {
    let decoded = decode(file);
    for (flow, begins) in &decoded.begins {
        assert_eq!(begins.len(), 1, "{at}: {flow} begins once");
    }
    for (flow, ends) in &decoded.ends {
        assert_eq!(ends.len(), 1, "{at}: {flow} ends once");
        assert!(decoded.begins.contains_key(flow), "{at}: {flow} begins");
        assert!(decoded.begins[flow][0] <= ends[0], "{at}: {flow} ends after it begins");
    }
    let root = decoded.tracks.values().find(|track| track.name == "Kahn").expect("there is a root");
    let end = root.instants.iter().find(|(_, name)| name == "end of the trace").expect("it ends").0;
    for worker in decoded.under("workers") {
        let mut last = 0;
        for slice in &worker.slices {
            assert_eq!(slice.from, last, "{at}: {} is tiled", worker.name);
            last = slice.until;
        }
        assert_eq!(last, end, "{at}: {} to its end", worker.name);
    }
    // What workers run is what processes run, unless they have threads of their own.
    let mut of_workers = BTreeMap::<&str, u64>::new();
    for slice in decoded.under("workers").flat_map(|worker| &worker.slices) {
        if !["idle", "lost"].contains(&&*slice.name) {
            *of_workers.entry(&slice.name).or_default() += slice.until - slice.from;
        }
    }
    let mut of_processes = BTreeMap::<&str, u64>::new();
    for (name, tracks) in decoded.processes() {
        for slice in tracks.iter().flat_map(|track| &track.slices) {
            if slice.name == "runs"
                && slice.numbers.contains_key("worker")
                && slice.until > slice.from
            {
                *of_processes.entry(name).or_default() += slice.until - slice.from;
            }
        }
    }
    assert_eq!(of_workers, of_processes, "{at}");
    decoded
}

#[test]
fn a_trace_tells_of_all_runs_and_of_the_times_of_the_report() {
    everywhere(|options, at| {
        let options = options.accounting(Accounting::Timing);
        let (timeline, report) = traced(network(), options, Trace::new(Level::Messages));
        assert!(report.is_success(), "{at}: {}", report.explanation());
        assert_eq!(timeline.lost(), 0, "{at}");
        let decoded = check(&timeline, at);
        let mut worked = decoded.under("workers").flat_map(|worker| &worker.slices);
        assert!(worked.all(|slice| slice.name != "lost"), "{at}: it runs something, or is idle");
        let processes = decoded.processes();
        let names: Vec<_> = processes.keys().copied().collect();
        let mut reported: Vec<_> =
            report.processes.iter().map(|process| process.name.as_str()).collect();
        reported.sort_unstable();
        assert_eq!(names, reported, "{at}");
        for process in &report.processes {
            let tracks = &processes[process.name.as_str()];
            let runs = || {
                tracks.iter().flat_map(|track| &track.slices).filter(|slice| slice.name == "runs")
            };
            // One that has a thread rests in the middle of its only poll.
            if process.polls > 1 {
                assert_eq!(runs().count() as u64, process.polls, "{at}: {}", process.name);
            }
            let ran: u64 = runs().map(|slice| slice.numbers["cpu ns"]).sum();
            let told =
                Duration::from_secs_f64(process.cpu_seconds.expect("it is timed")).as_nanos();
            // To the nanosecond, to which the parts of one are rounded each by itself. No more is told than
            // one thread can have run, and the helpers of a farm are several.
            let is_cut = tracks.len() > 1 && process.cpu_seconds == Some(report.seconds);
            let fits = u128::from(ran).abs_diff(told) < tracks.len() as u128;
            assert!(fits || is_cut, "{at}: {}: {told} and {ran}", process.name);
        }
        for channel in &report.channels {
            let left = channel.sent - channel.received;
            let named = |track: &&decode::Track| track.name == channel.name.as_str();
            let track = decoded.under("channels").find(named).expect("it has a track");
            let last = track.counts.last().map_or(0, |&(_, count)| count);
            assert_eq!(u64::try_from(last), Ok(left), "{at}: {}", channel.name);
            assert!(track.counts.iter().all(|&(_, count)| count >= 0), "{at}: {}", channel.name);
        }
        let marks: Vec<_> = timeline.marks().map(|(label, number, _)| (label, number)).collect();
        assert_eq!(marks, [("hundred", 0), ("hundred", 100), ("hundred", 200)], "{at}");
    });
}

#[test]
fn waits_are_told_with_their_message_and_what_ended_them() {
    everywhere(|options, at| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("write", out, async |mut out| out.send_all(0..100).await);
        network.process(
            "read",
            numbers,
            async |mut numbers| while numbers.recv().await.is_some() {},
        );
        let (timeline, report) = traced(network, options, Trace::new(Level::Schedule));
        let decoded = check(&timeline, at);
        let processes = decoded.processes();
        let mut waits = 0;
        for (name, other, wait) in [
            ("write", "read", "waits for room in numbers"),
            ("read", "write", "waits for a message of numbers"),
        ] {
            let slices = processes[name].iter().flat_map(|track| &track.slices);
            let mut last = None;
            for slice in slices.filter(|slice| slice.name.starts_with("waits")) {
                assert_eq!(slice.name, wait, "{at}");
                assert_eq!(slice.texts["channel"], "numbers", "{at}");
                let ended_by = slice.texts.get("ended by").map(String::as_str);
                // Else it was over before the process was parked, or a resolver made room.
                assert!(ended_by.is_none_or(|by| by == other), "{at}: {slice:?}");
                waits += u64::from(ended_by.is_some());
                // Each message is waited for once, in their order.
                let message = Some(slice.numbers["message"]);
                assert!(last < message, "{at}: {last:?} and {slice:?}");
                last = message;
            }
        }
        let reported =
            report.processes.iter().map(|process| process.waits_empty + process.waits_full);
        assert!(waits <= reported.sum(), "{at}");
        assert!(waits > 0, "{at}: they wait for each other");
        let all = processes.values().flatten().flat_map(|track| &track.slices);
        let ready = all.filter(|slice| slice.name == "ready").count();
        assert!(ready > 0, "{at}: what is woken is ready before it runs");
        // One arrow for each such wait, to a process that runs then.
        assert!(decoded.begins.len() as u64 >= waits && !decoded.ends.is_empty(), "{at}");
    });
}

#[test]
fn arrows_have_the_same_numbers_in_every_run() {
    let arrows = |workers| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("write", out, async |mut out| out.send_all(0..100).await);
        network.process(
            "read",
            numbers,
            async |mut numbers| while numbers.recv().await.is_some() {},
        );
        // Each operation waits, so each message has an arrow.
        let options = Options::new().policy(kahn_laws::policy("seeded")).workers(workers);
        let (timeline, _) = traced(network, options.capacity(1), Trace::new(Level::Schedule));
        decode(&written(&timeline)).begins.into_keys().collect::<BTreeSet<_>>()
    };
    let (one, again) = (arrows(1), arrows(1));
    assert!(one.len() > 50, "{} arrows", one.len());
    assert_eq!(one, again);
}

#[test]
fn what_is_lost_is_counted_and_what_is_left_is_whole() {
    everywhere(|options, at| {
        for events in [1, 16, 100] {
            let trace = Trace::new(Level::Messages).events(events);
            let (timeline, report) = traced(network(), options.clone(), trace);
            assert!(report.is_success(), "{at}: {}", report.explanation());
            assert!(timeline.lost() > 0, "{at}");
            let decoded = check(&timeline, at);
            let lost =
                decoded.tracks.values().find(|track| track.name == "lost").expect("it says so");
            let [slice] = &*lost.slices else { panic!("{at}: {:?}", lost.slices) };
            assert_eq!(slice.name, format!("{} events lost", timeline.lost()));
            let text = timeline.summary().to_string();
            assert!(
                text.contains(&format!("{} older events were lost", timeline.lost())),
                "{text}"
            );
            for track in decoded.processes().values().flatten() {
                assert!(
                    track.slices.iter().all(|told| told.from >= slice.until),
                    "{at}: {}",
                    track.name
                );
            }
        }
    });
}

#[test]
fn a_trace_can_be_taken_at_any_time_while_the_run_goes_on() {
    let trace = Arc::new(Trace::new(Level::Messages).events(256));
    let options = Options::new().workers(2).capacity(4).observer(Arc::clone(&trace));
    let run = std::thread::Builder::new().spawn(move || {
        let report = network_of(20_000).run_with(options).expect("it ends well");
        assert!(report.is_success());
    });
    let run = run.expect("the system has threads");
    let mut taken = 0;
    while !run.is_finished() {
        check(&trace.timeline(), "while it runs");
        taken += 1;
    }
    run.join().expect("it runs");
    assert!(taken > 0);
}

#[test]
fn a_process_that_waits_for_good_is_told_to_wait_till_the_end() {
    let mut network = Network::new();
    let (there, from) = network.channel::<u64>("there");
    let (back, returned) = network.channel::<u64>("back");
    network.process("one", (there, returned), async |(mut there, mut returned)| {
        while let Some(number) = returned.recv().await {
            there.send(number).await;
        }
    });
    network.process("two", (back, from), async |(mut back, mut from)| {
        while let Some(number) = from.recv().await {
            back.send(number).await;
        }
    });
    let (timeline, report) =
        traced(network, Options::new().workers(2), Trace::new(Level::Schedule));
    assert!(!report.is_success());
    let decoded = check(&timeline, "in a deadlock");
    for (name, wait) in
        [("one", "waits for a message of back"), ("two", "waits for a message of there")]
    {
        // When one is stopped, the other is woken to see its channel end, and stopped as well.
        let slices = &decoded.processes()[name][0].slices;
        let waits: Vec<_> = slices.iter().filter(|slice| slice.name.starts_with("waits")).collect();
        assert_eq!(waits.len(), 1, "{name}: {slices:?}");
        assert_eq!((&*waits[0].name, waits[0].numbers["message"]), (wait, 0));
    }
}

#[test]
fn a_difference_tells_the_first_wait_that_is_new() {
    let timeline = |capacity| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("write", out, async |mut out| out.send_all(0..50).await);
        network.process(
            "read",
            numbers,
            async |mut numbers| while numbers.recv().await.is_some() {},
        );
        let options = Options::new().workers(1).capacity(capacity);
        traced(network, options, Trace::new(Level::Schedule)).0
    };
    let (roomy, tight) = (timeline(64), timeline(8));
    let text = roomy.difference(&tight).to_string();
    let told = "first difference: write waits for room in numbers, number 8";
    assert!(text.contains(told), "{text}");
    assert!(roomy.difference(&roomy).to_string().contains("first difference: none"), "{text}");
    // From files as well.
    let again =
        [&roomy, &tight].map(|timeline| Timeline::read(&written(timeline)).expect("it is one"));
    assert!(again[0].difference(&again[1]).to_string().contains(told));
}

#[test]
fn a_file_that_is_cut_off_or_changed_is_refused_or_read_and_never_ends_the_reader() {
    let (timeline, _) = traced(network(), Options::new().workers(2), Trace::new(Level::Messages));
    let file = written(&timeline);
    for end in (0..file.len()).step_by(file.len() / 300 + 1) {
        assert!(Timeline::read(&file[..end]).is_err(), "{end} of {}", file.len());
    }
    for place in (0..file.len()).step_by(file.len() / 2000 + 1) {
        let mut changed = file.clone();
        changed[place] ^= 1 << (place % 8);
        if let Ok(read) = Timeline::read(&changed) {
            // Whatever it tells, it can be told.
            let _ = read.summary().to_string();
            let _ = timeline.difference(&read).to_string();
        }
    }
}
