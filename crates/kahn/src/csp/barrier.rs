//! Barriers: all go on when all have come.
//!
//! ```text
//!   flags of the gate: how many of the enrolled are still missing
//!   waiting: those who have come
//! ```
//!
//! | step | who | does, behind the gate |
//! |---|---|---|
//! | enrol | whoever clones a handle | one more enrolled, one more missing |
//! | synchronise | a process that is not the last | enters itself among the waiting, one less missing |
//! | synchronise | the last | begins the next phase and makes all the waiting ready |
//! | resign | whoever drops a handle | one less enrolled and missing; perhaps it was the last to wait for |
//!
//! *Phases never overlap.* The last resets the count and takes the list of those who wait, in one
//! go behind the gate, before any of them runs.
//!
//! *Enrolment is atomic.* A clone is enrolled when it is made, so before it can be sent; whoever
//! gets it in a message is enrolled before the send is complete. The handle itself moves with its
//! enrolment.

use super::channel::Attempt;
use super::core::network_here;
use super::gate::{FIRST_FLAG, Gate};
use super::meeting::{How, Waiter, Wake};
use super::offer::{self, Taken};
use super::outside::{self, Errand};
use super::wait::{self, Place, Stage};
use crate::graph::Name;
use crate::scheduler::task::Task;
use crate::scheduler::word::Park;
use crate::scheduler::{TaskRef, Worker};
use crate::sync::{Arc, Cell};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// One process that is missing, as the flags count it.
const ONE: u32 = FIRST_FLAG << 1;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    waiter: Waiter,
    released: *const Cell<bool>,
}

