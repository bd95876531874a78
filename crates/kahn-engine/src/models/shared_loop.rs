//! An event loop that a worker and a thread turn, against a thread that makes events: each event unparks the worker.

use super::check;
use crate::sleep::shared_loop::{EventLoop, SharedLoop};
use crate::sync::{
    Arc, AtomicBool, AtomicU32, Condvar, Mutex, Ordering::*, Parker, end_naps, thread,
};
use kahn_report::ranks::Driver;
use loom::cell::UnsafeCell;
use std::time::Duration;

/// Ends a wait, that which goes on or the next.
#[derive(Default)]
struct Bell(Mutex<bool>, Condvar);

impl Bell {
    fn ring(&self) {
        *self.0.lock() = true;
        self.1.notify_one();
    }
}

/// What all threads of a model share.
struct Shared {
    worker: thread::ThreadId,
    /// Whether the worker has turned the loop.
    is_turned_by_worker: AtomicBool,
    bell: Bell,
    /// Events that were made, and that were seen by a turn.
    made: AtomicU32,
    seen: AtomicU32,
    /// Written by each turn: two at once are a race.
    turns: UnsafeCell<u32>,
    parker: Arc<Parker>,
}

/// Ends when it has seen so many events.
struct Events(Arc<Shared>, u32);

// SAFETY: one thread has it at a time, which is what loom checks.
unsafe impl Send for Events {}
// SAFETY: as above.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl EventLoop for Events {
    fn turn(&mut self) -> bool {
        // SAFETY: loom checks.
        self.0.turns.with_mut(|turns| unsafe { *turns += 1 });
        if thread::current().id() == self.0.worker {
            self.0.is_turned_by_worker.store(true, Relaxed);
        }
        let made = self.0.made.load(Acquire);
        if self.0.seen.load(Relaxed) < made {
            self.0.seen.store(made, Release);
            self.0.parker.unpark();
        }
        made < self.1
    }

    fn wait(&mut self, _most: Duration) {
        let mut has_rung = self.0.bell.0.lock();
        if !*has_rung {
            self.0.bell.1.wait(&mut has_rung);
        }
        *has_rung = false;
    }
}

/// By the worker.
fn shared() -> (Arc<Shared>, Arc<SharedLoop<Events>>) {
    let shared = Arc::new(Shared {
        worker: thread::current().id(),
        is_turned_by_worker: AtomicBool::new(false),
        bell: Bell::default(),
        made: AtomicU32::new(0),
        seen: AtomicU32::new(0),
        turns: UnsafeCell::new(0),
        parker: Arc::default(),
    });
    let rung = Arc::clone(&shared);
    let shared_loop = Arc::new(SharedLoop::new(move || rung.bell.ring()));
    shared.parker.drive(Arc::<SharedLoop<Events>>::clone(&shared_loop));
    (shared, shared_loop)
}

/// What makes this many events.
fn make(
    events: u32,
    shared: &Arc<Shared>,
    with: &Arc<SharedLoop<Events>>,
) -> thread::JoinHandle<()> {
    let (shared, with) = (Arc::clone(shared), Arc::clone(with));
    thread::spawn(move || {
        for _ in 0..events {
            shared.made.fetch_add(1, Release);
            with.ring();
        }
    })
}

fn serve(
    last: u32,
    shared: &Arc<Shared>,
    with: &Arc<SharedLoop<Events>>,
) -> thread::JoinHandle<()> {
    let (shared, with) = (Arc::clone(shared), Arc::clone(with));
    thread::spawn(move || drop(with.serve(Events(shared, last))))
}

/// A worker that parks until each event was seen, is unparked, and ends with the loop; so many naps of the thread end before
/// the worker has turned the loop.
fn each_event_unparks_the_worker(events: u32, naps: usize) {
    check(3, move || {
        end_naps(naps);
        let (shared, shared_loop) = shared();
        let thread = serve(events, &shared, &shared_loop);
        let others = make(events, &shared, &shared_loop);
        while shared.seen.load(Acquire) < events {
            shared.parker.park();
        }
        shared_loop.leave();
        thread.join().expect("it does not panic");
        others.join().expect("it does not panic");
    });
}

#[test]
fn a_worker_that_parks_turns_the_loop_and_is_unparked_by_what_it_does() {
    each_event_unparks_the_worker(1, 0);
    each_event_unparks_the_worker(2, 0);
}

#[test]
fn what_the_thread_sees_unparks_the_worker_too() {
    each_event_unparks_the_worker(1, 1);
    each_event_unparks_the_worker(2, 1);
}

/// Nothing happens but that the worker wants it.
#[test]
fn a_worker_gets_the_loop_that_the_thread_has() {
    check(3, || {
        end_naps(1);
        let (shared, shared_loop) = shared();
        let thread = serve(1, &shared, &shared_loop);
        loop {
            shared_loop.turn();
            if shared.is_turned_by_worker.load(Relaxed) {
                break;
            }
            shared_loop.wait(None);
        }
        shared_loop.leave();
        shared.made.store(1, Release);
        shared_loop.ring();
        thread.join().expect("it does not panic");
    });
}

/// The worker has turned the loop once, and computes: what it waits for is what the thread does.
#[test]
fn the_thread_turns_the_loop_of_a_worker_that_computes() {
    check(3, || {
        end_naps(2);
        let (shared, shared_loop) = shared();
        let thread = serve(1, &shared, &shared_loop);
        shared_loop.turn();
        let others = make(1, &shared, &shared_loop);
        thread.join().expect("it does not panic");
        others.join().expect("it does not panic");
        assert_eq!(shared.seen.load(Acquire), 1);
    });
}

/// The worker is unparked by another thread than those that turn the loop.
#[test]
fn a_worker_that_waits_in_the_loop_is_unparked() {
    check(3, || {
        end_naps(1);
        let (shared, shared_loop) = shared();
        let thread = serve(1, &shared, &shared_loop);
        let told = Arc::new(AtomicU32::new(0));
        let other = {
            let (shared, told) = (Arc::clone(&shared), Arc::clone(&told));
            thread::spawn(move || {
                told.store(1, Release);
                shared.parker.unpark();
            })
        };
        while told.load(Acquire) == 0 {
            shared.parker.park();
        }
        shared_loop.leave();
        shared.made.store(1, Release);
        shared_loop.ring();
        thread.join().expect("it does not panic");
        other.join().expect("it does not panic");
    });
}
