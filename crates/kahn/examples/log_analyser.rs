//! Analyses the log of a web server: what was answered, and what was asked for most.
//!
//! ```text
//!                                                           ┌─► answers ─► by status ─► statuses
//!   read ─► batches ─► parse (8 at once) ─► entries ─► copy ┼─► requests ─► by path ─► hits ─► top
//!                                                           └─► unreadable
//! ```
//!
//! A line is one of the Common Log Format: `host - user [time] "GET /path HTTP/1.1" status bytes`. Lines
//! are parsed a thousand at a time, and stay in order.
//!
//! `cargo run --example log_analyser -- access.log`, `-` is standard input; without arguments it analyses a log
//! of its own.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, RunError, process};
use std::cmp::Reverse;
use std::io::{self, Read};
use std::{env, error::Error, fmt};

/// A line of the log.
#[derive(Clone)]
struct Entry {
    path: String,
    status: u16,
    bytes: u64,
}

/// What a log comes to.
#[derive(Debug, PartialEq)]
struct Summary {
    /// Each status with its number of answers and of bytes.
    statuses: Vec<(u16, usize, u64)>,
    /// The paths that were asked for most; of equal ones, the first in the alphabet.
    most_asked_for: Vec<(usize, Reverse<String>)>,
    /// Lines that are none of a log.
    unreadable: u64,
}

fn parse(line: &str) -> Option<Entry> {
    let mut parts = line.split('"');
    let (_, request, answer) = (parts.next()?, parts.next()?, parts.next_back()?);
    let path = request.split(' ').nth(1)?.to_owned();
    let mut numbers = answer.split_whitespace();
    let (status, bytes) = (numbers.next()?.parse().ok()?, numbers.next()?);
    // Without a body there is a dash.
    let bytes = if bytes == "-" { 0 } else { bytes.parse().ok()? };
    Some(Entry { path, status, bytes })
}

fn analyse(log: impl Read + Send) -> Result<Option<Summary>, RunError> {
    let mut network = Network::new();
    let lines = network.lines("read", log);
    let batches = network.batch("batches", lines, 1000);
    let parsed = network.ordered_map("parse", batches, 8, 32, |lines: Vec<String>| {
        lines.iter().map(|line| parse(line)).collect::<Vec<_>>()
    });
    let entries = network.unbatch("entries", parsed);
    let [for_status, for_path, for_count] =
        network.tee("copy", entries, 3).try_into().expect("three were asked for");

    let unreadable = network.fold("unreadable", for_count, 0, |count, entry: Option<Entry>| {
        count + u64::from(entry.is_none())
    });
    let answers = network.flat_map("answers", for_status, |entry| entry);
    let by_status = network.group_by_key("by status", answers, |entry| entry.status);
    let statuses = network.map("statuses", by_status, |(status, answers)| {
        (status, answers.len(), answers.iter().map(|answer| answer.bytes).sum())
    });
    let statuses = network.collect("all statuses", statuses);

    let requests = network.flat_map("requests", for_path, |entry| entry);
    let by_path = network.group_by_key("by path", requests, |entry| entry.path.clone());
    let hits = network.map("hits", by_path, |(path, asked)| (asked.len(), Reverse(path)));
    let top = network.top_n("top", hits, 10);
    let top = network.collect("most asked for", top);

    network.run()?;
    let taken = (statuses.take(), top.take(), unreadable.take());
    let (Some(statuses), Some(most_asked_for), Some(unreadable)) = taken else { return Ok(None) };
    Ok(Some(Summary { statuses, most_asked_for, unreadable }))
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (status, answers, bytes) in &self.statuses {
            writeln!(f, "status {status}: {answers} answers, {bytes} bytes")?;
        }
        for (hits, Reverse(path)) in &self.most_asked_for {
            writeln!(f, "{hits:>8}  {path}")?;
        }
        write!(f, "{} lines could not be read", self.unreadable)
    }
}

/// A log of so many lines, one of which is none.
fn sample(lines: u32) -> String {
    let mut log = String::from("this is no line of a log\n");
    for number in 0..lines {
        let (path, status) = (number % 7 * number % 5, if number % 10 == 0 { 404 } else { 200 });
        let bytes = if status == 404 { "-".to_owned() } else { (100 + number % 9).to_string() };
        let line = format!(
            "10.0.0.{} - - [25/Nov/2026:05:00:00 +0000] \"GET /page/{path} HTTP/1.1\" {status} {bytes}\n",
            number % 256,
        );
        log.push_str(&line);
    }
    log
}

fn main() -> Result<(), Box<dyn Error>> {
    let summary = match env::args_os().nth(1) {
        None => analyse(sample(20_000).as_bytes())?,
        Some(path) if path == "-" => analyse(io::stdin())?,
        Some(path) => analyse(process::open(path))?,
    };
    if let Some(summary) = summary {
        println!("{summary}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_summary_is_that_of_a_loop_over_the_lines() -> Result<(), RunError> {
        for lines in [0, 1, 999, 1000, 5003] {
            let log = sample(lines);
            let mut statuses: BTreeMap<u16, (usize, u64)> = BTreeMap::new();
            let mut paths: BTreeMap<String, usize> = BTreeMap::new();
            let mut unreadable = 0;
            for line in log.lines() {
                let Some(entry) = parse(line) else {
                    unreadable += 1;
                    continue;
                };
                let status = statuses.entry(entry.status).or_default();
                *status = (status.0 + 1, status.1 + entry.bytes);
                *paths.entry(entry.path).or_default() += 1;
            }
            let mut paths: Vec<_> =
                paths.into_iter().map(|(path, hits)| (hits, Reverse(path))).collect();
            paths.sort_by(|a, b| b.cmp(a));
            paths.truncate(10);
            let statuses =
                statuses.into_iter().map(|(status, (count, bytes))| (status, count, bytes));
            let expected =
                Summary { statuses: statuses.collect(), most_asked_for: paths, unreadable };
            assert_eq!(analyse(log.as_bytes())?, Some(expected));
        }
        Ok(())
    }

    #[test]
    fn lines_are_those_of_the_common_log_format() {
        let line = r#"::1 - ann [25/Nov/2026:05:00:00 +0000] "GET /a%20b?c HTTP/1.1" 206 12"#;
        let entry = parse(line).expect("it is one");
        assert_eq!((&*entry.path, entry.status, entry.bytes), ("/a%20b?c", 206, 12));
        for line in
            ["", "\"GET /\"", r#"x "GET /" ok 3"#, r#"x "GET" 200 3"#, r#"x "GET /" 200 many"#]
        {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
