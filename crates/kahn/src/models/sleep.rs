//! Workers that go to sleep, against one that has work for each of them.
//!
//! Bounds: three workers, two threads.

use super::{Driven, Own, check, settings};
use crate::channel::language::Worker;
use kahn_engine::sync::{Arc, thread};
use kahn_engine::{Config, Crew, model};

/// It counts as awake from the moment at which it is taken out of the list.
#[test]
fn a_worker_that_sleeps_is_woken_while_another_goes_to_sleep() {
    check(3, || {
        let driven = Driven::new();
        let scheduler = &driven.core.scheduler;
        let config = Config::new(Box::new(Own::default()), Crew::driven(3), settings());
        scheduler.configure(config);
        model::begin(scheduler, 3);
        assert!(model::lie_down(&Worker::new(scheduler, 2)), "there is nothing to run");
        let other = {
            let core = Arc::clone(&driven.core);
            thread::spawn(move || model::lie_down(&Worker::new(&core.scheduler, 1)))
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
