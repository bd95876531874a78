//! How a network is run.

use crate::channel::capacities::Capacities;
use crate::channel::observer::ObserverHandle;
use crate::deadlock::Detection;
use kahn_engine::sync::Arc;
use kahn_engine::{Schedule, schedule_options};
use kahn_report::Both;
use kahn_report::observe::{Observable, Observer};

/// The default byte budget for all channels: 1 GiB.
pub(crate) const DEFAULT_BUDGET: u64 = 1 << 30;

/// How a network is run: its [`Schedule`], and how its channels are bounded.
///
/// Nothing here can change a result; a capacity that is too small costs time, never an answer. A
/// clone runs another network the same way.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1000_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let options = Options::new().workers(2).policy(kahn::policy::SHARED).capacity(1);
/// let report = network.run_with(options)?;
/// assert_eq!(sum.take(), Some(499_500));
/// assert_eq!(report.workers, 2);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) schedule: Schedule,
    pub(crate) capacities: Capacities,
    pub(crate) budget: u64,
    pub(crate) detection: Detection,
    pub(crate) quiescence: bool,
    pub(crate) record: bool,
    pub(crate) observer: Option<ObserverHandle>,
}

impl From<Schedule> for Options {
    fn from(schedule: Schedule) -> Self {
        let observer = schedule.observer().cloned().map(ObserverHandle::new);
        Self {
            schedule,
            capacities: Capacities::default(),
            budget: DEFAULT_BUDGET,
            detection: Detection::default(),
            quiescence: false,
            record: false,
            observer,
        }
    }
}

impl Options {
    /// Makes the default options: a worker for each core, policy [`DEFAULT`](crate::policy::DEFAULT), the
    /// capacities that the channels were created with, a budget of 1 GiB, deferred detection,
    /// counters.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// network.process("idle", (), async |()| {});
    /// let report = network.run_with(Options::new())?;
    /// assert!(report.is_success());
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives every channel this capacity, in messages, instead of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let report = network.run_with(Options::new().capacity(2))?;
    /// assert_eq!(report.channels[0].capacity, 2);
    /// assert_eq!(sum.take(), Some(45));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn capacity(mut self, messages: u32) -> Self {
        assert!(messages > 0, "a channel holds a message at least");
        self.capacities.all = Some(messages);
        self
    }

    /// Lets no channel begin with more than this capacity, in messages: each has its own, or
    /// [`capacity`](Self::capacity), but at most this. Initial messages have room all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network, Options};
    ///
    /// let mut network = Network::new();
    /// let (out, tickets) = network.channel_with(Channel::named("tickets").capacity(1));
    /// network.process("sell", out, async |mut out| out.send_all(0..10_u32).await);
    /// let numbers = network.map("double", tickets, |n| 2 * n);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let report = network.run_with(Options::new().capacity_at_most(8))?;
    /// assert_eq!(sum.take(), Some(90));
    /// let capacities: Vec<_> = report.channels.iter().map(|channel| channel.capacity).collect();
    /// assert_eq!(capacities, [1, 8]);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn capacity_at_most(mut self, messages: u32) -> Self {
        assert!(messages > 0, "a channel holds a message at least");
        self.capacities.most = Some(messages);
        self
    }

    /// Sets the byte budget for all channels.
    ///
    /// It counts the slots that channels have, and what the messages in them own, as
    /// [`Weigh`](crate::Weigh) tells, a function given with the channel, or their type if that is an
    /// ordinary one. What messages of other types own is not counted; the report names their
    /// channels ([`Report::weight_unknown`](crate::Report::weight_unknown)). The memory of processes
    /// is not counted: neither their bodies nor what they own.
    ///
    /// The budget is compared when a channel is made and when it must grow, never by a send. A network
    /// that needs *n* bytes in its channels finishes with a budget of 1.5 *n*. The memory that the
    /// channels take is at most the budget and, for each channel, as many of the heaviest messages
    /// as it had slots when it was last compared. So a network whose channels never grow cannot end
    /// over its budget because its messages are heavy; the report has a warning then.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network, RunError, Options};
    ///
    /// let mut network = Network::new();
    /// let (out, pages) = network.channel_with(Channel::named("pages").capacity(1000));
    /// network.process("write", out, async |mut out| out.send([0_u8; 4096]).await);
    /// network.for_each("read", pages, |_page| {});
    /// // A thousand slots of 4 KiB do not fit into 1 MiB.
    /// let error = network.run_with(Options::new().budget(1 << 20)).expect_err("too much");
    /// assert!(matches!(error, RunError::Check(_)));
    /// ```
    #[must_use]
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Sets when the runtime looks for rings of waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Detection, Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// network.run_with(Options::new().detection(Detection::Off))?;
    /// assert_eq!(sum.take(), Some(45));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[must_use]
    pub fn detection(mut self, detection: Detection) -> Self {
        self.detection = detection;
        self
    }

    /// Says that a network in which nothing can happen any more has ended normally, though
    /// processes are left that wait for messages: Kahn's theory calls it complete.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options, Summary};
    ///
    /// let mut network = Network::new();
    /// let (to_b, from_a) = network.channel::<u32>("to b");
    /// let (to_a, from_b) = network.channel::<u32>("to a");
    /// // Each waits for a message of the other, and there is none.
    /// network.process("a", (to_b, from_b), async |(mut out, mut from)| {
    ///     while let Some(n) = from.recv().await {
    ///         out.send(n).await;
    ///     }
    /// });
    /// network.process("b", (to_a, from_a), async |(mut out, mut from)| {
    ///     while let Some(n) = from.recv().await {
    ///         out.send(n).await;
    ///     }
    /// });
    /// let report = network.run_with(Options::new().quiescence_is_normal(true))?;
    /// assert_eq!(report.outcome, Summary::Quiescent);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[must_use]
    pub fn quiescence_is_normal(mut self, normal: bool) -> Self {
        self.quiescence = normal;
        self
    }

    /// Has a run on several ranks keep the history of every channel, a digest a message, and list every process, so
    /// that it can be compared with others: see [`RankRun::histories`](super::RankRun::histories).
    ///
    /// Channels whose messages have neither a [digest](super::Channel::digest) nor a written form are compared by
    /// numbers. It takes eight bytes a message.
    ///
    /// # Examples
    ///
    /// ```
    /// let options = kahn::Options::new().capacity(1).histories();
    /// ```
    #[must_use]
    pub fn histories(mut self) -> Self {
        self.record = true;
        self.schedule = self.schedule.listed(usize::MAX);
        self
    }

    /// Has this told what the processes of the run do, while they do it; beside the observers given before,
    /// each of which is told what it wants to know.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::observe::{Observer, Subject};
    /// use kahn::{Network, Options};
    /// use std::sync::{Arc, Mutex};
    ///
    /// /// The names of processes, in the order in which they ran.
    /// #[derive(Default)]
    /// struct Trace(Mutex<Vec<String>>);
    ///
    /// impl Observer for Trace {
    ///     fn runs(&self, process: Subject<'_>, _worker: Option<usize>, _at: u64) {
    ///         self.0.lock().expect("no other thread panics").push(process.name.to_string());
    ///     }
    /// }
    ///
    /// let trace = Arc::new(Trace::default());
    /// let mut network = Network::new();
    /// network.process("hello", (), async |()| {});
    /// network.run_with(Options::new().observer(Arc::clone(&trace)))?;
    /// assert_eq!(*trace.0.lock().expect("no other thread panics"), ["hello"]);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[must_use]
    pub fn observer(self, observer: Arc<impl Observer + 'static>) -> Self {
        self.observed_by(observer)
    }

    /// Returns the schedule: what of these options other kinds of networks heed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Options;
    ///
    /// assert_eq!(Options::new().seed(7).schedule().the_seed(), 7);
    /// ```
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl Observable for Options {
    fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        let observer = match self.observer.take() {
            None => observer,
            Some(before) => Arc::new(Both::new(before.observer, observer)),
        };
        self.observer = Some(ObserverHandle::new(Arc::clone(&observer)));
        self.schedule = self.schedule.observed_by(observer);
        self
    }
}

