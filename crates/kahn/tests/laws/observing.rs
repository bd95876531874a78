//! What an observer is told: each message once, its sending first; polls of one process one at a time,
//! and why each ends; what ends which wait; times that are those of the report.

use super::schedules::{everywhere, run};
use kahn::observe::{Act, Graph, Observer, Rest, Slice, Subject, Wants, WrittenForms};
use kahn::{
    Accounting, BoxError, Channel, Network, OutsideSender, Receiver, Report, Spawner, Summary,
};
use kahn_laws::add_every_kind;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// What was told, in the order in which it came.
#[derive(Default)]
struct Told(Mutex<State>);

#[derive(Default)]
struct State {
    /// By channel: how many messages were sent and received so far.
    channels: BTreeMap<String, (u64, u64)>,
    /// By process.
    processes: BTreeMap<String, Process>,
    /// By worker: when its last slice ended.
    workers: BTreeMap<usize, u64>,
    wakes: u64,
    wrong: Vec<String>,
}

#[derive(Default)]
struct Process {
    /// What runs it now, and since when.
    runs: Option<(Option<usize>, u64)>,
    /// What it waits for since it ran last, unless a worker has ended that.
    waits: Option<String>,
    /// It has returned, or was dropped.
    is_over: bool,
    runs_told: u64,
    /// Rests in the middle of a poll: those of a process that blocks its thread.
    ran: u64,
}

/// What a process waits for, by name.
fn told(rest: Rest<'_>) -> Option<(String, u64, bool)> {
    match rest {
        Rest::ForMessage { channel, number } => Some((channel.name.to_string(), number, false)),
        Rest::ForRoom { channel, number } => Some((channel.name.to_string(), number, true)),
        _ => None,
    }
}

impl State {
    /// The next messages of one side of a channel: where the last ones ended.
    fn follow(before: &mut u64, messages: &Range<u64>) -> bool {
        let fits = *before == messages.start && messages.start < messages.end;
        *before = messages.end;
        fits
    }

    fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.wrong.push(what());
        }
    }
}

impl Observer for Told {
    fn runs(&self, process: Subject<'_>, worker: Option<usize>, at: u64) {
        let mut state = self.0.lock();
        let name = process.name.to_string();
        let entry = state.processes.entry(name.clone()).or_default();
        let before = entry.runs.replace((worker, at));
        let is_over = entry.is_over;
        (entry.waits, entry.runs_told) = (None, entry.runs_told + 1);
        state.check(before.is_none(), || format!("{name} runs on {worker:?} and on {before:?}"));
        state.check(!is_over, || format!("{name} runs though it is over"));
        if let Some(worker) = worker {
            let last = state.workers.get(&worker).copied().unwrap_or_default();
            state.check(last <= at, || format!("{name} runs on {worker} before another rests"));
        }
    }

    fn rests(&self, process: Subject<'_>, worker: Option<usize>, slice: Slice, rest: Rest<'_>) {
        let mut state = self.0.lock();
        let name = process.name.to_string();
        let entry = state.processes.entry(name.clone()).or_default();
        let began = entry.runs.take();
        entry.ran += slice.ran;
        entry.waits = told(rest).map(|wait| format!("{wait:?}"));
        entry.is_over = matches!(rest, Rest::ForGood);
        state.check(began == Some((worker, slice.from)), || {
            format!("{name} rests on {worker:?}, {slice:?}, and runs: {began:?}")
        });
        let fits = slice.from + slice.ran + slice.put_aside() == slice.until;
        state.check(fits, || format!("{name}: {slice:?}"));
        if let Some(worker) = worker {
            state.workers.insert(worker, slice.until);
        }
        if let Some((channel, number, for_room)) = told(rest) {
            let (sent, received) = state.channels.get(&channel).copied().unwrap_or_default();
            let next = if for_room { sent } else { received };
            let what = || format!("{name} waits for {number} of {channel}, and {next} is next");
            state.check(next == number, what);
        }
    }

