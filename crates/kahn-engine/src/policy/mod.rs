//! WHICH process runs next: one file a policy, one table of all of them.
//!
//! A policy owns the run queues. It is told when a process becomes ready ([`Policy::push`]) and
//! asked for one when a worker has nothing to run ([`Policy::pop`]). It never sees messages, and no
//! choice it makes can change a result: that is Kahn's theorem. So a policy is free to choose, and
//! the runtime is free to let users write their own:
//!
//! ```
//! use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Turn};
//! use kahn::{Network, RunOptions};
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
//!             Turn::Front => self.0.lock().pop_back(),
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
//! network.run_with(RunOptions::new().own_policy(|_setup| Stack::default()))?;
//! assert_eq!(sum.take(), Some(45));
//! # Ok::<(), kahn::RunError>(())
//! ```

pub mod balance;
mod batch;
mod batches;
mod load;
#[cfg(all(feature = "partition", not(loom)))]
mod partition;
#[cfg(all(feature = "partition", not(loom)))]
mod parts;
mod placement;
mod queues;
mod seeded;
mod sequential;
mod shared;
mod r#static;
mod stealing;
mod table;
mod threads;
mod ws_cur;
mod ws_last;

pub use load::{ChannelLoad, Load, ProcessLoad};
pub use placement::{Place, Placement, PlacementError};
pub use table::{DEFAULT, DEFAULT_TAU, Entry, POLICIES, Setup, Threads};

use crate::sync::Ordering::Relaxed;
use crate::task::{Kind, TaskRef};
use kahn_report::Name;
use std::fmt;
use std::time::Duration;

/// What makes a process ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A worker of the network, by its index.
    Worker(usize),
    /// Anyone else: the thread that starts the run, a blocking process, a foreign waker.
    Outside,
}

/// Why a process is ready.
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

/// A process that can run, handed between the runtime and a policy.
///
/// A policy keeps it in a queue and gives it back once. Dropping one loses nothing: the process is
/// made ready again.
pub struct Ready(TaskRef);

impl Ready {
    /// Wraps a process that is ready, and that the caller owns.
    #[inline]
    pub fn new(task: TaskRef) -> Self {
        debug_assert_eq!(task.kind(), Kind::Pooled, "threads are not queued");
        Self(task)
    }

    /// Hands the process out: it is the caller's.
    #[inline]
    pub fn into_task(self) -> TaskRef {
        let task = self.0;
        std::mem::forget(self);
        task
    }

    /// Returns the worker that ran this process last; 0 if it never ran.
    #[inline]
    pub fn last_worker(&self) -> usize {
        self.0.home.load(Relaxed) as usize
    }

    /// Returns the worker that the process was pinned to, if it was.
    #[inline]
    pub fn pinned_worker(&self) -> Option<usize> {
        self.0.pinned().map(|worker| worker as usize)
    }

    /// Returns the worker that it belongs to, if a policy has [settled](Self::settle_on) that.
    #[inline]
    pub fn belongs_to(&self) -> Option<usize> {
        self.0.assigned()
    }

    /// Settles to which worker it belongs. The runtime does so for what [`Policy::place`] places;
    /// it keeps the word and does nothing else about it.
    ///
    /// # Panics
    /// Panics if there cannot be so many workers.
    #[inline]
    pub fn settle_on(&self, worker: usize) {
        self.0.assign(worker);
    }

    /// What the process has to remember; the thread that has it ready holds it.
    #[inline]
    pub fn notes(&self) -> u8 {
        self.0.notes()
    }

    /// Returns the name of the process.
    #[inline]
    pub fn name(&self) -> &Name {
        &self.0.info().name
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        if !self.0.has_ended() && self.0.scheduler().is_running() {
            let again = Self(self.0);
            let scheduler = self.0.scheduler();
            let _ = scheduler.push(Origin::Outside, again, Reason::Yielded);
            scheduler.look_again();
        }
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ready").field(self.name()).finish()
    }
}

/// From which end of its queues a policy is asked for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The one the policy likes best.
    Front,
    /// The one that has waited longest: asked for now and then, so that nobody waits for ever.
    Back,
}

/// Which sleeping worker is told of a process that has become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// None: the worker that made it ready will come to it.
    Nobody,
    /// Any one.
    Anyone,
    /// This one, for only it takes from that queue.
    Worker(usize),
}

/// Attempts of one worker to take work from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steals {
    /// Attempts.
    pub tried: u64,
    /// Attempts that found a process.
    pub won: u64,
}

/// Decides which process runs next, and where. See the [module's example](self).
///
/// All methods may be called by any worker at any time. A process that was pushed must be found by
/// `pop` of at least one worker, and while it is in a queue `has_work` of those workers is `true`:
/// a worker goes to sleep on its `false`.
///
/// Processes of another priority than the usual one, and communicating
/// processes that are pinned to a worker, are no policy's: the runtime keeps them.
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

    /// Tells whether a worker may keep one process it has just woken for itself, to run it next
    /// without asking the policy.
    fn uses_lifo_slot(&self) -> bool {
        false
    }

    /// Tells whether every worker finds what is in any queue. Then no more workers are awake than
    /// there are cores; otherwise a process might wait for a worker that is kept asleep.
    fn shares_work(&self) -> bool {
        false
    }

    /// Tells whether a sleeping worker would find some of what this one has: asked when it made a
    /// process ready and others sleep.
    fn has_to_spare(&self, worker: usize) -> bool {
        let _ = worker;
        self.shares_work()
    }

    /// Takes processes that ran on worker `home` last and that worker `by` has made ready together,
    /// as those that waited at a barrier: they are best run there. `false`, and none of them taken,
    /// if the policy would rather have them pushed one by one. Some sleeping worker is told.
    fn push_batch(
        &self,
        by: usize,
        home: usize,
        batch: &mut dyn ExactSizeIterator<Item = Ready>,
    ) -> bool {
        let _ = (by, home, batch);
        false
    }

    /// Tells whether [`place`](Self::place) wants to be asked.
    fn places(&self) -> bool {
        false
    }

    /// Decides to which worker each process belongs: [`Ready::belongs_to`] tells it from then on,
    /// and it is for the policy to heed it. Asked before the start, for all that exists then; and
    /// whenever workers have been idle for long, see [`rebalances_after`](Self::rebalances_after).
    /// `None` if nothing is to change; otherwise a worker for each process of the load.
    fn place(&self, load: &Load) -> Option<Vec<usize>> {
        let _ = load;
        None
    }

    /// Returns how long workers may be idle, all together, until [`place`](Self::place) is asked
    /// again while the network runs. The run then measures what a [`Load`] tells: CPU times by
    /// samples, volumes by the counts that channels keep anyway.
    fn rebalances_after(&self) -> Option<Duration> {
        None
    }

    /// A worker has run one process for long, and another one has nothing to do: what the policy keeps
    /// for that worker alone should be found by others now.
    fn stands_still(&self, worker: usize) {
        let _ = worker;
    }

    /// What only this worker fills, if the policy has such a thing: the worker takes from there by
    /// itself before it asks the policy, and puts there what yields and has no place of its own.
    #[doc(hidden)]
    fn lane(&self, worker: usize) -> Option<&crate::queue::lane::Lane> {
        let _ = worker;
        None
    }

    /// Returns what a worker stole, for the report.
    fn steals(&self, worker: usize) -> Steals {
        let _ = worker;
        Steals::default()
    }
}

/// The simplest policy.
pub fn oracle() -> Box<dyn Policy> {
    Box::new(sequential::Sequential::default())
}
