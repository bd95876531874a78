//! Whole runs, from the first step to the last: workers look for work, go to sleep, are woken, find
//! out that nothing can go on.
//!
//! A lost wake-up is a model in which every thread sleeps: loom calls that a deadlock. There is no
//! time under loom, so no nap ends by itself and hides one, but where a model wants that. Bounds:
//! two workers, once three, one or two processes, one message or two, one thread outside.

use super::check;
use crate::{
    Accounting, Detection, Ended, Network, Options, Process, Receiver, RunError, Sender, Summary,
};
use kahn_engine::policy::{PolicyChoice, SHARED, STEALING};
use kahn_engine::sync::{Arc, Mutex, Parker, end_naps, refuse_threads_after, set_cores, thread};
use kahn_policies::{BATCH, STATIC, WS_LAST};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

fn options(policy: PolicyChoice, detection: Detection) -> Options {
    Options::new().workers(2).policy(policy).accounting(Accounting::Off).detection(detection)
}

fn assert_finishes(network: Network<'_>, options: Options) {
    let report = network.run_with(options).expect("the network finishes");
    assert!(report.is_success());
}

fn stream(policy: PolicyChoice, messages: u32) {
    stream_on(2, policy, messages);
}

/// A sender and a receiver.
fn stream_on(workers: usize, policy: PolicyChoice, messages: u32) {
    let mut network = Network::new();
    let (sender, receiver) = network.channel::<u32>("numbers");
    network.process("from", sender, async move |mut sender: Sender<u32>| {
        for number in 0..messages {
            sender.send(number).await;
        }
    });
    network.process("to", receiver, async move |mut receiver: Receiver<u32>| {
        for number in 0..messages {
            assert_eq!(receiver.recv().await, Some(number));
        }
        assert_eq!(receiver.recv().await, None);
    });
    assert_finishes(network, options(policy, Detection::Off).workers(workers));
}

#[test]
fn a_stream_ends_under_shared() {
    check(1, || stream(SHARED, 1));
}

#[test]
fn a_stream_ends_under_stealing() {
    check(1, || stream(STEALING, 1));
}

#[test]
fn a_stream_ends_under_batch() {
    check(1, || stream(BATCH, 1));
}

/// Nothing is stolen: each worker must be woken for what belongs to it.
#[test]
fn a_stream_ends_under_static() {
    check(0, || stream(STATIC, 1));
}

#[test]
fn a_stream_ends_under_ws_last() {
    check(1, || stream(WS_LAST, 1));
}

/// A worker that sleeps wakes by itself while the other runs, and takes what that keeps for itself.
#[test]
fn a_watcher_wakes_by_itself() {
    check(1, || {
        end_naps(1);
        stream(STEALING, 1);
    });
}

/// The watcher takes a process over, and starts the thread of the next watcher; or the system
/// refuses that thread, now or from the beginning. The end of the stream alone wakes its receiver:
/// a message more takes minutes, and shows nothing more of watchers.
#[test]
fn the_next_watcher_starts_when_it_is_wanted() {
    for threads in [2, 1, 0] {
        check(1, move || {
            set_cores(1);
            refuse_threads_after(threads);
            end_naps(1);
            stream_on(3, STEALING, 0);
        });
    }
}

/// What belongs to a worker that the system refused a thread is run by the first.
#[test]
fn a_stream_ends_without_a_second_thread() {
    check(1, || {
        refuse_threads_after(0);
        stream(STATIC, 1);
    });
}

/// Two processes that each send two messages before they receive: full channels must grow.
#[test]
fn a_ring_of_full_channels_grows() {
    check(0, || {
        let mut network = Network::new();
        let (to_b, from_a) = network.channel_with(crate::Channel::named("there").capacity(1));
        let (to_a, from_b) = network.channel_with(crate::Channel::named("back").capacity(1));
        let both = async |(mut receiver, mut sender): (Receiver<u32>, Sender<u32>)| {
            for number in 0..2 {
                sender.send(number).await;
            }
            for number in 0..2 {
                assert_eq!(receiver.recv().await, Some(number));
            }
        };
        network.process_with(Process::named("a").effects(), (from_b, to_b), both);
        network.process_with(Process::named("b").effects(), (from_a, to_a), both);
        assert_finishes(network, options(SHARED, Detection::Deferred));
    });
}

