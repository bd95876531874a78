//! `kahn verify`: one program under many schedules.
//!
//! What is expected is what the sequential form gives, which knows no schedule at all. The network
//! must give the same bytes under every policy, for several numbers of workers, for capacities from
//! one, and for orders of steps drawn from several seeds.

use std::fmt;

use clap::ArgMatches;
use kahn::policy::{Entry, Threads};
use kahn::{Network, POLICIES, RunOptions, Summary};
use kahn_apps::{Answer, App, Compare, Failure, Program, Progress};

use crate::arguments::Shape;
use crate::interrupt::Interrupt;
use crate::{progress, result};

/// Runs the network of a program under many schedules and compares.
pub(crate) fn verify(app: &App, matches: &ArgMatches, shape: &Shape) -> Result<(), Failure> {
    let interrupt = Interrupt::new();
    let settings = app.settings(shape.parts, shape.seed)?;
    let program = (app.prepare)(matches, &settings)?;
    let schedules = schedules();
    let progress = Progress::new("schedules", Some(schedules.len() as u64));
    progress::watched(&progress, || {
        let expected = bytes(&program.sequential()?);
        for schedule in &schedules {
            check(&*program, schedule, &expected, &interrupt)?;
            progress.add(1);
        }
        Ok::<(), Failure>(())
    })?;
    let (name, count) = (app.name, schedules.len());
    result::write(|out| writeln!(out, "{name}: the same under {count} schedules"))
}

/// A way to run a network, on which nothing may depend.
struct Schedule {
    policy: &'static Entry,
    workers: usize,
    capacity: u32,
    seed: u64,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, workers, capacity, seed } = self;
        let name = policy.name;
        write!(f, "`--policy {name} --workers {workers} --capacity {capacity} --seed {seed}`")
    }
}

/// Gives every policy with what can make a difference under it.
fn schedules() -> Vec<Schedule> {
    let mut schedules = Vec::new();
    for policy in POLICIES {
        let asks = policy.threads == Threads::AsAsked;
        let workers: &[usize] = if asks { &[1, 2, 3, 8] } else { &[1] };
        let seeds = if policy.waits_once { 0..8 } else { 0..1 };
        for &workers in workers {
            for capacity in [1, 2, 64] {
                let schedule = |seed| Schedule { policy, workers, capacity, seed };
                schedules.extend(seeds.clone().map(schedule));
            }
        }
    }
    schedules
}

/// Runs the program once more and compares with what is expected.
fn check(
    program: &dyn Program,
    schedule: &Schedule,
    expected: &[u8],
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let options = RunOptions::new().policy(schedule.policy.name).workers(schedule.workers);
    let options = options.capacity(schedule.capacity).seed(schedule.seed);
    let mut network = Network::new();
    let pending = program.build(&mut network, Compare::Contents);
    interrupt.running(network.stop_handle());
    let ran = network.run_with(options);
    interrupt.ended();
    match ran {
        Ok(_) => match first_difference(expected, &bytes(&pending())) {
            Some(text) => Err(Failure::Difference(format!("under {schedule} {text}"))),
            None => Ok(()),
        },
        Err(error) => match error.report().map(|report| report.outcome) {
            Some(Summary::Stopped) => Err(error.into()),
            _ => Err(Failure::Difference(format!("under {schedule}: {error}"))),
        },
    }
}

/// Gives all that a run would write.
fn bytes(answer: &Answer<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let writers = [&answer.lines].into_iter().chain(answer.files.iter().map(|(_, lines)| lines));
    for lines in writers {
        lines(&mut bytes).expect("writing to memory does not fail");
    }
    bytes
}

/// Says where two outputs differ first.
fn first_difference(expected: &[u8], found: &[u8]) -> Option<String> {
    if expected == found {
        return None;
    }
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    let mut pairs = lines(expected).zip(lines(found)).zip(1..);
    let ((expected, found), number) = pairs.find(|((a, b), _)| a != b)?;
    let show = |line| String::from_utf8_lossy(line).into_owned();
    let (expected, found) = (show(expected), show(found));
    Some(format!("line {number} of the output is\n  {found}\nand without a network\n  {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_among_the_schedules_with_the_least_capacity() {
        let schedules = schedules();
        for policy in POLICIES {
            let mut of_policy = schedules.iter().filter(|s| s.policy.name == policy.name);
            assert!(of_policy.any(|schedule| schedule.capacity == 1), "{}", policy.name);
        }
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        let text = first_difference(b"a\nb\nc\n", b"a\nx\nc\n").unwrap();
        assert!(text.starts_with("line 2 of the output is\n  x\n"), "{text}");
        // The shorter output ends where the longer one goes on.
        let text = first_difference(b"a\nb\n", b"a\n").unwrap();
        assert!(text.starts_with("line 2"), "{text}");
    }
}
