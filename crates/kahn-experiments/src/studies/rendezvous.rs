//! The ring in which a sender waits for its receiver: what a communication costs.

use kahn::Network;
use kahn_apps::ring::{Moment, Ring};
use kahn_apps::{Compare, Failure};

use super::communicating::{on_cores, one_and_most, options, over_cores, refused};
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Measured, Outcome, Plan, Statistic, Study};
use crate::measure::Clock;
use crate::papers::CCSP;
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows};
use crate::{Bench, View};

static ONE: Study = Study { name: "rendezvous-1", rounds: 9, points: points_of_one, measure };

static MANY: Study = Study { name: "rendezvous-64", rounds: 9, points: points_of_many, measure };

/// The implementations, and whether a communication takes them nanoseconds.
const IMPLEMENTATIONS: [(&str, bool); 5] = [
    ("default", true),
    ("batch", true),
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

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let count = |name: &str| u32::try_from(point.count(name)).unwrap_or(u32::MAX);
    let (processes, tokens) = (count("processes"), count("tokens"));
    let ring = Ring { processes, tokens, cycles: point.count("cycles") as u64 };
    let mut laps = Laps::default();
    if let Err(failure) = on_cores(point.count("cpus"), || run(ring, point, &mut laps)) {
        return refused(failure);
    }
    // One token makes a lap each cycle; several make one more while the ring fills and drains.
    let circulations = point.count("cycles") + usize::from(tokens > 1);
    let each = laps.seconds / float(PROCESSES * point.count("tokens") * circulations);
    let all = each * float(PROCESSES * point.count("tokens") * CIRCULATIONS);
    let measured = Measured::seconds(laps.seconds).and("ns per communication", each * 1e9);
    Ok(Outcome::Measured(measured.and("seconds for 1024 circulations", all)))
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
            ring.rendezvous(options(point), |moment| laps.see(moment))?;
            Ok(())
        }
    }
}

const METHOD: &str = "The ring of 255 elements and a root. `default` and `batch` are \
                      communicating processes, which meet at each message, under our default \
                      policy and under that of the paper. Beside them: the same ring with Kahn \
                      channels of capacity 1; the same processes with a thread of the system each \
                      (`threads`); and threads with channels of the standard library, which have \
                      room without bound (`std threads`). All threads are bound to the cores \
                      named, as the paper did with taskset. The time is that of the root after a \
                      lap to warm up.";

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
    statistic: Statistic::Median,
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
    statistic: Statistic::Median,
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
            format!("paper: {label}, 1 and 8"),
            &[(0.0, one), (1.0, eight)],
            Marks::Broken,
        )
    };
    if cores.len() < 2 {
        return vec![panel];
    }
    vec![panel.and(paper("CCSP", 10.0, 67.0)).and(paper("pthreads", 2236.0, 2535.0))]
}

fn panels_of_many(view: &View) -> Vec<Panel> {
    let panel = |title: &str, names: &[&str]| {
        let panel = over_cores(title, "seconds");
        names.iter().fold(panel, |panel, name| {
            let curve = of(view.rows(&MANY), name, "seconds for 1024 circulations");
            panel.and(Series::line(*name, &curve))
        })
    };
    vec![
        panel("processes: 1024 circulations", &["default", "batch", "Kahn channels"]),
        panel("threads: 1024 circulations", &["threads", "std threads"]),
    ]
}

fn claims_of_one(view: &View) -> Vec<Claim> {
    let most = view.plan.most_cpus();
    let at = |name: &str, cpus: usize| each(view, &ONE, name).at(float(cpus));
    let times = |cpus| at("std threads", cpus).zip(at("default", cpus)).map(|(a, b)| a / b);
    let nanoseconds = |least: f64| {
        move |figure: f64| {
            (format!("{} ns", show(figure)), Verdict::at_most(figure, least, least / 2.0))
        }
    };
    let one = at("default", 1);
    let mut claims = vec![
        Claim::judge("10 ns a communication (one core)", one, nanoseconds(10.0)).because(
            "the paper's core had a clock of 2.26 GHz, and its processes are words on a stack of \
             their own. Ours are polled, the runtime is shared with networks and counts messages; \
             a gate guards each channel, for both ends may choose",
        ),
        Claim::judge("10 ns, under the paper's own policy", at("batch", 1), nanoseconds(10.0))
            .because(
                "every process that is woken goes through the queue of its batch; the default \
                 keeps the one woken last in front of all queues",
            ),
        Claim::judge(
            "a communication between threads takes 224 times as long (one core)",
            times(1),
            |ratio| (format!("{} times", show(ratio)), Verdict::at_least(ratio, 224.0, 448.0)),
        )
        .because(
            "both have changed since: what the kernel takes to wake a thread, and what a \
             communication takes here",
        ),
    ];
    if most > 1 {
        let name = format!("hardly affected by the cores: 10 ns on 1, 67 on 8, here with {most}");
        let growth = at("default", most).zip(at("default", 1));
        claims.push(
            Claim::judge(&name, growth, |(all, one)| {
                let text = format!("{} ns on 1, {} on {most}", show(one), show(all));
                (text, Verdict::at_most(all / one, 6.7, 2.0))
            })
            .because(
                "one token gives a second core nothing to do; a woken process stays where it was \
                 woken, and who looks for work in vain falls asleep",
            ),
        );
        claims.push(
            Claim::judge(
                "a communication between threads takes 38 times as long on all cores",
                times(most),
                |ratio| (format!("{} times", show(ratio)), Verdict::at_least(ratio, 38.0, 76.0)),
            )
            .because("the system wakes a thread on another core for every message"),
        );
    }
    claims
}

fn claims_of_many(view: &View) -> Vec<Claim> {
    let most = view.plan.most_cpus();
    if most < 2 {
        let none = None::<f64>;
        return vec![Claim::judge("more cores, dearer messages", none, |_| unreachable!())];
    }
    let grown = |name: &str| {
        let curve = each(view, &MANY, name);
        curve.at(float(most)).zip(curve.at(1.0))
    };
    let slow_down = |name: &str, promise: &str| {
        Claim::judge(promise, grown(name), |(all, one)| {
            let text = format!(
                "{} ns on 1, {} on {most} cores: {:.2} times",
                show(one),
                show(all),
                all / one
            );
            (text, Verdict::at_most(all / one, 6.7, 1.0))
        })
    };
    vec![
        slow_down("default", "the slow-down with more cores is under control (6.7 times at most)")
            .because(
                "64 tokens keep all cores busy, and where a worker hands tokens to another one \
                 the message crosses; the fewer workers touch the same stretch of the ring, the \
                 cheaper. The paper gives no figure here; 6.7 is what its table 1 has",
            ),
        slow_down("batch", "the same under the paper's own policy").because(
            "the last batch of a worker is never stolen, so that cores get on with what they have",
        ),
        Claim::judge("threads become faster with more cores", grown("threads"), |(all, one)| {
            (format!("{:.2} times as long", all / one), Verdict::holds(all < one))
        })
        .because(
            "more cores switch between threads at the same time, but waking one on another core, \
             which may have fallen asleep, takes longer than on the same",
        ),
        Claim::judge(
            "on all cores processes are still cheaper than threads",
            grown("std threads")
                .zip(grown("default"))
                .map(|((threads, _), (ours, _))| threads / ours),
            |ratio| (format!("{} times", show(ratio)), Verdict::holds(ratio > 1.0)),
        )
        .because("a message between two workers is a few cache lines, and no system call"),
    ]
}
