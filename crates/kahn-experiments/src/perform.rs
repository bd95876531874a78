//! Carrying experiments out: measure what is missing, then write plots, pages and the summary.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kahn_apps::{Failure, output};

use kahn_apps::random::Random;

use crate::experiment::{Bench, Experiment, Outcome, Plan, Size, Study};
use crate::interval::LEAST_ROUNDS;
use crate::judge::{Evaluation, view};
use crate::measure::Meanwhile;
use crate::store::{Owner, Store};
use crate::{Machine, Point, page, plot};

/// How often a measurement is made again that was not quiet.
const AGAIN: usize = 3;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Order {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// How large.
    pub size: Size,
    /// The folder for pages, plots and measurements.
    pub out: PathBuf,
    /// How often each point is measured, if not as often as its study says.
    pub rounds: Option<usize>,
    /// What the order of the points in each round is drawn from.
    pub seed: u64,
    /// Folders of other programs, by the name that `peers` has for them: `KAHN_PEER_CCSP`.
    pub peers: BTreeMap<String, PathBuf>,
    /// What this program was built from, a commit, if that is known.
    pub source: String,
    /// Whether to measure. If not, pages and plots are written from the measurements there are,
    /// also from those of another version.
    pub measure: bool,
}

/// Who wants to know how far it is.
pub trait Watcher {
    /// A study begins, of which so many measurements are there already.
    fn begin(&mut self, study: &str, there: usize, total: usize);
    /// A measurement begins.
    fn measuring(&mut self, what: &str);
    /// A measurement is kept.
    fn measured(&mut self);
    /// The pages of an experiment are written.
    fn written(&mut self, page: &Path);
    /// Something that one should know.
    fn note(&mut self, text: &str);
}

/// Carries experiments out.
///
/// Each measurement is on disk as soon as it is made, and what is on disk is not measured again:
/// this may be interrupted at any moment. An experiment that fails does not keep the others from
/// being carried out.
///
/// # Errors
///
/// Returns [`Failure::Input`] if the folder cannot be made, [`Failure::Output`] if it cannot be
/// written to, or the first failure of an experiment.
pub fn perform(order: &Order, watcher: &mut dyn Watcher) -> Result<(), Failure> {
    make_folder(&order.out)?;
    let machine =
        Machine::here(&order.source).map_err(|cause| unreadable("this program", cause))?;
    if order.measure
        && let Some(remark) = machine.remark()
    {
        watcher.note(remark);
    }
    let plan = Plan { size: order.size, cores: machine.cores };
    let mut failure = None;
    for experiment in &order.experiments {
        let result = if order.measure {
            measure(experiment, plan, order, &machine, watcher)
        } else {
            Ok(())
        };
        match result.and_then(|()| write(experiment, order)) {
            Ok(true) => {
                watcher.written(&order.out.join(format!("{}.md", experiment.name)));
            }
            Ok(false) => watcher.note(&format!(
                "{}: nothing is measured in size {}",
                experiment.name,
                order.size.name()
            )),
            Err(output @ Failure::Output { .. }) => return Err(output),
            Err(other) => {
                watcher.note(&format!("{} failed: {other}", experiment.name));
                failure.get_or_insert(other);
            }
        }
    }
    sum_up(order, watcher)?;
    failure.map_or(Ok(()), Err)
}

fn make_folder(out: &Path) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|cause| {
        Failure::input(format!("{}: cannot be made a folder: {cause}", out.display()))
            .with_help("--out takes a folder for pages, plots and measurements")
    })
}

fn unreadable(what: &str, cause: io::Error) -> Failure {
    Failure::Output { path: PathBuf::from(what), cause }
}

fn folder_of(order: &Order) -> PathBuf {
    order.out.join("measurements").join(order.size.name())
}

fn file_of(study: &Study, order: &Order) -> PathBuf {
    folder_of(order).join(format!("{}.jsonl", study.name))
}

