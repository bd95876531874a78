//! Carrying experiments out: measure what is missing, then write plots, pages and the summary.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kahn_apps::{Failure, output};

use crate::experiment::{Bench, Experiment, Outcome, Plan, Size, Study, View};
use crate::measure::Meanwhile;
use crate::rows::Rows;
use crate::store::{Owner, Store};
use crate::summary::{Finding, summary};
use crate::{EXPERIMENTS, Machine, page, plot};

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Order {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// How large.
    pub size: Size,
    /// The folder for pages, plots and measurements.
    pub out: PathBuf,
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
    let machine = Machine::here().map_err(|cause| unreadable("this program", cause))?;
    let plan = Plan { size: order.size, cores: machine.cores };
    let mut failure = None;
    for experiment in &order.experiments {
        let result = if order.measure {
            measure(experiment, plan, order, &machine, watcher)
        } else {
            Ok(())
        };
        match result.and_then(|()| write(experiment, plan, order)) {
            Ok(Some(_)) => {
                watcher.written(&order.out.join(format!("{}.md", experiment.name)));
            }
            Ok(None) => watcher.note(&format!(
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
    sum_up(plan, order, watcher)?;
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

fn file_of(study: &Study, order: &Order) -> PathBuf {
    let folder = order.out.join("measurements").join(order.size.name());
    folder.join(format!("{}.jsonl", study.name))
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
        let owner = Owner {
            study: study.name.to_owned(),
            size: plan.size.name().to_owned(),
            machine: machine.clone(),
        };
        let mut store = Store::open(&path, owner).map_err(cannot)?;
        if store.put_aside() {
            watcher.note(&format!(
                "{}: measured before by another version or machine, so once more",
                study.name
            ));
        }
        let points = (study.points)(&plan);
        let rounds = study.rounds(plan.size);
        let there = |round| points.iter().filter(|point| store.get(point, round).is_some()).count();
        let there: usize = (0..rounds).map(there).sum();
        watcher.begin(study.name, there, points.len() * rounds);
        let bench = Bench { plan, inputs: &inputs };
        for round in 0..rounds {
            for point in &points {
                if store.get(point, round).is_some() {
                    continue;
                }
                if let Some(refused @ Outcome::Refused(_)) = store.get(point, 0).cloned() {
                    store.keep(point, round, refused).map_err(cannot)?;
                    watcher.measured();
                    continue;
                }
                watcher.measuring(&point.to_string());
                let meanwhile = Meanwhile::begin();
                let outcome = (study.measure)(point, &bench)?;
                let outcome = match outcome {
                    Outcome::Measured(measured) => Outcome::Measured(meanwhile.end(measured)),
                    refused @ Outcome::Refused(_) => refused,
                };
                store.keep(point, round, outcome).map_err(cannot)?;
                watcher.measured();
            }
        }
    }
    Ok(())
}

/// Sums up what is measured of an experiment, if anything is.
fn view(experiment: &Experiment, plan: Plan, order: &Order) -> Result<Option<View>, Failure> {
    let mut machine = None;
    let mut studies = BTreeMap::new();
    for study in experiment.studies {
        let path = file_of(study, order);
        let store = Store::read_only(&path);
        let store = store.map_err(|cause| Failure::Output { path: path.clone(), cause })?;
        let measured_with = store.as_ref().map(|store| store.owner().machine.clone());
        let plan = measured_with.as_ref().map_or(plan, |machine| plan.on(machine));
        machine = machine.or(measured_with);
        let rows = Rows::collect(
            experiment.statistic,
            (study.points)(&plan),
            study.rounds(plan.size),
            |point, round| store.as_ref()?.get(point, round),
        );
        studies.insert(study.name, rows);
    }
    let Some(machine) = machine else { return Ok(None) };
    if studies.values().all(Rows::is_empty) {
        return Ok(None);
    }
    Ok(Some(View { plan: plan.on(&machine), machine, studies }))
}

/// Writes CSV, plots and page; there is nothing to write if nothing is measured.
fn write(
    experiment: &'static Experiment,
    plan: Plan,
    order: &Order,
) -> Result<Option<Finding>, Failure> {
    let Some(view) = view(experiment, plan, order)? else { return Ok(None) };
    let panels = (experiment.panels)(&view);
    let claims = (experiment.claims)(&view);
    let path = |ending: &str| order.out.join(format!("{}.{ending}", experiment.name));
    let title = format!("{} ({}, size {})", experiment.summary, experiment.name, plan.size.name());
    let svg = plot::svg(&title, &panels).map_err(|error| drawing(&path("svg"), &*error))?;
    let png = plot::png(&svg).map_err(|error| drawing(&path("png"), &*error))?;
    let csv = page::csv(&view);
    let page = page::page(experiment, &view, &panels, &claims);
    for (ending, content) in
        [("csv", csv.as_bytes()), ("svg", svg.as_bytes()), ("png", &png), ("md", page.as_bytes())]
    {
        output::write_whole(&path(ending), &|out| out.write_all(content))?;
    }
    let others = page::others(&view);
    Ok(Some(Finding { experiment, machine: view.machine, others, claims }))
}

fn drawing(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Output { path: path.to_owned(), cause: io::Error::other(error.to_string()) }
}

/// Writes the summary of all experiments of which anything is measured in this size.
fn sum_up(plan: Plan, order: &Order, watcher: &mut dyn Watcher) -> Result<(), Failure> {
    let mut findings = Vec::new();
    for experiment in EXPERIMENTS {
        if let Some(view) = view(experiment, plan, order)? {
            let claims = (experiment.claims)(&view);
            let others = page::others(&view);
            findings.push(Finding { experiment, machine: view.machine, others, claims });
        }
    }
    let path = order.out.join("summary.md");
    let text = summary(&findings, order.size);
    output::write_whole(&path, &|out| out.write_all(text.as_bytes()))?;
    watcher.written(&path);
    Ok(())
}
