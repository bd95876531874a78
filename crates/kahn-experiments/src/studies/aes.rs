//! AES: very many workers, on our scheduler and on threads.

use kahn_apps::{Failure, Variant};

use super::options::{options, pinned};
use super::program::Job;
use crate::claim::Claim;
use crate::counters::{Counters, SYSTEM_CALLS, TLB_MISSES};
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::measure::{ELAPSED, SWITCHES};
use crate::native::thread_encryption;
use crate::papers::{NORNIR, TECHNIQUES};
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Spot};
use crate::side::{Pick, Side};
use crate::{Bench, View};

static SCALING: Study = Study { name: "aes", rounds: 9, points: scaling_points, measure };
static MANY: Study = Study { name: "aes-many", rounds: 10, points: many_points, measure };
/// Apart from the others, for what is counted takes longer.
static COUNTED: Study =
    Study { name: "aes-counted", rounds: 10, points: counted_points, measure: measure_counted };

const MB: usize = 1 << 20;

fn scaling_points(plan: &Plan) -> Vec<Point> {
    let most: usize = plan.size.of(256, 2048, 2048);
    let workers = (0..=most.ilog2()).map(|power| 1_usize << power);
    let (bytes, passes) = plan.size.of((4 * MB, 1_usize), (64 * MB, 2), (256 * MB, 40));
    let mut points = Vec::new();
    for workers in workers {
        for (cipher, times) in CIPHERS {
            let point = Point::new().and("transport", "ours").and("policy", "ws-last");
            let point = point.and("cipher", cipher).and("bytes", bytes).and("workers", workers);
            let point = point.and("passes", times * passes);
            points.extend(point.each("cpus", plan.cpus()));
        }
    }
    points
}

/// The ciphers, the papers' kind first, and how many times over the quicker one runs, so that there is
/// something to measure.
const CIPHERS: [(&str, usize); 2] = [("portable", 1), ("AES-NI", 10)];

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
    points_with(&powers, plan)
}

/// The most workers, where the paper has counted.
const MOST_WORKERS: u32 = 14;

fn counted_points(plan: &Plan) -> Vec<Point> {
    points_with(&[MOST_WORKERS], plan)
}

