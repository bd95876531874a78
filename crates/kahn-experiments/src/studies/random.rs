//! The random network: deadlock detection, and work stealing against graph partitioning.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::{Job, counted};
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Outcome, Plan, Refused, Statistic, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows};
use crate::{Bench, View};

static DIVISION: Study = Study { name: "random", rounds: 9, points: division_points, measure };
static TAU: Study = Study { name: "random-tau", rounds: 9, points: tau_points, measure };
static TRAFFIC: Study =
    Study { name: "random-traffic", rounds: 9, points: traffic_points, measure };

/// A point of the random network: d messages of `seconds`/d each, or the first `most` of them.
fn network(division: usize, seconds: f64, most: usize) -> Point {
    let work = (seconds / float(division) * 1e9).max(1.0).round();
    Point::new().and("d", division).and("messages", division.min(most)).and("ns of work", work)
}

/// Seconds of work in a layer.
fn layer(plan: &Plan) -> f64 {
    plan.size.of(0.005, 0.05, 1.0)
}

fn division_points(plan: &Plan) -> Vec<Point> {
    let most = plan.size.of(2_000, 20_000, usize::MAX);
    let powers = plan.size.of(1..=4, 1..=5, 1..=5);
    let mut points = Vec::new();
    for power in powers {
        for cpus in plan.cpus() {
            let point = network(10_usize.pow(power), layer(plan), most).and("policy", "ws-last");
            points
                .extend(point.and("cpus", cpus).each("detection", ["deferred", "central", "off"]));
        }
    }
    points
}

/// What of the network's work is done, that times can be compared.
fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let messages = point.count("messages").to_string();
    let work = format!("{}ns", point.count("ns of work"));
    let arguments = ["--messages", &messages, "--work", &work];
    let job = Job { app: "random", arguments: &arguments, parts: None, variant: Variant::Network };
    let share = point.number("messages") / point.number("d");
    let outcome = job.measure(options(point), |report, measured| {
        let waits = report.processes.iter().map(|process| process.waits_empty + process.waits_full);
        let waits: f64 = waits.map(counted).sum();
        let growths = report.channels.iter().map(|channel| u64::from(channel.growths)).sum();
        let measured = measured
            .and("seconds for d messages", report.seconds / share)
            .and("detections per second", counted(report.walks) / report.seconds)
            .and("waits per second", waits / report.seconds)
            .and("growths", counted(growths))
            .and("local share", report.local_share.unwrap_or(0.0));
        match &report.rebalances {
            Some(again) => measured.and("repartitions", counted(again.changed)),
            None => measured,
        }
    });
    match outcome {
        // Without detection nothing grows; a network that needs that stands still.
        Err(Failure::Run(error)) if point.get("detection") == Some(&"off".into()) => {
            let what = error.to_string();
            let what = what.lines().next().unwrap_or_default().to_owned();
            Ok(Outcome::Refused(Refused {
                what: format!("a channel had to grow, and nobody looked for it: {what}"),
                limit: "channel capacity".to_owned(),
                value: "64".to_owned(),
            }))
        }
        other => other,
    }
}

const METHOD: &str = "\
A random network of 50 layers with at most 7 processes each and 13 edges back, the same for all \
points. The source sends d messages on each of its edges that carry T/d seconds of work each; every \
layer spends it. T is smaller here than the paper's 1 s (so a message at d carries less), and of \
very many messages the first are sent, with the time put in proportion; the table of the figures \
says how much. Policy ws-last, capacity 64.";

fn division(view: &View, cpus: usize, detection: &str) -> Curve {
    let rows = view.rows(&DIVISION).with("cpus", cpus).with("detection", detection);
    rows.curve("d", "seconds for d messages")
}

