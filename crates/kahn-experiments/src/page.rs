//! The page of an experiment, and its figures as CSV.

use std::fmt::Write as _;

use crate::claim::{Finding, show};
use crate::experiment::{Experiment, Size, View};
use crate::measure::{LOAD, STEAL};
use crate::plot::Panel;
use crate::rows::{Row, Rows};

/// Writes the page, in Markdown.
pub(crate) fn page(
    experiment: &Experiment,
    view: &View,
    panels: &[Panel],
    findings: &[Finding],
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
    let _ = writeln!(text, "| promise | paper | here | verdict |\n|---|---|---|---|");
    for Finding { promise, paper, ours, verdict } in findings {
        let _ = writeln!(text, "| {promise} | {paper} | {ours} | **{verdict}** |");
    }
    let _ = writeln!(
        text,
        "\n## How it was done\n\n{} Each figure is the median of {} rounds, with its interval of \
         99 %; a round measures all points, in an order drawn from the seed {}.",
        experiment.method, view.rounds, view.seed
    );
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
    let most = |quantity: &str| {
        let rows = view.studies.values().flat_map(Rows::iter);
        let figures = rows.flat_map(|row| row.figures(quantity)).map(|(_, figure)| figure);
        figures.fold(0.0, f64::max)
    };
    let sum = |(loud, all): (usize, usize), row: &Row| {
        let (more, of) = row.loud();
        (loud + more, all + of)
    };
    let (loud, all) = view.studies.values().flat_map(Rows::iter).fold((0, 0), sum);
    let _ = writeln!(
        text,
        "| meanwhile | other programs kept at most {:.2} cores busy, the host took at most {:.1} % of \
         the time; {loud} of {all} measurements were not quiet |",
        most(LOAD),
        most(STEAL) * 100.0
    );
    for (file, digest) in &view.used {
        let _ = writeln!(text, "| `{file}` | SHA-256 {digest} |");
    }
    let one = crate::Value::from(1_usize);
    let by_cpus = |row: &Row| row.point.get("cpus").is_some_and(|cpus| *cpus != one);
    if machine.cores < 8 && view.studies.values().flat_map(Rows::iter).any(by_cpus) {
        let _ = writeln!(
            text,
            "\nThe paper goes up to 8 CPUs. This machine has {}, and the axis ends there.",
            machine.cores
        );
    }
    if let Some(remark) = machine.remark() {
        let _ = writeln!(text, "\n**{remark}**");
    }
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
    let rows =
        || view.studies.iter().flat_map(|(study, rows)| rows.iter().map(move |row| (*study, row)));
    let (mut parameters, mut quantities) = (Vec::<String>::new(), Vec::<String>::new());
    for (_, row) in rows() {
        for (name, _) in row.point.parameters() {
            if !parameters.iter().any(|known| known == name) {
                parameters.push(name.to_owned());
            }
        }
        for quantity in row.runs.iter().flat_map(|run| run.figures.keys()) {
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
    for (study, row) in rows() {
        text.push_str(study);
        for name in &parameters {
            let value = row.point.get(name).map(ToString::to_string).unwrap_or_default();
            let _ = write!(text, ",{}", field(&value));
        }
        let rounds = row.runs.len();
        let refused = row.refused.as_ref().map(ToString::to_string).unwrap_or_default();
        let _ = write!(text, ",{rounds},{}", field(&refused));
        for quantity in &quantities {
            let _ = match Rows::spot(row, 0.0, quantity) {
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