fn points_with(powers: &[u32], plan: &Plan) -> Vec<Point> {
    let (bytes, passes) = plan.size.of((4 * MB, 1_usize), (64 * MB, 2), (256 * MB, 8));
    let mut points = Vec::new();
    for power in powers {
        for (name, policy, transport) in CONFIGURATIONS {
            let point = Point::new().and("pin", pinned(policy));
            points.push(
                point
                    .and("configuration", name)
                    .and("transport", transport)
                    .and("policy", policy)
                    .and("cipher", CIPHERS[0].0)
                    .and("bytes", bytes)
                    .and("passes", passes)
                    .and("workers", 1_usize << *power)
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
        let arguments = ["--size", &size, "--passes", &passes, "--portable"];
        let given = if point.text("cipher") == CIPHERS[0].0 { 5 } else { 4 };
        let (parts, variant) = (Some(workers), Variant::Network);
        let job = Job { app: "aes", arguments: &arguments[..given], parts, variant };
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

fn measure_counted(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let counters = Counters::begin();
    Ok(match measure(point, bench)? {
        Outcome::Measured(measured) => Outcome::Measured(counters.end(measured)),
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
             part in place with AES-128 in ECB mode, several times over, and replies. The promises \
             are about a cipher of table look-ups, as the paper's was; the one of the processor's \
             instructions, which memory limits, is measured beside it, with more passes. Policy ws-last.",
    studies: &[&SCALING],
    panels: |view| {
        let workers = || Axis::logarithmic("workers");
        let mut time = Panel::new("throughput", workers(), Axis::logarithmic("MB per second"));
        let mut speed = Panel::new("speed-up over one CPU", workers(), Axis::linear("times"));
        for (cipher, _) in CIPHERS {
            let one = scaling(view, cipher, 1, "seconds");
            for cpus in view.plan.cpus() {
                let label = format!("{cipher}, {}", crate::point::cpus(cpus));
                let rate = scaling(view, cipher, cpus, "MB per second");
                time = time.and(Series::line(label.clone(), &rate));
                let curve = scaling(view, cipher, cpus, "seconds");
                if cpus > 1 {
                    speed = speed.and(Series::line(label, &one.over(&curve)));
                }
            }
        }
        vec![time, speed.with_most(view.plan.most_cpus())]
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let at = |cpus: usize, workers: f64| {
            let rows = Pick::of(&SCALING, "seconds").with("cipher", CIPHERS[0].0);
            rows.with("cpus", cpus).with("workers", workers)
        };
        let workers = view.rows(&SCALING).numbers("workers");
        let enough = workers.into_iter().filter(|workers| *workers >= float(cpus));
        let perfect = Claim::scaling(
            "perfect speed-up with as many workers as CPUs or more: 80 s on 1, 10 s on 8",
            8.0,
            8,
            cpus,
        );
        vec![
            enough.fold(perfect, |claim, workers| claim.between(at(cpus, workers), at(1, workers))),
            Claim::advantage("one worker has no speed-up", 1.0)
                .between(at(cpus, 1.0), at(1, 1.0))
                .on(8),
        ]
    },
};

fn scaling(view: &View, cipher: &str, cpus: usize, quantity: &str) -> Curve {
    let rows = view.rows(&SCALING).with("cipher", cipher);
    rows.with("cpus", cpus).curve("workers", quantity)
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
    let at = |name: &str, workers: f64| {
        let rows = Pick::of(&MANY, "MB per second").with("configuration", name);
        rows.with("workers", workers)
    };
    let kept = |name: &str| Side::from(at(name, 16_384.0)).over(at(name, 2048.0));
    let counted = |name: &str, quantity: &str| {
        let rows = Pick::of(&MANY, quantity).with("configuration", name);
        rows.with("workers", 16_384.0)
    };
    let switches = |name: &str| Side::from(counted(name, SWITCHES)).over(counted(name, ELAPSED));
    let workers = view.rows(&MANY).numbers("workers");
    let several = workers.get(1).copied().unwrap_or(2.0);
    vec![
        Claim::effect_of("one worker is half as fast as two or more", 2.0)
            .rates()
            .between(at("U/2/O", several), at("U/2/O", 1.0))
            .on(2),
        Claim::effect("16384 workers are slower than 2048")
            .rates()
            .between(at("U/2/O", 2048.0), at("U/2/O", 16_384.0)),
        Claim::effect_of(
            "threads switch contexts 25000 times a second there, ours below 500",
            50.0,
        )
        .between(switches("U/2/O"), switches("P/n/O")),
        Claim::effect("threads slow down much more sharply there than our scheduler")
            .rates()
            .between(kept("U/2/O"), kept("P/n/O")),
    ]
}

/// What the system and the processor count with 16384 workers.
pub(super) static COUNTERS: Experiment = Experiment {
    name: "native-counters",
    summary: "AES with 16384 workers: system calls and misses of the instruction TLB in a second",
    paper: &TECHNIQUES,
    place: "section 4.2",
    found: "On threads there were about 35000 system calls and 30000 misses of the instruction TLB in a \
            second, under the own scheduler fewer than 500 and 2000, hardly more than on an idle system.",
    method: "As figure 4 with 16384 workers. Counted by the system (`perf_event_open`) for all threads of \
             the program, what it does before and after the network included. Only a user who may read the \
             tracepoint `raw_syscalls` counts system calls, root as a rule; most virtual machines have no \
             counters of the processor. What is not counted is not measured here.",
    studies: &[&COUNTED],
    panels: |view| {
        let names = || CONFIGURATIONS.iter().map(|(name, ..)| *name);
        let panel = |title: &str, quantity: &str| {
            let spots = names().enumerate().filter_map(|(step, name)| {
                let spot = |quantity| counted(name, quantity).spot(view);
                let each = spot(quantity)?.y / spot(ELAPSED)?.y;
                Some(Spot::exact(float(step), each))
            });
            Panel::new(
                title,
                Axis::steps("configuration", names()),
                Axis::logarithmic("in a second"),
            )
            .and(Series::columns(title, &Curve(spots.collect())))
        };
        vec![panel("system calls", SYSTEM_CALLS), panel("misses of the TLB", TLB_MISSES)]
    },
    claims: |_view| {
        let each = |name: &str, quantity: &str| {
            Side::from(counted(name, quantity)).over(counted(name, ELAPSED))
        };
        let calls =
            "threads call the system 35000 times a second, our scheduler fewer than 500 times";
        let misses = "threads miss the instruction TLB 30000 times a second, our scheduler fewer than 2000 times";
        vec![
            Claim::effect_of(calls, 70.0)
                .between(each("U/2/O", SYSTEM_CALLS), each("P/n/O", SYSTEM_CALLS)),
            Claim::effect_of(misses, 15.0)
                .between(each("U/2/O", TLB_MISSES), each("P/n/O", TLB_MISSES)),
        ]
    },
};

fn counted(configuration: &str, quantity: &str) -> Pick {
    Pick::of(&COUNTED, quantity).with("configuration", configuration)
}
