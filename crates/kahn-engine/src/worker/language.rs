//! What a language adds to the scheduler: how its processes wait, and what follows from what they do.
//!
//! | the scheduler asks | when |
//! |---|---|
//! | [`park`](Language::park), [`park_otherwise`](Language::park_otherwise) | a process has left its poll and asked to wait |
//! | [`left_poll`](Language::left_poll) | a poll is over: what it did becomes visible; see [`Left`] |
//! | [`must_end`](Language::must_end) | a process has one of the language's marks |
//! | [`ended`](Language::ended) | a process has ended, and its body is gone |
//! | [`probe`](Language::probe) | a worker has time to look at what waits: see [`Probe`] |
//! | [`quiet`](Language::quiet) | nothing is busy |
//!
//! Runs that are [logged](crate::Settings::logged) ask it where processes [`wait`](Language::wait). Those that
//! are [observed](crate::Settings::observed) tell it of [`runs`](Language::runs),
//! [`rests`](Language::rests) and [`dropped`](Language::dropped) as well.
//!
//! What is asked on the way of a message is a function of the type, so that it can be inlined. What is
//! asked without a worker, where processes belong and what was counted, is [`Hooks`].

use crate::scheduler::{Hooks, Tag};
use crate::task::{Header, TaskRef};
use crate::worker::WorkerCore;
use crate::worker::dispatch::Worker;
use crate::worker::request::{Park, Pause};
use kahn_report::log::Wait;
use kahn_report::observe::Slice;
use kahn_report::{Ending, ProcessCounter};

/// How a process has left its poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It waits as the language has it, or is queued again; a blocking one is about to wait.
    ToWait,
    /// It waits for something foreign, has asked for nothing, or has noted
    /// [`own::LEFT`](crate::task::own::LEFT).
    ToSettle,
    /// It ends.
    ToEnd,
}

/// What a worker has time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Something was left for workers to do, and counted in [`Scheduler::first`](crate::Scheduler::first).
    Deferred,
    /// It has run so many processes since the last time, and has others to run.
    InPassing,
    /// It is about to sleep, or monitors others between naps.
    BeforeSleep,
    /// It is among the sleepers, behind a fence: has something come that was not there at the last probe?
    Asleep,
    /// All workers sleep, and others run. Not asked if [`Settings::looks`](crate::Settings::looks) is
    /// `false` and it need not watch over queues.
    AllSleep {
        /// Whether no worker has run a process since the last such probe.
        again: bool,
    },
    /// The thread of this process has parked it, and still counts as busy.
    Parked(TaskRef),
}

/// A kind of processes, and how they wait for each other.
pub trait Language: Hooks + Header {
    /// What a worker keeps for the language.
    type OfWorker;

    /// Whether operations ask the waker that they are polled with which process runs. If not, a worker
    /// polls all its processes with the same one.
    const ASKS_WAKERS: bool = true;

    /// Whether processes note [`own::LEFT`](crate::task::own::LEFT).
    const NOTES_WHAT_IS_LEFT: bool = true;

    /// What a new worker keeps for the language.
    fn of_worker(&self, core: &WorkerCore) -> Self::OfWorker;

    /// Parks a process that has left its poll and has asked to wait, with nothing [left](Self::left_poll) to do. From
    /// the moment that it can be found where it waits, another worker may run it.
    fn park(worker: &Worker<Self>, task: TaskRef) -> Park;

    /// The same for one that has asked for [another way](crate::Request::ParkOtherwise).
    fn park_otherwise(worker: &Worker<Self>, task: TaskRef) -> Park;

    /// Makes visible what the running process has done. One of a language that [notes](Self::NOTES_WHAT_IS_LEFT) what is
    /// left is not asked when it is to be parked in the usual way: see [`WorkerCore::has_something_left`].
    fn left_poll(worker: &Worker<Self>, task: TaskRef, left: Left);

    /// How a process with these marks ends, if it must not run on.
    fn must_end(task: TaskRef, marks: u8) -> Option<Ending>;

    /// A process has ended and its body is gone. Returns whether its block must stay, for something
    /// still names it.
    fn ended(worker: &Worker<Self>, task: TaskRef, ending: &Ending) -> bool;

    /// What the language has counted of a process, of a counter that it keeps.
    fn counted(task: TaskRef, counter: ProcessCounter) -> u64 {
        let _ = (task, counter);
        0
    }

    /// A worker looks at what waits. Returns whether there is something to look at that has come since.
    fn probe(worker: &Worker<Self>, why: Probe) -> bool;

    /// Nothing is busy: frees what can go on, or gives the verdict if nothing is pending.
    fn quiet(worker: &Worker<Self>);

    /// Where a process waits that the thread runs no more, or has waited till now, as a log has it.
    #[inline]
    fn wait(task: TaskRef, pause: Pause) -> Wait {
        let _ = task;
        pause.nowhere()
    }

    /// The thread begins to run a process, at this reading of the clock.
    fn runs(worker: &Worker<Self>, task: TaskRef, at: u64) {
        let _ = (worker, task, at);
    }

    /// The thread runs the process no more. Nothing of what it did in this slice was published for its end
    /// yet, and it is not parked.
    fn rests(worker: &Worker<Self>, task: TaskRef, slice: Slice, pause: Pause) {
        let _ = (worker, task, slice, pause);
    }

    /// The body of a process is dropped that has not returned.
    fn dropped(worker: &Worker<Self>, task: TaskRef) {
        let _ = (worker, task);
    }
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
                unsafe { Self::for_clearing(scheduler).end(task, Ending::Stopped) };
            },
            waited: |task| L::wait(task, Pause::ToPark),
            counted: L::counted,
        }
    }
}
