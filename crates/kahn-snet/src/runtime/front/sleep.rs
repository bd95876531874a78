//! Workers that sleep, and what wakes them.
//!
//! A worker that finds no work counts itself as sleeping, looks once more, and sleeps. A worker
//! that makes work shows it first, and then looks whether another sleeps. One of the two sees the other:
//! between showing and looking both sides have a sequentially consistent fence.
//!
//! When the last one goes to sleep, after the input was opened, and finds nothing, there is nothing:
//! work lies in deques of workers that are awake. That ends the run, unless a call of a box waits (see
//! `threads`): then the last one is told, and has it go on.

use kahn_engine::sync::Ordering::*;
use kahn_engine::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, fence};

#[derive(Debug, Default)]
struct State {
    /// Counts the times that a worker was woken.
    wakes: u64,
    done: bool,
    /// Whether the initialisers have run.
    input_open: bool,
}

/// What a worker that went to sleep finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slept {
    /// There may be work.
    Again,
    /// No other worker is awake, and a call waits.
    Last,
    /// There never will be work.
    Over,
}

/// What is said of the calls that have no role (see `threads`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingCalls {
    /// There are none.
    None,
    /// One may go on.
    MayGoOn,
    /// One will go on by itself, or when others have done something.
    WillGoOn,
}

/// The workers of a run, as far as they sleep.
#[derive(Debug)]
pub(super) struct Idle {
    state: Mutex<State>,
    woken: Condvar,
    sleeping: AtomicUsize,
    stop: AtomicBool,
    workers: usize,
}

impl Idle {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            state: Mutex::new(State::default()),
            woken: Condvar::new(),
            sleeping: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            workers,
        }
    }

    /// Whether all workers are to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(SeqCst)
    }

    /// Stops all workers.
    pub(super) fn halt(&self) {
        self.stop.store(true, SeqCst);
        self.wake_all();
    }

    /// Lets the input be read.
    pub(super) fn open_input(&self) {
        self.state.lock().input_open = true;
        self.wake_all();
    }

    pub(super) fn is_input_open(&self) -> bool {
        self.state.lock().input_open
    }

    fn wake_all(&self) {
        self.state.lock().wakes += 1;
        self.woken.notify_all();
    }

    /// Wakes a worker, if one sleeps.
    pub(super) fn wake(&self) {
        // Pairs with that in `sleep`: either we see the sleeper, or it sees the work.
        fence(SeqCst);
        if self.sleeping.load(SeqCst) > 0 {
            self.state.lock().wakes += 1;
            self.woken.notify_one();
        }
    }

    /// Whether a worker sleeps.
    pub(super) fn any_sleeps(&self) -> bool {
        self.sleeping.load(SeqCst) > 0
    }

    /// Sleeps until there may be work, or there never will be. `is_there_work` is asked once more,
    /// and told whether the input counts; `calls` is told how many are awake.
    pub(super) fn sleep(
        &self,
        is_there_work: impl FnOnce(bool) -> bool,
        calls: impl FnOnce(usize) -> PendingCalls,
    ) -> Slept {
        let mut state = self.state.lock();
        if state.done || self.is_stopped() {
            return Slept::Over;
        }
        let before = state.wakes;
        let asleep = self.sleeping.fetch_add(1, SeqCst) + 1;
        fence(SeqCst); // pairs with that in `wake`
        if is_there_work(state.input_open) {
            self.sleeping.fetch_sub(1, SeqCst);
            return Slept::Again;
        }
        let calls = calls(self.workers - asleep);
        if calls == PendingCalls::MayGoOn {
            self.sleeping.fetch_sub(1, SeqCst);
            return Slept::Last;
        }
        if asleep == self.workers && state.input_open && calls == PendingCalls::None {
            state.done = true;
            self.woken.notify_all();
        }
        while state.wakes == before && !state.done && !self.is_stopped() {
            self.woken.wait(&mut state);
        }
        self.sleeping.fetch_sub(1, SeqCst);
        if state.done { Slept::Over } else { Slept::Again }
    }
}