/// Two processes that wait for each other: the run must not sleep for ever, but say so.
#[test]
fn a_network_that_stands_still_is_told() {
    check(2, stand_still);
}

/// The system has refused the second worker: no thread may wait for it.
#[test]
fn a_network_that_stands_still_is_told_by_one() {
    check(2, || {
        refuse_threads_after(0);
        stand_still();
    });
}

fn stand_still() {
    let mut network = Network::new();
    let (to_b, from_a) = network.channel::<u32>("there");
    let (to_a, from_b) = network.channel::<u32>("back");
    let receive = async |(mut receiver, sender): (Receiver<u32>, Sender<u32>)| {
        let _ = receiver.recv().await;
        drop(sender);
    };
    network.process_with(Process::named("a").effects(), (from_b, to_b), receive);
    network.process_with(Process::named("b").effects(), (from_a, to_a), receive);
    let error = network.run_with(options(STEALING, Detection::Deferred));
    let Err(RunError::Ended(report)) = error else { panic!("it cannot finish: {error:?}") };
    assert_eq!(report.outcome, Summary::Deadlock);
}

/// What a process waits for that is no channel.
#[derive(Debug, Default)]
struct Answer(Mutex<(State, Option<Waker>)>);

#[derive(Debug, Default, PartialEq)]
enum State {
    #[default]
    Open,
    Told,
    Refused,
}

