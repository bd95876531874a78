//! How a network is run.

use crate::channel::table::Capacities;
use crate::deadlock::Detection;
use kahn_engine::accounting::Accounting;
use kahn_engine::policy::{self, Placement, Policy, Setup};
use kahn_engine::sync::Arc;
use std::fmt;
use std::time::Duration;

/// The default byte budget for all channels: 1 GiB.
pub const DEFAULT_BUDGET: u64 = 1 << 30;

/// How a network is run.
///
/// Nothing here can change a result; a capacity that is too small costs time, never an answer. A
/// clone runs another network the same way.
///
/// # Examples
///
/// ```
/// use kahn::{Network, RunOptions};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1000_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let report = network.run_with(RunOptions::new().workers(2).policy("ws-last").capacity(1))?;
/// assert_eq!(sum.take(), Some(499_500));
/// assert_eq!(report.workers, 2);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub(crate) workers: Option<usize>,
    pub(crate) policy: Choice,
    pub(crate) capacities: Capacities,
    pub(crate) budget: u64,
    pub(crate) detection: Detection,
    pub(crate) accounting: Accounting,
    pub(crate) seed: u64,
    pub(crate) pin: bool,
    pub(crate) quiescence: bool,
    pub(crate) wait_once: bool,
    pub(crate) record: bool,
    pub(crate) listed: usize,
    pub(crate) placement: Placement,
    pub(crate) tau: Duration,
    pub(crate) virtual_time: bool,
    pub(crate) places: bool,
    /// How many threads the run may have.
    pub(crate) threads: usize,
    pub(crate) blocking_calls: usize,
}

/// A policy by its name, or one of the user's own, which is made for each run anew.
#[derive(Clone)]
pub(crate) enum Choice {
    Named(String),
    Own(Arc<BuildPolicy>),
}

/// Makes a policy for a run.
pub(crate) type BuildPolicy = dyn Fn(Setup) -> Box<dyn Policy> + Send + Sync;

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.debug_tuple("Named").field(name).finish(),
            Self::Own(_) => f.write_str("Own"),
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            workers: None,
            policy: Choice::Named(policy::DEFAULT.to_owned()),
            capacities: Capacities::default(),
            budget: DEFAULT_BUDGET,
            detection: Detection::default(),
            accounting: Accounting::default(),
            seed: 0,
            pin: false,
            quiescence: false,
            wait_once: false,
            record: false,
            listed: 10_000,
            placement: Placement::default(),
            tau: policy::DEFAULT_TAU,
            virtual_time: false,
            places: true,
            threads: usize::MAX,
            blocking_calls: 1024,
        }
    }
}

