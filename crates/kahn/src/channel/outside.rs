//! Ends for those who are no process: ordinary threads, tasks of other executors.
//!
//! A *party* is a vertex of the graph, like a process; what it waits for is an edge, and rings
//! through it are found and grown. But nobody can end a party, so its operations tell when the run
//! is over instead. A party that is not inside an operation counts as running.
//!
//! | the party | counted in |
//! |---|---|
//! | computes, or has not begun an operation | `busy` |
//! | waits in a blocking form | nowhere: it cannot change its mind |
//! | waits in an async form | `pending`: it may drop the operation, so there is no verdict |
//!
//! All operations of one party run under its lock, with a worker of its own that only publishes.

use super::closing;
use super::language::Kahn;
use super::language::{WaitOn, Worker, mark};
use super::ports::Ports;
use super::process::InNetwork;
use super::raw::{ChannelRef, End};
use super::turn::{Turn, turn};
use super::word::Word;
use super::{Receiver, Sender};
use kahn_engine::sync::{Arc, Mutex, Ordering::Acquire, Parker, thread};
use kahn_engine::{EndCause, Request, TaskRef, Unparker};
use kahn_engine::{Language, Park};
use kahn_report::{Ending, Failure};
use std::any::Any;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Why an operation of an outside party came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// The run was stopped or got another verdict: what was received is a prefix of the history.
    #[error("the run of the network has ended")]
    Run,
    /// The process at the other end failed after the messages received so far.
    #[error("the process that sends here has failed")]
    Sender,
}

/// Somebody outside a network who has ends of its channels; see
/// [`Network::outside`](crate::Network::outside).
pub struct Party {
    task: TaskRef,
    state: Mutex<State>,
    /// Keeps the memory of the network.
    _network: Arc<dyn Any + Send + Sync>,
}

struct State {
    /// Made at the first operation after the start.
    worker: Option<Box<Worker>>,
    ended: bool,
}

// SAFETY: the worker is used under the lock only, by one thread at a time.
unsafe impl Send for State {}

