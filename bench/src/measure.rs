//! Taking times and memory.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What was measured once. Every metric is a cost: smaller is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) value: f64,
}

impl Figure {
    pub(crate) fn new(metric: &str, unit: &str, value: f64) -> Self {
        Self { metric: metric.to_owned(), unit: unit.to_owned(), value }
    }

    /// Nanoseconds for each of `count` operations.
    pub(crate) fn each(metric: &str, time: Duration, count: usize) -> Vec<Self> {
        vec![Self::new(metric, "ns", nanoseconds(time) / real(count))]
    }
}

/// One message over one channel.
pub(crate) const PER_MESSAGE: &str = "time per message";

/// Takes a time inside a network: one process starts it, and the same or another stops it.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    since: OnceLock<Instant>,
    until: OnceLock<Instant>,
}

impl Stopwatch {
    pub(crate) fn start(&self) {
        let _first = self.since.set(now());
    }

    pub(crate) fn stop(&self) {
        let _first = self.until.set(now());
    }

    /// Gives the time, once it was started and stopped.
    pub(crate) fn time(&self) -> Option<Duration> {
        Some(self.until.get()?.duration_since(*self.since.get()?))
    }
}

/// Reads the clock.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Measures how long `f` takes.
pub(crate) fn time<R>(f: impl FnOnce() -> R) -> (Duration, R) {
    let since = now();
    let result = f();
    (since.elapsed(), result)
}

/// Rounds a count to a real number.
#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

/// Gives a time in nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// Gives the bytes of memory that this process has in use.
pub(crate) fn resident_bytes() -> usize {
    status("VmRSS:")
}

/// Gives the most bytes of memory that this process has had in use.
///
/// Not from `getrusage`, whose figure a program inherits from the one that started it.
pub(crate) fn peak_resident_bytes() -> usize {
    status("VmHWM:")
}

fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kibibytes.and_then(|number| number.parse::<usize>().ok()).unwrap_or_default() * 1024
}

/// Gives the CPU time that this process has used.
pub(crate) fn cpu_time() -> Duration {
    used(rustix::time::ClockId::ProcessCPUTime)
}

/// Gives the CPU time that this thread has used.
pub(crate) fn thread_time() -> Duration {
    used(rustix::time::ClockId::ThreadCPUTime)
}

fn used(by: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(by);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Lets others run for a while.
#[expect(clippy::disallowed_methods, reason = "some workloads are to wait")]
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}
