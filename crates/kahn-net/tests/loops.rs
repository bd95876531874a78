//! Loops that nothing reads end over several ranks as on one, whatever runs where.

use kahn::testing;
use kahn::{Channel, Network, Options, Process, ProcessEnd, Receiver, Report, Summary};
use kahn_net::Sim;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

fn wired(name: &str) -> Channel<u64> {
    Channel::named(name.to_owned()).wire()
}

type Build = fn(&mut Network<'static>);

/// On one rank, and on two to four, with one worker and two. Processes of these names are placed in turn, 2 on the
/// first rank, so loops lead over ranks.
fn everywhere(processes: &[usize], build: Build, check: fn(&Report)) {
    many_times(12, processes, build, check);
}

/// With so many seeds.
fn many_times(seeds: usize, processes: &[usize], build: Build, check: fn(&Report)) {
    for ranks in 1..=4 {
        for seed in 0..seeds {
            let options = Options::new().workers(1 + seed % 2).capacity(1);
            let place = |sim: Sim, number: &usize| {
                sim.place(format!("{number}"), (number + 2 * ranks - 2) % ranks)
            };
            let sim = processes.iter().fold(Sim::new(ranks).seed(seed as u64), place);
            let ran = testing::within(Duration::from_secs(60), |_| sim.run(&options, build));
            let report = match ran {
                Ok(ran) => ran.report,
                Err(error) => error.report().unwrap_or_else(|| panic!("{error}")).clone(),
            };
            check(&report);
        }
    }
}

fn ending<'a>(report: &'a Report, name: &str) -> &'a ProcessEnd {
    let found = report.processes.iter().find(|process| process.name.as_str() == name);
    &found.expect("listed").ending
}

fn is_pruned(report: &Report, names: &[&str]) {
    for name in names {
        assert_eq!(*ending(report, name), ProcessEnd::Pruned, "{name}: {report}");
    }
}

/// Processes 0 and 1 send each other what is larger by one each time, and 0 sends it out as well.
fn around(network: &mut Network<'static>) -> Receiver<u64> {
    let (to_1, from_0) = network.channel_with(wired("to 1").initial([1]));
    let (to_0, from_1) = network.channel_with(wired("to 0"));
    let (out, read) = network.channel_with(wired("out"));
    network.process("0", (from_1, to_1, out), async |(mut from, mut to, mut out)| {
        while let Some(n) = from.recv().await {
            out.send(n).await;
            to.send(n + 1).await;
        }
    });
    network.process("1", (from_0, to_0), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    read
}

#[test]
fn a_loop_over_ranks_ends_when_nothing_reads_it_any_more() {
    everywhere(
        &[0, 1, 2],
        |network| {
            let read = around(network);
            network.process("2", read, async |mut read| {
                for n in 1..=20 {
                    assert_eq!(read.recv().await, Some(n));
                }
            });
        },
        |report| {
            assert!(report.is_success(), "{report}");
            is_pruned(report, &["0", "1"]);
            assert_eq!(*ending(report, "2"), ProcessEnd::Finished);
        },
    );
}

/// What keeps it going gives up its last sender on one rank when nothing is left on the others that does.
#[test]
fn a_loop_over_ranks_goes_on_while_one_that_sends_no_more_reads_it() {
    everywhere(
        &[0, 1, 3],
        |network| {
            let read = around(network);
            let (out, few) = network.channel_with(wired("few"));
            network.process("3", (read, out), async |(mut read, mut out)| {
                for n in 1..=3 {
                    assert_eq!(read.recv().await, Some(n));
                    out.send(n).await;
                }
                drop(out);
                for n in 4..=50 {
                    assert_eq!(read.recv().await, Some(n));
                }
            });
            network.process("sink", few, async |mut few| while few.recv().await.is_some() {});
        },
        |report| {
            assert!(report.is_success(), "{report}");
            is_pruned(report, &["0", "1"]);
            for name in ["3", "sink"] {
                assert_eq!(*ending(report, name), ProcessEnd::Finished);
            }
        },
    );
}

/// Those that read the loop wait for each other, on two ranks, while it goes on.
#[test]
fn a_loop_over_ranks_ends_when_what_reads_it_waits_for_ever() {
    everywhere(
        &[0, 1, 2, 3],
        |network| {
            let read = around(network);
            let (to_3, from_2) = network.channel_with(wired("to 3"));
            let (to_2, from_3) = network.channel_with(wired("to 2"));
            let dead = Process::named("2").effects();
            network.process_with(
                dead,
                (read, from_3, to_3),
                async |(mut read, mut from, mut to)| {
                    assert_eq!(read.recv().await, Some(1));
                    from.recv().await;
                    to.send(1).await;
                },
            );
            network.process("3", (from_2, to_2), async |(mut from, mut to)| {
                from.recv().await;
                to.send(1).await;
            });
        },
        |report| {
            assert_eq!(report.outcome, Summary::Deadlock, "{report}");
            is_pruned(report, &["0", "1"]);
        },
    );
}

/// Nothing reads them but each other: each sends on what comes, and tells what is on the next rank.
#[test]
fn two_loops_over_ranks_end_with_what_reads_the_last() {
    everywhere(
        &[0, 1, 2],
        |network| {
            let first = around(network);
            let (back, around) = network.channel_with(wired("around").initial([0]));
            let (out, sums) = network.channel_with(wired("sums"));
            network.process("2", (first, around, back, out), async |ports| {
                let (mut first, mut around, mut back, mut out) = ports;
                while let (Some(a), Some(b)) = (first.recv().await, around.recv().await) {
                    back.send(a + b).await;
                    out.send(a + b).await;
                }
            });
            network.process("takes", sums, async |mut sums| {
                assert_eq!((sums.recv().await, sums.recv().await), (Some(1), Some(3)));
            });
        },
        |report| {
            assert!(report.is_success(), "{report}");
            is_pruned(report, &["0", "1", "2"]);
        },
    );
}

/// On a rank that does not know yet that no root is left.
#[test]
fn what_is_pruned_on_one_rank_is_no_end_on_another() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    // 1 and 13 on one rank, which is none of those of 0 and 2.
    many_times(
        60,
        &[0, 1, 2, 13],
        |network| {
            let (to_1, from_0) = network.channel_with(wired("to 1").initial([1]));
            let (to_0, from_1) = network.channel_with(wired("to 0"));
            let (out, read) = network.channel_with(wired("out"));
            let (to_13, last) = network.channel_with(wired("to 13"));
            let (never, end) = network.channel_with(wired("never"));
            network.process("0", (from_1, to_1, out), async |(mut from, mut to, mut out)| {
                while let Some(n) = from.recv().await {
                    out.send(n).await;
                    to.send(n + 1).await;
                }
            });
            network.process("1", (from_0, to_0, to_13), async |(mut from, mut to, mut to_13)| {
                while let Some(n) = from.recv().await {
                    to.send(n).await;
                }
                to_13.send(0).await;
            });
            network.process("13", (last, never), async |(mut last, mut never)| {
                if last.recv().await.is_some() {
                    SEEN.fetch_add(1, SeqCst);
                }
                never.send(0).await;
            });
            network.process("2", (read, end), async |(mut read, _end)| {
                assert_eq!(read.recv().await, Some(1));
            });
        },
        |report| {
            is_pruned(report, &["0", "1", "13"]);
            assert_eq!(SEEN.load(SeqCst), 0, "an end was seen that is none");
        },
    );
}
