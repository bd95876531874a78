//! What stands under *now* in `docs/frictions.md`, where no example has it.

use kahn::{Channel, Network, Receiver, Report, RunError, Scope, process};
use std::cmp::Reverse;
use std::io::Read;
use std::path::Path;

pub fn sum(lines: &[&str]) -> Result<Option<i64>, RunError> {
    let mut network = Network::new();
    let lines = network.source("lines", lines);
    let sum = network.try_process("add up", lines, async |mut lines| {
        let mut sum = 0;
        while let Some(line) = lines.recv().await {
            sum += line.parse::<i64>()?;
        }
        Ok(sum)
    });
    network.run()?;
    Ok(sum.take())
}

pub fn most_asked_for(
    log: impl Read + Send,
    path: fn(&str) -> String,
) -> Result<Vec<(usize, Reverse<String>)>, RunError> {
    let mut network = Network::new();
    let lines = network.lines("read", log);
    let groups = network.group_by_key("by path", lines, |line| path(line));
    let hits = network.map("hits", groups, |(path, lines)| (lines.len(), Reverse(path)));
    let top = network.top_n("top", hits, 10);
    let top = network.collect("most asked for", top);
    network.run()?;
    Ok(top.take().unwrap_or_default())
}

pub fn number_lines(from: &Path, to: &Path) -> Result<Report, RunError> {
    let mut network = Network::new();
    let lines = network.lines("read", process::open(from));
    let numbered = network.scan("number", lines, 0, |number, line| {
        *number += 1;
        Some(format!("{number:>4}  {line}\n"))
    });
    network.write_file("write", numbered, to);
    network.run()
}

pub fn squares_of_odd(scope: &mut Scope<'_, '_>, numbers: Receiver<u64>) -> Receiver<u64> {
    let odd = Channel::named("odd").capacity(2);
    let odd = scope.filter(odd, numbers, |n| n % 2 == 1);
    scope.map("square", odd, |n| n * n)
}

pub fn by_whichever_is_free<'env>(
    network: &mut Network<'env>,
    items: Receiver<usize>,
    f: impl Fn(usize) -> usize + Send + Sync + 'env,
) -> Receiver<usize> {
    network.ordered_map("compute", items, 2, 8, f)
}
