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
        add_one(&lock, Access::ALONE);
        let come = |_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add_one(&lock, Access::SHARED))
        };
        let others: Vec<_> = (0..others).map(come).collect();
        let count = others.len() + 3;
        add_one(&lock, Access::ALONE);
        add_one(&lock, Access::ALONE);
        for other in others {
            other.join().expect("it does not panic");
        }
        assert_eq!(lock.lock().0.get(), count);
    });
}

/// Each of these comes so often, from a thread of its own; it is the owner's from its second time on.
fn each_of_them_has_it_alone<const N: usize>(preemptions: usize, times: usize, all: [Access; N]) {
    check(preemptions, move || {
        let lock = Arc::new(BiasedLock::new(Behind(Cell::new(0))));
        let come = |&access: &Access| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || (0..times).for_each(|_| add_one(&lock, access)))
        };
        let threads: Vec<_> = all.iter().map(come).collect();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(lock.lock().0.get(), all.len() * times);
    });
}

#[test]
fn workers_take_it_from_each_other() {
    each_of_them_has_it_alone(3, 3, [Access::of_worker(0), Access::of_worker(1)]);
}

#[test]
fn workers_take_it_from_each_other_beside_another() {
    each_of_them_has_it_alone(2, 2, [Access::of_worker(0), Access::of_worker(1), Access::SHARED]);
}

#[test]
fn each_has_it_alone_beside_another() {
    each_has_it_alone(3, 1);
}

#[test]
fn each_has_it_alone_beside_two() {
    each_has_it_alone(2, 2);
}
