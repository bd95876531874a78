//! Networks that grow while they run.

use super::schedules::{Heard, everywhere, listen};
use kahn::{Channel, Network, Options, Receiver, Sender, Spawner, Summary};
use std::pin::Pin;

type Sieve = (Receiver<u32>, Sender<u32>, Spawner<'static>);

fn sieve(ports: Sieve) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let (mut numbers, mut primes, mut create) = ports;
        let Some(prime) = numbers.recv().await else { return };
        primes.send(prime).await;
        let (mut on, rest) = create.channel(format!("not by {prime}"));
        let next = create.clone();
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
        let spawner = network.spawner();
        network.process("sieve", (numbers, out, spawner), sieve);
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
        let spawner = network.spawner();
        let (out, sums) = network.channel::<u64>("sums");
        network.process("create", (spawner, out), async |(mut create, mut out)| {
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
        let options = Options::new().policy(kahn_laws::policy(policy)).workers(workers);
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
        let more = report.more_channels.as_ref().map_or(0, |(count, _)| *count);
        assert_eq!(report.channels.len() as u64 + more, 100_001);
        assert!(report.channels.len() < 20_000);
        // Their sums are told as well: a message of each, and a poll at least.
        assert_eq!(report.messages(), 100_100);
        let others = report.more_processes.iter().map(|(_, sums)| &**sums);
        let polls: u64 = report.processes.iter().chain(others).map(|process| process.polls).sum();
        assert!(polls >= 100_002, "{polls} polls");
        // Only the slots of what is alive count.
        assert_eq!(report.slot_bytes.0, 0, "all slots were given back");
    }
}

/// What is made and ends on several workers at once is counted once each, and none takes the memory of another.
#[test]
fn several_processes_create_at_the_same_time() {
    for (policy, workers) in [("stealing", 1), ("stealing", 2), ("static", 2), ("shared", 3)] {
        let mut network = Network::new();
        let listeners = ["first", "second", "third", "fourth"];
        let heard: Vec<_> = (0..4_u64)
            .zip(listeners)
            .map(|(creator, listener)| {
                let spawner = network.spawner();
                let (out, sums) = network.channel::<u64>(format!("sum {creator}"));
                let create = async move |(mut create, mut out): (Spawner<'_>, Sender<u64>)| {
                    let mut sum = 0;
                    for n in 0..4000 {
                        let (answer, mut receive) = create.channel("answer");
                        create.process("short", answer, async move |mut answer| {
                            answer.send(creator * 10_000 + n).await;
                        });
                        sum += receive.recv().await.unwrap_or(0);
                    }
                    out.send(sum).await;
                };
                network.process(format!("create {creator}"), (spawner, out), create);
                listen(&mut network, listener, sums)
            })
            .collect();
        let options = Options::new().policy(kahn_laws::policy(policy)).workers(workers);
        let report = super::schedules::run(network, options);
        assert_eq!(report.outcome, Summary::Finished);
        for (creator, heard) in (0..).zip(heard) {
            assert_eq!(heard.all(), [creator * 40_000_000 + 7_998_000]);
        }
        assert_eq!(report.created, (16_008, 16_004));
        assert_eq!(report.messages(), 16_004);
        assert_eq!(report.slot_bytes.0, 0, "all slots were given back");
    }
}

#[test]
fn threads_create_beside_workers() {
    for workers in [1, 2, 3] {
        let mut network = Network::new();
        let listeners = ["first", "second", "third"];
        let heard: Vec<_> = (0..3_u64)
            .zip(listeners)
            .map(|(creator, listener)| {
                let spawner = network.spawner();
                let (out, sums) = network.channel::<u64>(format!("sum {creator}"));
                let create = move |(mut create, mut out): (Spawner<'_>, Sender<u64>)| {
                    let (answer, mut receive) = create.channel("answer of a thread");
                    create.blocking("thread", answer, |mut answer| answer.send_blocking(1));
                    let mut sum: u64 = receive.recv_blocking().unwrap_or(0);
                    for n in 0..2000 {
                        let (answer, mut receive) = create.channel("answer");
                        create.process("short", answer, async move |mut answer| {
                            answer.send(creator * 10_000 + n).await;
                        });
                        sum += receive.recv_blocking().unwrap_or(0);
                    }
                    out.send_blocking(sum);
                };
                network.blocking(format!("create {creator}"), (spawner, out), create);
                listen(&mut network, listener, sums)
            })
            .collect();
        let report = super::schedules::run(network, Options::new().workers(workers));
        assert_eq!(report.outcome, Summary::Finished);
        for (creator, heard) in (0..).zip(heard) {
            assert_eq!(heard.all(), [creator * 20_000_000 + 1_999_001]);
        }
        assert_eq!(report.created, (6009, 6006));
    }
}

#[test]
fn ends_are_passed_on_with_what_is_in_them() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let spawner = network.spawner();
        network.process("send", (out, spawner), async |(mut out, mut create)| {
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
        let spawner = network.spawner();
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("hear", (numbers, spawner), async move |(mut numbers, mut create)| {
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
        let spawner = network.spawner();
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("create", spawner, async move |mut create| {
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
        let spawner = network.spawner();
        network.process("create", spawner, async |mut create| {
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
        let spawner = network.spawner();
        let stop = network.stop_handle();
        network.process("create", spawner, async move |mut create| {
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

/// The first channels are made before their capacity is known, and then get a small one; those that are made
/// while the network runs take the memory of what has ended, whatever that was.
#[test]
fn channels_of_another_kind_take_the_memory_of_small_ones() {
    const FIRST: u64 = 40;
    for (workers, capacity) in [(1, 1), (1, 3), (2, 1)] {
        let mut network = Network::new();
        let mut ends = Vec::new();
        for n in 0..FIRST {
            let kept = Channel::named(format!("small {n}")).initial(vec![n, n + 1]);
            let (out, numbers) = network.channel_with(kept);
            network.process(format!("gives {n}"), out, async move |mut out| out.send(n + 2).await);
            ends.push(numbers);
        }
        let spawner = network.spawner();
        let (out, all) = network.channel::<u64>("all");
        let ports = (ends, spawner, out);
        network.process("create", ports, async |(ends, mut create, mut out)| {
            for (n, mut numbers) in (0..).zip(ends) {
                for expected in n..n + 3 {
                    assert_eq!(numbers.recv().await, Some(expected));
                }
                assert_eq!(numbers.recv().await, None);
                drop(numbers);
                kahn::yield_now().await;
                let (bytes, mut heavy) = create.channel_with(
                    Channel::named("heavy").weighed_by(|bytes: &Vec<u64>| bytes.len()),
                );
                create.process("heavy", bytes, async move |mut bytes| {
                    for size in 0..9 {
                        bytes.send(vec![n; size]).await;
                    }
                });
                while let Some(bytes) = heavy.recv().await {
                    out.send(bytes.into_iter().sum()).await;
                }
            }
        });
        let heard = listen(&mut network, "listen", all);
        let options = Options::new().workers(workers).capacity(capacity);
        let report = super::schedules::run(network, options);
        assert_eq!(report.outcome, Summary::Finished, "{report}");
        let expected = (0..FIRST).flat_map(|n| (0..9).map(move |size| n * size));
        assert_eq!(heard.all(), expected.collect::<Vec<_>>());
        let heavy = report.channels.iter().filter(|channel| channel.name.as_str() == "heavy");
        assert_eq!(heavy.map(|channel| channel.owned_bytes).collect::<Vec<_>>(), [Some(4); 40]);
    }
}
