//! S-Net: workers that follow records against a process for each component.

use kahn_apps::Failure;
use kahn_apps::snet::SnetProgram;
use kahn_snet::runtime::{Concurrency, Options, Runtime};

use crate::claim::Claim;
use crate::experiment::{Experiment, Measured, Outcome, Plan, Study};
use crate::measure::time;
use crate::papers::FRONT;
use crate::peers::FRONT as FRONT_PEER;
use crate::plot::{Axis, Panel, Series};
use crate::point::Point;
use crate::rows::Curve;
use crate::side::Pick;
use crate::{Bench, View};

static RECURSION: Study =
    Study { name: "snet-fibonacci", rounds: 9, points: recursion_points, measure };
static BRANCHES: Study = Study { name: "snet-branches", rounds: 9, points: branch_points, measure };
static CALLS: Study = Study { name: "snet-calls", rounds: 9, points: call_points, measure };
static TILES: Study = Study { name: "snet-tiles", rounds: 9, points: tile_points, measure };

/// What carries the records: its name, and the policy that runs processes, if it has any.
const RUNTIMES: [(&str, Option<&str>); 3] =
    [("front", None), ("network", Some("ws-cur")), ("network, threads", Some("threads"))];

/// The most threads that a point may need: a runtime is not measured beyond that.
const MOST_THREADS: usize = 1500;

fn points(plan: &Plan, program: &str, sizes: &[usize], threads: fn(usize) -> usize) -> Vec<Point> {
    let mut points = Vec::new();
    for size in sizes {
        for (runtime, _) in RUNTIMES {
            if runtime.ends_with("threads") && threads(*size) > MOST_THREADS {
                continue;
            }
            let point = Point::new().and("program", program).and("runtime", runtime);
            points.extend(point.and("size", *size).each("cpus", plan.cpus()));
        }
        if program != "cholesky" {
            let point = Point::new().and("program", program).and("runtime", FRONT_PEER.name);
            points.extend(point.and("size", *size).each("cpus", plan.cpus()));
        }
    }
    points
}

fn recursion_points(plan: &Plan) -> Vec<Point> {
    let sizes: Vec<usize> =
        plan.size.of(vec![10, 14, 18], vec![10, 12, 15, 18, 20, 22, 24], (10..=27).collect());
    // A few processes for each level.
    points(plan, "fibonacci", &sizes, |size| 20 * size)
}

fn branch_points(plan: &Plan) -> Vec<Point> {
    let most = plan.size.of(9_usize, 14, 17);
    let sizes: Vec<usize> = (4..=most).collect();
    // A cell for each call that makes two.
    points(plan, "poweroftwo_masks", &sizes, |size| (1 << size) + 40 * size)
}

fn call_points(plan: &Plan) -> Vec<Point> {
    let records = plan.size.of(40_usize, 300, 300);
    let mut points = Vec::new();
    let base = Point::new().and("program", "busy").and("size", records);
    let base = base.and("cpus", plan.most_cpus());
    for (runtime, _) in RUNTIMES {
        let limits = if runtime == "front" { 1..=9_usize } else { 1..=1 };
        points.extend(base.clone().and("runtime", runtime).each("limit", limits));
    }
    points
}

fn tile_points(plan: &Plan) -> Vec<Point> {
    let sizes: &[usize] = plan.size.of(&[1024], &[1024, 2048], &[4096, 8192]);
    // A cell and two processes for each tile of each column: too many threads.
    points(plan, "cholesky", sizes, |_| usize::MAX)
}

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    if point.text("runtime") == FRONT_PEER.name {
        let name = if point.text("program") == "fibonacci" { "fibonacci" } else { "poweroftwo" };
        let size = point.count("size").to_string();
        return FRONT_PEER.measure(name, &[&size], point.count("cpus"), bench);
    }
    let failed = |text: String| Failure::input(format!("{point}: {text}"));
    let name = point.text("program");
    let program = SnetProgram::named(name).ok_or_else(|| failed("no such program".to_owned()))?;
    let kind = RUNTIMES.iter().find(|(runtime, _)| *runtime == point.text("runtime"));
    let runtime = match kind {
        Some((_, Some(policy))) => {
            Runtime::Network { policy: Some(super::options::policy(policy)) }
        }
        _ => Runtime::Front,
    };
    let limit = point.get("limit").map(|_| point.count("limit"));
    let concurrency = Concurrency { default: Some(limit.unwrap_or(1)), ..Concurrency::default() };
    // Tiles are what boxes at once are for.
    let concurrency = if name == "cholesky" { Concurrency::default() } else { concurrency };
    let workers = point.count("cpus");
    let options = Options { runtime, workers, concurrency, ..Options::default() };
    let case = program.case(point.count("size"));
    let (seconds, result) = time(|| program.run(&case, &options));
    let (output, report) = result.map_err(|error| failed(error.to_string()))?;
    case.check(&output).map_err(failed)?;
    let records: u64 = report.components.iter().map(|component| component.records).sum();
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    let records = records as f64;
    let measured = Measured::seconds(seconds).and("records", records);
    Ok(Outcome::Measured(measured.and("records per second", records / seconds)))
}

