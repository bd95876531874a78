//! Copy or move: from which size on a message is better sent as a pointer.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::Job;
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, cpus, float};
use crate::rows::Curve;
use crate::side::Pick;
use crate::{Bench, View};

static STUDY: Study = Study { name: "copy-or-move", rounds: 9, points, measure };

const FORMS: [&str; 2] = ["copied", "moved"];
const STAGES: usize = 1;

fn points(plan: &Plan) -> Vec<Point> {
    let messages = plan.size.of(20_000, 300_000, 2_000_000_usize);
    let mut points = Vec::new();
    for cpus in plan.cpus().into_iter().take(2) {
        for bytes in [8, 16, 32, 64, 128, 256, 512, 1024, 2048_usize] {
            let point = Point::new().and("cpus", cpus).and("messages", messages);
            points.extend(point.and("bytes", bytes).each("form", FORMS));
        }
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let [messages, bytes] = ["messages", "bytes"].map(|name| point.count(name).to_string());
    let stages = STAGES.to_string();
    let mut arguments =
        vec!["--stages", &stages, "--messages", &messages, "--bytes", &bytes, "--work", "0ns"];
    if point.text("form") == "moved" {
        arguments.push("--boxed");
    }
    let job =
        Job { app: "pipeline", arguments: &arguments, parts: None, variant: Variant::Network };
    let all = float(point.count("messages"));
    job.measure(options(point), |report, measured| {
        measured.and("ns per message", report.seconds / all * 1e9)
    })
}

/// Copy or move, by the size of a message.
pub(super) static COPY_OR_MOVE: Experiment = Experiment {
    name: "nornir-copy-or-move",
    summary: "messages copied into the channel or moved as a pointer, by size",
    paper: &NORNIR,
    place: "section 4.3 (and HPCC 2009, section 4.2)",
    found: "Allocating a message, sending the pointer and freeing it costs more than copying the \
            message into the channel and out of it, as long as it is smaller than about 256 bytes.",
    method: "A source makes messages, a stage passes them on, a sink reads them all: two channels \
             of capacity 64. Copied, the bytes are in the channel's slots; moved, they are \
             allocated by the source and freed by the sink. Times are for a message from source to \
             sink.",
    studies: &[&STUDY],
    panels,
    claims,
};

fn curve(view: &View, cpus: usize, form: &str) -> Curve {
    let rows = view.rows(&STUDY).with("cpus", cpus).with("form", form);
    rows.curve("bytes", "ns per message")
}

fn panels(view: &View) -> Vec<Panel> {
    let panels = view.plan.cpus().into_iter().take(2).map(|count| {
        let title = cpus(count);
        let bytes = Axis::logarithmic("bytes of a message");
        FORMS
            .iter()
            .fold(Panel::new(title, bytes, Axis::linear("ns per message")), |panel, form| {
                panel.and(Series::line(*form, &curve(view, count, form)))
            })
    });
    panels.collect()
}

fn claims(view: &View) -> Vec<Claim> {
    let claims = view.plan.cpus().into_iter().take(2).flat_map(|count| {
        let at = |form: &str, bytes: usize| {
            let rows = Pick::of(&STUDY, "ns per message").with("cpus", count);
            rows.with("form", form).with("bytes", bytes)
        };
        let on = cpus(count);
        [
            Claim::effect(format!("below 256 bytes copying is cheaper: at 128, on {on}"))
                .between(at("copied", 128), at("moved", 128)),
            Claim::effect(format!("above it moving is cheaper: at 1024, on {on}"))
                .between(at("moved", 1024), at("copied", 1024)),
        ]
    });
    claims.collect()
}
