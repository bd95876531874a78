//! Taking times and memory.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::time::{Duration, Instant};

use crate::experiment::Measured;

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

/// Quantities that say how a measurement went and not what it found.
pub(crate) const ELAPSED: &str = "seconds in all";
/// Cores that other programs kept busy meanwhile.
pub(crate) const LOAD: &str = "load of others";
/// The share of the cores' time that the host of a virtual machine took.
pub(crate) const STEAL: &str = "steal time";
/// How often the system ran another thread instead of one of ours, and how often it put a page in.
pub(crate) const SWITCHES: &str = "context switches";
const FAULTS: &str = "page faults";
/// How often it was measured before, and not quietly.
const AGAIN: &str = "measured before";

/// So many cores may be busy with other programs.
const MOST_LOAD: f64 = 0.1;
/// Such a share of the time may be taken.
const MOST_STEAL: f64 = 0.005;
/// The system counts in hundredths of a second: a measurement may be one of them off, for each.
const TICK: f64 = 0.01;

/// Watches what the machine does beside a measurement: other programs disturb it.
///
/// ```
/// let meanwhile = kahn_experiments::Meanwhile::begin();
/// let disturbance = meanwhile.so_far();
/// // `None` where the system does not tell.
/// assert!(disturbance.is_none_or(|found| found.load >= 0.0 && found.steal >= 0.0));
/// ```
#[derive(Debug)]
pub struct Meanwhile {
    since: Instant,
    counts: Option<[f64; 2]>,
    before: Option<Seconds>,
}

/// What disturbed a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturbance {
    /// Seconds that it took in all.
    pub seconds: f64,
    /// Cores that other programs kept busy meanwhile; children that have ended are not others.
    pub load: f64,
    /// The share of the cores' time that the host of a virtual machine took.
    pub steal: f64,
}

impl Disturbance {
    /// Says whether hardly anything else ran: others used less than a tenth of a core, and the host took less than
    /// half a per cent of the time. What the system's clock cannot tell apart from that counts.
    ///
    /// ```
    /// use kahn_experiments::Disturbance;
    ///
    /// assert!(Disturbance { seconds: 10.0, load: 0.09, steal: 0.004 }.is_quiet());
    /// assert!(!Disturbance { seconds: 10.0, load: 0.2, steal: 0.0 }.is_quiet());
    /// ```
    pub fn is_quiet(&self) -> bool {
        let unit = TICK / self.seconds;
        self.load < MOST_LOAD + unit && self.steal < MOST_STEAL + unit
    }

    /// Reads it from the quantities of a measurement.
    fn of(figures: &BTreeMap<String, f64>) -> Option<Self> {
        let figure = |name| figures.get(name).copied();
        Some(Self { seconds: figure(ELAPSED)?, load: figure(LOAD)?, steal: figure(STEAL)? })
    }
}

/// Seconds since the system started, all cores together.
#[derive(Debug)]
struct Seconds {
    others: f64,
    stolen: f64,
}

impl Meanwhile {
    /// Begins to watch.
    #[expect(clippy::disallowed_methods, reason = "an experiment reads the clock")]
    pub fn begin() -> Self {
        Self { before: Seconds::now(), counts: counts(), since: Instant::now() }
    }

    /// Says what disturbed it since the beginning; `None` where the system does not tell.
    pub fn so_far(&self) -> Option<Disturbance> {
        let seconds = self.since.elapsed().as_secs_f64();
        let (now, before) = Seconds::now().zip(self.before.as_ref())?;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let share = |now: f64, before: f64| ((now - before) / seconds).max(0.0);
        let load = share(now.others, before.others);
        let steal = share(now.stolen, before.stolen) / crate::point::float(cores);
        Some(Disturbance { seconds, load, steal })
    }

