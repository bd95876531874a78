//! `batch`: processes that wake each other drift into one batch; batches are run in turn, and
//! stolen whole (Ritson, Sampson and Barnes, *Multicore scheduling for lightweight communicating
//! processes*, section 2; the CCSP runtime of occam-π).
//!
//! Each worker has a run queue of batches ([`crate::batches`] has the rules). A worker runs the
//! processes of one batch in turn; what is woken, made or yields there goes to the end of it: so
//! processes that talk to each other come together, and the rules part those that do not.
//!
//! Where this is not the paper: processes are of one priority here; what comes from outside waits in
//! one queue for the worker that comes first, and becomes a batch of its own; at the start each
//! worker has batches of neighbours in the order of creation.

use crate::batches::{Batch as Processes, RunQueue};
use kahn_engine::policy::{
    Notify, Origin, Policy, PolicyChoice, Promises, Ready, Reason, StealCount, Steals, Turn,
    Waiting,
};
use kahn_engine::queue::window::Window;
use kahn_engine::sync::{AtomicUsize, Mutex, MutexGuard, Ordering::*, Padded};

/// Processes that wake each other drift into one batch; batches are run in turn, and stolen whole.
///
/// It is for comparing the paper's way to schedule with others, in the same program; it does not make one
/// faster. The engine's own scheduler is compiled into the worker, and a policy is called: a rendezvous in a
/// ring takes 265 instructions under the default and 668 under this one, and on two workers 1 locked
/// instruction and 5 (`kahn run ring --variant rendezvous` under callgrind, 2026-11-25).
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let report = Network::new().run_with(Options::new().policy(kahn_policies::BATCH))?;
/// assert_eq!(report.policy, "batch");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub const BATCH: PolicyChoice = PolicyChoice::new(
    "batch",
    "CCSP's: processes that wake each other drift into one batch; batches are stolen whole",
    |setup| Box::new(Batch::new(setup.workers)),
)
// Not `forks`: batches are first come first served, see ARCHITECTURE.md.
.promising(Promises {
    open_loops: true,
    work_is_found: true,
    ..Promises::waiting(Waiting::Dispatches(127))
});

#[derive(Debug)]
struct Shelf {
    /// Locked by the owner, and by a worker that finds it busy with one process for long.
    queue: Mutex<RunQueue<Ready>>,
    /// Batches and active processes of the owner, as it last knew them: a few may have been stolen.
    waiting: AtomicUsize,
    window: Window<Processes<Ready>>,
    steals: StealCount,
}

#[derive(Debug)]
struct Batch {
    shelves: Box<[Padded<Shelf>]>,
    /// What was made ready by a thread that is no worker.
    mail: Mutex<Processes<Ready>>,
    mail_len: AtomicUsize,
}

/// A worker's run queue while it is in use.
struct Open<'a> {
    shelf: &'a Shelf,
    queue: MutexGuard<'a, RunQueue<Ready>>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // Relaxed: a hint, made certain by the fences around going to sleep.
        self.shelf.waiting.store(self.queue.len(), Relaxed);
    }
}

impl Open<'_> {
    fn put_back(&mut self, batch: Processes<Ready>) {
        self.queue.put_back(&self.shelf.window, batch);
    }

    fn dispatch(&mut self, something_came: bool) -> Option<Ready> {
        self.queue.dispatch(&self.shelf.window, something_came)
    }
}

impl Batch {
    fn new(workers: usize) -> Self {
        let shelf = || Shelf {
            queue: Mutex::default(),
            waiting: AtomicUsize::new(0),
            window: Window::new(),
            steals: StealCount::default(),
        };
        Self {
            shelves: (0..workers).map(|_| Padded(shelf())).collect(),
            mail: Mutex::default(),
            mail_len: AtomicUsize::new(0),
        }
    }

    fn open(&self, worker: usize) -> Open<'_> {
        let shelf = &self.shelves[worker];
        Open { shelf, queue: shelf.queue.lock() }
    }

    fn post(&self, ready: Ready) {
        let mut mail = self.mail.lock();
        mail.push_back(ready);
        self.mail_len.store(mail.len(), Relaxed);
    }

    /// One process from outside, if there is one.
    fn letter(&self) -> Option<Ready> {
        if self.mail_len.load(Relaxed) == 0 {
            return None;
        }
        let mut mail = self.mail.lock();
        let ready = mail.pop_front();
        self.mail_len.store(mail.len(), Relaxed);
        ready
    }

    /// Has all that waits at a worker stolen that runs one process for long.
    fn show_all(&self, worker: usize) {
        let mut open = self.open(worker);
        let Open { shelf, queue } = &mut open;
        queue.open(&shelf.window);
    }

    fn steal(&self, thief: usize) -> Option<Box<Processes<Ready>>> {
        let (own, count) = (&self.shelves[thief], self.shelves.len());
        (1..count).find_map(|offset| {
            let victim = &self.shelves[(thief + offset) % count];
            own.steals.try_one();
            let batch = victim.window.steal()?;
            own.steals.win();
            Some(batch)
        })
    }
}

impl Policy for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let Origin::Worker(worker) = origin else {
            self.post(ready);
            return Notify::Anyone;
        };
        let mut open = self.open(worker);
        match reason {
            Reason::New => open.queue.make(ready),
            Reason::Woken => open.queue.wake(ready),
            Reason::Yielded => open.queue.give_way(ready),
            Reason::Preempted => open.queue.give_way_to_urgent(ready),
        }
        let can_be_stolen = open.shelf.window.has_some();
        if can_be_stolen { Notify::Thief } else { Notify::NoWorker }
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        if let Turn::Stalled(stalled) = turn {
            self.show_all(stalled);
        }
        let letter = self.letter();
        let something_came = letter.is_some();
        let mut open = self.open(worker);
        if let Some(letter) = letter {
            open.put_back(Processes::from([letter]));
        }
        // Every batch has its turn, so the one that has waited longest needs no other way.
        open.dispatch(something_came).or_else(|| {
            let batch = self.steal(worker)?;
            open.queue.load(*batch);
            open.dispatch(false)
        })
    }

    fn has_work(&self, worker: usize) -> bool {
        self.shelves[worker].waiting.load(Relaxed) > 0
            || self.mail_len.load(Relaxed) > 0
            || self.shelves.iter().any(|shelf| shelf.window.has_some())
    }

    /// Neighbours in the order of creation begin in the same batch.
    fn start(&self, ready: Vec<Ready>) {
        let share = ready.len().div_ceil(self.shelves.len()).max(1);
        let mut ready = ready.into_iter();
        for worker in 0..self.shelves.len() {
            let batch: Processes<Ready> = ready.by_ref().take(share).collect();
            if !batch.is_empty() {
                self.open(worker).put_back(batch);
            }
        }
    }

    fn steals(&self, worker: usize) -> Steals {
        self.shelves[worker].steals.get()
    }
}
