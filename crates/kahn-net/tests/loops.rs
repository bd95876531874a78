//! Loops that nothing reads end over several ranks as on one, whatever runs where.

use kahn::testing;
use kahn::{Channel, Network, Options, Process, ProcessEnd, Receiver, Report, Summary};
use kahn_net::{Event, OneRank, Placement, Ran, Sim, Transport};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn wired(name: &str) -> Channel<u64> {
    Channel::named(name.to_owned()).wire()
}

type Build = fn(&mut Network<'static>);

/// On one rank, and on two to four, with one worker and two. Processes of these names are placed in turn, 2 on the
/// first rank, so loops lead over ranks. What was received is the same as far as it was received.
fn everywhere(processes: &[usize], build: Build, check: fn(&Report)) {
    let mut first = None::<Ran<()>>;
    for ranks in 1..=4 {
        for seed in 0..12 {
            let options = Options::new().workers(1 + seed % 2).capacity(1).histories();
            let place = |sim: Sim, number: &usize| {
                sim.place(format!("{number}"), (number + 2 * ranks - 2) % ranks)
            };
            let sim = processes.iter().fold(Sim::new(ranks).seed(seed as u64), place);
            let ran = testing::within(Duration::from_secs(60), |_| sim.run(&options, build));
            match ran {
                Ok(ran) => {
                    check(&ran.report);
                    let difference = first.as_ref().and_then(|first| first.difference(&ran));
                    assert_eq!(difference, None, "{ranks} ranks, seed {seed}");
                    first.get_or_insert(ran);
                }
                Err(error) => check(error.report().unwrap_or_else(|| panic!("{error}"))),
            }
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

/// It has finished: these processes by themselves, and those were pruned.
fn is_finished(report: &Report, finished: &[&str], pruned: &[&str]) {
    assert!(report.is_success(), "{report}");
    is_pruned(report, pruned);
    for name in finished {
        assert_eq!(*ending(report, name), ProcessEnd::Finished, "{name}: {report}");
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
        |report| is_finished(report, &["2"], &["0", "1"]),
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
        |report| is_finished(report, &["3", "sink"], &["0", "1"]),
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

/// The second reads the first, and is read by one that has enough after two.
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
        |report| is_finished(report, &["takes"], &["0", "1", "2"]),
    );
}

/// How often what comes from the first rank to the last is left where it is.
const LEFT: u32 = 2_000;

/// Carries bytes from rank to rank within this program; what goes from the first rank to the last comes late.
struct Carrier {
    /// By the rank that sends, and the one that receives.
    ways: Vec<Vec<Mutex<Vec<u8>>>>,
    bells: Vec<(Mutex<bool>, Condvar)>,
}

impl Carrier {
    fn of(ranks: usize) -> Arc<Self> {
        let to_all = |_| (0..ranks).map(|_| Mutex::default()).collect();
        let bells = (0..ranks).map(|_| Default::default()).collect();
        Arc::new(Self { ways: (0..ranks).map(to_all).collect(), bells })
    }

    fn ring(&self, rank: usize) {
        *self.bells[rank].0.lock() = true;
        self.bells[rank].1.notify_one();
    }
}

struct OneEnd {
    rank: usize,
    carrier: Arc<Carrier>,
    left: u32,
}

impl Transport for OneEnd {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        self.carrier.ways[self.rank][to].lock().append(bytes);
        self.carrier.ring(to);
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        let mut is_left = false;
        for (from, to) in self.carrier.ways.iter().enumerate() {
            let mut bytes = to[self.rank].lock();
            if bytes.is_empty() {
                continue;
            }
            let is_slow = from == 0 && self.rank + 1 == self.carrier.ways.len();
            if is_slow && self.left > 0 {
                (self.left, is_left) = (self.left - 1, true);
                continue;
            }
            if is_slow {
                self.left = LEFT;
            }
            into[from].append(&mut bytes);
            return Event::Bytes(from);
        }
        if is_left { Event::Later } else { Event::Nothing }
    }

    fn wait(&mut self, most: Duration) {
        let (has_rung, bell) = &self.carrier.bells[self.rank];
        let mut has_rung = has_rung.lock();
        if !*has_rung {
            bell.wait_for(&mut has_rung, most);
        }
        *has_rung = false;
    }
}

/// Runs it on three ranks; the last hears late of what the first decides.
fn with_a_rank_that_hears_late(options: &Options, build: Build) -> Report {
    let carrier = Carrier::of(3);
    thread::scope(|scope| {
        let ran = |rank| {
            let bell = Arc::clone(&carrier);
            let (one, exchange) = OneRank::of(rank, 3, Placement::new(), move || bell.ring(rank));
            let end = OneEnd { rank, carrier: Arc::clone(&carrier), left: LEFT };
            scope.spawn(move || exchange.run(end));
            scope.spawn(move || one.run(options, build))
        };
        let mut all = (0..3).map(ran).collect::<Vec<_>>().into_iter();
        let first = all.next().expect("there are three").join().expect("it does not panic");
        first.expect("it ends").expect("it is the first").report
    })
}

/// Processes 0 and 1 send each other what comes, and what is read on the first rank comes from 0. What 1 sends when
/// that is at its end comes to 2, on the same rank.
#[test]
fn what_is_pruned_on_one_rank_is_no_end_on_another() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let build: Build = |network| {
        let (to_1, from_0) = network.channel_with(wired("to 1").initial([1]));
        let (to_0, from_1) = network.channel_with(wired("to 0"));
        let (out, read) = network.channel_with(wired("out"));
        let (to_2, last) = network.channel_with(wired("to 2"));
        let (back, from_2) = network.channel_with(wired("back"));
        let ports = (from_1, to_1, out);
        let on_rank = |name: &str, rank| Process::named(name.to_owned()).rank(rank);
        network.process_with(on_rank("0", 1), ports, async |(mut from, mut to, mut out)| {
            while let Some(n) = from.recv().await {
                out.send(n).await;
                to.send(n + 1).await;
            }
        });
        let ports = (from_0, to_0, to_2, from_2);
        network.process_with(
            on_rank("1", 2),
            ports,
            async |(mut from, mut to, mut to_2, mut from_2)| {
                while let Some(n) = from.recv().await {
                    to.send(n).await;
                }
                to_2.send(0).await;
                from_2.recv().await;
            },
        );
        network.process_with(on_rank("2", 2), (last, back), async |(mut last, mut back)| {
            if last.recv().await.is_some() {
                SEEN.fetch_add(1, SeqCst);
            }
            back.send(0).await;
        });
        network.process_with(on_rank("takes", 0), read, async |mut read| {
            assert_eq!(read.recv().await, Some(1));
        });
    };
    for workers in [1, 2] {
        let options = Options::new().workers(workers).capacity(1);
        let run = |_: &_| with_a_rank_that_hears_late(&options, build);
        let report = testing::within(Duration::from_secs(60), run);
        is_pruned(&report, &["0", "1", "2"]);
        assert_eq!(SEEN.load(SeqCst), 0, "an end was seen that is none");
    }
}
