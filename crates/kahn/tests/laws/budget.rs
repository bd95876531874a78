//! What the byte budget counts, and what it suffices for.

use kahn::{Channel, Detection, Network, Options, Report, Summary};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Detections that let channels grow.
const GROWING: [Detection; 2] = [Detection::Deferred, Detection::Central];

/// A process that sends `messages` on one channel before it sends on another, which the receiver
/// wants first: the first channel must hold them all.
fn hold_all(messages: u64, capacity: u32) -> Network<'static> {
    let mut network = Network::new();
    let (held_out, held) = network.channel_with(Channel::named("held").capacity(capacity));
    let (first_out, first) = network.channel_with(Channel::named("first").capacity(1));
    network.process("split", (held_out, first_out), async move |(mut held, mut first)| {
        for n in 0..messages {
            held.send(n).await;
        }
        first.send(messages).await;
    });
    network.process("join", (held, first), async move |(mut held, mut first)| {
        assert_eq!(first.recv().await, Some(messages));
        let mut next = 0;
        held.for_each(|n: u64| {
            assert_eq!(n, next);
            next += 1;
        })
        .await;
        assert_eq!(next, messages);
    });
    network
}

/// A process that has `tokens` messages in a channel to itself, and takes and sends each `laps`
/// times.
fn token_ring(tokens: u64, capacity: u32, laps: u64) -> Network<'static> {
    let mut network = Network::new();
    let (out, tokens_in) = network.channel_with(Channel::named("tokens").capacity(capacity));
    network.process("turn", (out, tokens_in), async move |(mut out, mut tokens_in)| {
        for n in 0..tokens {
            out.send(n).await;
        }
        for n in 0..tokens * laps {
            assert_eq!(tokens_in.recv().await, Some(n % tokens));
            out.send(n % tokens).await;
        }
    });
    network
}

fn finish(network: Network<'_>, detection: Detection, workers: usize, budget: u64) -> Report {
    let options = Options::new().detection(detection).workers(workers).budget(budget);
    network.run_with(options).unwrap_or_else(|error| panic!("{detection:?}, {budget}: {error}"))
}

#[test]
fn a_network_finishes_with_half_as_much_again_as_it_needs() {
    for detection in GROWING {
        for (messages, capacity) in [(20_000, 64), (129, 64), (130, 129), (3000, 1), (97, 96)] {
            let needed = messages.max(u64::from(capacity)) * 8;
            finish(hold_all(messages, capacity), detection, 2, needed * 3 / 2 + 64);
        }
    }
}

#[test]
fn a_network_that_takes_one_and_gives_one_needs_no_more_than_it_holds() {
    for detection in GROWING {
        for (tokens, capacity) in [(65, 64), (1001, 1000), (300, 1), (4097, 4096)] {
            let report = finish(token_ring(tokens, capacity, 5), detection, 2, tokens * 12 + 64);
            assert!(report.channels[0].growths > 0, "it has to grow");
        }
    }
}

#[test]
fn the_centralised_form_grows_by_exactly_one() {
    let report = finish(hold_all(1000, 7), Detection::Central, 1, 1 << 30);
    assert_eq!((report.channels[0].capacity, report.channels[0].growths), (1000, 993));
}

#[test]
fn a_capacity_is_what_is_allocated() {
    let mut network = Network::new();
    let (out, numbers) = network.channel_with(Channel::named("numbers").capacity(129));
    network.process("send", out, async |mut out| out.send_all(0..1000_u64).await);
    network.process("receive", numbers, async |mut numbers| {
        let mut next = 0;
        numbers.for_each(|n| next += u64::from(n == next)).await;
        assert_eq!(next, 1000);
    });
    let report = finish(network, Detection::Deferred, 2, 129 * 8);
    assert_eq!(report.outcome, Summary::Finished);
    assert_eq!(report.channels[0].capacity, 129);
}

#[test]
fn a_budget_that_cannot_hold_what_is_needed_ends_the_run() {
    for detection in GROWING {
        let budget = 999 * 8;
        let options = Options::new().detection(detection).budget(budget);
        let error = hold_all(1000, 16).run_with(options).expect_err("a thousand do not fit");
        let report = error.report().expect("it ran");
        assert_eq!(report.outcome, Summary::OverBudget);
        assert_eq!(report.channels[0].capacity, 998, "all of it was used");
        assert!(report.slot_bytes.0 <= budget);
    }
}

#[test]
fn the_centralised_form_frees_a_stuck_part_while_the_rest_runs() {
    let mut network = hold_all(100, 4);
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let (around_out, around) = network.channel_with(Channel::named("around").initial([0_u8]));
    network.process("run", (around_out, around), async move |(mut out, mut around)| {
        for round in 0.. {
            if seen.load(Ordering::Acquire) {
                break;
            }
            assert!(round < 50_000_000, "the stuck part waits for the rest");
            out.send(around.recv().await.expect("never empty")).await;
        }
    });
    let (told, tell) = network.channel::<()>("told");
    let (tokens_out, tokens) = network.channel_with(Channel::named("stuck").capacity(1));
    network.process("stuck", (tokens_out, tokens, told), async move |(mut out, _tokens, _told)| {
        for n in 0..10_u64 {
            out.send(n).await;
        }
        done.store(true, Ordering::Release);
    });
    network.process("hear", tell, async |mut tell| {
        tell.for_each(drop).await;
    });
    let report = finish(network, Detection::Central, 2, 1 << 20);
    assert!(report.channels.iter().any(|c| c.name.as_str() == "stuck" && c.growths == 9));
}
