//! The threads of a network for calls that block.
//!
//! | a call finds | then |
//! |---|---|
//! | a thread without a call | it is notified |
//! | none, and fewer than the limit | a new one starts |
//! | none, and the limit is reached, or the system refuses one | the call waits for a thread that returns |
//! | none, the system refuses one, and there is none to wait for | the run ends, out of threads |
//!
//! Calls begin in the order in which they were asked for. A thread that has done its call takes the
//! next; without one it waits a while, if not enough others do so already, and ends.
//!
//! The run ends when all calls have returned, so a call that may wait for ever is given a way to
//! close what it waits for.

use kahn_engine::sync::system::{ThreadDoor, ThreadPlace, unpinned};
use kahn_engine::sync::{Arc, Condvar, Mutex, panics, thread};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait for a call, at most: those beyond end at once.
const MOST_IDLE: usize = 8;
/// How long they wait.
const IDLE: Duration = Duration::from_secs(10);

type Started = (thread::JoinHandle<()>, ThreadPlace);

#[derive(Default)]
struct Jobs {
    /// The first came first.
    waiting: VecDeque<Job>,
    /// Threads that wait for a call; some may have been notified and not run yet.
    idle: usize,
    running: usize,
    threads: BTreeMap<u64, Started>,
    /// Those that have ended by themselves, or are about to.
    ended: Vec<Started>,
    /// Threads ever started.
    started: u64,
    over: bool,
}

/// The threads of one network that do blocking calls.
pub(crate) struct Helpers {
    jobs: Mutex<Jobs>,
    called: Condvar,
    limit: usize,
    idle: Duration,
}

impl Helpers {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self::fresh(limit))
    }

    fn fresh(limit: usize) -> Self {
        Self { jobs: Mutex::default(), called: Condvar::new(), limit, idle: IDLE }
    }

    /// Has a call done.
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread and there is none to wait for.
    pub(super) fn submit(self: &Arc<Self>, door: &ThreadDoor, job: Job) -> io::Result<()> {
        let mut jobs = self.jobs.lock();
        jobs.waiting.push_back(job);
        let mut refused = None;
        if jobs.waiting.len() <= jobs.idle {
            self.called.notify_one();
        } else if jobs.threads.len() < self.limit {
            refused = self.start(&mut jobs, door).err();
        }
        if refused.is_some() && jobs.threads.is_empty() {
            jobs.waiting.pop_back();
        } else {
            // The others come to it.
            refused = None;
        }
        let ended = mem::take(&mut jobs.ended);
        drop(jobs);
        join(ended);
        refused.map_or(Ok(()), Err)
    }

    fn start(self: &Arc<Self>, jobs: &mut Jobs, door: &ThreadDoor) -> io::Result<()> {
        let (this, number) = (Arc::clone(self), jobs.started);
        let place = door.enter()?;
        let builder = thread::Builder::new().name(format!("kahn call {number}"));
        let thread = builder.spawn(unpinned(move || this.work(number)))?;
        jobs.started += 1;
        jobs.threads.insert(number, (thread, place));
        Ok(())
    }

    fn work(&self, number: u64) {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                jobs.running += 1;
                drop(jobs);
                // Its result may not be wanted any more, and the result's destructor may panic.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
                    panics::discard(payload);
                }
                jobs = self.jobs.lock();
                jobs.running -= 1;
            } else if jobs.over || jobs.idle >= MOST_IDLE {
                break;
            } else {
                jobs.idle += 1;
                let waited = self.called.wait_for(&mut jobs, self.idle);
                jobs.idle -= 1;
                if waited.timed_out() && jobs.waiting.is_empty() {
                    break;
                }
            }
        }
        // At the end of the run it was taken already.
        let ours = jobs.threads.remove(&number);
        jobs.ended.extend(ours);
    }

    /// How many calls have not returned.
    pub(crate) fn calls(&self) -> usize {
        let jobs = self.jobs.lock();
        jobs.running + jobs.waiting.len()
    }

    /// The run is over: waits until all calls have returned.
    pub(crate) fn end(&self) {
        let mut jobs = self.jobs.lock();
        jobs.over = true;
        self.called.notify_all();
        let ended = mem::take(&mut jobs.ended);
        let threads = mem::take(&mut jobs.threads);
        drop(jobs);
        join(ended.into_iter().chain(threads.into_values()));
    }
}

fn join(threads: impl IntoIterator<Item = Started>) {
    for (thread, _place) in threads {
        thread.join().expect("what a call panics with is caught");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use kahn_engine::sync::{Barrier, mpsc};

    fn threads(helpers: &Helpers) -> usize {
        helpers.jobs.lock().threads.len()
    }

    /// Has so many calls run at once.
    fn at_once(helpers: &Arc<Helpers>, calls: usize) {
        let all = Arc::new(Barrier::new(calls + 1));
        for _ in 0..calls {
            let all = Arc::clone(&all);
            let job = Box::new(move || {
                all.wait();
            });
            helpers.submit(&ThreadDoor::default(), job).expect("it is granted");
        }
        all.wait();
    }

    #[test]
    fn threads_without_a_call_end() {
        let helpers = Helpers::new(64);
        at_once(&helpers, 40);
        // Those that may wait wait for long.
        while threads(&helpers) > MOST_IDLE {
            thread::yield_now();
        }
        helpers.end();
        let none_idle = Helpers { idle: Duration::ZERO, ..Helpers::fresh(64) };
        let none_idle = Arc::new(none_idle);
        at_once(&none_idle, 4);
        while threads(&none_idle) > 0 {
            thread::yield_now();
        }
        none_idle.end();
        assert!(none_idle.jobs.lock().ended.is_empty());
    }

    #[test]
    fn calls_begin_in_the_order_in_which_they_came() {
        let helpers = Helpers::new(1);
        let (sender, receiver) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let first = Box::new(move || assert!(gate.recv().is_err(), "nothing is sent"));
        helpers.submit(&ThreadDoor::default(), first).expect("it is granted");
        for number in 0..50 {
            let sender = sender.clone();
            let job = Box::new(move || sender.send(number).expect("it is received"));
            helpers.submit(&ThreadDoor::default(), job).expect("one is there");
        }
        assert_eq!(threads(&helpers), 1, "the limit");
        drop((open, sender));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
        helpers.end();
    }
}
