//! What a message costs in a run that is watched: processor time, with room for one message, where each is two
//! polls, two waits and two wakes, and with room for 64.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, cpu_time};
use anyhow::Result;
use kahn::{Channel, Network, Options};
use kahn_observe::sample::Watch;
use kahn_observe::trace::{Level, Trace};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let contest = |(room, messages): (u32, usize)| {
        let traced = move |level| {
            move |workers| {
                let options = on(workers).observer(Arc::new(Trace::new(level)));
                pass(options, room, messages, false)
            }
        };
        let not = move |workers| pass(on(workers), room, messages, false);
        let sampled = move |workers| pass(on(workers), room, messages, true);
        Contest::new(format!("two processes, room for {room}"), "kahn", not)
            .with("kahn-sampled", sampled)
            .with("kahn-schedule", traced(Level::Schedule))
            .with("kahn-messages", traced(Level::Messages))
            .on_workers(vec![1])
    };
    let size = |full| settings.size(full, full / 10);
    vec![contest((1, size(2_000_000))), contest((64, size(10_000_000)))]
}

fn pass(options: Options, room: u32, messages: usize, sampled: bool) -> Result<Vec<Figure>> {
    let mut network = Network::new();
    let (out, numbers) = network.channel_with(Channel::<u64>::named("numbers").capacity(room));
    network.process("write", out, async move |mut out| {
        for number in 0..messages as u64 {
            out.send(number).await;
        }
    });
    network.process("read", numbers, async |mut numbers| while numbers.recv().await.is_some() {});
    let handle = network.stop_handle();
    let every = Duration::from_millis(200);
    let watch = sampled.then(|| Watch::start(handle, every, |_view| {})).transpose()?;
    let before = cpu_time();
    network.run_with(options)?;
    let used = cpu_time().saturating_sub(before);
    drop(watch);
    Ok(Figure::each("processor time per message", used, messages))
}
