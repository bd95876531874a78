//! Taking times, and what becomes of them.

use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Measures how long `f` takes.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn time<R>(f: impl FnOnce() -> R) -> (Duration, R) {
    let since = Instant::now();
    let result = f();
    (since.elapsed(), result)
}

/// Nanoseconds for each of `count` operations.
#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
pub(crate) fn each(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count as f64
}

/// Bytes of memory that this process has in use.
pub(crate) fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize =
        statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * rustix::param::page_size()
}

/// CPU time that this process has used.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What is measured of one runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
}

/// Nanoseconds for one message over one channel.
pub(crate) const PER_HOP: Metric = Metric { name: "time per message", unit: "ns" };

/// The figures of all runs of a workload.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    order: Vec<Key>,
    figures: BTreeMap<Key, Vec<f64>>,
}

type Key = (String, Metric, &'static str);

/// One line of the output.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) workload: &'static str,
    pub(crate) runtime: &'static str,
    pub(crate) workers: usize,
    pub(crate) params: String,
    pub(crate) metric: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) runs: usize,
    /// The median to that of the first runtime with the same parameters and metric.
    #[serde(skip)]
    pub(crate) ratio: f64,
}

impl Runs {
    /// Adds the figure of one run.
    pub(crate) fn add(&mut self, runtime: &'static str, params: &str, metric: Metric, figure: f64) {
        let key = (params.to_owned(), metric, runtime);
        if !self.figures.contains_key(&key) {
            self.order.push(key.clone());
        }
        self.figures.entry(key).or_default().push(figure);
    }

    /// Sums up, in the order in which runtimes first ran.
    pub(crate) fn lines(&self, workload: &'static str, workers: usize) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for key in &self.order {
            let (params, metric, runtime) = key;
            let mut figures = self.figures[key].clone();
            figures.sort_by(f64::total_cmp);
            let median = figures[figures.len() / 2];
            let first = lines
                .iter()
                .find(|line| line.params == *params && line.metric == metric.name)
                .map_or(median, |line| line.median);
            lines.push(Line {
                workload,
                runtime,
                workers,
                params: params.clone(),
                metric: metric.name,
                unit: metric.unit,
                median,
                min: figures[0],
                runs: figures.len(),
                ratio: median / first,
            });
        }
        lines
    }
}