    fn wakes(&self, process: Subject<'_>, rest: Rest<'_>, by: Option<Subject<'_>>) {
        let mut state = self.0.lock();
        if let Some(by) = by {
            state.wakes += 1;
            let other = by.name.to_string();
            let has_run = state.processes.get(&other).is_some_and(|waker| waker.runs_told > 0);
            let is_other = (by.id, by.part) != (process.id, process.part);
            state.check(has_run && is_other, || format!("{other} wakes {}", process.name));
        }
        let name = process.name.to_string();
        let entry = state.processes.entry(name.clone()).or_default();
        let waits = entry.waits.take();
        let over = told(rest).map(|wait| format!("{wait:?}"));
        state.check(over.is_some() && waits == over, || {
            format!("{name} is woken from {over:?}, and waits for {waits:?}")
        });
    }

    fn dropped(&self, process: Subject<'_>) {
        let mut state = self.0.lock();
        let name = process.name.to_string();
        let entry = state.processes.entry(name.clone()).or_default();
        let is_right = !entry.is_over && entry.runs.is_none();
        entry.is_over = true;
        state.check(is_right, || format!("{name} is dropped, and runs or is over"));
    }

    fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
        let mut state = self.0.lock();
        let (sent, _) = state.channels.entry(channel.name.to_string()).or_default();
        let fits = State::follow(sent, &messages);
        state.check(fits, || format!("{}: sent {messages:?}, not the next", channel.name));
    }

    fn received(&self, channel: Subject<'_>, messages: Range<u64>) {
        let mut state = self.0.lock();
        let (sent, received) = state.channels.entry(channel.name.to_string()).or_default();
        let (fits, sent) = (State::follow(received, &messages), *sent);
        let name = channel.name;
        state.check(fits, || format!("{name}: received {messages:?}, not the next"));
        let were_sent = messages.end <= sent;
        state.check(were_sent, || format!("{name}: {messages:?} were received, of {sent} sent"));
    }
}

const MESSAGES: u64 = 200;

/// A pipeline with a blocking process, a channel made at run time, a ring that grows and a reader that
/// leaves after ten messages.
fn network() -> Network<'static> {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("source", out, async |mut out| out.send_all(0..MESSAGES).await);
    add_every_kind(&mut network, numbers);
    network
}

#[test]
fn an_observer_is_told_of_each_message_once_and_of_its_sending_first() {
    everywhere(|schedule| {
        let told = Arc::new(Told::default());
        let report = run(network(), schedule.options().observer(Arc::clone(&told)));
        assert!(report.is_success(), "{schedule:?}: {}", report.explanation());
        told.saw_all(&report, &format!("{schedule:?}"));
    });
}

impl Told {
    /// Whether this was told of all that a run of [`network`] did.
    fn saw_all(&self, report: &Report, schedule: &str) {
        let state = self.0.lock();
        assert_eq!(state.wrong, [""; 0], "{schedule}");
        assert!(state.wakes > 0, "{schedule}: processes wait here");
        for channel in &report.channels {
            let name = channel.name.to_string();
            let (sent, received) = state.channels[&name];
            assert_eq!(received, channel.received, "{schedule}: {name}");
            // How much the endless source sends before it is pruned depends on the schedule.
            if name != "ten" {
                assert_eq!(sent, received, "{schedule}: {name}");
            }
        }
        assert_eq!(state.channels["parts"], (MESSAGES, MESSAGES), "{schedule}");
        assert_eq!(state.channels["ten"].1, 10, "{schedule}");
        for process in &report.processes {
            let Some(seen) = state.processes.get(process.name.as_str()) else {
                panic!("{schedule}: {} has run", process.name);
            };
            assert!(seen.runs.is_none() && seen.is_over, "{schedule}: {}", process.name);
            // One that has a thread rests in the middle of its only poll.
            if process.polls > 1 {
                assert_eq!(seen.runs_told, process.polls, "{schedule}: {}", process.name);
            }
        }
    }
}

/// Wants one kind of what is told, and says what else it is told of.
struct OneKind {
    wants: Wants,
    told: Mutex<BTreeSet<&'static str>>,
}

impl OneKind {
    fn is_told(&self, what: &'static str) {
        self.told.lock().insert(what);
    }
}

