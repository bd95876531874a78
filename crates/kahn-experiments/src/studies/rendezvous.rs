//! The ring in which a sender waits for its receiver: what a communication costs.

use kahn::Network;
use kahn_apps::ring::{Moment, Ring};
use kahn_apps::{Compare, Failure};

use super::communicating::{on_cores, one_and_most, options, over_cores, refused};
use crate::claim::Claim;
use crate::experiment::{Experiment, Measured, Outcome, Plan, Study};
use crate::measure::Clock;
use crate::papers::CCSP;
use crate::peers::CCSP as CCSP_PEER;
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows};
use crate::side::Pick;
use crate::{Bench, View};

static ONE: Study = Study { name: "rendezvous-1", rounds: 9, points: points_of_one, measure };

static MANY: Study = Study { name: "rendezvous-64", rounds: 9, points: points_of_many, measure };

/// The implementations, and whether a communication takes them nanoseconds.
const IMPLEMENTATIONS: [(&str, bool); 6] = [
    ("default", true),
    ("batch", true),
    ("CCSP", true),
    ("Kahn channels", true),
    ("threads", false),
    ("std threads", false),
];

/// The root and 255 elements.
const PROCESSES: usize = 256;

/// What the paper's plot shows the time of.
const CIRCULATIONS: usize = 1024;

const TOKENS: usize = 64;

fn points(tokens: usize, cpus: &[usize], cycles: [usize; 2]) -> Vec<Point> {
    let mut points = Vec::new();
    for &cpus in cpus {
        for (implementation, is_short) in IMPLEMENTATIONS {
            let point = Point::new().and("implementation", implementation).and("cpus", cpus);
            let point = point.and("tokens", tokens).and("processes", PROCESSES);
            points.push(point.and("cycles", cycles[usize::from(is_short)]));
        }
    }
    points
}

fn points_of_one(plan: &Plan) -> Vec<Point> {
    // What takes nanoseconds is done more often, so that there is something to measure.
    let cycles = plan.size.of([4, 1000], [64, 10_000], [1024, 1024]);
    points(1, &one_and_most(plan), cycles)
}

fn points_of_many(plan: &Plan) -> Vec<Point> {
    let cycles = plan.size.of([1, 16], [16, 256], [CIRCULATIONS, CIRCULATIONS]);
    points(TOKENS, &plan.cpus(), cycles)
}

/// Takes the time of the root, after the lap to warm up.
#[derive(Default)]
struct Laps {
    since: Option<Clock>,
    seconds: f64,
}

impl Laps {
    fn see(&mut self, moment: Moment) {
        match moment {
            Moment::Start => self.since = Some(Clock::start()),
            Moment::Cycle => {}
            Moment::End => self.seconds = self.since.map_or(0.0, Clock::seconds),
        }
    }
}

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    if point.text("implementation") == CCSP_PEER.name {
        return measure_ccsp(point, bench);
    }
    let count = |name: &str| u32::try_from(point.count(name)).unwrap_or(u32::MAX);
    let (processes, tokens, cycles) = (count("processes"), count("tokens"), cycles(point));
    let ring = Ring { processes, tokens, cycles: cycles as u64 };
    let mut laps = Laps::default();
    if let Err(failure) = on_cores(point.count("cpus"), || run(ring, point, &mut laps)) {
        return refused(failure);
    }
    // One token makes a lap each cycle; several make one more while the ring fills and drains.
    let circulations = cycles + usize::from(tokens > 1);
    let each = laps.seconds / float(PROCESSES * point.count("tokens") * circulations);
    let all = each * float(PROCESSES * point.count("tokens") * CIRCULATIONS);
    let measured = Measured::seconds(laps.seconds).and("ns per communication", each * 1e9);
    let measured = measured.and("circulations", float(circulations));
    Ok(Outcome::Measured(measured.and("seconds for 1024 circulations", all)))
}

/// CCSP's programs are timed as a whole, and do so much more that their start hardly counts. What is compared with
/// them does as much: a core that has just begun to work may be half as fast for the first tenth of a second.
const MORE: usize = 8;

