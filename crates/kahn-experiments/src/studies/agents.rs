//! Agents in a world of places: many processes that share, lend and wait for each other.

use kahn_apps::Failure;
use kahn_apps::agents::World;
use kahn_csp::RunError;

use super::communicating::{POLICIES, on_cores, options, over_cores, refused};
use crate::claim::Claim;
use crate::experiment::{Experiment, Measured, Outcome, Plan, Study};
use crate::measure::time;
use crate::papers::CCSP;
use crate::peers::CCSP as CCSP_PEER;
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
use crate::side::{Pick, Side};
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
        // Its program always makes so many.
        points.push(world(10, 1024).and("cpus", cpus).and("implementation", CCSP_PEER.name));
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

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let count = |name: &str| u32::try_from(point.count(name)).unwrap_or(u32::MAX);
    let (cycles, cpus) = (point.count("cycles"), point.count("cpus"));
    let world = World { grid: count("grid"), agents: count("agents"), cycles: count("cycles") };
    if point.text("implementation") == CCSP_PEER.name {
        let [grid, agents] = ["grid", "agents"].map(|name| point.count(name).to_string());
        let outcome =
            on_cores(cpus, || CCSP_PEER.measure("agents", &[&grid, &agents], cpus, bench));
        return Ok(match outcome? {
            Outcome::Measured(measured) => {
                let each = measured.0["seconds"] * 1e3 / float(cycles);
                Outcome::Measured(measured.and("ms per cycle", each))
            }
            refused @ Outcome::Refused(_) => refused,
        });
    }
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
        Err(error) => refused(kahn_apps::failed(error)),
    }
}

const METHOD: &str = "The paper's simulation: a process for each agent, two for each location, a \
                      barrier of all agents twice a cycle; an agent gives way after each other \
                      one that it has looked at. `default` and `batch` are our default policy and \
                      the paper's. `data-parallel` is the optimal case: a process for each core \
                      has its share of the agents in each cycle and there are no others; where \
                      the paper has locks on places, ours read the places of the cycle before. \
                      `loop` is a loop on one core, `threads` the processes with a thread of the \
                      system each, which make fewer cycles, `CCSP` the paper's own program, if `KAHN_PEER_CCSP` \
                      names its folder. The time is divided by the cycles: \
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
    let names = [POLICIES[0], POLICIES[1], DATA_PARALLEL, LOOP, THREADS, CCSP_PEER.name];
    let times =
        Panel::new("a cycle", Axis::linear("cores").to(8.0), Axis::logarithmic("ms per cycle"));
    let times = names
        .iter()
        .fold(times, |panel, name| panel.and(Series::line(*name, &per_cycle(view, name))));
    let speed = over_cores("speed-up over one core", "times");
    let speed = names
        .iter()
        .filter(|name| **name != LOOP)
        .fold(speed, |panel, name| panel.and(Series::line(*name, &speed_up(view, name))));
    // Figure 15, from 1 to 8 cores.
    let paper = |name: &str, most| {
        Series::quoted(format!("{name}, paper"), &[(1.0, 1.0), (8.0, most)], Marks::Broken)
    };
    let speed = speed.and(paper("CCSP", 5.0)).and(paper(THREADS, 1.5));
    vec![times, speed.with_linear(8)]
}

fn claims_of_cores(view: &View) -> Vec<Claim> {
    let cores = view.plan.most_cpus();
    let at = |name: &str, cpus: usize| {
        Pick::of(&CORES, "ms per cycle").with("implementation", name).with("cpus", cpus)
    };
    let scales = |name: &str, promise: &str| {
        Claim::scaling(promise, 5.0, 8, cores).between(at(name, cores), at(name, 1))
    };
    let gain = |name: &str| Side::from(at(name, cores)).over(at(name, 1));
    // The paper says half of the speed.
    let half = |name: &str, promise: &str| {
        let rival = Side::from(at(DATA_PARALLEL, cores)).times(2.0);
        Claim::advantage(promise, 1.0).between(at(name, cores), rival).on(8)
    };
    vec![
        scales("default", "5 times as fast on 8 cores"),
        scales("batch", "5 times as fast under the paper's policy"),
        Claim::effect("it scales better than the data-parallel program")
            .between(gain("default"), gain(DATA_PARALLEL))
            .on(8),
        half("default", "half of the speed of the data-parallel program"),
        half("batch", "half of that speed under the paper's policy"),
        Claim::effect_of("it scales better than threads, 5 times to 1.5", 5.0 / 1.5)
            .between(gain("default"), gain(THREADS))
            .on(8),
        Claim::advantage("the agents: as fast as CCSP's own program, on one core", 1.0)
            .between(at("default", 1), at(CCSP_PEER.name, 1)),
        Claim::advantage("the agents: as fast as CCSP's own program, on all cores", 1.0)
            .between(at("default", cores), at(CCSP_PEER.name, cores))
            .on(8),
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
    let grids = view.rows(&GRIDS).numbers("grid");
    let (first, last) = (grids.first().copied(), grids.last().copied());
    let at = |name: &str, grid: Option<f64>| {
        let rows = Pick::of(&GRIDS, "ms per cycle").with("implementation", name);
        rows.with("grid", grid.unwrap_or_default())
    };
    let growth = |name: &str| Side::from(at(name, last)).over(at(name, first));
    let same = |name: &str, promise: &str| {
        let claim = Claim::advantage(promise, 1.0).within(1.25).on(8);
        claim.between(growth(name), growth(DATA_PARALLEL))
    };
    let rival = Side::from(at(DATA_PARALLEL, last)).times(2.0);
    vec![
        same("default", "with the world it grows as the optimal case does"),
        same("batch", "with the world it grows so under the paper's policy"),
        Claim::advantage("in the largest world it takes twice the time of the optimal case", 1.0)
            .between(at("default", last), rival)
            .on(8),
    ]
}
