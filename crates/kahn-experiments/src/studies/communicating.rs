//! What CCSP's evaluation measures, with our communicating processes: who runs them, and where.
//!
//! | implementation | is |
//! |---|---|
//! | `default` | communicating processes under the default policy |
//! | `batch` | the same under the policy of the paper |
//! | `threads` | the same with a thread of the system for each process |
//! | any other | a program without such processes, as its experiment says |

use kahn_apps::Failure;
use kahn_csp::Options;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::experiment::{Outcome, Plan};
use crate::native::refused_thread;
use crate::plot::{Axis, Panel};
use crate::point::Point;

/// The policies whose workers run the processes.
pub(super) const POLICIES: [&str; 2] = ["default", "batch"];

/// Gives the options of a point with an implementation.
pub(super) fn options(point: &Point) -> Options {
    let policy = super::options::policy(point.text("implementation"));
    Options::from(super::options::options(point).schedule().clone()).policy(policy)
}

/// One core, and as many as there are: what the paper's table compares.
pub(super) fn one_and_most(plan: &Plan) -> Vec<usize> {
    let mut cpus = vec![1, plan.most_cpus()];
    cpus.dedup();
    cpus
}

/// Runs `f` on so many of the cores, as `taskset` does, where the system can; threads that it
/// starts are bound likewise.
pub(super) fn on_cores<R>(cores: usize, f: impl FnOnce() -> R) -> R {
    let all = sched_getaffinity(None);
    if let Ok(all) = &all {
        let mut chosen = CpuSet::new();
        (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)).take(cores).for_each(|cpu| {
            chosen.set(cpu);
        });
        // Where it cannot, the system chooses.
        let _ = sched_setaffinity(None, &chosen);
    }
    let result = f();
    if let Ok(all) = &all {
        let _ = sched_setaffinity(None, all);
    }
    result
}

/// Tells a machine that has not enough threads from a run that failed.
pub(super) fn refused(failure: Failure) -> Result<Outcome, Failure> {
    match failure.report().and_then(refused_thread) {
        Some(refused) => Ok(Outcome::Refused(refused)),
        None => Err(failure),
    }
}

/// A plot over the numbers of cores.
pub(super) fn over_cores(title: &str, figures: &str) -> Panel {
    Panel::new(title, Axis::linear("cores").to(8.0), Axis::linear(figures))
}
