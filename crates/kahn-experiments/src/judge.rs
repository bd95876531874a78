//! From raw data to verdicts: measurements in a folder, whatever made them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use kahn_apps::Failure;

use crate::claim::{Finding, Verdict};
use crate::experiment::{Experiment, Paper, Plan, Size, View};
use crate::rows::Rows;
use crate::store::Store;
use crate::{EXPERIMENTS, Machine};

/// Reads what is measured of an experiment in a folder, if anything is.
pub(crate) fn view(experiment: &Experiment, folder: &Path) -> Result<Option<View>, Failure> {
    let mut view: Option<View> = None;
    for study in experiment.studies {
        let path = folder.join(format!("{}.jsonl", study.name));
        let store = Store::read_only(&path).map_err(|cause| wrong(&path, &cause))?;
        let Some(store) = store else { continue };
        let owner = store.owner();
        let size = Size::named(&owner.size)
            .ok_or_else(|| wrong(&path, &format!("there is no size `{}`", owner.size)))?;
        let plan = Plan { size, cores: owner.machine.cores };
        let view = view.get_or_insert_with(|| View {
            plan,
            machine: owner.machine.clone(),
            rounds: owner.rounds,
            seed: owner.seed,
            studies: experiment.studies.iter().map(|study| (study.name, Rows::default())).collect(),
            used: BTreeMap::new(),
        });
        if view.plan != plan {
            let what =
                "measured in another size, or with other cores, than the rest of the experiment";
            return Err(wrong(&path, &what));
        }
        view.rounds = view.rounds.min(owner.rounds);
        view.used.extend(store.used().clone());
        view.studies.insert(study.name, Rows::collect(store.outcomes()));
    }
    Ok(view.filter(|view| !view.studies.values().all(Rows::is_empty)))
}

fn wrong(path: &Path, what: &dyn fmt::Display) -> Failure {
    Failure::input(format!("{}: {what}", path.display()))
}

/// An experiment with what followed from its rows.
#[derive(Debug)]
pub struct Judged {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// A line for each promise.
    pub findings: Vec<Finding>,
    view: View,
}

/// What followed from all rows of a folder. It is written in Markdown.
#[derive(Debug)]
pub struct Evaluation {
    /// The experiments of which anything is measured, in the order of the table.
    pub judged: Vec<Judged>,
}

/// Judges the raw data in a folder: files as `kahn experiment` writes them, `STUDY.jsonl`, or
/// compressed, `STUDY.jsonl.gz`. Nothing else is looked at, and nothing is measured.
///
/// # Errors
///
/// Returns [`Failure::Input`] if a file cannot be read or is not such a file, or if there is none.
pub fn judge(folder: &Path) -> Result<Evaluation, Failure> {
    let evaluation = Evaluation::of(EXPERIMENTS, folder)?;
    if evaluation.judged.is_empty() {
        return Err(wrong(folder, &"there are no measurements of any experiment").with_help(
            "name a folder with files like ring.jsonl: `kahn experiment` writes DIR/measurements/SIZE",
        ));
    }
    Ok(evaluation)
}

impl Evaluation {
    /// Judges some experiments.
    pub(crate) fn of(experiments: &[&'static Experiment], folder: &Path) -> Result<Self, Failure> {
        let mut judged = Vec::new();
        for experiment in experiments {
            if let Some(view) = view(experiment, folder)? {
                let claims = (experiment.claims)(&view);
                let findings = claims.iter().map(|claim| claim.judge(&view)).collect();
                judged.push(Judged { experiment, findings, view });
            }
        }
        Ok(Self { judged })
    }

    fn papers(&self) -> Vec<&'static Paper> {
        let mut papers = Vec::new();
        for judged in &self.judged {
            if !papers.contains(&judged.experiment.paper) {
                papers.push(judged.experiment.paper);
            }
        }
        papers
    }

