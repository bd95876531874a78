//! An event loop that a worker turns while it has nothing to run, and a thread of its own while the worker does not.
//!
//! Where a run has one core, two threads would only take turns on it: each event that concerns a process would cost two
//! switches. So the worker is the one that turns the loop, waits in it, and turns it in passing, between processes. But a
//! process may compute for long, or hold its worker in a call of the system, and the loop must go on: then its own thread
//! takes it.
//!
//! | the loop is | who turns it or waits in it | leaves by |
//! |---|---|---|
//! | *nowhere* | none: it has not come | `serve` → *free* |
//! | *free* | none, for a moment: the worker runs processes | the worker → *of the worker*; the thread, if the worker does not attend, or has not turned it for [`PERIOD`] → *of the thread* |
//! | *of the worker* | the worker | it has turned it, or its wait has ended → *free*; the loop is over → *over* |
//! | *of the thread* | the thread | the worker wants it → *free*; the loop is over → *over* |
//! | *over*, or gone by a panic | none | `serve` takes it and returns, or panics |
//!
//! Which of these it is stands behind a lock, and the loop with it while it is free. So **one thread has it at a time**.
//!
//! **Nothing rings in vain.** The bell of the loop ends its wait, that which goes on or the next. Who rings leaves a note,
//! and, if a thread has the loop, rings the bell. If one has it, its wait ends, and a turn follows there. If the loop is
//! free, the note is found: a worker looks for one under the lock before it waits, in the loop or for it, and turns the loop
//! instead; one that runs processes turns it in passing, or the thread does, which turns a loop that the worker has left
//! alone. A worker that finds the note and no loop to turn has taken it from the next turn; but what comes to it from the
//! thread, for the first time or again, comes with a note.
//!
//! **The worker gets it.** What it wants it says under the lock, and rings the bell then. The thread looks for that between
//! a turn and a wait: either it sees it, or the bell comes behind its look, ends the wait, and it sees it after the next
//! turn. It gives the loop back and tells the worker, and takes it again only after a `PERIOD` in which the worker has not
//! had it.
//!
//! **A panic** of the loop is the thread's, whichever turned it: there it is resumed, and the worker goes on.

use crate::sync::{Condvar, Mutex, MutexGuard};
use kahn_report::ranks::Driver;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use std::{fmt, mem};

/// How long the worker may leave the loop alone before the thread turns it.
const PERIOD: Duration = Duration::from_millis(50);

/// Does what there is to do, again and again, and waits between.
///
/// # Examples
///
/// See [`SharedLoop`].
pub trait EventLoop: Send {
    /// Does what there is to do, without waiting; `false` if the loop is over.
    fn turn(&mut self) -> bool;

    /// Waits until the bell rings or something is to be done, for so long at most. If it has rung since the last wait,
    /// it returns at once.
    fn wait(&mut self, most: Duration);
}

/// An event loop that two threads turn, one at a time. See the module.
///
/// # Examples
///
/// Its own thread turns it where no worker does:
///
/// ```
/// use kahn_engine::sleep::shared_loop::{EventLoop, SharedLoop};
/// use std::time::Duration;
///
/// struct Count(u32);
///
/// impl EventLoop for Count {
///     fn turn(&mut self) -> bool {
///         self.0 += 1;
///         self.0 < 3
///     }
///     fn wait(&mut self, _most: Duration) {}
/// }
///
/// let shared = SharedLoop::new(|| {});
/// assert_eq!(shared.serve(Count(0)).0, 3);
/// ```
pub struct SharedLoop<E> {
    state: Mutex<State<E>>,
    /// The worker waits for the loop, or for a note.
    to_worker: Condvar,
    /// The thread sleeps while the worker attends.
    to_thread: Condvar,
    bell: Box<dyn Fn() + Send + Sync>,
}

struct State<E> {
    at: At<E>,
    /// There is a worker that turns it.
    attends: bool,
    /// The worker waits for it.
    is_wanted: bool,
    /// A note: something is to be done, or the worker to go on, since the last turn of the worker.
    has_rung: bool,
    /// How often the worker has had it.
    turns: u64,
}

enum At<E> {
    Nowhere,
    Free(E),
    Worker,
    Thread,
    Over(E),
    Panicked(Box<dyn Any + Send>),
}

impl<E> State<E> {
    fn is_free(&self) -> bool {
        matches!(self.at, At::Free(_))
    }

    /// Takes the loop, if it is free.
    fn take(&mut self, by: At<E>) -> Option<E> {
        if !self.is_free() {
            return None;
        }
        match mem::replace(&mut self.at, by) {
            At::Free(event_loop) => Some(event_loop),
            _ => None,
        }
    }
}

impl<E> fmt::Debug for SharedLoop<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLoop").finish_non_exhaustive()
    }
}

