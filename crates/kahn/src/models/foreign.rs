//! Wakers that other libraries hold, against a process that waits for them.
//!
//! Bounds: one wait or two, one or two clones of the waker, each on a thread of its own.

use super::{Driven, check};
use kahn_engine::sync::{Arc, thread};
use kahn_engine::task::foreign::{Foreign, base_waker};
use kahn_engine::{TaskRef, model};
use std::task::Waker;

/// A process that a model lets wait, and its waker.
struct Waiting {
    model: Driven,
    task: TaskRef,
    foreign: Arc<Foreign>,
}

impl Waiting {
    fn new() -> Self {
        let model = Driven::new();
        let task = model.process("waiting", (), async |()| {});
        model.ready();
        let foreign = task.foreign();
        Self { model, task, foreign }
    }

    fn waker(&self) -> Waker {
        Waker::clone(&base_waker(self.task))
    }

    /// How often it was made ready from outside since the last time.
    fn times_ready(&self) -> usize {
        std::iter::from_fn(|| model::pop_outside(&self.model.core.scheduler))
            .map(|task| assert_eq!(task, self.task))
            .count()
    }

    fn counted(&self) -> u64 {
        model::pending(&self.model.core.scheduler.activity)
    }
}

#[test]
fn a_wake_up_makes_it_ready_once_or_keeps_it_running() {
    check(3, || {
        let process = Waiting::new();
        let waker = process.waker();
        let waking = thread::spawn(move || waker.wake_by_ref());
        let waits = process.foreign.wait();
        waking.join().expect("a waker does not panic");
        assert_eq!(process.times_ready(), usize::from(waits));
        assert_eq!(process.counted(), 0);
        assert!(!process.foreign.is_pending() && !process.foreign.is_orphan());
    });
}

#[test]
fn two_wake_ups_make_it_ready_once() {
    check(2, || {
        let process = Waiting::new();
        let wakers = [process.waker(), process.waker()];
        let waking = wakers.map(|waker| thread::spawn(move || waker.wake()));
        let waits = process.foreign.wait();
        for thread in waking {
            thread.join().expect("a waker does not panic");
        }
        assert_eq!(process.times_ready(), usize::from(waits));
        assert_eq!(process.counted(), 0);
    });
}

#[test]
fn a_process_whose_last_waker_is_dropped_is_an_orphan() {
    check(3, || {
        let process = Waiting::new();
        let waker = process.waker();
        let dropping = thread::spawn(move || drop(waker));
        assert!(process.foreign.wait());
        dropping.join().expect("a waker does not panic");
        assert!(process.foreign.is_orphan(), "it waits for a waker that no longer exists");
        assert_eq!(process.times_ready(), 0);
        assert_eq!(process.counted(), 0);
    });
}

#[test]
fn one_waker_is_used_and_one_is_dropped() {
    check(2, || {
        let process = Waiting::new();
        let (used, dropped) = (process.waker(), process.waker());
        let using = thread::spawn(move || used.wake());
        let dropping = thread::spawn(move || drop(dropped));
        let waits = process.foreign.wait();
        using.join().expect("a waker does not panic");
        dropping.join().expect("a waker does not panic");
        assert_eq!(process.times_ready(), usize::from(waits));
        assert_eq!(process.counted(), 0);
        assert!(!process.foreign.is_pending() && !process.foreign.is_orphan());
    });
}

/// A ready process is handed over: what it did before it waited is seen by the thread that runs it next.
#[test]
fn a_wake_up_hands_the_process_over() {
    check(3, || {
        let process = Waiting::new();
        let state = Arc::new(loom::cell::UnsafeCell::new(0));
        let touch = |state: &loom::cell::UnsafeCell<u32>| {
            // SAFETY: loom checks.
            state.with_mut(|state| unsafe { *state += 1 });
        };
        let waking = {
            let (waker, state) = (process.waker(), Arc::clone(&state));
            let core = Arc::clone(&process.model.core);
            thread::spawn(move || {
                waker.wake();
                if model::pop_outside(&core.scheduler).is_some() {
                    touch(&state);
                }
            })
        };
        touch(&state);
        if !process.foreign.wait() {
            touch(&state);
        }
        waking.join().expect("a waker does not panic");
    });
}
