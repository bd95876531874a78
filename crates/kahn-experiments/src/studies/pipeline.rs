//! The pipeline: how little work on a message is too little, by the size of messages.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::Job;
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows};
use crate::side::Pick;
use crate::{Bench, View};

static STUDY: Study = Study { name: "pipeline", rounds: 9, points, measure };

const STAGES: usize = 50;
const SIZES: [usize; 5] = [8, 32, 128, 512, 2048];
/// Messages for each second of work in a stage.
const DIVISIONS: [usize; 3] = [1_000, 10_000, 100_000];

fn points(plan: &Plan) -> Vec<Point> {
    let sizes = plan.size.of(&SIZES[..1], &SIZES[..], &SIZES[..]);
    let sizes: &[usize] = if plan.size.name() == "quick" { &[8, 2048] } else { sizes };
    // The share of the paper's messages: the work on each is the paper's.
    let share = plan.size.of(0.002, 0.01, 1.0);
    let mut points = Vec::new();
    for division in DIVISIONS {
        for bytes in sizes {
            let messages = (float(division) * share).max(40.0).floor();
            let point = Point::new().and("d", division).and("bytes", *bytes);
            points.extend(point.and("messages", messages).each("cpus", plan.cpus()));
        }
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let [messages, bytes] = ["messages", "bytes"].map(|name| point.count(name).to_string());
    let work = format!("{}ns", 1_000_000_000 / point.count("d"));
    let stages = STAGES.to_string();
    let arguments =
        ["--stages", &stages, "--messages", &messages, "--bytes", &bytes, "--work", &work];
    let job =
        Job { app: "pipeline", arguments: &arguments, parts: None, variant: Variant::Network };
    let work = float(STAGES * point.count("messages")) / point.number("d");
    let policy = options(point).policy(kahn_policies::WS_LAST);
    job.measure(policy, |report, measured| measured.and("work per second", work / report.seconds))
}

/// The pipeline by message size and work division.
pub(super) static FIGURE_14: Experiment = Experiment {
    name: "nornir-fig-14",
    summary: "the pipeline: speed-up by message size and work on a message",
    paper: &NORNIR,
    place: "section 5.3.4, figure 14",
    found: "50 stages, d messages of 1/d seconds of work in each, messages of 8 to 2048 bytes. \
            Whatever the size, the speed-up drops only at d = 10^5, 10 µs of work on a message, \
            seven times a transaction. Sizes up to 512 bytes make no difference; at 2048 the \
            drop is clear, and it grows with the number of CPUs.",
    method: "Speed-up is the work done in a second: the sum of the calibrated work over all \
             stages, divided by the time. So it is over a program that does nothing but the work. \
             Policy ws-last.",
    studies: &[&STUDY],
    panels,
    claims,
};

fn rows(view: &View, division: usize, bytes: f64) -> Rows {
    view.rows(&STUDY).with("d", division).with("bytes", bytes)
}

fn curve(view: &View, division: usize, bytes: f64) -> Curve {
    rows(view, division, bytes).curve("cpus", "work per second")
}

fn panels(view: &View) -> Vec<Panel> {
    let sizes = view.rows(&STUDY).numbers("bytes");
    let panels = DIVISIONS.map(|division| {
        let title = format!("d = {division}");
        let panel = Panel::new(title, Axis::linear("CPUs").to(8.0), Axis::linear("speed-up"));
        let panel = sizes.iter().fold(panel, |panel, bytes| {
            panel.and(Series::line(format!("{bytes} bytes"), &curve(view, division, *bytes)))
        });
        panel.with_linear(8)
    });
    panels.to_vec()
}

fn claims(view: &View) -> Vec<Claim> {
    let at = |division: usize, bytes: f64| {
        let rows = Pick::of(&STUDY, "work per second").with("cpus", view.plan.most_cpus());
        rows.with("d", division).with("bytes", bytes)
    };
    let sizes = view.rows(&STUDY).numbers("bytes");
    let sizes = sizes.into_iter().filter(|bytes| (9.0..=512.0).contains(bytes));
    let no_difference =
        Claim::advantage("sizes up to 512 bytes make no difference (d = 10^4)", 1.0).rates().on(8);
    vec![
        Claim::advantage("no slow-down down to d = 10^4, 100 µs of work on a message", 1.0)
            .rates()
            .between(at(10_000, 8.0), at(1_000, 8.0))
            .on(8),
        Claim::effect("a noticeable slow-down at d = 10^5, 10 µs of work on a message")
            .rates()
            .between(at(1_000, 8.0), at(100_000, 8.0))
            .on(8),
        sizes.fold(no_difference, |claim, bytes| claim.between(at(10_000, bytes), at(10_000, 8.0))),
        Claim::effect("messages of 2048 bytes are clearly slower than of 8 (d = 10^5)")
            .rates()
            .between(at(100_000, 8.0), at(100_000, 2048.0))
            .on(8),
    ]
}
