//! A policy of one's own, in a crate that sees nothing but the public interface of `kahn`. Its tests
//! hold it to the scheduling laws that it promises.
//!
//! ```text
//!   count ──► square ──► halve ──► all
//! ```
//!
//! `Ranked` runs the ready process with the highest rank. If the rank grows along the pipeline, what
//! is nearest to the end runs first; if it falls, what is nearest to the start. The two give
//! different schedules and the same result, for no policy can change one: the worst that a policy
//! can do is to take long.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Setup, Turn};
use kahn::{Name, Network, Options, Report, RunError};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// What ran, in this order.
type Schedule = Arc<Mutex<Vec<Name>>>;

/// One list of ready processes for all workers; the highest rank runs first, then the oldest.
struct Ranked<F> {
    rank: F,
    ready: Mutex<VecDeque<Ready>>,
    schedule: Schedule,
}

impl<F: Copy> Ranked<F> {
    /// What makes such a policy for a run; what ran is told in `schedule`.
    fn builder(rank: F, schedule: &Schedule) -> impl Fn(Setup) -> Self + use<F> {
        let schedule = Arc::clone(schedule);
        move |_setup| Self { rank, ready: Mutex::default(), schedule: Arc::clone(&schedule) }
    }
}

impl<F> fmt::Debug for Ranked<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranked").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl<F: Fn(&Name) -> usize + Send + Sync> Policy for Ranked<F> {
    fn name(&self) -> &'static str {
        "ranked"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        self.ready.lock().push_back(ready);
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, turn: Turn) -> Option<Ready> {
        let mut ready = self.ready.lock();
        let chosen = match turn {
            Turn::Front | Turn::Stalled(_) => {
                (0..ready.len()).rev().max_by_key(|&at| (self.rank)(ready[at].name()))?
            }
            // Asked for now and then: what has waited longest, so that none waits for ever.
            Turn::Back => 0,
        };
        let chosen = ready.remove(chosen)?;
        self.schedule.lock().push(chosen.name().clone());
        Some(chosen)
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.ready.lock().is_empty()
    }
}

const STAGES: [&str; 4] = ["count", "square", "halve", "all"];

fn place(name: &Name) -> usize {
    STAGES.iter().position(|stage| *stage == name.as_str()).unwrap_or(0)
}

fn nearest_to_the_end(name: &Name) -> usize {
    place(name)
}

fn nearest_to_the_start(name: &Name) -> usize {
    STAGES.len() - place(name)
}

fn pipeline(count: u64, options: Options) -> Result<(Vec<u64>, Report), RunError> {
    let mut network = Network::new();
    let numbers = network.source(STAGES[0], 0..count);
    let squares = network.map(STAGES[1], numbers, |n| n * n);
    let halves = network.map(STAGES[2], squares, |n| n / 2);
    let all = network.collect(STAGES[3], halves);
    let report = network.run_with(options)?;
    Ok((all.take().unwrap_or_default(), report))
}

fn main() -> Result<(), RunError> {
    let ranks = [
        ("nearest to the end first", nearest_to_the_end as fn(&Name) -> usize),
        ("nearest to the start first", nearest_to_the_start),
    ];
    for (title, rank) in ranks {
        let schedule = Schedule::default();
        let options = Options::new().workers(1).capacity(4);
        let policy = Ranked::builder(rank, &schedule);
        let (result, _) = pipeline(12, options.policy(policy))?;
        let schedule: Vec<_> = schedule.lock().iter().map(Name::to_string).collect();
        println!("{title}:\n  {}\n  {result:?}\n", schedule.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::policy::{PolicyChoice, Promises, Waiting};

    #[test]
    fn the_result_is_that_of_the_oracle() {
        let (expected, _) =
            pipeline(10_000, Options::new().policy(kahn::policy::SEQUENTIAL)).expect("it finishes");
        for rank in [nearest_to_the_end, nearest_to_the_start] {
            for (workers, capacity) in [(1, 1), (2, 1), (2, 64), (3, 64)] {
                let options = Options::new().workers(workers).capacity(capacity);
                let policy = Ranked::builder(rank, &Arc::default());
                let (found, report) =
                    pipeline(10_000, options.policy(policy)).expect("it finishes");
                assert_eq!(found, expected, "{workers} workers, capacity {capacity}");
                assert_eq!((report.policy.as_str(), report.workers), ("ranked", workers));
            }
        }
    }

    /// One queue, and what has waited longest is asked for now and then: the rest is the engine's.
    #[test]
    fn it_keeps_the_scheduling_laws_that_it_promises() {
        let policy = Ranked::builder(nearest_to_the_end, &Arc::default());
        let promises =
            Promises { work_is_found: true, ..Promises::waiting(Waiting::Dispatches(64)) };
        let policy = PolicyChoice::from(policy).promising(promises);
        kahn_csp::testing::check(policy).run().expect("it keeps what it promises");
    }

    #[test]
    fn the_policy_decides_which_runs() {
        let first_picks = |rank: fn(&Name) -> usize| {
            let schedule = Schedule::default();
            let policy = Ranked::builder(rank, &schedule);
            pipeline(12, Options::new().workers(1).policy(policy)).expect("it finishes");
            let schedule = schedule.lock();
            schedule[0].clone()
        };
        assert_eq!(first_picks(nearest_to_the_end).as_str(), "all");
        assert_eq!(first_picks(nearest_to_the_start).as_str(), "count");
    }
}
