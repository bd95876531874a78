//! One channel's two words, with slots and processes that loom watches.
//!
//! Two workers, one sender, one receiver. A worker runs what it has woken itself, as under
//! `stealing`, so processes change workers. Bounds: capacity 1 or 2, 1 to 3 messages.

use super::check;
use crate::channel::word::{Moved, Seen, Word};
use kahn_engine::Park;
use kahn_engine::sync::Access;
use kahn_engine::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Sender,
    Receiver,
}

/// What a process keeps to itself; the thread that runs it touches that.
#[derive(Debug, Default)]
struct State {
    done: u64,
    published: u64,
    taken: Vec<u64>,
    has_ended: bool,
}

#[derive(Debug)]
struct Channel {
    sent: Word,
    received: Word,
    slots: Vec<UnsafeCell<u64>>,
    sender: UnsafeCell<State>,
    receiver: UnsafeCell<State>,
    messages: u64,
    /// So many the receiver takes; then it departs.
    wanted: u64,
    /// So many operations go unpublished.
    period: u64,
}

/// Why a process stops running.
enum Stop {
    Ended,
    Wait(Seen),
}

impl Channel {
    fn new(capacity: usize, messages: u64) -> Self {
        Self {
            sent: Word::new(0),
            received: Word::new(0),
            slots: (0..capacity).map(|_| UnsafeCell::new(u64::MAX)).collect(),
            sender: UnsafeCell::new(State::default()),
            receiver: UnsafeCell::new(State::default()),
            messages,
            wanted: u64::MAX,
            period: 1,
        }
    }

    fn slot(&self, number: u64) -> &UnsafeCell<u64> {
        &self.slots[usize::try_from(number).expect("few messages") % self.slots.len()]
    }

    fn parts(&self, which: Which) -> (&Word, &Word, &UnsafeCell<State>) {
        match which {
            Which::Sender => (&self.sent, &self.received, &self.sender),
            Which::Receiver => (&self.received, &self.sent, &self.receiver),
        }
    }

    /// Runs a process until it parks or ends; what it wakes is made ready.
    fn run(&self, which: Which, ready: &mut Vec<Which>) {
        let (own, peers, state) = self.parts(which);
        let peer = if which == Which::Sender { Which::Receiver } else { Which::Sender };
        loop {
            let stop = state.with_mut(|state| {
                // SAFETY: loom checks that no other thread is here.
                let state = unsafe { &mut *state };
                assert!(!state.has_ended, "an ended process runs");
                let stop = loop {
                    if let Some(stop) = self.step(which, state, peers) {
                        break stop;
                    }
                    if state.done - state.published >= self.period {
                        state.published = state.done;
                        wake(own.publish(state.done, Access::SHARED), peer, ready);
                    }
                };
                match stop {
                    Stop::Ended => {
                        state.has_ended = true;
                        wake(own.close(state.done, Access::SHARED), peer, ready);
                    }
                    Stop::Wait(_) if state.published != state.done => {
                        state.published = state.done;
                        wake(own.publish(state.done, Access::SHARED), peer, ready);
                    }
                    Stop::Wait(_) => {}
                }
                stop
            });
            match stop {
                Stop::Ended => return,
                Stop::Wait(seen) => {
                    if peers.park(seen, Access::SHARED) == Park::Asleep {
                        return;
                    }
                }
            }
        }
    }

    /// One operation, if it can be done.
    fn step(&self, which: Which, state: &mut State, peers: &Word) -> Option<Stop> {
        let seen = peers.load();
        match which {
            Which::Sender => {
                if state.done == self.messages || seen.is_closed() {
                    return Some(Stop::Ended);
                }
                if state.done - seen.count() == self.slots.len() as u64 {
                    return Some(Stop::Wait(seen));
                }
                // SAFETY: loom checks that no other thread is at this slot.
                self.slot(state.done).with_mut(|slot| unsafe { *slot = state.done });
            }
            Which::Receiver => {
                if state.done == self.wanted {
                    return Some(Stop::Ended);
                }
                if state.done == seen.count() {
                    let over = seen.is_closed();
                    return Some(if over { Stop::Ended } else { Stop::Wait(seen) });
                }
                // SAFETY: as above.
                let message = self.slot(state.done).with(|slot| unsafe { *slot });
                state.taken.push(message);
            }
        }
        state.done += 1;
        None
    }

    fn work(&self, begin: Which) {
        let mut ready = vec![begin];
        while let Some(which) = ready.pop() {
            self.run(which, &mut ready);
        }
    }

    /// Both processes ran on two workers; neither sleeps, and every message came once.
    fn run_on_two(self) {
        let channel = Arc::new(self);
        let other = {
            let channel = Arc::clone(&channel);
            thread::spawn(move || channel.work(Which::Receiver))
        };
        channel.work(Which::Sender);
        other.join().expect("the other worker does not panic");
        for which in [Which::Sender, Which::Receiver] {
            let (_, _, state) = channel.parts(which);
            // SAFETY: both workers are done.
            state.with(|state| assert!(unsafe { &*state }.has_ended, "{which:?} sleeps for ever"));
        }
        let expected: Vec<u64> = (0..channel.messages.min(channel.wanted)).collect();
        // SAFETY: as above.
        channel.receiver.with(|state| assert_eq!(unsafe { &*state }.taken, expected));
    }
}

fn wake(moved: Moved, peer: Which, ready: &mut Vec<Which>) {
    if moved == Moved::Wake {
        assert!(!ready.contains(&peer), "a process is woken twice");
        ready.push(peer);
    }
}

#[test]
fn capacity_one_loses_no_message_and_no_wake_up() {
    check(3, || Channel::new(1, 3).run_on_two());
}

#[test]
fn capacity_two_loses_no_message_and_no_wake_up() {
    check(3, || Channel::new(2, 3).run_on_two());
}

#[test]
fn what_is_published_late_is_published_before_a_wait() {
    check(3, || Channel { period: 2, ..Channel::new(2, 3) }.run_on_two());
}

#[test]
fn the_end_wakes_the_receiver() {
    check(3, || Channel::new(1, 1).run_on_two());
}

#[test]
fn a_receiver_that_departs_frees_the_sender() {
    check(3, || Channel { wanted: 1, ..Channel::new(1, 3) }.run_on_two());
}

/// A party outside may take itself out of its wait while its peer publishes: one of the two clears
/// PARKED, and owns it.
#[test]
fn a_party_that_cancels_is_not_woken_as_well() {
    check(3, || {
        let word = Arc::new(Word::new(0));
        let seen = word.load();
        let state = Arc::new(UnsafeCell::new(0));
        let touch = |state: &UnsafeCell<u32>| {
            // SAFETY: loom checks that no other thread is here.
            state.with_mut(|state| unsafe { *state += 1 });
        };
        let publisher = {
            let (word, state) = (Arc::clone(&word), Arc::clone(&state));
            thread::spawn(move || {
                let woke = word.publish_outside(1) == Moved::Wake;
                if woke {
                    touch(&state);
                }
                woke
            })
        };
        touch(&state);
        let parked = word.park(seen, Access::SHARED) == Park::Asleep;
        let cancelled = parked && word.unpark(Word::parked(seen));
        if cancelled || !parked {
            touch(&state);
        }
        let woke = publisher.join().expect("it does not panic");
        assert_eq!(woke, parked && !cancelled, "owned by both, or by neither");
    });
}
