//! The threads of the workers: which start with the run, and which when they are first wanted.
//!
//! | worker | its thread |
//! |---|---|
//! | the first | is the one that calls [`Scheduler::run`] |
//! | others that have a core, and all under policies that do not share their work | starts with the run |
//! | the first beyond the cores | starts with the run: it is the watcher |
//! | the rest | starts when its bell is first rung |
//!
//! A worker whose thread has not started is one of the sleepers, like one that has laid itself down
//! and has not been given a core by the system since: where that one goes on, the new thread
//! begins. So the protocol of [`super::idle`] need not tell them apart, but for the bell: ringing
//! it starts the thread. Whoever is first in the list naps by itself and must have been started, so
//! each who becomes the first is rung ([`Scheduler::pass_the_watch`]).
//!
//! # When the system refuses a thread
//!
//! Fewer workers than asked for are no error. All who have no thread yet leave the sleepers for
//! good, and what was wanted of the refused one is asked of a sleeper that has a thread. If there is
//! none, all others are awake and come to the work.
//!
//! # The end
//!
//! A thread is started under the lock of the list of threads, and only while the run goes on. `run`
//! empties that list after the run has ended: a thread is either in it by then, or never starts.

use super::{Scheduler, Worker};
use crate::sync::system::{ThreadPlace, place_for_thread};
use crate::sync::{Ordering::*, thread};
use std::io;

/// The threads that were started and are not joined.
#[derive(Default)]
pub(super) struct Crew {
    threads: Vec<(thread::JoinHandle<()>, ThreadPlace)>,
    /// The system has refused one: none is asked for from then on.
    refused: bool,
}

/// What became of the attempt to start a thread.
enum Start {
    /// It runs, since now or before.
    Runs,
    /// The run is over: nothing is to be done any more.
    TooLate,
    Refused,
}

impl Scheduler {
    /// Counts the workers before anything starts: those with a core as busy, the others as asleep.
    pub(super) fn count_workers(&self) {
        let all = self.slots().len();
        let awake = all.min(self.config().most_awake);
        self.workers.store(all, SeqCst);
        self.surplus.store(all - awake, SeqCst);
        self.census.start(awake);
        // The first watches; of the rest the last is woken first, so the indices stay dense.
        let mut sleepers = self.sleepers.lock();
        sleepers.extend((awake..all).take(1).chain((awake + 1..all).rev()));
        self.sleeping.store(sleepers.len(), SeqCst);
    }

    /// Starts the threads of the workers that have a core, and that of the watcher.
    pub(super) fn start_workers(&self) {
        let awake = self.slots().len().min(self.config().most_awake);
        for worker in 1..awake {
            if let Start::Refused = self.start_worker(worker) {
                // Not beyond the first that is refused: then those that run are the first of them.
                self.give_up_missing();
                self.census.withdraw(awake - worker);
                return;
            }
        }
        self.pass_the_watch();
    }

    /// Waits for the threads of all workers but the first.
    pub(super) fn join_workers(&self) {
        loop {
            let started = self.crew.lock().threads.pop();
            let Some((thread, _place)) = started else { return };
            // A worker catches the panics of processes; its own would be a defect of ours.
            thread.join().expect("no worker panics");
        }
    }

    /// Starts the thread of a worker unless it runs.
    fn start_worker(&self, worker: usize) -> Start {
        if !self.is_missing(worker) {
            return Start::Runs;
        }
        let mut crew = self.crew.lock();
        if self.is_ending() {
            return Start::TooLate;
        }
        if !self.is_missing(worker) {
            return Start::Runs;
        }
        let start = || -> io::Result<_> {
            let scheduler = self.strong();
            let place = place_for_thread()?;
            let thread = thread::Builder::new()
                .name(format!("kahn worker {worker}"))
                .spawn(move || Worker::new(&scheduler, worker).work())?;
            Ok((thread, place))
        };
        let started = if crew.refused { None } else { start().ok() };
        let Some(started) = started else {
            crew.refused = true;
            return Start::Refused;
        };
        crew.threads.push(started);
        // Release: whoever finds it set need not take the lock.
        self.slots()[worker].has_thread.store(true, Release);
        Start::Runs
    }

    /// Rings the bell of a worker that was taken out of the sleepers and is counted as busy.
    pub(super) fn rouse(&self, worker: usize) {
        self.slots()[worker].parker.unpark();
        if let Start::Refused = self.start_worker(worker) {
            self.give_up_missing();
            // Another takes over, with the count.
            let mut sleepers = self.sleepers.lock();
            if let Some(other) = sleepers.pop() {
                self.sleeping.fetch_sub(1, SeqCst);
                drop(sleepers);
                self.slots()[other].parker.unpark();
            } else {
                self.census.withdraw(1);
            }
        }
    }

    /// Has the first of the sleepers watch, who stays among them.
    pub(super) fn pass_the_watch(&self) {
        let first = self.tell_first();
        if let Some(Start::Refused) = first.map(|first| self.start_worker(first)) {
            self.give_up_missing();
            self.tell_first();
        }
    }

    /// Under the lock, so that the first is told before anybody takes it out and wakes it.
    fn tell_first(&self) -> Option<usize> {
        let sleepers = self.sleepers.lock();
        let first = *sleepers.first()?;
        self.slots()[first].parker.unpark();
        Some(first)
    }

    /// Goes on for good without those that have no thread.
    fn give_up_missing(&self) {
        // Nobody starts meanwhile, nor afterwards.
        let _crew = self.crew.lock();
        let mut sleepers = self.sleepers.lock();
        let before = sleepers.len();
        sleepers.retain(|&worker| !self.is_missing(worker));
        self.sleeping.fetch_sub(before - sleepers.len(), SeqCst);
        let running = (0..self.slots().len()).filter(|&worker| !self.is_missing(worker)).count();
        self.surplus.store(running.saturating_sub(self.config().most_awake), SeqCst);
        // Last: whoever finds fewer workers than slots sees which have no thread.
        self.workers.store(running, SeqCst);
    }

    /// Whether a worker has no thread, so far or for good.
    fn is_missing(&self, worker: usize) -> bool {
        worker > 0 && !self.slots()[worker].has_thread.load(Acquire)
    }

    /// The workers that will never have a thread.
    pub(super) fn given_up(&self) -> impl Iterator<Item = usize> {
        let all = self.slots().len();
        let all = if self.workers.load(Acquire) < all { all } else { 0 };
        (1..all).filter(|&worker| self.is_missing(worker))
    }
}
