//! The threads of the workers. All that a run may use are made before it starts.
//!
//! ```text
//!   hire        threads park at the parkers of their workers; fewer, if the system refuses one
//!   configure   the policy is made for so many workers as there are
//!   order       each is told what to do; those with a core are unparked, and the monitor
//!   join        the run has ended, which has unparked all of them
//! ```
//!
//! | worker | its thread |
//! |---|---|
//! | the first | is the one that calls [`Scheduler::run`](crate::Scheduler::run) |
//! | others that have a core, and all under policies that do not share their work | goes to work with the run |
//! | the first beyond the cores | goes to work with the run: it is the monitor |
//! | the rest | sleeps from its start, until it is first unparked |
//!
//! *No wake-up is lost.* A thread that is unparked before it has its orders parks again. So all have their
//! orders before anything runs that could unpark, but for the end of the run: the thread that gives
//! them looks afterwards whether that has come, and unparks again. The thread of a worker that begins
//! among the sleepers unparks itself once more before it goes to work, where it parks: there it
//! is told from a sleeper by nothing but the list (see `sleep::sleepers`). That of a worker with a core
//! has been unparked for the start or for the end alone, and looks whether the run has ended before it
//! parks.
//!
//! *When the system refuses a thread*, the run has the workers that it granted, and its report says
//! so. Nothing else needs to know: no queue is made for a worker that has no thread.

use crate::sync::system::{ThreadDoor, ThreadPlace, fences};
use crate::sync::{Arc, Mutex, Parker, thread};
use std::{fmt, io, mem};

/// What a thread does as the worker of an index.
pub(crate) type Work = Box<dyn FnOnce(usize) + Send>;

/// What a thread is to do.
enum Order {
    Wait,
    Work(Work),
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
    /// Workers without threads: a test drives them by hand, or there is but the first.
    pub fn driven(workers: usize) -> Self {
        let parkers = (0..workers).map(|_| Arc::new(Parker::new())).collect();
        Self { parkers, started: Vec::new(), refusal: None, door: Arc::default() }
    }

    /// Starts the threads of so many workers, or of as many as the system grants.
    pub fn start(workers: usize, door: Arc<ThreadDoor>) -> Self {
        let mut thread_set = Self::driven(1);
        thread_set.door = door;
        if workers > 1 {
            // Before there are threads: it takes the system long afterwards.
            fences::are_there();
        }
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

    /// Orders all threads to work.
    pub(crate) fn go_to_work(&self, work: impl Fn() -> Work) {
        self.order(|| Order::Work(work()));
    }

    fn order(&self, order: impl Fn() -> Order) {
        self.started.iter().for_each(|started| *started.order.lock() = order());
    }

    /// Waits for all threads.
    pub(crate) fn join(&mut self) {
        for started in mem::take(&mut self.started) {
            // A worker catches the panics of processes; its own would be a defect of ours.
            started.thread.join().expect("no worker panics");
        }
    }
}

impl Drop for ThreadSet {
    /// Ends those that had no run.
    fn drop(&mut self) {
        self.order(|| Order::Leave);
        self.parkers.iter().for_each(|parker| parker.unpark());
        self.join();
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
                    Order::Work(work) => return work(worker),
                }
            }
        })?;
        Ok(Self { thread, order, _place: place })
    }
}
