//! Agents in a world of places: many processes that share, lend and wait for each other.

use kahn_apps::Failure;
use kahn_apps::agents::World;
use kahn_csp::RunError;

use super::communicating::{POLICIES, linear, on_cores, options, over_cores, refused};
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Measured, Outcome, Plan, Statistic, Study};
use crate::measure::time;
use crate::papers::CCSP;
use crate::plot::{Axis, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
use crate::{Bench, View};

static CORES: Study = Study { name: "agents-cores", rounds: 9, points: points_of_cores, measure };

static GRIDS: Study = Study { name: "agents-grids", rounds: 9, points: points_of_grids, measure };

/// In each location at the start.
const AGENTS: usize = 12;

/// A process for each core, which has its share of the agents in each cycle.
const DATA_PARALLEL: &str = "data-parallel";

/// A loop over all agents, on one core.
const LOOP: &str = "loop";

/// With a thread for each process a cycle takes so long that there are fewer of them.
const THREADS: &str = "threads";

fn world(grid: usize, cycles: usize) -> Point {
    Point::new().and("grid", grid).and("agents", AGENTS).and("cycles", cycles)
}

fn points_of_cores(plan: &Plan) -> Vec<Point> {
    let cycles = plan.size.of(16, 256, 1024_usize);
    let few = plan.size.of(1, 8, 32_usize);
    let mut points = vec![world(10, cycles).and("implementation", LOOP).and("cpus", 1_usize)];
    for cpus in plan.cpus() {
        let all = [POLICIES[0], POLICIES[1], DATA_PARALLEL];
        points.extend(world(10, cycles).and("cpus", cpus).each("implementation", all));
        points.push(world(10, few).and("cpus", cpus).and("implementation", THREADS));
    }
    points
}

fn points_of_grids(plan: &Plan) -> Vec<Point> {
    let cycles = plan.size.of(8, 64, 1024_usize);
    let grids: Vec<usize> =
        plan.size.of(vec![4, 10, 16], (4..=22).step_by(2).collect(), (4..=22).collect());
    let all = [POLICIES[0], POLICIES[1], DATA_PARALLEL];
    let most = plan.most_cpus();
    let points = grids.into_iter().map(|grid| world(grid, cycles).and("cpus", most));
    points.flat_map(|point| point.each("implementation", all)).collect()
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let count = |name: &str| u32::try_from(point.count(name)).unwrap_or(u32::MAX);
    let (cycles, cpus) = (point.count("cycles"), point.count("cpus"));
    let world = World { grid: count("grid"), agents: count("agents"), cycles: count("cycles") };
    let seconds = on_cores(cpus, || -> Result<f64, RunError> {
        match point.text("implementation") {
            LOOP => Ok(time(|| world.sequential()).0),
            DATA_PARALLEL => {
                let options = super::options::options(point).schedule().clone().into();
                Ok(world.data_parallel(options, cpus, || {})?.1.seconds)
            }
            _ => Ok(world.network(options(point), || {})?.1.seconds),
        }
    });
    match seconds {
        Ok(seconds) => {
            let measured = Measured::seconds(seconds);
            Ok(Outcome::Measured(measured.and("ms per cycle", seconds * 1e3 / float(cycles))))
        }
        Err(error) => refused(error),
    }
}

const METHOD: &str = "The paper's simulation: a process for each agent, two for each location, a \
                      barrier of all agents twice a cycle; an agent gives way after each other \
                      one that it has looked at. `default` and `batch` are our default policy and \
                      the paper's. `data-parallel` is the optimal case: a process for each core \
                      has its share of the agents in each cycle and there are no others; where \
                      the paper has locks on places, ours read the places of the cycle before. \
                      `loop` is a loop on one core, `threads` the processes with a thread of the \
                      system each, which make fewer cycles. The time is divided by the cycles: \
                      1024 in the paper, fewer in the smaller sizes.";

/// The same world on more cores.
pub(super) static FIGURE_15: Experiment = Experiment {
    name: "ccsp-fig-15",
    summary: "1200 agents in 10 x 10 locations: time of a cycle over the cores",
    paper: &CCSP,
    place: "section 5.3, figure 15",
    found: "Over eight cores CCSP becomes 5 times as fast, POSIX threads 1.5 times. It scales \
            better than the data-parallel program with threads, and has half of its speed.",
    method: METHOD,
    studies: &[&CORES],
    statistic: Statistic::Median,
    panels: panels_of_cores,
    claims: claims_of_cores,
};

/// Larger worlds on all cores.
pub(super) static FIGURE_16: Experiment = Experiment {
    name: "ccsp-fig-16",
    summary: "agents in larger and larger worlds, on all cores",
    paper: &CCSP,
    place: "section 5.3, figure 16",
    found: "On eight cores, from 4 x 4 to 22 x 22 locations, CCSP grows as the data-parallel \
            program does, at about twice its time; other implementations with processes fall \
            behind the more, the larger the world.",
    method: METHOD,
    studies: &[&GRIDS],
    statistic: Statistic::Median,
    panels: panels_of_grids,
    claims: claims_of_grids,
};

fn over(view: &View, study: &Study, parameter: &str, implementation: &str) -> Curve {
    let rows = view.rows(study).with("implementation", implementation);
    rows.curve(parameter, "ms per cycle")
}

fn per_cycle(view: &View, implementation: &str) -> Curve {
    over(view, &CORES, "cpus", implementation)
}

/// Over one core of the same implementation.
fn speed_up(view: &View, implementation: &str) -> Curve {
    let curve = per_cycle(view, implementation);
    curve.at(1.0).map(|one| curve.speed_up_over(one)).unwrap_or_default()
}

fn panels_of_cores(view: &View) -> Vec<Panel> {
    let names = [POLICIES[0], POLICIES[1], DATA_PARALLEL, LOOP, THREADS];
    let times = Panel::new("a cycle", Axis::linear("cores"), Axis::logarithmic("ms per cycle"));
    let times = names
        .iter()
        .fold(times, |panel, name| panel.and(Series::line(*name, &per_cycle(view, name))));
    let speed = over_cores("speed-up over one core", "times");
    let speed = names
        .iter()
        .filter(|name| **name != LOOP)
        .fold(speed, |panel, name| panel.and(Series::line(*name, &speed_up(view, name))));
    vec![times, speed.and(linear(&view.plan))]
}

fn claims_of_cores(view: &View) -> Vec<Claim> {
    let cores = float(view.plan.most_cpus());
    let all = |curve: Curve| curve.at(cores).filter(|_| cores > 1.0);
    let share = |name: &str| all(speed_up(view, name)).map(|times| times / cores);
    let scales = |name: &str, promise: &str| {
        Claim::judge(promise, share(name), |share| {
            let text = format!("{} of {cores} ({:.0} %)", show(share * cores), share * 100.0);
            (text, Verdict::at_least(share, 0.625, 0.95))
        })
    };
    let half = |name: &str, promise: &str| {
        let ratio = all(per_cycle(view, DATA_PARALLEL)).zip(all(per_cycle(view, name)));
        Claim::judge(promise, ratio.map(|(optimal, ours)| optimal / ours), |share| {
            let text = format!("{:.0} % of the speed", share * 100.0);
            (text, Verdict::at_least(share, 0.5, 0.7))
        })
    };
    vec![
        scales("default", "5 times as fast on 8 cores (62 %)").because(
            "agents of different locations look side by side; all wait for the slowest at the \
             barrier. Fewer cores lose less",
        ),
        scales("batch", "the same under the paper's own policy").because(
            "the last who comes to a barrier makes all others ready, in its own active queue; \
             from there they come to another core as batches are split, a process a turn. CCSP \
             has batches ready at the barrier",
        ),
        Claim::judge(
            "it scales better than the data-parallel program",
            share("default").zip(share(DATA_PARALLEL)),
            |(ours, optimal)| {
                let text =
                    format!("{} times, the other {}", show(ours * cores), show(optimal * cores));
                (text, Verdict::holds(ours >= optimal))
            },
        )
        .because(
            "the data-parallel program deals the agents out once a cycle, alone; in the paper it \
             took locks. Both lose where cores wait for the last of them",
        ),
        half("default", "half of the speed of the data-parallel program").because(
            "an agent gives way about a hundred times a cycle: what that costs decides, and not \
             the messages",
        ),
        half("batch", "the same under the paper's own policy")
            .because("who gives way goes to the end of the active queue, as in the paper"),
        Claim::judge(
            "threads become 1.5 times as fast on 8 cores (19 %)",
            share(THREADS),
            |share| {
                let text = format!("{} of {cores} ({:.0} %)", show(share * cores), share * 100.0);
                (text, Verdict::at_least(share, 0.19, 0.8))
            },
        )
        .because("the kernel carries every yield and every message"),
    ]
}

fn panels_of_grids(view: &View) -> Vec<Panel> {
    let title = format!("a cycle on {} cores", view.plan.most_cpus());
    let grid = || Axis::linear("locations in each axis");
    let times = Panel::new(title, grid(), Axis::logarithmic("ms per cycle"));
    let names = [POLICIES[0], POLICIES[1], DATA_PARALLEL];
    let times = names.iter().fold(times, |panel, name| {
        panel.and(Series::line(*name, &over(view, &GRIDS, "grid", name)))
    });
    let ratios = Panel::new("beside data-parallel", grid(), Axis::linear("times its time"));
    let ratios = POLICIES
        .iter()
        .fold(ratios, |panel, name| panel.and(Series::line(*name, &beside_optimal(view, name))));
    vec![times, ratios]
}

/// How many times the time of the data-parallel program.
fn beside_optimal(view: &View, implementation: &str) -> Curve {
    let optimal = over(view, &GRIDS, "grid", DATA_PARALLEL);
    over(view, &GRIDS, "grid", implementation).over(&optimal)
}

fn claims_of_grids(view: &View) -> Vec<Claim> {
    let ends = |name: &str| {
        let curve = beside_optimal(view, name);
        let (first, last) = (curve.0.first()?, curve.0.last()?);
        (first.x < last.x).then_some((*first, *last))
    };
    let same_curve = |name: &str, promise: &str| {
        Claim::judge(promise, ends(name), |(first, last)| {
            let text = format!(
                "{:.2} times its time with {} x {}, {:.2} with {} x {}",
                first.y, first.x, first.x, last.y, last.x, last.x
            );
            (text, Verdict::at_most(last.y / first.y, 1.25, 0.8))
        })
    };
    vec![
        same_curve("default", "it grows as the optimal case does").because(
            "the work of a cycle grows with the agents in both; what the processes add is so much \
             for each agent, until the states no longer fit into the caches",
        ),
        same_curve("batch", "the same under the paper's own policy")
            .because("batches are as large as what communicates, whatever the size of the world"),
        Claim::judge(
            "in the largest world it takes about twice the time of the optimal case",
            ends("default").map(|(_, last)| last.y),
            |ratio| (format!("{ratio:.2} times"), Verdict::at_most(ratio, 2.0, 1.4)),
        )
        .because("yields, above all: about a hundred for each agent and cycle"),
    ]
}
