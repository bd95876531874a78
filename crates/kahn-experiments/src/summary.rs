//! The summary: every promise of the papers in a row, with the verdict of its experiment.

use std::fmt::Write as _;

use crate::Machine;
use crate::claim::{Claim, Verdict};
use crate::experiment::{Experiment, Size};

/// An experiment with what followed from it.
pub(crate) struct Finding {
    pub(crate) experiment: &'static Experiment,
    pub(crate) machine: Machine,
    /// How many cores other programs kept busy meanwhile.
    pub(crate) others: f64,
    pub(crate) claims: Vec<Claim>,
}

/// Writes all promises, by paper and in the order of the table.
pub(crate) fn summary(findings: &[Finding], size: Size) -> String {
    let mut text = format!(
        "# The promises of the papers, measured\n\n\
         Written by `kahn experiment` from measurements of size **{}**. Each row is a promise of a \
         paper, what we find, and the verdict that follows from the figures; the page of the \
         experiment has the picture, all figures, and why.\n",
        size.name()
    );
    if let Some(finding) = findings.first() {
        let Machine { processor, cores, kahn, compiler, .. } = &finding.machine;
        let _ = writeln!(
            text,
            "\nMeasured on {processor}, {cores} cores, with kahn {kahn}, {compiler}."
        );
        let most = findings.iter().map(|finding| finding.others).fold(0.0, f64::max);
        if most > 0.1 {
            let _ = writeln!(
                text,
                "\n**The machine was not quiet: other programs kept up to {most:.1} cores busy. Speed-ups \
                 and small differences mean little then; measure again.**"
            );
        }
    }
    let all = || findings.iter().flat_map(|finding| &finding.claims);
    let count = |verdict| all().filter(|claim| claim.verdict == verdict).count();
    let _ = writeln!(
        text,
        "\n{} promises: {} reproduced, {} better, {} worse, {} not reproducible here.",
        all().count(),
        count(Verdict::Reproduced),
        count(Verdict::Better),
        count(Verdict::Worse),
        count(Verdict::NotHere),
    );
    let mut papers: Vec<_> = Vec::new();
    for finding in findings {
        if !papers.contains(&finding.experiment.paper) {
            papers.push(finding.experiment.paper);
        }
    }
    for paper in papers {
        let _ = writeln!(text, "\n## {}\n\n{}", paper.short, paper.full);
        let _ = writeln!(text, "\n| experiment | promise | here | verdict |\n|---|---|---|---|");
        let of_paper = findings.iter().filter(|finding| finding.experiment.paper == paper);
        for Finding { experiment, claims, .. } in of_paper {
            for Claim { promise, ours, verdict, .. } in claims {
                let name = experiment.name;
                let _ = writeln!(text, "| [{name}]({name}.md) | {promise} | {ours} | {verdict} |");
            }
        }
    }
    text
}
