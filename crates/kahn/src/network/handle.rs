//! A run from outside: stop it, look into it.

use super::core::{Core, Verdict};
use kahn_engine::sync::{Arc, Ordering::*};
use kahn_report::{Activity, Explanation};
use std::sync::Weak;
use std::time::Duration;

/// Stops a run from outside, and explains what it is doing.
///
/// A stop never looks like an end of stream: async processes are dropped where they wait, blocking
/// ones are unwound silently, and the outcome is `Stopped`. It does nothing once the run has ended.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Process, Summary};
///
/// let mut network = Network::new();
/// let (out, ticks) = network.channel("ticks");
/// network.process("clock", out, async |mut out| {
///     for tick in 0_u64.. {
///         out.send(tick).await;
///     }
/// });
/// let stop = network.stop_handle();
/// network.process("reader", ticks, async move |mut ticks| {
///     while let Some(tick) = ticks.recv().await {
///         if tick == 1000 {
///             stop.stop();
///         }
///     }
/// });
/// let error = network.run().expect_err("stopped");
/// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
/// ```
#[derive(Clone, Debug)]
pub struct StopHandle(Weak<Core>);

/// Who has not stopped when the time was up.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} of the processes did not stop in time:\n{}", processes.len(), processes.join("\n"))]
pub struct StillRunning {
    /// Their names, and what they do.
    pub processes: Vec<String>,
}

impl StopHandle {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self(Arc::downgrade(core))
    }

    /// Stops the run, as soon as every process gives its worker back.
    pub fn stop(&self) {
        if let Some(core) = self.0.upgrade() {
            core.end_with(Verdict::Stopped);
        }
    }

    /// Stops the run and waits until every process has, or for `deadline`.
    ///
    /// # Errors
    /// [`StillRunning`] names the processes that have not stopped, and what they do. The run goes
    /// on waiting for them: it lent them the caller's stack.
    pub fn stop_within(&self, deadline: Duration) -> Result<(), StillRunning> {
        self.stop();
        let Some(core) = self.0.upgrade() else { return Ok(()) };
        if core.gone.wait_for(deadline) {
            return Ok(());
        }
        let processes = core
            .explain()
            .waiting
            .into_iter()
            .filter(|waiting| matches!(waiting.activity, Activity::Computes))
            .map(|waiting| waiting.to_string())
            .collect();
        Err(StillRunning { processes })
    }

    /// Tells what every process does right now. Empty when the run has ended.
    pub fn explain(&self) -> Explanation {
        self.0.upgrade().map(|core| core.explain()).unwrap_or_default()
    }

    /// Returns how many messages have been received so far, on all channels that are open.
    pub fn messages(&self) -> u64 {
        self.0.upgrade().map_or(0, |core| core.channels.received())
    }

    /// Whether the run has been told to end, or has ended.
    pub fn is_ending(&self) -> bool {
        self.0
            .upgrade()
            .is_none_or(|core| core.scheduler.is_ending() || core.scheduler.live.load(Relaxed) == 0)
    }
}
