//! Two networks that are measured from outside: `outside pair|pipeline MESSAGES [WORKERS]`, one worker
//! unless told otherwise.
//!
//! Run with two numbers of messages, the difference of the counted instructions is what the messages cost.

use kahn::{Accounting, Channel, Network, Receiver, Options, Sender};
use std::process::ExitCode;

const STAGES: usize = 10;

type Ends = (Sender<u64>, Receiver<u64>);

/// Two processes send one message there and back, each through a channel of capacity 1.
fn pair(network: &mut Network<'_>, messages: u64) {
    let (there, here) = network.channel_with(Channel::<u64>::named("there").capacity(1));
    let (back, home) = network.channel_with(Channel::<u64>::named("back").capacity(1));
    network.process("asks", (there, home), async move |(mut there, mut home): Ends| {
        for n in 0..messages {
            there.send(n).await;
            home.recv().await;
        }
    });
    network.process("answers", (back, here), async move |(mut back, mut here): Ends| {
        while let Some(n) = here.recv().await {
            back.send(n).await;
        }
    });
}

/// A source, ten stages and a sink, joined by eleven channels.
fn pipeline(network: &mut Network<'_>, messages: u64) {
    let (mut out, mut stream) = network.channel::<u64>("numbers");
    network.process("source", out, async move |mut out: Sender<u64>| {
        for n in 0..messages {
            out.send(n).await;
        }
    });
    for stage in 0..STAGES {
        let next;
        (out, next) = network.channel::<u64>(format!("out of {stage}"));
        network.process(format!("stage {stage}"), (out, stream), async move |(mut out, mut stream): Ends| {
            while let Some(n) = stream.recv().await {
                out.send(n + 1).await;
            }
        });
        stream = next;
    }
    network.process("sink", stream, async move |mut stream: Receiver<u64>| {
        while stream.recv().await.is_some() {}
    });
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (program, messages) = (arguments.next(), arguments.next());
    let Some(messages) = messages.and_then(|text| text.parse().ok()) else {
        return ExitCode::from(2);
    };
    let Ok(workers) = arguments.next().map_or(Ok(1), |text| text.parse()) else {
        return ExitCode::from(2);
    };
    let mut network = Network::new();
    match program.as_deref() {
        Some("pair") => pair(&mut network, messages),
        Some("pipeline") => pipeline(&mut network, messages),
        _ => return ExitCode::from(2),
    }
    let options = Options::new().workers(workers).accounting(Accounting::Counters);
    match network.run_with(options) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
