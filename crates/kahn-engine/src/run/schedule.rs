//! How a run is scheduled: the options that every language has.

use crate::counters::Accounting;
use crate::policy::PolicyChoice;
use crate::sync::Arc;
use kahn_report::observe::Observer;
use std::fmt;

/// How a run is scheduled: by how many workers, under which policy, and what is counted.
///
/// Every kind of network has these options, and others of its own besides: `kahn::Options` and
/// `kahn_csp::Options` are made from a schedule.
///
/// # Examples
///
/// ```
/// use kahn::policy::SHARED;
/// use kahn::{Network, Options, Schedule};
///
/// let schedule = Schedule::new().workers(2).policy(SHARED);
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..10_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let report = network.run_with(Options::from(schedule).capacity(1))?;
/// assert_eq!((sum.take(), report.policy.as_str()), (Some(45), "shared"));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(super) workers: Option<usize>,
    /// Runs that go on at the same time, with this one.
    pub(super) runs: usize,
    pub(super) policy: PolicyChoice,
    pub(super) seed: u64,
    pub(super) pin: bool,
    pub(super) accounting: Accounting,
    pub(super) wait_once: bool,
    pub(super) places: bool,
    pub(super) listed: usize,
    pub(super) threads: usize,
    observer: Option<ObserverHandle>,
}

#[derive(Clone)]
struct ObserverHandle(Arc<dyn Observer>);

impl fmt::Debug for ObserverHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            workers: None,
            runs: 1,
            policy: PolicyChoice::default(),
            seed: 0,
            pin: false,
            accounting: Accounting::default(),
            wait_once: false,
            places: true,
            listed: 10_000,
            threads: usize::MAX,
            observer: None,
        }
    }
}

impl Schedule {
    /// Makes the default schedule: a worker for each core, policy [`DEFAULT`](crate::policy::DEFAULT), seed 0,
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

    /// Says that so many runs go on at the same time, this one among them, and share the cores. Each has a worker
    /// for each core of its part, one at least, if [`workers`](Self::workers) is not set; and those that have nothing
    /// to do sleep at once where the part is one core: they would look for work on a core that another run needs.
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn cores_shared_by(mut self, runs: usize) -> Self {
        assert!(runs > 0, "this run is one of them");
        self.runs = runs;
        self
    }

    /// Chooses the policy: a constant of [`policy`](mod@crate::policy) or of a crate of policies such as
    /// `kahn-policies`, or one of your own by what makes it, for each run anew: it is told the number of
    /// workers and the seed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEQUENTIAL;
    /// use kahn::{Network, Schedule};
    ///
    /// let report = Network::new().run_with(Schedule::new().policy(SEQUENTIAL).into())?;
    /// assert_eq!(report.policy, "sequential");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: impl Into<PolicyChoice>) -> Self {
        self.policy = policy.into();
        self
    }

    /// Sets how much the run counts about itself.
    #[must_use]
    pub fn accounting(mut self, accounting: Accounting) -> Self {
        self.accounting = accounting;
        self
    }

    /// Sets the seed, for policies that draw and for choices that are drawn.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Pins worker *n* to the core *n* of those that the run may use, where the system can, until the run ends.
    #[must_use]
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// Has every operation wait once, so that misuse shows at once. The policy `seeded` does so by
    /// itself.
    #[must_use]
    pub fn wait_once(mut self, wait: bool) -> Self {
        self.wait_once = wait;
        self
    }

    /// Says whether explanations and reports name files and lines of the program. They do, unless
    /// this is `false`: for users that do not have its source.
    #[must_use]
    pub fn places(mut self, named: bool) -> Self {
        self.places = named;
        self
    }

    /// Has the report list so many ended processes and channels one by one, and sums of the others.
    /// If it is not set, 10 000.
    #[must_use]
    pub fn listed(mut self, most: usize) -> Self {
        self.listed = most;
        self
    }

    /// Has the system refuse all threads of the run after so many, besides the one that calls: for
    /// tests of what happens then.
    #[must_use]
    pub fn refuse_threads_after(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Has this told what processes do, as the options of each kind of networks say.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(ObserverHandle(observer));
        self
    }

    /// Returns what is told what processes do, if anything is.
    pub fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref().map(|ObserverHandle(observer)| observer)
    }

    /// Returns the seed.
    pub fn the_seed(&self) -> u64 {
        self.seed
    }

    /// Returns whether explanations and reports name files and lines.
    pub fn names_places(&self) -> bool {
        self.places
    }

    /// Returns how many ended processes and channels the report lists one by one.
    pub fn most_listed(&self) -> usize {
        self.listed
    }
}

