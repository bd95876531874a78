//! Workers that go to sleep, against one that has work for each of them.
//!
//! Bounds: three workers, two threads.

use super::{Driven, Own, check, settings};
use crate::channel::language::Worker;
use crate::scheduler::{Config, Crew, RUNNING};
use crate::sync::{Arc, Ordering::*, thread};

/// It counts as awake from the moment at which it is taken out of the list.
#[test]
fn a_worker_that_sleeps_is_woken_while_another_goes_to_sleep() {
    check(3, || {
        let model = Driven::new();
        let scheduler = &model.core.scheduler;
        let config = Config::new(Box::new(Own::default()), Crew::driven(3), settings());
        scheduler.configure(config);
        scheduler.phase.store(RUNNING, SeqCst);
        scheduler.census.start(3);
        assert!(Worker::new(scheduler, 2).lie_down(false), "there is nothing to run");
        let other = {
            let core = Arc::clone(&model.core);
            thread::spawn(move || Worker::new(&core.scheduler, 1).lie_down(false))
        };
        scheduler.notify_worker(1);
        scheduler.notify_worker(2);
        let sleepers = scheduler.sleepers.lock().clone();
        assert!(!sleepers.contains(&2), "worker 2 was told, and sleeps");
        other.join().expect("it does not panic");
        assert_eq!(scheduler.sleepers.lock().len(), scheduler.sleeping.load(SeqCst));
        std::mem::forget(model.core);
    });
}
