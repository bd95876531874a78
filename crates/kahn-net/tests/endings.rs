//! Failures, departures and deadlocks are told as by a run on one rank, whatever runs where.

use kahn::{Channel, Detail, Network, Options, Process, ProcessEnd, Report};
use kahn_net::Sim;

fn wired(name: impl Into<String>) -> Channel<u64> {
    Channel::named(name.into()).wire()
}

fn options() -> Options {
    Options::new().workers(2).capacity(1)
}

type Build = fn(&mut Network<'static>);

/// How processes ended, which failures count, the outcome, which processes wait.
type Told = (Vec<(String, ProcessEnd)>, Vec<String>, String, Vec<String>);

/// What is told of a run, but for how far it came where that is a matter of the schedule.
fn told(report: &Report) -> Told {
    let ends = report.processes.iter().map(|one| (one.name.to_string(), one.ending.clone()));
    let failures = report.failures.iter().map(|failure| {
        let with: Vec<_> = failure.ended_with_it.iter().map(ToString::to_string).collect();
        format!("{}: {}, with {with:?}", failure.process, failure.message)
    });
    let waiting = match &report.detail {
        Some(Detail::Waits(explanation)) => explanation
            .waiting
            .iter()
            .map(|waiting| {
                waiting.process.as_str().split(" (rank").next().unwrap_or_default().to_owned()
            })
            .collect(),
        _ => Vec::new(),
    };
    (ends.collect(), failures.collect(), format!("{:?}", report.outcome), waiting)
}

fn is_told_alike(build: Build, seeds: u64) {
    let mut network = Network::new();
    build(&mut network);
    let expected = match network.run_with(options()) {
        Ok(report) => told(&report),
        Err(error) => told(error.report().expect("it has run")),
    };
    for ranks in 1..=4 {
        for seed in 0..seeds {
            let found = match Sim::new(ranks).seed(seed).run(&options(), build) {
                Ok(ran) => told(&ran.report),
                Err(error) => match error.report() {
                    Some(report) => told(report),
                    None => panic!("{ranks} ranks, seed {seed}: {error}"),
                },
            };
            assert_eq!(found, expected, "{ranks} ranks, seed {seed}");
        }
    }
}

/// A process that sends on what it receives, and adds one.
fn adds(
    network: &mut Network<'static>,
    name: &str,
    from: kahn::Receiver<u64>,
) -> kahn::Receiver<u64> {
    let (out, next) = network.channel_with(wired(format!("of {name}")));
    network.process(name, (from, out), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n + 1).await;
        }
    });
    next
}

#[test]
fn a_failure_in_the_middle_ends_what_reads_on() {
    is_told_alike(
        |network| {
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("count", out, async |mut out| out.send_all(0..).await);
            let (out, checked) = network.channel_with(wired("checked"));
            network.process("check", (numbers, out), async |(mut from, mut to)| {
                while let Some(n) = from.recv().await {
                    if n == 20 {
                        return Err("it is 20");
                    }
                    to.send(n).await;
                }
                Ok(())
            });
            let more = adds(network, "add", checked);
            network.for_each("sink", more, |_| {});
        },
        12,
    );
}

#[test]
fn a_failure_that_its_reader_has_left_before_is_not_told() {
    is_told_alike(
        |network| {
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("fail late", out, async |mut out| {
                out.send_all(0..10).await;
                Err::<(), _>("nobody sees it")
            });
            let more = adds(network, "add", numbers);
            network.process("take", more, async |mut from| {
                for _ in 0..3 {
                    from.recv().await;
                }
            });
        },
        12,
    );
}

#[test]
fn a_failure_behind_the_last_message_that_was_read_is_told_alike() {
    is_told_alike(
        |network| {
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("fail", out, async |mut out| {
                out.send(1).await;
                Err::<(), _>("after one")
            });
            network.process("take one", numbers, async |mut from| {
                from.recv().await;
            });
        },
        12,
    );
    is_told_alike(
        |network| {
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("fail", out, async |mut out| {
                out.send(1).await;
                drop(out);
                Err::<(), _>("without a sender")
            });
            let more = adds(network, "add", numbers);
            network.for_each("sink", more, |_| {});
        },
        12,
    );
}

#[test]
fn of_two_readers_the_one_that_reads_on_keeps_the_writer() {
    is_told_alike(
        |network| {
            let (to_one, one) = network.channel_with(wired("one"));
            let (to_two, two) = network.channel_with(wired("two"));
            network.process("write", (to_one, to_two), async |(mut one, mut two)| {
                for n in 0..30 {
                    one.send(n).await;
                    two.send(n).await;
                }
                Err::<(), _>("at the end")
            });
            let one = adds(network, "first", one);
            let two = adds(network, "second", two);
            network.process("leaves", one, async |mut from| {
                from.recv().await;
            });
            network.for_each("stays", two, |_| {});
        },
        12,
    );
}