/// Running time and speed-up by work division.
pub(super) static FIGURE_12: Experiment = Experiment {
    name: "nornir-fig-12",
    summary: "random network: time and speed-up by work division, and what detection costs",
    paper: &NORNIR,
    place: "section 5.3.3, figure 12",
    found: "At d = 100 the speed-up is perfect. From d = 1000 on the time grows with d, faster with \
            more CPUs: every block starts a detection of deadlocks under one lock.",
    method: METHOD,
    studies: &[&DIVISION],
    statistic: Statistic::Median,
    panels: |view| {
        let axis = || Axis::logarithmic("d");
        let mut time = Panel::new("time", axis(), Axis::logarithmic("seconds for d messages"));
        let mut speed = Panel::new("speed-up over 1 CPU", axis(), Axis::linear("times"));
        for (detection, name) in
            [("central", "central lock"), ("deferred", "deferred"), ("off", "no detection")]
        {
            for cpus in view.plan.cpus() {
                let label = format!("{name}, {cpus} CPU");
                time = time.and(Series::line(label, &division(view, cpus, detection)));
            }
            for cpus in view.plan.cpus().into_iter().skip(1) {
                let ratio = division(view, 1, detection).over(&division(view, cpus, detection));
                speed = speed.and(Series::line(format!("{name}, {cpus} CPU"), &ratio));
            }
        }
        vec![time, speed]
    },
    claims: division_claims,
};

fn division_claims(view: &View) -> Vec<Claim> {
    let cpus = view.plan.most_cpus();
    let speed_up = |detection| division(view, 1, detection).over(&division(view, cpus, detection));
    let cost = |detection| division(view, cpus, detection).over(&division(view, cpus, "off"));
    let far = |curve: &Curve| {
        Some((curve.at(1e4)?, curve.at(1e5))).map(|(near, far)| (near, far.unwrap_or(near)))
    };
    let perfect = speed_up("deferred").at(100.0).filter(|_| cpus > 1);
    let central = far(&division(view, cpus, "central").over(&division(view, cpus, "deferred")));
    vec![
        Claim::judge("perfect speed-up at d = 100", perfect, |ratio| {
            let share = ratio / float(cpus);
            (format!("{} on {cpus} CPUs", show(ratio)), Verdict::at_least(share, 0.92, 1.0))
        })
        .because("there is always a ready process, and a message is long beside what it costs"),
        Claim::judge(
            "with the central lock the time rises at d = 10^4 and 10^5 (ours: it should not)",
            far(&cost("deferred")),
            |(near, far)| {
                let text = format!(
                    "deferred detection takes {} and {} times the time without any",
                    show(near),
                    show(far)
                );
                (text, if near.max(far) <= 1.1 { Verdict::Better } else { Verdict::Worse })
            },
        )
        .because(
            "who waits leaves a pointer to where it waits, and nobody looks until there is time for \
             it; the rest of the rise with d is what messages cost",
        ),
        Claim::judge(
            "(the paper's form, kept as an option) the central lock costs time there",
            central,
            |(near, far)| {
                let text = format!(
                    "{} times the time of the deferred form at 10^4, {} at 10^5",
                    show(near),
                    show(far)
                );
                (text, Verdict::holds(near.max(far) > 1.1))
            },
        )
        .because("every block and every wake-up takes the one lock"),
        Claim::judge(
            "the rise is faster with more CPUs",
            far(&speed_up("central")).zip(far(&speed_up("deferred"))).filter(|_| cpus > 1),
            |((_, central), (_, deferred))| {
                let text = format!(
                    "speed-up at the largest d: {} with the central lock, {} deferred",
                    show(central),
                    show(deferred)
                );
                (text, Verdict::holds(central < deferred))
            },
        )
        .because("the more CPUs, the more of them wait for the lock"),
    ]
}

/// Detections per second.
pub(super) static FIGURE_13: Experiment = Experiment {
    name: "nornir-fig-13",
    summary: "random network: detections of deadlocks per second",
    paper: &NORNIR,
    place: "section 5.3.3, figure 13",
    found: "The rate of detections grows with d, up to hundreds of thousands a second: each block \
            starts one.",
    method: METHOD,
    studies: &[&DIVISION],
    statistic: Statistic::Median,
    panels: |view| {
        let mut panel = Panel::new(
            "walks in search of a deadlock",
            Axis::logarithmic("d"),
            Axis::logarithmic("per second"),
        );
        for (detection, name) in [("central", "central lock"), ("deferred", "deferred")] {
            for cpus in view.plan.cpus() {
                let curve = rate(view, cpus, detection, "detections per second");
                panel = panel.and(Series::line(format!("{name}, {cpus} CPU"), &curve));
            }
        }
        let waits = rate(view, view.plan.most_cpus(), "deferred", "waits per second");
        vec![panel.and(Series::line("blocks, deferred", &waits))]
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let last = |detection, quantity| rate(view, cpus, detection, quantity).last();
        vec![
            Claim::judge(
                "with the central lock detections per second grow with d",
                rate(view, cpus, "central", "detections per second")
                    .at(10.0)
                    .zip(last("central", "detections per second")),
                |(first, last)| {
                    (
                        format!("{} at d = 10, {} at the largest", show(first), show(last)),
                        Verdict::holds(last > 3.0 * first),
                    )
                },
            )
            .because("the shorter the work on a message, the more often a process blocks"),
            Claim::judge(
                "(ours) deferred detection does not look at every block",
                last("deferred", "detections per second").zip(last("deferred", "waits per second")),
                |(walks, waits)| {
                    let text = format!(
                        "{} walks and {} blocks a second at the largest d",
                        show(walks),
                        show(waits)
                    );
                    (text, if walks < waits / 2.0 { Verdict::Better } else { Verdict::Worse })
                },
            )
            .because("idle workers look, and busy ones now and then, on a budget"),
        ]
    },
};

