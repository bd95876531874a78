//! The process graph of an H.264 encoder: what dependencies leave of the CPUs.

use kahn_apps::h264_graph::Encoder;
use kahn_apps::work::{Work, parse_time};
use kahn_apps::{Failure, Variant};

use super::options::{options, pinned};
use super::program::{Job, counted};
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::native::thread_encoder;
use crate::papers::{NORNIR, TECHNIQUES};
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
use crate::side::{Pick, Side};
use crate::{Bench, View};

static SCALING: Study = Study { name: "h264", rounds: 9, points: scaling_points, measure };
static MANY: Study = Study { name: "h264-many", rounds: 10, points: many_points, measure };

/// The policies of figure 7.
const POLICIES: [&str; 2] = ["ws-last", "partition"];

fn scaling_points(plan: &Plan) -> Vec<Point> {
    let powers: Vec<u32> = plan.size.of(vec![0, 3, 6, 9], (0..=9).collect(), (0..=9).collect());
    let (frames, work) = plan.size.of((10, "4ms"), (30, "20ms"), (30_usize, "1s"));
    let mut points = Vec::new();
    for power in powers {
        for cpus in plan.cpus() {
            let point = Point::new().and("frames", frames).and("work", work);
            let point = point.and("workers", 1_usize << power).and("cpus", cpus);
            points.extend(point.each("policy", POLICIES));
        }
    }
    points
}

/// The configurations of figure 5: name, policy, CPUs.
const CONFIGURATIONS: [(&str, &str, usize); 5] = [
    ("U/1/O", "static", 1),
    ("U/2/O", "static", 2),
    ("default/2/O", "default", 2),
    ("P/n/O", "threads", 2),
    ("P/n/N", QUEUES, 2),
];

/// What stands for the policy where threads wait in message queues.
const QUEUES: &str = "queues";

