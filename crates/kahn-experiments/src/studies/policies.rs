//! ws-cur against ws-last on every other workload.

use kahn_apps::{Failure, Variant, zipf};

use super::options::options;
use super::program::Job;
use super::scatter::{POLICIES, policy};
use crate::Bench;
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows};
use crate::side::Pick;

static STUDY: Study = Study { name: "policies", rounds: 9, points, measure };

/// The workloads: name, and the arguments in the three sizes.
const WORKLOADS: [(&str, [&str; 3]); 6] = [
    ("ring", ["--tokens 64 --cycles 10", "--tokens 64 --cycles 100", "--tokens 64 --cycles 1000"]),
    (
        "pipeline",
        [
            "--messages 200 --work 10us",
            "--messages 1000 --work 10us",
            "--messages 100000 --work 10us",
        ],
    ),
    (
        "random",
        [
            "--messages 50 --work 50us",
            "--messages 200 --work 50us",
            "--messages 10000 --work 100us",
        ],
    ),
    (
        "aes",
        [
            "--size 8M --passes 4 --parts 64",
            "--size 64M --passes 8 --parts 64",
            "--size 256M --passes 40 --parts 64",
        ],
    ),
    (
        "h264-graph",
        [
            "--frames 10 --work 4ms --parts 8",
            "--frames 30 --work 20ms --parts 8",
            "--frames 30 --work 1s --parts 8",
        ],
    ),
    (
        "kmeans",
        [
            "--random 10000 --groups 100 --parts 8",
            "--random 100000 --groups 100 --parts 8",
            "--random 200000 --groups 100 --parts 8",
        ],
    ),
];

/// Word count has a file.
const WORDS: &str = "wordcount";

fn points(plan: &Plan) -> Vec<Point> {
    let cpus = plan.most_cpus();
    let mut points = Vec::new();
    for (workload, arguments) in WORKLOADS {
        let [quick, default, paper] = arguments;
        let arguments = plan.size.of(quick, default, paper);
        let point = Point::new().and("workload", workload).and("arguments", arguments);
        points.extend(point.and("cpus", cpus).each("policy", POLICIES));
    }
    let megabytes = plan.size.of(2, 20, 100_usize);
    let point = Point::new().and("workload", WORDS).and("MB", megabytes).and("cpus", cpus);
    points.extend(point.each("policy", POLICIES));
    points
}

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let run = options(point).policy(policy(point));
    let variant = Variant::Network;
    if point.text("workload") == WORDS {
        let bytes = point.count("MB") * 1_000_000;
        let name = format!("zipf-{}-260000.txt", point.count("MB"));
        let text = bench.input(&name, &|out| zipf::write_text(bytes, 260_000, 1, out))?;
        let text = text.to_string_lossy();
        let job = Job { app: WORDS, arguments: &[&text], parts: Some(8), variant };
        return job.measure(run, |_, measured| measured);
    }
    let mut arguments: Vec<&str> = point.text("arguments").split(' ').collect();
    // The parts are no argument of the program's own.
    let mut parts = None;
    if let Some(at) = arguments.iter().position(|argument| *argument == "--parts") {
        parts = arguments.get(at + 1).and_then(|number| number.parse().ok());
        arguments.drain(at..at + 2);
    }
    let workload = WORKLOADS.iter().map(|(name, _)| *name);
    let app = workload.into_iter().find(|name| *name == point.text("workload"));
    let app = app.ok_or_else(|| Failure::input(format!("no such workload: {point}")))?;
    Job { app, arguments: &arguments, parts, variant }.measure(run, |_, measured| measured)
}

/// Two kinds of work stealing on all workloads but one.
pub(super) static STEALING: Experiment = Experiment {
    name: "nornir-ws-cur-ws-last",
    summary: "ws-cur against ws-last on every workload but scatter and gather",
    paper: &NORNIR,
    place: "section 5.2.1, note 9",
    found: "On all workloads but scatter and gather the times under WS-CUR and WS-LAST are within \
            2 %, mostly in favour of WS-LAST.",
    method: "Each workload once in a size of a fraction of a second, on all CPUs. The default \
             policy of this library is measured beside them.",
    studies: &[&STUDY],
    panels: |view| {
        let rows = view.rows(&STUDY);
        let names: Vec<_> = rows.values("workload");
        let axis = Axis::steps("workload", names.iter());
        let panel = Panel::new("time to that under ws-last", axis, Axis::linear("ratio"));
        let series = ["ws-cur", "default"].map(|policy| {
            let spots = names.iter().enumerate().filter_map(|(step, name)| {
                let name = name.to_string();
                let ratio = curve(rows, &name, policy).over(&curve(rows, &name, "ws-last"));
                Some(ratio.0.into_iter().next()?.at(float(step)))
            });
            Series::columns(policy, &Curve(spots.collect()))
        });
        vec![series.into_iter().fold(panel, Panel::and)]
    },
    claims: |view| {
        let claims = view.rows(&STUDY).values("workload").into_iter().map(|workload| {
            let under = |policy: &str| {
                let rows = Pick::of(&STUDY, "seconds").with("workload", workload.clone());
                rows.with("policy", policy)
            };
            Claim::advantage(format!("{workload}: WS-LAST within 2 % of WS-CUR"), 1.0)
                .within(1.02)
                .between(under("ws-last"), under("ws-cur"))
                .on(8)
        });
        claims.collect()
    },
};

fn curve(rows: &Rows, workload: &str, policy: &str) -> Curve {
    rows.with("workload", workload).with("policy", policy).curve("cpus", "seconds")
}
