//! Lines as Markdown: all of them, or ours beside the best peer for the README.

use crate::contest::is_peer;
use crate::data::{Conditions, Data};
use crate::floor::median;
use crate::lines::Line;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The head of all rows.
pub(crate) const HEAD: &str = "\
| workload | params | workers | runtime | metric | median | min | ratio |
|---|---|---:|---|---|---:|---:|---:|";

/// A line as a row.
pub(crate) fn row(line: &Line) -> String {
    let ratio = line.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    format!(
        "| {} | {} | {} | {} | {} ({}) | {} | {} | {ratio} |",
        line.workload,
        line.params,
        line.workers,
        line.runtime,
        line.metric,
        line.unit,
        figure(line.median),
        figure(line.min),
    )
}

/// As many digits as mean something.
fn figure(value: f64) -> String {
    match value {
        1000.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// What a peer that was left out is called, and why.
pub(crate) type Missing = BTreeMap<String, String>;

/// The whole table: a row for each contest and metric, ours beside the best peer.
pub(crate) fn markdown(Data { conditions, lines }: &Data) -> String {
    let mut text = format!("{}\n\n{}\n", circumstances(conditions, lines), floors(lines));
    text.push_str("| workload | metric | workers | kahn | other forms | best peer | ratio |\n");
    text.push_str("|---|---|---:|---:|---|---|---:|\n");
    let mut lost = Vec::new();
    for ours in lines.iter().filter(|line| is_first(line, lines)) {
        let same = |line: &&Line| line.is_of_one_contest_with(ours);
        let others: Vec<_> = lines
            .iter()
            .filter(same)
            .filter(|line| line.runtime != ours.runtime && !is_peer(&line.runtime))
            .filter(|line| line.runtime != "floor")
            .map(|line| format!("{} {}", form(&line.runtime), figure(line.median)))
            .collect();
        let peers = lines.iter().filter(same).filter(|line| is_peer(&line.runtime));
        let best = peers.min_by(|a, b| a.median.total_cmp(&b.median));
        let (peer, ratio) = match best {
            Some(best) if best.median > 0.0 => {
                let ratio = ours.median / best.median;
                if ratio > 1.0 {
                    lost.push((ours, best, ratio));
                }
                (format!("{} {}", best.runtime, figure(best.median)), format!("{ratio:.2}"))
            }
            _ => ("-".to_owned(), "-".to_owned()),
        };
        let comma = if ours.params.is_empty() { "" } else { ": " };
        let _infallible = writeln!(
            text,
            "| {}{comma}{} | {}, {} | {} | {} | {} | {peer} | {ratio} |",
            ours.workload,
            ours.params,
            ours.metric,
            ours.unit,
            ours.workers,
            figure(ours.median),
            others.join(", "),
        );
    }
    text.push_str(&speed_ups(lines));
    text.push_str(&losses(&lost));
    for (name, reason) in &conditions.missing {
        let _infallible = writeln!(text, "\nLeft out: {name}, {reason}.");
    }
    text
}

/// What more workers bring where there is work to share: ours, the best peer, and arithmetic alone.
fn speed_ups(lines: &[Line]) -> String {
    let one = lines.iter().filter(|line| {
        let shares_work = line.params.contains("of work") || line.unit == "ms";
        line.workers == 1 && shares_work && !line.metric.starts_with("CPU")
    });
    let with_more = |one: &Line| -> Option<(usize, f64)> {
        let more = lines.iter().find(|line| {
            (&line.workload, &line.params, &line.runtime, &line.metric)
                == (&one.workload, &one.params, &one.runtime, &one.metric)
                && line.workers > 1
        })?;
        Some((more.workers, one.median / more.median))
    };
    let mut text = String::new();
    for ours in one.clone().filter(|line| is_first(line, lines)) {
        let Some((workers, ratio)) = with_more(ours) else { continue };
        let peers = one.clone().filter(|line| {
            (&line.workload, &line.params) == (&ours.workload, &ours.params)
                && is_peer(&line.runtime)
        });
        let peers = peers.filter_map(|line| Some((&line.runtime, with_more(line)?.1)));
        let best = peers.max_by(|a, b| a.1.total_cmp(&b.1));
        let peer = best.map_or("-".to_owned(), |(name, ratio)| format!("{name} {ratio:.2}"));
        let arithmetic = lines.iter().find(|line| {
            line.runtime == "floor"
                && (&line.workload, &line.params) == (&ours.workload, &ours.params)
                && line.workers == 1
                && line.metric.starts_with("arithmetic")
        });
        let arithmetic = arithmetic.and_then(with_more);
        let arithmetic = arithmetic.map_or("-".to_owned(), |(_, ratio)| format!("{ratio:.2}"));
        let _infallible = writeln!(
            text,
            "| {}: {} | {workers} | {ratio:.2} | {peer} | {arithmetic} |",
            ours.workload, ours.params
        );
    }
    if text.is_empty() {
        return text;
    }
    let head = "| speed-up over one worker | workers | kahn | best peer | arithmetic |";
    format!("\n{head}\n|---|---:|---:|---|---:|\n{text}")
}

/// Says whether a line is that of ours to which the others of its contest are compared.
fn is_first(line: &Line, lines: &[Line]) -> bool {
    let contest = lines.iter().find(|other| other.is_of_one_contest_with(line));
    line.runtime != "floor" && contest.is_some_and(|first| first.runtime == line.runtime)
}

/// A form of ours without the name that all have.
fn form(runtime: &str) -> &str {
    runtime.strip_prefix("kahn-").unwrap_or(runtime)
}

fn losses(lost: &[(&Line, &Line, f64)]) -> String {
    if lost.is_empty() {
        return "\nNothing is lost to a peer.\n".to_owned();
    }
    let mut text = "\nLost:\n\n".to_owned();
    for (ours, best, ratio) in lost {
        let _infallible = writeln!(
            text,
            "- {} ({}), {}, {} worker{}: {ratio:.2} times {}",
            ours.workload,
            ours.params,
            ours.metric,
            ours.workers,
            if ours.workers == 1 { "" } else { "s" },
            best.runtime
        );
    }
    text
}

/// What the hardware charged, over all contests.
fn floors(lines: &[Line]) -> String {
    let mut text = "| floor | workers | ns |\n|---|---:|---:|\n".to_owned();
    let mut figures: BTreeMap<(&str, usize), Vec<f64>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.runtime == "floor" && line.unit == "ns") {
        figures.entry((&line.metric, line.workers)).or_default().push(line.median);
    }
    for ((metric, workers), mut figures) in figures {
        let _infallible =
            writeln!(text, "| {metric} | {workers} | {} |", figure(median(&mut figures)));
    }
    text
}

/// When, on what, with what.
fn circumstances(conditions: &Conditions, lines: &[Line]) -> String {
    let Conditions { date, machine, peers, command, .. } = conditions;
    let runs = lines.iter().map(|line| line.figures.len()).max().unwrap_or(0);
    let of = if machine.source.is_empty() { "" } else { " of " };
    let rounds: usize = lines.iter().map(|line| line.figures.len()).sum();
    let disturbed: usize = lines.iter().map(|line| line.disturbed).sum();
    format!(
        "Medians of {runs} runs in turn; {date}; {}, {} cores; {}; {}; kahn {}{of}{}; {}; `{command}`; {} of {rounds} \
         measurements were quiet.",
        machine.processor,
        machine.cores,
        machine.system,
        machine.compiler,
        machine.kahn,
        machine.source,
        peers.join("; "),
        rounds - disturbed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Runs;
    use crate::lines::tests::quiet;
    use crate::measure::Figure;

    fn data(ours: f64, peer: f64) -> Data {
        let mut runs = Runs::default();
        let entries =
            [("kahn", ours), ("kahn-timing", 9.0), ("go", peer), ("may", 77.0), ("floor", 2.0)];
        for (runtime, value) in entries {
            let metric = if runtime == "floor" { "dynamic call" } else { "time" };
            runs.add(runtime, 2, quiet(vec![Figure::new(metric, "ns", value)]));
        }
        let machine = kahn_experiments::Machine::here("abcdef1").unwrap();
        let command = "kahn-bench table".to_owned();
        let conditions = Conditions {
            date: "2026-01-31".to_owned(),
            machine,
            peers: vec!["go 1.2".to_owned()],
            command,
            missing: Missing::from([("boost-fiber".to_owned(), "no compiler".to_owned())]),
        };
        Data { conditions, lines: runs.lines("ring", "1 token") }
    }

    #[test]
    fn ours_stands_beside_the_best_peer_and_the_floor_apart() {
        let text = markdown(&data(3.0, 6.0));
        assert!(
            text.contains("| ring: 1 token | time, ns | 2 | 3.00 | timing 9.00 | go 6.00 | 0.50 |")
        );
        assert!(text.contains("| dynamic call | 2 | 2.00 |"));
        assert!(text.contains("Nothing is lost"));
        assert!(text.contains("; 2026-01-31; "), "{text}");
        assert!(
            text.contains(
                " of abcdef1; go 1.2; `kahn-bench table`; 5 of 5 measurements were quiet."
            ),
            "{text}"
        );
        assert!(text.contains("Left out: boost-fiber, no compiler."));
    }

    #[test]
    fn a_speed_up_is_the_cost_on_one_worker_over_that_on_more() {
        let mut runs = Runs::default();
        for (workers, ours, arithmetic) in [(1, 12.0, 1.0), (2, 8.0, 0.625)] {
            runs.add("kahn", workers, quiet(vec![Figure::new("time", "ns", ours)]));
            runs.add("floor", workers, quiet(vec![Figure::new("arithmetic", "ns", arithmetic)]));
        }
        let text = speed_ups(&runs.lines("scatter-gather", "10 us of work"));
        assert!(text.ends_with("| scatter-gather: 10 us of work | 2 | 1.50 | - | 1.60 |\n"));
        assert_eq!(speed_ups(&runs.lines("ring", "1 token")), "");
    }

    #[test]
    fn what_is_lost_is_said() {
        let text = markdown(&data(3.0, 2.0));
        assert!(text.contains("Lost:\n\n- ring (1 token), time, 2 workers: 1.50 times go"));
    }
}
