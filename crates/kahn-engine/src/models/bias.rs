//! The bias of a worker's queues: what it has for itself a thief takes only when that is revoked.

use super::check;
use super::taking::{Processes, Thief, assert_all_taken_once, thief};
use crate::policy::Ready;
use crate::queue::bias::Bias;
use crate::queue::deque::{Deque, Steal};
use crate::queue::fifo::Fifo;
use crate::queue::lane::Lane;
use crate::sync::{Access, Arc, Cell, thread};

/// Something that a worker has for itself, or shares with none.
struct Behind(Bias, Cell<usize>);

// SAFETY: the cell is touched as the bias allows; loom sees whether that is so.
unsafe impl Send for Behind {}
// SAFETY: as above.
unsafe impl Sync for Behind {}

#[test]
fn what_is_owned_is_touched_by_one() {
    check(3, || {
        let behind = Arc::new(Behind(Bias::new(false), Cell::new(0)));
        behind.0.look();
        let stolen = Arc::clone(&behind);
        let thief = thread::spawn(move || {
            let _thief = stolen.0.come();
            stolen.1.set(stolen.1.get() + 1);
        });
        let touches = |access: Access| {
            if access.is_alone() {
                behind.1.set(behind.1.get() + 1);
            }
            usize::from(access.is_alone())
        };
        let first = behind.0.section(touches);
        // Twice: in a model it has them back when no thief has come since the look before.
        behind.0.look();
        behind.0.look();
        let second = behind.0.section(touches);
        thief.join().expect("it does not panic");
        assert_eq!(behind.1.get(), first + second + 1);
    });
}

/// A worker does not take back what a thief is at, whichever of them comes first.
#[test]
fn what_a_thief_is_at_is_not_owned() {
    check(3, || {
        let behind = Arc::new(Behind(Bias::new(false), Cell::new(0)));
        let stolen = Arc::clone(&behind);
        let thief = thread::spawn(move || {
            let _thief = stolen.0.come();
            stolen.1.set(stolen.1.get() + 1);
        });
        behind.0.look();
        behind.0.section(|access| {
            if access.is_alone() {
                behind.1.set(behind.1.get() + 1);
            }
        });
        thief.join().expect("it does not panic");
        assert!(behind.1.get() > 0);
    });
}

/// A worker's queue.
struct Model {
    bias: Bias,
    queue: Fifo,
    processes: Processes,
}

impl Model {
    /// One that the worker has for itself.
    fn new() -> Arc<Self> {
        let model =
            Self { bias: Bias::new(false), queue: Fifo::new(), processes: Processes::default() };
        model.bias.look();
        Arc::new(model)
    }

    fn push(&self, number: usize, taken: &mut Vec<usize>) {
        self.processes.push(number, taken, |task| self.queue.push(task, 0));
    }

    fn take(&self, taken: &mut Vec<usize>) -> bool {
        self.processes.run(self.bias.section(|access| self.queue.take(access)), taken)
    }

    fn thief(self: &Arc<Self>) -> Thief {
        thief(self, |model, taken| {
            let _thief = model.bias.come();
            model.processes.run(model.queue.take(Access::SHARED), taken);
        })
    }
}

fn each_is_taken_once(preemptions: usize, thieves: usize) {
    check(preemptions, move || {
        let model = Model::new();
        let mut taken = Vec::new();
        (1..=2).for_each(|number| model.push(number, &mut taken));
        let thieves: Vec<_> = (0..thieves).map(|_| model.thief()).collect();
        model.take(&mut taken);
        model.bias.look();
        model.push(3, &mut taken);
        model.take(&mut taken);
        let rest = |taken: &mut Vec<usize>| while model.take(taken) {};
        assert_all_taken_once(taken, thieves, rest, 3);
    });
}

#[test]
fn each_is_taken_once_beside_a_thief() {
    each_is_taken_once(3, 1);
}

#[test]
fn each_is_taken_once_beside_two_thieves() {
    each_is_taken_once(2, 2);
}

/// A worker takes the oldest of its deque, from the end that thieves take from.
struct Oldest {
    bias: Bias,
    deque: Deque,
    processes: Processes,
}

impl Oldest {
    fn push(&self, number: usize, taken: &mut Vec<usize>) {
        self.processes.push(number, taken, |task| self.deque.push(task));
    }

    fn take(&self, taken: &mut Vec<usize>) -> bool {
        let task = self.bias.section(|access| self.deque.take_oldest(access));
        self.processes.run(task, taken)
    }
}

#[test]
fn the_oldest_is_taken_once_beside_a_thief() {
    check(3, || {
        let model =
            Oldest { bias: Bias::new(false), deque: Deque::new(), processes: Processes::default() };
        model.bias.look();
        let model = Arc::new(model);
        let mut taken = Vec::new();
        (1..=2).for_each(|number| model.push(number, &mut taken));
        let thief = thief(&model, |model, taken| {
            let _thief = model.bias.come();
            if let Steal::Taken(task) = model.deque.steal() {
                model.processes.run(Some(task), taken);
            }
        });
        model.take(&mut taken);
        model.bias.look();
        model.push(3, &mut taken);
        let rest = |taken: &mut Vec<usize>| while model.take(taken) {};
        assert_all_taken_once(taken, vec![thief], rest, 3);
    });
}

/// A worker's lane, and a thief's.
struct Lanes {
    worker: Lane,
    thief: Lane,
    processes: Processes,
}

impl Lanes {
    /// A process gives way: as a worker does it.
    fn give_way(&self, number: usize, taken: &mut Vec<usize>) {
        let mut next = None;
        self.processes.push(number, taken, |task| {
            next = self.worker.section(|access| self.worker.rotate(task, access));
            if next.is_none() {
                self.worker.queue_cold(Ready::new(task));
            }
            Ok(())
        });
        self.processes.run(next, taken);
    }

    fn take(&self, taken: &mut Vec<usize>) -> bool {
        let task = self.worker.section(|access| self.worker.take(access));
        let task = task.or_else(|| self.worker.pop_cold().map(Ready::into_task));
        self.processes.run(task, taken)
    }
}

/// The queue holds three in a model: so one that rotates goes round it.
#[test]
fn each_is_taken_once_where_one_gives_way_to_the_next() {
    check(3, || {
        let lanes = Lanes {
            worker: Lane::new(false),
            thief: Lane::new(false),
            processes: Processes::default(),
        };
        lanes.worker.look_around();
        let lanes = Arc::new(lanes);
        let mut taken = Vec::new();
        lanes.give_way(1, &mut taken);
        lanes.give_way(2, &mut taken);
        let thief = thief(&lanes, |lanes, taken| {
            let stolen = lanes.thief.steal_from(&lanes.worker, true, false);
            lanes.processes.run(stolen.map(|(ready, _)| ready.into_task()), taken);
            let rest = || lanes.thief.section(|access| lanes.thief.take(access));
            while lanes.processes.run(rest(), taken) {}
        });
        (3..=5).for_each(|number| lanes.give_way(number, &mut taken));
        let rest = |taken: &mut Vec<usize>| while lanes.take(taken) {};
        assert_all_taken_once(taken, vec![thief], rest, 5);
    });
}
