//! The ordered farm beside rayon: items of one length, and of lengths that differ.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, real, time};
use anyhow::{Result, ensure};
use kahn::{Network, Options};
use kahn_apps::checksum::mix;
use kahn_apps::work::Work;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::sync::Arc;

/// What the farm applies its function to at once, and has in flight.
const AT_ONCE: usize = 8;
const WINDOW: usize = 64;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let even = Bench::of(settings, settings.size(8192, 512), |_| 100.0);
    // From 10 us to 1 ms: as many below 100 us as above.
    let uneven = Bench::of(settings, settings.size(2048, 256), |number| {
        let high_bits = u32::try_from(mix(7, number) >> 32).unwrap_or(0);
        10.0 * 100_f64.powf(f64::from(high_bits) / f64::from(u32::MAX))
    });
    let contest = |(params, bench): (&str, Bench)| {
        let [farm, parallel, one, rayon] = [(); 4].map(|()| bench.clone());
        Contest::new(params, "kahn", move |workers| farm.ordered_map(on(workers)))
            .with("kahn-parallel-map", move |workers| parallel.parallel_map(on(workers)))
            .with("kahn-map", move |workers| one.map(on(workers)))
            .with("rayon", move |workers| rayon.on_rayon(workers))
            .with_floor()
    };
    vec![
        contest(("8192 items of 100 us, window 64", even)),
        contest(("items of 10 us to 1 ms, window 64", uneven)),
    ]
}

/// The steps of work of each item.
#[derive(Clone)]
struct Bench(Arc<[u64]>);

impl Bench {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is rounded")]
    fn of(settings: &Settings, items: usize, microseconds: impl Fn(u64) -> f64) -> Self {
        let steps =
            (0..items as u64).map(|number| settings.steps((microseconds(number) * 1000.0) as u32));
        Self(steps.collect())
    }

    fn apply(steps: u64) -> u64 {
        Work::iterations(steps).spend(steps)
    }

    fn sum(results: impl Iterator<Item = u64>) -> u64 {
        results.fold(0, mix)
    }

    fn figures(&self, time: std::time::Duration, sum: u64) -> Result<Vec<Figure>> {
        ensure!(sum != 0, "there is no checksum");
        // Costs are compared with the work itself, which is the same for all.
        Ok(vec![Figure::new("time per item", "us", time.as_secs_f64() * 1e6 / real(self.0.len()))])
    }

    fn run(
        &self,
        options: Options,
        map: impl Fn(&mut Network<'static>, kahn::Receiver<u64>) -> kahn::Receiver<u64>,
    ) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let items = Arc::clone(&self.0);
        let items = network.source("items", (0..items.len()).map(move |number| items[number]));
        let results = map(&mut network, items);
        let sum = network.fold("sum", results, 0, mix);
        let (time, report) = time(|| network.run_with(options));
        report?;
        self.figures(time, sum.take().unwrap_or(0))
    }

    fn ordered_map(&self, options: Options) -> Result<Vec<Figure>> {
        self.run(options, |network, items| {
            network.ordered_map("farm", items, AT_ONCE, WINDOW, Self::apply)
        })
    }

    fn parallel_map(&self, options: Options) -> Result<Vec<Figure>> {
        self.run(options, |network, items| {
            network.parallel_map("farm", items, AT_ONCE, Self::apply)
        })
    }

    fn map(&self, options: Options) -> Result<Vec<Figure>> {
        self.run(options, |network, items| network.map("farm", items, Self::apply))
    }

    fn on_rayon(&self, workers: usize) -> Result<Vec<Figure>> {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build()?;
        let (time, sum) = time(|| {
            let results: Vec<u64> =
                pool.install(|| self.0.par_iter().map(|&steps| Self::apply(steps)).collect());
            Self::sum(results.into_iter())
        });
        self.figures(time, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_apply_the_same() {
        let bench = Bench((1..50).collect());
        let expected = Bench::sum(bench.0.iter().map(|&steps| Bench::apply(steps)));
        let mut network = Network::new();
        let items = network.source("items", 1..50_u64);
        let results = network.ordered_map("farm", items, AT_ONCE, WINDOW, Bench::apply);
        let sum = network.fold("sum", results, 0, mix);
        network.run().expect("it finishes");
        assert_eq!(sum.take(), Some(expected));
        assert!(bench.on_rayon(2).is_ok() && bench.map(on(1)).is_ok());
    }
}