/// What is behind the gate.
#[derive(Debug)]
struct State {
    enrolled: u32,
    phase: u64,
    waiting: Vec<Waiting>,
    /// An empty list for the next phase: no phase takes memory.
    spare: Vec<Waiting>,
    /// For each handle the process that used it last, and whether it has come.
    members: Vec<(*const Task, bool)>,
    free: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Meet {
    gate: Gate,
    network: u32,
    pub(super) name: Name,
    state: UnsafeCell<State>,
}

// SAFETY: the state is behind the gate, and the pointers in it are to type-stable memory or to
// pinned futures that leave behind the gate.
unsafe impl Send for Meet {}
// SAFETY: as above.
unsafe impl Sync for Meet {}

impl Meet {
    fn new(network: u32, name: Name) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(0),
            network,
            name,
            state: UnsafeCell::new(State {
                enrolled: 0,
                phase: 0,
                waiting: Vec::new(),
                spare: Vec::new(),
                members: Vec::new(),
                free: Vec::new(),
            }),
        })
    }

    /// Behind the gate.
    #[expect(clippy::mut_from_ref, reason = "the gate is held, and gives one access at a time")]
    fn state(&self) -> &mut State {
        // SAFETY: said above.
        unsafe { &mut *self.state.get() }
    }

    fn enrol(&self, alone: bool, by: Option<TaskRef>) -> u32 {
        let flags = self.gate.lock(alone);
        let state = self.state();
        state.enrolled += 1;
        let by = by.map_or(ptr::null(), TaskRef::as_ptr);
        let member = state.free.pop().unwrap_or_else(|| {
            state.members.push((ptr::null(), false));
            u32::try_from(state.members.len() - 1).unwrap_or(u32::MAX)
        });
        state.members[member as usize] = (by, false);
        self.gate.unlock(flags + ONE);
        member
    }

    fn resign(&self, member: u32, worker: Option<&Worker>) {
        let flags = self.gate.lock(worker.is_some_and(|worker| worker.solo));
        let state = self.state();
        state.enrolled -= 1;
        state.members[member as usize] = (ptr::null(), true);
        state.free.push(member);
        let flags = flags - ONE;
        if flags < ONE && !state.waiting.is_empty() {
            self.complete(worker);
        } else {
            self.gate.unlock(flags);
        }
    }

    /// Comes; `Done` if that completes the phase. Else enters the process, if told to.
    #[inline]
    fn come(
        &self,
        worker: &Worker,
        task: TaskRef,
        member: u32,
        enter: Option<(How, &Cell<bool>)>,
    ) -> Attempt {
        let flags = self.gate.lock(worker.solo);
        let state = self.state();
        state.members[member as usize] = (task.as_ptr(), true);
        if flags < 2 * ONE {
            self.complete(Some(worker));
            return Attempt::Done;
        }
        let Some((how, released)) = enter else {
            self.gate.unlock(flags);
            return Attempt::Nothing;
        };
        state.waiting.push(Waiting { waiter: Waiter { task, how }, released });
        self.gate.unlock(flags - ONE);
        Attempt::Nothing
    }

    /// Behind the gate, which this opens: everybody has come.
    fn complete(&self, worker: Option<&Worker>) {
        let state = self.state();
        state.phase += 1;
        let spare = std::mem::take(&mut state.spare);
        let mut waiting = std::mem::replace(&mut state.waiting, spare);
        for member in &mut state.members {
            member.1 = false;
        }
        for waits in &mut waiting {
            if let How::Offer { ticket, guard } = waits.waiter.how {
                match offer::take(waits.waiter.task, ticket, guard, None) {
                    Taken::Yes { asleep: true } => {}
                    // It runs by itself, or is being ended: nobody is to be woken.
                    _ => waits.waiter.how = How::Offer { ticket: 0, guard: u32::MAX },
                }
            }
            // SAFETY: a process that waits is pinned, and leaves behind the gate.
            unsafe { (*waits.released).set(true) };
        }
        self.gate.unlock(state.enrolled * ONE);
        let Some(worker) = worker else { return };
        // The list is ours: it has left the state.
        for waits in &waiting {
            match waits.waiter.how {
                How::Plain => Wake::Plain(waits.waiter.task).up(worker),
                How::Offer { guard: u32::MAX, .. } => {}
                How::Offer { .. } => Wake::Offer(waits.waiter.task).up(worker),
            }
        }
        waiting.clear();
        self.keep(waiting, worker.solo);
    }

    /// Gives the empty list back.
    fn keep(&self, list: Vec<Waiting>, alone: bool) {
        let flags = self.gate.lock(alone);
        let state = self.state();
        state.spare = list;
        self.gate.unlock(flags);
    }

    /// A process does not wait any more.
    fn leave(&self, member: u32, released: &Cell<bool>, alone: bool) {
        let flags = self.gate.lock(alone);
        let state = self.state();
        let place = state.waiting.iter().position(|waits| ptr::eq(waits.released, released));
        if let Some(place) = place {
            state.waiting.swap_remove(place);
            state.members[member as usize].1 = false;
            self.gate.unlock(flags + ONE);
        } else {
            self.gate.unlock(flags);
        }
    }

    /// The phase, and who has not come yet.
    pub(super) fn missing(&self) -> (u64, Vec<Option<TaskRef>>) {
        let flags = self.gate.lock(false);
        let state = self.state();
        let missing = state.members.iter().enumerate().filter(|(index, (_, has_come))| {
            !has_come && !state.free.iter().any(|&free| free as usize == *index)
        });
        // SAFETY: the headers of processes are type-stable memory.
        let missing = missing.map(|(_, &(task, _))| unsafe { TaskRef::from_ptr(task) }).collect();
        let phase = state.phase;
        self.gate.unlock(flags);
        (phase, missing)
    }
}

/// A place at which processes wait for each other: a handle, which is one enrolled process.
///
/// Cloning enrols one more, dropping resigns. A handle may be sent in a message: the enrolment goes
/// with it, and a clone is enrolled before the send is complete.
///
/// # Examples
///
/// ```
/// use kahn::csp;
///
/// let run = csp::run(kahn::RunOptions::new(), async |scope| {
///     let mut barrier = csp::Barrier::new("day");
///     for _ in 0..3 {
///         let mut barrier = barrier.clone();
///         scope.spawn("worker", async move {
///             for _day in 0..7 {
///                 // … work …
///                 barrier.sync().await;
///             }
///         });
///     }
///     for _day in 0..7 {
///         barrier.sync().await;
///     }
/// })?;
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: Welch and Barnes, *Mobile barriers for occam-pi*, 2005; CCSP sections 1.1 and 4.
pub struct Barrier {
    meet: Arc<Meet>,
    member: u32,
}

