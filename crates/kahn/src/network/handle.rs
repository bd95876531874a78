//! A run from outside: stop it, look into it.

use super::core::{Core, Role, Verdict};
use crate::deadlock::{look, survey};
use kahn_engine::sync::{Arc, Ordering::*};
use kahn_report::observe::{Look, Sampled, Survey};
use kahn_report::{Activity, Explanation, StillRunning};
use std::ops::Range;
use std::sync::Weak;
use std::time::Duration;

/// Stops a run from outside, explains what it is doing, and lets it be [sampled](Sampled).
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

impl StopHandle {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self(Arc::downgrade(core))
    }

    /// Stops the run, as soon as every process gives its worker back.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0_u64..);
    /// network.for_each("ignore", numbers, |_| {});
    /// let handle = network.stop_handle();
    /// let run = std::thread::spawn(move || network.run().map(drop));
    /// handle.stop();
    /// // A run that is stopped is no success, whether it had begun or not.
    /// assert!(run.join().expect("it does not panic").is_err());
    /// ```
    pub fn stop(&self) {
        if let Some(core) = self.0.upgrade() {
            core.end_with(Verdict::Stopped);
        }
    }

    /// Stops the run and waits until every process has, or for `deadline`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::time::Duration;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0_u64..);
    /// network.for_each("ignore", numbers, |_| {});
    /// let handle = network.stop_handle();
    /// let run = std::thread::spawn(move || network.run().map(drop));
    /// handle.stop_within(Duration::from_secs(60)).expect("all its processes receive or send");
    /// assert!(run.join().expect("it does not panic").is_err());
    /// ```
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
    ///
    /// On the first of several ranks it asks the others, and waits for a second at most: it is not to be called by the
    /// thread that speaks with them. On another rank it tells of that alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel::<u32>("numbers");
    /// let handle = network.stop_handle();
    /// network.process("look", out, async move |mut out| {
    ///     out.send(1).await;
    ///     assert!(handle.explain().to_string().contains("`sum`"));
    /// });
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// network.run()?;
    /// assert_eq!(sum.take(), Some(1));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        self.0.upgrade().map(|core| core.explain_all()).unwrap_or_default()
    }

    /// Returns how many messages have been received so far, on all channels that are open.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..100_u32);
    /// let handle = network.stop_handle();
    /// assert_eq!(handle.messages(), 0);
    /// let (out, seen) = network.channel("seen");
    /// network.process("look", (numbers, out), async move |(mut numbers, mut out)| {
    ///     numbers.for_each(|_| {}).await;
    ///     numbers.flush().await;
    ///     out.send(handle.messages()).await;
    /// });
    /// let seen = network.collect("all", seen);
    /// network.run()?;
    /// assert!(seen.take().is_some_and(|seen| seen[0] <= 100));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn messages(&self) -> u64 {
        self.0.upgrade().map_or(0, |core| core.channels.received())
    }

    /// Returns whether the run has been told to end, or has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let handle = network.stop_handle();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// network.for_each("ignore", numbers, |_| {});
    /// network.run()?;
    /// assert!(handle.is_ending());
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn is_ending(&self) -> bool {
        self.0
            .upgrade()
            .is_none_or(|core| core.scheduler.is_ending() || core.scheduler.live.load(Relaxed) == 0)
    }
}

impl Sampled for StopHandle {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        match self.0.upgrade() {
            Some(core) => look(&core.scheduler, places, Role::of_part, found),
            None => *found = Look::default(),
        }
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        let places = (processes, channels);
        self.0.upgrade().map_or_else(Survey::default, |core| {
            let mut found = survey(&core.scheduler, &core.channels, places, Role::of_part);
            if let Some(cut) = core.cut.get() {
                cut.leave_out_links(&mut found);
            }
            found
        })
    }

    fn explain(&self) -> Explanation {
        Self::explain(self)
    }
}