fn curve(view: &View, study: &Study, runtime: &str, cpus: usize, quantity: &str) -> Curve {
    let rows = view.rows(study).with("runtime", runtime).with("cpus", cpus);
    rows.curve("size", quantity)
}

/// Time and records per second by the size, for each runtime, on one CPU and on all; the time of the authors' own
/// beside them, which counts no records.
fn size_panels(view: &View, study: &'static Study) -> Vec<Panel> {
    let size = || Axis::linear("n");
    let mut seconds = Panel::new("time", size(), Axis::logarithmic("seconds"));
    let mut rate = Panel::new("records", size(), Axis::logarithmic("records per second"));
    let shown = RUNTIMES.map(|(runtime, _)| (runtime, runtime));
    for (runtime, label) in shown.into_iter().chain([(FRONT_PEER.name, "the authors' FRONT")]) {
        for cpus in
            view.plan.cpus().into_iter().filter(|cpus| [1, view.plan.most_cpus()].contains(cpus))
        {
            let label = format!("{label}, {}", crate::point::cpus(cpus));
            let drawn = |quantity| curve(view, study, runtime, cpus, quantity);
            let (times, rates) = (drawn("seconds"), drawn("records per second"));
            if !times.0.is_empty() {
                seconds = seconds.and(Series::line(label.clone(), &times));
            }
            if !rates.0.is_empty() {
                rate = rate.and(Series::line(label, &rates));
            }
        }
    }
    vec![seconds, rate]
}

/// What a runtime measured at a size, on all CPUs.
fn at(view: &View, study: &Study, runtime: &str, size: f64, quantity: &str) -> Pick {
    let rows = Pick::of(study, quantity).with("runtime", runtime).with("size", size);
    rows.with("cpus", view.plan.most_cpus())
}

/// The largest size that a runtime was measured at; 0 if there is none.
fn largest(view: &View, study: &Study, runtime: &str) -> f64 {
    let measured = curve(view, study, runtime, view.plan.most_cpus(), "seconds");
    measured.0.last().map_or(0.0, |spot| spot.x)
}

const THREADS: &str = "network, threads";

/// `front` against what stands for the runtime before it, and against the authors' own.
fn size_claims(view: &View, study: &'static Study, faster: Claim) -> Vec<Claim> {
    let pair = |runtime: &str, size| {
        (at(view, study, "front", size, "seconds"), at(view, study, runtime, size, "seconds"))
    };
    let (ours, threads) = pair(THREADS, largest(view, study, THREADS));
    let (front, own) = pair(FRONT_PEER.name, largest(view, study, "front"));
    vec![
        faster.between(ours, threads),
        Claim::advantage(format!("as fast as the authors' own runtime ({})", study.name), 1.0)
            .between(front, own),
    ]
}

/// Fibonacci: time and records per second.
pub(super) static FIGURE_7: Experiment = Experiment {
    name: "front-fig-7",
    summary: "S-Net: Fibonacci by recursion, records followed against processes",
    paper: &FRONT,
    place: "section 5.1, figure 7",
    found: "FRONT is about 50 times faster than S-RTS: up to a million records are made and ended \
            in a second.",
    method: "The program makes records with filters alone: a star unfolds the calls, a feedback \
             folds the results, pairwise within a level. `front` are workers that follow records; \
             `network` is a Kahn process for each component, on our scheduler and with a thread \
             each, as S-RTS was. A record is counted at each component it comes to.",
    studies: &[&RECURSION],
    panels: |view| size_panels(view, &RECURSION),
    claims: |view| {
        let promise =
            "records that are followed are about 50 times faster than a thread for each component";
        size_claims(view, &RECURSION, Claim::advantage(promise, 50.0))
    },
};

