//! The owner of a queue against thieves. A queue has three slots under loom, so four processes go once
//! round it.

use super::check;
use super::taking::{Processes, Thief, assert_all_taken_once, thief};
use crate::queue::fifo::Fifo;
use crate::sync::{Access, Arc};

/// A victim's queue and a thief's.
struct Model {
    victim: Fifo,
    thief: Fifo,
    processes: Processes,
}

impl Model {
    fn new() -> Arc<Self> {
        let (victim, thief) = (Fifo::new(), Fifo::new());
        Arc::new(Self { victim, thief, processes: Processes::default() })
    }

    fn push(&self, number: usize, taken: &mut Vec<usize>) {
        self.processes.push(number, taken, |task| self.victim.push(task, 0));
    }

    fn take(&self, queue: &Fifo, taken: &mut Vec<usize>) -> bool {
        self.processes.run(queue.take(Access::SHARED), taken)
    }

    /// Takes one by one.
    fn taker(self: &Arc<Self>, attempts: usize) -> Thief {
        thief(self, move |model, taken| {
            for _ in 0..attempts {
                model.take(&model.victim, taken);
            }
        })
    }

    /// Takes half, and then what it has got.
    fn half_thief(self: &Arc<Self>) -> Thief {
        thief(self, |model, taken| {
            if let Some((first, size)) = model.thief.take_half_of(&model.victim, 0) {
                assert!(model.thief.len() < size);
                model.processes.run(Some(first), taken);
            }
            while model.take(&model.thief, taken) {}
        })
    }

    fn assert_all_taken_once_and_in_order(
        &self,
        taken: Vec<usize>,
        thieves: impl IntoIterator<Item = Thief>,
        expected: usize,
    ) {
        let rest = |taken: &mut Vec<usize>| while self.take(&self.victim, taken) {};
        let stolen = assert_all_taken_once(taken, thieves, rest, expected);
        assert!(stolen.iter().all(|stolen| stolen.is_sorted()), "{stolen:?}");
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
        let thief = model.half_thief();
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
        let thieves = [model.half_thief(), model.taker(1)];
        model.take(&model.victim, &mut taken);
        model.push(4, &mut taken);
        model.take(&model.victim, &mut taken);
        model.assert_all_taken_once_and_in_order(taken, thieves, 4);
    });
}

#[test]
fn what_was_stolen_may_be_stolen_from_the_thief() {
    check(3, || {
        let model = Model::new();
        let mut taken = Vec::new();
        (1..=3).for_each(|number| model.push(number, &mut taken));
        let other = thief(&model, |model, taken| {
            model.take(&model.thief, taken);
        });
        let thieves = [model.half_thief(), other];
        model.assert_all_taken_once_and_in_order(taken, thieves, 3);
    });
}