impl Barrier {
    /// Makes a barrier with one process enrolled: whoever has this handle.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](super::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self::enrolled(Meet::new(network_here("a barrier"), name.into()))
    }

    /// Makes a barrier before a model runs, with so many handles.
    #[cfg(all(test, loom))]
    pub(super) fn for_model(network: u32, count: usize) -> Vec<Self> {
        let meet = Meet::new(network, "barrier".into());
        let handle = |_| Self { member: meet.enrol(false, None), meet: Arc::clone(&meet) };
        (0..count).map(handle).collect()
    }

    fn enrolled(meet: Arc<Meet>) -> Self {
        let (worker, task) = wait::here(meet.network, "a barrier");
        let member = meet.enrol(worker.solo, Some(task));
        Self { meet, member }
    }

    /// Waits until every enrolled process has come.
    pub fn sync(&mut self) -> Syncing<'_> {
        Syncing {
            barrier: self,
            released: Cell::new(false),
            stage: Stage::Fresh,
            _pinned: PhantomPinned,
        }
    }
}

impl Clone for Barrier {
    /// Enrols one more process.
    ///
    /// # Panics
    /// Panics outside of a process of the barrier's network.
    fn clone(&self) -> Self {
        Self::enrolled(Arc::clone(&self.meet))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Barrier").field(&self.meet.name).finish()
    }
}

struct Resigned {
    meet: Arc<Meet>,
    member: u32,
}

unsafe fn resign_at(resigned: *const (), worker: Option<&Worker>) {
    // SAFETY: made by `drop` below, and run once.
    let resigned = unsafe { Box::from_raw(resigned.cast_mut().cast::<Resigned>()) };
    resigned.meet.resign(resigned.member, worker);
}

impl Drop for Barrier {
    fn drop(&mut self) {
        if let Some((worker, _)) = Worker::running_in(self.meet.network) {
            self.meet.resign(self.member, Some(worker));
            return;
        }
        let resigned = Resigned { meet: Arc::clone(&self.meet), member: self.member };
        let what = Box::into_raw(Box::new(resigned)).cast_const().cast();
        outside::leave(self.meet.network, Errand::Call { what, call: resign_at });
    }
}

/// A wait at a barrier; made by [`Barrier::sync`].
#[derive(Debug)]
#[must_use = "nothing waits unless it is awaited"]
pub struct Syncing<'a> {
    barrier: &'a mut Barrier,
    released: Cell<bool>,
    stage: Stage,
    _pinned: PhantomPinned,
}

// SAFETY: `released` is touched behind the gate, or by the process when it runs.
unsafe impl Sync for Syncing<'_> {}

impl Syncing<'_> {
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll`; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let barrier = &this.barrier;
        wait::enter_alone(task, worker, |how| {
            let enter = Some((how, &this.released));
            let attempt = barrier.meet.come(worker, task, barrier.member, enter);
            if attempt == Attempt::Done {
                this.released.set(true);
            }
            attempt
        })
    }
}

impl Future for Syncing<'_> {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of the barrier's network.
    #[inline]
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let meet = &this.barrier.meet;
        let (worker, task) = wait::here(meet.network, "a barrier");
        if this.stage == Stage::Waiting {
            if wait::resumed(task) {
                // Whoever completes the phase has done when the gate opens.
                let flags = meet.gate.lock(worker.solo);
                meet.gate.unlock(flags);
            }
            if this.released.get() {
                this.stage = Stage::Over;
                return Poll::Ready(());
            }
        }
        if !wait::has_turn(worker, task, &mut this.stage) {
            return Poll::Pending;
        }
        if meet.gate.peek() < 2 * ONE
            && meet.come(worker, task, this.barrier.member, None) == Attempt::Done
        {
            this.stage = Stage::Over;
            return Poll::Ready(());
        }
        this.stage = Stage::Waiting;
        let place = Place::Barrier(Arc::as_ptr(meet).cast());
        wait::ask_to_enter(worker, task, place, &raw const *this, Self::commit);
        Poll::Pending
    }
}

impl Drop for Syncing<'_> {
    fn drop(&mut self) {
        if self.stage != Stage::Waiting {
            return;
        }
        let worker = Worker::running_in(self.barrier.meet.network).map(|(worker, _)| worker);
        if let Some(worker) = worker {
            // Perhaps it has only just asked.
            worker.take_back();
        }
        let alone = worker.is_some_and(|worker| worker.solo);
        self.barrier.meet.leave(self.barrier.member, &self.released, alone);
    }
}
