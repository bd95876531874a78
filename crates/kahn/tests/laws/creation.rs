//! Networks that grow while they run.

use super::schedules::{Heard, everywhere, listen};
use kahn::{Channel, Creator, Network, Receiver, RunOptions, Sender, Summary};
use std::pin::Pin;

type Sieve = (Receiver<u32>, Sender<u32>, Creator<'static>);

fn sieve(ports: Sieve) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let (mut numbers, mut primes, mut create) = ports;
        let Some(prime) = numbers.recv().await else { return };
        primes.send(prime).await;
        let (mut on, rest) = create.channel(format!("not by {prime}"));
        let next = create.again();
        create.process(format!("after {prime}"), (rest, primes, next), sieve);
        while let Some(n) = numbers.recv().await {
            if n % prime != 0 {
                on.send(n).await;
            }
        }
    })
}

#[test]
fn the_sieve_finds_the_primes() {
    let is_prime = |n: &u32| (2..*n).all(|d| !n.is_multiple_of(d));
    let expected: Vec<u32> = (2..300).filter(is_prime).collect();
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel("numbers");
        network.process("numbers", out, async |mut out| out.send_all(2..300).await);
        let (out, primes) = network.channel("primes");
        let creator = network.creator();
        network.process("sieve", (numbers, out, creator), sieve);
        let heard = listen(&mut network, "listen", primes);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), expected);
        assert_eq!(report.created, (3 + expected.len() as u64, 2 + expected.len() as u64));
    });
}

#[test]
fn a_hundred_thousand_short_processes_a_thousand_alive_at_a_time() {
    for (policy, workers) in
        [("stealing", 1), ("stealing", 2), ("ws-last", 3), ("shared", 2), ("sequential", 1)]
    {
        let mut network = Network::new();
        let creator = network.creator();
        let (out, sums) = network.channel::<u64>("sums");
        network.process("create", (creator, out), async |(mut create, mut out)| {
            for round in 0..100_u64 {
                let mut ends = Vec::new();
                for n in 0..1000 {
                    let (answer, receive) =
                        create.channel_with(Channel::named("answer").capacity(1));
                    create.process("short", answer, async move |mut answer| {
                        answer.send(round * n).await;
                    });
                    ends.push(receive);
                }
                let mut sum = 0;
                for mut end in ends {
                    sum += end.recv().await.unwrap_or(0);
                    assert_eq!(end.recv().await, None);
                }
                out.send(sum).await;
            }
        });
        let heard = listen(&mut network, "listen", sums);
        let options = RunOptions::new().policy(policy).workers(workers);
        let report = super::schedules::run(network, options);
        assert_eq!(report.outcome, Summary::Finished);
        let sums: Vec<_> = (0..100).map(|round| round * 499_500).collect();
        assert_eq!(heard.all(), sums);
        assert_eq!(report.created, (100_002, 100_001));
        // Those that are not listed one by one are summed up.
        let listed = report.processes.len() as u64;
        let more = report.more_processes.as_ref().map_or(0, |(count, _)| *count);
        assert_eq!(listed + more, 100_002);
        assert!(listed < 20_000);
        // Only the slots of what is alive count.
        assert_eq!(report.slot_bytes.0, 0, "all slots were given back");
    }
}

#[test]
fn ends_are_passed_on_with_what_is_in_them() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let creator = network.creator();
        network.process("send", (out, creator), async |(mut out, mut create)| {
            for n in 0..10 {
                out.send(n).await;
            }
            // The messages before come before.
            create.process("go on", out, async |mut out| {
                for n in 10..20 {
                    out.send(n).await;
                }
            });
        });
        let creator = network.creator();
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("hear", (numbers, creator), async move |(mut numbers, mut create)| {
            for _ in 0..5 {
                tell.push(numbers.recv().await);
            }
            let tell = tell.clone();
            create.blocking("hear the rest", numbers, move |mut numbers| {
                while let Some(n) = numbers.recv_blocking() {
                    tell.push(Some(n));
                }
            });
        });
        schedule.finish(network);
        assert_eq!(heard.all(), (0..20).map(Some).collect::<Vec<_>>());
    });
}

#[test]
fn a_ring_that_was_made_while_running_grows_too() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let creator = network.creator();
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("create", creator, async move |mut create| {
            let (held, from) = create.channel::<u64>("held");
            let (first_out, first) = create.channel::<u64>("first");
            create.process("split", (held, first_out), async |(mut held, mut first)| {
                held.send_all(0..100).await;
                first.send(0).await;
            });
            let tell = tell.clone();
            create.process("join", (from, first), async move |(mut held, mut first)| {
                first.recv().await;
                held.for_each(|n| tell.push(n)).await;
            });
        });
        schedule.finish(network);
        assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn a_creator_may_use_what_it_has_made_itself() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let creator = network.creator();
        network.process("create", creator, async |mut create| {
            let (mut ask, asked) = create.channel::<u64>("ask");
            let (answer, mut answered) = create.channel::<u64>("answer");
            create.process("square", (asked, answer), async |(mut asked, mut answer)| {
                while let Some(n) = asked.recv().await {
                    answer.send(n * n).await;
                }
            });
            for n in 0..50 {
                ask.send(n).await;
                assert_eq!(answered.recv().await, Some(n * n));
            }
            drop(ask);
            assert_eq!(answered.recv().await, None);
        });
        schedule.finish(network);
    });
}

#[test]
fn stopping_while_processes_are_created_stops_them_too() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let creator = network.creator();
        let stop = network.stop_handle();
        network.process("create", creator, async move |mut create| {
            for n in 0..60 {
                let (out, numbers) = create.channel::<u64>("numbers");
                create.process("silent", out, async |_out| std::future::pending::<()>().await);
                create.process("wait", numbers, async |mut numbers| {
                    numbers.recv().await;
                });
                if n == 50 {
                    stop.stop();
                }
            }
        });
        assert_eq!(schedule.run(network).outcome, Summary::Stopped);
    });
}
