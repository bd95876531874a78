//! The ways to run a network: policies, workers, capacities, seeds.

use super::verify::Of;
use crate::Options;
use crate::channel::Digest;
use crate::channel::digest::Digests;
use crate::network::DEFAULT_BUDGET;
use crate::policy::{PolicyChoice, SEQUENTIAL, Threads, WAYS};
use kahn_engine::sync::Arc;
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// One way to run a network.
///
/// # Examples
///
/// ```
/// use kahn::policy::STEALING;
/// use kahn::testing::Schedules;
///
/// let schedules = Schedules::new().policies([STEALING]).workers([2]).capacities([1]);
/// let schedule = &schedules.list()[0];
/// assert_eq!((schedule.workers, schedule.capacity, schedule.seed), (Some(2), Some(1), None));
/// assert_eq!(schedule.to_string(), "policy stealing, 2 workers, capacity 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[non_exhaustive]
pub struct Case {
    /// The policy.
    pub policy: String,
    /// The number of workers; `None` where the policy decides.
    pub workers: Option<usize>,
    /// The capacity of all channels; `None` for those of the network.
    pub capacity: Option<u32>,
    /// The seed, for policies that draw.
    pub seed: Option<u64>,
    /// How many parts share the work of the network, where that is varied.
    pub parts: Option<usize>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {}", self.policy)?;
        match self.workers {
            Some(1) => write!(f, ", 1 worker")?,
            Some(workers) => write!(f, ", {workers} workers")?,
            None => {}
        }
        match self.capacity {
            Some(capacity) => write!(f, ", capacity {capacity}")?,
            None => write!(f, ", own capacities")?,
        }
        if let Some(seed) = self.seed {
            write!(f, ", seed {seed}")?;
        }
        self.parts.map_or(Ok(()), |parts| write!(f, ", {}", Of(parts)))
    }
}

/// The ways in which a network is run to be verified: all combinations of policies, numbers of
/// workers, capacities and seeds.
///
/// As they come, they are the ways that the engine has by itself ([`WAYS`]), 1, 2, 3 and 8 workers, the network's own
/// capacities and 1, 2 and 64, and the seeds 0 to 7. Numbers of workers are for policies that heed
/// them, seeds for those that draw. The first schedule is the one that the others are compared with:
/// the policy `sequential`, if it is among them.
///
/// # Examples
///
/// ```
/// use kahn::policy::{SEEDED, STEALING};
/// use kahn::testing::Schedules;
///
/// let schedules = Schedules::new().policies([STEALING, SEEDED]).workers([2]).capacities([1]);
/// let list: Vec<_> = schedules.list().iter().map(ToString::to_string).collect();
/// assert_eq!(list[0], "policy stealing, 2 workers, capacity 1");
/// assert_eq!(list[1], "policy seeded, capacity 1, seed 0");
/// assert_eq!(list.len(), 1 + 8);
///
/// let verified = schedules.verify(|network| {
///     let numbers = network.source("numbers", 0..100_u32);
///     network.for_each("ignore", numbers, |_| {});
/// })?;
/// assert_eq!(verified.schedules, 9);
/// # Ok::<(), kahn::testing::VerifyError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is run before `verify`"]
pub struct Schedules {
    policies: Vec<PolicyChoice>,
    workers: Vec<usize>,
    capacities: Vec<Option<u32>>,
    seeds: Vec<u64>,
    budget: u64,
    quiescence: bool,
    pub(super) time_limit: Duration,
    pub(super) digests: Arc<Digests>,
}

impl Default for Schedules {
    fn default() -> Self {
        let mut policies = WAYS.to_vec();
        // The oracle first.
        policies.sort_by_key(|policy| policy.name() != SEQUENTIAL.name());
        Self {
            policies,
            workers: vec![1, 2, 3, 8],
            capacities: vec![None, Some(1), Some(2), Some(64)],
            seeds: (0..8).collect(),
            budget: DEFAULT_BUDGET,
            quiescence: false,
            time_limit: Duration::from_secs(60),
            digests: Arc::new(Digests::ordinary()),
        }
    }
}