fn rate(view: &View, cpus: usize, detection: &str, quantity: &str) -> Curve {
    let rows = view.rows(&DIVISION).with("cpus", cpus).with("detection", detection);
    let curve = rows.curve("d", quantity);
    // Nothing is no place on a logarithmic axis.
    Curve(curve.0.into_iter().filter(|spot| spot.low > 0.0).collect())
}

fn tau_points(plan: &Plan) -> Vec<Point> {
    let taus: &[f64] = match plan.size.name() {
        "quick" => &[0.001, 0.1],
        _ => &[0.001, 0.004, 0.016, 0.064, 0.256],
    };
    let point = network(1_000, layer(plan), usize::MAX)
        .and("cpus", plan.most_cpus())
        .and("accounting", "timing");
    let mut points = vec![point.clone().and("policy", "ws-last")];
    points.extend(point.and("policy", "partition").each("tau", taus.iter().copied()));
    points
}

/// How much graph partitioning varies.
pub(super) static FIGURE_9: Experiment = Experiment {
    name: "nornir-fig-9",
    summary: "random network: time and repartitions under graph partitioning, by tau",
    paper: &NORNIR,
    place: "section 5.2.2, figure 9",
    found: "Graph partitioning takes 5 s at best where work stealing takes 2.5 s, and its times \
            vary widely from run to run. A larger tau means fewer repartitions and hardly another \
            time.",
    method: "The random network of figure 12 at d = 1000. Tau is the idle time, all workers \
             together, after which the processes are partitioned anew, in seconds; 0 stands for \
             ws-last. Boxes reach from the first quartile to the third, whiskers from the least to \
             the most.",
    studies: &[&TAU],
    statistic: Statistic::Median,
    panels: |view| {
        let rows = view.rows(&TAU);
        let taus = rows.numbers("tau");
        let names = ["0 (ws-last)".to_owned()].into_iter().chain(taus.iter().map(f64::to_string));
        let axis = Axis::steps("tau, seconds", names);
        let panel = |title: &str, quantity: &str| {
            let mut spots: Vec<_> = stealing(rows, quantity).into_iter().collect();
            let partition = rows.with("policy", "partition").curve("tau", quantity);
            spots.extend(
                partition
                    .in_steps(&taus)
                    .0
                    .into_iter()
                    .map(|spot| crate::Spot { x: spot.x + 1.0, ..spot }),
            );
            let series = Series::boxes(title, &Curve(spots));
            Panel::new(title, axis.clone(), Axis::linear(quantity)).and(series)
        };
        vec![panel("time", "seconds"), panel("repartitions", "repartitions")]
    },
    claims: |view| {
        let rows = view.rows(&TAU);
        let stealing = stealing(rows, "seconds");
        let partition = rows.with("policy", "partition").curve("tau", "seconds");
        let best = partition.0.iter().map(|spot| spot.low).min_by(f64::total_cmp);
        let spread = |spot: &crate::Spot| (spot.high - spot.low) / spot.y;
        let widest = partition.0.iter().map(spread).max_by(f64::total_cmp);
        let repartitions = rows.with("policy", "partition").curve("tau", "repartitions");
        let (few, many) = (repartitions.last(), repartitions.0.first().map(|spot| spot.y));
        vec![
            Claim::judge(
                "GP needs 5 s at best where WS-LAST needs 2.5 s: twice the time",
                best.zip(stealing.map(|spot| spot.y)).map(|(best, stealing)| best / stealing),
                |ratio| {
                    let verdict = match ratio {
                        ratio if ratio > 1.05 => Verdict::Reproduced,
                        _ => Verdict::Better,
                    };
                    (format!("{} times at best", show(ratio)), verdict)
                },
            )
            .because(
                "between two partitions a worker that has nothing to do stays idle; with few CPUs \
                 there is less to balance wrongly",
            ),
            Claim::judge(
                "GP's times vary widely, more than those of work stealing",
                widest.zip(stealing.as_ref().map(spread)),
                |(gp, ws)| {
                    let text = format!(
                        "range {:.0} % of the median at most, {:.0} % under ws-last",
                        gp * 100.0,
                        ws * 100.0
                    );
                    (text, if gp > ws { Verdict::Reproduced } else { Verdict::Better })
                },
            )
            .because("which partition comes out depends on when the idle time passed tau"),
            Claim::judge("a larger tau means fewer repartitions", many.zip(few), |(many, few)| {
                (
                    format!("{} with the smallest, {} with the largest", show(many), show(few)),
                    Verdict::holds(few <= many),
                )
            }),
        ]
    },
};

