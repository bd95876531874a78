//! What is written while a run goes on is what is told of it afterwards, however it ends.

use super::{check, check_file, decode::Decoded, everywhere, network, network_of};
use kahn::{Accounting, Options, Report};
use kahn_observe::trace::{Level, Stream, Timeline, Trace};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// A file that others see grow, and that takes nothing while another has its lock.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn streamed(options: Options, trace: Trace) -> (Vec<u8>, Timeline, Report, u64) {
    let (trace, file) = (Arc::new(trace), Shared::default());
    let stream = Stream::start(&trace, file.clone()).expect("the system has threads");
    let options = options.accounting(Accounting::Timing).observer(Arc::clone(&trace));
    let report = network().run_with(options).expect("it ends well");
    let lost = stream.finish().expect("memory takes it");
    (file.0.lock().clone(), trace.timeline(), report, lost)
}

/// Waits of each process by their message, with what ended them, and how often each ran and for how long.
type Told = BTreeMap<String, (Vec<(String, u64, Option<String>)>, usize, u64)>;

fn told(decoded: &Decoded) -> Told {
    let mut all = Told::new();
    for (name, tracks) in decoded.processes() {
        let entry = all.entry(name.to_owned()).or_default();
        for slice in tracks.iter().flat_map(|track| &track.slices) {
            if slice.name == "runs" {
                entry.1 += 1;
                entry.2 += slice.numbers["cpu ns"];
            }
            if slice.name.starts_with("waits for") {
                let ended_by = slice.texts.get("ended by").cloned();
                entry.0.push((slice.name.clone(), slice.numbers["message"], ended_by));
            }
        }
        entry.0.sort();
    }
    all
}

#[test]
fn what_is_written_meanwhile_is_what_is_told_afterwards_with_the_times_of_the_report() {
    everywhere(|options, at| {
        for trace in [Trace::new(Level::Messages), Trace::new(Level::Messages).all_flows()] {
            let (file, kept, report, lost) = streamed(options.clone(), trace);
            assert_eq!((lost, kept.lost()), (0, 0), "{at}");
            let decoded = check_file(&file, at);
            let read = Timeline::read(&file).expect("it is one");
            check(&read, at);
            let (here, there) = (told(&decoded), told(&check(&kept, at)));
            for (name, (waits, runs, ran)) in &there {
                let (waits_here, runs_here, ran_here) = &here[name];
                assert_eq!(runs_here, runs, "{at}: {name}");
                // Each part is rounded by itself.
                assert!(ran_here.abs_diff(*ran) < 16, "{at}: {name}");
                // A wait of no length is told by neither; another one may round to nothing in one of them.
                let (a, b): (BTreeSet<_>, BTreeSet<_>) =
                    (waits.iter().collect(), waits_here.iter().collect());
                assert!(a.symmetric_difference(&b).count() <= 2, "{at}: {name}: {a:?}, {b:?}");
            }
            assert_eq!(here.len(), there.len(), "{at}");
            for process in &report.processes {
                let seconds = process.cpu_seconds.expect("it is timed");
                let parts = decoded.processes()[process.name.as_str()].len();
                let (.., ran) = here[process.name.as_str()];
                let reported = u64::try_from(Duration::from_secs_f64(seconds).as_nanos());
                let is_cut = parts > 1 && seconds.to_bits() == report.seconds.to_bits();
                let fits = ran.abs_diff(reported.expect("it is short")) < parts as u64;
                assert!(fits || is_cut, "{at}: {}: {ran} and {seconds}", process.name);
            }
            for channel in &report.channels {
                let named = |track: &&super::decode::Track| track.name == channel.name.as_str();
                let track = decoded.under("channels").find(named).expect("it has a track");
                let last = track.counts.iter().max_by_key(|(at, _)| *at).map_or(0, |last| last.1);
                let left = channel.sent - channel.received;
                assert_eq!(u64::try_from(last), Ok(left), "{at}: {}", channel.name);
            }
            assert_eq!(read.marks().count(), kept.marks().count(), "{at}");
        }
    });
}