impl Schedules {
    /// Lists the schedules that a network is verified under if nothing else is said.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing::Schedules;
    ///
    /// let schedules = Schedules::new().list();
    /// assert!(schedules.iter().any(|schedule| schedule.workers == Some(8)));
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the policies: those of [`WAYS`], of a crate of policies, and your own.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing::Schedules;
    ///
    /// let verified = Schedules::new().policies(kahn_policies::POLICIES.iter().cloned());
    /// assert!(verified.list().iter().any(|schedule| schedule.policy == "ws-last"));
    /// ```
    pub fn policies<P: Into<PolicyChoice>>(
        mut self,
        policies: impl IntoIterator<Item = P>,
    ) -> Self {
        self.policies = policies.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a policy.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing::Schedules;
    /// use kahn_policies::BATCH;
    ///
    /// let verified = Schedules::new().policy(BATCH).workers([2]).capacities([1]).verify(|network| {
    ///     let numbers = network.source("numbers", 0..100_u32);
    ///     network.for_each("ignore", numbers, |_| {});
    /// })?;
    /// assert_eq!(verified.schedules, 3 + 1 + 1 + 8);
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    pub fn policy(mut self, policy: impl Into<PolicyChoice>) -> Self {
        self.policies.push(policy.into());
        self
    }

    /// Sets the numbers of workers.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SHARED;
    /// use kahn::testing::Schedules;
    ///
    /// let schedules = Schedules::new().policies([SHARED]).workers([1, 4]).capacities([1]);
    /// assert_eq!(schedules.list().len(), 2);
    /// ```
    ///
    /// # Panics
    /// Panics if one of them is 0.
    pub fn workers(mut self, workers: impl IntoIterator<Item = usize>) -> Self {
        self.workers = workers.into_iter().collect();
        assert!(!self.workers.contains(&0), "a network needs a worker at least");
        self
    }

    /// Sets the capacities; `None` stands for those of the network.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEQUENTIAL;
    /// use kahn::testing::Schedules;
    ///
    /// let schedules = Schedules::new().policies([SEQUENTIAL]);
    /// // The network's own, and one message.
    /// assert_eq!(schedules.capacities([None, Some(1)]).list().len(), 2);
    /// ```
    ///
    /// # Panics
    /// Panics if one of them is 0.
    pub fn capacities<C: Into<Option<u32>>>(
        mut self,
        capacities: impl IntoIterator<Item = C>,
    ) -> Self {
        self.capacities = capacities.into_iter().map(Into::into).collect();
        assert!(!self.capacities.contains(&Some(0)), "a channel holds a message at least");
        self
    }

    /// Sets the seeds.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEEDED;
    /// use kahn::testing::Schedules;
    ///
    /// let schedules = Schedules::new().policies([SEEDED]).capacities([1]).seeds(0..100);
    /// assert_eq!(schedules.list().len(), 100);
    /// ```
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = u64>) -> Self {
        self.seeds = seeds.into_iter().collect();
        self
    }

