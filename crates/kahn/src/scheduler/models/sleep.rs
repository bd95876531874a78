//! Going to sleep and being woken: a thread's parker, and whole runs.
//!
//! A lost wake-up is a model in which everybody sleeps: loom calls that a deadlock. There is no
//! time under loom, so no nap ends by itself and hides one. Bounds: two workers, two or three
//! processes, one or two messages.

use super::check;
use crate::sync::{Arc, AtomicU32, Mutex, Ordering::*, Parker, thread};
use crate::{Accounting, Detection, Network, RunOptions};
use loom::cell::UnsafeCell;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

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
fn two_who_unpark_are_both_seen_by_the_last_park() {
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

fn options(policy: &str) -> RunOptions {
    RunOptions::new()
        .workers(2)
        .policy(policy)
        .accounting(Accounting::Off)
        .detection(Detection::Off)
}

/// A run of a sender and a receiver, from its first step to its last.
fn whole_run(policy: &str, messages: u32) {
    let mut network = Network::new();
    let (sender, receiver) = network.channel::<u32>("numbers");
    network.process("from", sender, async move |mut sender| {
        for number in 0..messages {
            sender.send(number).await;
        }
    });
    network.process("to", receiver, async move |mut receiver| {
        let mut expected = 0;
        while let Some(number) = receiver.recv().await {
            assert_eq!(number, expected);
            expected += 1;
        }
        assert_eq!(expected, messages);
    });
    let report = network.run_with(options(policy)).expect("the network finishes");
    assert!(report.is_success());
}

#[test]
fn whole_runs_end_under_shared() {
    check(2, || whole_run("shared", 1));
}

#[test]
fn whole_runs_end_under_ws_cur() {
    check(2, || whole_run("ws-cur", 1));
}

/// What a process waits for that is no channel.
#[derive(Debug, Default)]
struct Answer(Mutex<(bool, Option<Waker>)>);

impl Answer {
    fn tell(&self) {
        let mut answer = self.0.lock();
        answer.0 = true;
        let waker = answer.1.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut answer = self.0.lock();
        if answer.0 {
            return Poll::Ready(());
        }
        answer.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A process that waits for a waker of another library, while both workers go to sleep.
#[test]
fn a_foreign_waker_wakes_a_sleeping_network() {
    check(2, || {
        let answer = Arc::new(Answer::default());
        let asked = Arc::clone(&answer);
        let mut network = Network::new();
        network.process("asks", (), async move |()| poll_fn(|context| asked.poll(context)).await);
        let other = thread::spawn(move || answer.tell());
        let report = network.run_with(options("shared")).expect("the network finishes");
        assert!(report.is_success());
        other.join().expect("it does not panic");
    });
}
