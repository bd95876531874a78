//! The ring against what the system has: threads and message queues.

use kahn_apps::Failure;

use super::options::options;
use super::transaction::time_ring;
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Outcome, Plan, Statistic, Study};
use crate::native::{network_ring, thread_ring};
use crate::papers::TECHNIQUES;
use crate::plot::{Axis, Panel, Series};
use crate::point::Point;
use crate::rows::Curve;
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
        (_, "queues") => network_ring(processes, laps, options(point)),
        _ => time_ring(processes, laps, options(point)),
    };
    Ok(match outcome? {
        Outcome::Measured(measured) => {
            let each = measured.0["seconds"] / crate::point::float(processes * laps);
            Outcome::Measured(measured.and("ns per transaction", each * 1e9))
        }
        refused @ Outcome::Refused(_) => refused,
    })
}

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
    statistic: Statistic::Mean,
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
    vec![
        panel("our transport", &["U/1/O", "U/G/2/O", "U/B/2/O", "P/n/O"]),
        panel("message queues", &["U/1/N", "U/G/2/N", "U/B/2/N", "P/n/N"]),
    ]
}

fn claims(view: &View) -> Vec<Claim> {
    let ratio = |above: &str, below: &str| curve(view, above).over(&curve(view, below));
    let times = |least: f64, better: f64| {
        move |ratio: f64| {
            (format!("{} times", show(ratio)), Verdict::at_least(ratio, least, better))
        }
    };
    let threads = curve(view, "P/n/O");
    let flat = |curve: &Curve| curve.at(1000.0).zip(curve.at(100.0)).map(|(far, near)| far / near);
    let transports = ratio("U/1/N", "U/1/O");
    vec![
        Claim::judge(
            "with a good placement our scheduler is 6.5 times faster than threads at n = 1000",
            ratio("P/n/O", "U/G/2/O").at(1000.0),
            times(6.5, 13.0),
        )
        .because(
            "a thread must be woken by the kernel for every message; a process is polled by a \
             worker that is awake",
        ),
        Claim::judge(
            "with a bad placement it is 1.25 times faster at n = 1000",
            ratio("P/n/O", "U/B/2/O").at(1000.0),
            times(1.25, 2.5),
        )
        .because(
            "every message then goes to a worker that has nothing else to do; it spins for a while \
             before it sleeps, so that mostly one cache line goes over and no system call is made",
        ),
        Claim::judge(
            "our transport is 1.7 to 1.9 times faster than message queues (one worker)",
            transports.least().zip(transports.most()),
            |(least, most)| {
                let text = format!("{} to {} times", show(least.y), show(most.y));
                (text, Verdict::at_least(least.y, 1.7, 1.9))
            },
        )
        .because("a queue costs two system calls a message, ours costs none"),
        Claim::judge(
            "our scheduler performs best with a single runner",
            curve(view, "U/1/O")
                .at(1000.0)
                .zip(curve(view, "U/G/2/O").at(1000.0).zip(curve(view, "U/B/2/O").at(1000.0))),
            |(one, (good, bad))| {
                let text = format!("{} ns, {} (good), {} (bad)", show(one), show(good), show(bad));
                (text, Verdict::holds(one <= good.min(bad) * 1.05))
            },
        )
        .because("one token gives a second worker nothing to do"),
        Claim::judge(
            "from 100 to 1000 processes our scheduler stays constant, threads get slower",
            flat(&curve(view, "U/G/2/O")).zip(flat(&threads)),
            |(ours, threads)| {
                let text = format!("ours {} times, threads {} times", show(ours), show(threads));
                let verdict = if ours > 1.5 {
                    Verdict::Worse
                } else if threads > 1.1 {
                    Verdict::Reproduced
                } else {
                    Verdict::Better
                };
                (text, verdict)
            },
        )
        .because(
            "what a switch of ours touches is a few cache lines of each process; today's kernel \
             wakes a thread at the same price however many there are, so threads may stay flat too",
        ),
    ]
}
