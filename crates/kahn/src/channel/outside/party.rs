//! A party: a vertex of the graph that is no process, and its operations.
//!
//! What it waits for is an edge, and rings through it are found and grown. But nothing can end a party, so
//! its operations tell when the run is over instead. A party that is not inside an operation counts as
//! running.
//!
//! | the party | counted in |
//! |---|---|
//! | computes, or has not begun an operation | `busy` |
//! | waits in a blocking form | nowhere: it cannot change its mind |
//! | waits in an async form | `pending`: it may drop the operation, so there is no verdict |
//!
//! All operations of one party run under its lock, with a worker of its own that only publishes. It may
//! give up an end before the run, too, at any time:
//!
//! | an end that is given up | is |
//! |---|---|
//! | before the run begins | kept: the thread that prepares the run moves the messages of channels, and reads and tells which process has each end |
//! | … when it begins | closed, in the order in which ends were given up, by the thread that begins it |
//! | from then on | closed |
//! | after the run, or if there is none | dropped: nothing waits at the other end |

use super::Kept;
use crate::channel::closing;
use crate::channel::language::{Kahn, WaitOn, Worker, mark};
use crate::channel::observer;
use crate::channel::process::InNetwork;
use crate::channel::prune;
use crate::channel::raw::{ChannelRef, End};
use crate::channel::slow_path::{SlowPath, slow_path};
use crate::channel::word::Word;
use kahn_engine::sync::{Access, Arc, Mutex, Ordering::Acquire, Parker, thread};
use kahn_engine::{Language, Park, Request, Scheduler, TaskRef, Unparker};
use kahn_report::{Ending, Failure};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Why an operation of an outside party came to nothing.
///
/// # Examples
///
/// ```
/// use kahn::{Ended, Network};
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("numbers");
/// network.process("fail", out, async |mut out| {
///     out.send(1).await;
///     Err::<(), _>("no more")
/// });
/// let mut numbers = network.outside("driver", numbers);
/// let driver = std::thread::spawn(move || (numbers.recv_blocking(), numbers.recv_blocking()));
/// assert!(network.run().is_err());
/// let received = driver.join().expect("it does not panic");
/// assert_eq!(received, (Ok(Some(1)), Err(Ended::Sender)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The run was stopped or got another verdict: what was received is a prefix of the history.
    Run,
    /// The process at the other end failed after the messages received so far.
    Sender,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "the run of the network has ended",
            Self::Sender => "the process that sends here has failed",
        })
    }
}

impl Error for Ended {}

/// A thread or task outside a network that has ends of its channels; see
/// [`Network::outside`](crate::Network::outside).
///
/// # Examples
///
/// Ports of your own can be given to a party if they hand it on:
///
/// ```
/// use kahn::{Network, OutsidePorts, OutsideReceiver, OutsideSender, Party, Port, Ports, Receiver, Sender};
/// use std::sync::Arc;
///
/// struct Service {
///     ask: Sender<u32>,
///     answer: Receiver<u32>,
/// }
///
/// impl Ports for Service {
///     fn visit(&self, see: &mut dyn FnMut(Port)) {
///         self.ask.visit(see);
///         self.answer.visit(see);
///     }
/// }
///
/// impl OutsidePorts for Service {
///     type Outside = (OutsideSender<u32>, OutsideReceiver<u32>);
///
///     fn into_outside(self, party: &Arc<Party>) -> Self::Outside {
///         (self.ask.into_outside(party), self.answer.into_outside(party))
///     }
/// }
///
/// let mut network = Network::new();
/// let (ask, asked) = network.channel("asked");
/// let answer = network.map("double", asked, |n: u32| 2 * n);
/// let (mut ask, mut answer) = network.outside("driver", Service { ask, answer });
/// let driver = std::thread::spawn(move || {
///     ask.send_blocking(21)?;
///     answer.recv_blocking()
/// });
/// network.run()?;
/// assert_eq!(driver.join().expect("it does not panic"), Ok(Some(42)));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct Party {
    task: TaskRef,
    state: Mutex<State>,
    /// Its process is done again, and nothing outside has its ends.
    is_stood_in_for: bool,
    /// Keeps the memory of the network.
    _network: Arc<dyn Any + Send + Sync>,
}

struct State {
    /// Made at the first operation after the start.
    worker: Option<Box<Worker>>,
    ended: bool,
    /// Until the run begins: the ends that were given up, and whether by a thread that panicked.
    given_up: Option<Vec<(Kept, bool)>>,
}

// SAFETY: the worker is used under the lock only, by one thread at a time.
unsafe impl Send for State {}

impl fmt::Debug for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What stands in for it may have ended, and its header be that of another process.
        let name = (!self.is_stood_in_for).then(|| &self.task.info().name);
        f.debug_tuple("Party").field(&name).finish()
    }
}

/// What an attempt at an operation came to.
enum Attempt<R> {
    Done(R),
    Over,
    Failed(Ended),
    /// Parked here, or waiting for the run to start.
    Wait(Option<WaitOn>),
}

