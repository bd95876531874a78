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

use crate::sync::{Arc, Parker};
use crate::task::TaskRef;
use crate::worker::request::{EndCause, Park};
use crate::{Scheduler, Worker};
use kahn_report::{Ending, ProcessCounter};
use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// What a worker has time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Something was left for workers to do, and counted in [`Scheduler::first`].
    Deferred,
    /// It has run so many processes since the last time, and has others to run.
    InPassing,
    /// It is about to sleep, or watches others between naps.
    BeforeSleep,
    /// All workers sleep, and others run.
    AllSleep {
        /// Whether no worker has run a process since the last such probe.
        again: bool,
    },
}

/// Words that a language has in the first line of a header, and in the second. loom's atomics are larger.
pub(crate) const HOT: usize = if cfg!(loom) { 64 } else { 3 };
pub(crate) const COLD: usize = if cfg!(loom) { 64 } else { 2 };

/// What a language keeps in the header of a process.
///
/// # Safety
/// A header may be looked at when its process has ended and another is in its block. So what others than
/// the holder of the process read is atomic, and `restart` stores into it.
pub unsafe trait Kept: Sized {
    /// That of a new process.
    fn new() -> Self;
    /// The same, in a block that another process was in.
    fn restart(&self);
}

/// Room for something that a language keeps.
#[repr(C)]
pub(crate) struct Room<const WORDS: usize>(UnsafeCell<[MaybeUninit<u64>; WORDS]>);

impl<const WORDS: usize> Room<WORDS> {
    pub(crate) const fn holding<T: Kept>(kept: T) -> Self {
        const {
            assert!(size_of::<T>() <= WORDS * size_of::<u64>());
            assert!(align_of::<T>() <= align_of::<u64>());
        };
        let room = Self(UnsafeCell::new([MaybeUninit::uninit(); WORDS]));
        // SAFETY: there is room for it, as asserted.
        unsafe { room.0.get().cast::<T>().write(kept) };
        room
    }

    /// What is kept there.
    ///
    /// # Safety
    /// It was made by [`holding`](Self::holding) a `T`.
    #[inline(always)]
    pub(crate) unsafe fn get<T: Kept>(&self) -> &T {
        // SAFETY: said by the caller; it is never written again as a whole.
        unsafe { &*self.0.get().cast::<T>() }
    }
}

/// A kind of processes, and how they wait for each other.
pub trait Language: Hooks + Sized {
    /// What it keeps in the first line of a header, which is touched when the process runs.
    type Hot: Kept;

    /// What it keeps in the second line.
    type Cold: Kept;

    /// Tells the networks of this language from others.
    const TAG: &'static Tag;

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

/// What the scheduler asks of a language without a worker.
pub trait Hooks: Any + Send + Sync {
    /// How a process ends for a cause of the language's own.
    fn ending(&self, task: TaskRef, what: *const ()) -> Ending;

    /// The thread of a process, or a party, has parked, and still counts as busy.
    fn parked_outside(&self, task: TaskRef);

    /// What the language has counted of a process, of a counter that it keeps.
    fn counted(&self, task: TaskRef, counter: ProcessCounter) -> u64 {
        let _ = (task, counter);
        0
    }

    /// The worker of this index begins a poll of a process, or has ended it. Asked of runs that are
    /// [observed](crate::Settings::observed) alone.
    fn polls(&self, task: TaskRef, worker: usize, begins: bool) {
        let _ = (task, worker, begins);
    }

    /// Workers have been idle for long: asks the policy where processes belong. Returns how many are
    /// to move, if anything changes.
    fn share_out(&self) -> Option<u64> {
        None
    }

    /// The system refused a thread that the run needs: which, and why.
    fn out_of_threads(&self, text: String);
}

/// The language of a network: a static of each, with the functions by which its workers run.
#[derive(Debug)]
pub struct Tag {
    /// Runs processes until the run ends, as the worker of this index.
    pub(crate) work: fn(&Scheduler, usize),
    /// Runs one process from its first poll to its end, on a thread of its own.
    pub(crate) live: fn(&Scheduler, usize, Arc<Parker>, TaskRef),
    /// Ends a process that has no thread to run on.
    pub(crate) refuse: fn(&Scheduler, TaskRef),
}

impl Tag {
    /// The functions of a language.
    pub const fn of<L: Language>() -> Self {
        Self {
            work: |scheduler, index| Worker::<L>::new(scheduler, index).work(),
            live: |scheduler, index, parker, task| {
                Worker::<L>::dedicated(scheduler, index, parker).live_with(task);
            },
            // As a worker of its own: what it owns is dropped by it, not by the process that made it.
            refuse: |scheduler, task| {
                // SAFETY: the process was to be started and has no thread: it is the caller's.
                unsafe { Worker::<L>::for_clearing(scheduler).end(task, EndCause::Stopped) };
            },
        }
    }
}

impl Scheduler {
    /// What all workers share of the language.
    ///
    /// # Panics
    /// Panics if the network is of another language.
    #[inline]
    pub fn language<L: Language>(&self) -> &L {
        assert!(std::ptr::eq(self.tag, L::TAG), "a network has one language");
        let hooks = std::ptr::from_ref(self.hooks());
        // SAFETY: set by `set_language`, which takes what belongs to the tag.
        unsafe { &*hooks.cast::<L>() }
    }
}
