//! Copy or move: from which size on a message is better sent as a pointer.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::Job;
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Outcome, Plan, Statistic, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
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
    statistic: Statistic::Median,
    panels,
    claims,
};

fn curve(view: &View, cpus: usize, form: &str) -> Curve {
    let rows = view.rows(&STUDY).with("cpus", cpus).with("form", form);
    rows.curve("bytes", "ns per message")
}

fn panels(view: &View) -> Vec<Panel> {
    let cpus = view.plan.cpus().into_iter().take(2);
    let panels = cpus.map(|cpus| {
        let title = format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" });
        let bytes = Axis::logarithmic("bytes of a message");
        FORMS
            .iter()
            .fold(Panel::new(title, bytes, Axis::linear("ns per message")), |panel, form| {
                panel.and(Series::line(*form, &curve(view, cpus, form)))
            })
    });
    panels.collect()
}

fn claims(view: &View) -> Vec<Claim> {
    let cpus = view.plan.cpus().into_iter().take(2);
    let claims = cpus.map(|cpus| {
        let ratio = curve(view, cpus, "copied").over(&curve(view, cpus, "moved"));
        let least = ratio.0.first().map(|spot| spot.y);
        Claim::judge(
            &format!("copying is cheaper up to about 256 bytes (with {cpus} workers)"),
            least.map(|least| (least, ratio.reaches(1.0), ratio.last())),
            |(least, crossover, most)| {
                let text = match crossover {
                    Some(bytes) => format!("up to {} bytes", show(bytes)),
                    None => format!(
                        "up to 2048 bytes at least, where it takes {} of the time of moving",
                        show(most.unwrap_or(f64::NAN))
                    ),
                };
                let verdict = match crossover {
                    _ if least >= 1.0 => Verdict::Worse,
                    Some(bytes) if bytes < 128.0 => Verdict::Worse,
                    Some(bytes) if bytes <= 512.0 => Verdict::Reproduced,
                    _ => Verdict::Better,
                };
                (text, verdict)
            },
        )
        .because(
            "an allocation and its release, on another core the more so, cost about as much as \
             copying some hundred bytes between the caches; where the crossover lies depends on \
             the allocator. In Rust the program chooses: a channel of `Box<T>` moves, one of `T` \
             copies",
        )
    });
    claims.collect()
}
