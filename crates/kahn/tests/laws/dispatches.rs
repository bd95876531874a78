//! A dispatch ends: a process that never waits keeps its worker for a bounded number of operations.

use super::schedules::schedules;
use kahn::{Channel, Network, Process, Receiver, Sender, Spawner};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Rounds that a process may do before all others have run: a dispatch is at most 128 operations,
/// and 64 dispatches pass for each process that waits.
const MOST_ROUNDS: u32 = 100_000;

/// Where others have a thread of their own, it is the system's turn to run that: the process gives
/// way to other threads now and then, and may do so many times as many rounds.
const FOR_THE_SYSTEM: u32 = 100;

/// What a process that never waits does in a round.
type Round = for<'a> fn(&'a mut Busy) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Both ends of a channel that leads from a process to itself, and what makes others.
struct Busy {
    out: Sender<u32>,
    back: Receiver<u32>,
    create: Spawner<'static>,
}

/// Runs a process that never waits beside others that want to run once, in every schedule.
fn everyone_runs_beside(what: &str, most: u32, round: Round) {
    for schedule in schedules() {
        let (ran, rounds) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let mut network = Network::new();
        let (out, back) = network.channel_with(Channel::named("round").capacity(3));
        let create = network.spawner();
        let others = ["a", "b", "c"];
        let (seen, count) = (Arc::clone(&ran), Arc::clone(&rounds));
        let has_threads = schedule.workers > 1 || schedule.policy == "threads";
        let most = if has_threads { most * FOR_THE_SYSTEM } else { most };
        let busy = Process::named("busy").effects();
        network.process_with(busy, (out, back, create), async move |(out, back, create)| {
            let mut busy = Busy { out, back, create };
            while seen.load(Relaxed) < 3 && count.fetch_add(1, Relaxed) < most {
                round(&mut busy).await;
                if has_threads && count.load(Relaxed).is_multiple_of(FOR_THE_SYSTEM) {
                    std::thread::yield_now();
                }
            }
        });
        for name in others {
            let ran = Arc::clone(&ran);
            network.process_with(Process::named(name).effects(), (), async move |()| {
                ran.fetch_add(1, Relaxed);
            });
        }
        schedule.finish(network);
        assert!(
            rounds.load(Relaxed) < most,
            "{what}: {most} rounds, and the others have not run, with {schedule:?}"
        );
    }
}

#[test]
fn a_process_that_sends_to_itself_does_not_keep_its_worker() {
    everyone_runs_beside("send and receive on a self-loop", MOST_ROUNDS, |busy| {
        Box::pin(async {
            busy.out.send(1).await;
            assert_eq!(busy.back.recv().await, Some(1));
        })
    });
}

#[test]
fn a_process_that_flushes_again_and_again_does_not_keep_its_worker() {
    everyone_runs_beside("flush", MOST_ROUNDS, |busy| {
        Box::pin(async {
            busy.out.flush().await;
            busy.back.flush().await;
        })
    });
}

#[test]
fn a_process_that_makes_others_and_looks_at_a_peer_does_not_keep_its_worker() {
    everyone_runs_beside("make ten, and look", MOST_ROUNDS / 10, |busy| {
        Box::pin(async {
            for _ in 0..10 {
                busy.create.process("child", (), async |()| {});
            }
            busy.out.flush().await;
        })
    });
}

#[test]
fn a_process_whose_waker_is_called_while_it_runs_does_not_keep_its_worker() {
    everyone_runs_beside("wake oneself", MOST_ROUNDS, |_| {
        let mut has_waited = false;
        Box::pin(std::future::poll_fn(move |context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut has_waited, true) {
                return std::task::Poll::Ready(());
            }
            std::task::Poll::Pending
        }))
    });
}