fn many_points(plan: &Plan) -> Vec<Point> {
    let workers =
        plan.size.of(vec![1, 1000], vec![1, 100, 500, 1000], vec![1, 100, 500, 1000_usize]);
    let (frames, work) = plan.size.of((20, "2ms"), (60, "10ms"), (300_usize, "40ms"));
    let mut points = Vec::new();
    for workers in workers {
        for (name, policy, cpus) in CONFIGURATIONS {
            if cpus <= plan.cores {
                points.push(
                    Point::new()
                        .and("pin", pinned(policy))
                        .and("configuration", name)
                        .and("policy", policy)
                        .and("frames", frames)
                        .and("work", work)
                        .and("workers", workers)
                        .and("cpus", cpus),
                );
            }
        }
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    if point.text("policy") == QUEUES {
        let work = parse_time(point.text("work")).map_err(Failure::input)?;
        let workers = u32::try_from(point.count("workers")).unwrap_or(u32::MAX);
        let frames = point.count("frames") as u64;
        return Ok(thread_encoder(&Encoder { frames, workers, work: Work::time(work) }));
    }
    let frames = point.count("frames").to_string();
    let arguments = ["--frames", &frames, "--work", point.text("work")];
    let (parts, variant) = (Some(point.count("workers")), Variant::Network);
    let job = Job { app: "h264-graph", arguments: &arguments, parts, variant };
    let run = options(point).policy(super::scatter::policy(point));
    job.measure(run, |report, measured| match &report.rebalances {
        Some(again) => {
            measured.and("repartitions per second", counted(again.changed) / report.seconds)
        }
        None => measured,
    })
}

const METHOD: &str = "\
The process graph of figure 6 with n workers in each of the stages ME, MC and P; a frame costs a \
fixed amount of calibrated work, divided over the stages as profiled in a real encoder.";

fn curve(view: &View, policy: &str, cpus: usize) -> Curve {
    let rows = view.rows(&SCALING).with("policy", policy).with("cpus", cpus);
    rows.curve("workers", "seconds")
}

/// Work stealing against graph partitioning.
pub(super) static FIGURE_7: Experiment = Experiment {
    name: "nornir-fig-7",
    summary: "H.264 graph: time under ws-last and graph partitioning",
    paper: &NORNIR,
    place: "section 5.2.2, figure 7",
    found: "Graph partitioning is slower than WS-LAST, and slower with more workers and more CPUs: \
            it repartitions hundreds of times a second.",
    method: METHOD,
    studies: &[&SCALING],
    panels: |view| {
        let panels = POLICIES.map(|policy| {
            let panel = Panel::new(policy, Axis::logarithmic("workers"), Axis::linear("seconds"));
            view.plan.cpus().into_iter().fold(panel, |panel, cpus| {
                panel.and(Series::line(crate::point::cpus(cpus), &curve(view, policy, cpus)))
            })
        });
        panels.to_vec()
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let workers = || view.rows(&SCALING).numbers("workers").into_iter();
        let slower = Claim::effect("GP is slower than WS-LAST, with any number of workers").on(8);
        let gains = Claim::effect("in some cases GP takes longer on several CPUs than on one");
        let rate = Pick::of(&SCALING, "repartitions per second").with("policy", "partition");
        let often =
            Claim::effect("GP repartitions hundreds of times a second, in some cases").rates();
        let at = |policy: &str, cpus: usize, workers: f64| {
            scaling("seconds", policy, cpus).with("workers", workers)
        };
        vec![
            workers().fold(slower, |claim, workers| {
                claim.between(at("ws-last", cpus, workers), at("partition", cpus, workers))
            }),
            workers().fold(often.for_one().on(8), |claim, workers| {
                let rate = rate.clone().with("cpus", cpus).with("workers", workers);
                claim.between(rate, Side::paper(100.0))
            }),
            workers().fold(gains.for_one().on(8), |claim, workers| {
                claim.between(at("partition", 1, workers), at("partition", cpus, workers))
            }),
        ]
    },
};

fn scaling(quantity: &str, policy: &str, cpus: usize) -> Pick {
    Pick::of(&SCALING, quantity).with("policy", policy).with("cpus", cpus)
}

/// The speed-up by the number of workers.
pub(super) static FIGURE_10: Experiment = Experiment {
    name: "nornir-fig-10",
    summary: "H.264 graph: time and speed-up by the number of workers and CPUs",
    paper: &NORNIR,
    place: "section 5.3.1, figure 10",
    found: "30 frames get a little faster until there are as many workers as CPUs and stay so up to \
            512; the speed-up on 8 CPUs is 2.8, for frames depend on each other.",
    method: METHOD,
    studies: &[&SCALING],
    panels: |view| {
        let workers = || Axis::logarithmic("workers");
        let mut time = Panel::new("time", workers(), Axis::linear("seconds"));
        let mut speed = Panel::new("speed-up over one CPU", workers(), Axis::linear("times"));
        let one = curve(view, "ws-last", 1);
        for cpus in view.plan.cpus() {
            let curve = curve(view, "ws-last", cpus);
            time = time.and(Series::line(crate::point::cpus(cpus), &curve));
            if cpus > 1 {
                speed = speed.and(Series::line(crate::point::cpus(cpus), &one.over(&curve)));
            }
        }
        // The best on 8 CPUs.
        let paper = [(8.0, 2.8), (512.0, 2.8)];
        let speed = speed.and(Series::quoted("8 CPUs, paper", &paper, Marks::Broken));
        vec![time, speed.with_most(view.plan.most_cpus())]
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let all = || scaling("seconds", "ws-last", cpus);
        let workers = view.rows(&SCALING).numbers("workers");
        let enough: Vec<_> =
            workers.into_iter().filter(|workers| *workers >= float(cpus)).collect();
        let same = Claim::advantage("from as many workers as CPUs on it stays the same", 1.0);
        let same = same.within(1.1).on(8);
        let pairs = enough.first().into_iter().flat_map(|first| {
            enough[1..]
                .iter()
                .map(|more| (all().with("workers", *more), all().with("workers", *first)))
        });
        vec![
            Claim::effect_of("more CPUs help, as far as dependencies let them: 2.8 times", 2.8)
                .between(all(), scaling("seconds", "ws-last", 1))
                .on(8),
            pairs.fold(same, |claim, (more, first)| claim.between(more, first)),
        ]
    },
};

fn many(view: &View, configuration: &str) -> Curve {
    view.rows(&MANY).with("configuration", configuration).curve("workers", "seconds")
}

/// The encoder with very many workers, ours against threads.
pub(super) static FIGURE_5: Experiment = Experiment {
    name: "native-fig-5",
    summary: "H.264 graph with up to 1000 workers a stage: our scheduler against threads",
    paper: &TECHNIQUES,
    place: "section 4.3, figure 5",
    found: "Dependencies prevent linear speed-up; with few workers threads win over the static \
            assignment, because the system balances the load; with 1000 workers in each of three \
            stages the own scheduler loses 10 % and threads nearly half. The transport has no \
            influence, for there are few messages.",
    method: "The process graph of figure 2c with n workers in each of ME, MC and P. U is the policy \
             `static`, round robin, on one worker or two; P a thread for each process. The default \
             policy, which the paper did not have, is measured beside them. N are threads that wait in \
             POSIX message queues, two for each worker, as far as the machine has so many.",
    studies: &[&MANY],
    panels: |view| {
        let axis = Axis::logarithmic("workers in each of ME, MC and P");
        let panel = Panel::new("time", axis, Axis::linear("seconds"));
        let panel = CONFIGURATIONS
            .iter()
            .fold(panel, |panel, (name, ..)| panel.and(Series::line(*name, &many(view, name))));
        vec![panel]
    },
    claims: |view| {
        let at = |name: &str, workers: usize| {
            let rows = Pick::of(&MANY, "seconds").with("configuration", name);
            rows.with("workers", workers)
        };
        let growth = |name: &str| Side::from(at(name, 1000)).over(at(name, 1));
        let cpus = view.plan.most_cpus().min(2);
        let best = |name: &str| Pick::of(&MANY, "seconds").with("configuration", name);
        vec![
            Claim::advantage("from 1 to 1000 workers our scheduler loses about 10 %", 1.0)
                .between(growth("U/2/O"), Side::paper(1.1)),
            Claim::effect_of(
                "threads, which lose nearly half there, lose more than ours",
                1.9 / 1.1,
            )
            .between(growth("U/2/O"), growth("P/n/O")),
            Claim::effect("with few workers threads win over the static assignment")
                .between(at("P/n/O", 1), at("U/2/O", 1)),
            Claim::advantage("the transport has no influence: P/O as fast as P/N", 1.0)
                .within(1.1)
                .between(at("P/n/O", 1), at("P/n/N", 1)),
            Claim::effect("dependencies prevent linear speed-up")
                .between(Side::from(best("U/1/O")).times(1.0 / float(cpus)), best("default/2/O"))
                .on(2),
        ]
    },
};
