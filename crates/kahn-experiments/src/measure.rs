//! Taking times and memory.

use std::fs;
use std::time::{Duration, Instant};

use crate::experiment::Measured;
use crate::page::{ELAPSED, OTHERS};

/// Measures how long `f` takes, in seconds.
#[expect(clippy::disallowed_methods, reason = "an experiment reads the clock")]
pub(crate) fn time<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let since = Instant::now();
    let result = f();
    (since.elapsed().as_secs_f64(), result)
}

/// Forgets how much memory this program has used at most, where the system can.
pub(crate) fn forget_peak_memory() {
    // What cannot be forgotten is only counted too high.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Bytes of memory that this program has used at most.
pub(crate) fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().split(' ').next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// What the machine did beside a measurement: other programs disturb it.
pub(crate) struct Meanwhile {
    since: Instant,
    others: Option<f64>,
}

impl Meanwhile {
    #[expect(clippy::disallowed_methods, reason = "an experiment reads the clock")]
    pub(crate) fn begin() -> Self {
        Self { others: seconds_of_others(), since: Instant::now() }
    }

    /// Adds how long it took in all, and how long other programs ran meanwhile.
    pub(crate) fn end(self, measured: Measured) -> Measured {
        let elapsed = self.since.elapsed().as_secs_f64();
        let others = seconds_of_others().zip(self.others).map(|(now, before)| now - before);
        measured.and(ELAPSED, elapsed).and(OTHERS, others.unwrap_or(0.0).max(0.0))
    }
}

/// Seconds for which the cores have run other programs, or the host has.
fn seconds_of_others() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<f64> = stat.lines().next()?.split(' ').filter_map(|n| n.parse().ok()).collect();
    // user, nice, system; then idle and waiting; then interrupts of both kinds, and stolen time.
    let busy: f64 = fields.iter().take(3).chain(fields.iter().skip(5).take(3)).sum();
    // The ticks of this file are hundredths of a second on all systems that have it.
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let own = Duration::try_from(own).ok()?.as_secs_f64();
    Some(busy / 100.0 - own)
}

/// A clock that is started once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starts.
    #[expect(clippy::disallowed_methods, reason = "an experiment reads the clock")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Says how long ago that was.
    pub(crate) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