/// What work stealing takes, at the place of tau 0.
fn stealing(rows: &Rows, quantity: &str) -> Option<crate::Spot> {
    let rows = rows.with("policy", "ws-last");
    let row = rows.iter().next()?;
    rows.spot(row, 0.0, quantity)
}

fn traffic_points(plan: &Plan) -> Vec<Point> {
    let powers = plan.size.of(2..=3, 1..=4, 1..=5);
    let most = plan.size.of(2_000, 20_000, usize::MAX);
    let seconds = layer(plan) / plan.size.of(1.0, 5.0, 1.0);
    let mut points = Vec::new();
    for power in powers {
        // The papers' eight, whatever there is: the share is counted, not timed.
        let point = network(10_usize.pow(power), seconds, most).and("cpus", 8_usize);
        points.extend(point.each("policy", ["ws-last", "partition"]));
    }
    points
}

/// Messages that stay on their worker.
pub(super) static TRAFFIC_PATTERNS: Experiment = Experiment {
    name: "nornir-traffic",
    summary: "random network: share of messages that stay on their worker, 8 workers",
    paper: &NORNIR,
    place: "section 5.2.2, traffic patterns",
    found: "On 8 CPUs at least 70 % of all messages are local under graph partitioning, for every \
            work division, and at most 20 % under WS-LAST, fewer as d grows.",
    method: "Eight workers on the cores there are: the share of messages that a process receives on \
             the worker that its sender ran on is counted, not timed. The random network of figure \
             12 with less work.",
    studies: &[&TRAFFIC],
    statistic: Statistic::Median,
    panels: |view| {
        let panel = Panel::new(
            "local messages, 8 workers",
            Axis::logarithmic("d"),
            Axis::linear("% of all"),
        );
        let series = ["partition", "ws-last"]
            .map(|policy| Series::line(policy, &traffic(view, policy).map(|share| share * 100.0)));
        vec![series.into_iter().fold(panel, Panel::and)]
    },
    claims: |view| {
        let per_cent = |share: f64| format!("{:.0} %", share * 100.0);
        let partition = traffic(view, "partition");
        let last = traffic(view, "ws-last");
        vec![
            Claim::judge("at least 70 % local under GP", partition.least(), |least| {
                (format!("{} at least", per_cent(least.y)), Verdict::at_least(least.y, 0.7, 0.9))
            })
            .because("partitions are made so that heavy edges are not cut; the graph allows it"),
            Claim::judge("at most 20 % local under WS-LAST", last.most(), |most| {
                let verdict = if most.y <= 0.25 { Verdict::Reproduced } else { Verdict::Better };
                (format!("{} at most", per_cent(most.y)), verdict)
            })
            .because(
                "with more workers than cores only some of them run at a time, and a process stays \
                 where it ran last: so more messages are local than with a core for each worker",
            ),
            Claim::judge(
                "more local messages under GP than under WS-LAST, for every d",
                partition.over(&last).least(),
                |least| {
                    (
                        format!("{} times as many at least", show(least.y)),
                        Verdict::holds(least.y > 1.0),
                    )
                },
            ),
        ]
    },
};

fn traffic(view: &View, policy: &str) -> Curve {
    view.rows(&TRAFFIC).with("policy", policy).curve("d", "local share")
}
