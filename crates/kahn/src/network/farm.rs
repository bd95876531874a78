//! The ordered farm: one process whose function is applied to several messages at once.
//!
//! ```text
//!           ┌───────────────── one process ─────────────────┐
//!   items ─►│ intake ═══════ tickets, at most `window` ═══► │
//!           │    └─ jobs ─► helpers, at most `n` ─ results ─┴► outlet ─► out
//!           └───────────────────────────────────────────────┘
//! ```
//!
//! *Intake* and *outlet* are two tasks of the network with one channel between them, of the capacity
//! `window`. For each item the intake sends a ticket and then hands out a job. The outlet receives
//! tickets in place, so a ticket takes its room until its result is sent: no more than `window` are in flight.
//! *Helpers* are tasks without ends. One is created when a job is handed out and fewer than `n` run; it
//! does jobs while there are any, and ends. So no helper ever waits.
//!
//! | state of a ticket | set by | under | then |
//! |---|---|---|---|
//! | `Open(None)` | the intake, which makes it | – | one helper takes its job |
//! | `Open(Some)` | the outlet, which waits for the result | its lock | it waits for its waker alone |
//! | `Done` | the helper that has its job, once | its lock | wakes the outlet if it finds a waker |
//! | `Taken` | the outlet | its lock | it sends the result, and gives the ticket back |
//!
//! | state of the hand-out | by | under its lock |
//! |---|---|---|
//! | a job more; a helper more if fewer than `n` | the intake | unless it is over: then the item is dropped |
//! | a job less | a helper | |
//! | a helper less | a helper | only if there is no job |
//! | over, without jobs | the outlet, whose body is dropped; what looks and finds the reader of `out` gone | helpers end after the item that they have |
//!
//! *Same input, same output.* Both parts are ordinary processes, which communicate by an ordinary
//! channel. A ticket stands for a value that depends on its item alone, `f(item)`, so what the outlet sends
//! is what a process would send that calls `f` itself. Which helper does a job, and when, is seen by `f`
//! only, which has no effects, and by the memory that it may use again, which must not influence results.
//! Which failure counts, how streams end and which process may be pruned, is that of two processes in a row
//! (`network/observed.rs`). The report tells of them as one: the parts bear one name, what they and
//! the helpers count is added up, and the process ends as the outlet does, or as the intake does if its input fails.
//!
//! *No job is lost.* A job is put in the queue under the lock under which a helper would find that there is
//! none and count itself off. So there is a helper while there is a job, and it is busy: ready or running.
//!
//! *No wake-up is lost.* Outlet and helper meet under the lock of the ticket: either the result is there when
//! the outlet looks, or its waker is there when the helper does.
//!
//! *Never stuck.* The outlet waits for a result as for a foreign event, which is in no ring of waits, and a
//! helper is busy until there is one. All other waits are those of processes at channels. The channel of the
//! tickets does not grow. It need not: if it is full the outlet has received a ticket, and if the
//! intake waits in a ring for room there, so does the outlet, at another full channel, which grows.
//!
//! *It ends.* A failure is that of the outlet, at the ticket of its item: what was before has been sent. If the outlet
//! ends, pruned or not, the hand-out is over, and the intake is pruned. If the reader of `out` leaves, the outlet is
//! pruned when it runs next. Until then the hand-out is over for each helper that looks for a job, so each worker
//! ends with the item that it has; an outlet that waits for an item without a job is woken to be pruned. If the run is
//! stopped, helpers look for that after each item. They borrow what processes may borrow, and have ended when the run has.

use super::core::{By, ChannelPlan, Core, ProcessPlan, Role};
use super::making::{Making, is_ending};
use super::{Network, Process, Spawner};
use crate::channel::closing::rest;
use crate::channel::raw::{ChannelRef, End};
use crate::channel::weight::Weigher;
use crate::channel::{Receiver, Sender};
use kahn_engine::Unwound;
use kahn_engine::sync::{Arc, Mutex, panics};
use kahn_report::{AtMessage, BoxError, Name};
use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::{Poll, Waker};

/// How a farm is made.
pub(crate) struct FarmPlan<M, F> {
    pub(crate) name: Name,
    /// The most helpers.
    pub(crate) n: usize,
    /// The most items in flight.
    pub(crate) window: usize,
    /// Makes the memory that a helper uses again.
    pub(crate) make: M,
    /// What is applied to each item.
    pub(crate) f: F,
}

/// What has become of an item.
enum Made<U> {
    Value(U),
    Failed(BoxError),
    /// With the place where it panicked, if that is known.
    Panicked(Box<dyn Any + Send>, Option<String>),
}

enum State<U> {
    Open(Option<Waker>),
    Done(Made<U>),
    Taken,
}

/// Stands in the stream for the result of an item.
struct Ticket<U> {
    /// The bytes of the item.
    weight: usize,
    state: Mutex<State<U>>,
}

impl<U> Ticket<U> {
    fn new(weight: usize) -> Arc<Self> {
        Arc::new(Self { weight, state: Mutex::new(State::Open(None)) })
    }