impl fmt::Debug for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Party").field(&self.task.info().name).finish()
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
        let state = State { worker: None, ended: false };
        Arc::new(Self { task, state: Mutex::new(state), _network: network })
    }

    /// The run is over: from now on operations say so.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        if mem::replace(&mut state.ended, true) {
            return;
        }
        state.worker = None;
        drop(state);
        self.task.scheduler().unpark_outside(self.task);
    }

    /// Runs `f` as this party's process would run it.
    fn within<R>(&self, f: impl FnOnce(&Worker) -> R) -> Option<R> {
        let mut state = self.state.lock();
        if state.ended {
            return None;
        }
        let task = self.task;
        let worker = state.worker.get_or_insert_with(|| Box::new(Worker::outside(task)));
        task.note_operation();
        Some(worker.act_for(task, || f(worker)))
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
        let scheduler = self.task.scheduler();
        if scheduler.is_building() {
            self.task.set_unparker(unparker());
            // The start uses every unparker it finds; if it came before this one was there, the
            // caller sees that it need not wait.
            return Attempt::Wait(None);
        }
        let attempt = self.within(|worker| {
            match turn(channel, end, worker, self.task, waited) {
                Turn::Go => return Attempt::Done(go(worker)),
                Turn::Over => return Attempt::Over,
                Turn::Wait => {}
            }
            let asked = worker.asked();
            if matches!(asked, Request::End) {
                // A party is not ended by it: the operation is over.
                self.task.stop_waiting();
            }
            match asked {
                Request::Park => {
                    let wait = worker.of.wanted();
                    self.task.set_unparker(unparker());
                    match Kahn::park(worker, self.task) {
                        Park::Asleep => Attempt::Wait(Some(wait)),
                        Park::Moved => Attempt::Wait(None),
                    }
                }
                Request::End => match worker.end_cause() {
                    EndCause::Other(_) => Attempt::Failed(Ended::Sender),
                    EndCause::Stopped => Attempt::Failed(Ended::Run),
                },
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
    fn block<R>(
        &self,
        end: End,
        channel: ChannelRef,
        mut go: impl FnMut(&Worker) -> R,
    ) -> Result<Option<R>, Ended> {
        let parker = Arc::new(Parker::new());
        let scheduler = self.task.scheduler();
        let mut waited = false;
        loop {
            let unparker = || Unparker::Thread(Arc::clone(&parker));
            match self.attempt(end, channel, unparker, &mut waited, &mut go) {
                Attempt::Done(result) => return Ok(Some(result)),
                Attempt::Over => return Ok(None),
                Attempt::Failed(ended) => return Err(ended),
                Attempt::Wait(Some(wait)) => {
                    scheduler.look_from(self.task);
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
    fn give_up(&self, drop_end: impl FnOnce()) {
        let gone = self.within(|worker| {
            drop_end();
            closing::close_dropped(self.task, worker, thread::panicking());
            Kahn::flush(worker);
            self.task.local().ends.get() == 0
        });
        if gone == Some(true) {
            let scheduler = self.task.scheduler();
            let ending = if thread::panicking() {
                let message = "its thread panicked".to_owned();
                Ending::Failed(Failure { message, panicked: true, at: None })
            } else if scheduler.is_ending() {
                // A verdict found it waiting, whether its thread has heard of that by now or not.
                Ending::Stopped
            } else {
                Ending::Finished
            };
            self.state.lock().ended = true;
            // The run must not end while we still count as busy.
            scheduler.retire(self.task, ending, false, false);
            scheduler.rest();
        }
    }
}

/// Ports whose ends can be given to an outside party.
pub trait OutsidePorts: Ports {
    /// The same ends in the hands of a party.
    type Outside;

    /// Gives the ends to a party; called by [`Network::outside`](crate::Network::outside).
    fn into_outside(self, party: &Arc<Party>) -> Self::Outside;
}

/// The sending end of a channel in the hands of an outside party.
///
/// A message is copied into the channel: no slot is [reserved](Sender::reserve) here, for a party
/// holds its ends only within an operation. Send a large one in a box.
///
/// See [`Network::outside`](crate::Network::outside) for an example.
pub struct OutsideSender<T: Send> {
    // `Some` until dropped; before `party`, which keeps its memory.
    sender: Option<Sender<T>>,
    party: Arc<Party>,
}

/// The receiving end of a channel in the hands of an outside party.
///
/// A message is copied out of the channel: nothing is received [in place](Receiver::recv_in_place)
/// here, for a party holds its ends only within an operation. Receive a large one in a box.
///
/// See [`Network::outside`](crate::Network::outside) for an example.
pub struct OutsideReceiver<T: Send> {
    receiver: Option<Receiver<T>>,
    party: Arc<Party>,
}

impl<T: Send> fmt::Debug for OutsideSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutsideSender").field(&self.sender).finish()
    }
}

impl<T: Send> fmt::Debug for OutsideReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutsideReceiver").field(&self.receiver).finish()
    }
}

const HERE: &str = "an end is there until it is dropped";

#[expect(clippy::missing_panics_doc, reason = "an end is there until it is dropped")]
impl<T: Send> OutsideSender<T> {
    /// Sends a message, holding the thread while the channel is full.
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended; the message is dropped.
    pub fn send_blocking(&mut self, message: T) -> Result<(), Ended> {
        let sender = self.sender.as_mut().expect(HERE);
        let mut message = Some(message);
        let sent = self.party.block(End::Sender, sender.channel(), |worker| {
            if let Some(message) = message.take() {
                sender.write(message, Some(worker));
            }
        });
        sent.map(|_| ())
    }

    /// Sends a message, waiting while the channel is full. The operation may be dropped; the
    /// message is then not sent.
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended; the message is dropped.
    pub async fn send(&mut self, message: T) -> Result<(), Ended> {
        let sender = self.sender.as_mut().expect(HERE);
        let channel = sender.channel();
        let mut message = Some(message);
        let go = |worker: &Worker| {
            if let Some(message) = message.take() {
                sender.write(message, Some(worker));
            }
        };
        Operation::new(&self.party, End::Sender, channel, go).await.map(|_| ())
    }
}

#[expect(clippy::missing_panics_doc, reason = "an end is there until it is dropped")]
impl<T: Send> OutsideReceiver<T> {
    /// Receives the next message, holding the thread until there is one; `None` at the end of the
    /// stream.
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended, [`Ended::Sender`] if the process that sends has failed.
    pub fn recv_blocking(&mut self) -> Result<Option<T>, Ended> {
        let receiver = self.receiver.as_mut().expect(HERE);
        self.party.block(End::Receiver, receiver.channel(), |worker| receiver.read(Some(worker)))
    }

    /// Receives the next message, waiting until there is one; `None` at the end of the stream. The
    /// operation may be dropped; no message is lost.
    ///
    /// # Errors
    /// [`Ended::Run`] if the run ended, [`Ended::Sender`] if the process that sends has failed.
    pub async fn recv(&mut self) -> Result<Option<T>, Ended> {
        let receiver = self.receiver.as_mut().expect(HERE);
        let channel = receiver.channel();
        let go = |worker: &Worker| receiver.read(Some(worker));
        Operation::new(&self.party, End::Receiver, channel, go).await
    }
}

impl<T: Send> Drop for OutsideSender<T> {
    fn drop(&mut self) {
        let end = self.sender.take().map(|sender| Kept(sender.into_channel(), End::Sender));
        self.party.give_up(|| drop(end));
    }
}

impl<T: Send> Drop for OutsideReceiver<T> {
    fn drop(&mut self) {
        let end = self.receiver.take().map(|receiver| Kept(receiver.into_channel(), End::Receiver));
        self.party.give_up(|| drop(end));
    }
}

/// An end that a party gives up: dropped like any other, but that nobody counts on it any more.
struct Kept(ChannelRef, End);

impl Drop for Kept {
    fn drop(&mut self) {
        closing::give_up(self.0, self.1);
    }
}

/// Whether a party still sleeps where it parked.
fn sleeps(wait: &WaitOn) -> bool {
    // SAFETY: the words of a channel live in type-stable memory.
    unsafe { &*wait.word }.load() == Word::parked(wait.seen)
}

/// An operation of a party that another executor polls, and that may be dropped at any time.
struct Operation<'a, F> {
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
    fn new(party: &'a Party, end: End, channel: ChannelRef, go: F) -> Self {
        Self { party, end, channel, go, waited: false, parked: None }
    }

    fn woken(&mut self) {
        self.parked = None;
        self.party.task.scheduler().activity.settle();
    }
}

// SAFETY: `WaitOn` points to a word in type-stable memory, which any thread may load.
unsafe impl<F: Send> Send for Operation<'_, F> {}

impl<R, F: FnMut(&Worker) -> R> Future for Operation<'_, F> {
    type Output = Result<Option<R>, Ended>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let scheduler = this.party.task.scheduler();
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
                    // Before we stop being busy: there is no moment in which nobody counts us.
                    scheduler.activity.expect();
                    scheduler.look_from(this.party.task);
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
                // We took ourselves out: nobody else will count us as busy.
                task.scheduler().activity.wake();
            }
            self.woken();
        }
        if self.waited {
            let _ = self.party.within(|_| task.stop_waiting());
        }
    }
}

