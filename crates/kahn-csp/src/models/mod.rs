//! Models of communicating processes, checked by loom: every interleaving within a bound.
//!
//! | file | what is checked | threads |
//! |---|---|---|
//! | `meetings` | sending, receiving, closing, extended rendezvous, in pairs | 2 |
//! | `choices` | alternation at one end and at both; against a partner, a time-out, a killer | 2 to 3 |
//! | `offers` | barriers and claims in alternations; a foreign waker beside a partner | 2 to 3 |
//! | `places` | claims, barriers, joining | 2 to 3 |
//! | `words` | the word of a channel | 2 to 3 |
//!
//! Each thread is a worker that runs its own processes and those it wakes. loom sees every access
//! to what stands behind a gate, and to the slots. What the processes assert fails the model: a
//! process that panics does not finish, and neither does one that is never woken.

mod choices;
mod meetings;
mod offers;
mod places;
mod words;

use crate::Options;
use crate::channel::ends::{Receiver, Sender};
use crate::channel::exchange::{self, Exchange};
use crate::channel::typed::Channel;
use crate::language::csp::Csp;
use crate::network::core::Core;
use crate::process::create::create;
use crate::process::forked::Forked;
use crate::process::scope::Process;
use crate::run::execute::new_core;
use crate::run::handle::Handle;
use crate::sharing::barrier::Barrier;
use kahn_engine::model::{self, Own};
use kahn_engine::sync::{Access, Arc, thread};
use kahn_engine::{Config, TaskRef, ThreadSet};
use std::panic::Location;
// Not one of loom's: it is no part of the model.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use model::check;

/// A network whose workers a model drives by hand.
struct Driven {
    core: Box<Core>,
    /// What each worker begins with.
    begin: Vec<Vec<TaskRef>>,
    /// Whether a process panicked.
    panicked: Arc<AtomicBool>,
    /// Whether workers run what others make ready.
    passes_on: bool,
}

/// Tells that the process it stands in panicked.
struct Sentinel(Arc<AtomicBool>);

impl Drop for Sentinel {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// A pointer to the core, for the threads of a model.
#[derive(Clone, Copy)]
struct Shared(*const Core);

// SAFETY: the model joins its threads before the core goes.
unsafe impl Send for Shared {}

impl Driven {
    fn new(workers: usize) -> Self {
        Self::with(Own::default(), workers, false)
    }

    /// The same, and the one that is made ready may be run by another worker at once.
    fn passing_on(workers: usize) -> Self {
        Self::with(Own::passing_on(), workers, true)
    }

    fn with(policy: Own, workers: usize, passes_on: bool) -> Self {
        let core = new_core(&Handle::new(), &Options::new().virtual_time(true));
        core.scheduler.configure(Config::new(
            policy.queues(),
            ThreadSet::driven(workers),
            model::settings(),
        ));
        Self { core, begin: vec![Vec::new(); workers], panicked: Arc::default(), passes_on }
    }

    fn channel<T: Send>(&self) -> (Sender<T>, Receiver<T>) {
        self.buffered(0)
    }

    fn buffered<T: Send>(&self, capacity: usize) -> (Sender<T>, Receiver<T>) {
        let channel = Channel::new(&self.core.common, "channel".into(), capacity);
        (Sender { channel }, Receiver { channel })
    }

    fn exchange<A: Send, B: Send>(&self) -> (Exchange<A, B>, Exchange<B, A>) {
        exchange::in_network(&self.core.common, "exchange".into())
    }

    /// Makes a barrier, with a handle for each.
    fn barrier<const N: usize>(&self) -> [Barrier; N] {
        let handles = Barrier::for_model(&self.core.common, N);
        handles.try_into().expect("as many as were asked for")
    }

    /// Makes a process that a worker begins with.
    fn process<F>(&mut self, worker: usize, process: Process, code: F) -> Forked<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        let sentinel = Sentinel(Arc::clone(&self.panicked));
        // Boxed, so that processes are of one size and stand in one block of memory: which gives way to
        // which goes by their addresses, and must be the same in every run of a model.
        let code = Box::pin(code);
        let code = async move {
            let _sentinel = sentinel;
            code.await
        };
        let handle = create(&self.core, process, Location::caller(), None, code);
        let all = self.core.scheduler.table.lock().all();
        let task = all.into_iter().max_by_key(|task| task.info().identity).expect("made just now");
        self.begin[worker].push(task);
        handle
    }

    /// Runs all workers to the end of what they have to do.
    fn run(&mut self) {
        self.run_with_time(0);
    }

    /// The same, while time jumps so often to the next deadline; then until none waits for it.
    fn run_with_time(&mut self, jumps: usize) {
        let core = Shared(&raw const *self.core);
        let time = (jumps > 0).then(|| {
            thread::spawn(move || {
                let core = core;
                for _ in 0..jumps {
                    // SAFETY: joined below.
                    let core = unsafe { &*core.0 };
                    core.timers.jump(&core.scheduler);
                }
            })
        });
        self.run_workers();
        if let Some(time) = time {
            time.join().expect("time does not panic");
            model::work_for_others::<Csp>(&self.core.scheduler, 0);
            while self.core.timers.jump(&self.core.scheduler) {
                model::work_for_others::<Csp>(&self.core.scheduler, 0);
            }
        }
    }

    /// The same, while one does something, and then is the last worker, for those that it made
    /// ready.
    fn run_beside(&mut self, does: impl FnOnce() + Send + 'static) {
        let begin = self.begin.pop().expect("the last worker begins with nothing");
        assert!(begin.is_empty(), "the last worker is the one that does it");
        let (scheduler, index) = (Arc::clone(&self.core.scheduler), self.begin.len());
        let beside = thread::spawn(move || {
            does();
            model::work_for_others::<Csp>(&scheduler, index);
        });
        self.run_workers();
        beside.join().expect("it does not panic");
        model::work_for_others::<Csp>(&self.core.scheduler, 0);
    }

    fn run_workers(&mut self) {
        let begin: Vec<_> = self.begin.iter_mut().map(std::mem::take).collect();
        let threads: Vec<_> = begin
            .into_iter()
            .enumerate()
            .map(|(index, begin)| {
                let (scheduler, passes_on) = (Arc::clone(&self.core.scheduler), self.passes_on);
                thread::spawn(move || {
                    model::work::<Csp>(&scheduler, index, begin);
                    if passes_on {
                        model::work_for_others::<Csp>(&scheduler, index);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no worker panics");
        }
    }

    /// What a process returned.
    fn result<R>(&self, mut process: Forked<R>) -> R {
        let result = process.take(Access::SHARED).expect("taken once");
        result.expect("the process finished")
    }

    /// Every process has ended.
    fn all_ended(&self) {
        let left = self.core.scheduler.table.lock().all();
        let left: Vec<_> = left.iter().map(|task| task.info().name.clone()).collect();
        assert!(left.is_empty(), "{left:?} were not woken");
        assert!(!self.panicked.load(Relaxed), "a process panicked");
    }
}