impl Party {
    pub(crate) fn new(task: TaskRef, network: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Self::of(task, network, false)
    }

    /// What is left of a party whose process is done again: its ends are not those of the channels.
    pub(crate) fn stood_in_for(task: TaskRef, network: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Self::of(task, network, true)
    }

    fn of(task: TaskRef, network: Arc<dyn Any + Send + Sync>, is_stood_in_for: bool) -> Arc<Self> {
        let given_up = (!is_stood_in_for).then(Vec::new);
        let state = Mutex::new(State { worker: None, ended: is_stood_in_for, given_up });
        Arc::new(Self { task, state, is_stood_in_for, _network: network })
    }

    /// Whether what it did is done again by a process.
    pub(super) fn is_stood_in_for(&self) -> bool {
        self.is_stood_in_for
    }

    /// The run is over: from now on operations say so.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        if mem::replace(&mut state.ended, true) {
            return;
        }
        state.worker = None;
        let given_up = state.given_up.take();
        drop(state);
        drop(given_up);
        // SAFETY: this is a party, whose operations say from now on that the run has ended.
        unsafe { Scheduler::of(self.task).unpark_ended(self.task) };
    }

    /// The run begins: what was given up before is closed.
    pub(crate) fn begin(&self) {
        let mut state = self.state.lock();
        for (end, panicked) in state.given_up.take().into_iter().flatten() {
            self.close(&mut state, end, panicked);
        }
    }

    /// Runs `f` as this party's process would run it.
    fn within<R>(&self, f: impl FnOnce(&Worker) -> R) -> Option<R> {
        self.act(&mut self.state.lock(), f)
    }

    fn act<R>(&self, state: &mut State, f: impl FnOnce(&Worker) -> R) -> Option<R> {
        if state.ended {
            return None;
        }
        let task = self.task;
        let worker = state.worker.get_or_insert_with(|| Box::new(Worker::outside(task)));
        task.note_operation();
        // SAFETY: the lock of the party is held: this thread alone acts for it.
        Some(unsafe { worker.act_for(task, || f(worker)) })
    }

    /// Tries an operation once; if it must wait, `unparker` says how to tell.
    fn attempt<R>(
        &self,
        end: End,
        channel: ChannelRef,
        unparker: impl FnOnce() -> Unparker,
        waited: &mut bool,
        go: impl FnOnce(&Worker) -> R,
    ) -> Attempt<R> {
        let scheduler = Scheduler::of(self.task);
        if scheduler.is_building() {
            self.task.set_unparker(unparker());
            // The start uses every unparker it finds; if it came before this one was there, the
            // caller sees that it need not wait.
            return Attempt::Wait(None);
        }
        let attempt = self.within(|worker| {
            match slow_path(channel, end, false, worker, self.task, waited) {
                SlowPath::Go => return Attempt::Done(go(worker)),
                SlowPath::Over => return Attempt::Over,
                SlowPath::Wait => {}
            }
            let asked = worker.asked();
            if matches!(asked, Request::End) {
                // A party is not ended by it: the operation is over.
                self.task.stop_waiting();
            }
            match asked {
                Request::Park | Request::ParkOtherwise => {
                    let wait = worker.of.wanted();
                    self.task.set_unparker(unparker());
                    match Kahn::park_otherwise(worker, self.task) {
                        Park::Asleep => Attempt::Wait(Some(wait)),
                        Park::Moved => Attempt::Wait(None),
                    }
                }
                Request::End => Attempt::Failed(match worker.asked_ending() {
                    Ending::Stopped => Ended::Run,
                    _ => Ended::Sender,
                }),
                Request::None | Request::Again | Request::Yield | Request::GiveWay => {
                    Attempt::Wait(None)
                }
            }
        });
        attempt.unwrap_or(Attempt::Failed(Ended::Run))
    }

    /// Whether a wait goes on. The mark tells that the run has ended, not the phase of the scheduler,
    /// which changes before: an operation that goes on meanwhile would wait where it waits already.
    fn waits(&self, wait: &WaitOn) -> bool {
        sleeps(wait) && self.task.marks.load(Acquire) & mark::STOP == 0
    }

    /// Waits in the calling thread until the operation is done.
    pub(super) fn block<R>(
        &self,
        end: End,
        channel: ChannelRef,
        mut go: impl FnMut(&Worker) -> R,
    ) -> Result<Option<R>, Ended> {
        let parker = Arc::new(Parker::new());
        let scheduler = Scheduler::of(self.task);
        let mut waited = false;
        loop {
            let unparker = || Unparker::Thread(Arc::clone(&parker));
            match self.attempt(end, channel, unparker, &mut waited, &mut go) {
                Attempt::Done(result) => return Ok(Some(result)),
                Attempt::Over => return Ok(None),
                Attempt::Failed(ended) => return Err(ended),
                Attempt::Wait(Some(wait)) => {
                    scheduler.language::<Kahn>().parked_outside(self.task);
                    scheduler.rest();
                    parker.park();
                    // The start uses every unparker it finds, perhaps this one: only what clears
                    // PARKED has counted us as busy.
                    while self.waits(&wait) {
                        parker.park();
                    }
                }
                Attempt::Wait(None) if scheduler.is_building() => parker.park(),
                Attempt::Wait(None) => thread::yield_now(),
            }
        }
    }

    /// Gives up an end; with the last one the party has ended.
    pub(super) fn give_up(&self, end: Kept) {
        let panics = thread::panicking();
        let mut state = self.state.lock();
        match &mut state.given_up {
            Some(given_up) => given_up.push((end, panics)),
            None => self.close(&mut state, end, panics),
        }
    }

    /// Closes an end. The caller holds the lock until the party has ended, if it does: it has all of its
    /// state or none.
    fn close(&self, state: &mut State, end: Kept, panicked: bool) {
        let gone = self.act(state, |worker| {
            drop(end);
            closing::close_dropped(self.task, worker, panicked);
            Kahn::flush(worker);
            self.task.local().ends.get() == 0
        });
        if gone == Some(true) {
            let scheduler = Scheduler::of(self.task);
            let ending = if panicked {
                Ending::Failed(Failure::panic("its thread panicked".to_owned(), None))
            } else if scheduler.is_ending() {
                // A verdict found it waiting, whether its thread has heard of that by now or not.
                Ending::Stopped
            } else {
                Ending::Finished
            };
            state.ended = true;
            // The run must not end while we still count as busy.
            observer::tell_of_end(self.task, &ending);
            prune::note_over(self.task);
            let counts = scheduler.counts_of(self.task);
            // SAFETY: it has no body, and the party ends once.
            unsafe { scheduler.retire(self.task, &ending, || counts, false, Access::SHARED) };
            scheduler.rest();
        }
    }
}