/// How often each token goes round.
fn cycles(point: &Point) -> usize {
    let name = point.text("implementation");
    let is_short = IMPLEMENTATIONS.iter().any(|&(other, is_short)| is_short && other == name);
    point.count("cycles") * if is_short { MORE } else { 1 }
}

fn measure_ccsp(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let (cpus, tokens, cycles) = (point.count("cpus"), point.count("tokens"), cycles(point));
    let [laps, many] = [cycles, tokens].map(|count| count.to_string());
    let outcome = on_cores(cpus, || match tokens {
        1 => CCSP_PEER.measure("ring", &[&laps], cpus, bench),
        _ => CCSP_PEER.measure("mtring", &[&laps, &many], cpus, bench),
    })?;
    Ok(match outcome {
        Outcome::Measured(measured) => {
            let each = measured.0["seconds"] / float(PROCESSES * tokens * cycles);
            let all = each * float(PROCESSES * tokens * CIRCULATIONS);
            let measured = measured.and("ns per communication", each * 1e9);
            let measured = measured.and("circulations", float(cycles));
            Outcome::Measured(measured.and("seconds for 1024 circulations", all))
        }
        refused @ Outcome::Refused(_) => refused,
    })
}

/// Runs the ring in one of its forms.
fn run(ring: Ring, point: &Point, laps: &mut Laps) -> Result<(), Failure> {
    match point.text("implementation") {
        "std threads" => ring.threads(|moment| laps.see(moment)).map(drop),
        "Kahn channels" => {
            let mut network = Network::new();
            let _total = ring.network(&mut network, Compare::Numbers, |moment| laps.see(moment));
            let options = super::options::options(point).capacity(1);
            network.run_with(options)?;
            Ok(())
        }
        _ => {
            let ran = ring.rendezvous(options(point), |moment| laps.see(moment));
            ran.map(drop).map_err(kahn_apps::failed)
        }
    }
}

const METHOD: &str = "The ring of 255 elements and a root. `default` and `batch` are \
                      communicating processes, which meet at each message, under our default \
                      policy and under that of the paper. Beside them: the same ring with Kahn \
                      channels of capacity 1; the same processes with a thread of the system each \
                      (`threads`); and threads with channels of the standard library that hold \
                      one message (`std threads`); and CCSP's own program, if the variable \
                      `KAHN_PEER_CCSP` names its folder. All threads are bound to the cores \
                      named, as the paper did with taskset. The time is that of the root after a \
                      lap to warm up. CCSP's program is timed as a whole, over eight times the \
                      `cycles` of its point; so are ours where `circulations` says so.";

/// What a communication costs with one token.
pub(super) static TABLE_1: Experiment = Experiment {
    name: "ccsp-table-1",
    summary: "the ring with one token: ns a communication on one core and on all",
    paper: &CCSP,
    place: "section 5.2, table 1",
    found: "One token, on 1 and 8 cores of 2.26 GHz: CCSP in C 10 and 67 ns, in occam-π 11 and 32 \
            ns; Erlang 428 and 404, Haskell 71 and 3448, Java 5579 and 5221, POSIX threads in C \
            2236 and 2535 ns. CCSP and Erlang are hardly affected by the number of cores.",
    method: METHOD,
    studies: &[&ONE],
    panels: panels_of_one,
    claims: claims_of_one,
};

/// What more cores cost with 64 tokens.
pub(super) static FIGURE_13: Experiment = Experiment {
    name: "ccsp-fig-13",
    summary: "the ring with 64 tokens: the time of 1024 circulations over the cores",
    paper: &CCSP,
    place: "section 5.2, figure 13",
    found: "All become slower with more cores, for a message between cores is dearer than one \
            within; only POSIX threads and Java become faster. CCSP controls the slow-down: it \
            should not fall below the time of a communication between cores.",
    method: METHOD,
    studies: &[&MANY],
    panels: panels_of_many,
    claims: claims_of_many,
};

fn of(rows: &Rows, implementation: &str, quantity: &str) -> Curve {
    rows.with("implementation", implementation).curve("cpus", quantity)
}

