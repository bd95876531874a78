//! The owner of a deque against thieves. A deque has two slots under loom, so three processes go
//! once round it.

use super::check;
use crate::scheduler::TaskRef;
use crate::scheduler::deque::{Deque, Steal};
use crate::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;
use std::ptr::{self, NonNull};

/// A pointer that is never followed: the models count processes, they do not run them.
pub(super) fn process(number: usize) -> TaskRef {
    let address = ptr::without_provenance_mut(number * 64);
    // SAFETY: not followed.
    unsafe { TaskRef::new(NonNull::new(address).expect("numbers start at one")) }
}

pub(super) fn number(task: TaskRef) -> usize {
    task.as_ptr().addr() / 64
}

/// A deque, and what its processes keep to themselves.
struct Model {
    deque: Deque,
    states: [UnsafeCell<u32>; 5],
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self { deque: Deque::new(false), states: Default::default() })
    }

    /// Touches a process, as running it would: loom sees two who do so at once, and one who does so
    /// before the process was handed over.
    fn touch(&self, number: usize) {
        // SAFETY: loom checks.
        self.states[number].with_mut(|state| unsafe { *state += 1 });
    }

    fn push(&self, number: usize, taken: &mut Vec<usize>) {
        self.touch(number);
        if self.deque.push(process(number)).is_err() {
            taken.push(number);
        }
    }

    fn pop(&self, taken: &mut Vec<usize>) -> bool {
        let popped = self.deque.pop().map(number);
        popped.into_iter().for_each(|number| self.touch(number));
        taken.extend(popped);
        popped.is_some()
    }

    fn thief(self: &Arc<Self>, attempts: usize) -> thread::JoinHandle<Vec<usize>> {
        let model = Arc::clone(self);
        thread::spawn(move || {
            let mut taken = Vec::new();
            for _ in 0..attempts {
                if let Steal::Taken(task) = model.deque.steal() {
                    model.touch(number(task));
                    taken.push(number(task));
                }
            }
            taken
        })
    }

    fn assert_all_taken_once(
        &self,
        mut taken: Vec<usize>,
        thieves: impl IntoIterator<Item = thread::JoinHandle<Vec<usize>>>,
        expected: usize,
    ) {
        for thief in thieves {
            taken.extend(thief.join().expect("a thief does not panic"));
        }
        while self.pop(&mut taken) {}
        taken.sort_unstable();
        assert_eq!(taken, (1..=expected).collect::<Vec<_>>());
    }
}

#[test]
fn every_process_is_taken_once() {
    check(3, || {
        let model = Model::new();
        let mut taken = Vec::new();
        model.push(1, &mut taken);
        model.push(2, &mut taken);
        let thief = model.thief(2);
        model.pop(&mut taken);
        model.push(3, &mut taken);
        while model.pop(&mut taken) {}
        model.assert_all_taken_once(taken, [thief], 3);
    });
}

#[test]
fn slots_are_used_again_while_a_thief_looks() {
    check(3, || {
        let model = Model::new();
        let mut taken = Vec::new();
        let thief = model.thief(2);
        for number in 1..=4 {
            model.push(number, &mut taken);
            if number == 2 {
                model.pop(&mut taken);
            }
        }
        model.assert_all_taken_once(taken, [thief], 4);
    });
}

#[test]
fn two_thieves_and_the_owner_share_without_loss() {
    check(2, || {
        let model = Model::new();
        let mut taken = Vec::new();
        model.push(1, &mut taken);
        model.push(2, &mut taken);
        let thieves = [model.thief(1), model.thief(1)];
        model.pop(&mut taken);
        model.push(3, &mut taken);
        model.pop(&mut taken);
        model.assert_all_taken_once(taken, thieves, 3);
    });
}
