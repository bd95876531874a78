//! The owner of a deque against thieves. A deque has two slots under loom, so three processes go
//! once round it.

use super::check;
use super::taking::{Processes, Thief, assert_all_taken_once, thief};
use crate::queue::deque::{Deque, Steal};
use crate::sync::{Access, Arc};

struct Model {
    deque: Deque,
    processes: Processes,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self { deque: Deque::new(), processes: Processes::default() })
    }

    fn push(&self, number: usize, taken: &mut Vec<usize>) {
        self.processes.push(number, taken, |task| self.deque.push(task));
    }

    fn pop(&self, taken: &mut Vec<usize>) -> bool {
        self.processes.run(self.deque.pop(Access::SHARED), taken)
    }

    fn thief(self: &Arc<Self>, attempts: usize) -> Thief {
        thief(self, move |model, taken| {
            for _ in 0..attempts {
                if let Steal::Taken(task) = model.deque.steal() {
                    model.processes.run(Some(task), taken);
                }
            }
        })
    }

    fn assert_all_taken_once(
        &self,
        taken: Vec<usize>,
        thieves: impl IntoIterator<Item = Thief>,
        expected: usize,
    ) {
        assert_all_taken_once(taken, thieves, |taken| while self.pop(taken) {}, expected);
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

/// What is woken together becomes visible together, and a slot is used again only when a thief has read it.
#[test]
fn many_are_pushed_while_a_thief_looks() {
    check(3, || {
        let model = Model::new();
        let mut taken = Vec::new();
        model.push(1, &mut taken);
        let thief = model.thief(2);
        model.processes.push_many([2, 3], &mut taken, |tasks| model.deque.push_many(tasks));
        model.assert_all_taken_once(taken, [thief], 3);
    });
}