/// Whether a party still sleeps where it parked.
fn sleeps(wait: &WaitOn) -> bool {
    // SAFETY: the words of a channel live in type-stable memory.
    unsafe { &*wait.word }.load() == Word::parked(wait.seen)
}

/// An operation of a party that another executor polls, and that may be dropped at any time.
pub(super) struct Operation<'a, F> {
    party: &'a Party,
    end: End,
    channel: ChannelRef,
    go: F,
    waited: bool,
    parked: Option<WaitOn>,
}

// The closure is called, never pinned.
impl<F> Unpin for Operation<'_, F> {}

impl<'a, F> Operation<'a, F> {
    pub(super) fn new(party: &'a Party, end: End, channel: ChannelRef, go: F) -> Self {
        Self { party, end, channel, go, waited: false, parked: None }
    }

    fn woken(&mut self) {
        self.parked = None;
        Scheduler::of(self.party.task).activity.settle();
    }
}

// SAFETY: `WaitOn` points to a word in type-stable memory, which any thread may load.
unsafe impl<F: Send> Send for Operation<'_, F> {}

impl<R, F: FnMut(&Worker) -> R> Future for Operation<'_, F> {
    type Output = Result<Option<R>, Ended>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let scheduler = Scheduler::of(this.party.task);
        if let Some(wait) = &this.parked {
            // First the new unparker, then the look: the thread that wakes us meanwhile uses one of the two.
            this.party.task.set_unparker(Unparker::Waker(context.waker().clone()));
            if this.party.waits(wait) {
                return Poll::Pending;
            }
            this.woken();
        }
        loop {
            let waker: &Waker = context.waker();
            let unparker = || Unparker::Waker(waker.clone());
            match this.party.attempt(
                this.end,
                this.channel,
                unparker,
                &mut this.waited,
                &mut this.go,
            ) {
                Attempt::Done(result) => return Poll::Ready(Ok(Some(result))),
                Attempt::Over => return Poll::Ready(Ok(None)),
                Attempt::Failed(ended) => return Poll::Ready(Err(ended)),
                Attempt::Wait(Some(wait)) => {
                    this.parked = Some(wait);
                    // Before we stop being busy: there is no moment in which we are not counted.
                    scheduler.activity.expect();
                    scheduler.language::<Kahn>().parked_outside(this.party.task);
                    scheduler.rest();
                    return Poll::Pending;
                }
                Attempt::Wait(None) if scheduler.is_building() => return Poll::Pending,
                Attempt::Wait(None) => {}
            }
        }
    }
}

impl<F> Drop for Operation<'_, F> {
    fn drop(&mut self) {
        let task = self.party.task;
        if let Some(wait) = self.parked {
            // SAFETY: as in `sleeps`.
            let word = unsafe { &*wait.word };
            if word.unpark(Word::parked(wait.seen)) {
                // We took ourselves out: no other thread will count us as busy.
                Scheduler::of(task).activity.wake();
            }
            self.woken();
        }
        if self.waited {
            let _ = self.party.within(|_| task.stop_waiting());
        }
    }
}
