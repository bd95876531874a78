//! Priorities and workers: queues in front of those of the policy, and one behind.
//!
//! | queue | its processes run | taken by |
//! |---|---|---|
//! | urgent | before all others | any worker |
//! | of a worker | before all others but urgent ones | that worker |
//! | of the policy | as the policy decides | as the policy decides |
//! | background | when there is nothing else | any worker |
//!
//! Three priorities and not 32: each is a look at every scheduling point, and what programs have is
//! one thing that must not wait, the work, and what may wait for ever. A process that stands in one
//! of these queues is never kept hot by a worker, for it would pass by the others. `Scheduler::first`
//! counts what is to run before a hot process, so that others pay one look for it: while there is
//! nothing, workers go to the policy within directly, and come here when that has nothing left.

use crate::scheduler::policy::{Load, Notify, Origin, Policy, Ready, Reason, Steals, Turn};
use crate::scheduler::task::own;
use crate::scheduler::{Scheduler, Worker};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering::*};
use std::collections::VecDeque;
use std::time::Duration;

use super::core::Core;
use super::outside;

/// How urgent a process is, compared with others that are ready. Its children are as urgent,
/// unless they are told otherwise.
///
/// # Examples
///
/// ```
/// use kahn::csp::{self, Priority, Process};
///
/// let run = csp::run(kahn::RunOptions::new().workers(1), async |scope| {
///     let (out, mut order) = csp::buffered::<&str>("order", 3);
///     let out = csp::Shared::new("order", out);
///     let priorities =
///         [("last", Priority::Background), ("second", Priority::Usual), ("first", Priority::Urgent)];
///     for (name, priority) in priorities {
///         let out = out.clone();
///         let process = Process::named(name).priority(priority);
///         scope.spawn(process, async move { out.claim().await.send(name).await });
///     }
///     drop(out);
///     let mut names = Vec::new();
///     while let Ok(name) = order.recv().await {
///         names.push(name);
///     }
///     names
/// })?;
/// assert_eq!(run.result, ["first", "second", "last"]);
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: occam's `PRI PAR`; CCSP sections 1.1 and 4, with three levels in place of 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// As most.
    #[default]
    Usual,
    /// When there is nothing else to run.
    Background,
}

impl Priority {
    pub(super) fn notes(self) -> u8 {
        match self {
            Self::Urgent => own::PLACED | own::URGENT,
            Self::Usual => 0,
            Self::Background => own::PLACED | own::BACKGROUND,
        }
    }
}

/// Sets how urgent this process is from its next scheduling point on.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](super::run()).
///
/// # Examples
///
/// ```
/// use kahn::csp::{self, Priority};
///
/// csp::run(kahn::RunOptions::new(), async |_scope| {
///     csp::set_priority(Priority::Background);
///     csp::yield_now().await;
/// })?;
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: CCSP section 1.1, `SetPriority`.
pub fn set_priority(priority: Priority) {
    let (_, task): (&Worker, _) = Core::here("a priority");
    let pinned = task.pinned().is_some();
    task.forget(own::URGENT | own::BACKGROUND | if pinned { 0 } else { own::PLACED });
    task.note(priority.notes());
}

#[derive(Debug, Default)]
struct Queue {
    len: AtomicUsize,
    ready: Mutex<VecDeque<Ready>>,
}

impl Queue {
    fn push(&self, ready: Ready) {
        let mut queue = self.ready.lock();
        queue.push_back(ready);
        self.len.store(queue.len(), Relaxed);
    }

    fn pop(&self) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.ready.lock();
        let ready = queue.pop_front();
        self.len.store(queue.len(), Relaxed);
        ready
    }

    /// A hint, made certain by the fences around going to sleep.
    fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

/// A policy within these queues. See the module's table.
#[derive(Debug)]
pub(super) struct Placed {
    network: u32,
    policy: Box<dyn Policy>,
    urgent: Queue,
    of_workers: Box<[Queue]>,
    background: Queue,
    /// What is to run before a hot process; and errands, see `outside`.
    first: Arc<AtomicUsize>,
}

impl Placed {
    pub(super) fn new(policy: Box<dyn Policy>, workers: usize, scheduler: &Scheduler) -> Self {
        Self {
            network: scheduler.number,
            first: Arc::clone(&scheduler.first),
            policy,
            urgent: Queue::default(),
            of_workers: (0..workers).map(|_| Queue::default()).collect(),
            background: Queue::default(),
        }
    }

    /// Something is to be done before a hot process runs, or was a moment ago.
    #[cold]
    fn pop_first(&self, worker: usize) -> Option<Ready> {
        if self.first.load(Relaxed) >= outside::ONE_ERRAND {
            outside::run_errands_of(self.network);
        }
        let ready = self.urgent.pop().or_else(|| self.of_workers.get(worker)?.pop())?;
        self.first.fetch_sub(1, Relaxed);
        Some(ready)
    }
}

impl Policy for Placed {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let notes = ready.notes();
        if notes & own::PLACED == 0 {
            return self.policy.push(origin, ready, reason);
        }
        if let Some(worker) = ready.pinned_worker() {
            let worker = worker % self.of_workers.len();
            self.first.fetch_add(1, Relaxed);
            self.of_workers[worker].push(ready);
            return Notify::Worker(worker);
        }
        if notes & own::URGENT != 0 {
            self.first.fetch_add(1, Relaxed);
            self.urgent.push(ready);
        } else {
            self.background.push(ready);
        }
        Notify::Anyone
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        // Relaxed: a hint; see `Queue::is_empty`.
        if self.first.load(Relaxed) != 0
            && let Some(ready) = self.pop_first(worker)
        {
            return Some(ready);
        }
        let ready = self.policy.pop(worker, turn);
        if ready.is_none() && turn == Turn::Front {
            return self.background.pop();
        }
        ready
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.urgent.is_empty()
            || self.of_workers.get(worker).is_some_and(|queue| !queue.is_empty())
            || !self.background.is_empty()
            || self.policy.has_work(worker)
    }

    fn start(&self, ready: Vec<Ready>) {
        self.policy.start(ready);
    }

    fn keeps_hot(&self) -> bool {
        self.policy.keeps_hot()
    }

    fn shares_work(&self) -> bool {
        self.policy.shares_work()
    }

    fn has_to_spare(&self, worker: usize) -> bool {
        self.policy.has_to_spare(worker)
    }

    fn places(&self) -> bool {
        self.policy.places()
    }

    fn place(&self, load: &Load) -> Option<Vec<usize>> {
        self.policy.place(load)
    }

    fn rebalances_after(&self) -> Option<Duration> {
        self.policy.rebalances_after()
    }

    fn within(&self) -> Option<&(dyn Policy + 'static)> {
        Some(self.policy.as_ref())
    }

    fn steals(&self, worker: usize) -> Steals {
        self.policy.steals(worker)
    }
}
