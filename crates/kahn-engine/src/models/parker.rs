//! A thread that sleeps, and those that wake it. One or two unpark, once each.

use super::check;
use crate::sync::{Arc, AtomicU32, Ordering::*, Parker, thread};
use loom::cell::UnsafeCell;

#[test]
fn an_unparked_thread_goes_on_and_sees_why() {
    check(3, || {
        let parker = Arc::new(Parker::new());
        let reason = Arc::new(UnsafeCell::new(0));
        let other = {
            let (parker, reason) = (Arc::clone(&parker), Arc::clone(&reason));
            thread::spawn(move || {
                // SAFETY: loom checks.
                reason.with_mut(|reason| unsafe { *reason = 1 });
                parker.unpark();
            })
        };
        parker.park();
        // SAFETY: loom checks.
        reason.with(|reason| assert_eq!(unsafe { *reason }, 1));
        other.join().expect("it does not panic");
    });
}

#[test]
fn two_that_unpark_are_both_seen_by_the_last_park() {
    check(3, || {
        let parker = Arc::new(Parker::new());
        let said = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let others = [0, 1].map(|index: usize| {
            let (parker, said) = (Arc::clone(&parker), Arc::clone(&said));
            thread::spawn(move || {
                said[index].store(1, Relaxed);
                parker.unpark();
            })
        });
        // Parks until both have spoken: each tells once, so a word that is swallowed is a hang.
        while said.iter().any(|said| said.load(Relaxed) == 0) {
            parker.park();
        }
        for other in others {
            other.join().expect("it does not panic");
        }
    });
}
