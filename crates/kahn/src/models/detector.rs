//! Walkers along the waits of processes in a ring, while the processes park and go on.
//!
//! Process *n* sends on channel *n* and receives on channel *n − 1*. The models move the words as
//! the processes' workers would. Bounds: two or three processes, two threads besides the first.
//!
//! What a walk must not be taken in by is a *gap*: one process is awake, wakes the next, waits, and
//! so on round the ring. Wherever a walk comes the gap has just left, so it meets every process parked,
//! though never all of them at once. No process need be interrupted for that: a walker that is behind
//! reads old values, in any mixture that the orderings allow, and loom tries them all.

use super::{Driven, check};
use crate::OutsidePorts as _;
use crate::channel::process::InNetwork;
use crate::channel::raw::{ChannelRef, End};
use crate::channel::word::Moved;
use crate::deadlock::walk::ring_from;
use crate::deadlock::{Found, is_dead};
use crate::{Receiver, Sender};
use kahn_engine::Park;
use kahn_engine::sync::{Access, Arc, AtomicBool, Ordering::*, thread};
use kahn_engine::{TaskRef, model};
use std::pin::pin;
use std::task::{Context, Waker};

/// Processes in a ring.
struct Round {
    model: Driven,
    channels: Vec<ChannelRef>,
    tasks: Vec<TaskRef>,
}

impl Round {
    fn of(names: &[&'static str]) -> Arc<Self> {
        let model = Driven::new();
        let (mut senders, mut receivers, mut channels) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let (sender, receiver, channel) = model.channel::<u32>(name, 1, Vec::new());
            senders.push(sender);
            receivers.push(receiver);
            channels.push(channel);
        }
        receivers.rotate_right(1);
        let idle = async |_ports: (Receiver<u32>, Sender<u32>)| {};
        let ports = receivers.into_iter().zip(senders);
        let tasks =
            names.iter().zip(ports).map(|(name, ports)| model.process(name, ports, idle)).collect();
        model.ready();
        Arc::new(Self { model, channels, tasks })
    }

    fn of_two() -> Arc<Self> {
        Self::of(&["first", "second"])
    }

    fn of_three() -> Arc<Self> {
        Self::of(&["first", "second", "third"])
    }

    /// The channel that process `index` receives from.
    fn before(&self, index: usize) -> ChannelRef {
        self.channels[(index + self.channels.len() - 1) % self.channels.len()]
    }

    /// Process `index` waits to receive; what its worker does. `false` if there was a message.
    fn park(&self, index: usize) -> bool {
        let channel = self.before(index);
        self.tasks[index].state().waits_at.store(channel.waiting_at(End::Receiver), Release);
        let seen = channel.seen(End::Sender);
        channel.word(End::Sender).park(seen, Access::SHARED) == Park::Asleep
    }

    /// Process `index` sends one message more; `true` if that took its receiver over.
    fn send(&self, index: usize) -> bool {
        let word = self.channels[index].word(End::Sender);
        word.publish(word.load().count() + 1, Access::SHARED) == Moved::Wake
    }

    /// All but one process wait, and that goes round, so many steps: the one that is awake wakes the next
    /// and waits.
    fn gap_goes_round(&self, from: usize, steps: usize) {
        for awake in (from..from + steps).map(|step| step % self.tasks.len()) {
            assert!(self.send(awake), "the next one was parked");
            assert!(self.park(awake), "nothing was sent to it");
        }
    }

    fn finds_ring(&self, from: usize) -> bool {
        ring_from(self.tasks[from], false, &mut 0).is_some()
    }

    fn walker(self: &Arc<Self>, from: usize) -> thread::JoinHandle<bool> {
        let round = Arc::clone(self);
        thread::spawn(move || round.finds_ring(from))
    }

    /// Looks everywhere, though others run; tells whether that found anything.
    fn looker(self: &Arc<Self>) -> thread::JoinHandle<bool> {
        let round = Arc::clone(self);
        thread::spawn(move || {
            let core = &round.model.core;
            let resolver = core.resolver.get().expect("set by `ready`");
            let found = resolver.look_everywhere(&core.scheduler, &core.channels, false);
            found != Found::Nothing || round.tasks.iter().any(|task| is_dead(*task))
        })
    }

    /// Leaves the processes as they are; the model is about waits alone.
    fn forget(self: Arc<Self>) {
        std::mem::forget(Arc::clone(&self.model.core));
    }
}

