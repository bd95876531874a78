//! Creating processes: each receives one message, sends one reply, and ends.

use super::Settings;
use crate::measure::{Metric, Runs, each, resident_bytes, time};
use anyhow::Result;
use kahn::{Channel, Network, RunOptions};

const TIME: Metric = Metric { name: "time per process", unit: "ns" };
const MEMORY: Metric = Metric { name: "memory per process", unit: "bytes" };

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    for processes in [100_000, settings.size(1_000_000, 200_000)] {
        let params = format!("{processes} processes, two channels each");
        let (nanoseconds, bytes) = ours(settings.workers, processes)?;
        runs.add("kahn", &params, TIME, nanoseconds);
        runs.add("kahn", &params, MEMORY, bytes);
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
fn ours(workers: usize, processes: usize) -> Result<(f64, f64)> {
    let before = resident_bytes();
    let (time, made) = time(|| {
        let mut network = Network::new();
        let (mut questions, mut answers) = (Vec::new(), Vec::new());
        for number in 0..processes {
            let one = |name: String| Channel::<u64>::named(name).capacity(1);
            let (ask, asked) = network.channel_with(one(format!("q{number}")));
            let (answer, answered) = network.channel_with(one(format!("a{number}")));
            let ports = (asked, answer);
            network.process(format!("p{number}"), ports, async |(mut asked, mut answer)| {
                if let Some(n) = asked.recv().await {
                    answer.send(n + 1).await;
                }
            });
            questions.push(ask);
            answers.push(answered);
        }
        network.process("driver", (questions, answers), async |(mut ask, mut hear)| {
            for question in &mut ask {
                question.send(1).await;
            }
            for answer in &mut hear {
                answer.recv().await;
            }
        });
        let bytes = resident_bytes().saturating_sub(before);
        network.run_with(RunOptions::new().workers(workers)).map(|_| bytes)
    });
    Ok((each(time, processes), made? as f64 / processes as f64))
}
