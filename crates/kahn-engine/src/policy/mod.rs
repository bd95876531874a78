//! WHICH process runs next: one file a policy, one table of all of them.
//!
//! A policy owns the run queues. It is told when a process becomes ready ([`Policy::push`]) and
//! asked for one when a worker has nothing to run ([`Policy::pop`]). It never sees messages, and no
//! choice it makes can change a result: that is Kahn's theorem. So a policy is free to choose, and
//! the runtime is free to let users write their own:
//!
//! ```
//! use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Turn};
//! use kahn::{Network, Options};
//! use std::collections::VecDeque;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! /// One stack for all workers: last come, first served; `Turn::Back` keeps it fair.
//! #[derive(Debug, Default)]
//! struct Stack(parking_lot::Mutex<VecDeque<Ready>>);
//!
//! impl Policy for Stack {
//!     fn name(&self) -> &str {
//!         "stack"
//!     }
//!     fn push(&self, _origin: Origin, ready: Ready, reason: Reason) -> Notify {
//!         match reason {
//!             Reason::Yielded => self.0.lock().push_front(ready),
//!             Reason::New | Reason::Woken | Reason::Preempted => self.0.lock().push_back(ready),
//!         }
//!         Notify::Anyone
//!     }
//!     fn pop(&self, _worker: usize, turn: Turn) -> Option<Ready> {
//!         match turn {
//!             Turn::Front | Turn::Stalled(_) => self.0.lock().pop_back(),
//!             Turn::Back => self.0.lock().pop_front(),
//!         }
//!     }
//!     fn has_work(&self, _worker: usize) -> bool {
//!         !self.0.lock().is_empty()
//!     }
//! }
//!
//! let mut network = Network::new();
//! let numbers = network.source("numbers", 0..10_u64);
//! let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
//! network.run_with(Options::new().policy(|_setup| Stack::default()))?;
//! assert_eq!(sum.take(), Some(45));
//! # Ok::<(), kahn::RunError>(())
//! ```

mod choice;
pub mod placing;
mod promises;
mod seeded;
mod sequential;
mod shared;
mod threads;

pub use choice::{
    DEFAULT, PolicyChoice, SEEDED, SEQUENTIAL, SHARED, STEALING, Setup, THREADS, Threads, WAYS,
};
pub use placing::{ChannelLoad, Load, Misplaced, Placing, ProcessLoad};
pub use promises::{Promises, Waiting};

pub use crate::task::Ready;

use crate::sync::Ordering::Relaxed;
use crate::sync::PlainAtomicU64;
use std::fmt;

/// What makes a process ready.
///
/// # Examples
///
/// ```
/// use kahn::policy::Origin;
///
/// /// The worker near which a new process belongs.
/// fn near(origin: Origin) -> usize {
///     match origin {
///         Origin::Worker(worker) => worker,
///         Origin::Outside => 0,
///     }
/// }
///
/// assert_eq!((near(Origin::Worker(3)), near(Origin::Outside)), (3, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A worker of the network, by its index.
    Worker(usize),
    /// Anyone else: the thread that starts the run, a blocking process, a foreign waker.
    Outside,
}

/// Why a process is ready.
///
/// # Examples
///
/// ```
/// use kahn::policy::Reason;
///
/// /// Whether a process goes to the hot end of a queue: it runs next.
/// fn is_hot(reason: Reason) -> bool {
///     match reason {
///         Reason::Woken | Reason::Preempted => true,
///         Reason::New | Reason::Yielded => false,
///     }
/// }
///
/// assert!(is_hot(Reason::Woken) && !is_hot(Reason::Yielded));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was just created.
    New,
    /// What it waited for has come.
    Woken,
    /// It gave way to others: it belongs at the cold end.
    Yielded,
    /// It gave way to a more urgent one, before its turn was over: it goes on where it stood, at
    /// the hot end.
    Preempted,
}

/// Which process a worker asks a policy for.
///
/// # Examples
///
/// ```
/// use kahn::policy::{Ready, Turn};
/// use std::collections::VecDeque;
///
/// /// Last come, first served, but not always.
/// fn take(queue: &mut VecDeque<Ready>, turn: Turn) -> Option<Ready> {
///     match turn {
///         Turn::Front | Turn::Stalled(_) => queue.pop_back(),
///         Turn::Back => queue.pop_front(),
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The one the policy likes best.
    Front,
    /// The one that has waited longest: asked for now and then, so that none waits for ever.
    Back,
    /// One that waits for the worker of this index, which has been inside one poll for long. What a
    /// policy keeps for that worker alone it gives to the others now, if it promises that *work is
    /// found*; to one that keeps nothing this is `Front`.
    Stalled(usize),
}

/// Which sleeping worker is notified of a process that has become ready.
///
/// # Examples
///
/// ```
/// use kahn::policy::Notify;
///
/// /// What `push` answers that has put a process into the queue of a worker, which may steal or not.
/// fn notify(queue: usize, steals: bool) -> Notify {
///     if steals { Notify::Thief } else { Notify::Worker(queue) }
/// }
///
/// assert_eq!(notify(1, false), Notify::Worker(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// None: the worker that made it ready will come to it.
    NoWorker,
    /// Any one, unless a worker searches already: there is some work to steal.
    Thief,
    /// Any one.
    Anyone,
    /// This one, for only it takes from that queue.
    Worker(usize),
}

