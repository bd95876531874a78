//! What an observer is told: each message once, its sending first; polls of one process one at a time.

use super::schedules::{everywhere, run};
use kahn::{Name, Network, Observer, Receiver, Sender};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What was told, in the order in which it came.
#[derive(Default)]
struct Told(Mutex<State>);

#[derive(Default)]
struct State {
    /// By channel: how many messages were sent and received so far.
    channels: BTreeMap<String, (u64, u64)>,
    /// By process: the worker that runs it now, and how often one has.
    processes: BTreeMap<String, (Option<usize>, u64)>,
    wrong: Vec<String>,
}

impl State {
    /// The next messages of one side of a channel: where the last ones ended.
    fn follow(before: &mut u64, messages: &Range<u64>) -> bool {
        let fits = *before == messages.start && messages.start < messages.end;
        *before = messages.end;
        fits
    }
}

impl Observer for Told {
    fn runs(&self, process: &Name, worker: usize) {
        let State { processes, wrong, .. } = &mut *self.0.lock();
        let (runs, count) = processes.entry(process.to_string()).or_default();
        if let Some(other) = runs.replace(worker) {
            wrong.push(format!("{process} runs on {worker} and on {other}"));
        }
        *count += 1;
    }

    fn rests(&self, process: &Name, worker: usize) {
        let State { processes, wrong, .. } = &mut *self.0.lock();
        let (runs, _) = processes.entry(process.to_string()).or_default();
        if runs.take() != Some(worker) {
            wrong.push(format!("{process} rests on {worker} and did not run there"));
        }
    }

    fn sent(&self, channel: &Name, messages: Range<u64>) {
        let State { channels, wrong, .. } = &mut *self.0.lock();
        let (sent, _) = channels.entry(channel.to_string()).or_default();
        if !State::follow(sent, &messages) {
            wrong.push(format!("{channel}: sent {messages:?}, which is not what comes next"));
        }
    }

    fn received(&self, channel: &Name, messages: Range<u64>) {
        let State { channels, wrong, .. } = &mut *self.0.lock();
        let (sent, received) = channels.entry(channel.to_string()).or_default();
        if !State::follow(received, &messages) {
            wrong.push(format!("{channel}: received {messages:?}, which is not what comes next"));
        }
        if messages.end > *sent {
            wrong.push(format!("{channel}: {messages:?} were received, of {sent} sent"));
        }
    }
}

const MESSAGES: u64 = 200;

/// A pipeline with a blocking process, a channel made at run time, a ring that grows and a reader that
/// leaves after ten messages.
fn network() -> Network<'static> {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("source", out, async |mut out| out.send_all(0..MESSAGES).await);
    let (out, texts) = network.channel::<String>("texts");
    network.blocking("print", (numbers, out), |(mut numbers, mut out)| {
        while let Some(number) = numbers.recv_blocking() {
            out.send_blocking(number.to_string());
        }
    });
    let spawner = network.spawner();
    let (out, lengths) = network.channel::<usize>("lengths");
    network.process("deal", (texts, out, spawner), async |(mut texts, out, mut spawner)| {
        let (mut on, parts) = spawner.channel::<String>("parts");
        let measure = async |(mut parts, mut out): (Receiver<String>, Sender<usize>)| {
            while let Some(part) = parts.recv().await {
                out.send(part.len()).await;
            }
        };
        spawner.process("measure", (parts, out), measure);
        while let Some(text) = texts.recv().await {
            on.send(text).await;
        }
    });
    network.fold("sum", lengths, 0, |sum, n| sum + n);
    let (to, from) = network.channel::<u32>("left");
    let (back, returned) = network.channel::<u32>("right");
    // More than fit are sent before any is received.
    network.process("left", (to, returned), async |(mut to, mut returned)| {
        to.send_all(0..70).await;
        drop(to);
        while returned.recv().await.is_some() {}
    });
    network.process("right", (back, from), async |(mut back, mut from)| {
        back.send_all(0..70).await;
        drop(back);
        while from.recv().await.is_some() {}
    });
    let (out, ten) = network.channel::<u32>("ten");
    network.process("ever", out, async |mut out| {
        for n in 0.. {
            out.send(n).await;
        }
    });
    network.process("ten", ten, async |mut ten| {
        for _ in 0..10 {
            ten.recv().await;
        }
    });
    network
}

#[test]
fn an_observer_is_told_of_each_message_once_and_of_its_sending_first() {
    everywhere(|schedule| {
        let told = Arc::new(Told::default());
        let report = run(network(), schedule.options().observer(Arc::clone(&told)));
        assert!(report.is_success(), "{schedule:?}: {}", report.explanation());
        let state = told.0.lock();
        assert_eq!(state.wrong, [""; 0], "{schedule:?}");
        for channel in &report.channels {
            let name = channel.name.to_string();
            let (sent, received) = state.channels[&name];
            assert_eq!(received, channel.received, "{schedule:?}: {name}");
            // How much the endless source sends before it is pruned depends on the schedule.
            if name != "ten" {
                assert_eq!(sent, received, "{schedule:?}: {name}");
            }
        }
        assert_eq!(state.channels["parts"], (MESSAGES, MESSAGES), "{schedule:?}");
        assert_eq!(state.channels["ten"].1, 10, "{schedule:?}");
        for process in &report.processes {
            let (runs, polls) =
                state.processes.get(process.name.as_str()).copied().unwrap_or_default();
            assert_eq!(runs, None, "{schedule:?}: {} has come to rest", process.name);
            assert_eq!(polls, process.polls, "{schedule:?}: {}", process.name);
        }
    });
}
