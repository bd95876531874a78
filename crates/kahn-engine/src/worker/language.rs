//! What a language adds to the scheduler: how its processes wait, and what follows from what they do.
//!
//! | the scheduler asks | when |
//! |---|---|
//! | [`park`](Language::park) | a process has left its poll and asked to wait |
//! | [`flush`](Language::flush) | a poll is over: what it did becomes visible |
//! | [`settled`](Language::settled) | a poll is over that has not asked to wait, or has left something to do |
//! | [`must_end`](Language::must_end) | a process has one of the language's marks |
//! | [`ended`](Language::ended) | a process has ended, and its body is gone |
//! | [`probe`](Language::probe) | a worker has time to look at what waits: see [`Probe`] |
//! | [`has_news`](Language::has_news) | a worker is about to sleep: must it probe again? |
//! | [`quiet`](Language::quiet) | nothing is busy |
//!
//! What is asked on the way of a message is a function of the type, so that it can be inlined. What is
//! asked without a worker is [`Hooks`].

use crate::scheduler::{Hooks, Tag};
use crate::task::{Header, TaskRef};
use crate::worker::dispatch::Worker;
use crate::worker::request::{EndCause, Park};
use kahn_report::Ending;

/// What a worker has time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Something was left for workers to do, and counted in [`Scheduler::first`](crate::Scheduler::first).
    Deferred,
    /// It has run so many processes since the last time, and has others to run.
    InPassing,
    /// It is about to sleep, or monitors others between naps.
    BeforeSleep,
    /// All workers sleep, and others run.
    AllSleep {
        /// Whether no worker has run a process since the last such probe.
        again: bool,
    },
}

/// A kind of processes, and how they wait for each other.
pub trait Language: Hooks + Header {
    /// What a worker keeps for the language.
    type OfWorker;

    /// What a new worker has of it.
    fn of_worker(&self) -> Self::OfWorker;

    /// Whether a probe may find anything when all workers sleep.
    fn looks(&self) -> bool {
        true
    }

    /// Parks a process that has left its poll and has asked to wait. From the moment that it can be
    /// found where it waits, another worker may run it.
    fn park(worker: &Worker<Self>, task: TaskRef) -> Park;

    /// Makes visible what the running process has done.
    fn flush(worker: &Worker<Self>);

    /// A poll is over in which the process waits for something foreign or yields, or has noted
    /// [`own::LEFT`](crate::task::own::LEFT).
    fn settled(worker: &Worker<Self>, task: TaskRef);

    /// Why a process with these marks must not run on, if so.
    fn must_end(task: TaskRef, marks: u8) -> Option<EndCause>;

    /// A process has ended and its body is gone. Returns whether its block must stay, for something
    /// still names it.
    fn ended(worker: &Worker<Self>, task: TaskRef, ending: &Ending) -> bool;

    /// A worker looks at what waits.
    fn probe(worker: &Worker<Self>, why: Probe);

    /// Whether there is something to probe for that was not there at the last probe. Asked by a worker
    /// that is among the sleepers, behind a fence.
    fn has_news(worker: &Worker<Self>) -> bool;

    /// Nothing is busy: frees what can go on, or gives the verdict if nothing is pending.
    fn quiet(worker: &Worker<Self>);
}

impl<L: Language> Worker<L> {
    /// The functions by which workers of this language run: for the static that is its tag.
    pub const fn tag() -> Tag {
        Tag {
            work: |scheduler, index| Self::new(scheduler, index).work(),
            live: |scheduler, index, parker, task| {
                Self::dedicated(scheduler, index, parker).live_with(task);
            },
            // As a worker of its own: what it owns is dropped by it, not by the process that made it.
            refuse: |scheduler, task| {
                // SAFETY: the process was to be started and has no thread: it is the caller's.
                unsafe { Self::for_clearing(scheduler).end(task, EndCause::Stopped) };
            },
        }
    }
}
