//! A lock that one thread has for itself, against those that take it away.

use super::check;
use crate::sync::{Access, Arc, BiasedLock, Cell, thread};

/// What loom sees being touched by two at once.
struct Behind(Cell<usize>);

// SAFETY: behind a lock; loom sees whether that is so.
unsafe impl Send for Behind {}

fn add_one(lock: &BiasedLock<Behind>, access: Access) {
    let behind = lock.lock_as(access);
    behind.0.set(behind.0.get() + 1);
}

/// `others` come once each; the owner comes thrice, before, meanwhile and behind.
fn each_has_it_alone(preemptions: usize, others: usize) {
    check(preemptions, move || {
        let lock = Arc::new(BiasedLock::new(Behind(Cell::new(0))));
        // In a model it is the owner's from the second time on.
        add_one(&lock, Access::Alone);
        let come = |_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add_one(&lock, Access::Shared))
        };
        let others: Vec<_> = (0..others).map(come).collect();
        let count = others.len() + 3;
        add_one(&lock, Access::Alone);
        add_one(&lock, Access::Alone);
        for other in others {
            other.join().expect("it does not panic");
        }
        assert_eq!(lock.lock().0.get(), count);
    });
}

#[test]
fn each_has_it_alone_beside_another() {
    each_has_it_alone(3, 1);
}

#[test]
fn each_has_it_alone_beside_two() {
    each_has_it_alone(2, 2);
}