    /// Writes which machine measured what, and with which files.
    fn conditions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut machines: Vec<(&Machine, Vec<&str>)> = Vec::new();
        for Judged { experiment, view, .. } in &self.judged {
            match machines.iter_mut().find(|(machine, _)| **machine == view.machine) {
                Some((_, names)) => names.push(experiment.name),
                None => machines.push((&view.machine, vec![experiment.name])),
            }
        }
        writeln!(f, "\n## Conditions\n\n| | |\n|---|---|")?;
        for (machine, names) in &machines {
            let Machine { processor, cores, memory, system, kahn, compiler, source, program } =
                machine;
            if machines.len() > 1 {
                writeln!(f, "| **experiments** | {} |", names.join(", "))?;
            }
            writeln!(f, "| machine | {processor}, {cores} cores, {memory} MiB, {system} |")?;
            let source = if source.is_empty() { String::new() } else { format!(" of {source}") };
            writeln!(f, "| program | kahn {kahn}{source}, {compiler}, SHA-256 {program} |")?;
        }
        let rounds = |least: bool| {
            let rounds = self.judged.iter().map(|judged| judged.view.rounds);
            if least { rounds.min() } else { rounds.max() }.unwrap_or(0)
        };
        let rounds = match (rounds(true), rounds(false)) {
            (least, most) if least == most => format!("{most}"),
            (least, most) => format!("{least} to {most}"),
        };
        writeln!(f, "| rounds | {rounds}, each in an order drawn from a seed |")?;
        let mut rows = BTreeMap::new();
        for (study, measured) in self.judged.iter().flat_map(|judged| &judged.view.studies) {
            rows.insert(*study, measured);
        }
        let sum = |(loud, all): (usize, usize), row: &crate::Row| {
            let (more, of) = row.loud();
            (loud + more, all + of)
        };
        let (loud, all) = rows.values().flat_map(|rows| rows.iter()).fold((0, 0), sum);
        writeln!(f, "| measurements | {all}, of them {} quiet |", all - loud)?;
        let used: BTreeMap<_, _> =
            self.judged.iter().flat_map(|judged| &judged.view.used).collect();
        used.iter().try_for_each(|(file, digest)| writeln!(f, "| `{file}` | SHA-256 {digest} |"))
    }
}

/// What the verdicts mean, for a page.
const LEGEND: &str = "\
What we find is a factor: the median over the rounds of how many times better ours is than its rival, \
with its interval of 99 %, and the medians of the two. *Better*: the interval is above the paper's \
factor. *Reproduced*: it is nowhere below. *Worse*: it is below altogether. (Within 5 % counts as \
equal, where a promise does not say otherwise.) *Paper's effect absent here*: the paper saw a \
difference where there is none, or one the other way round. *Consistent on 2 cores*: as in the paper, \
which had more cores. *Cannot tell*: the interval does not decide, there are fewer than eight rounds, \
something is not measured, or a round was not quiet: other programs used a tenth of a core or the \
host took half a per cent of the time, or more, in each of four tries.";

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.judged.first() else { return Ok(()) };
        let size = first.view.plan.size.name();
        writeln!(f, "# The promises of the papers, measured\n")?;
        writeln!(f, "Written by `kahn experiment` from measurements of size **{size}** alone.\n")?;
        if first.view.plan.size == Size::Quick {
            writeln!(
                f,
                "**This size is a look: so little is measured of each point that the figures are rough.**\n"
            )?;
        }
        if let Some(remark) = first.view.machine.remark() {
            writeln!(f, "**{remark}**\n")?;
        }
        writeln!(f, "{LEGEND}\n")?;
        let findings = || self.judged.iter().flat_map(|judged| &judged.findings);
        let mut counts: Vec<(Verdict, usize)> = Vec::new();
        for finding in findings() {
            match counts.iter_mut().find(|(verdict, _)| *verdict == finding.verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((finding.verdict, 1)),
            }
        }
        counts.sort_by_key(|(verdict, count)| (std::cmp::Reverse(*count), verdict.to_string()));
        let counts: Vec<_> =
            counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        writeln!(f, "{} promises: {}.", findings().count(), counts.join(", "))?;
        self.conditions(f)?;
        for paper in self.papers() {
            writeln!(f, "\n## {}\n\n{}\n", paper.short, paper.full)?;
            writeln!(
                f,
                "| experiment | promise | paper | here | verdict |\n|---|---|---|---|---|"
            )?;
            let of_paper = self.judged.iter().filter(|judged| judged.experiment.paper == paper);
            for Judged { experiment, findings, .. } in of_paper {
                for Finding { promise, paper, ours, verdict } in findings {
                    let name = experiment.name;
                    writeln!(f, "| `{name}` | {promise} | {paper} | {ours} | {verdict} |")?;
                }
            }
        }
        Ok(())
    }
}
