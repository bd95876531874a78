//! Looks at a run 50 times a second and shows what that comes to a few times a second.
//!
//! | step | then |
//! |---|---|
//! | a look, or a view | rests for 20 ms, or for 99 times what the step took of the processor if that is more |
//! | a look finds nothing | the run has not begun, or has ended: nothing is shown |
//!
//! So the thread takes at most a hundredth of a core, however many processes there are and however slow the
//! machine is; a view says how often it was looked.

use super::sampler::Sampler;
use super::view::View;
use kahn_engine::sync::system::clock;
use kahn_report::observe::Sampled;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a run is looked at.
pub const LOOKS_A_SECOND: u32 = 50;

/// A look takes at most one of so many parts of the time of one core.
const ONE_OF: u32 = 100;

/// How many looks a view is made of at least: the view of very many processes costs as much as several, and
/// shares of one look would say little.
const LEAST: u32 = 4;

/// What the thread that looks goes by; a test has its own.
trait Clock {
    /// The time since it was started.
    fn now(&mut self) -> Duration;
    /// The time that the calling thread has had of a processor, or `now` if that is not known.
    fn spent(&mut self) -> Duration;
    /// Waits; whether it is to go on.
    fn rest(&mut self, time: Duration) -> bool;
}

/// Looks at a run until its clock says that it is over, and shows a view each time that `every` has passed and
/// there were enough looks.
fn watch(run: &impl Sampled, every: Duration, clock: &mut impl Clock, mut show: impl FnMut(View)) {
    let mut sampler = Sampler::default();
    let mut shown = clock.now();
    let mut before = clock.spent();
    let mut rest = |clock: &mut dyn Clock| {
        let spent = clock.spent();
        let cost = spent.saturating_sub(before);
        before = spent;
        clock.rest((Duration::from_secs(1) / LOOKS_A_SECOND).max(cost * (ONE_OF - 1)))
    };
    while rest(clock) {
        let now = clock.now();
        if !sampler.look(run, now) {
            shown = now;
        } else if now.saturating_sub(shown) >= every && sampler.looks() >= LEAST {
            show(sampler.view(run, now));
            shown = now;
        }
    }
}

/// Whether it is over.
#[derive(Debug, Default)]
struct Over {
    is_over: Mutex<bool>,
    changed: Condvar,
}

struct RealClock {
    began: u64,
    over: Arc<Over>,
}

impl Clock for RealClock {
    fn now(&mut self) -> Duration {
        Duration::from_nanos(clock::nanoseconds().saturating_sub(self.began))
    }

    fn spent(&mut self) -> Duration {
        clock::of_this_thread().map_or_else(|| self.now(), Duration::from_nanos)
    }

    fn rest(&mut self, time: Duration) -> bool {
        let mut is_over = self.over.is_over.lock();
        if !*is_over {
            self.over.changed.wait_for(&mut is_over, time);
        }
        !*is_over
    }
}

/// A thread that looks at a run, until this is dropped.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_observe::sample::{View, Watch};
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0_u64..);
/// network.for_each("ignore", numbers, |_| {});
/// let stop = network.stop_handle();
/// let (shown, views) = mpsc::channel::<View>();
/// let watch = Watch::start(network.stop_handle(), Duration::from_millis(100), move |view| {
///     let _ = shown.send(view);
/// })?;
/// let run = std::thread::spawn(move || network.run().map(drop));
/// let view = views.recv()?;
/// assert!(view.processes.iter().any(|process| process.name == "numbers"));
/// drop(watch);
/// stop.stop();
/// assert!(run.join().expect("it does not panic").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it ends when this is dropped"]
pub struct Watch {
    over: Arc<Over>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to look at a run, and shows what it did each time that `every` has passed, while it runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::Watch;
    /// use std::time::Duration;
    ///
    /// let mut network = kahn::Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// network.for_each("ignore", numbers, |_| {});
    /// let every = Duration::from_millis(200);
    /// let _watch = Watch::start(network.stop_handle(), every, |view| {
    ///     println!("{} processes", view.of_processes.all);
    /// })?;
    /// network.run()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread.
    pub fn start(
        run: impl Sampled + 'static,
        every: Duration,
        show: impl FnMut(View) + Send + 'static,
    ) -> io::Result<Self> {
        let over = Arc::new(Over::default());
        let mut of_thread = RealClock { began: clock::nanoseconds(), over: Arc::clone(&over) };
        let thread = thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || watch(&run, every, &mut of_thread, show))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Watch {
    /// Waits for the thread, which is in no more than a look or a call of what shows.
    fn drop(&mut self) {
        *self.over.is_over.lock() = true;
        self.over.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // What shows may have panicked: that was said when it did.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
