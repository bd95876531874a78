//! What the hardware charges: no runtime can be cheaper.

use crate::measure::{Figure, nanoseconds, now, real, rest, time};
use crate::work::steps;
use anyhow::{Result, anyhow};
use rustix::thread::futex;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Measures everything that can be measured on so many cores.
pub(crate) fn measure(workers: usize) -> Result<Vec<Figure>> {
    let mut figures = vec![
        figure("uncontended read-modify-write", read_modify_write()),
        figure("dynamic call", dynamic_call()),
    ];
    if cores() > 1 {
        figures.push(figure("cache line across cores, one way", cache_line()?));
    }
    figures.push(figure("futex round trip", futex_round_trip(300, None)?));
    figures.push(figure("arithmetic, one step on each worker", arithmetic(workers)?));
    Ok(figures)
}

fn figure(metric: &str, value: f64) -> Figure {
    Figure::new(metric, "ns", value)
}

/// Gives the number of cores that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// An atomic read-modify-write that nobody else touches, in a chain.
fn read_modify_write() -> f64 {
    const COUNT: usize = 1_000_000;
    let word = AtomicU64::new(0);
    let (time, ()) = time(|| {
        for n in 0..COUNT as u64 {
            black_box(black_box(&word).swap(n, Ordering::AcqRel));
        }
    });
    nanoseconds(time) / real(COUNT)
}

/// A call through a table of methods.
fn dynamic_call() -> f64 {
    trait Step {
        fn step(&self, x: u64) -> u64;
    }
    struct Add(u64);
    impl Step for Add {
        #[inline(never)]
        fn step(&self, x: u64) -> u64 {
            x.wrapping_add(self.0)
        }
    }
    const COUNT: usize = 2_000_000;
    let step: Box<dyn Step> = Box::new(Add(black_box(3)));
    let step = black_box(step);
    let (time, _) = time(|| (0..COUNT).fold(0, |x, _| black_box(&step).step(x)));
    nanoseconds(time) / real(COUNT)
}

/// Passes a number to and fro between two cores; the time of one way.
fn cache_line() -> Result<f64> {
    const ROUNDS: u64 = 1000;
    const PARTS: u64 = 50;
    #[repr(align(128))]
    struct Line(AtomicU64);
    let line = Line(AtomicU64::new(0));
    let turns = |mine: u64, part: u64| {
        for round in part * ROUNDS..(part + 1) * ROUNDS {
            while line.0.load(Ordering::Acquire) != 2 * round + mine {
                spin_loop();
            }
            line.0.store(2 * round + mine + 1, Ordering::Release);
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| (0..PARTS).for_each(|part| turns(1, part)));
        // In parts, so that one during which a thread was not running does not count.
        let mut parts: Vec<f64> =
            (0..PARTS).map(|part| nanoseconds(time(|| turns(0, part)).0)).collect();
        other.join().map_err(|_| anyhow!("the other thread panicked"))?;
        Ok(median(&mut parts) / real(2 * usize::try_from(ROUNDS)?))
    })
}

/// Two threads wake each other through the kernel; with a pause, before each round trip.
pub(crate) fn futex_round_trip(rounds: u32, pause: Option<Duration>) -> Result<f64> {
    let (there, back) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            for round in 0..rounds {
                wait(&there, round);
                wake(&back);
            }
        });
        let mut times = Vec::new();
        for round in 0..rounds {
            if let Some(pause) = pause {
                rest(pause);
            }
            let since = now();
            wake(&there);
            wait(&back, round);
            times.push(nanoseconds(since.elapsed()));
        }
        other.join().map_err(|_| anyhow!("the other thread panicked"))?;
        Ok(median(&mut times))
    })
}

/// Gives the middle one.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len().is_multiple_of(2) && middle > 0 {
        f64::midpoint(figures[middle - 1], figures[middle])
    } else {
        figures[middle]
    }
}

fn wait(word: &AtomicU32, old: u32) {
    while word.load(Ordering::Acquire) == old {
        let _woken_or_changed = futex::wait(word, futex::Flags::PRIVATE, old, None);
    }
}

fn wake(word: &AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    let _how_many = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Computes on as many threads as there are workers: what a second core brings at most is the ratio
/// of the figure for one worker to that for two.
fn arithmetic(workers: usize) -> Result<f64> {
    const STEPS: u32 = 8_000_000;
    let (time, ended) = time(|| {
        thread::scope(|scope| {
            let others: Vec<_> =
                (1..workers).map(|_| scope.spawn(|| steps(STEPS.into()))).collect();
            steps(STEPS.into());
            others.into_iter().try_for_each(|other| other.join().map(drop))
        })
    });
    ended.map_err(|_| anyhow!("a thread panicked"))?;
    Ok(nanoseconds(time) / f64::from(STEPS) / real(workers))
}
