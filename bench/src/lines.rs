//! What becomes of figures: a line for each runtime, parameters, workers and metric.

use crate::floor::median;
use crate::measure::Figure;
use serde::Serialize;
use std::collections::BTreeMap;

/// One line of the output.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) workload: &'static str,
    pub(crate) runtime: &'static str,
    pub(crate) workers: usize,
    pub(crate) params: String,
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) runs: usize,
    /// The median to that of the first runtime of the contest, on as many workers.
    #[serde(skip)]
    pub(crate) ratio: Option<f64>,
}

/// The figures of all runs of a contest.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    order: Vec<Key>,
    figures: BTreeMap<Key, Vec<f64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    workers: usize,
    runtime: &'static str,
    metric: String,
    unit: String,
}

impl Runs {
    /// Adds the figures of one run.
    pub(crate) fn add(&mut self, runtime: &'static str, workers: usize, figures: Vec<Figure>) {
        for Figure { metric, unit, value } in figures {
            let key = Key { workers, runtime, metric, unit };
            if !self.figures.contains_key(&key) {
                self.order.push(key.clone());
            }
            self.figures.entry(key).or_default().push(value);
        }
    }

    /// Sums up: by workers, and then in the order in which runtimes first ran.
    pub(crate) fn lines(&self, workload: &'static str, params: &str) -> Vec<Line> {
        let mut order: Vec<&Key> = self.order.iter().collect();
        order.sort_by_key(|key| key.workers);
        let mut lines: Vec<Line> = Vec::new();
        for key in order {
            let mut figures = self.figures[key].clone();
            let median = median(&mut figures);
            let first = lines.iter().find(|line| {
                (line.workers, line.metric.as_str()) == (key.workers, key.metric.as_str())
            });
            let first = first.map_or(median, |line| line.median);
            lines.push(Line {
                workload,
                runtime: key.runtime,
                workers: key.workers,
                params: params.to_owned(),
                metric: key.metric.clone(),
                unit: key.unit.clone(),
                median,
                min: figures[0],
                runs: figures.len(),
                ratio: (first > 0.0).then(|| median / first),
            });
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_fields_that_are_promised_in_their_order() {
        let mut runs = Runs::default();
        for value in [3.0, 1.0, 4.0, 1.5] {
            runs.add("kahn", 2, vec![Figure::new("time per message", "ns", value)]);
        }
        let line = serde_json::to_string(&runs.lines("ring", "1 token")[0]).unwrap();
        assert_eq!(
            line,
            r#"{"workload":"ring","runtime":"kahn","workers":2,"params":"1 token","metric":"time per message","unit":"ns","median":2.25,"min":1.0,"runs":4}"#
        );
    }

    #[test]
    fn the_ratio_is_to_the_first_runtime_on_as_many_workers() {
        let mut runs = Runs::default();
        for (runtime, workers, value) in [("kahn", 1, 2.0), ("kahn", 2, 8.0), ("go", 2, 4.0)] {
            runs.add(runtime, workers, vec![Figure::new("time", "ns", value)]);
        }
        let lines = runs.lines("ring", "");
        let ratios: Vec<_> = lines.iter().map(|line| line.ratio).collect();
        assert_eq!(ratios, [Some(1.0), Some(1.0), Some(0.5)]);
    }
}