impl Observer for OneKind {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn runs(&self, _: Subject<'_>, _worker: Option<usize>, _: u64) {
        self.is_told("schedule");
    }

    fn rests(&self, _: Subject<'_>, _worker: Option<usize>, _: Slice, _: Rest<'_>) {
        self.is_told("schedule");
    }

    fn wakes(&self, _: Subject<'_>, _: Rest<'_>, _by: Option<Subject<'_>>) {
        self.is_told("schedule");
    }

    fn dropped(&self, _: Subject<'_>) {
        self.is_told("schedule");
    }

    fn sent(&self, _: Subject<'_>, _: Range<u64>) {
        self.is_told("messages");
    }

    fn received(&self, _: Subject<'_>, _: Range<u64>) {
        self.is_told("messages");
    }

    fn writes(&self, _: Subject<'_>, _: Subject<'_>, _: Range<u64>, _: Option<WrittenForms<'_>>) {
        self.is_told("contents");
    }

    fn starts(&self, _: &Graph<'_>) -> Result<(), String> {
        self.is_told("graph");
        Ok(())
    }

    fn acts(&self, _: Subject<'_>, _: Act<'_>) {
        self.is_told("acts");
    }
}

/// Has the report warn of this.
struct Warns(&'static str);

impl Observer for Warns {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn reports(&self, report: &Report) -> Vec<String> {
        assert!(report.is_success());
        vec![self.0.to_owned()]
    }
}

#[test]
fn of_several_observers_each_is_told_what_it_wants() {
    everywhere(|schedule| {
        let [one, other] = [(); 2].map(|()| Arc::new(Told::default()));
        let wants = [
            (Wants::NOTHING, vec!["graph"]),
            (Wants { schedule: true, ..Wants::NOTHING }, vec!["graph", "schedule"]),
            (Wants { messages: true, ..Wants::NOTHING }, vec!["graph", "messages"]),
            (Wants { contents: true, ..Wants::NOTHING }, vec!["contents", "graph"]),
            (Wants { acts: true, ..Wants::NOTHING }, vec!["acts", "graph"]),
        ]
        .map(|(wants, told)| (Arc::new(OneKind { wants, told: Mutex::default() }), told));
        let mut network = network();
        let bytes = Channel::named("bytes")
            .wire_with(|byte: &u8, into| into.push(*byte), |bytes| Ok::<_, BoxError>(bytes[0]));
        let (out, bytes) = network.channel_with(bytes);
        network.process_with(kahn::Process::named("read").effects(), out, async |mut out| {
            out.send(7).await;
        });
        network.for_each("ignore bytes", bytes, |_| {});
        let mut options = schedule.options().observer(Arc::clone(&one));
        for (wants, _) in &wants {
            options = options.observer(Arc::clone(wants));
        }
        options = options.observer(Arc::new(Warns("one"))).observer(Arc::new(Warns("two")));
        let report = run(network, options.observer(Arc::clone(&other)));
        assert!(report.is_success(), "{schedule:?}: {}", report.explanation());
        one.saw_all(&report, &format!("{schedule:?}, the first"));
        other.saw_all(&report, &format!("{schedule:?}, the last"));
        for warning in ["one", "two"] {
            assert!(report.warnings.iter().any(|known| known == warning), "{schedule:?}");
        }
        for (wants, told) in wants {
            assert_eq!(wants.told.lock().iter().copied().collect::<Vec<_>>(), told, "{schedule:?}");
        }
    });
}

/// Gives up the end of a party when it is told of the network, and then hears what that does.
struct GivesUp(Mutex<Option<OutsideSender<u32>>>, Mutex<Vec<String>>);

impl Observer for GivesUp {
    fn wants(&self) -> Wants {
        Wants { acts: true, ..Wants::NOTHING }
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        assert_eq!((graph.processes.len(), graph.channels.len()), (2, 1));
        drop(self.0.lock().take());
        assert_eq!(*self.1.lock(), [""; 0], "it is done when the run begins");
        Ok(())
    }

    fn acts(&self, _: Subject<'_>, act: Act<'_>) {
        self.1.lock().push(match act {
            Act::Closes { channel } => format!("closes {}", channel.name),
            Act::Ends { failure: None } => "ends".to_owned(),
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn an_end_that_is_given_up_before_the_run_is_told_of_when_it_begins() {
    everywhere(|schedule| {
        for before in [false, true] {
            let mut network = Network::new();
            let (out, numbers) = network.channel("numbers");
            let count = network.fold("count", numbers, 0, |count, _| count + 1);
            let out = Some(network.outside("client", out)).filter(|_| !before);
            let observer = Arc::new(GivesUp(Mutex::new(out), Mutex::default()));
            let report = run(network, schedule.options().observer(Arc::clone(&observer)));
            assert_eq!((report.outcome, count.take()), (Summary::Finished, Some(0)));
            assert_eq!(*observer.1.lock(), ["closes numbers", "ends"], "{schedule:?}");
        }
    });
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "a run takes fewer than 2^52 ticks")]
fn what_ran_by_the_slices_ran_by_the_report() {
    everywhere(|schedule| {
        let told = Arc::new(Told::default());
        let options = schedule.options().accounting(Accounting::Timing);
        let report = run(network(), options.observer(Arc::clone(&told)));
        assert!(report.is_success(), "{schedule:?}: {}", report.explanation());
        let state = told.0.lock();
        let seconds = |process: &kahn::ProcessReport| process.cpu_seconds.expect("it is timed");
        let ticks = |process: &kahn::ProcessReport| state.processes[process.name.as_str()].ran;
        let all: f64 = report.processes.iter().map(seconds).sum();
        let all_ticks: u64 = report.processes.iter().map(ticks).sum();
        let tick = all / all_ticks as f64;
        for process in &report.processes {
            let (told, seen) = (seconds(process), ticks(process) as f64 * tick);
            // The clocks are compared anew for each line of a report, and it tells whole nanoseconds.
            let most = told * 1e-2 + 1e-7;
            assert!((told - seen).abs() <= most, "{schedule:?}: {}: {told} {seen}", process.name);
        }
    });
}

/// What processes did that are joined to the outside, by channel.
#[derive(Default)]
struct Acts(Mutex<BTreeSet<String>>);

impl Observer for Acts {
    fn wants(&self) -> Wants {
        Wants { acts: true, contents: true, ..Wants::NOTHING }
    }

    fn sent(&self, channel: Subject<'_>, _: Range<u64>) {
        panic!("{} is not wanted", channel.name);
    }

    fn acts(&self, process: Subject<'_>, act: Act<'_>) {
        let (what, channel) = match act {
            Act::Sends { channel, .. } => ("sends", channel),
            Act::Receives { channel, .. } => ("receives", channel),
            Act::SeesEnd { channel } => ("sees the end of", channel),
            _ => return,
        };
        self.0.lock().insert(format!("{} {what} {}", process.name, channel.name));
    }
}

#[test]
fn what_processes_do_is_told_of_ends_that_they_get_while_the_network_runs() {
    everywhere(|schedule| {
        let acts = Arc::new(Acts::default());
        let mut network = Network::new();
        let (out, before) = network.channel("before");
        network.process("send", out, async |mut out| out.send(1_u32).await);
        let ports = (network.spawner(), before);
        network.process("create", ports, async |(mut create, before): (Spawner<'_>, _)| {
            let (mut out, later) = create.channel("later");
            let print = |name| kahn::Process::named(name).effects();
            let ignore = async |mut numbers: Receiver<u32>| while numbers.recv().await.is_some() {};
            create.process_with(print("print before"), before, ignore);
            create.process_with(print("print later"), later, ignore);
            out.send(2).await;
        });
        let report = run(network, schedule.options().observer(Arc::clone(&acts)));
        assert!(report.is_success(), "{schedule:?}: {}", report.explanation());
        let told: Vec<_> = acts.0.lock().iter().cloned().collect();
        let expected = [
            "print before receives before",
            "print before sees the end of before",
            "print later receives later",
            "print later sees the end of later",
        ];
        assert_eq!(told, expected, "{schedule:?}");
    });
}