    /// Sets the result; whether the outlet waited for it.
    fn set(&self, made: Made<U>) -> bool {
        let before = mem::replace(&mut *self.state.lock(), State::Done(made));
        let State::Open(Some(waker)) = before else { return false };
        // Not under the lock: it makes a process ready.
        waker.wake();
        true
    }

    /// Waits for the result.
    async fn result(&self) -> Made<U> {
        std::future::poll_fn(|context| {
            let mut state = self.state.lock();
            match mem::replace(&mut *state, State::Taken) {
                State::Done(made) => Poll::Ready(made),
                State::Open(_) => {
                    *state = State::Open(Some(context.waker().clone()));
                    Poll::Pending
                }
                State::Taken => unreachable!("a result is taken once"),
            }
        })
        .await
    }
}

/// An item and its ticket.
type Job<T, U> = (T, Arc<Ticket<U>>);

/// The private queue between the intake and the helpers.
struct HandOut<T, U, S> {
    jobs: VecDeque<Job<T, U>>,
    helpers: usize,
    /// Memory that no helper uses.
    memory: Vec<Quiet<S>>,
    is_over: bool,
}

impl<T, U, S> HandOut<T, U, S> {
    /// From now on there is no job; those that there were are to be dropped when the lock is free, for their
    /// destructors are the user's code.
    fn end(&mut self) -> VecDeque<Job<T, U>> {
        self.is_over = true;
        mem::take(&mut self.jobs)
    }
}

/// What the parts of a farm share.
struct Farm<T, U, S, M, F> {
    plan: FarmPlan<M, F>,
    /// The channel that the outlet writes. It has that end until the hand-out is over.
    out: ChannelRef,
    hand_out: Mutex<HandOut<T, U, S>>,
}

/// Drops what it holds and keeps a panic of that to itself: a helper is no process that could fail.
struct Quiet<T>(Option<T>);

impl<T> Drop for Quiet<T> {
    fn drop(&mut self) {
        let held = self.0.take();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(held))) {
            panics::discard(payload);
        }
    }
}

impl<T, U, S, M, F> Farm<T, U, S, M, F>
where
    M: Fn() -> S,
    F: Fn(&mut S, T) -> Result<U, BoxError>,
{
    /// Hands a job out; whether a helper is to be created.
    fn hand_out(&self, job: Job<T, U>) -> bool {
        let mut hand_out = self.hand_out.lock();
        if hand_out.is_over {
            drop(hand_out);
            // The item's destructor is the user's.
            drop(job);
            return false;
        }
        hand_out.jobs.push_back(job);
        let is_missing = hand_out.helpers < self.plan.n;
        hand_out.helpers += usize::from(is_missing);
        is_missing
    }

    /// The next job; without one, the helper is no more.
    fn next(&self, memory: &mut Option<Quiet<S>>) -> Option<Job<T, U>> {
        let mut hand_out = self.hand_out.lock();
        let has_reader = !self.out.seen(End::Receiver).is_closed();
        // A helper is no process that a destructor could fail.
        let unread = (!has_reader).then(|| Quiet(Some(hand_out.end())));
        let job = hand_out.jobs.pop_front();
        if job.is_none() {
            hand_out.helpers -= 1;
            hand_out.memory.extend(memory.take());
        } else if memory.is_none() {
            *memory = hand_out.memory.pop();
        }
        drop(hand_out);
        drop(unread);
        job
    }

    /// Applies the function to an item.
    fn make(&self, memory: &mut Option<Quiet<S>>, item: T) -> Made<U> {
        let applied = catch_unwind(AssertUnwindSafe(|| {
            let memory = memory.get_or_insert_with(|| Quiet(Some((self.plan.make)())));
            let memory = memory.0.as_mut().expect("it is taken out when it is dropped");
            (self.plan.f)(memory, item)
        }));
        match applied {
            Ok(Ok(value)) => Made::Value(value),
            Ok(Err(error)) => Made::Failed(error),
            // The runtime ends the process that has misused an end.
            Err(payload) if payload.is::<Unwound>() => resume_unwind(payload),
            Err(payload) => {
                // Its state is not known.
                *memory = None;
                let at = panics::place_of(&*payload);
                Made::Panicked(payload, at)
            }
        }
    }
}

/// What a helper has of its farm.
type OfHelper<T, U, S, M, F> = Quiet<Arc<Farm<T, U, S, M, F>>>;

/// Does jobs while there are any.
async fn help<T, U, S, M, F>(farm: OfHelper<T, U, S, M, F>)
where
    M: Fn() -> S,
    F: Fn(&mut S, T) -> Result<U, BoxError>,
{
    let Some(shared) = &farm.0 else { return };
    let mut memory = None;
    while let Some((item, ticket)) = shared.next(&mut memory) {
        let made = shared.make(&mut memory, item);
        // If the outlet waited for this one, it goes first: others wait for what it sends.
        let gives_way = ticket.set(made);
        drop(ticket);
        rest(gives_way).await;
    }
}

/// Has the hand-out be over when the outlet ends.
struct Over<'a, T, U, S, M, F>(&'a Farm<T, U, S, M, F>);