#[test]
fn what_waits_for_the_dead_is_dead_and_what_sends_to_them_goes_on() {
    is_told_alike(
        |network| {
            let (to_b, from_a) = network.channel_with(wired("a to b"));
            let (to_a, from_b) = network.channel_with(wired("b to a"));
            let (out, result) = network.channel_with(wired("result"));
            let (to_ring, numbers) = network.channel_with(wired("numbers"));
            network.process("source", to_ring, async |mut out| out.send_all(0..).await);
            network.process(
                "a",
                (from_b, to_b, numbers),
                async |(mut from, mut to, mut numbers)| {
                    numbers.recv().await;
                    while let Some(n) = from.recv().await {
                        to.send(n).await;
                    }
                },
            );
            network.process("b", (from_a, to_a, out), async |(mut from, mut to, mut out)| {
                while let Some(n) = from.recv().await {
                    to.send(n).await;
                    out.send(n).await;
                }
            });
            let more = adds(network, "add", result);
            network.for_each("sink", more, |_| {});
        },
        12,
    );
}

/// A thread waits for room in a channel to a process that is found dead across ranks. It goes on then, and may wait
/// for another rank before it is asked whether anything is busy.
#[test]
fn a_thread_that_a_death_across_ranks_lets_go_on_is_no_deadlock() {
    is_told_alike(
        |network| {
            let (to_b, from_a) = network.channel_with(wired("a to b"));
            let (to_a, from_b) = network.channel_with(wired("b to a"));
            let (to_ring, unread) = network.channel_with(wired("unread"));
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("a", (from_b, to_b, unread), async |(mut from, _to, _unread)| {
                from.recv().await;
            });
            network.process("b", (from_a, to_a), async |(mut from, _to)| {
                from.recv().await;
            });
            network.blocking("write", (to_ring, out), |(mut to_ring, mut out)| {
                for n in 0..40 {
                    to_ring.send_blocking(n);
                    out.send_blocking(n);
                }
            });
            let mut read = 0;
            network.for_each("read", numbers, move |n| {
                assert_eq!(n, read);
                read += 1;
            });
        },
        40,
    );
}

#[test]
fn a_failure_beside_a_deadlock_is_told_with_it() {
    is_told_alike(
        |network| {
            let (to_self, from_self) = network.channel_with(wired("to itself"));
            network.process("waits", (from_self, to_self), async |(mut from, _to)| {
                from.recv().await;
            });
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("fail", out, async |mut out| {
                out.send_all(0..5).await;
                Err::<(), _>("no luck")
            });
            let more = adds(network, "add", numbers);
            network.for_each("sink", more, |_| {});
        },
        12,
    );
}

#[test]
fn what_its_reader_has_left_at_once_may_have_sent_much_and_is_no_deadlock() {
    is_told_alike(
        |network| {
            // It may create others, so it is never pruned.
            let spawner = network.spawner();
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("write", (out, spawner), async |(mut out, _spawner)| {
                out.send_all(0..9).await;
            });
            network.process("leave", numbers, async |_| Err::<(), _>("at once"));
        },
        20,
    );
}

#[test]
fn a_failure_is_told_by_the_name_of_the_process_that_was_given_the_sender() {
    is_told_alike(
        |network| {
            let spawner = network.spawner();
            let (out, numbers) = network.channel_with(wired("numbers"));
            network.process("give", (out, spawner), async |(out, mut spawner)| {
                spawner.process("fail", out, async |mut out| {
                    out.send(1).await;
                    Err::<(), _>("no luck")
                });
            });
            network.for_each("sink", numbers, |_| {});
        },
        12,
    );
}

/// Both on rank 1; what reads them leaves on rank 0, and with it the link.
#[test]
fn a_loop_on_one_rank_ends_when_nothing_reads_it_on_another() {
    for seed in 0..12 {
        let ran = Sim::new(2).seed(seed).run(&options(), |network| {
            let (to_right, from_left) = network.channel_with(wired("to right").initial([1]));
            let (to_left, from_right) = network.channel_with(wired("to left"));
            let (out, read) = network.channel_with(wired("out"));
            let ports = (from_right, to_right, out);
            let left = Process::named("left").rank(1);
            network.process_with(left, ports, async |(mut from, mut to, mut out)| {
                while let Some(n) = from.recv().await {
                    out.send(n).await;
                    to.send(n + 1).await;
                }
            });
            let right = Process::named("right").rank(1);
            network.process_with(right, (from_left, to_left), async |(mut from, mut to)| {
                while let Some(n) = from.recv().await {
                    to.send(n).await;
                }
            });
            network.process_with(Process::named("takes").rank(0), read, async |mut read| {
                assert_eq!((read.recv().await, read.recv().await), (Some(1), Some(2)));
            });
        });
        let report = ran.expect("it ends").report;
        let ends: Vec<_> = report.processes.iter().map(|one| one.ending.clone()).collect();
        assert_eq!(ends, [ProcessEnd::Pruned, ProcessEnd::Pruned, ProcessEnd::Finished], "{seed}");
    }
}