schedule_options! { Options {
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// network.process("idle", (), async |()| {});
    /// let report = network.run_with(Options::new().workers(3))?;
    /// assert_eq!(report.worker_reports.len(), 3);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    workers,
    /// Two networks at once, each by half of the cores:
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use std::thread;
    ///
    /// let sum = |from: u64| {
    ///     let mut network = Network::new();
    ///     let numbers = network.source("numbers", from..from + 10);
    ///     let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    ///     network.run_with(Options::new().cores_shared_by(2)).map(|_report| sum.take())
    /// };
    /// let (one, other) = thread::scope(|scope| {
    ///     let other = scope.spawn(|| sum(10));
    ///     (sum(0), other.join().expect("it does not panic"))
    /// });
    /// assert_eq!((one?, other?), (Some(45), Some(145)));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    cores_shared_by,
    /// ```
    /// use kahn::policy::SEQUENTIAL;
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let report = network.run_with(Options::new().policy(SEQUENTIAL))?;
    /// assert_eq!((sum.take(), report.policy.as_str()), (Some(45), "sequential"));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    policy,
    /// ```
    /// use kahn::policy::SEEDED;
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// // The same order, each time that it runs.
    /// network.run_with(Options::new().policy(SEEDED).seed(7))?;
    /// assert_eq!(sum.take(), Some(45));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    seed,
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// network.run_with(Options::new().workers(2).pin(true))?;
    /// assert_eq!(sum.take(), Some(45));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pin,
    /// ```
    /// use kahn::{Accounting, Network, Options};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// network.for_each("ignore", numbers, |_| {});
    /// let report = network.run_with(Options::new().accounting(Accounting::Timing))?;
    /// assert!(report.processes[0].cpu_seconds.is_some());
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    accounting,
    /// An operation that is polled once and left behind may go unnoticed; here it does not:
    ///
    /// ```
    /// use futures_util::FutureExt;
    /// use kahn::{Network, Options, Summary};
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// network.process("impatient", out, async |mut out| {
    ///     let _ = out.send(1_u32).now_or_never();
    /// });
    /// network.for_each("ignore", numbers, |_| {});
    /// let error = network.run_with(Options::new().wait_once(true)).expect_err("misuse");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Misuse));
    /// ```
    wait_once,
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// network.process("fail", (), async |()| panic!("no luck"));
    /// let error = network.run_with(Options::new().places(false)).expect_err("it panics");
    /// assert!(!error.to_string().contains(".rs"));
    /// ```
    places,
    /// ```
    /// use kahn::{Network, Options};
    ///
    /// let mut network = Network::new();
    /// network.process("idle", (), async |()| {});
    /// let report = network.run_with(Options::new().workers(4).refuse_threads_after(1))?;
    /// assert!(report.warnings.iter().any(|warning| warning.contains("thread")));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    refuse_threads_after,
} }