fn each(view: &View, study: &Study, implementation: &str) -> Curve {
    of(view.rows(study), implementation, "ns per communication")
}

fn panels_of_one(view: &View) -> Vec<Panel> {
    let cores: Vec<f64> = one_and_most(&view.plan).into_iter().map(float).collect();
    let axis = || Axis::steps("cores", &cores);
    let panel = Panel::new("one token", axis(), Axis::logarithmic("ns per communication"));
    let panel = IMPLEMENTATIONS.iter().fold(panel, |panel, (name, _)| {
        let curve = each(view, &ONE, name).in_steps(&cores);
        panel.and(Series::columns(*name, &curve))
    });
    let paper = |label, one, eight| {
        Series::quoted(
            format!("{label}, paper, 1 and 8"),
            &[(0.0, one), (1.0, eight)],
            Marks::Broken,
        )
    };
    if cores.len() < 2 {
        return vec![panel];
    }
    vec![panel.and(paper("CCSP", 10.0, 67.0)).and(paper("std threads", 2236.0, 2535.0))]
}

fn panels_of_many(view: &View) -> Vec<Panel> {
    let logarithmic = |panel: Panel| Panel { y: Axis::logarithmic("seconds"), ..panel };
    let panel = |title: &str, names: &[&str]| {
        let panel = over_cores(title, "seconds");
        names.iter().fold(panel, |panel, name| {
            let curve = of(view.rows(&MANY), name, "seconds for 1024 circulations");
            panel.and(Series::line(*name, &curve))
        })
    };
    vec![
        panel("1024 circulations, processes", &["default", "batch", "CCSP", "Kahn channels"]),
        logarithmic(panel(
            "and threads",
            &["default", "batch", "CCSP", "Kahn channels", "threads", "std threads"],
        )),
    ]
}

fn at(study: &Study, name: &str, cpus: usize) -> Pick {
    Pick::of(study, "ns per communication").with("implementation", name).with("cpus", cpus)
}

fn claims_of_one(view: &View) -> Vec<Claim> {
    let most = view.plan.most_cpus();
    vec![
        Claim::advantage("CCSP's price of a communication, 10 ns there, on one core", 1.0)
            .between(at(&ONE, "default", 1), at(&ONE, "CCSP", 1)),
        Claim::advantage("CCSP's price under the paper's policy, on one core", 1.0)
            .between(at(&ONE, "batch", 1), at(&ONE, "CCSP", 1)),
        Claim::advantage("CCSP's price on all cores, 67 ns there", 1.0)
            .between(at(&ONE, "default", most), at(&ONE, "CCSP", most))
            .on(8),
        Claim::advantage("cheaper than between threads, on one core", 2236.0 / 10.0)
            .between(at(&ONE, "default", 1), at(&ONE, "std threads", 1)),
        Claim::advantage("cheaper than between threads, on all cores", 2535.0 / 67.0)
            .between(at(&ONE, "default", most), at(&ONE, "std threads", most))
            .on(8),
    ]
}

fn claims_of_many(view: &View) -> Vec<Claim> {
    let most = view.plan.most_cpus();
    let slower = |name: &str, promise: &str| {
        Claim::effect(promise).between(at(&MANY, name, 1), at(&MANY, name, most)).on(8)
    };
    vec![
        slower("default", "processes become slower with more cores"),
        slower("batch", "processes become slower with more cores under the paper's policy"),
        Claim::effect("threads become faster with more cores")
            .between(at(&MANY, "std threads", most), at(&MANY, "std threads", 1))
            .on(8),
        Claim::effect("on all cores processes are cheaper than threads")
            .between(at(&MANY, "default", most), at(&MANY, "std threads", most))
            .on(8),
        Claim::advantage("CCSP's price with 64 tokens, on one core", 1.0)
            .between(at(&MANY, "default", 1), at(&MANY, "CCSP", 1)),
        Claim::advantage("CCSP's price with 64 tokens, on all cores", 1.0)
            .between(at(&MANY, "default", most), at(&MANY, "CCSP", most))
            .on(8),
    ]
}
