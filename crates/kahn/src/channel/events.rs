//! What a run tells subscribers of `tracing`, if the feature of that name is on; nothing otherwise.
//!
//! | event | level | fields | when |
//! |---|---|---|---|
//! | `start` | info | `processes`, `channels`, `workers` | before the first process runs |
//! | `growth` | debug | `channel`, `capacity` | a full channel in a ring of waits gets more room; the detector's lock is held, so a subscriber must not wait for the network |
//! | `verdict` | warn | `verdict`, of a budget `channel` | the run is ended before all processes have |
//! | `failure` | error | `process`, `error` | at the end, for each failure |
//! | `end` | info | `outcome` | at the end |
//!
//! None for a message, so that the feature costs nothing where nothing happens. The target of all is `kahn`.

#![cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "there is nothing to tell")
)]

use kahn_report::{Name, Report};

pub(crate) fn start(processes: usize, channels: u64, workers: usize) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "kahn", processes, channels, workers, "start");
}

pub(crate) fn growth(channel: &Name, capacity: u32) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "kahn", channel = channel.as_str(), capacity, "growth");
}

pub(crate) fn verdict(verdict: &str, channel: Option<&Name>) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "kahn", verdict, channel = channel.map(Name::as_str), "verdict");
}

pub(crate) fn end(report: &Report) {
    #[cfg(feature = "tracing")]
    {
        for failure in &report.failures {
            let process = failure.process.as_str();
            tracing::error!(target: "kahn", process, error = %failure, "failure");
        }
        tracing::info!(target: "kahn", outcome = ?report.outcome, "end");
    }
}
