//! A network in which nothing happens: a party waits outside, everything else waits for it.

use super::Settings;
use crate::measure::{Metric, Runs, cpu_time};
use anyhow::{Result, anyhow};
use kahn::{Network, RunOptions};
use std::time::Duration;

const CPU: Metric = Metric { name: "CPU time per second", unit: "ms" };

#[expect(clippy::disallowed_methods, reason = "the workload is to wait")]
pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    let seconds = settings.size(2, 1);
    let mut network = Network::new();
    let (question, mut last) = network.channel::<u64>("question");
    for number in 0..50 {
        let (out, next) = network.channel(format!("from {number}"));
        let ports = (last, out);
        network.process(format!("stage {number}"), ports, async |(mut left, mut right)| {
            while let Some(message) = left.recv().await {
                right.send(message).await;
            }
        });
        last = next;
    }
    let (mut ask, mut hear) = network.outside("driver", (question, last));
    let driver = std::thread::Builder::new().spawn(move || {
        // Once through, so that everything has run and waits.
        ask.send_blocking(1)?;
        hear.recv_blocking()?;
        std::thread::sleep(Duration::from_millis(100));
        let before = cpu_time();
        std::thread::sleep(Duration::from_secs(seconds as u64));
        Ok::<_, kahn::Ended>(cpu_time().saturating_sub(before))
    })?;
    network.run_with(RunOptions::new().workers(settings.workers))?;
    let used = driver.join().map_err(|_| anyhow!("the driver panicked"))??;
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    let per_second = used.as_secs_f64() * 1000.0 / seconds as f64;
    runs.add("kahn", "50 stages", CPU, per_second);
    Ok(())
}
