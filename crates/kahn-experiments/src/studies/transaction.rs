//! What one transaction costs: send, switch, receive; with and without accounting.

use kahn::Network;
use kahn_apps::Compare;
use kahn_apps::ring::{Moment, Ring};

use super::options::options;
use crate::claim::Claim;
use crate::experiment::{Experiment, Measured, Outcome, Plan, Study};
use crate::measure::Clock;
use crate::papers::NORNIR;
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::side::{Pick, Side};
use crate::{Bench, Rows, View};
use kahn_apps::Failure;

/// The levels of accounting, and what the paper has in their place.
const LEVELS: [&str; 3] = ["off", "counters", "timing"];

static STUDY: Study = Study { name: "transaction", rounds: 9, points, measure };

fn points(plan: &Plan) -> Vec<Point> {
    let cycles = plan.size.of(1_000, 10_000, 40_000_usize);
    Point::new()
        .and("processes", 100_usize)
        .and("cycles", cycles)
        .and("cpus", 1_usize)
        .each("accounting", LEVELS)
}

/// Times the laps of a ring's root, without creation and the lap to warm up.
pub(super) fn time_ring(
    processes: usize,
    cycles: usize,
    options: kahn::Options,
) -> Result<Outcome, Failure> {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let ring = Ring { processes: count(processes), tokens: 1, cycles: cycles as u64 };
    let mut seconds = 0.0;
    {
        let mut network = Network::new();
        let (mut since, seconds) = (None, &mut seconds);
        let _total = ring.network(&mut network, Compare::Numbers, move |moment| match moment {
            Moment::Start => since = Some(Clock::start()),
            Moment::Cycle => {}
            Moment::End => *seconds = since.map_or(0.0, Clock::seconds),
        });
        if let Err(error) = network.run_with(options) {
            let refused = error.report().and_then(crate::native::refused_thread);
            return refused.map(Outcome::Refused).ok_or_else(|| error.into());
        }
    }
    Ok(Outcome::Measured(Measured::seconds(seconds)))
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let (processes, cycles) = (point.count("processes"), point.count("cycles"));
    Ok(match time_ring(processes, cycles, options(point))? {
        Outcome::Measured(Measured(figures)) => {
            let each = figures["seconds"] / float(processes * cycles);
            Outcome::Measured(Measured(figures).and("ns per transaction", each * 1e9))
        }
        refused @ Outcome::Refused(_) => refused,
    })
}

/// One transaction, with and without accounting.
pub(super) static TRANSACTION: Experiment = Experiment {
    name: "nornir-transaction",
    summary: "one transaction (send, switch, receive) with and without accounting",
    paper: &NORNIR,
    place: "section 4.5",
    found: "A transaction takes 1.4 µs with accounting and 0.68 µs without. Most of the difference \
            is a system call before and after each run of a process, for its CPU time.",
    method: "A ring of 100 processes with one token on one worker; the time of all laps after one \
             to warm up, divided by the number of messages. Accounting has three levels here; the \
             paper's, with CPU times, is `timing`.",
    studies: &[&STUDY],
    panels,
    claims,
};

fn panels(view: &View) -> Vec<Panel> {
    let rows = view.rows(&STUDY);
    let spots = LEVELS.iter().enumerate().filter_map(|(step, level)| {
        let rows = rows.with("accounting", *level);
        let row = rows.iter().next()?;
        Rows::spot(row, float(step), "ns per transaction")
    });
    let ours = crate::Curve(spots.collect());
    let paper = [(0.0, PAPER[0]), (2.0, PAPER[1])];
    let axis = Axis::steps("accounting", LEVELS);
    vec![
        Panel::new("one transaction", axis, Axis::logarithmic("ns"))
            .and(Series::columns("here", &ours))
            .and(Series::quoted("paper, 2009", &paper, Marks::Columns)),
    ]
}

/// What the paper has, in nanoseconds, without accounting and with it.
const PAPER: [f64; 2] = [680.0, 1400.0];

fn claims(_view: &View) -> Vec<Claim> {
    let level = |level: &str| Pick::of(&STUDY, "ns per transaction").with("accounting", level);
    let [off, timing] = PAPER;
    vec![
        Claim::advantage("a transaction takes 0.68 µs without accounting", 1.0)
            .between(level("off"), Side::paper(off)),
        Claim::advantage("and 1.4 µs with accounting", 1.0)
            .between(level("timing"), Side::paper(timing)),
        Claim::advantage("accounting doubles the price of a transaction at most", 1.0)
            .between(Side::from(level("timing")).over(level("off")), Side::paper(timing / off)),
    ]
}
