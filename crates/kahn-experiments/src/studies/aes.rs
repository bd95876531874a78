//! AES: very many workers, on our scheduler and on threads.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::Job;
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Outcome, Plan, Statistic, Study};
use crate::native::thread_encryption;
use crate::papers::{NORNIR, TECHNIQUES};
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
use crate::{Bench, View};

static SCALING: Study = Study { name: "aes", rounds: 9, points: scaling_points, measure };
static MANY: Study = Study { name: "aes-many", rounds: 10, points: many_points, measure };

const MB: usize = 1 << 20;

fn scaling_points(plan: &Plan) -> Vec<Point> {
    let most: usize = plan.size.of(256, 2048, 2048);
    let workers = (0..=most.ilog2()).map(|power| 1_usize << power);
    let (bytes, passes) = plan.size.of((8 * MB, 4_usize), (64 * MB, 8), (256 * MB, 40));
    let mut points = Vec::new();
    for workers in workers {
        let point = Point::new().and("transport", "ours").and("policy", "ws-last");
        let point = point.and("bytes", bytes).and("passes", passes).and("workers", workers);
        points.extend(point.each("cpus", plan.cpus()));
    }
    points
}

/// The configurations of figure 4: name, policy, transport.
const CONFIGURATIONS: [(&str, &str, &str); 4] = [
    ("U/2/O", "static", "ours"),
    ("default/2/O", "default", "ours"),
    ("P/n/O", "threads", "ours"),
    ("P/n/N", "threads", "queues"),
];