/// Which workers find what a policy has queued.
///
/// # Examples
///
/// ```
/// use kahn::policy::Reach;
///
/// let reach = |steals: bool| if steals { Reach::EveryWorker } else { Reach::OneWorker };
/// assert_eq!(reach(true), Reach::EveryWorker);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Some of it only one worker finds, so any number of workers may be awake.
    OneWorker,
    /// All of it every worker finds. So no more workers are awake than there are cores, and one that
    /// sleeps is woken, if there is a core for it, when another has made a process ready.
    EveryWorker,
}

/// Attempts of one worker to take work from another.
///
/// # Examples
///
/// ```
/// use kahn::policy::Steals;
///
/// assert_eq!(Steals::default(), Steals { tried: 0, won: 0 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steals {
    /// Attempts.
    pub tried: u64,
    /// Attempts that found a process.
    pub won: u64,
}

/// Counts the [`Steals`] of one worker, which alone writes here.
///
/// # Examples
///
/// ```
/// use kahn::policy::{StealCount, Steals};
///
/// let count = StealCount::default();
/// count.try_one();
/// count.try_one();
/// count.win();
/// assert_eq!(count.get(), Steals { tried: 2, won: 1 });
/// ```
#[derive(Debug, Default)]
pub struct StealCount {
    tried: PlainAtomicU64,
    won: PlainAtomicU64,
}

impl StealCount {
    /// Counts an attempt.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::StealCount;
    ///
    /// let count = StealCount::default();
    /// count.try_one();
    /// assert_eq!((count.get().tried, count.get().won), (1, 0));
    /// ```
    pub fn try_one(&self) {
        Self::add_one(&self.tried);
    }

    /// Counts that the attempt has found a process.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::StealCount;
    ///
    /// let count = StealCount::default();
    /// count.try_one();
    /// count.win();
    /// assert_eq!((count.get().tried, count.get().won), (1, 1));
    /// ```
    pub fn win(&self) {
        Self::add_one(&self.won);
    }

    /// Returns what was counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{StealCount, Steals};
    ///
    /// assert_eq!(StealCount::default().get(), Steals::default());
    /// ```
    pub fn get(&self) -> Steals {
        Steals { tried: self.tried.load(Relaxed), won: self.won.load(Relaxed) }
    }

    fn add_one(counter: &PlainAtomicU64) {
        // No read-modify-write: one worker writes.
        counter.store(counter.load(Relaxed) + 1, Relaxed);
    }
}

/// Decides which process runs next, and where.
///
/// All methods may be called by any worker at any time. A process that was pushed must be found by
/// `pop` of at least one worker, and while it is in a queue `has_work` of those workers is `true`:
/// a worker goes to sleep on its `false`.
///
/// Processes of another priority than the usual one, and communicating processes that are pinned to
/// a worker, are no policy's: the runtime keeps them.
///
/// # Examples
///
/// ```
/// use kahn::policy::{Notify, Origin, Policy, Reach, Ready, Reason, Turn};
/// use kahn::{Network, Options};
/// use std::collections::VecDeque;
///
/// /// One queue for all workers, first come, first served.
/// #[derive(Debug, Default)]
/// struct Fifo(parking_lot::Mutex<VecDeque<Ready>>);
///
/// impl Policy for Fifo {
///     fn name(&self) -> &str {
///         "fifo"
///     }
///     fn push(&self, _origin: Origin, ready: Ready, reason: Reason) -> Notify {
///         match reason {
///             // It goes on where it stood.
///             Reason::Preempted => self.0.lock().push_front(ready),
///             Reason::New | Reason::Woken | Reason::Yielded => self.0.lock().push_back(ready),
///         }
///         Notify::Anyone
///     }
///     fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
///         self.0.lock().pop_front()
///     }
///     fn has_work(&self, _worker: usize) -> bool {
///         !self.0.lock().is_empty()
///     }
///     fn reach(&self) -> Reach {
///         Reach::EveryWorker
///     }
/// }
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..10_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let report = network.run_with(Options::new().policy(|_setup| Fifo::default()))?;
/// assert_eq!((sum.take(), report.policy.as_str()), (Some(45), "fifo"));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Policy: fmt::Debug + Send + Sync {
    /// Returns the name, as reports show it.
    fn name(&self) -> &str;

    /// Takes a process that has become ready.
    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify;

    /// Gives a worker a process to run; looks into the queues of others if its own are empty.
    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready>;

    /// Tells whether `pop` of this worker would find something.
    fn has_work(&self, worker: usize) -> bool;

    /// Takes the processes that exist when the run starts, in the order of creation.
    fn start(&self, ready: Vec<Ready>) {
        for ready in ready {
            let _ = self.push(Origin::Outside, ready, Reason::New);
        }
    }

    /// Tells which workers find what is queued; asked once. The number of workers that are awake
    /// rests on it: a process that only a sleeping worker finds waits for ever.
    fn reach(&self) -> Reach {
        Reach::OneWorker
    }

    /// Returns what a worker stole, for the report.
    fn steals(&self, worker: usize) -> Steals {
        let _ = worker;
        Steals::default()
    }

    /// Returns what decides to which worker each process belongs, if the policy heeds that.
    fn placing(&self) -> Option<&dyn Placing> {
        None
    }
}
