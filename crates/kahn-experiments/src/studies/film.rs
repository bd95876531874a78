//! The film of the Mandelbrot set: whether coarse work scales.

use kahn_apps::Failure;
use kahn_apps::mandelbrot::{Film, Keep, Yield};

use super::communicating::{POLICIES, linear, on_cores, options, over_cores, refused};
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Measured, Outcome, Plan, Statistic, Study};
use crate::measure::time;
use crate::papers::CCSP;
use crate::plot::{Panel, Series};
use crate::point::{Point, float};
use crate::rows::Curve;
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
    }
    points
}

fn measure(point: &Point, _bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let count = |name: &str| u32::try_from(point.count(name)).unwrap_or(u32::MAX);
    let film = Film { width: count("side"), height: count("side"), frames: count("frames") };
    let seconds = on_cores(point.count("cpus"), || {
        if point.text("implementation") == LOOP {
            return Ok(time(|| film.sequential(Keep::Sum)).0);
        }
        let workers = point.count("workers");
        let ran = film.network(options(point), workers, Yield::Pixel, Keep::Sum, || {});
        ran.map(|(_frames, report)| report.seconds)
    });
    match seconds {
        Ok(seconds) => Ok(Outcome::Measured(Measured::seconds(seconds))),
        Err(error) => refused(error),
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
    statistic: Statistic::Median,
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
    let all = all.and(Series::line(LOOP, &seconds(view, LOOP)));
    vec![speed.and(linear(&view.plan)), all]
}

fn claims(view: &View) -> Vec<Claim> {
    let cores = float(view.plan.most_cpus());
    let scales = |name: &str, promise: &str| {
        let share =
            speed_up(view, name).at(cores).filter(|_| cores > 1.0).map(|times| times / cores);
        Claim::judge(promise, share, |share| {
            let text = format!("{} of {cores} ({:.0} %)", show(share * cores), share * 100.0);
            (text, Verdict::at_least(share, 0.9, 1.05))
        })
    };
    let loops = seconds(view, "default").at(1.0).zip(seconds(view, LOOP).at(1.0));
    vec![
        scales("default", "the speed grows linearly with the cores").because(
            "rows do not depend on each other; what keeps a worker from one is the claim of the \
             jobs, which lasts for three messages",
        ),
        scales("batch", "the same under the paper's own policy").because(
            "who gives way goes to the end of its batch, so that the batch uses up its turns and \
             is split: this is how workers come to other cores",
        ),
        Claim::judge(
            "processes cost nothing beside the work: as fast as the loop on one core",
            loops.map(|(processes, alone)| processes / alone),
            |ratio| {
                (
                    format!("{ratio:.2} times the time of the loop"),
                    Verdict::at_most(ratio, 1.1, 1.0),
                )
            },
        )
        .because(
            "the paper does not say so; it is what figure 12 cannot show. A yield after each \
             pixel is most of the cost in the first frames, where a pixel takes one or two steps",
        ),
    ]
}