impl RunOptions {
    /// Makes the default options: a worker for each core, policy [`policy::DEFAULT`], the
    /// capacities that the channels were created with, a budget of 1 GiB, deferred detection,
    /// counters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of workers. The policies `sequential` and `seeded` use one and `threads` a
    /// thread for each process, whatever is set here.
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a network needs a worker at least");
        self.workers = Some(workers);
        self
    }

    /// Chooses a policy of [`POLICIES`](crate::POLICIES) by its name; an unknown one is an error of
    /// the run.
    #[must_use]
    pub fn policy(mut self, name: &str) -> Self {
        self.policy = Choice::Named(name.to_owned());
        self
    }

    /// Runs under a policy of your own; see [`policy`](mod@crate::policy). `build` makes it for each
    /// run anew, and is told the number of workers and the seed.
    #[must_use]
    pub fn own_policy<P: Policy + 'static>(
        mut self,
        build: impl Fn(Setup) -> P + Send + Sync + 'static,
    ) -> Self {
        self.policy = Choice::Own(Arc::new(move |setup| Box::new(build(setup))));
        self
    }

    /// Sets where processes belong under the policy `static`; others do not heed it. A process can
    /// also be pinned by its program: [`Process::worker`](crate::Process::worker).
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Sets how long the workers may be idle, all together, before the policy `partition` shares
    /// the processes out anew; others do not heed it. If it is not set,
    /// [`DEFAULT_TAU`](crate::policy::DEFAULT_TAU).
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn tau(mut self, tau: Duration) -> Self {
        assert!(!tau.is_zero(), "sharing out takes time itself");
        self.tau = tau;
        self
    }

    /// Gives every channel this capacity, in messages, instead of its own.
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
    /// use kahn::{Channel, Network, RunOptions};
    ///
    /// let mut network = Network::new();
    /// let (out, tickets) = network.channel_with(Channel::named("tickets").capacity(1));
    /// network.process("sell", out, async |mut out| out.send_all(0..10_u32).await);
    /// let numbers = network.map("double", tickets, |n| 2 * n);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let report = network.run_with(RunOptions::new().capacity_at_most(8))?;
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
    #[must_use]
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Sets when the runtime looks for rings of waits.
    #[must_use]
    pub fn detection(mut self, detection: Detection) -> Self {
        self.detection = detection;
        self
    }

    /// Sets how much the run counts about itself.
    #[must_use]
    pub fn accounting(mut self, accounting: Accounting) -> Self {
        self.accounting = accounting;
        self
    }

    /// Sets the seed, for policies that draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Pins worker *n* to core *n*, where the system can.
    #[must_use]
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// Says that a network in which nothing can happen any more has ended normally, though
    /// processes are left that wait for messages: Kahn's theory calls it complete.
    #[must_use]
    pub fn quiescence_is_normal(mut self, normal: bool) -> Self {
        self.quiescence = normal;
        self
    }

    /// Has every operation wait once, so that misuse shows at once. The policy `seeded` does so by
    /// itself.
    #[must_use]
    pub fn wait_once(mut self, wait: bool) -> Self {
        self.wait_once = wait;
        self
    }

    /// Gives the run a time of its own, for [`csp`](crate::csp): when nothing else can run, it jumps
    /// to the next deadline that a process waits for. Tests of days take no time.
    #[must_use]
    pub fn virtual_time(mut self, is_virtual: bool) -> Self {
        self.virtual_time = is_virtual;
        self
    }

    /// Bounds the threads for [blocking calls](crate::csp::blocking()) of communicating processes, which
    /// are 1 024 otherwise: a call beyond them waits until one before it has returned. Calls that
    /// wait for each other need as many threads as there are.
    ///
    /// # Panics
    /// Panics if there is to be none.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{RunOptions, csp};
    ///
    /// let run = csp::run(RunOptions::new().blocking_calls(2), async |scope| {
    ///     let calls = (0..100_u32).map(|n| csp::blocking(move || n)).collect::<Vec<_>>();
    ///     scope.par(calls).await
    /// })?;
    /// assert_eq!(run.result, Ok((0..100).collect()));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// Source: CCSP, whose blocking calls have up to 1 024 threads.
    #[must_use]
    pub fn blocking_calls(mut self, threads: usize) -> Self {
        assert!(threads > 0, "blocking calls need a thread at least");
        self.blocking_calls = threads;
        self
    }

    /// Has the system refuse all threads of the run after so many, besides the one that calls: for
    /// tests of what happens then.
    #[doc(hidden)]
    #[must_use]
    pub fn refuse_threads_after(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Says whether explanations and reports name files and lines: where a communicating process was
    /// created, where one panicked. They do, unless this is `false`: a program for users that have
    /// not its source is explained by names alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{RunOptions, csp};
    ///
    /// let stuck = csp::run(RunOptions::new().places(false), async |_scope| {
    ///     let (_out, mut never) = csp::channel::<u32>("never");
    ///     never.recv().await
    /// });
    /// let text = stuck.expect_err("nobody sends").to_string();
    /// assert!(!text.contains(".rs"), "{text}");
    /// ```
    #[must_use]
    pub fn places(mut self, named: bool) -> Self {
        self.places = named;
        self
    }

    /// Records the history of every channel and lists every process, for comparing runs.
    pub(crate) fn recorded(mut self) -> Self {
        self.record = true;
        self.listed = usize::MAX;
        self
    }
}
