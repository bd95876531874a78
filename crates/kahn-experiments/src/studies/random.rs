//! The random network: deadlock detection, and work stealing against graph partitioning.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::{Job, counted};
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Refused, Study};
use crate::papers::NORNIR;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows};
use crate::side::{Pick, Side};
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

/// Seconds of work in a layer: the paper's, but for a look.
fn layer(plan: &Plan) -> f64 {
    plan.size.of(0.005, 1.0, 1.0)
}

/// How many of the messages are sent; the default size sends the first twentieth of them.
fn sent(plan: &Plan, division: usize) -> usize {
    plan.size.of(2_000, (division / 20).max(50), usize::MAX)
}

fn division_points(plan: &Plan) -> Vec<Point> {
    let powers = plan.size.of(1..=4, 2..=5, 1..=5);
    let mut points = Vec::new();
    for power in powers {
        for cpus in plan.cpus() {
            let d = 10_usize.pow(power);
            let point = network(d, layer(plan), sent(plan, d)).and("policy", "ws-last");
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
        Err(error @ Failure::Run { .. }) if point.get("detection") == Some(&"off".into()) => {
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
layer spends it. T is the paper's, 1 s (5 ms in the size quick, so a message carries less); in the default \
size the first twentieth of the messages is sent, 50 at least, and the time put in proportion. Policy \
ws-last, capacity 64.";

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
    panels: |view| {
        let axis = || Axis::logarithmic("d");
        let mut time = Panel::new("time", axis(), Axis::logarithmic("seconds for d messages"));
        let mut speed = Panel::new("speed-up over 1 CPU", axis(), Axis::linear("times"));
        for (detection, name) in
            [("central", "central lock"), ("deferred", "deferred"), ("off", "no detection")]
        {
            for cpus in view.plan.cpus() {
                let label = format!("{name}, {}", crate::point::cpus(cpus));
                time = time.and(Series::line(label, &division(view, cpus, detection)));
            }
            for cpus in view.plan.cpus().into_iter().skip(1) {
                let ratio = division(view, 1, detection).over(&division(view, cpus, detection));
                speed = speed
                    .and(Series::line(format!("{name}, {}", crate::point::cpus(cpus)), &ratio));
            }
        }
        vec![time, speed.with_most(view.plan.most_cpus())]
    },
    claims: division_claims,
};

/// The largest work division that was measured.
fn most_divided(view: &View) -> f64 {
    view.rows(&DIVISION).numbers("d").into_iter().fold(0.0, f64::max)
}

fn at(detection: &str, cpus: usize, d: f64, quantity: &str) -> Pick {
    Pick::of(&DIVISION, quantity).with("detection", detection).with("cpus", cpus).with("d", d)
}

fn division_claims(view: &View) -> Vec<Claim> {
    let cpus = view.plan.most_cpus();
    let time = |detection: &str, cpus, d| at(detection, cpus, d, "seconds for d messages");
    let most = most_divided(view);
    let rise = |cpus| Side::from(time("central", cpus, most)).over(time("central", cpus, 1000.0));
    vec![
        Claim::scaling("perfect speed-up at d = 100", 8.0, 8, cpus)
            .between(time("deferred", cpus, 100.0), time("deferred", 1, 100.0)),
        Claim::effect(format!("with the central lock the time rises from d = 1000 to {most}"))
            .between(time("central", cpus, 1000.0), time("central", cpus, most))
            .on(8),
        Claim::effect(format!("it rises faster with more CPUs, to d = {most}"))
            .between(rise(1), rise(cpus))
            .on(8),
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
    panels: |view| {
        let mut panel = Panel::new(
            "walks in search of a deadlock",
            Axis::logarithmic("d"),
            Axis::logarithmic("per second"),
        );
        for (detection, name) in [("central", "central lock"), ("deferred", "deferred")] {
            for cpus in view.plan.cpus() {
                let curve = rate(view, cpus, detection, "detections per second");
                panel = panel
                    .and(Series::line(format!("{name}, {}", crate::point::cpus(cpus)), &curve));
            }
        }
        let waits = rate(view, view.plan.most_cpus(), "deferred", "waits per second");
        vec![panel.and(Series::line("blocks, deferred", &waits))]
    },
    claims: |view| {
        let at = |d| at("central", view.plan.most_cpus(), d, "detections per second");
        let most = most_divided(view);
        vec![
            Claim::effect(format!("detections per second grow with d, from 100 to {most}"))
                .rates()
                .between(at(most), at(100.0))
                .on(8),
        ]
    },
};

fn rate(view: &View, cpus: usize, detection: &str, quantity: &str) -> Curve {
    let rows = view.rows(&DIVISION).with("cpus", cpus).with("detection", detection);
    let curve = rows.curve("d", quantity);
    // Nothing is no place on a logarithmic axis.
    Curve(curve.0.into_iter().filter(|spot| spot.low > 0.0).collect())
}

static CAPACITY: Study =
    Study { name: "random-capacity", rounds: 9, points: capacity_points, measure };

fn capacity_points(plan: &Plan) -> Vec<Point> {
    let mut points = Vec::new();
    for power in plan.size.of(3..=4, 4..=5, 4..=5) {
        let d = 10_usize.pow(power);
        let point = network(d, layer(plan), sent(plan, d)).and("policy", "ws-last");
        let point = point.and("cpus", plan.most_cpus()).and("detection", "central");
        points.extend(point.each("capacity", [16, 64, 256, 1024, 4096_usize]));
    }
    points
}

/// What the paper suggests.
pub(super) static CAPACITIES: Experiment = Experiment {
    name: "nornir-capacity",
    summary: "random network: the price of the central lock by the capacity of channels",
    paper: &NORNIR,
    place: "sections 5.3.3 and 5.5",
    found: "A possible way of avoiding the cost of frequent detections is to increase the default \
            capacity of channels, 64, to a larger value.",
    method: METHOD,
    studies: &[&CAPACITY],
    panels: |view| {
        let panel = |title: &str, figures: &str, quantity: &str| {
            let panel =
                Panel::new(title, Axis::logarithmic("capacity"), Axis::logarithmic(figures));
            view.rows(&CAPACITY).numbers("d").into_iter().fold(panel, |panel, d| {
                let curve = view.rows(&CAPACITY).with("d", d).curve("capacity", quantity);
                let seen = curve.0.into_iter().filter(|spot| spot.low > 0.0).collect();
                panel.and(Series::line(format!("d = {d}"), &Curve(seen)))
            })
        };
        vec![
            panel("time", "seconds for d messages", "seconds for d messages"),
            panel("detections", "per second", "detections per second"),
        ]
    },
    claims: |view| {
        let most = view.rows(&CAPACITY).numbers("d").into_iter().fold(0.0, f64::max);
        let at = |capacity: usize, quantity: &str| {
            Pick::of(&CAPACITY, quantity).with("d", most).with("capacity", capacity)
        };
        let time = |capacity| at(capacity, "seconds for d messages");
        let walks = |capacity| at(capacity, "detections per second");
        vec![
            Claim::effect(format!("a capacity of 4096 avoids the cost that 64 has, at d = {most}"))
                .between(time(4096), time(64))
                .on(8),
            Claim::effect(format!(
                "there are fewer detections with 4096 than with 64, at d = {most}"
            ))
            .between(walks(4096), walks(64))
            .on(8),
        ]
    },
};

fn tau_points(plan: &Plan) -> Vec<Point> {
    let taus: &[f64] = match plan.size.name() {
        "quick" => &[0.001, 0.1],
        _ => &[0.001, 0.004, 0.016, 0.064, 0.256],
    };
    let point = network(1_000, layer(plan), plan.size.of(1_000, 200, 1_000))
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
    panels: |view| {
        let rows = view.rows(&TAU);
        let taus = rows.numbers("tau");
        let names = ["0 (ws-last)".to_owned()].into_iter().chain(taus.iter().map(f64::to_string));
        let axis = Axis::steps("tau, seconds", names);
        let panel = |title: &str, quantity: &str| {
            let mut spots: Vec<_> = stealing(rows, quantity).into_iter().collect();
            let partition = rows.with("policy", "partition").curve("tau", quantity);
            spots.extend(partition.in_steps(&taus).0.into_iter().map(|spot| {
                let x = spot.x + 1.0;
                spot.at(x)
            }));
            let series = Series::boxes(title, &Curve(spots));
            Panel::new(title, axis.clone(), Axis::linear(quantity)).and(series)
        };
        vec![panel("time", "seconds"), panel("repartitions", "repartitions")]
    },
    claims: |view| {
        let of = |policy: &str, quantity: &str| Pick::of(&TAU, quantity).with("policy", policy);
        let taus = view.rows(&TAU).numbers("tau");
        let (least, most) = (taus.first().copied(), taus.last().copied());
        let again =
            |tau: Option<f64>| of("partition", "repartitions").with("tau", tau.unwrap_or_default());
        let change = |policy: &str| of(policy, "seconds").change();
        vec![
            Claim::effect_of("GP needs 5 s with the best tau, WS-LAST 2.5 s", 2.0)
                .between(of("ws-last", "seconds"), of("partition", "seconds"))
                .on(8),
            Claim::effect("GP's times vary from run to run more than those of WS-LAST")
                .between(change("ws-last"), change("partition"))
                .on(8),
            Claim::effect("a larger tau means fewer repartitions")
                .between(again(most), again(least))
                .on(8),
        ]
    },
};

/// What work stealing takes, at the place of tau 0.
fn stealing(rows: &Rows, quantity: &str) -> Option<crate::Spot> {
    let rows = rows.with("policy", "ws-last");
    let row = rows.iter().next()?;
    Rows::spot(row, 0.0, quantity)
}

fn traffic_points(plan: &Plan) -> Vec<Point> {
    let powers = plan.size.of(2..=3, 1..=4, 1..=5);
    let most = plan.size.of(2_000, 20_000, usize::MAX);
    let seconds = plan.size.of(0.005, 0.01, 1.0);
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
        let share = |policy: &str, d: f64| {
            Pick::of(&TRAFFIC, "local share").with("policy", policy).with("d", d)
        };
        let ds = || view.rows(&TRAFFIC).numbers("d").into_iter();
        let local = Claim::advantage("at least 70 % are local under GP, for every d", 1.0).rates();
        let foreign = Claim::effect("at most 20 % are local under WS-LAST, for every d");
        let more = Claim::effect("more are local under GP than under WS-LAST, for every d").rates();
        vec![
            ds().fold(local, |claim, d| claim.between(share("partition", d), Side::paper(0.7))),
            // 20 % exactly is what the paper says, too.
            ds().fold(foreign.within(1.0 / 1.05), |claim, d| {
                claim.between(share("ws-last", d), Side::paper(0.2))
            }),
            ds().fold(more, |claim, d| claim.between(share("partition", d), share("ws-last", d))),
        ]
    },
};

fn traffic(view: &View, policy: &str) -> Curve {
    view.rows(&TRAFFIC).with("policy", policy).curve("d", "local share")
}
