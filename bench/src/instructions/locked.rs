//! How many instructions a step of a program takes, and how many of them lock the bus: what two workers
//! pay for each other, told apart from what else they do.
//!
//! A whole program is counted by callgrind, which sees every locked instruction, those of the allocator
//! included (`--collect-bus=yes`); the counters of processors would, too, but a virtual machine
//! seldom has them. Each is run at two sizes, and the difference divided by the steps between: so
//! beginning and end do not count. On one worker the figures are the same each time; on two
//! they depend on the schedule, and valgrind runs one thread at a time.

use crate::workloads::{COUNTED, Counted};
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is counted.
#[derive(Clone, Copy)]
struct Counts {
    instructions: f64,
    locked: f64,
}

/// Counts all rows, or those with these names; gives a table.
pub(super) fn count(names: &[String], workers: &[usize]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let chosen = |row: &&Counted| names.is_empty() || names.iter().any(|name| name == row.name);
    let mut table = String::from("| row, per step |");
    for workers in workers {
        write!(table, " instructions, {workers} | locked |")?;
    }
    table.push_str("\n|---|");
    table.push_str(&"---:|---:|".repeat(workers.len()));
    table.push('\n');
    for row in COUNTED.iter().filter(chosen) {
        write!(table, "| {}, per {} |", row.name, row.step)?;
        for &workers in workers {
            let [small, large] = [1, 2].map(|size| whole(folder.path(), row.name, workers, size));
            let (small, large) = (small?, large?);
            let each = |of: fn(Counts) -> f64| (of(large) - of(small)) / f64::from(row.steps);
            let (instructions, locked) = (each(|all| all.instructions), each(|all| all.locked));
            write!(table, " {instructions:.1} | {locked:.2} |")?;
        }
        table.push('\n');
    }
    Ok(table)
}

/// Counts one run, from the first instruction of the program to its last.
fn whole(folder: &Path, name: &str, workers: usize, size: u32) -> Result<Counts> {
    let out = folder.join(format!("{name}-{workers}-{size}"));
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-bus=yes", "--fair-sched=yes"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["operations", name, &workers.to_string(), &size.to_string()])
        .stdin(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("{name} under valgrind: {status}");
    }
    totals(&fs::read_to_string(&out)?).with_context(|| format!("the counts of {name}"))
}

/// Reads the sums out of what callgrind writes.
fn totals(text: &str) -> Option<Counts> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let sums = field("totals:").or_else(|| field("summary:"))?;
    let mut sums = field("events:")?.split_whitespace().zip(sums.split_whitespace());
    let mut counts = Counts { instructions: 0.0, locked: 0.0 };
    sums.try_for_each(|(event, sum)| {
        match event {
            "Ir" => counts.instructions = sum.parse().ok()?,
            "Ge" => counts.locked = sum.parse().ok()?,
            _ => {}
        }
        Some(())
    })?;
    Some(counts)
}

/// Runs a program once; what [`count`] runs under valgrind.
pub(super) fn run(name: &str, workers: usize, size: u32) -> Result<()> {
    let row = COUNTED.iter().find(|row| row.name == name);
    (row.with_context(|| format!("there is no row `{name}`"))?.run)(size, workers)
}

/// The names of the rows.
pub(super) fn names() -> Vec<&'static str> {
    COUNTED.iter().map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_read_by_the_names_of_their_events() {
        let counts = totals("events: Ir Ge\nfn=x\n1 2\ntotals: 1200 34\n").unwrap();
        assert_eq!((counts.instructions, counts.locked), (1200.0, 34.0));
        assert!(totals("events: Ir Ge\n").is_none());
    }

    #[test]
    fn every_row_runs() {
        for row in &COUNTED {
            run(row.name, 2, 1).unwrap();
        }
    }
}