fn many_points(plan: &Plan) -> Vec<Point> {
    let powers: Vec<u32> = plan.size.of(
        vec![0, 6, 11, 14],
        vec![0, 2, 4, 6, 8, 10, 11, 12, 13, 14],
        (0..=14).collect(),
    );
    let (bytes, passes) = plan.size.of((16 * MB, 2_usize), (64 * MB, 4), (256 * MB, 8));
    let mut points = Vec::new();
    for power in powers {
        for (name, policy, transport) in CONFIGURATIONS {
            points.push(
                Point::new()
                    .and("configuration", name)
                    .and("transport", transport)
                    .and("policy", policy)
                    .and("bytes", bytes)
                    .and("passes", passes)
                    .and("workers", 1_usize << power)
                    .and("cpus", plan.cores.min(2)),
            );
        }
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let (bytes, workers) = (point.count("bytes"), point.count("workers"));
    let outcome = if point.text("transport") == "queues" {
        thread_encryption(bytes, point.count("passes"), workers)
    } else {
        let [size, passes] = ["bytes", "passes"].map(|name| point.count(name).to_string());
        let arguments = ["--size", &size, "--passes", &passes];
        let (parts, variant) = (Some(workers), Variant::Network);
        let job = Job { app: "aes", arguments: &arguments, parts, variant };
        job.measure(options(point).policy(super::scatter::policy(point)), |_, measured| measured)?
    };
    Ok(match outcome {
        Outcome::Measured(measured) => {
            let all = float(bytes) * point.number("passes");
            let rate = all / measured.0["seconds"] / 1e6;
            Outcome::Measured(measured.and("MB per second", rate))
        }
        refused @ Outcome::Refused(_) => refused,
    })
}

/// Speed-up by the number of workers.
pub(super) static FIGURE_11: Experiment = Experiment {
    name: "nornir-fig-11",
    summary: "AES: time by the number of workers and CPUs",
    paper: &NORNIR,
    place: "section 5.3.2, figure 11",
    found: "The speed-up is perfect as soon as there are as many workers as CPUs, up to 2048 \
            workers: 80 s on one CPU, 10 s on 8.",
    method: "A block of memory is cut into as many parts as there are workers; each encrypts its \
             part in place with AES-128 in ECB mode, several times over, and replies. The cipher \
             uses the processor's instructions, where the paper's took about 130 cycles a byte: \
             so the work is limited by memory more than by the processor. Policy ws-last.",
    studies: &[&SCALING],
    statistic: Statistic::Median,
    panels: |view| {
        let workers = || Axis::logarithmic("workers");
        let mut time = Panel::new("time", workers(), Axis::linear("seconds"));
        let mut speed = Panel::new("speed-up over one CPU", workers(), Axis::linear("times"));
        let one = scaling(view, 1);
        for cpus in view.plan.cpus() {
            let curve = scaling(view, cpus);
            time = time.and(Series::line(format!("{cpus} CPUs"), &curve));
            speed = speed.and(Series::line(format!("{cpus} CPUs"), &one.over(&curve)));
        }
        vec![time, speed]
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let speed_up = scaling(view, 1).over(&scaling(view, cpus));
        let two = float(cpus.next_power_of_two());
        let from_there = Curve(speed_up.0.iter().copied().filter(|spot| spot.x >= two).collect());
        vec![
            Claim::judge(
                "perfect speed-up from as many workers as CPUs up to 2048 (7.5 of 8, 94 %)",
                from_there.least().filter(|_| cpus > 1).map(|least| least.y / float(cpus)),
                |share| {
                    (
                        format!("{:.0} % at least", share * 100.0),
                        Verdict::at_least(share, 0.92, 0.99),
                    )
                },
            )
            .because(
                "the workers share nothing but the memory; the two CPUs of this machine may share \
                 more than that",
            ),
            Claim::judge("one worker has no speed-up", speed_up.at(1.0), |speed_up| {
                (show(speed_up), Verdict::holds((0.85..1.15).contains(&speed_up)))
            })
            .because("a process is sequential"),
        ]
    },
};

fn scaling(view: &View, cpus: usize) -> Curve {
    view.rows(&SCALING).with("cpus", cpus).curve("workers", "seconds")
}

/// Throughput with up to 16384 workers, ours against threads.
pub(super) static FIGURE_4: Experiment = Experiment {
    name: "native-fig-4",
    summary: "AES with up to 16384 workers: our scheduler against threads and message queues",
    paper: &TECHNIQUES,
    place: "section 4.2, figure 4",
    found: "One worker is half as fast as two or more. Beyond 2048 workers the throughput falls, \
            much more sharply on threads than under the own scheduler.",
    method: "As figure 11 of the Nornir paper, with a worker for each part. U is the policy \
             `static`, round robin on two workers, P a thread for each process; N are threads that \
             wait in POSIX message queues, two for each worker. The highest memory in use is \
             measured too. What the machine has no threads or queues for is refused.",
    studies: &[&MANY],
    statistic: Statistic::Mean,
    panels: |view| {
        let workers = || Axis::logarithmic("workers");
        let mut rate = Panel::new("throughput", workers(), Axis::linear("MB per second"));
        let mut memory = Panel::new("memory", workers(), Axis::linear("MiB at most"));
        for (name, ..) in CONFIGURATIONS {
            rate = rate.and(Series::line(name, &many(view, name, "MB per second")));
            let bytes = many(view, name, "peak memory");
            memory = memory.and(Series::line(name, &bytes.map(|bytes| bytes / float(MB))));
        }
        vec![rate, memory]
    },
    claims: many_claims,
};

fn many(view: &View, configuration: &str, quantity: &str) -> Curve {
    view.rows(&MANY).with("configuration", configuration).curve("workers", quantity)
}

fn many_claims(view: &View) -> Vec<Claim> {
    let kept = |name: &str| {
        let rate = many(view, name, "MB per second");
        rate.at(16_384.0).zip(rate.at(2048.0)).map(|(far, near)| far / near)
    };
    let ours = many(view, "U/2/O", "MB per second");
    let memory = many(view, "U/2/O", "peak memory");
    let each = memory.at(16_384.0).zip(memory.least()).map(|(all, least)| all - least.y);
    let threads = many(view, "P/n/O", "MB per second").at(16_384.0);
    vec![
        Claim::judge(
            "16384 workers under our scheduler: slower than 2048, but not sharply",
            kept("U/2/O"),
            |share| {
                let verdict = Verdict::at_least(share, 0.5, 0.9);
                (format!("{:.0} % of the throughput with 2048", share * 100.0), verdict)
            },
        )
        .because(
            "each then has a few thousand bytes, which the cipher is through with in less time than \
             two messages take; the paper's cipher took a hundred times as long for them",
        ),
        Claim::judge(
            "threads with 16384 workers are much slower than our scheduler",
            ours.at(16_384.0).zip(threads).map(|(ours, threads)| ours / threads),
            |ratio| (format!("{} times slower", show(ratio)), Verdict::at_least(ratio, 1.2, 20.0)),
        )
        .because("a thread costs tens of microseconds to make and to wake; see what was refused"),
        Claim::judge(
            "one worker is half as fast as many",
            ours.at(1.0).zip(ours.most()),
            |(one, most)| {
                let share = one / most.y;
                (format!("{share:.2} of the best"), Verdict::holds((0.4..0.65).contains(&share)))
            },
        )
        .because("one worker is one process, and keeps one CPU busy"),
        Claim::judge("(ours) memory of 16384 workers", each, |bytes| {
            let text = format!(
                "{} MiB more than with the number that takes least, {} bytes each",
                show(bytes / float(MB)),
                show(bytes / 16_384.0)
            );
            (text, Verdict::holds(bytes / 16_384.0 < 8192.0))
        })
        .because("a process has two channels of 64 pointers and lengths, and no stack"),
    ]
}
