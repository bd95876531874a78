//! Two programs as a whole, from the first process to the last: agents in a world, and a film of
//! the Mandelbrot set, as `kahn-apps` has them.
//!
//! What comes out is compared with what the loop of `kahn-apps` computed before, once for a whole
//! run of the benchmark.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, nanoseconds, time};
use anyhow::{Context as _, Result, ensure};
use kahn_apps::agents::{State, World};
use kahn_apps::checksum::mix;
use kahn_apps::mandelbrot::{Film, Frame, Keep, Row, Yield, Zoom};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// What computes rows, as in the paper.
const WORKERS: usize = 128;

const TIME: &str = "time of a run";

/// Where the results of the loops are kept.
const AGENTS: &str = "agents.sum";
const FILM: &str = "mandelbrot.sum";

fn world(settings: &Settings) -> World {
    if settings.quick {
        World { grid: 5, agents: 6, cycles: 32 }
    } else {
        World { grid: 10, agents: 12, cycles: 1024 }
    }
}

fn film(settings: &Settings) -> Film {
    if settings.quick {
        Film { width: 128, height: 128, frames: 8 }
    } else {
        Film { width: 1024, height: 1024, frames: 64 }
    }
}

/// Computes the final states of all agents.
pub(in crate::workloads) fn prepare_agents(settings: &Settings) -> Result<()> {
    keep(&settings.inputs.join(AGENTS), sum_of_states(&world(settings).sequential()))
}

/// Computes all frames.
pub(in crate::workloads) fn prepare_film(settings: &Settings) -> Result<()> {
    keep(&settings.inputs.join(FILM), sum_of_frames(&film(settings).sequential(Keep::Sum)))
}

fn keep(path: &Path, sum: u64) -> Result<()> {
    fs::write(path, sum.to_string()).with_context(|| format!("{}", path.display()))
}

fn kept(path: &Path) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    Ok(text.parse()?)
}

fn sum_of_states(states: &[State]) -> u64 {
    let fields = |state: &State| {
        [state.location, state.x, state.y, state.bias].map(|field| u64::from(field.cast_unsigned()))
    };
    // Without the first bit: it is handed on as a number with a sign.
    states.iter().flat_map(fields).fold(0, mix) >> 1
}

fn sum_of_frames(frames: &[Frame]) -> u64 {
    frames.iter().map(|frame| frame.sum).sum()
}

/// Measures a program, and compares what comes out.
fn run(expected: &Path, program: impl FnOnce() -> Result<u64>) -> Result<Vec<Figure>> {
    let (time, sum) = time(program);
    let (sum, expected) = (sum?, kept(expected)?);
    ensure!(sum == expected, "the result is {sum}, not {expected}");
    Ok(vec![Figure::new(TIME, "ms", nanoseconds(time) / 1e6)])
}

pub(in crate::workloads) fn agents(settings: &Settings) -> Vec<Contest> {
    let world = world(settings);
    let World { grid, agents, cycles } = world;
    let expected = settings.inputs.join(AGENTS);
    // The file is there when this is measured.
    let sum = kept(&expected).unwrap_or_default();
    let with = |run_it: fn(World, usize) -> Result<Vec<State>>| {
        let expected: PathBuf = expected.clone();
        move |workers| run(&expected, || Ok(sum_of_states(&run_it(world, workers)?)))
    };
    let expected = expected.clone();
    let ours =
        move |options| run(&expected, || Ok(sum_of_states(&world.network(options, || {})?.0)));
    let params = format!("{grid} x {grid} locations, {agents} agents in each, {cycles} cycles");
    let contest = super::contest(params, ours)
        .with(
            "kahn-data-parallel",
            with(|world, workers| Ok(world.data_parallel(on(workers), workers, || {})?.0)),
        )
        .with("loop", with(|world, _| Ok(world.sequential())))
        .with_go(&[&"agents", &grid, &agents, &cycles, &sum]);
    // Its program has as many cycles as ours at full size.
    let contest = if settings.quick {
        contest
    } else {
        contest.with_ccsp("agents", &[&grid, &agents], TIME, None)
    };
    vec![contest.with_floor()]
}

pub(in crate::workloads) fn mandelbrot(settings: &Settings) -> Vec<Contest> {
    let film = film(settings);
    let Film { width, height, frames } = film;
    let expected = settings.inputs.join(FILM);
    let sum = kept(&expected).unwrap_or_default();
    let network = |yields| {
        let expected = expected.clone();
        move |options| {
            run(&expected, || {
                let keep = Keep::Sum;
                let (frames, _) = film.network(options, WORKERS, yields, keep, || {})?;
                Ok(sum_of_frames(&frames))
            })
        }
    };
    let never = network(Yield::Never);
    let (for_loop, for_rayon) = (expected.clone(), expected.clone());
    let params = format!("{frames} frames of {width} x {height}, {WORKERS} workers");
    let contest = super::contest(params, network(Yield::Pixel))
        .with("kahn-no-yields", move |workers| never(on(workers)))
        .with("loop", move |_| run(&for_loop, || Ok(sum_of_frames(&film.sequential(Keep::Sum)))))
        .with("rayon", move |workers| {
            let pool = ThreadPoolBuilder::new().num_threads(workers).build()?;
            run(&for_rayon, || Ok(pool.install(|| on_rayon(film))))
        })
        .with_go(&[&"mandelbrot", &width, &height, &frames, &WORKERS, &sum]);
    // Its program has frames as large as ours at full size.
    let contest =
        if settings.quick { contest } else { contest.with_ccsp("mandel", &[&frames], TIME, None) };
    vec![contest.with_floor()]
}

/// The rows of a frame side by side, one frame after the other.
fn on_rayon(film: Film) -> u64 {
    let mut zoom = Zoom::default();
    let mut sum = 0;
    for _ in 0..film.frames {
        let rows = (0..film.height).into_par_iter().map(|row| {
            let offset = f64::from(row) - f64::from(film.height) / 2.0;
            let (bytes, sum) = Row { offset, zoom }.compute(film.width);
            std::hint::black_box(bytes);
            sum
        });
        sum += rows.sum::<u64>();
        zoom.nearer();
    }
    sum
}