/// Measures what is not on disk yet.
fn measure(
    experiment: &Experiment,
    plan: Plan,
    order: &Order,
    machine: &Machine,
    watcher: &mut dyn Watcher,
) -> Result<(), Failure> {
    let inputs = order.out.join("measurements").join("inputs");
    make_folder(&inputs)?;
    for study in experiment.studies {
        let path = file_of(study, order);
        let cannot = |cause| Failure::Output { path: path.clone(), cause };
        let rounds = order.rounds.unwrap_or_else(|| study.rounds(plan.size));
        let owner = Owner {
            study: study.name.to_owned(),
            size: plan.size.name().to_owned(),
            rounds,
            seed: order.seed,
            machine: machine.clone(),
        };
        let mut store = Store::open(&path, owner).map_err(cannot)?;
        if store.put_aside() {
            watcher.note(&format!(
                "{}: measured before by another version, machine or order, so once more",
                study.name
            ));
        }
        let points = (study.points)(&plan);
        let known = |point: &Point, round| match store.get(point, round) {
            Some(Outcome::Refused(refused)) => !refused.is_for_a_variable(),
            known => known.is_some(),
        };
        let missing: Vec<Vec<Point>> = (0..rounds)
            .map(|round| {
                let mut points = points.clone();
                shuffle(&mut points, order.seed.wrapping_add(round as u64));
                points.retain(|point| !known(point, round));
                points
            })
            .collect();
        let all = points.len() * rounds;
        watcher.begin(study.name, all - missing.iter().map(Vec::len).sum::<usize>(), all);
        let bench = Bench::new(plan, &inputs, &order.peers);
        // With fewer rounds there are no verdicts: it is only a look.
        let again = if rounds < LEAST_ROUNDS { 0 } else { AGAIN };
        for (round, points) in missing.into_iter().enumerate() {
            for point in points {
                let before = store.get(&point, 0).filter(|_| round > 0).cloned();
                if let Some(refused @ Outcome::Refused(_)) = before {
                    store.keep(&point, round, refused, bench.used()).map_err(cannot)?;
                    watcher.measured();
                    continue;
                }
                watcher.measuring(&point.to_string());
                let outcome = quietly(study, &point, &bench, again)?;
                store.keep(&point, round, outcome, bench.used()).map_err(cannot)?;
                watcher.measured();
            }
        }
    }
    Ok(())
}

/// Puts the points into an order that is drawn from a seed (Fisher and Yates).
fn shuffle(points: &mut [Point], seed: u64) {
    let mut random = Random::new(seed);
    for last in (1..points.len()).rev() {
        let chosen = usize::try_from(random.below(last as u64 + 1)).unwrap_or(last);
        points.swap(last, chosen);
    }
}

/// Measures a point; up to so many times again if something else ran meanwhile.
fn quietly(
    study: &Study,
    point: &Point,
    bench: &Bench<'_>,
    again: usize,
) -> Result<Outcome, Failure> {
    let mut before = 0;
    loop {
        let meanwhile = Meanwhile::begin();
        let measured = match (study.measure)(point, bench)? {
            Outcome::Measured(measured) => meanwhile.end(measured, before),
            refused @ Outcome::Refused(_) => return Ok(refused),
        };
        has_all_cores(bench.plan, point)?;
        if before == again || Meanwhile::was_quiet(&measured.0) {
            return Ok(Outcome::Measured(measured));
        }
        before += 1;
    }
}

/// What is measured next has the cores that this has had, or it is something else that is measured.
fn has_all_cores(plan: Plan, point: &Point) -> Result<(), Failure> {
    let cores = Machine::cores();
    if cores == plan.cores {
        return Ok(());
    }
    let text = format!("{point}: this program had {} cores, and has {cores} now", plan.cores);
    Err(Failure::input(text).with_help("measurements of both cannot be compared: begin once more"))
}

/// Writes CSV, plots and page; there is nothing to write if nothing is measured.
fn write(experiment: &'static Experiment, order: &Order) -> Result<bool, Failure> {
    let Some(view) = view(experiment, &folder_of(order))? else { return Ok(false) };
    let panels = (experiment.panels)(&view);
    let findings: Vec<_> =
        (experiment.claims)(&view).iter().map(|claim| claim.judge(&view)).collect();
    let path = |ending: &str| order.out.join(format!("{}.{ending}", experiment.name));
    let title = format!("{} ({}, size {})", experiment.summary, experiment.name, order.size.name());
    let svg = plot::svg(&title, &panels).map_err(|error| drawing(&path("svg"), &*error))?;
    let png = plot::png(&svg).map_err(|error| drawing(&path("png"), &*error))?;
    let csv = page::csv(&view);
    let page = page::page(experiment, &view, &panels, &findings);
    for (ending, content) in
        [("csv", csv.as_bytes()), ("svg", svg.as_bytes()), ("png", &png), ("md", page.as_bytes())]
    {
        output::write_whole(&path(ending), |out| out.write_all(content))?;
    }
    Ok(true)
}

fn drawing(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Output { path: path.to_owned(), cause: io::Error::other(error.to_string()) }
}

/// Writes the summary of the experiments that were asked for, as far as they are measured.
fn sum_up(order: &Order, watcher: &mut dyn Watcher) -> Result<(), Failure> {
    let evaluation = Evaluation::of(&order.experiments, &folder_of(order))?;
    let path = order.out.join("summary.md");
    output::write_whole(&path, |out| write!(out, "{evaluation}"))?;
    watcher.written(&path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_drawn_from_its_seed_and_has_every_point() {
        let order = |seed| {
            let mut points = Point::new().each("size", 0..20_usize);
            shuffle(&mut points, seed);
            points.iter().map(|point| point.count("size")).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
