//! The verdict, against those that may still act though no worker is busy: foreign wakers, and
//! parties that may cancel.
//!
//! One process waits to receive from another vertex, which is woken, wakes it, and waits for it in
//! turn. At every moment one of the two is awake or about to be; the thread that gives a verdict has seen
//! them at different times. Bounds: two vertices, two threads besides the first.

use super::{Driven, check};
use crate::channel::OutsidePorts;
use crate::channel::language::{Kahn, Worker};
use crate::channel::process::InNetwork;
use crate::channel::raw::{ChannelRef, End};
use crate::channel::word::Moved;
use crate::{Receiver, Sender};
use kahn_engine::Park;
use kahn_engine::sync::{Access, Arc, Ordering::*, Parker, thread};
use kahn_engine::task::foreign::base_waker;
use kahn_engine::{Kind, Language, Scheduler, TaskRef, Unparker};
use std::pin::pin;
use std::task::{Context, Waker};

/// A process that waits for a second vertex, which the model moves.
struct Pair {
    model: Driven,
    first: TaskRef,
    /// From the second to the first, and back.
    there: ChannelRef,
    back: ChannelRef,
}

impl Pair {
    /// The ports that are left are the second one's. The first is made first, so that an
    /// explanation comes to it first.
    fn new() -> (Self, Receiver<u32>, Sender<u32>) {
        let model = Driven::new();
        let (to_first, from_second, there) = model.channel::<u32>("there", 1, Vec::new());
        let (to_second, from_first, back) = model.channel::<u32>("back", 1, Vec::new());
        let idle = async |_ports: (Receiver<u32>, Sender<u32>)| {};
        let first = model.process("first", (from_second, to_second), idle);
        (Self { model, first, there, back }, from_first, to_first)
    }

    /// The run has begun, and the first process waits.
    fn begin(&self) {
        self.model.ready();
        kahn_engine::model::begin(&self.model.core.scheduler, 0);
        park(self.first, self.there);
        self.model.core.scheduler.activity.wake();
    }

    /// A worker goes to sleep; if it was the last, it looks whether anything can go on.
    fn sleeper(&self) -> thread::JoinHandle<()> {
        let core = Arc::clone(&self.model.core);
        thread::spawn(move || {
            if core.scheduler.activity.go_idle() {
                let worker = Worker::new(&core.scheduler, 0);
                Kahn::quiet(&worker);
            }
            let verdict = core.verdict.lock();
            assert!(verdict.is_none(), "a verdict, though a process can go on: {verdict:?}");
        })
    }

    /// Leaves the processes as they are; the model is about the verdict alone.
    fn forget(self) {
        std::mem::forget(self.model.core);
    }
}

/// A process waits to receive.
fn park(task: TaskRef, channel: ChannelRef) {
    task.state().waits_at.store(channel.waiting_at(End::Receiver), Release);
    let word = channel.word(End::Sender);
    assert_eq!(word.park(word.load(), Access::SHARED), Park::Asleep, "there is no message");
}

/// The second is a process with a thread of its own, and waits for a waker of another library.
fn woken_from_outside(then: impl FnOnce(TaskRef, &Pair) + Send + 'static) {
    let (pair, receiver, sender) = Pair::new();
    let idle = async |_ports: (Receiver<u32>, Sender<u32>)| {};
    let second = pair.model.process("second", (receiver, sender), idle);
    // SAFETY: nothing runs yet.
    unsafe { second.set_kind(Kind::Threaded) };
    let parker = Arc::new(Parker::new());
    second.set_unparker(Unparker::Thread(Arc::clone(&parker)));
    pair.begin();
    let waker = Waker::clone(&base_waker(second));
    assert!(second.foreign().wait());
    let sleeper = pair.sleeper();
    let outside = thread::spawn(move || {
        waker.wake_by_ref();
        // It outlives the model.
        std::mem::forget(waker);
    });
    parker.park();
    then(second, &pair);
    let _ = Scheduler::of(second).activity.go_idle();
    sleeper.join().expect("no verdict is given");
    outside.join().expect("a waker does not panic");
    pair.forget();
}

#[test]
fn who_is_woken_from_outside_may_wake_others() {
    check(3, || {
        woken_from_outside(|second, pair| {
            let moved = pair.there.word(End::Sender).publish(1, Access::SHARED);
            assert_eq!(moved, Moved::Wake);
            // The thread that runs the first from now on.
            Scheduler::of(second).activity.wake();
            park(second, pair.back);
        });
    });
}

#[test]
fn who_is_woken_from_outside_may_wait_for_that_again() {
    check(3, || woken_from_outside(|second, _| assert!(second.foreign().wait())));
}

/// The second is a party outside, which waits, gives that up, and waits again.
fn cancels(sends: bool) {
    let (pair, receiver, sender) = Pair::new();
    let ports = (receiver, sender);
    let party = pair.model.core.party("second".into(), &ports);
    let (mut receiver, mut sender) = ports.into_outside(&party);
    pair.begin();
    let mut context = Context::from_waker(Waker::noop());
    let sleeper = {
        let mut receiving = pin!(receiver.recv());
        assert!(receiving.as_mut().poll(&mut context).is_pending());
        pair.sleeper()
    };
    if sends {
        assert!(pin!(sender.send(0)).poll(&mut context).is_ready());
        // The thread that runs the first from now on.
        pair.model.core.scheduler.activity.wake();
    }
    let mut receiving = Box::pin(receiver.recv());
    assert!(receiving.as_mut().poll(&mut context).is_pending());
    sleeper.join().expect("no verdict is given");
    std::mem::forget(receiving);
    std::mem::forget((receiver, sender));
    pair.forget();
}

#[test]
fn a_party_that_cancels_may_wake_others() {
    check(3, || cancels(true));
}

#[test]
fn a_party_that_cancels_may_wait_again() {
    check(3, || cancels(false));
}