/// Writes the methods of options that have a `schedule`, by which that is set. Each is given the example
/// that its documentation shows.
#[macro_export]
macro_rules! schedule_options {
    ($options:ty {
        $(#[$workers:meta])* workers,
        $(#[$cores_shared_by:meta])* cores_shared_by,
        $(#[$policy:meta])* policy,
        $(#[$seed:meta])* seed,
        $(#[$pin:meta])* pin,
        $(#[$accounting:meta])* accounting,
        $(#[$wait_once:meta])* wait_once,
        $(#[$places:meta])* places,
        $(#[$refuse:meta])* refuse_threads_after,
    }) => {
        impl Default for $options {
            fn default() -> Self {
                Self::from($crate::Schedule::default())
            }
        }

        impl $options {
            /// Sets the number of workers. The policies `sequential` and `seeded` use one and `threads` a
            /// thread for each process, whatever is set here.
            ///
            /// # Examples
            ///
            $(#[$workers])*
            ///
            /// # Panics
            /// Panics if it is 0.
            #[must_use]
            pub fn workers(mut self, workers: usize) -> Self {
                self.schedule = self.schedule.workers(workers);
                self
            }

            /// Says that so many runs go on at the same time, this one among them, and share the cores. Each
            /// has a worker for each core of its part, one at least, if [`workers`](Self::workers) is not set;
            /// and those that have nothing to do sleep at once where the part is one core: they would look
            /// for work on a core that another run needs.
            ///
            /// # Examples
            ///
            $(#[$cores_shared_by])*
            ///
            /// # Panics
            /// Panics if it is 0.
            #[must_use]
            pub fn cores_shared_by(mut self, runs: usize) -> Self {
                self.schedule = self.schedule.cores_shared_by(runs);
                self
            }

            /// Chooses the policy: a constant of [`policy`](mod@crate::policy) or of a crate of policies
            /// such as `kahn-policies`, or what makes one of your own; see
            /// [`Schedule::policy`](crate::Schedule::policy).
            ///
            /// # Examples
            ///
            $(#[$policy])*
            #[must_use]
            pub fn policy(mut self, policy: impl Into<$crate::policy::PolicyChoice>) -> Self {
                self.schedule = self.schedule.policy(policy);
                self
            }

            /// Sets the seed of all that is drawn: by policies, and by processes that may choose.
            ///
            /// # Examples
            ///
            $(#[$seed])*
            #[must_use]
            pub fn seed(mut self, seed: u64) -> Self {
                self.schedule = self.schedule.seed(seed);
                self
            }

            /// Pins worker *n* to the core *n* of those that the run may use, where the system can, until the run ends.
            ///
            /// The thread that runs the network is the first worker, and then has the cores again that it had before. Threads
            /// of blocking processes are not pinned; a thread that a process starts by itself has the core of its worker.
            ///
            /// # Examples
            ///
            $(#[$pin])*
            #[must_use]
            pub fn pin(mut self, pin: bool) -> Self {
                self.schedule = self.schedule.pin(pin);
                self
            }

            /// Sets how much the run counts about itself.
            ///
            /// # Examples
            ///
            $(#[$accounting])*
            #[must_use]
            pub fn accounting(mut self, accounting: $crate::Accounting) -> Self {
                self.schedule = self.schedule.accounting(accounting);
                self
            }

            /// Has every operation wait once, so that misuse shows at once. The policy `seeded` does so
            /// by itself.
            ///
            /// # Examples
            ///
            $(#[$wait_once])*
            #[must_use]
            pub fn wait_once(mut self, wait: bool) -> Self {
                self.schedule = self.schedule.wait_once(wait);
                self
            }

            /// Says whether reports and explanations name files and lines of the program: where a
            /// process was created, where one panicked. They do, unless this is `false`: for users that
            /// do not have its source.
            ///
            /// # Examples
            ///
            $(#[$places])*
            #[must_use]
            pub fn places(mut self, named: bool) -> Self {
                self.schedule = self.schedule.places(named);
                self
            }

            /// Has the system refuse all threads of the run after so many, besides the one that calls:
            /// for tests of what happens then.
            ///
            /// # Examples
            ///
            $(#[$refuse])*
            #[must_use]
            pub fn refuse_threads_after(mut self, threads: usize) -> Self {
                self.schedule = self.schedule.refuse_threads_after(threads);
                self
            }
        }
    };
}
