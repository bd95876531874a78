//! One rank at a time over a transport that knows bytes alone: what ran elsewhere comes as bytes, too.

use kahn::{Channel, Network, Options, ProcessEnd, Summary};
use kahn_net::{Event, Exchange, NetError, OneRank, Placement, Ran, Transport};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// A queue of bytes for each rank. An empty text rings.
struct Pipes {
    rank: usize,
    all: Vec<Sender<(usize, Vec<u8>)>>,
    own: Receiver<(usize, Vec<u8>)>,
    /// What has come while it waited.
    next: VecDeque<(usize, Vec<u8>)>,
}

impl Transport for Pipes {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        // A rank that is done takes no more.
        let _ = self.all[to].send((self.rank, std::mem::take(bytes)));
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        match self.next.pop_front().or_else(|| self.own.try_recv().ok()) {
            Some((from, bytes)) if !bytes.is_empty() => {
                into[from].extend(bytes);
                Event::Bytes(from)
            }
            Some(_) => Event::Later,
            None => Event::Nothing,
        }
    }

    fn wait(&mut self, most: Duration) {
        match self.own.recv_timeout(most) {
            Ok(next) => self.next.push_back(next),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

/// Runs `here` on each of three ranks and returns what each returns.
fn on_three(
    here: impl Fn(usize, OneRank) -> Result<Option<Ran<()>>, NetError> + Sync,
) -> Vec<Result<Option<Ran<()>>, NetError>> {
    let (to, mut from): (Vec<_>, Vec<_>) = (0..3).map(|_| channel()).unzip();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for rank in (0..3).rev() {
            let ring = to[rank].clone();
            let placement = Placement::new().at("count", 1).at("double", 2);
            let (one, exchange): (OneRank, Exchange<_>) =
                OneRank::of(rank, 3, placement, move || {
                    // If the rank is done, it does not wait.
                    let _ = ring.send((rank, Vec::new()));
                });
            let own = from.pop().expect("each has one");
            let pipes = Pipes { rank, all: to.clone(), own, next: VecDeque::new() };
            scope.spawn(move || exchange.run(pipes));
            let here = &here;
            threads.push(scope.spawn(move || here(rank, one)));
        }
        threads.into_iter().rev().map(|one| one.join().expect("it does not panic")).collect()
    })
}

/// `count` on rank 1, `double` on rank 2, `sum` on rank 0; `double` fails at this message, the first being 1.
fn build(network: &mut Network<'static>, fails_at: u64) {
    let wired = |name: &'static str| Channel::<u64>::named(name).wire();
    let (out, numbers) = network.channel_with(wired("numbers"));
    network.process("count", out, async |mut out| out.send_all(1..=100).await);
    let (out, doubled) = network.channel_with(wired("doubled"));
    network.process("double", (numbers, out), async move |(mut numbers, mut out)| {
        while let Some(number) = numbers.recv().await {
            if number == fails_at {
                return Err("no luck");
            }
            out.send(2 * number).await;
        }
        Ok(())
    });
    network.fold("sum", doubled, 0, |sum, number: u64| sum + number);
}

#[test]
fn what_ran_elsewhere_comes_as_bytes_to_rank_0() {
    let mut told =
        on_three(|_, one| one.run(&Options::new().workers(1), |network| build(network, 0)));
    assert!(matches!(told[1..], [Ok(None), Ok(None)]), "{told:?}");
    let ran = told.remove(0).expect("it runs").expect("rank 0 tells");
    let ends = ran.report.processes.iter().map(|one| (one.name.as_str(), &one.ending));
    let finished = ["count", "double", "sum"].map(|name| (name, &ProcessEnd::Finished));
    assert!(ends.eq(finished), "{}", ran.report);
    let received: Vec<_> = ran.report.channels.iter().map(|one| (one.sent, one.received)).collect();
    assert_eq!(received, [(100, 100), (100, 100)]);
    assert_eq!((ran.report.workers, ran.report.worker_reports.len()), (3, 3));
    // The types of messages, too, are told by the ranks that have them.
    assert!(ran.report.channels.iter().all(|one| one.message_type == "u64"));
    assert_eq!(ran.table.rank_of("double"), Some(2));
}

#[test]
fn a_failure_on_another_rank_is_told_with_its_text() {
    let told = on_three(|_, one| one.run(&Options::new(), |network| build(network, 7)));
    let error = told[0].as_ref().expect_err("it fails");
    let report = error.report().expect("it has run");
    assert_eq!(report.outcome, Summary::Failed);
    let failure = &report.failures[0];
    assert_eq!((failure.process.as_str(), failure.message.as_str()), ("double", "no luck"));
    let with: Vec<_> = failure.ended_with_it.iter().map(ToString::to_string).collect();
    assert_eq!(with, ["sum"]);
}

#[test]
fn a_rank_that_gives_up_ends_the_run_and_rank_0_says_why() {
    for rank in 1..3 {
        let told = on_three(|own, one| {
            if own == rank {
                one.give_up("points.csv: no such file");
                return Ok(None);
            }
            one.run(&Options::new(), |network| build(network, 0))
        });
        let error = told[0].as_ref().expect_err("it cannot run");
        assert_eq!(error.to_string(), format!("rank {rank}: points.csv: no such file"));
    }
}

#[test]
fn a_rank_that_is_dropped_has_not_run() {
    let told = on_three(|own, one| {
        if own == 1 {
            drop(one);
            return Ok(None);
        }
        one.run(&Options::new(), |network| build(network, 0))
    });
    let error = told[0].as_ref().expect_err("it cannot run");
    assert_eq!(error.to_string(), "rank 1: it has not built its network");
}

#[test]
fn a_network_that_cannot_be_placed_is_refused_on_all_ranks() {
    let told = on_three(|_, one| {
        one.run(&Options::new(), |network| {
            let numbers = network.source("count", 0..3_u64);
            let doubled = network.map("double", numbers, |number| 2 * number);
            network.for_each("ignore", doubled, |_| {});
        })
    });
    for error in told {
        let error = error.expect_err("it cannot be cut there");
        assert!(matches!(error, NetError::Placement(_)), "{error}");
    }
}
