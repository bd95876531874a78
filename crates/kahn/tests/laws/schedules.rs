//! The schedules that a law must hold in, a watchdog, and the few processes most tests need.

use kahn::policy::{DEFAULT, Threads};
use kahn::{Network, Options, Receiver, Report, RunError, StopHandle, Summary};
use kahn_policies::POLICIES;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// One way to run a network.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) policy: &'static str,
    pub(crate) workers: usize,
    pub(crate) capacity: u32,
    pub(crate) seed: u64,
}

impl Schedule {
    /// The oracle.
    pub(crate) fn sequential(capacity: u32) -> Self {
        Self { policy: "sequential", workers: 1, capacity, seed: 0 }
    }

    pub(crate) fn options(&self) -> Options {
        Options::new()
            .policy(kahn_laws::policy(self.policy))
            .workers(self.workers)
            .capacity(self.capacity)
            .seed(self.seed)
    }

    /// Runs a network under this schedule, and gives its report whatever its outcome.
    pub(crate) fn run(&self, network: Network<'_>) -> Report {
        run(network, self.options())
    }

    /// Runs a network that must finish.
    pub(crate) fn finish(&self, network: Network<'_>) -> Report {
        let report = self.run(network);
        assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
        report
    }
}

/// Runs a network under the eye of the watchdog.
pub(crate) fn run(network: Network<'_>, options: Options) -> Report {
    let _watched = watch_as(&format!(" with {options:?}"), network.stop_handle());
    match network.run_with(options) {
        Ok(report) => report,
        Err(RunError::Ended(report)) => *report,
        Err(error) => panic!("{error}"),
    }
}

/// Every policy, each with the workers, capacities and seeds that make a difference to it: all
/// combinations for the default, some for the others.
pub(crate) fn schedules() -> Vec<Schedule> {
    let all: &[_] = &[1, 2, 3, 8];
    let mut schedules = Vec::new();
    for entry in POLICIES {
        let pairs: Vec<(usize, u32)> = match entry.threads() {
            Threads::AsAsked if entry.name() == DEFAULT.name() => {
                all.iter().flat_map(|&workers| [1, 2, 64].map(|room| (workers, room))).collect()
            }
            Threads::AsAsked => vec![(1, 2), (2, 1), (2, 64), (3, 2), (8, 1)],
            _ => [1, 2, 64].map(|room| (1, room)).to_vec(),
        };
        let seeds = if entry.waits_once() { 0..4 } else { 0..1 };
        for (workers, capacity) in pairs {
            for seed in seeds.clone() {
                schedules.push(Schedule { policy: entry.name(), workers, capacity, seed });
            }
        }
    }
    schedules
}

/// Writes a line, whichever test's thread this is: `eprintln` writes to the test that began it.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Says in which schedule a test failed.
struct Told<'a>(&'a Schedule);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(format_args!("in {:?}", self.0));
        }
    }
}

/// Checks a law under every schedule.
pub(crate) fn everywhere(mut law: impl FnMut(&Schedule)) {
    for schedule in schedules() {
        let _told = Told(&schedule);
        law(&schedule);
    }
}

// --- the watchdog ---------------------------------------------------------------------------------

/// Turns of the watchdog that a run may take; a turn is a quarter of a second.
const PATIENCE: u32 = 4 * 60;
const TURN: Duration = Duration::from_millis(250);

/// The runs that go on: turns left, the test, and how to explain it. No lazy cell, whose making the
/// thread sanitizer does not see.
static RUNS: Mutex<BTreeMap<u64, (u32, String, StopHandle)>> = Mutex::new(BTreeMap::new());
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

fn bark() {
    let (lock, never) = (Mutex::new(()), Condvar::new());
    loop {
        never.wait_for(&mut lock.lock(), TURN);
        for (left, test, stop) in RUNS.lock().values_mut() {
            *left -= 1;
            if *left == 0 {
                say(format_args!("{test} hangs:\n{}", stop.explain()));
                std::process::abort();
            }
        }
    }
}

/// Takes a run off the watchdog's list.
pub(crate) struct Watched(u64);

impl Drop for Watched {
    fn drop(&mut self) {
        RUNS.lock().remove(&self.0);
    }
}

/// Has the watchdog explain and abort if what follows hangs.
pub(crate) fn watch(stop: StopHandle) -> Watched {
    watch_as("", stop)
}

fn watch_as(how: &str, stop: StopHandle) -> Watched {
    if !IS_WATCHED.swap(true, Ordering::AcqRel) {
        let watchdog = std::thread::Builder::new().name("watchdog".into());
        watchdog.spawn(bark).expect("a thread for the watchdog");
    }
    let test = format!("{}{how}", std::thread::current().name().unwrap_or("a test"));
    let mut runs = RUNS.lock();
    let id = runs.last_key_value().map_or(0, |(last, _)| last + 1);
    runs.insert(id, (PATIENCE, test, stop));
    Watched(id)
}

// --- processes that most tests need ---------------------------------------------------------------

/// What a process has heard.
#[derive(Debug)]
pub(crate) struct Heard<T>(Arc<Mutex<(Vec<T>, bool)>>);

impl<T> Clone for Heard<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Heard<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((Vec::new(), false))))
    }
}

impl<T: Clone> Heard<T> {
    pub(crate) fn push(&self, message: T) {
        self.0.lock().0.push(message);
    }

    /// The messages so far.
    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().0.clone()
    }

    /// Whether the end of the stream was seen.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.lock().1
    }

    pub(crate) fn complete(&self) {
        self.0.lock().1 = true;
    }
}

/// A process that hears everything.
pub(crate) fn listen<'env, T: Send + Clone + 'env>(
    network: &mut Network<'env>,
    name: &'static str,
    messages: Receiver<T>,
) -> Heard<T> {
    let heard = Heard::default();
    let tell = heard.clone();
    network.process(name, messages, async move |mut messages| {
        while let Some(message) = messages.recv().await {
            tell.push(message);
        }
        tell.complete();
    });
    heard
}

/// A process that counts from 0 up to a number, exclusive.
pub(crate) fn count(network: &mut Network<'_>, name: &'static str, up_to: u64) -> Receiver<u64> {
    let (out, numbers) = network.channel(name);
    network.process(name, out, async move |mut out| {
        for number in 0..up_to {
            out.send(number).await;
        }
    });
    numbers
}
