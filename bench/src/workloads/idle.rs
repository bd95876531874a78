//! A network in which nothing happens: what it uses, and how long it takes to wake.
//!
//! A thread outside sends a message into a chain of processes and waits for it to come out. While it
//! rests, everything sleeps, so a round trip wakes a worker, and that the thread.

use super::on;
use crate::contest::{Contest, Settings};
use crate::floor::{self, median};
use crate::measure::{Figure, cpu_time, nanoseconds, now, real, rest};
use crate::peers::{Blocking, BlockingProgram, May};
use anyhow::{Result, anyhow, bail};
use kahn::Network;
use std::thread;
use std::time::Duration;

/// Long enough for workers to fall asleep.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let idle = Idle { seconds: settings.size(10, 1), trips: settings.size(300, 100) };
    let params = format!("50 stages, {} s", idle.seconds);
    let cpu = Contest::new(params, "kahn", move |workers| idle.ours(workers, 50, Idle::used))
        .with("tokio-kanal", move |workers| idle.tokio(workers, 50, Idle::used))
        .with_blocking::<May>("may", Waiting { idle, stages: 50, driver: Idle::used });
    let wake =
        Contest::new("wake-up and reply", "kahn", move |workers| idle.ours(workers, 1, Idle::wake))
            .with("tokio-kanal", move |workers| idle.tokio(workers, 1, Idle::wake))
            .with_blocking::<May>("may", Waiting { idle, stages: 1, driver: Idle::wake })
            .with("floor", move |_| {
                let rounds = u32::try_from(idle.trips)?;
                let rested = floor::futex_round_trip(rounds, Some(PAUSE))?;
                Ok(vec![
                    Figure::new(WAKE, "ns", rested),
                    Figure::new("futex round trip", "ns", floor::futex_round_trip(rounds, None)?),
                ])
            });
    let light = Contest::new("a request each ms", "kahn", move |workers| {
        idle.ours(workers, 1, Idle::light)
    })
    .with("tokio-kanal", move |workers| idle.tokio(workers, 1, Idle::light))
    .with_blocking::<May>("may", Waiting { idle, stages: 1, driver: Idle::light });
    vec![cpu, wake, light]
}

const WAKE: &str = "round trip after a rest";

/// How long to do nothing, and how often to wake.
#[derive(Clone, Copy)]
struct Idle {
    seconds: usize,
    trips: usize,
}

/// Drives the network by a round trip as often as it likes.
type Driver = fn(Idle, &mut dyn FnMut() -> Result<()>) -> Result<Vec<Figure>>;

impl Idle {
    /// Does nothing for some seconds.
    fn used(self, trip: &mut dyn FnMut() -> Result<()>) -> Result<Vec<Figure>> {
        // Once through, so that everything has run and waits.
        trip()?;
        rest(Duration::from_millis(100));
        let before = cpu_time();
        rest(Duration::from_secs(self.seconds as u64));
        let used = cpu_time().saturating_sub(before).as_secs_f64() * 1000.0;
        Ok(vec![Figure::new("CPU time per second", "ms", used / real(self.seconds))])
    }

    /// Has it answer a request each millisecond: about one hundredth of what it could do.
    fn light(self, trip: &mut dyn FnMut() -> Result<()>) -> Result<Vec<Figure>> {
        trip()?;
        rest(Duration::from_millis(100));
        let (before, since) = (cpu_time(), now());
        for _ in 0..self.seconds * 1000 {
            rest(Duration::from_millis(1));
            trip()?;
        }
        let used = cpu_time().saturating_sub(before).as_secs_f64() * 1000.0;
        let seconds = since.elapsed().as_secs_f64();
        Ok(vec![Figure::new("CPU time per second", "ms", used / seconds)])
    }

    /// Wakes it often.
    fn wake(self, trip: &mut dyn FnMut() -> Result<()>) -> Result<Vec<Figure>> {
        let mut times = Vec::new();
        for _ in 0..self.trips {
            rest(PAUSE);
            let since = now();
            trip()?;
            times.push(nanoseconds(since.elapsed()));
        }
        Ok(vec![Figure::new(WAKE, "ns", median(&mut times))])
    }

    fn ours(self, workers: usize, stages: usize, driver: Driver) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let (question, mut last) = network.channel::<u64>("question");
        for number in 0..stages {
            let (out, next) = network.channel(format!("from {number}"));
            let ports = (last, out);
            network.process(format!("stage {number}"), ports, async |(mut left, mut right)| {
                while let Some(message) = left.recv().await {
                    right.send(message).await;
                }
            });
            last = next;
        }
        let (mut ask, mut hear) = network.outside("driver", (question, last));
        let driver = thread::Builder::new().spawn(move || {
            driver(self, &mut || {
                ask.send_blocking(1)?;
                hear.recv_blocking()?;
                Ok(())
            })
        })?;
        network.run_with(on(workers))?;
        driver.join().map_err(|_| anyhow!("the driver panicked"))?
    }

    fn tokio(self, workers: usize, stages: usize, driver: Driver) -> Result<Vec<Figure>> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).build()?;
        let (ask, mut last) = kanal::bounded_async::<u64>(64);
        for _ in 0..stages {
            let (right, next) = kanal::bounded_async::<u64>(64);
            let left = last;
            runtime.spawn(async move {
                while let Ok(message) = left.recv().await {
                    if right.send(message).await.is_err() {
                        break;
                    }
                }
            });
            last = next;
        }
        let (ask, hear) = (ask.to_sync(), last.to_sync());
        driver(self, &mut || {
            ask.send(1)?;
            hear.recv()?;
            Ok(())
        })
    }
}

/// The same for code that blocks; the thread outside uses crossbeam's channel, which wakes threads.
#[derive(Clone, Copy)]
struct Waiting {
    idle: Idle,
    stages: usize,
    driver: Driver,
}

impl BlockingProgram for Waiting {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        B::start(workers);
        let (ask, asked) = may::sync::mpsc::channel::<u64>();
        let (answer, hear) = crossbeam_channel::bounded::<u64>(64);
        let (mut first, mut last) = B::bounded::<u64>(64);
        B::spawn(move || while asked.recv().is_ok_and(|message| B::send(&mut first, message)) {})?;
        for _ in 1..self.stages {
            let (mut right, next) = B::bounded::<u64>(64);
            let mut left = last;
            B::spawn(move || while B::recv(&mut left).is_some_and(|n| B::send(&mut right, n)) {})?;
            last = next;
        }
        B::spawn(move || while B::recv(&mut last).is_some_and(|n| answer.send(n).is_ok()) {})?;
        (self.driver)(self.idle, &mut || {
            if ask.send(1).is_err() || hear.recv().is_err() {
                bail!("the chain has ended");
            }
            Ok(())
        })
    }
}