#[test]
fn each_message_has_an_arrow_if_that_is_asked_for() {
    everywhere(|options, at| {
        let (file, kept, report, _) = streamed(options, Trace::new(Level::Messages).all_flows());
        let sent: u64 = report.channels.iter().map(|channel| channel.sent).sum();
        let received: u64 = report.channels.iter().map(|channel| channel.received).sum();
        let [streamed, kept] = [check_file(&file, at), check(&kept, at)];
        for decoded in [&streamed, &kept] {
            let instants = |name: &str| {
                let tracks = decoded.tracks.values();
                tracks.flat_map(|track| &track.instants).filter(|(_, told)| told == name).count()
            };
            assert!(instants("sends") > 0 && instants("receives") > 0, "{at}");
            // Those of waits for room have numbers of their own.
            assert!(decoded.begins.len() as u64 >= sent, "{at}: {} begin", decoded.begins.len());
            let ended = decoded.ends.len() as u64;
            assert!(ended >= received.min(sent), "{at}: {ended} of {received} end");
        }
        let messages = |decoded: &Decoded| decoded.begins.keys().copied().collect::<BTreeSet<_>>();
        let both = messages(&streamed).intersection(&messages(&kept)).count() as u64;
        assert!(both >= sent, "{at}: the same numbers");
    });
}

#[test]
fn what_cannot_be_written_in_time_is_counted_and_what_is_written_is_whole() {
    for workers in [1, 3] {
        let (trace, file) = (Arc::new(Trace::new(Level::Messages).events(64)), Shared::default());
        let stream = Stream::start(&trace, file.clone()).expect("the system has threads");
        let options = Options::new().workers(workers).capacity(4).observer(trace);
        let run = std::thread::Builder::new().spawn(move || {
            let report = network_of(30_000).run_with(options).expect("it ends well");
            assert!(report.is_success());
        });
        let run = run.expect("the system has threads");
        // It takes nothing for most of the time, and is asked for the rest.
        while !run.is_finished() {
            let held = file.0.lock();
            std::thread::yield_now();
            drop(held);
        }
        run.join().expect("it runs");
        let lost = stream.finish().expect("memory takes it");
        assert!(lost > 0);
        let (bytes, at) = (file.0.lock().clone(), format!("{workers} workers"));
        let decoded = check_file(&bytes, &at);
        let read = Timeline::read(&bytes).expect("it is one");
        assert_eq!(read.lost(), lost, "{at}");
        check(&read, &at);
        let track = decoded.tracks.values().find(|track| track.name == "lost").expect("one");
        assert!(!track.slices.is_empty(), "{at}");
        for gap in &track.slices {
            for slice in decoded.processes().values().flatten().flat_map(|track| &track.slices) {
                let is_apart = slice.until <= gap.from || slice.from >= gap.until;
                assert!(is_apart, "{at}: {slice:?} in {gap:?}");
            }
        }
        assert!(read.summary().to_string().contains(&format!("{lost} events were lost")));
        assert!(read.svg().contains("events lost"));
    }
}

#[test]
fn a_file_that_is_cut_off_by_a_kill_is_read_up_to_there() {
    let (file, ..) = streamed(Options::new().workers(2), Trace::new(Level::Messages).all_flows());
    let (mut read, mut last) = (0, 0);
    for end in (0..file.len()).step_by(file.len() / 200 + 1) {
        let Ok(timeline) = Timeline::read(&file[..end]) else {
            assert_eq!(read, 0, "one that is longer is read as well");
            continue;
        };
        read += 1;
        let decoded = check_cut(&timeline);
        assert!(decoded >= last, "{end}: no less than of a shorter one");
        last = decoded;
    }
    assert!(read > 150, "{read}");
}

/// A cut file has no idle time at its end; all else holds. Returns how many slices it has.
fn check_cut(timeline: &Timeline) -> usize {
    let mut file = Vec::new();
    timeline.write(&mut file).expect("memory takes it");
    let decoded = super::decode::decode(&file);
    for (flow, ends) in &decoded.ends {
        assert_eq!((ends.len(), decoded.begins[flow].len()), (1, 1));
    }
    decoded.processes().values().flatten().map(|track| track.slices.len()).sum()
}

/// A full disk.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_trace_and_not_the_run() {
    let trace = Arc::new(Trace::new(Level::Messages));
    let stream = Stream::start(&trace, Full(3000)).expect("there is room for its head");
    let report = network_of(20_000).run_with(Options::new().workers(2).observer(trace));
    assert!(report.expect("it runs").is_success());
    assert_eq!(stream.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}
