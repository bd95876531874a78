//! The laws of communicating processes.
//!
//! Whole networks under every policy, several numbers of workers and seeds. What happens between
//! two instructions is checked by the models (`ci/loom.sh`).

mod alternation;
mod deadlock;
mod ends;
mod killing;
mod looking;
mod occam;
mod offering;
mod outside;
mod random;
mod reports;
mod sharing;
mod threads;
mod time;
mod urgency;
mod yielding;

use kahn::testing;
use kahn_csp::policy::PolicyChoice;
use kahn_csp::{self as csp, Options, RunError, Scope};
use std::time::Duration;

/// After this a run hangs: all laws together take some seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// The policy of that name.
fn policy_named(name: &str) -> PolicyChoice {
    kahn_policies::named(name).unwrap_or_else(|| panic!("there is no policy `{name}`"))
}

/// Runs a network under every policy and a few numbers of workers and seeds. One that hangs ends the tests.
fn everywhere<R: Send>(network: impl Fn(Options) -> R, check: impl Fn(R)) {
    let run = |options| check(testing::within(LIMIT, |_| network(options)));
    // What needs a placement, and what runs alike, is left to the laws of networks.
    let policies = ["stealing", "batch", "ws-cur", "ws-last", "shared", "threads", "sequential"];
    for policy in policies {
        for workers in [1, 2, 4] {
            run(Options::new().workers(workers).policy(policy_named(policy)));
        }
    }
    for seed in 0..20 {
        run(Options::new().policy(kahn_csp::policy::SEEDED).seed(seed));
    }
}

/// Runs the first process of a network that must end well.
fn succeeds<'env, F, R>(options: Options, code: impl FnOnce(Scope<'env>) -> F) -> R
where
    F: Future<Output = R> + Send + 'env,
    R: Send,
{
    match csp::run(options, code) {
        Ok(run) => run.result,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a network that must not end well, and returns what is said about it.
fn fails<'env, F, R>(options: Options, code: impl FnOnce(Scope<'env>) -> F) -> String
where
    F: Future<Output = R> + Send + 'env,
    R: Send,
{
    match csp::run(options, code) {
        Ok(_) => panic!("the network should not end well"),
        Err(RunError::Ended(report)) => {
            // What panics said is told by the panic, and kept as data.
            let said = report.failures.iter().map(|failure| failure.message.as_str());
            [report.explanation().as_str()].into_iter().chain(said).collect::<Vec<_>>().join("\n")
        }
        Err(error) => panic!("{error}"),
    }
}
