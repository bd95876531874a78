//! Workers that go to sleep, against one that has work for each of them.
//!
//! Bounds: three workers, two threads.

use super::{Driven, Own, check, settings};
use crate::channel::language::{Worker, own};
use kahn_engine::sync::{Arc, set_cores, thread};
use kahn_engine::{Config, Origin, Reason, Settings, ThreadSet, model};

/// It counts as awake from the moment at which it is taken out of the list.
#[test]
fn a_worker_that_sleeps_is_woken_while_another_goes_to_sleep() {
    check(3, || {
        let driven = Driven::new();
        let scheduler = &driven.core.scheduler;
        let config = Config::new(
            Own::default().queues(),
            ThreadSet::driven(3),
            Settings { looks: false, ..settings() },
        );
        scheduler.configure(config);
        model::begin(scheduler, 3);
        assert!(model::go_to_sleep(&Worker::new(scheduler, 2)), "there is nothing to run");
        let other = {
            let core = Arc::clone(&driven.core);
            thread::spawn(move || model::go_to_sleep(&Worker::new(&core.scheduler, 1)))
        };
        model::notify_worker(scheduler, 1);
        model::notify_worker(scheduler, 2);
        let (sleepers, _) = model::sleepers(scheduler);
        assert!(!sleepers.contains(&2), "worker 2 was told, and sleeps");
        other.join().expect("it does not panic");
        let (sleepers, counted) = model::sleepers(scheduler);
        assert_eq!(sleepers.len(), counted);
        std::mem::forget(driven.core);
    });
}

/// What is pinned to a worker beyond the cores is found by it, for no other may run it: it looks whether
/// or not a core is free.
#[test]
fn what_is_pinned_to_a_worker_that_goes_to_sleep_is_found() {
    check(3, || {
        set_cores(1);
        let driven = Driven::new();
        let pinned = driven.process("pinned", (), async |()| {});
        pinned.pin(Some(1));
        pinned.note(own::PINNED);
        driven.ready_under(Own::sharing());
        let scheduler = &driven.core.scheduler;
        model::begin(scheduler, 2);
        let other = {
            let core = Arc::clone(&driven.core);
            thread::spawn(move || model::go_to_sleep(&Worker::new(&core.scheduler, 1)))
        };
        // SAFETY: it was made above, and is started once.
        let ready = unsafe { pinned.claim() };
        scheduler.make_ready(Origin::Outside, ready, Reason::New);
        let sleeps = other.join().expect("it does not panic");
        let (sleepers, _) = model::sleepers(scheduler);
        assert!(!sleeps || !sleepers.contains(&1), "it sleeps, and nothing wakes it");
        std::mem::forget(driven.core);
    });
}
