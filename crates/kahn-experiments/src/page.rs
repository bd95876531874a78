//! The page of an experiment, and its figures as CSV.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::claim::{Claim, show};
use crate::experiment::{Experiment, Size, Statistic, View};
use crate::plot::Panel;
use crate::rows::{Row, Rows};

/// Quantities that say how a measurement went and not what it found.
pub(crate) const OTHERS: &str = "seconds of other programs";
/// See [`OTHERS`].
pub(crate) const ELAPSED: &str = "seconds in all";

/// Writes the page, in Markdown.
pub(crate) fn page(
    experiment: &Experiment,
    view: &View,
    panels: &[Panel],
    claims: &[Claim],
) -> String {
    let name = experiment.name;
    let mut text = format!("# {name}: {}\n\n", experiment.summary);
    let (short, place) = (experiment.paper.short, experiment.place);
    let _ = writeln!(text, "After {short}, {place}. {}\n", size(view.plan.size));
    let _ = writeln!(text, "![{}]({name}.svg)\n", experiment.summary);
    let _ = writeln!(
        text,
        "Figures: [CSV]({name}.csv); picture: [SVG]({name}.svg), [PNG]({name}.png).\n"
    );
    let _ = writeln!(text, "## What the paper found\n\n{}\n", experiment.found);
    let _ = writeln!(text, "## What we find\n");
    let _ = writeln!(text, "| promise | here | verdict | why |\n|---|---|---|---|");
    for claim in claims {
        let Claim { promise, ours, verdict, why } = claim;
        let _ = writeln!(text, "| {promise} | {ours} | **{verdict}** | {why} |");
    }
    let _ =
        writeln!(text, "\n## How it was done\n\n{} {}", experiment.method, how(experiment, view));
    conditions(&mut text, view);
    let _ = writeln!(text, "\n## Figures");
    for panel in panels {
        table(&mut text, panel);
    }
    refusals(&mut text, view);
    text
}

fn size(size: Size) -> String {
    let what = size.of(
        "small, for a look",
        "smaller than the paper's, in the same shape",
        "the parameters of the paper",
    );
    format!("Size: **{}** ({what}).", size.name())
}

/// Says how the rounds were summed up.
fn how(experiment: &Experiment, view: &View) -> String {
    let rounds: BTreeSet<_> =
        experiment.studies.iter().map(|study| study.rounds(view.plan.size)).collect();
    let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
    let rounds = rounds.join(" or ");
    match experiment.statistic {
        Statistic::Median => format!(
            "Each figure is the median of {rounds} rounds, with the least and the most; the \
             points of a round are measured in turn."
        ),
        Statistic::Mean => format!(
            "Each figure is the mean of {rounds} rounds, with the standard deviation; the points \
             of a round are measured in turn."
        ),
    }
}

/// Says what measured, and under which conditions.
fn conditions(text: &mut String, view: &View) {
    let machine = &view.machine;
    let _ = writeln!(
        text,
        "\n| | |\n|---|---|\n| machine | {}, {} cores, {} MiB, {} |\n| program | kahn {}, {} |",
        machine.processor,
        machine.cores,
        machine.memory,
        machine.system,
        machine.kahn,
        machine.compiler,
    );
    let others = others(view);
    let _ = writeln!(text, "| other programs meanwhile | {others:.2} cores busy on average |");
    let one = crate::Value::from(1_usize);
    let by_cpus = |row: &Row| row.point.get("cpus").is_some_and(|cpus| *cpus != one);
    if machine.cores < 8 && view.studies.values().flat_map(Rows::iter).any(by_cpus) {
        let _ = writeln!(
            text,
            "\nThe paper goes up to 8 CPUs. This machine has {}, and the axis ends there.",
            machine.cores
        );
    }
    if machine.is_development_build() {
        let _ = writeln!(text, "\n**A development build was measured: the figures mean nothing.**");
    }
}

/// How many cores other programs kept busy while it was measured.
pub(crate) fn others(view: &View) -> f64 {
    let total = |quantity: &str| -> f64 {
        let rows = view.studies.values().flat_map(Rows::iter);
        rows.filter_map(|row| row.figures.get(quantity)).flatten().sum()
    };
    total(OTHERS) / total(ELAPSED).max(1e-9)
}

/// Writes the figures of a panel: places down, series across.
fn table(text: &mut String, panel: &Panel) {
    let mut places: Vec<f64> =
        panel.series.iter().flat_map(|series| &series.spots).map(|spot| spot.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| a.total_cmp(b).is_eq());
    let _ = write!(text, "\n{}: {}\n\n| {} |", panel.title, panel.y.label, panel.x.label);
    for series in &panel.series {
        let _ = write!(text, " {} |", series.label);
    }
    let _ = writeln!(text, "\n|---|{}", "---:|".repeat(panel.series.len()));
    for place in places {
        let _ = write!(text, "| {} |", panel.x.name_of(place));
        for series in &panel.series {
            let spot = series.spots.iter().find(|spot| spot.x.total_cmp(&place).is_eq());
            let _ = match spot {
                Some(spot) if spot.low < spot.high => {
                    write!(text, " {} ({}–{}) |", show(spot.y), show(spot.low), show(spot.high))
                }
                Some(spot) => write!(text, " {} |", show(spot.y)),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
}

fn refusals(text: &mut String, view: &View) {
    let mut refusals = view.studies.values().flat_map(Rows::refusals).peekable();
    if refusals.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\n## What the machine refused\n\n| point | why |\n|---|---|");
    for (point, refused) in refusals {
        let _ = writeln!(text, "| {point} | {refused} |");
    }
}

/// Writes all figures, a line each point.
pub(crate) fn csv(view: &View) -> String {
    let rows = || {
        view.studies
            .iter()
            .flat_map(|(study, rows)| rows.iter().map(move |row| (*study, rows, row)))
    };
    let (mut parameters, mut quantities) = (Vec::<String>::new(), Vec::<String>::new());
    for (_, _, row) in rows() {
        for (name, _) in row.point.parameters() {
            if !parameters.iter().any(|known| known == name) {
                parameters.push(name.to_owned());
            }
        }
        for quantity in row.figures.keys() {
            if !quantities.contains(quantity) {
                quantities.push(quantity.clone());
            }
        }
    }
    let mut text = String::from("study");
    for name in &parameters {
        let _ = write!(text, ",{}", field(name));
    }
    text.push_str(",rounds,refused");
    for quantity in &quantities {
        for what in ["", " low", " high"] {
            let _ = write!(text, ",{}", field(&format!("{quantity}{what}")));
        }
    }
    text.push('\n');
    for (study, rows, row) in rows() {
        text.push_str(study);
        for name in &parameters {
            let value = row.point.get(name).map(ToString::to_string).unwrap_or_default();
            let _ = write!(text, ",{}", field(&value));
        }
        let rounds = row.figures.values().map(Vec::len).max().unwrap_or(0);
        let refused = row.refused.as_ref().map(ToString::to_string).unwrap_or_default();
        let _ = write!(text, ",{rounds},{}", field(&refused));
        for quantity in &quantities {
            let _ = match rows.spot(row, 0.0, quantity) {
                Some(spot) => write!(text, ",{},{},{}", spot.y, spot.low, spot.high),
                None => write!(text, ",,,"),
            };
        }
        text.push('\n');
    }
    text
}

/// Quotes a field if it must be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_a_comma_is_quoted() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
