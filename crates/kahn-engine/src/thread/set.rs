//! The threads of the workers. All that a run may use are made before it starts.
//!
//! ```text
//!   hire        threads park at the parkers of their workers; fewer, if the system refuses one
//!   configure   the policy is made for so many workers as there are
//!   order       each learns its scheduler; those with a core are rung, and the watcher
//!   join        the run has ended, which has rung all of them
//! ```
//!
//! | worker | its thread |
//! |---|---|
//! | the first | is the one that calls [`Scheduler::run`] |
//! | others that have a core, and all under policies that do not share their work | goes to work with the run |
//! | the first beyond the cores | goes to work with the run: it is the watcher |
//! | the rest | sleeps from its start, until its parker is first rung |
//!
//! *No parker is lost.* A thread that is rung before it has its orders parks again. So all have their
//! orders before anything runs that could ring, but for the end of the run: the thread that gives
//! them looks afterwards whether that has come, and rings again. The thread of a worker that begins
//! among the sleepers rings its own parker once more before it goes to work, where it parks: there it
//! is told from a sleeper by nothing but the list (see `sleep::idle`). That of a worker with a core
//! has been rung for the start or for the end alone, and looks whether the run has ended before it
//! parks.
//!
//! *When the system refuses a thread*, the run has the workers that it granted, and its report says
//! so. Nothing else needs to know: no queue is made for a worker that has no thread.

use crate::Scheduler;
use crate::sync::system::{ThreadDoor, ThreadPlace};
use crate::sync::{Arc, Mutex, Ordering::*, Parker, thread};
use std::{fmt, io, mem};

/// What a thread is to do.
enum Order {
    Wait,
    Work(Arc<Scheduler>),
    /// There will be no run.
    Leave,
}

struct WorkerThread {
    thread: thread::JoinHandle<()>,
    order: Arc<Mutex<Order>>,
    _place: ThreadPlace,
}

/// The threads of the workers of one run, and their parkers.
pub struct ThreadSet {
    /// That of the first worker too, whose thread is the caller's.
    pub(crate) parkers: Vec<Arc<Parker>>,
    started: Vec<WorkerThread>,
    /// What is to be said if there are fewer than were asked for.
    pub refusal: Option<String>,
    /// Where more threads come from.
    pub door: Arc<ThreadDoor>,
}

impl fmt::Debug for ThreadSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadSet").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl ThreadSet {
    /// Workers without threads: somebody drives them by hand, or there is but the first.
    pub fn driven(workers: usize) -> Self {
        let parkers = (0..workers).map(|_| Arc::new(Parker::new())).collect();
        Self { parkers, started: Vec::new(), refusal: None, door: Arc::default() }
    }

    /// Starts the threads of so many workers, or of as many as the system grants.
    pub fn start(workers: usize, door: Arc<ThreadDoor>) -> Self {
        let mut thread_set = Self::driven(1);
        thread_set.door = door;
        for worker in 1..workers {
            let parker = Arc::new(Parker::new());
            match WorkerThread::new(worker, Arc::clone(&parker), &thread_set.door) {
                Ok(started) => thread_set.started.push(started),
                Err(error) => {
                    let why = ThreadDoor::explain(&error);
                    thread_set.refusal = Some(format!("{worker} of {workers} workers run: {why}"));
                    break;
                }
            }
            thread_set.parkers.push(parker);
        }
        thread_set
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.parkers.len()
    }

    fn order(&self, order: impl Fn() -> Order) {
        self.started.iter().for_each(|started| *started.order.lock() = order());
    }

    fn join(started: Vec<WorkerThread>) {
        for started in started {
            // A worker catches the panics of processes; its own would be a defect of ours.
            started.thread.join().expect("no worker panics");
        }
    }
}

impl Drop for ThreadSet {
    /// Sends home those that had no run.
    fn drop(&mut self) {
        self.order(|| Order::Leave);
        self.parkers.iter().for_each(|parker| parker.unpark());
        Self::join(mem::take(&mut self.started));
    }
}

impl WorkerThread {
    fn new(worker: usize, parker: Arc<Parker>, door: &ThreadDoor) -> io::Result<Self> {
        let place = door.enter()?;
        let order = Arc::new(Mutex::new(Order::Wait));
        let theirs = Arc::clone(&order);
        let builder = thread::Builder::new().name(format!("kahn worker {worker}"));
        let thread = builder.spawn(move || {
            loop {
                parker.park();
                match mem::replace(&mut *theirs.lock(), Order::Wait) {
                    Order::Wait => {}
                    Order::Leave => return,
                    Order::Work(scheduler) => {
                        if worker >= scheduler.config().most_awake {
                            parker.unpark();
                        }
                        return (scheduler.tag.work)(&scheduler, worker);
                    }
                }
            }
        })?;
        Ok(Self { thread, order, _place: place })
    }
}

impl Scheduler {
    /// Counts the workers before anything starts: those with a core as busy, the others as asleep.
    pub(crate) fn count_workers(&self) {
        let all = self.slots().len();
        let awake = all.min(self.config().most_awake);
        self.activity.start(awake);
        // The first watches; of the rest the last is woken first, so the indices stay dense.
        let mut sleepers = self.sleepers.lock();
        sleepers.extend((awake..all).take(1).chain((awake + 1..all).rev()));
        self.sleeping.store(sleepers.len(), SeqCst);
        drop(sleepers);
        self.config().thread_set.lock().order(|| Order::Work(self.strong()));
        if self.is_ending() {
            self.slots().iter().for_each(|slot| slot.parker.unpark());
        }
    }

    /// Rings the workers that have a core, and the watcher.
    pub(crate) fn start_workers(&self) {
        let awake = self.slots().len().min(self.config().most_awake);
        self.slots()[1..awake.max(1)].iter().for_each(|slot| slot.parker.unpark());
        self.pass_on_monitoring();
    }

    /// Waits for the threads of all workers but the first.
    pub(crate) fn join_workers(&self) {
        ThreadSet::join(mem::take(&mut self.config().thread_set.lock().started));
    }

    /// Has the first of the sleepers watch, which stays among them. Under the lock, so that it is
    /// told before anybody takes it out and wakes it.
    pub(crate) fn pass_on_monitoring(&self) {
        let sleepers = self.sleepers.lock();
        if let Some(&first) = sleepers.first() {
            self.slots()[first].parker.unpark();
        }
    }
}
