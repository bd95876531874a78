//! The owner of a queue against thieves. A queue has three slots under loom, so four processes go once
//! round it.

use super::check;
use super::deque::{number, process};
use crate::scheduler::fifo::Fifo;
use crate::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;

/// A victim's queue and a thief's, and what the processes keep to themselves.
struct Model {
    victim: Fifo,
    thief: Fifo,
    states: [UnsafeCell<u32>; 6],
}

impl Model {
    fn new() -> Arc<Self> {
        let (victim, thief) = (Fifo::new(false), Fifo::new(false));
        Arc::new(Self { victim, thief, states: Default::default() })
    }

    /// Touches a process, as running it would: loom sees two who do so at once, and one who does so
    /// before the process was handed over.
    fn touch(&self, number: usize) {
        // SAFETY: loom checks.
        self.states[number].with_mut(|state| unsafe { *state += 1 });
    }

    fn push(&self, number: usize, taken: &mut Vec<usize>) {
        self.touch(number);
        if self.victim.push(process(number)).is_err() {
            taken.push(number);
        }
    }

    fn take(&self, queue: &Fifo, taken: &mut Vec<usize>) -> bool {
        let first = queue.take().map(number);
        first.into_iter().for_each(|number| self.touch(number));
        taken.extend(first);
        first.is_some()
    }

    /// Takes one by one.
    fn taker(self: &Arc<Self>, attempts: usize) -> thread::JoinHandle<Vec<usize>> {
        let model = Arc::clone(self);
        thread::spawn(move || {
            let mut taken = Vec::new();
            for _ in 0..attempts {
                model.take(&model.victim, &mut taken);
            }
            taken
        })
    }

    /// Takes half, and then what it has got.
    fn raider(self: &Arc<Self>) -> thread::JoinHandle<Vec<usize>> {
        let model = Arc::clone(self);
        thread::spawn(move || {
            let mut taken = Vec::new();
            if let Some((first, size)) = model.thief.take_half_of(&model.victim) {
                assert!(model.thief.len() < size);
                model.touch(number(first));
                taken.push(number(first));
            }
            while model.take(&model.thief, &mut taken) {}
            taken
        })
    }

    fn assert_all_taken_once_and_in_order(
        &self,
        mut taken: Vec<usize>,
        thieves: impl IntoIterator<Item = thread::JoinHandle<Vec<usize>>>,
        expected: usize,
    ) {
        for thief in thieves {
            let loot = thief.join().expect("a thief does not panic");
            assert!(loot.is_sorted(), "{loot:?}");
            taken.extend(loot);
        }
        while self.take(&self.victim, &mut taken) {}
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
        let thief = model.taker(2);
        model.take(&model.victim, &mut taken);
        model.push(3, &mut taken);
        while model.take(&model.victim, &mut taken) {}
        model.assert_all_taken_once_and_in_order(taken, [thief], 3);
    });
}

#[test]
fn slots_are_used_again_while_a_thief_looks() {
    check(3, || {
        let model = Model::new();
        let mut taken = Vec::new();
        let thief = model.raider();
        for number in 1..=5 {
            model.push(number, &mut taken);
            if number == 3 {
                model.take(&model.victim, &mut taken);
            }
        }
        model.assert_all_taken_once_and_in_order(taken, [thief], 5);
    });
}

#[test]
fn two_thieves_and_the_owner_share_without_loss() {
    check(2, || {
        let model = Model::new();
        let mut taken = Vec::new();
        model.push(1, &mut taken);
        model.push(2, &mut taken);
        model.push(3, &mut taken);
        let thieves = [model.raider(), model.taker(1)];
        model.take(&model.victim, &mut taken);
        model.push(4, &mut taken);
        model.take(&model.victim, &mut taken);
        model.assert_all_taken_once_and_in_order(taken, thieves, 4);
    });
}

#[test]
fn loot_may_be_taken_from_the_thief() {
    check(3, || {
        let model = Model::new();
        let mut taken = Vec::new();
        (1..=3).for_each(|number| model.push(number, &mut taken));
        let other = Arc::clone(&model);
        let other = thread::spawn(move || {
            let mut taken = Vec::new();
            other.take(&other.thief, &mut taken);
            taken
        });
        let thieves = [model.raider(), other];
        model.assert_all_taken_once_and_in_order(taken, thieves, 3);
    });
}
