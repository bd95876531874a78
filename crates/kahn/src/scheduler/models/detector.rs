//! Walkers along the waits of three processes in a ring, while the processes park and go on.
//!
//! Process *n* sends on channel *n* and receives on channel *n − 1*. The models move the words as
//! the processes' workers would. Bounds: three processes, two threads besides the first.

use super::{Driven, check};
use crate::channel::raw::{ChannelRef, End};
use crate::deadlock::walk::{all_rings, ring_from, still_holds};
use crate::scheduler::TaskRef;
use crate::scheduler::word::{Moved, Park};
use crate::sync::{Arc, AtomicBool, Ordering::*, thread};
use crate::{Receiver, Sender};

const PROCESSES: usize = 3;

/// Three processes in a ring.
struct Three {
    model: Driven,
    channels: [ChannelRef; PROCESSES],
    tasks: [TaskRef; PROCESSES],
}

impl Three {
    fn new() -> Arc<Self> {
        let model = Driven::new();
        let made =
            ["first", "second", "third"].map(|name| model.channel::<u32>(name, 1, Vec::new()));
        let channels = [0, 1, 2].map(|index: usize| made[index].2);
        let [first, second, third] = made.map(|(sender, receiver, _)| (sender, receiver));
        let idle = async |_ports: (Receiver<u32>, Sender<u32>)| {};
        let tasks = [
            model.process("first", (third.1, first.0), idle),
            model.process("second", (first.1, second.0), idle),
            model.process("third", (second.1, third.0), idle),
        ];
        model.ready();
        Arc::new(Self { model, channels, tasks })
    }

    /// Process `index` waits to receive; what its worker does. `false` if there was a message.
    fn park(&self, index: usize) -> bool {
        let channel = self.channels[(index + PROCESSES - 1) % PROCESSES];
        let seen = channel.seen(End::Sender);
        self.tasks[index].waits_at.store(channel.waiting_at(End::Receiver), Release);
        channel.word(End::Sender).park(seen, false) == Park::Asleep
    }

    /// Process `index` sends one message more; `true` if that took its receiver over.
    fn send(&self, index: usize, count: u64) -> bool {
        self.channels[index].word(End::Sender).publish(count, 0, false) == Moved::Wake
    }

    fn finds_ring(&self, from: usize) -> bool {
        ring_from(self.tasks[from], false, &mut 0).is_some()
    }

    fn walker(self: &Arc<Self>, from: usize) -> thread::JoinHandle<bool> {
        let three = Arc::clone(self);
        thread::spawn(move || three.finds_ring(from))
    }

    /// Leaves the processes as they are; the model is about waits alone.
    fn forget(self: Arc<Self>) {
        std::mem::forget(Arc::clone(&self.model.core));
    }
}

/// Two processes park at the same time and complete the ring; each worker looks after it has
/// parked. One of them at least finds the ring.
#[test]
fn one_of_those_who_complete_a_ring_finds_it() {
    check(3, || {
        let three = Three::new();
        assert!(three.park(2));
        let other = {
            let three = Arc::clone(&three);
            thread::spawn(move || {
                assert!(three.park(1));
                three.finds_ring(1)
            })
        };
        assert!(three.park(0));
        let found_here = three.finds_ring(0);
        let found_there = other.join().expect("the other does not panic");
        assert!(found_here || found_there, "nobody has seen the ring");
        three.forget();
    });
}

/// The third wakes the first and then waits; the first wakes the second and waits again. At no
/// moment are all three parked, but a walk may meet each of them parked.
#[test]
fn a_ring_that_never_was_is_not_found() {
    check(3, || {
        let three = Three::new();
        assert!(three.park(0));
        assert!(three.park(1));
        let walkers = [three.walker(0)];
        assert!(three.send(2, 1), "the first was parked");
        assert!(three.park(2));
        assert!(three.send(0, 1), "the second was parked");
        assert!(three.park(0));
        for walker in walkers {
            assert!(!walker.join().expect("a walker does not panic"), "a false ring");
        }
        three.forget();
    });
}

/// The same, with the first process on another worker, if that is there in time to steal it.
#[test]
fn a_ring_that_never_was_is_not_found_across_workers() {
    check(3, || {
        let three = Three::new();
        assert!(three.park(0));
        assert!(three.park(1));
        let is_ready = Arc::new(AtomicBool::new(false));
        let run_first = |three: &Three, is_ready: &AtomicBool| {
            if is_ready.swap(false, AcqRel) {
                assert!(three.send(0, 1), "the second was parked");
                assert!(three.park(0));
            }
        };
        let other = {
            let (three, is_ready) = (Arc::clone(&three), Arc::clone(&is_ready));
            thread::spawn(move || run_first(&three, &is_ready))
        };
        let walker = three.walker(1);
        assert!(three.send(2, 1), "the first was parked");
        is_ready.store(true, Release);
        assert!(three.park(2));
        run_first(&three, &is_ready);
        let found = walker.join().expect("a walker does not panic");
        other.join().expect("the other does not panic");
        assert!(!found, "a false ring");
        three.forget();
    });
}

/// The look everywhere, which a worker begins while others still run.
#[test]
fn a_look_everywhere_finds_no_ring_that_never_was() {
    check(3, || {
        let three = Three::new();
        assert!(three.park(0));
        assert!(three.park(1));
        let walker = {
            let three = Arc::clone(&three);
            thread::spawn(move || {
                let rings = all_rings(&three.tasks);
                rings.iter().any(|ring| still_holds(ring))
            })
        };
        assert!(three.send(2, 1), "the first was parked");
        assert!(three.park(2));
        assert!(three.send(0, 1), "the second was parked");
        assert!(three.park(0));
        assert!(!walker.join().expect("a walker does not panic"), "a false ring");
        three.forget();
    });
}

/// Who stands still is found by anyone, from anywhere.
#[test]
fn a_ring_that_stands_is_found_from_everywhere() {
    check(1, || {
        let three = Three::new();
        for index in 0..PROCESSES {
            assert!(three.park(index));
        }
        let walkers = [three.walker(0), three.walker(1)];
        assert!(three.finds_ring(2));
        for walker in walkers {
            assert!(walker.join().expect("a walker does not panic"));
        }
        three.forget();
    });
}
