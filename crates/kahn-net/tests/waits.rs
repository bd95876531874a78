//! What processes wait for is told of all ranks while the network runs.

use kahn::{Channel, Detail, Explanation, Network, Options, Process, Receiver, Sender, StopHandle};
use kahn_net::{NetError, Ran, Sim};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

/// Runs a network on three ranks, and asks what it waits for until `is_enough`; what was told last, and what the run came
/// to.
fn asked<'env>(
    build: impl Fn(&mut Network<'env>) + Sync,
    mut is_enough: impl FnMut(&Explanation) -> bool + Send,
) -> (Explanation, Result<Ran<()>, NetError>) {
    let handle = OnceLock::<StopHandle>::new();
    thread::scope(|scope| {
        let told = scope.spawn(|| {
            loop {
                let Some(handle) = handle.get() else {
                    thread::yield_now();
                    continue;
                };
                let told = handle.explain();
                if is_enough(&told) || handle.is_ending() {
                    return told;
                }
            }
        });
        let ran = Sim::new(3).run_each(&Options::new().workers(1), |rank, network| {
            build(network);
            if rank == 0 {
                let _ = handle.set(network.stop_handle());
            }
        });
        (told.join().expect("it does not panic"), ran)
    })
}

/// A process on this rank that hands on what it receives.
fn hands_on(
    network: &mut Network<'_>,
    name: &'static str,
    rank: usize,
    (from, to): (Receiver<u64>, Sender<u64>),
) {
    let one = Process::named(name).rank(rank);
    network.process_with(one, (from, to), async |(mut from, mut to)| {
        while let Some(number) = from.recv().await {
            to.send(number).await;
        }
    });
}

#[test]
fn a_ring_on_two_ranks_is_told_with_both_while_another_part_runs() {
    let is_told = AtomicBool::new(false);
    let goes_on = &is_told;
    let (told, ran) = asked(
        |network| {
            let wired = |network: &mut Network<'_>, name: &'static str| {
                network.channel_with(Channel::<u64>::named(name).wire())
            };
            let (to_b, from_a) = wired(network, "a to b");
            let (to_c, from_b) = wired(network, "b to c");
            let (to_a, from_c) = wired(network, "c to a");
            // Two of them are on one rank.
            hands_on(network, "a", 1, (from_c, to_b));
            hands_on(network, "b", 1, (from_a, to_c));
            hands_on(network, "c", 2, (from_b, to_a));
            let (out, ticks) = network.channel("ticks");
            network.process("tick", out, async move |mut out| {
                while !goes_on.load(SeqCst) {
                    out.send(()).await;
                }
            });
            network.for_each("ignore", ticks, |()| {});
        },
        |told| {
            let is_enough = !told.rings.is_empty();
            is_told.store(is_enough, SeqCst);
            is_enough
        },
    );
    let text = told.to_string();
    for line in [
        "  `a (rank 1)` waits to receive message 1 from `c to a` (empty), which `c (rank 2)` sends\n",
        "  `b (rank 1)` waits to receive message 1 from `a to b` (empty), which `a (rank 1)` sends\n",
        "  `c (rank 2)` waits to receive message 1 from `b to c` (empty), which `b (rank 1)` sends\n",
        "  `tick (rank 0)` ",
        "  ring: `a (rank 1)` –[`c to a` empty]→ `c (rank 2)` –[`b to c` empty]→ `b (rank 1)` –[`a to b` empty]→ `a (rank 1)`\n",
        "help: one process of the ring must send before it receives",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!((told.rings.len(), &told.silent[..]), (1, &[][..]));
    // It was one: it is there in the end.
    let error = ran.expect_err("they wait for good");
    let Some(Detail::Waits(waits)) = error.report().and_then(|report| report.detail.as_ref())
    else {
        panic!("{error}");
    };
    let rings = |told: &Explanation| {
        told.to_string().lines().find(|l| l.contains("ring:")).map(str::to_owned)
    };
    assert_eq!(rings(&told), rings(waits));
}

#[test]
fn no_ring_is_told_of_processes_that_go_on() {
    const QUESTIONS: u64 = 5000;
    let answers = AtomicU64::new(0);
    let told_until_now = &answers;
    let (told, ran) = asked(
        |network| {
            let wired = |network: &mut Network<'_>, name: &'static str| {
                network.channel_with(Channel::named(name).wire())
            };
            let (to_first, from_begins) = wired(network, "to first");
            let (to_second, from_first) = wired(network, "to second");
            let (to_begins, from_second) = wired(network, "back");
            // There the questions are asked: its rank is not at its end before it.
            let begins = Process::named("begins").rank(0);
            network.process_with(
                begins,
                (from_second, to_first),
                async move |(mut from, mut to)| {
                    // Most of the time all wait, each for what another has sent or will send.
                    while told_until_now.load(SeqCst) < QUESTIONS {
                        to.send(0_u64).await;
                        from.recv().await;
                    }
                },
            );
            hands_on(network, "first", 1, (from_begins, to_second));
            hands_on(network, "second", 2, (from_first, to_begins));
        },
        |told| {
            let is_wrong = !told.rings.is_empty();
            answers.fetch_add(if is_wrong { QUESTIONS } else { 1 }, SeqCst);
            is_wrong
        },
    );
    assert!(told.rings.is_empty(), "{told}");
    assert!(ran.is_ok());
    assert!(answers.into_inner() >= QUESTIONS, "it was over before it was asked");
}