impl<E: EventLoop> SharedLoop<E> {
    /// Makes the place of a loop, whose waits this ends.
    pub fn new(bell: impl Fn() + Send + Sync + 'static) -> Self {
        let (at, turns) = (At::Nowhere, 0);
        let (attends, is_wanted, has_rung) = (false, false, false);
        Self {
            state: Mutex::new(State { at, attends, is_wanted, has_rung, turns }),
            to_worker: Condvar::new(),
            to_thread: Condvar::new(),
            bell: Box::new(bell),
        }
    }

    /// Has the loop turned: called by any thread that has made something for it to do.
    pub fn ring(&self) {
        let mut state = self.state.lock();
        state.has_rung = true;
        let is_had = matches!(state.at, At::Worker | At::Thread);
        drop(state);
        if is_had {
            (self.bell)();
        }
        self.to_worker.notify_one();
    }

    /// Serves the loop by this thread, its own, until it is over; returns it.
    ///
    /// # Panics
    /// Panics if the loop does, by the worker or here.
    pub fn serve(&self, event_loop: E) -> E {
        let mut state = self.state.lock();
        self.give(&mut state, event_loop);
        loop {
            let mut event_loop = match self.take_for_thread(&mut state) {
                At::Free(event_loop) => event_loop,
                At::Over(event_loop) => return event_loop,
                At::Panicked(panic) => {
                    drop(state);
                    resume_unwind(panic);
                }
                At::Nowhere | At::Worker | At::Thread => continue,
            };
            drop(state);
            let goes_on = self.run_until_wanted(&mut event_loop);
            state = self.state.lock();
            if !goes_on {
                state.at = At::Nowhere;
                return event_loop;
            }
            self.give(&mut state, event_loop);
        }
    }

    /// The thread has the loop no more. The worker turns it before it waits in it: what rang before rang for a turn that
    /// there was none of yet.
    fn give(&self, state: &mut State<E>, event_loop: E) {
        (state.at, state.is_wanted, state.has_rung) = (At::Free(event_loop), false, true);
        self.to_worker.notify_one();
    }

    /// Waits until the thread is to turn the loop, or it is over.
    fn take_for_thread(&self, state: &mut MutexGuard<'_, State<E>>) -> At<E> {
        loop {
            match &state.at {
                At::Over(_) | At::Panicked(_) => return mem::replace(&mut state.at, At::Nowhere),
                At::Free(_) if !state.attends => break,
                _ => {}
            }
            let turns = state.turns;
            let is_late = self.to_thread.wait_for(state, PERIOD).timed_out();
            if is_late && state.is_free() && state.turns == turns {
                break;
            }
        }
        mem::replace(&mut state.at, At::Thread)
    }

    /// Turns it until the worker wants it, or it is over, which is `false`.
    fn run_until_wanted(&self, event_loop: &mut E) -> bool {
        while event_loop.turn() {
            if self.state.lock().is_wanted {
                return true;
            }
            event_loop.wait(Duration::MAX);
        }
        false
    }

    /// The worker does something with the loop that it has, and gives it back.
    fn have(&self, mut event_loop: E, with: impl FnOnce(&mut E) -> bool) {
        let done = catch_unwind(AssertUnwindSafe(|| with(&mut event_loop)));
        let mut state = self.state.lock();
        state.turns += 1;
        state.at = match done {
            Ok(true) => At::Free(event_loop),
            Ok(false) => At::Over(event_loop),
            Err(panic) => At::Panicked(panic),
        };
        if !state.is_free() {
            self.to_thread.notify_one();
        }
    }
}

/// By the worker.
impl<E: EventLoop> Driver for SharedLoop<E> {
    fn turn(&self) {
        let mut state = self.state.lock();
        state.attends = true;
        let Some(event_loop) = state.take(At::Worker) else { return };
        state.has_rung = false;
        drop(state);
        self.have(event_loop, E::turn);
    }

    fn wait(&self, most: Option<Duration>) {
        let most = most.unwrap_or(Duration::MAX);
        let mut state = self.state.lock();
        if mem::take(&mut state.has_rung) {
            return;
        }
        if let Some(event_loop) = state.take(At::Worker) {
            drop(state);
            return self.have(event_loop, |event_loop| {
                event_loop.wait(most);
                true
            });
        }
        if matches!(state.at, At::Thread) {
            state.is_wanted = true;
            drop(state);
            (self.bell)();
            state = self.state.lock();
        }
        if !state.is_free() && !state.has_rung {
            self.to_worker.wait_for(&mut state, most);
        }
    }

    fn wake(&self) {
        self.ring();
    }

    fn leave(&self) {
        let mut state = self.state.lock();
        (state.attends, state.is_wanted) = (false, false);
        drop(state);
        self.to_thread.notify_one();
    }
}