    /// Adds how long it took in all, and what else ran meanwhile; it is the try after so many.
    pub(crate) fn end(self, measured: Measured, before: usize) -> Measured {
        let disturbance = self.so_far();
        let measured = measured.and(ELAPSED, self.since.elapsed().as_secs_f64());
        let measured = match before {
            0 => measured,
            before => measured.and(AGAIN, crate::point::float(before)),
        };
        let measured = match counts().zip(self.counts) {
            Some(([switches, faults], before)) => {
                measured.and(SWITCHES, switches - before[0]).and(FAULTS, faults - before[1])
            }
            None => measured,
        };
        // Where the system does not tell, nothing is written, and nothing counts as quiet.
        let Some(Disturbance { load, steal, .. }) = disturbance else { return measured };
        measured.and(LOAD, load).and(STEAL, steal)
    }

    /// Whether hardly anything else ran.
    pub(crate) fn was_quiet(figures: &BTreeMap<String, f64>) -> bool {
        Disturbance::of(figures).is_some_and(|found| found.is_quiet())
    }
}

impl Seconds {
    fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        Self::read(&stat, &own, own_seconds()?)
    }

    /// Reads them as the system writes them: `own` are the seconds of this program.
    fn read(stat: &str, process: &str, own: f64) -> Option<Self> {
        let fields: Vec<f64> =
            stat.lines().next()?.split(' ').filter_map(|number| number.parse().ok()).collect();
        // user, nice, system; idle and waiting; interrupts of both kinds, and stolen time.
        let busy: f64 = fields.iter().take(3).chain(fields.iter().skip(5).take(2)).sum();
        // The name in brackets may have anything in it. Behind it are the state and 12 numbers, and
        // then the ticks of children that have ended: programs of peers.
        let (_, process) = process.rsplit_once(')')?;
        let children: f64 =
            process.split(' ').skip(14).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        let others = (busy - children) * TICK - own;
        Some(Self { others, stolen: fields.get(7)? * TICK })
    }
}

/// Context switches and page faults of this program so far.
#[cfg(target_os = "linux")]
fn counts() -> Option<[f64; 2]> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let switches = usage.voluntary_context_switches() + usage.involuntary_context_switches();
    let faults = usage.minor_page_faults() + usage.major_page_faults();
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    let figures = [switches, faults].map(|count| count as f64);
    Some(figures)
}

#[cfg(not(target_os = "linux"))]
fn counts() -> Option<[f64; 2]> {
    None
}

fn own_seconds() -> Option<f64> {
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::try_from(own).ok()?.as_secs_f64())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_others_did() {
        let stat = "cpu  1000 20 300 9999 50 7 3 40 0 0\ncpu0 1 2 3";
        // utime 500, stime 100, then the children's 30 and 20.
        let process = "1 (a) b) S 0 1 1 0 -1 0 0 0 0 0 500 100 30 20 20 0 1";
        let seconds = Seconds::read(stat, process, 6.0).unwrap();
        assert!((seconds.others - (13.3 - 0.5 - 6.0)).abs() < 1e-9, "{}", seconds.others);
        assert!((seconds.stolen - 0.4).abs() < 1e-9);
    }

    #[test]
    fn quiet_is_what_the_page_says() {
        let run = |load: f64, steal: f64, elapsed: f64| {
            Measured::default().and(LOAD, load).and(STEAL, steal).and(ELAPSED, elapsed).0
        };
        assert!(Meanwhile::was_quiet(&run(0.09, 0.004, 10.0)));
        assert!(!Meanwhile::was_quiet(&run(0.102, 0.0, 10.0)));
        assert!(!Meanwhile::was_quiet(&run(0.0, 0.007, 10.0)));
        assert!(Meanwhile::was_quiet(&run(0.5, 0.0, 0.02)), "one tick of the system's clock");
        assert!(!Meanwhile::was_quiet(&Measured::seconds(1.0).0), "nothing is known");
    }

    #[test]
    fn a_measurement_says_how_it_went() {
        let measured = Meanwhile::begin().end(Measured::seconds(0.0), 2);
        assert_eq!(measured.0[AGAIN].to_string(), "2");
        assert!(measured.0[ELAPSED] > 0.0);
    }
}