/// Two processes park at the same time and complete the ring; each worker looks after it has
/// parked. One of them at least finds the ring.
#[test]
fn one_of_those_that_complete_a_ring_finds_it() {
    check(3, || {
        let round = Round::of_three();
        assert!(round.park(2));
        let other = {
            let round = Arc::clone(&round);
            thread::spawn(move || {
                assert!(round.park(1));
                round.finds_ring(1)
            })
        };
        assert!(round.park(0));
        let found_here = round.finds_ring(0);
        let found_there = other.join().expect("the other does not panic");
        assert!(found_here || found_there, "no walk has seen the ring");
        round.forget();
    });
}

/// Two processes, of which one is always awake: six steps of the gap are as many as a walk that
/// looks twice needs to meet each of them parked wherever it comes.
#[test]
fn a_gap_that_goes_round_is_no_ring() {
    check(1, || {
        let round = Round::of_two();
        assert!(round.park(0));
        let walker = round.walker(0);
        round.gap_goes_round(1, 6);
        assert!(!walker.join().expect("a walker does not panic"), "a false ring");
        round.forget();
    });
}

/// The same against the look everywhere, which a worker begins while others still run.
#[test]
fn a_gap_that_goes_round_is_not_found_by_looking_everywhere() {
    check(1, || {
        let round = Round::of_two();
        assert!(round.park(0));
        let looker = round.looker();
        round.gap_goes_round(1, 6);
        assert!(!looker.join().expect("it does not panic"), "a false ring");
        round.forget();
    });
}

/// The third wakes the first and then waits; the first wakes the second and waits again.
#[test]
fn a_gap_among_three_is_no_ring() {
    check(3, || {
        let round = Round::of_three();
        assert!(round.park(0));
        assert!(round.park(1));
        let walker = round.walker(0);
        round.gap_goes_round(2, 2);
        assert!(!walker.join().expect("a walker does not panic"), "a false ring");
        round.forget();
    });
}

/// The same, with the first process on another worker, if that is there in time to steal it.
#[test]
fn a_gap_among_three_is_no_ring_across_workers() {
    check(3, || {
        let round = Round::of_three();
        assert!(round.park(0));
        assert!(round.park(1));
        let is_ready = Arc::new(AtomicBool::new(false));
        let run_first = |round: &Round, is_ready: &AtomicBool| {
            if is_ready.swap(false, AcqRel) {
                round.gap_goes_round(0, 1);
            }
        };
        let other = {
            let (round, is_ready) = (Arc::clone(&round), Arc::clone(&is_ready));
            thread::spawn(move || run_first(&round, &is_ready))
        };
        let walker = round.walker(1);
        assert!(round.send(2), "the first was parked");
        is_ready.store(true, Release);
        assert!(round.park(2));
        run_first(&round, &is_ready);
        let found = walker.join().expect("a walker does not panic");
        other.join().expect("the other does not panic");
        assert!(!found, "a false ring");
        round.forget();
    });
}

/// A process that stands still is found from anywhere.
#[test]
fn a_ring_that_stands_is_found_from_everywhere() {
    check(1, || {
        let round = Round::of_three();
        for index in 0..round.tasks.len() {
            assert!(round.park(index));
        }
        let walkers = [round.walker(0), round.walker(1)];
        assert!(round.finds_ring(2));
        for walker in walkers {
            assert!(walker.join().expect("a walker does not panic"));
        }
        round.forget();
    });
}

/// Two parties wait for room, each for the other; both give that up and leave while a look that has found their ring
/// makes one of the channels grow. What the look reads of these is there as long.
#[test]
fn a_ring_of_parties_that_leave_beside_the_look() {
    check(2, || {
        let driven = Driven::new();
        let (there, from_a, _) = driven.channel::<u32>("there", 1, vec![0]);
        let (back, from_b, _) = driven.channel::<u32>("back", 1, vec![0]);
        driven.ready();
        model::begin(&driven.core.scheduler, 0);
        let party = |name: &'static str, ports: (Sender<u32>, Receiver<u32>)| {
            let party = driven.core.party(name.into(), &ports);
            party.begin();
            ports.into_outside(&party)
        };
        let (mut a, mut b) = (party("a", (there, from_b)), party("b", (back, from_a)));
        let looker;
        {
            let (mut sends, mut answers) = (pin!(a.0.send(1)), pin!(b.0.send(1)));
            let mut context = Context::from_waker(Waker::noop());
            assert!(sends.as_mut().poll(&mut context).is_pending());
            assert!(answers.as_mut().poll(&mut context).is_pending());
            let core = Arc::clone(&driven.core);
            looker = thread::spawn(move || {
                let resolver = core.resolver.get().expect("set by `ready`");
                resolver.look_everywhere(&core.scheduler, &core.channels, false)
            });
        }
        drop((a, b));
        assert!(
            driven.core.channels.hold().all().is_empty(),
            "both have given up both of their ends"
        );
        let _ = looker.join().expect("a look does not panic");
    });
}
