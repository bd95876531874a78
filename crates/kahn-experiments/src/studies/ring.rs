//! The ring against what the system has: threads and message queues.

use kahn_apps::Failure;

use super::options::{options, pinned};
use super::transaction::time_ring;
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::native::{LEAST_MESSAGE, network_ring, thread_ring};
use crate::papers::TECHNIQUES;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
use crate::side::Pick;
use crate::{Bench, View};

static STUDY: Study = Study { name: "ring", rounds: 10, points, measure };

/// The configurations: their name in the paper, policy, placement, CPUs and transport.
const CONFIGURATIONS: [(&str, &str, &str, usize, &str); 8] = [
    ("U/1/O", "static", "round-robin", 1, "ours"),
    ("U/G/2/O", "static", "good", 2, "ours"),
    ("U/B/2/O", "static", "bad", 2, "ours"),
    ("P/n/O", "threads", "round-robin", 2, "ours"),
    ("U/1/N", "static", "round-robin", 1, "queues"),
    ("U/G/2/N", "static", "good", 2, "queues"),
    ("U/B/2/N", "static", "bad", 2, "queues"),
    ("P/n/N", "threads", "round-robin", 2, "queues"),
];

fn points(plan: &Plan) -> Vec<Point> {
    let processes: Vec<usize> = plan.size.of(
        vec![10, 100, 1000],
        vec![10, 50, 100, 250, 500, 750, 1000],
        [10].into_iter().chain((50..=1000).step_by(50)).collect(),
    );
    let transactions = plan.size.of(5_000, 100_000, 1_000_000_usize);
    let mut points = Vec::new();
    for processes in processes {
        for (name, policy, placement, cpus, transport) in CONFIGURATIONS {
            if cpus > plan.cores {
                continue;
            }
            // What takes nanoseconds is done more often, so that there is something to measure.
            let is_short = transport == "ours" && policy != "threads" && placement != "bad";
            let times = if is_short { 10 } else { 1 };
            let times = plan.size.of(times, times, 1);
            points.push(
                Point::new()
                    .and("configuration", name)
                    .and("policy", policy)
                    .and("pin", pinned(policy))
                    .and("placement", placement)
                    .and("cpus", cpus)
                    .and("transport", transport)
                    .and("processes", processes)
                    .and("laps", times * transactions / processes),
            );
        }
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let (processes, laps) = (point.count("processes"), point.count("laps"));
    let outcome = match (point.text("policy"), point.text("transport")) {
        ("threads", "queues") => Ok(thread_ring(processes, laps)),
        (_, "queues") => network_ring(processes, laps, bytes(point), options(point)),
        _ => time_ring(processes, laps, options(point)),
    };
    Ok(match outcome? {
        Outcome::Measured(measured) => {
            let each = measured.0["seconds"] / float(processes * laps);
            Outcome::Measured(measured.and("ns per transaction", each * 1e9))
        }
        refused @ Outcome::Refused(_) => refused,
    })
}

/// The bytes of a message in a queue.
fn bytes(point: &Point) -> usize {
    point.get("bytes").map_or(LEAST_MESSAGE, |_| point.count("bytes"))
}

static SIZES: Study = Study { name: "ring-sizes", rounds: 10, points: points_of_sizes, measure };

fn points_of_sizes(plan: &Plan) -> Vec<Point> {
    let point = Point::new().and("configuration", "U/1/N").and("policy", "static");
    let point = point.and("pin", "on").and("placement", "round-robin").and("cpus", 1_usize);
    let point = point.and("transport", "queues").and("processes", 10_usize);
    let point = point.and("laps", plan.size.of(1_000, 20_000, 100_000_usize));
    point.each("bytes", [LEAST_MESSAGE, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192])
}

/// What the size of a message costs in a queue.
pub(super) static SECTION_4_1: Experiment = Experiment {
    name: "native-sizes",
    summary: "the ring over message queues: the price by the size of a message",
    paper: &TECHNIQUES,
    place: "section 4.1",
    found: "Message queues perform alike for messages of up to 128 bytes, and worse in proportion to \
            the size beyond, for they copy.",
    method: "One token in a ring of 10 processes on one worker, in message queues of the system, as \
             U/1/N of figure 3. Our own transport takes a pointer, whatever is behind it.",
    studies: &[&SIZES],
    panels: |view| {
        let curve = view.rows(&SIZES).curve("bytes", "ns per transaction");
        let bytes = Axis::logarithmic("bytes of a message");
        let panel = Panel::new("message queues", bytes, Axis::linear("ns per transaction"));
        vec![panel.and(Series::line("U/1/N", &curve))]
    },
    claims: |_view| {
        let at = |bytes: usize| Pick::of(&SIZES, "ns per transaction").with("bytes", bytes);
        let same = Claim::advantage("messages of up to 128 bytes cost the same in a queue", 1.0);
        let same = same.within(1.1);
        vec![
            [32, 64, 128]
                .into_iter()
                .fold(same, |claim, bytes| claim.between(at(bytes), at(LEAST_MESSAGE))),
            Claim::effect("larger ones cost more: 8192 bytes").between(at(128), at(8192)),
        ]
    },
};

/// The ring in all configurations.
pub(super) static FIGURE_3: Experiment = Experiment {
    name: "native-fig-3",
    summary: "the ring: our scheduler and transport against threads and message queues",
    paper: &TECHNIQUES,
    place: "section 4.1, figure 3",
    found: "The own transport is 1.7 to 1.9 times faster than POSIX message queues. The own \
            scheduler is fastest with one runner; with a good placement on two it is 6.5 times \
            faster than threads at 1000 processes, with a bad one 1.25 times. Threads get slower \
            with more processes, the own scheduler does not.",
    method: "One token goes round a ring of n processes, about 10^6 times in the paper; the time is \
             that of all laps after one to warm up, divided by the number of messages. U is our \
             scheduler with the policy `static`, on one worker or two, with a good (G) or bad (B) \
             placement; P is a thread for each process. O is our transport, N are POSIX message \
             queues: on threads a process waits in the queue, on workers the channel tells the \
             scheduler and the queue carries the message, as in the paper.",
    studies: &[&STUDY],
    panels,
    claims,
};

fn curve(view: &View, configuration: &str) -> Curve {
    let rows = view.rows(&STUDY).with("configuration", configuration);
    rows.curve("processes", "ns per transaction")
}

fn panels(view: &View) -> Vec<Panel> {
    let panel = |title: &str, configurations: &[&str]| {
        let processes = Axis::linear("processes");
        let mut panel = Panel::new(title, processes, Axis::logarithmic("ns per transaction"));
        for name in configurations {
            panel = panel.and(Series::line(*name, &curve(view, name)));
        }
        panel
    };
    // As in the paper: both transports, and both schedulers, in one axis.
    vec![
        panel("one runner", &["U/1/O", "U/1/N"]),
        panel("good placement, and threads", &["U/G/2/O", "U/G/2/N", "P/n/O", "P/n/N"]),
        panel("bad placement, and threads", &["U/B/2/O", "U/B/2/N", "P/n/O", "P/n/N"]),
    ]
}

fn claims(view: &View) -> Vec<Claim> {
    let with = |name: &str, processes: f64| {
        let rows = Pick::of(&STUDY, "ns per transaction").with("configuration", name);
        rows.with("processes", processes)
    };
    let at = |name: &str, processes: usize| with(name, float(processes));
    let queues =
        Claim::advantage("our transport is 1.7 to 1.9 times faster than message queues", 1.7);
    // As many as the system has queues for.
    let measured = curve(view, "U/1/N").0;
    vec![
        Claim::advantage("well placed, our scheduler beats threads at n = 1000", 6.5)
            .between(at("U/G/2/O", 1000), at("P/n/O", 1000))
            .on(2),
        Claim::advantage("badly placed, it still does at n = 1000", 1.25)
            .between(at("U/B/2/O", 1000), at("P/n/O", 1000))
            .on(2),
        measured.iter().fold(queues, |claim, spot| {
            claim.between(with("U/1/O", spot.x), with("U/1/N", spot.x))
        }),
        Claim::advantage("our scheduler performs best with a single runner (n = 1000)", 1.0)
            .between(at("U/1/O", 1000), at("U/G/2/O", 1000))
            .between(at("U/1/O", 1000), at("U/B/2/O", 1000))
            .on(2),
        Claim::advantage("from 100 to 1000 processes our scheduler stays constant", 1.0)
            .within(1.1)
            .between(at("U/G/2/O", 1000), at("U/G/2/O", 100))
            .on(2),
        Claim::effect("from 100 to 1000 processes threads get slower")
            .between(at("P/n/O", 100), at("P/n/O", 1000))
            .on(2),
    ]
}