impl<T: Send> OutsidePorts for Sender<T> {
    type Outside = OutsideSender<T>;

    fn into_outside(self, party: &Arc<Party>) -> OutsideSender<T> {
        self.channel().table().end_kept();
        OutsideSender { sender: Some(self), party: Arc::clone(party) }
    }
}

impl<T: Send> OutsidePorts for Receiver<T> {
    type Outside = OutsideReceiver<T>;

    fn into_outside(self, party: &Arc<Party>) -> OutsideReceiver<T> {
        self.channel().table().end_kept();
        OutsideReceiver { receiver: Some(self), party: Arc::clone(party) }
    }
}

impl<P: OutsidePorts> OutsidePorts for Vec<P> {
    type Outside = Vec<P::Outside>;

    fn into_outside(self, party: &Arc<Party>) -> Self::Outside {
        self.into_iter().map(|port| port.into_outside(party)).collect()
    }
}

macro_rules! tuples_outside {
    ($(($($name:ident),+)),*) => {$(
        impl<$($name: OutsidePorts),+> OutsidePorts for ($($name,)+) {
            type Outside = ($($name::Outside,)+);

            fn into_outside(self, party: &Arc<Party>) -> Self::Outside {
                #[expect(non_snake_case, reason = "one name for a type and its value")]
                let ($($name,)+) = self;
                ($($name.into_outside(party),)+)
            }
        }
    )*};
}

tuples_outside!((A), (A, B), (A, B, C), (A, B, C, D));
