//! The ways to run a network: policies, workers, capacities, seeds.

use crate::RunOptions;
use crate::channel::Digest;
use crate::channel::digest::Digests;
use crate::network::{BuildPolicy, Choice, DEFAULT_BUDGET};
use crate::policy::{DEFAULT_TAU, POLICIES, Placement, Policy, Setup, Threads};
use kahn_engine::sync::Arc;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// One way to run a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Schedule {
    /// The policy.
    pub policy: String,
    /// The number of workers; `None` where the policy decides.
    pub workers: Option<usize>,
    /// The capacity of all channels; `None` for those of the network.
    pub capacity: Option<u32>,
    /// The seed, for policies that draw.
    pub seed: Option<u64>,
}

impl fmt::Display for Schedule {
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
        self.seed.map_or(Ok(()), |seed| write!(f, ", seed {seed}"))
    }
}

/// The ways in which a network is run to be verified: all combinations of policies, numbers of
/// workers, capacities and seeds.
///
/// As they come, they are all policies of [`POLICIES`], 1, 2, 3 and 8 workers, the network's own
/// capacities and 1, 2 and 64, and the seeds 0 to 7. Numbers of workers are for policies that heed
/// them, seeds for those that draw. The first schedule is the one that the others are compared with:
/// the policy `sequential`, if it is among them.
///
/// # Examples
///
/// ```
/// use kahn::testing::Schedules;
///
/// let schedules = Schedules::new().policies(["stealing", "seeded"]).workers([2]).capacities([1]);
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
    policies: Vec<Row>,
    workers: Vec<usize>,
    capacities: Vec<Option<u32>>,
    seeds: Vec<u64>,
    budget: u64,
    quiescence: bool,
    placement: Placement,
    tau: Duration,
    pub(super) time_limit: Duration,
    pub(super) digests: Arc<Digests>,
}

/// A policy of the table, or one of the user's own.
#[derive(Clone)]
struct Row {
    name: String,
    threads: Threads,
    draws: bool,
    own: Option<Arc<BuildPolicy>>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Row").field(&self.name).finish()
    }
}

impl Row {
    /// The row of a name; an unknown one is found out when it is run.
    fn named(name: &str) -> Self {
        let entry = POLICIES.iter().find(|entry| entry.name == name);
        Self {
            name: name.to_owned(),
            threads: entry.map_or(Threads::One, |entry| entry.threads),
            draws: entry.is_some_and(|entry| entry.draws),
            own: None,
        }
    }
}

impl Default for Schedules {
    fn default() -> Self {
        let mut schedules = Self {
            policies: Vec::new(),
            workers: vec![1, 2, 3, 8],
            capacities: vec![None, Some(1), Some(2), Some(64)],
            seeds: (0..8).collect(),
            budget: DEFAULT_BUDGET,
            quiescence: false,
            placement: Placement::default(),
            tau: DEFAULT_TAU,
            time_limit: Duration::from_mins(1),
            digests: Arc::new(Digests::ordinary()),
        };
        schedules.policies = POLICIES.iter().map(|entry| Row::named(entry.name)).collect();
        // The oracle first.
        schedules.policies.sort_by_key(|row| row.name != "sequential");
        schedules
    }
}

impl Schedules {
    /// Lists the schedules that a network is verified under if nothing else is said.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the policies, by their names in [`POLICIES`].
    pub fn policies<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.policies = names.into_iter().map(Row::named).collect();
        self
    }

    /// Adds a policy of your own, with all numbers of workers. `build` makes it for each run anew.
    pub fn own_policy<P: Policy + 'static>(
        mut self,
        name: &str,
        build: impl Fn(Setup) -> P + Send + Sync + 'static,
    ) -> Self {
        self.policies.push(Row {
            name: name.to_owned(),
            threads: Threads::AsAsked,
            draws: false,
            own: Some(Arc::new(move |setup| Box::new(build(setup)))),
        });
        self
    }

    /// Sets the numbers of workers.
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
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = u64>) -> Self {
        self.seeds = seeds.into_iter().collect();
        self
    }

    /// Sets the byte budget of each run; see [`RunOptions::budget`].
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Says that a quiescent end is normal; see [`RunOptions::quiescence_is_normal`].
    pub fn quiescence_is_normal(mut self, normal: bool) -> Self {
        self.quiescence = normal;
        self
    }

    /// Sets where processes belong under the policy `static`; see [`RunOptions::placement`]. In
    /// runs with fewer workers than a list names, numbers begin again at 0.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Sets when the policy `partition` shares out anew; see [`RunOptions::tau`].
    pub fn tau(mut self, tau: Duration) -> Self {
        self.tau = tau;
        self
    }

    /// Sets how long a run may take before it counts as a hang: a minute if nothing else is said.
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
    pub fn list(&self) -> Vec<Schedule> {
        self.rows().map(|(_, schedule)| schedule).collect()
    }

    /// The schedules and what each is run with.
    pub(super) fn options(&self) -> impl Iterator<Item = (Schedule, RunOptions)> {
        self.rows().map(|(row, schedule)| {
            let (workers, seed) = (schedule.workers.unwrap_or(1), schedule.seed.unwrap_or(0));
            let mut options = RunOptions::new()
                .workers(workers)
                .seed(seed)
                .budget(self.budget)
                .quiescence_is_normal(self.quiescence)
                .placement(self.placement.clone().folded(workers))
                .tau(self.tau)
                .recorded();
            if let Some(capacity) = schedule.capacity {
                options = options.capacity(capacity);
            }
            options.policy = match &row.own {
                Some(own) => Choice::Own(Arc::clone(own)),
                None => Choice::Named(row.name.clone()),
            };
            (schedule, options)
        })
    }

    fn rows(&self) -> impl Iterator<Item = (&Row, Schedule)> {
        self.policies.iter().flat_map(move |row| {
            let workers: Vec<_> = match row.threads {
                Threads::AsAsked => self.workers.iter().copied().map(Some).collect(),
                Threads::One | Threads::OnePerProcess => vec![None],
            };
            let seeds: Vec<_> =
                if row.draws { self.seeds.iter().copied().map(Some).collect() } else { vec![None] };
            let mut schedules = Vec::new();
            for &capacity in &self.capacities {
                for &workers in &workers {
                    for &seed in &seeds {
                        let policy = row.name.clone();
                        schedules.push((row, Schedule { policy, workers, capacity, seed }));
                    }
                }
            }
            schedules
        })
    }
}