    /// Sets the byte budget of each run; see [`Options::budget`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEQUENTIAL;
    /// use kahn::{Summary, testing::Schedules};
    ///
    /// let verified = Schedules::new().policies([SEQUENTIAL]).budget(4096).capacities([1]).verify(|network| {
    ///     let (ask, answer) = network.channel::<[u8; 1024]>("asked");
    ///     // It sends to itself, more than the budget allows.
    ///     network.process("hoard", (ask, answer), async |(mut ask, mut answer)| {
    ///         for _ in 0..8 {
    ///             ask.send([0; 1024]).await;
    ///         }
    ///         answer.recv().await;
    ///     });
    /// })?;
    /// assert_eq!(verified.cut[0].outcome, Summary::OverBudget);
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Says that a quiescent end is normal; see [`Options::quiescence_is_normal`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Summary;
    /// use kahn::testing::Schedules;
    ///
    /// let verified = Schedules::new().quiescence_is_normal(true).verify(|network| {
    ///     let (out, numbers) = network.channel::<u32>("to itself");
    ///     network.process("wait", (out, numbers), async |(_out, mut numbers)| {
    ///         numbers.recv().await;
    ///     });
    /// })?;
    /// assert_eq!(verified.report.outcome, Summary::Quiescent);
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    pub fn quiescence_is_normal(mut self, normal: bool) -> Self {
        self.quiescence = normal;
        self
    }

    /// Sets how long a run may take before it counts as a hang: a minute if nothing else is said.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEQUENTIAL;
    /// use kahn::testing::Schedules;
    /// use std::time::Duration;
    ///
    /// let schedules = Schedules::new().policies([SEQUENTIAL]).time_limit(Duration::from_secs(600));
    /// let verified = schedules.verify(|network| {
    ///     let numbers = network.source("numbers", 0..1000_u64);
    ///     network.for_each("ignore", numbers, |_| {});
    /// })?;
    /// assert_eq!(verified.report.messages(), 1000);
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Has channels whose messages are of this type compared by contents, and those that carry
    /// vectors and options of it, also where a process of the library made them.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing::Schedules;
    ///
    /// #[derive(kahn::Digest)]
    /// struct Square {
    ///     of: u32,
    ///     is: u32,
    /// }
    ///
    /// let verified = Schedules::new().digest::<Square>().verify(|network| {
    ///     let numbers = network.source("numbers", 0..10);
    ///     let squares = network.map("square", numbers, |of| Square { of, is: of * of });
    ///     network.for_each("check", squares, |square| assert!(square.is >= square.of));
    /// })?;
    /// assert_eq!((verified.by_contents, verified.by_count), (2, 0));
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the type borrows: give such channels a digest with
    /// [`Channel::digest`](crate::Channel::digest).
    pub fn digest<T: Digest + 'static>(mut self) -> Self {
        Arc::make_mut(&mut self.digests).add_named::<T>();
        self
    }

    /// Lists the schedules, in the order in which they are run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEEDED;
    /// use kahn::testing::Schedules;
    ///
    /// let schedules = Schedules::new().policies([SEEDED]).capacities([1]).seeds([1, 2]).list();
    /// assert_eq!(schedules[1].to_string(), "policy seeded, capacity 1, seed 2");
    /// ```
    pub fn list(&self) -> Vec<Case> {
        self.rows().map(|(_, schedule)| schedule).collect()
    }

    /// The schedules and what each is run with.
    pub(super) fn options(&self) -> impl Iterator<Item = (Case, Options)> {
        self.rows().map(|(policy, schedule)| {
            let (workers, seed) = (schedule.workers.unwrap_or(1), schedule.seed.unwrap_or(0));
            let mut options = Options::new()
                .workers(workers)
                .seed(seed)
                .budget(self.budget)
                .quiescence_is_normal(self.quiescence)
                .policy(policy.clone())
                .histories();
            if let Some(capacity) = schedule.capacity {
                options = options.capacity(capacity);
            }
            (schedule, options)
        })
    }

    fn rows(&self) -> impl Iterator<Item = (&PolicyChoice, Case)> {
        self.policies.iter().flat_map(move |choice| {
            let workers: Vec<_> = match choice.threads() {
                Threads::AsAsked => self.workers.iter().copied().map(Some).collect(),
                Threads::One | Threads::OnePerProcess => vec![None],
            };
            let seeds: Vec<_> = if choice.draws() {
                self.seeds.iter().copied().map(Some).collect()
            } else {
                vec![None]
            };
            let mut schedules = Vec::new();
            for &capacity in &self.capacities {
                for &workers in &workers {
                    for &seed in &seeds {
                        let policy = choice.name().to_owned();
                        schedules
                            .push((choice, Case { policy, workers, capacity, seed, parts: None }));
                    }
                }
            }
            schedules
        })
    }
}
