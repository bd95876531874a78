//! A watchdog: what hangs is explained and stopped, and what cannot be stopped is aborted.
//!
//! ```text
//!   caller     f ────────────────── hangs ───────────────── stopped: panics with the explanation
//!   watchdog   waits ── time is up ─┬─ waits ────────────── not stopped: prints it and aborts
//!   explainer                       └─ explains, then stops
//! ```
//!
//! To explain takes locks of the network. If the runtime itself is stuck, that may never come back,
//! so it is done by a third thread: even then the watchdog prints what it knows and aborts.

use crate::{Network, StopHandle};
use kahn_engine::sync::{Arc, Condvar, Mutex, thread};
use std::io::Write;
use std::time::Duration;

/// Watches over networks for [`within`].
///
/// # Examples
///
/// ```
/// use kahn::{Network, testing};
/// use std::time::Duration;
///
/// let sum = testing::within(Duration::from_secs(60), |watchdog: &testing::Watchdog| {
///     let mut network = Network::new();
///     let numbers = network.source("numbers", 0..10_u32);
///     let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
///     watchdog.watch(&network);
///     network.run().map(|_report| sum.take())
/// })?;
/// assert_eq!(sum, Some(45));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Watchdog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: Duration,
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    networks: Vec<StopHandle>,
    is_over: bool,
    time_is_up: bool,
    explanation: Option<String>,
}

/// Runs `f` on this thread, for at most `limit`: a test that hangs becomes a test that fails and
/// explains.
///
/// When the time is up, the networks that the [`Watchdog`] was told of are explained and stopped.
/// If `f` does not come back then, the explanation is printed to standard error and the program
/// aborted: a process that computes for ever cannot be ended otherwise.
///
/// # Examples
///
/// ```
/// use kahn::{Network, testing};
/// use std::time::Duration;
///
/// let report = testing::within(Duration::from_secs(5), |watchdog| {
///     let mut network = Network::new();
///     let numbers = network.source("numbers", 0..10_u32);
///     network.for_each("ignore", numbers, |_| {});
///     watchdog.watch(&network);
///     network.run()
/// })?;
/// assert_eq!(report.messages(), 10);
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// # Panics
/// Panics with the explanation if the time was up.
#[track_caller]
pub fn within<R>(limit: Duration, f: impl FnOnce(&Watchdog) -> R) -> R {
    guarded(limit, f).unwrap_or_else(|explanation| panic!("{explanation}"))
}

impl Watchdog {
    /// Watches a network, before it is run. What is not watched cannot be explained.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, testing};
    /// use std::time::Duration;
    ///
    /// let messages = testing::within(Duration::from_secs(600), |watchdog| {
    ///     let mut network = Network::new();
    ///     let numbers = network.source("numbers", 0..10_u32);
    ///     network.for_each("ignore", numbers, |_| {});
    ///     // If it hung, the panic would say what its processes wait for.
    ///     watchdog.watch(&network);
    ///     network.run().map(|report| report.messages())
    /// })?;
    /// assert_eq!(messages, 10);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn watch(&self, network: &Network<'_>) {
        self.0.state.lock().networks.push(network.stop_handle());
    }
}

/// Runs `f`; an explanation if the time was up.
#[track_caller]
pub(super) fn guarded<R>(limit: Duration, f: impl FnOnce(&Watchdog) -> R) -> Result<R, String> {
    let state = Mutex::new(State::default());
    let shared = Arc::new(Shared { limit, state, over: Condvar::new() });
    let watching = Arc::clone(&shared);
    let dog = thread::Builder::new().name("kahn watchdog".into()).spawn(move || watching.guard());
    if let Err(error) = dog {
        panic!("the system refused a thread for a watchdog: {error}");
    }
    let leash = Leash(&shared);
    let result = f(&Watchdog(Arc::clone(&shared)));
    drop(leash);
    let state = shared.state.lock();
    if state.time_is_up { Err(shared.say(&state)) } else { Ok(result) }
}

/// Calls the watchdog off, also when `f` panics.
struct Leash<'a>(&'a Shared);

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_over = true;
        self.0.over.notify_all();
    }
}

impl Shared {
    /// What the watchdog's thread does.
    fn guard(self: Arc<Self>) {
        if self.is_over_within(self.limit) {
            return;
        }
        let explaining = Arc::clone(&self);
        let explainer =
            thread::Builder::new().name("kahn explainer".into()).spawn(move || explaining.stop());
        // Long enough to stop in, and not much longer than the caller was willing to wait.
        let grace = self.limit.clamp(Duration::from_secs(1), Duration::from_secs(10));
        if explainer.is_ok() && self.is_over_within(grace) {
            return;
        }
        let text = self.say(&self.state.lock());
        let text = format!("{text}\nit could not be stopped either: the program is aborted\n");
        // Past the capture of tests, which would be lost. If it cannot be written, there is nothing to
        // be done.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        std::process::abort();
    }

    fn is_over_within(&self, time: Duration) -> bool {
        let mut state = self.state.lock();
        self.over.wait_while_for(&mut state, |state| !state.is_over, time);
        state.time_is_up |= !state.is_over;
        state.is_over
    }

    /// What the explainer's thread does.
    fn stop(&self) {
        let networks = self.state.lock().networks.clone();
        let explanations: Vec<_> =
            networks.iter().map(|network| network.explain().to_string()).collect();
        self.state.lock().explanation = Some(explanations.concat());
        networks.iter().for_each(StopHandle::stop);
    }

    fn say(&self, state: &State) -> String {
        let explanation = match state.explanation.as_deref().map(str::trim_end) {
            None => "  what its networks do cannot be told",
            Some("") => "  no network was being watched, or none was running",
            Some(explanation) => explanation,
        };
        format!("not done after {:?}:\n{explanation}", self.limit)
    }
}