impl<T, U, S, M, F> Drop for Over<'_, T, U, S, M, F> {
    fn drop(&mut self) {
        let jobs = self.0.hand_out.lock().end();
        drop(jobs);
    }
}

/// Sends a ticket for each item, and hands out a job.
async fn take_in<'env, T, U, S, M, F>(
    (mut items, mut tickets): (Receiver<T>, Sender<Arc<Ticket<U>>>),
    farm: Arc<Farm<T, U, S, M, F>>,
    weigher: Weigher<T>,
    helpers: Spawner<'env>,
) where
    T: Send + 'env,
    U: Send + 'env,
    S: Send + 'env,
    M: Fn() -> S + Send + Sync + 'env,
    F: Fn(&mut S, T) -> Result<U, BoxError> + Send + Sync + 'env,
{
    while let Some(item) = items.recv().await {
        let ticket = Ticket::new(weigher.bytes(&item));
        tickets.send(Arc::clone(&ticket)).await;
        // After the ticket has its room: what has none is not in flight.
        if farm.hand_out((item, ticket)) {
            let farm = Quiet(Some(Arc::clone(&farm)));
            helpers.within(|core, task, worker| {
                let name = task.info().name.clone();
                let role = Role::Helper(task.info().identity);
                let plan = ProcessPlan { role, ..Process::named(name).plan() };
                core.process(plan, (), move |()| help(farm), Some((task, worker)));
            });
        }
    }
}

/// Sends the results in the order of the tickets.
async fn give_out<T, U, S, M, F>(
    (mut tickets, mut out): (Receiver<Arc<Ticket<U>>>, Sender<U>),
    farm: Arc<Farm<T, U, S, M, F>>,
    items: Name,
) -> Result<(), BoxError>
where
    T: Send,
    U: Send,
{
    let _over = Over(&farm);
    let mut number = 0;
    while let Some(ticket) = tickets.recv_in_place().await {
        number += 1;
        match ticket.result().await {
            Made::Value(value) => out.send(value).await,
            Made::Failed(error) => {
                return Err(AtMessage { channel: items, number }.blame(error));
            }
            Made::Panicked(payload, at) => {
                if let Some(at) = at {
                    panics::note_resumed(&*payload, at);
                }
                resume_unwind(payload);
            }
        }
    }
    Ok(())
}

impl Core {
    /// Makes the process of an ordered farm.
    pub(super) fn farm<'env, T, U, S, M, F>(
        &self,
        plan: FarmPlan<M, F>,
        (items, out): (Receiver<T>, Sender<U>),
        helpers: Spawner<'env>,
        by: By<'_>,
    ) where
        T: Send + 'env,
        U: Send + 'env,
        S: Send + 'env,
        M: Fn() -> S + Send + Sync + 'env,
        F: Fn(&mut S, T) -> Result<U, BoxError> + Send + Sync + 'env,
    {
        let name = plan.name.clone();
        assert!(plan.n > 0, "process `{name}` applies its function to one message at least");
        assert!(plan.window > 0, "process `{name}` has one message in flight at least");
        let (weigher, input) = (items.weigher(), items.name().clone());
        let tickets = ChannelPlan {
            name: name.clone(),
            capacity: u32::try_from(plan.window).unwrap_or(u32::MAX),
            initial: Vec::new(),
            digest: None,
            weighing: Some(weigher.weighing(|ticket: &Arc<Ticket<U>>| ticket.weight)),
            wire: None,
            is_inner: true,
        };
        let (tickets_out, tickets) = self.channel(tickets, by);
        let identity = self.next_identity(by);
        let hand_out =
            HandOut { jobs: VecDeque::new(), helpers: 0, memory: Vec::new(), is_over: false };
        let farm = Arc::new(Farm { plan, out: out.channel(), hand_out: Mutex::new(hand_out) });
        let part = |role| ProcessPlan { role, ..Process::named(name.clone()).plan() };
        let shared = Arc::clone(&farm);
        self.process(
            part(Role::First(identity)),
            (items, tickets_out),
            move |ports| take_in(ports, shared, weigher, helpers),
            by,
        );
        self.process(
            part(Role::Part(identity)),
            (tickets, out),
            move |ports| give_out(ports, farm, input),
            by,
        );
    }
}

impl<'env, K: Making> Network<'env, K> {
    /// Makes the process of an ordered farm, and the channel that it writes.
    pub(crate) fn farm<T, U, S, M, F>(
        &mut self,
        items: Receiver<T>,
        mut plan: FarmPlan<M, F>,
    ) -> Receiver<U>
    where
        T: Send + 'env,
        U: Send + 'env,
        S: Send + 'env,
        M: Fn() -> S + Send + Sync + 'env,
        F: Fn(&mut S, T) -> Result<U, BoxError> + Send + Sync + 'env,
    {
        let (out, made) = self.channel(plan.name.clone());
        plan.name = self.called(plan.name);
        let helpers = self.spawner();
        self.made.part().with(|core, by| {
            if !is_ending(by) {
                core.farm(plan, (items, out), helpers, by);
            }
        });
        made
    }
}
