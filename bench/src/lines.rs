//! What becomes of figures: a line for each runtime, parameters, workers and metric.

use crate::floor::median;
use crate::measure::Figure;
use kahn_experiments::Disturbance;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of the output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) workload: String,
    pub(crate) runtime: String,
    pub(crate) workers: usize,
    pub(crate) params: String,
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) median: f64,
    pub(crate) min: f64,
    /// What each round measured.
    pub(crate) figures: Vec<f64>,
    /// How many cores others used in each round, where the system tells.
    pub(crate) load: Vec<f64>,
    /// Which share of the time the host took in each.
    pub(crate) steal: Vec<f64>,
    /// How many rounds were disturbed, in each of their tries.
    pub(crate) disturbed: usize,
    /// The median to that of the first runtime of the contest, on as many workers.
    #[serde(skip)]
    pub(crate) ratio: Option<f64>,
}

impl Line {
    /// Whether the two are compared.
    pub(crate) fn is_of_one_contest_with(&self, other: &Self) -> bool {
        (&self.workload, &self.params, &self.metric, self.workers)
            == (&other.workload, &other.params, &other.metric, other.workers)
    }
}

/// What one round measured, and what disturbed it.
pub(crate) struct Round {
    pub(crate) figures: Vec<Figure>,
    pub(crate) disturbance: Option<Disturbance>,
}

impl Round {
    /// Whether it is known that hardly anything else ran.
    pub(crate) fn is_quiet(&self) -> bool {
        self.disturbance.is_some_and(|found| found.is_quiet())
    }
}

/// The figures of all runs of a contest.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    order: Vec<Key>,
    figures: BTreeMap<Key, Found>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    workers: usize,
    runtime: &'static str,
    metric: String,
    unit: String,
}

/// What is known of a key, round by round.
#[derive(Debug, Default)]
struct Found {
    figures: Vec<f64>,
    disturbances: Vec<Disturbance>,
    disturbed: usize,
}

impl Runs {
    /// Adds the figures of one run.
    pub(crate) fn add(&mut self, runtime: &'static str, workers: usize, round: Round) {
        let disturbed = usize::from(!round.is_quiet());
        for Figure { metric, unit, value } in round.figures {
            let key = Key { workers, runtime, metric, unit };
            if !self.figures.contains_key(&key) {
                self.order.push(key.clone());
            }
            let found = self.figures.entry(key).or_default();
            found.figures.push(value);
            found.disturbances.extend(round.disturbance);
            found.disturbed += disturbed;
        }
    }

    /// Sums up: by workers, and then in the order in which runtimes first ran.
    pub(crate) fn lines(&self, workload: &str, params: &str) -> Vec<Line> {
        let mut order: Vec<&Key> = self.order.iter().collect();
        order.sort_by_key(|key| key.workers);
        let mut lines: Vec<Line> = Vec::new();
        for key in order {
            let found = &self.figures[key];
            let mut sorted = found.figures.clone();
            let median = median(&mut sorted);
            let first = lines.iter().find(|line| {
                (line.workers, line.metric.as_str()) == (key.workers, key.metric.as_str())
            });
            let first = first.map_or(median, |line| line.median);
            let each = |of: fn(&Disturbance) -> f64| {
                found.disturbances.iter().map(|round| thousandths(of(round))).collect()
            };
            lines.push(Line {
                workload: workload.to_owned(),
                runtime: key.runtime.to_owned(),
                workers: key.workers,
                params: params.to_owned(),
                metric: key.metric.clone(),
                unit: key.unit.clone(),
                median,
                min: sorted[0],
                figures: found.figures.clone(),
                load: each(|round| round.load),
                steal: each(|round| round.steal),
                disturbed: found.disturbed,
                ratio: (first > 0.0).then(|| median / first),
            });
        }
        lines
    }
}

/// More digits than the system's clock has would say nothing.
fn thousandths(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A round in which hardly anything else ran.
    pub(crate) fn quiet(figures: Vec<Figure>) -> Round {
        let disturbance = Disturbance { seconds: 10.0, load: 0.0123, steal: 0.0 };
        Round { figures, disturbance: Some(disturbance) }
    }

    #[test]
    fn a_line_has_the_fields_that_are_promised_in_their_order() {
        let mut runs = Runs::default();
        for value in [3.0, 1.0, 4.0, 1.5] {
            runs.add("kahn", 2, quiet(vec![Figure::new("time per message", "ns", value)]));
        }
        let line = serde_json::to_string(&runs.lines("ring", "1 token")[0]).unwrap();
        assert_eq!(
            line,
            r#"{"workload":"ring","runtime":"kahn","workers":2,"params":"1 token","metric":"time per message","unit":"ns","median":2.25,"min":1.0,"figures":[3.0,1.0,4.0,1.5],"load":[0.012,0.012,0.012,0.012],"steal":[0.0,0.0,0.0,0.0],"disturbed":0}"#
        );
    }

    #[test]
    fn rounds_that_were_disturbed_or_of_which_nothing_is_known_are_counted() {
        let mut runs = Runs::default();
        let figure = || vec![Figure::new("time", "ns", 1.0)];
        runs.add("kahn", 1, quiet(figure()));
        runs.add("kahn", 1, Round { figures: figure(), disturbance: None });
        let loud = Disturbance { seconds: 10.0, load: 0.5, steal: 0.0 };
        runs.add("kahn", 1, Round { figures: figure(), disturbance: Some(loud) });
        assert_eq!(runs.lines("ring", "")[0].disturbed, 2);
    }

    #[test]
    fn the_ratio_is_to_the_first_runtime_on_as_many_workers() {
        let mut runs = Runs::default();
        for (runtime, workers, value) in [("kahn", 1, 2.0), ("kahn", 2, 8.0), ("go", 2, 4.0)] {
            runs.add(runtime, workers, quiet(vec![Figure::new("time", "ns", value)]));
        }
        let lines = runs.lines("ring", "");
        let ratios: Vec<_> = lines.iter().map(|line| line.ratio).collect();
        assert_eq!(ratios, [Some(1.0), Some(1.0), Some(0.5)]);
    }
}
