//! Scatter and gather: two kinds of work stealing.

use kahn::policy::PolicyChoice;
use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::{Job, counted, steals_tried};
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, cpus};
use crate::rows::Curve;
use crate::side::Pick;
use crate::{Bench, View};

static STUDY: Study = Study { name: "scatter-gather", rounds: 9, points, measure };

/// The policies of the paper, and our default beside them.
pub(super) const POLICIES: [&str; 3] = ["ws-last", "ws-cur", "default"];

/// The policy that a point names.
pub(super) fn policy(point: &Point) -> PolicyChoice {
    super::options::policy(point.text("policy"))
}

fn points(plan: &Plan) -> Vec<Point> {
    let workers: Vec<usize> = plan.size.of(
        vec![8, 64, 256],
        vec![8, 16, 32, 64, 128, 192, 256],
        vec![8, 16, 32, 64, 128, 192, 256],
    );
    let rounds = plan.size.of(20, 60, 12_500_usize);
    let mut points = Vec::new();
    for workers in workers {
        let point = Point::new().and("workers", workers).and("rounds", rounds);
        // One CPU under one policy is what all speed-ups refer to.
        points.push(point.clone().and("policy", "ws-last").and("cpus", 1_usize));
        if plan.most_cpus() > 1 {
            points.extend(point.and("cpus", plan.most_cpus()).each("policy", POLICIES));
        }
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let [workers, rounds] = ["workers", "rounds"].map(|name| point.count(name).to_string());
    let arguments = ["--processes", &workers, "--rounds", &rounds, "--work", "100us"];
    let job = Job {
        app: "scatter-gather",
        arguments: &arguments,
        parts: None,
        variant: Variant::Network,
    };
    let run = options(point).policy(policy(point));
    job.measure(run, |report, measured| {
        let won = report.worker_reports.iter().map(|worker| counted(worker.steals_won)).sum();
        measured
            .and("steal attempts per second", steals_tried(report) / report.seconds)
            .and("steals", won)
            .and("steal attempts", steals_tried(report))
    })
}

/// Two kinds of work stealing where one of them is clearly better.
pub(super) static FIGURE_5: Experiment = Experiment {
    name: "nornir-fig-5",
    summary: "scatter and gather: speed-up and steal attempts of ws-last and ws-cur",
    paper: &NORNIR,
    place: "section 5.2.1, figure 5",
    found: "On 8 CPUs the speed-up grows with the number of workers; with 256 it is 7.6 under \
            WS-LAST and 5.7 under WS-CUR. The reason is the rate of steal attempts: WS-CUR wakes \
            all workers onto one queue, and the others steal from it.",
    method: "In each of m rounds a process sends a message to each of n workers, which spend 100 µs \
             of CPU time on it and reply. Speed-up is over one CPU (ws-last). The default policy \
             is measured beside the two of the paper, which are as it describes them: a mutex for \
             each queue.",
    studies: &[&STUDY],
    panels,
    claims,
};

fn speed_up(view: &View, policy: &str) -> Curve {
    let rows = view.rows(&STUDY);
    let one = rows.with("cpus", 1_usize).curve("workers", "seconds");
    let all = rows.with("cpus", view.plan.most_cpus()).with("policy", policy);
    one.over(&all.curve("workers", "seconds"))
}

fn attempts(view: &View, policy: &str) -> Curve {
    let rows = view.rows(&STUDY).with("cpus", view.plan.most_cpus()).with("policy", policy);
    rows.curve("workers", "steal attempts per second")
}

fn panels(view: &View) -> Vec<Panel> {
    let workers = || Axis::logarithmic("workers");
    let title = format!("speed-up on {}", cpus(view.plan.most_cpus()));
    let mut speed = Panel::new(title, workers(), Axis::linear("times"));
    let mut steals = Panel::new("steal attempts", workers(), Axis::linear("per second"));
    for policy in POLICIES {
        speed = speed.and(Series::line(policy, &speed_up(view, policy)));
        steals = steals.and(Series::line(policy, &attempts(view, policy)));
    }
    vec![speed.with_most(view.plan.most_cpus()), steals]
}

fn claims(view: &View) -> Vec<Claim> {
    let cpus = view.plan.most_cpus();
    let at = |policy: &str, cpus: usize, quantity: &str| {
        let rows = Pick::of(&STUDY, quantity).with("workers", 256_usize).with("cpus", cpus);
        rows.with("policy", policy)
    };
    let all = |policy: &str| at(policy, cpus, "seconds");
    let attempts = |policy: &str| at(policy, cpus, "steal attempts per second");
    vec![
        Claim::scaling("256 workers: speed-up 7.6 on 8 CPUs under WS-LAST", 7.6, 8, cpus)
            .between(all("ws-last"), at("ws-last", 1, "seconds")),
        Claim::effect_of("WS-LAST is clearly faster than WS-CUR there: 7.6 to 5.7", 7.6 / 5.7)
            .between(all("ws-last"), all("ws-cur"))
            .on(8),
        Claim::effect("WS-LAST has fewer attempts to steal there, in a second")
            .between(attempts("ws-last"), attempts("ws-cur"))
            .on(8),
    ]
}
