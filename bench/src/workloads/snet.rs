//! S-Net programs of `kahn-apps`, in both runtimes, and a plain loop over the same records.

use crate::contest::{Contest, Settings};
use crate::measure::{Figure, time};
use anyhow::{Context as _, Result, anyhow};
use kahn_apps::snet::{SnetProgram, compute};
use kahn_snet::record::{Record, Value};
use kahn_snet::runtime::{Options, Runtime};

/// What a program does to a record, in a loop; gives what comes out.
type Loop = fn(&[Record]) -> Vec<Record>;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let size = |full, quick| settings.size(full, quick);
    vec![
        contest("filters", size(50_000, 2000), filters),
        contest("choices", size(50_000, 2000), choices),
        contest("choices_ordered", size(50_000, 2000), choices),
        contest("fibonacci", size(24, 14), fibonacci),
        contest("fibonacci_ordered", size(24, 14), fibonacci),
        contest("poweroftwo_masks", size(17, 9), power_of_two),
        contest("busy", size(300, 20), busy),
    ]
}

fn contest(name: &'static str, size: usize, plain: Loop) -> Contest {
    let threads = || Runtime::Network { policy: Some(kahn::policy::THREADS) };
    let contest = Contest::new(format!("{name}, size {size}"), "kahn", move |workers| {
        ours(name, size, Runtime::Front, workers)
    });
    let contest = contest.with("kahn-network", move |workers| {
        ours(name, size, Runtime::Network { policy: None }, workers)
    });
    // A thread for each call that makes two would be too many.
    let contest = if name == "poweroftwo_masks" {
        contest
    } else {
        contest.with("kahn-network-threads", move |workers| ours(name, size, threads(), workers))
    };
    contest.with("loop", move |_| {
        let program = SnetProgram::named(name).context("no such program")?;
        let case = program.case(size);
        let (time, output) = time(|| plain(&case.input));
        case.check(&output).map_err(|wrong| anyhow!(wrong))?;
        Ok(Figure::each("time per run", time, 1))
    })
}

fn ours(name: &str, size: usize, runtime: Runtime, workers: usize) -> Result<Vec<Figure>> {
    let program = SnetProgram::named(name).context("no such program")?;
    let case = program.case(size);
    let options = Options { runtime, workers, ..Options::default() };
    let (time, result) = time(|| program.run(&case, &options));
    let (output, _) = result?;
    case.check(&output).map_err(|wrong| anyhow!(wrong))?;
    Ok(Figure::each("time per run", time, 1))
}

/// Makes a record from another for each step.
fn stepped(input: &[Record], steps: usize, step: fn(i64) -> i64) -> Vec<Record> {
    let follow = |record: &Record| {
        (0..steps).fold(record.clone(), |record, _| Record::new().tag("n", step(record.tags["n"])))
    };
    input.iter().map(follow).collect()
}

fn filters(input: &[Record]) -> Vec<Record> {
    stepped(input, 10, |n| n + 1)
}

fn choices(input: &[Record]) -> Vec<Record> {
    stepped(input, 3, |n| if n % 2 == 0 { n / 2 } else { 3 * n + 1 })
}

/// What a call makes of its argument.
enum Call {
    Two(i64, i64),
    Result(i64),
}

fn fibonacci(input: &[Record]) -> Vec<Record> {
    unfold(input, |n| if n > 1 { Call::Two(n - 1, n - 2) } else { Call::Result(n) })
}

fn power_of_two(input: &[Record]) -> Vec<Record> {
    unfold(input, |n| if n > 0 { Call::Two(n - 1, n - 1) } else { Call::Result(1) })
}

/// Unfolds calls, records on a stack, and adds up their results.
fn unfold(input: &[Record], call: fn(i64) -> Call) -> Vec<Record> {
    let mut stack = input.to_vec();
    let mut sum = 0;
    while let Some(record) = stack.pop() {
        match call(record.tags["n"]) {
            Call::Two(one, other) => {
                stack.push(Record::new().tag("n", one));
                stack.push(Record::new().tag("n", other));
            }
            Call::Result(result) => sum += result,
        }
    }
    vec![Record::new().tag("x", sum)]
}

fn busy(input: &[Record]) -> Vec<Record> {
    let twice = |record: &Record| {
        let steps = record.tags["steps"];
        let a = match record.fields["a"] {
            Value::Integer(a) => a,
            _ => 0,
        };
        Record::new().field("c", compute(compute(a, steps), steps))
    };
    input.iter().map(twice).collect()
}
