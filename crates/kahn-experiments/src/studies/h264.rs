//! The process graph of an H.264 encoder: what dependencies leave of the CPUs.

use kahn_apps::h264_graph::Encoder;
use kahn_apps::work::{Work, parse_time};
use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::{Job, counted};
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Outcome, Plan, Statistic, Study};
use crate::native::thread_encoder;
use crate::papers::{NORNIR, TECHNIQUES};
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
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
    statistic: Statistic::Median,
    panels: |view| {
        let panels = POLICIES.map(|policy| {
            let panel = Panel::new(policy, Axis::logarithmic("workers"), Axis::linear("seconds"));
            view.plan.cpus().into_iter().fold(panel, |panel, cpus| {
                panel.and(Series::line(format!("{cpus} CPUs"), &curve(view, policy, cpus)))
            })
        });
        panels.to_vec()
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let ratio = curve(view, "partition", cpus).over(&curve(view, "ws-last", cpus));
        let rows = view.rows(&SCALING).with("policy", "partition").with("cpus", cpus);
        let rate = rows.curve("workers", "repartitions per second").most();
        let gain = curve(view, "partition", 1).over(&curve(view, "partition", cpus));
        vec![
            Claim::judge(
                "GP is slower than WS-LAST",
                ratio.least().zip(ratio.most()).filter(|_| cpus > 1),
                |(least, most)| {
                    let text = format!("{} to {} times the time", show(least.y), show(most.y));
                    let verdict = if most.y < 1.02 { Verdict::Better } else { Verdict::Reproduced };
                    (text, verdict)
                },
            )
            .because(
                "a worker whose part has nothing ready stays idle until the next partition; work \
                 stealing gives it something at once",
            ),
            Claim::judge("it repartitions hundreds of times a second", rate, |most| {
                let verdict = if most.y >= 100.0 { Verdict::Reproduced } else { Verdict::Better };
                (format!("{} a second at most", show(most.y)), verdict)
            })
            .because("a new partition is taken only if it is better than the one there is"),
            Claim::judge(
                "in some cases GP takes longer on several CPUs than on one",
                gain.least().filter(|_| cpus > 1),
                |least| {
                    let verdict = if least.y < 1.0 { Verdict::Reproduced } else { Verdict::Better };
                    (format!("speed-up {} at least", show(least.y)), verdict)
                },
            ),
        ]
    },
};

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
    statistic: Statistic::Median,
    panels: |view| {
        let workers = || Axis::logarithmic("workers");
        let mut time = Panel::new("time", workers(), Axis::linear("seconds"));
        let mut speed = Panel::new("speed-up over one CPU", workers(), Axis::linear("times"));
        let one = curve(view, "ws-last", 1);
        for cpus in view.plan.cpus() {
            let curve = curve(view, "ws-last", cpus);
            time = time.and(Series::line(format!("{cpus} CPUs"), &curve));
            speed = speed.and(Series::line(format!("{cpus} CPUs"), &one.over(&curve)));
        }
        vec![time, speed]
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let all = curve(view, "ws-last", cpus);
        let speed_up = curve(view, "ws-last", 1).over(&all).most();
        // From as many workers as CPUs on.
        let later = all.0.iter().filter(|spot| spot.x >= float(cpus)).copied().collect();
        let later = Curve(later);
        vec![
            Claim::judge(
                "the speed-up is limited by dependencies: 2.8 on 8 CPUs",
                speed_up.filter(|_| cpus > 1),
                |most| {
                    // The paper's graph keeps 2.8 CPUs busy, whatever there is beyond them.
                    let verdict = Verdict::at_least(most.y / float(cpus.min(3)), 0.85, 1.0);
                    (format!("{} on {cpus} CPUs", show(most.y)), verdict)
                },
            )
            .because(
                "a frame needs the one before, so only the divided stages can use many CPUs; two \
                 CPUs are fewer than the graph keeps busy",
            ),
            Claim::judge(
                "from as many workers as CPUs on it stays the same, up to 512",
                later.least().zip(later.most()).filter(|_| cpus > 1),
                |(least, most)| {
                    let ratio = most.y / least.y;
                    let text =
                        format!("the slowest takes {} times the time of the fastest", show(ratio));
                    (text, Verdict::at_most(ratio, 1.1, 0.0))
                },
            )
            .because("more workers are more messages, and those are cheap"),
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
    statistic: Statistic::Mean,
    panels: |view| {
        let axis = Axis::logarithmic("workers in each of ME, MC and P");
        let panel = Panel::new("time", axis, Axis::linear("seconds"));
        let panel = CONFIGURATIONS
            .iter()
            .fold(panel, |panel, (name, ..)| panel.and(Series::line(*name, &many(view, name))));
        vec![panel]
    },
    claims: |view| {
        let grows = |name: &str| {
            let curve = many(view, name);
            curve.at(1000.0).zip(curve.at(1.0)).map(|(far, near)| far / near)
        };
        let few = many(view, "U/2/O").over(&many(view, "P/n/O")).at(1.0);
        let linear = many(view, "U/1/O").over(&many(view, "default/2/O")).most();
        vec![
            Claim::judge(
                "from 1 to 1000 workers our scheduler loses about 10 %",
                grows("U/2/O"),
                |ratio| {
                    (format!("{} times the time", show(ratio)), Verdict::at_most(ratio, 1.12, 1.0))
                },
            )
            .because("with one worker a divided stage keeps one CPU busy, with many it keeps two"),
            Claim::judge(
                "threads lose nearly half of their speed there",
                grows("P/n/O").zip(grows("U/2/O")),
                |(threads, ours)| {
                    let text =
                        format!("threads {} times the time, ours {}", show(threads), show(ours));
                    (text, Verdict::holds(threads > ours))
                },
            )
            .because("each message wakes a thread, and there are 3000 a frame"),
            Claim::judge("with few workers threads win over the static assignment", few, |ratio| {
                let verdict = if ratio > 1.02 { Verdict::Reproduced } else { Verdict::Better };
                (format!("static takes {} times the time", show(ratio)), verdict)
            })
            .because("what is ready at the same time may belong to the same worker"),
            Claim::judge(
                "the transport has no influence: P/N is as fast as P/O",
                many(view, "P/n/N").over(&many(view, "P/n/O")).at(1.0),
                |ratio| {
                    let text = format!("{} times the time with one worker a stage", show(ratio));
                    (text, Verdict::holds((0.9..1.1).contains(&ratio)))
                },
            )
            .because("few messages are exchanged; with more workers queues may be refused"),
            Claim::judge("no linear speed-up", linear.filter(|_| view.plan.cores > 1), |most| {
                let verdict = if most.y < 1.9 { Verdict::Reproduced } else { Verdict::Better };
                (format!("{} on two CPUs at most", show(most.y)), verdict)
            })
            .because("two CPUs are fewer than the graph keeps busy, eight are more"),
        ]
    },
};