impl Answer {
    fn tell(&self) {
        let mut answer = self.0.lock();
        answer.0 = State::Told;
        let waker = answer.1.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Drops the waker, and keeps none from now on.
    fn refuse(&self) {
        let mut answer = self.0.lock();
        answer.0 = State::Refused;
        let waker = answer.1.take();
        drop(answer);
        drop(waker);
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut answer = self.0.lock();
        match answer.0 {
            State::Told => return Poll::Ready(()),
            State::Refused => {}
            State::Open => answer.1 = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

fn asking(answer: &Arc<Answer>) -> Network<'static> {
    let asked = Arc::clone(answer);
    let mut network = Network::new();
    network.process("asks", (), async move |()| poll_fn(|context| asked.poll(context)).await);
    network
}

/// A process waits for a waker of another library, while both workers go to sleep.
#[test]
fn a_foreign_waker_wakes_a_sleeping_network() {
    check(1, || {
        let answer = Arc::new(Answer::default());
        let network = asking(&answer);
        let other = thread::spawn(move || answer.tell());
        assert_finishes(network, options(SHARED, Detection::Off));
        other.join().expect("it does not panic");
    });
}

/// The last waker is dropped while the workers go to sleep: one of them must wake and say so.
#[test]
fn a_foreign_waker_that_is_dropped_is_told() {
    check(3, || {
        let answer = Arc::new(Answer::default());
        let network = asking(&answer);
        let other = {
            let answer = Arc::clone(&answer);
            thread::spawn(move || answer.refuse())
        };
        let ended = network.run_with(options(SHARED, Detection::Off).workers(1));
        assert!(matches!(ended, Err(RunError::Ended(_))), "nothing can wake it");
        other.join().expect("it does not panic");
    });
}

/// A blocking process, which has a thread of its own, and one that has none.
#[test]
fn a_blocking_process_is_woken_and_wakes() {
    check(3, || {
        let mut network = Network::new();
        let (sender, receiver) = network.channel::<u32>("numbers");
        network.process("from", sender, async |mut sender: Sender<u32>| sender.send(0).await);
        network.blocking("to", receiver, |mut receiver: Receiver<u32>| {
            assert_eq!(receiver.recv_blocking(), Some(0));
            assert_eq!(receiver.recv_blocking(), None);
        });
        assert_finishes(network, options(SHARED, Detection::Off).workers(1));
    });
}

/// A party outside, on a thread of its own.
#[test]
fn a_party_outside_is_woken_and_wakes() {
    check(2, || {
        let mut network = Network::new();
        let (sender, receiver) = network.channel::<u32>("numbers");
        network.process("from", sender, async |mut sender: Sender<u32>| sender.send(0).await);
        let mut receiver = network.outside("outside", receiver);
        let outside = thread::spawn(move || {
            assert_eq!(receiver.recv_blocking().expect("the run goes on"), Some(0));
            assert_eq!(receiver.recv_blocking().expect("the run goes on"), None);
        });
        assert_finishes(network, options(SHARED, Detection::Off).workers(1));
        outside.join().expect("it does not panic");
    });
}

/// A party outside that polls without having been woken, gives up, and comes back.
#[test]
fn a_party_outside_polls_in_vain_and_cancels() {
    check(2, || {
        let mut network = Network::new();
        let (sender, receiver) = network.channel::<u32>("numbers");
        network.process("from", sender, async |mut sender: Sender<u32>| sender.send(0).await);
        let mut receiver = network.outside("outside", receiver);
        let outside = thread::spawn(move || {
            let mut received = None;
            {
                let mut receiving = pin!(receiver.recv());
                let mut context = Context::from_waker(Waker::noop());
                for _ in 0..2 {
                    if let Poll::Ready(result) = receiving.as_mut().poll(&mut context) {
                        received = result.expect("the run goes on");
                        break;
                    }
                }
            }
            if received.is_none() {
                received = receiver.recv_blocking().expect("the run goes on");
            }
            assert_eq!(received, Some(0));
            assert_eq!(receiver.recv_blocking().expect("the run goes on"), None);
        });
        assert_finishes(network, options(SHARED, Detection::Off).workers(1));
        outside.join().expect("it does not panic");
    });
}

/// A party outside that begins to wait while the run starts: the start rings its bell, but that is
/// not what it waits for. If it took that for a wake-up, it would be counted as busy once too few,
/// and no thread would find out that nothing can go on.
#[test]
fn a_party_outside_is_not_woken_by_the_start() {
    check(2, || {
        let mut network = Network::new();
        let (to_process, from_party) = network.channel::<u32>("there");
        let (to_party, from_process) = network.channel::<u32>("back");
        let receive = async |(mut receiver, sender): (Receiver<u32>, Sender<u32>)| {
            let _ = receiver.recv().await;
            drop(sender);
        };
        network.process("waits", (from_party, to_party), receive);
        let (mut receiver, sender) = network.outside("outside", (from_process, to_process));
        let running = thread::spawn(move || {
            let ended = network.run_with(options(SHARED, Detection::Off).workers(1));
            let Err(RunError::Ended(report)) = ended else { panic!("it cannot finish: {ended:?}") };
            assert_eq!(report.outcome, Summary::Deadlock);
        });
        assert_eq!(receiver.recv_blocking(), Err(Ended::Run));
        drop(sender);
        running.join().expect("it does not panic");
    });
}

/// Wakes the thread of a task of another executor.
struct Unparks(Parker);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A task of another executor that is polled with one waker and then waits with another, as one
/// does that was moved: a thread that wakes it meanwhile rings one of the two.
#[test]
fn a_party_outside_changes_its_waker() {
    check(2, || {
        let mut network = Network::new();
        let (sender, receiver) = network.channel::<u32>("numbers");
        network.process("from", sender, async |mut sender: Sender<u32>| sender.send(0).await);
        let mut receiver = network.outside("outside", receiver);
        let outside = thread::spawn(move || {
            let unparks = Arc::new(Unparks(Parker::new()));
            let waker = Waker::from(Arc::clone(&unparks));
            let mut receiving = pin!(receiver.recv());
            let mut polled = receiving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            while polled.is_pending() {
                polled = receiving.as_mut().poll(&mut Context::from_waker(&waker));
                if polled.is_pending() {
                    unparks.0.park();
                }
            }
            assert_eq!(polled, Poll::Ready(Ok(Some(0))));
        });
        assert_finishes(network, options(SHARED, Detection::Off).workers(1));
        outside.join().expect("it does not panic");
    });
}

/// More workers than cores: those beyond sit out, and the last to go to sleep still sees the work.
#[test]
fn a_foreign_waker_wakes_more_workers_than_cores() {
    check(1, || {
        set_cores(1);
        let answer = Arc::new(Answer::default());
        let network = asking(&answer);
        let other = thread::spawn(move || answer.tell());
        assert_finishes(network, options(SHARED, Detection::Off).workers(2));
        other.join().expect("it does not panic");
    });
}
