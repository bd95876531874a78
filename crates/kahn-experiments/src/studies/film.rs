//! The film of the Mandelbrot set: whether coarse work scales.

use kahn_apps::Failure;
use kahn_apps::mandelbrot::{Film, Keep, Yield};

use super::communicating::{POLICIES, on_cores, options, over_cores, refused};
use crate::claim::Claim;
use crate::experiment::{Experiment, Measured, Outcome, Plan, Study};
use crate::measure::time;
use crate::papers::CCSP;
use crate::peers::CCSP as CCSP_PEER;
use crate::plot::{Panel, Series};
use crate::point::Point;
use crate::rows::Curve;
use crate::side::Pick;
use crate::{Bench, View};

static STUDY: Study = Study { name: "mandelbrot", rounds: 9, points, measure };

/// As many as in the paper.
const WORKERS: usize = 128;

/// A loop over the rows, on one core.
const LOOP: &str = "loop";

fn points(plan: &Plan) -> Vec<Point> {
    let (side, frames) = plan.size.of((256_usize, 24_usize), (1024, 64), (1024, 128));
    let point = Point::new().and("side", side).and("frames", frames).and("workers", WORKERS);
    let mut points = vec![point.clone().and("implementation", LOOP).and("cpus", 1_usize)];
    for cpus in plan.cpus() {
        for implementation in POLICIES {
            points.push(point.clone().and("implementation", implementation).and("cpus", cpus));
        }
        // Its pictures are of the paper's size.
        if side == 1024 {
            points.push(point.clone().and("implementation", CCSP_PEER.name).and("cpus", cpus));
        }
    }
    points
}

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let count = |name: &str| u32::try_from(point.count(name)).unwrap_or(u32::MAX);
    let film = Film { width: count("side"), height: count("side"), frames: count("frames") };
    let cpus = point.count("cpus");
    if point.text("implementation") == CCSP_PEER.name {
        let frames = point.count("frames").to_string();
        return on_cores(cpus, || CCSP_PEER.measure("mandel", &[&frames], cpus, bench));
    }
    let seconds = on_cores(cpus, || {
        if point.text("implementation") == LOOP {
            return Ok(time(|| film.sequential(Keep::Sum)).0);
        }
        let workers = point.count("workers");
        let ran = film.network(options(point), workers, Yield::Pixel, Keep::Sum, || {});
        ran.map(|(_frames, report)| report.seconds)
    });
    match seconds {
        Ok(seconds) => Ok(Outcome::Measured(Measured::seconds(seconds))),
        Err(error) => refused(kahn_apps::failed(error)),
    }
}

/// Rows of a picture for 128 workers.
pub(super) static FIGURE_12: Experiment = Experiment {
    name: "ccsp-fig-12",
    summary: "a film of the Mandelbrot set: speed-up over the cores",
    paper: &CCSP,
    place: "section 5.1, figure 12",
    found: "A farmer, 128 workers and a harvester compute 128 frames. The speed grows linearly \
            with the cores, up to all eight and on to the sixteen hardware threads.",
    method: "1024 x 1024 pixels; the default size stops after 64 frames, quick has frames of 256 \
             x 256. Each row is a job; a worker gives way after each pixel, as in the paper. \
             `loop` is a loop over all rows on one core, the same kernel without processes. The \
             paper's program is not printed; farmer, workers and harvester are those of its \
             published sources.",
    studies: &[&STUDY],
    panels,
    claims,
};

fn seconds(view: &View, implementation: &str) -> Curve {
    view.rows(&STUDY).with("implementation", implementation).curve("cpus", "seconds")
}

/// Over one core of the same implementation.
fn speed_up(view: &View, implementation: &str) -> Curve {
    let curve = seconds(view, implementation);
    curve.at(1.0).map(|one| curve.speed_up_over(one)).unwrap_or_default()
}

fn panels(view: &View) -> Vec<Panel> {
    let all = over_cores("time of the film", "seconds");
    let speed = over_cores("speed-up over one core", "times");
    let (all, speed) = POLICIES.iter().fold((all, speed), |(all, speed), name| {
        let all = all.and(Series::line(*name, &seconds(view, name)));
        (all, speed.and(Series::line(*name, &speed_up(view, name))))
    });
    let all = [LOOP, CCSP_PEER.name]
        .iter()
        .fold(all, |all, name| all.and(Series::line(*name, &seconds(view, name))));
    vec![speed.with_linear(8), all]
}

fn claims(view: &View) -> Vec<Claim> {
    let cores = view.plan.most_cpus();
    let at = |name: &str, cpus: usize| {
        Pick::of(&STUDY, "seconds").with("implementation", name).with("cpus", cpus)
    };
    let scales = |name: &str, promise: &str| {
        Claim::scaling(promise, 8.0, 8, cores).between(at(name, cores), at(name, 1))
    };
    vec![
        scales("default", "the film: the speed grows linearly with the cores"),
        scales("batch", "the film: linearly under the paper's policy, too"),
        Claim::advantage("the film: as fast as CCSP's own program, on one core", 1.0)
            .between(at("default", 1), at("CCSP", 1)),
        Claim::advantage("the film: as fast as CCSP's own program, on all cores", 1.0)
            .between(at("default", cores), at("CCSP", cores))
            .on(8),
    ]
}