/// Powers of two: many branches.
pub(super) static FIGURE_8: Experiment = Experiment {
    name: "front-fig-8",
    summary: "S-Net: powers of two, with as many branches as calls",
    paper: &FRONT,
    place: "section 5.2, figure 8",
    found: "Beyond 1000 connections the collector of S-RTS dominates, and its rate falls; FRONT's \
            does not.",
    method: "As for figure 7; every pair of results meets in a synchro-cell of its own, which a \
             split makes by the path to the call. With a thread for each component only sizes are \
             run that the system has threads for.",
    studies: &[&BRANCHES],
    panels: |view| size_panels(view, &BRANCHES),
    claims: |view| {
        let sizes = view.rows(&BRANCHES).numbers("size");
        let rate = |size: Option<&f64>| {
            let size = size.copied().unwrap_or_default();
            at(view, &BRANCHES, "front", size, "records per second")
        };
        let promise = "records that are followed are faster than a thread for each component";
        let mut claims = size_claims(view, &BRANCHES, Claim::effect(promise));
        claims.push(
            Claim::advantage("the rate does not fall with the branches", 1.0)
                .within(1.1)
                .rates()
                .between(rate(sizes.last()), rate(sizes.first())),
        );
        claims
    },
};

/// Two busy boxes: calls at once.
pub(super) static FIGURE_9: Experiment = Experiment {
    name: "front-fig-9",
    summary: "S-Net: two busy boxes, with 1 to 9 calls of a box at once",
    paper: &FRONT,
    place: "section 5.3, figure 9",
    found: "The more calls of a box may run at once, the faster; 9 are several times as fast as \
            one.",
    method: "The radar program of the paper is not public. Two boxes in series compute for about \
             half a millisecond each; outputs keep their order. With as few cores as boxes one \
             call of each keeps all busy.",
    studies: &[&CALLS],
    panels: |view| {
        let limits = || Axis::linear("calls at once");
        let seconds = Panel::new("time", limits(), Axis::linear("seconds"));
        let speed = Panel::new("speed-up over one thread each", limits(), Axis::linear("times"));
        let front = view.rows(&CALLS).with("runtime", "front").curve("limit", "seconds");
        let of = |runtime: &str| view.rows(&CALLS).with("runtime", runtime).figure("seconds");
        let mut seconds = seconds.and(Series::line("front", &front));
        for (runtime, _) in &RUNTIMES[1..] {
            let flat = of(runtime).map_or_else(Curve::default, |time| front.map(|_| time));
            seconds = seconds.and(Series::line(*runtime, &flat));
        }
        let over = of("network, threads");
        let speed_up = over.map_or_else(Curve::default, |time| front.speed_up_over(time));
        vec![seconds, speed.and(Series::line("front", &speed_up)).with_most(view.plan.most_cpus())]
    },
    claims: |_view| {
        let calls = |limit: usize| {
            Pick::of(&CALLS, "seconds").with("runtime", "front").with("limit", limit)
        };
        vec![
            Claim::effect("nine calls of a box at once are faster than one")
                .between(calls(9), calls(1))
                .on(48),
        ]
    },
};

/// Tiled Cholesky: speed-up.
pub(super) static FIGURE_10: Experiment = Experiment {
    name: "front-fig-10",
    summary: "S-Net: speed-up of tiled Cholesky factorisation",
    paper: &FRONT,
    place: "section 5.4, figure 10",
    found: "FRONT speeds up well to 6 cores with tiles of 64, to 48 with tiles of 128; S-RTS \
            hardly with small tiles.",
    method: "A replica of a star is a column of tiles; tiles go on as soon as what they need is \
             there. The factor is compared with the matrix. Tiles have 64 rows, and 128 if the \
             matrix has 8192; drawn is the largest matrix.",
    studies: &[&TILES],
    panels: |view| {
        let cpus_axis = || Axis::logarithmic("CPUs").to(48.0);
        let largest = view.rows(&TILES).numbers("size").into_iter().fold(0.0, f64::max);
        let mut speed = Panel::new("speed-up", cpus_axis(), Axis::logarithmic("times"));
        let mut seconds = Panel::new("time", cpus_axis(), Axis::linear("seconds"));
        for (runtime, _) in &RUNTIMES[..2] {
            let rows = view.rows(&TILES).with("runtime", *runtime).with("size", largest);
            let drawn = rows.curve("cpus", "seconds");
            if let Some(one) = drawn.at(1.0) {
                speed = speed.and(Series::line(*runtime, &drawn.speed_up_over(one)));
            }
            seconds = seconds.and(Series::line(*runtime, &drawn));
        }
        vec![speed.with_linear(48), seconds]
    },
    claims: |view| {
        let size = largest(view, &TILES, "front");
        let on = |cpus: usize| {
            let rows = Pick::of(&TILES, "seconds").with("runtime", "front").with("size", size);
            rows.with("cpus", cpus)
        };
        vec![
            Claim::effect("good speed-up on a few cores")
                .between(on(view.plan.most_cpus()), on(1))
                .on(6),
        ]
    },
};
