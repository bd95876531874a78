//! The experiments, a file a workload: what is measured, how it is drawn, what the paper says.
//!
//! A new one is a `Study` and an `Experiment` in a file here, and a line in [`EXPERIMENTS`].

mod aes;
mod agents;
mod communicating;
mod film;
mod h264;
mod kmeans;
mod message;
mod options;
mod pipeline;
mod policies;
mod program;
mod random;
mod rendezvous;
mod ring;
mod scatter;
mod snet;
mod transaction;
mod words;

use crate::experiment::Experiment;

/// All experiments, in the order in which lists show them.
///
/// ```
/// let names: Vec<_> = kahn_experiments::EXPERIMENTS.iter().map(|one| one.name).collect();
/// assert!(names.contains(&"nornir-transaction"));
/// ```
pub static EXPERIMENTS: &[&Experiment] = &[
    &message::COPY_OR_MOVE,
    &transaction::TRANSACTION,
    &scatter::FIGURE_5,
    &policies::STEALING,
    &h264::FIGURE_7,
    &random::FIGURE_9,
    &random::TRAFFIC_PATTERNS,
    &h264::FIGURE_10,
    &aes::FIGURE_11,
    &random::FIGURE_12,
    &random::FIGURE_13,
    &random::CAPACITIES,
    &pipeline::FIGURE_14,
    &words::FIGURE_15,
    &kmeans::NORNIR_TABLE_1,
    &words::TABLE_1,
    &words::FIGURE_8,
    &words::MESSAGES_OR_VECTORS,
    &kmeans::TABLE_3,
    &kmeans::FIGURE_9,
    &kmeans::TABLE_4,
    &ring::FIGURE_3,
    &ring::SECTION_4_1,
    &aes::FIGURE_4,
    &aes::COUNTERS,
    &h264::FIGURE_5,
    &snet::FIGURE_7,
    &snet::FIGURE_8,
    &snet::FIGURE_9,
    &snet::FIGURE_10,
    &rendezvous::TABLE_1,
    &film::FIGURE_12,
    &rendezvous::FIGURE_13,
    &agents::FIGURE_15,
    &agents::FIGURE_16,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::EXPERIMENTS;
    use crate::claim::{Claim, Verdict};
    use crate::experiment::{Experiment, Measured, Outcome, Plan, Size, View};
    use crate::point::float;
    use crate::rows::Rows;
    use crate::side::Side;
    use crate::{Machine, Point};

    /// A view in which each point is measured, and everything takes one.
    fn view(experiment: &Experiment, plan: Plan) -> View {
        let machine: Machine = serde_json::from_value(serde_json::json!({
            "processor": "none", "cores": plan.cores, "memory": 0, "system": "", "kahn": "",
            "compiler": "", "program": ""
        }))
        .unwrap();
        let quiet = Measured::default()
            .and("seconds in all", 1.0)
            .and(crate::measure::LOAD, 0.0)
            .and(crate::measure::STEAL, 0.0);
        // What tells where something was measured.
        let quiet =
            ["seconds", "ns per transaction"].iter().fold(quiet, |all, name| all.and(name, 1.0));
        let outcome = Outcome::Measured(quiet);
        let studies = experiment.studies.iter().map(|study| {
            let points: Vec<Point> = (study.points)(&plan);
            let rounds = points.iter().flat_map(|point| (0..9).map(move |round| (point, round)));
            let rows = Rows::collect(rounds.map(|(point, round)| (point, round, &outcome)));
            (study.name, rows)
        });
        let studies = studies.collect();
        View { plan, machine, rounds: 9, seed: 1, studies, used: BTreeMap::new() }
    }

    /// Sets the rows so that ours is so many times better in each round; `rates` as the claim has it.
    fn set(claim: &Claim, view: &mut View, factor: &dyn Fn(usize) -> f64) {
        let better = |factor: f64| if claim.of_rates() { factor } else { 1.0 / factor };
        for (ours, rival) in claim.pairs() {
            match (ours.is_paper(), rival.is_paper()) {
                (None, Some(paper)) => {
                    ours.set(view, |round| paper * better(factor(round)));
                }
                (None, None) => {
                    // Rows of which the rival has some, too, are one.
                    rival.set(view, |_| 1.0);
                    ours.set(view, |round| better(factor(round)));
                }
                (Some(_), _) => panic!("what is measured is ours: {claim:?}"),
            }
        }
    }

    fn verdict(claim: &Claim, view: &View) -> Verdict {
        claim.judge(view).verdict
    }

    /// Every claim that an experiment makes of a fully measured view, with the view.
    fn each(mut f: impl FnMut(&str, &Claim, View)) {
        for experiment in EXPERIMENTS {
            for cores in [2, 8] {
                let plan = Plan { size: Size::Default, cores };
                for claim in (experiment.claims)(&view(experiment, plan)) {
                    let name = format!("{}, {cores} cores: {}", experiment.name, claim.promise());
                    f(&name, &claim, view(experiment, plan));
                }
            }
        }
    }

    /// What it becomes if ours and its rival change places: the same factor the other way round.
    fn swapped(claim: &Claim, mut view: View, factor: f64) -> (Verdict, Verdict) {
        let steady = |factor: f64| move |round: usize| factor * (1.0 + 1e-6 * float(round));
        set(claim, &mut view, &steady(factor));
        let before = verdict(claim, &view);
        set(claim, &mut view, &steady(1.0 / factor));
        (before, verdict(claim, &view))
    }

    #[test]
    fn every_claim_is_lost_when_ours_and_its_rival_change_places() {
        each(|name, claim, view| {
            let (before, after) = swapped(claim, view, 2.0 * claim.factor());
            let good =
                [Verdict::Better, Verdict::Reproduced, Verdict::Consistent(view_cores(name))];
            assert!(good.contains(&before), "{name}: {before}");
            let lost = if claim.is_effect() { Verdict::Absent } else { Verdict::Worse };
            assert_eq!(after, lost, "{name}");
        });
    }

    fn view_cores(name: &str) -> usize {
        if name.contains(", 2 cores") { 2 } else { 8 }
    }

    #[test]
    fn every_claim_may_have_every_verdict_of_its_kind() {
        each(|name, claim, mut view| {
            let mut found = |factor: &dyn Fn(usize) -> f64| {
                set(claim, &mut view, factor);
                verdict(claim, &view)
            };
            let factor = claim.factor();
            let just = found(&|_| factor * 1.001);
            let better = found(&|_| factor * 3.0);
            let noisy =
                found(&|round| if round.is_multiple_of(2) { factor / 4.0 } else { factor * 4.0 });
            assert_eq!(noisy, Verdict::CannotTell, "{name}");
            if claim.is_effect() {
                assert_eq!(found(&|_| 0.9), Verdict::Absent, "{name}");
            } else {
                assert_eq!(found(&|_| factor / 3.0), Verdict::Worse, "{name}");
                if !matches!(just, Verdict::Consistent(_)) {
                    assert_eq!((just, better), (Verdict::Reproduced, Verdict::Better), "{name}");
                }
            }
        });
    }

    #[test]
    fn what_is_not_quiet_or_not_measured_decides_nothing() {
        each(|name, claim, mut view| {
            set(claim, &mut view, &|_| 2.0 * claim.factor());
            for rows in view.studies.values_mut() {
                for row in rows.iter_mut() {
                    row.runs[4].figures.insert(crate::measure::LOAD.to_owned(), 0.2);
                }
            }
            let finding = claim.judge(&view);
            assert_eq!(finding.verdict, Verdict::CannotTell, "{name}");
            assert!(finding.ours.starts_with("1 of 9 rounds were not quiet"), "{}", finding.ours);
            view.studies.values_mut().for_each(|rows| *rows = Rows::default());
            assert_eq!(verdict(claim, &view), Verdict::CannotTell, "{name}");
        });
    }

    /// The folder has a script under the name of each program, which keeps how it was called.
    #[test]
    #[cfg(unix)]
    fn programs_of_others_are_called_as_is_told_and_their_time_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/peer");
        let programs = ["ring", "mtring", "mandel", "agents", "wordcount", "kmeans", "fibonacci"];
        for program in programs.iter().chain(&["poweroftwo"]) {
            std::os::unix::fs::symlink(&script, folder.path().join(program)).unwrap();
        }
        let variables = ["KAHN_PEER_CCSP", "KAHN_PEER_PHOENIX", "KAHN_PEER_FRONT"];
        let peers = variables.map(|name| (name.to_owned(), folder.path().to_owned())).into();
        // Pictures of the paper's size are in no quick film.
        let plans = [Size::Quick, Size::Default].map(|size| Plan { size, cores: 2 });
        let studies: BTreeMap<_, _> = EXPERIMENTS
            .iter()
            .flat_map(|experiment| experiment.studies)
            .map(|study| (study.name, study))
            .collect();
        let is_a_peer = |(_, value): (&str, &crate::point::Value)| {
            ["CCSP", "Phoenix", "FRONT"].contains(&&*value.to_string())
        };
        for study in studies.values() {
            // The last one has the largest size, and two cores.
            let found = plans.iter().find_map(|plan| {
                let points = (study.points)(plan);
                let point = points.into_iter().rfind(|point| point.parameters().any(is_a_peer));
                point.map(|point| (plan, point))
            });
            let Some((plan, point)) = found else { continue };
            let bench = crate::Bench::new(*plan, folder.path(), &peers);
            let measured = (study.measure)(&point, &bench).unwrap();
            let Outcome::Measured(measured) = measured else { panic!("{point}: {measured:?}") };
            assert_eq!(measured.0["seconds"].to_string(), "0.5", "{point}");
        }
        let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
        let text = folder.path().join("zipf-4-20000.txt");
        let calls = calls.replace(&*text.to_string_lossy(), "TEXT");
        let mut calls: Vec<_> = calls.lines().collect();
        calls.sort_unstable();
        let expected = [
            "agents 10 12 on 2",
            "fibonacci 18 on 2",
            "kmeans 20000 100 on 2",
            "mandel 64 on 2",
            "mtring 128 64 on 2",
            "poweroftwo 9 on 2",
            "ring 8000 on 2",
            "wordcount TEXT on 2",
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn what_this_machine_does_not_count_is_not_measured_here() {
        let plan = Plan { size: Size::Default, cores: 2 };
        let view = view(&super::aes::COUNTERS, plan);
        let claims = (super::aes::COUNTERS.claims)(&view);
        let found: Vec<_> = claims.iter().map(|claim| claim.judge(&view)).collect();
        assert_eq!(found.len(), 2);
        for (finding, what) in found.iter().zip(["system calls", "instruction TLB misses"]) {
            assert_eq!(finding.verdict, Verdict::CannotTell);
            let expected = format!("not measured here: {what} of aes-counted, ");
            assert!(finding.ours.starts_with(&expected), "{}", finding.ours);
        }
    }

    #[test]
    fn no_promise_is_counted_twice() {
        let mut promises = BTreeMap::new();
        let mut compared: BTreeMap<String, &str> = BTreeMap::new();
        for experiment in EXPERIMENTS {
            let plan = Plan { size: Size::Default, cores: 2 };
            for claim in (experiment.claims)(&view(experiment, plan)) {
                assert!(!claim.pairs().is_empty(), "{}: {}", experiment.name, claim.promise());
                let key = (experiment.paper.short, claim.promise().to_owned());
                let other = promises.insert(key, experiment.name);
                assert!(other.is_none_or(|name| name == experiment.name), "{}", claim.promise());
                let key = format!("{:?}", claim.pairs());
                let other = compared.insert(key, experiment.name);
                assert_eq!(other, None, "{}: {}", experiment.name, claim.promise());
            }
        }
    }

    #[test]
    fn a_machine_with_one_core_says_that_it_cannot_show_what_takes_several() {
        for experiment in EXPERIMENTS {
            for size in [Size::Quick, Size::Default, Size::Paper] {
                let view = view(experiment, Plan { size, cores: 1 });
                for claim in (experiment.claims)(&view) {
                    let finding = claim.judge(&view);
                    let is_missing = finding.verdict == Verdict::CannotTell;
                    assert!(is_missing || !claim.needs_cores(), "{}", claim.promise());
                }
                // Nor does anything of it panic.
                (experiment.panels)(&view);
            }
        }
    }

    #[test]
    fn what_is_compared_is_something_else() {
        each(|name, claim, _view| {
            for (ours, rival) in claim.pairs() {
                let none = Side::paper(1.0);
                assert!(ours != rival && *ours != none, "{name}");
            }
        });
    }
}
