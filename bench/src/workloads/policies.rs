//! The same networks under every policy that runs on as many workers as asked for.

use super::on;
use super::pipeline::Bench as Pipeline;
use super::ring::RingBench;
use super::scatter::Bench as Scatter;
use crate::contest::{Contest, Settings};
use crate::measure::Figure;
use anyhow::Result;
use kahn::Options;
use kahn::policy::Threads;
use kahn_policies::POLICIES;
use std::rc::Rc;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let mut contests = Vec::new();
    for &tokens in &settings.tokens {
        let ring = RingBench::of(tokens, settings.size(1_000_000, 100_000));
        contests.push(contest(&format!("ring of {}", ring.params()), move |run| ring.ours(run)));
    }
    let pipeline = Pipeline::usual(settings.size(100_000, 10_000));
    contests.push(contest("pipeline of 50 stages, 8 bytes", move |run| pipeline.ours(run)));
    for (grain, rounds) in [(10, 60), (100, 8)] {
        let scatter = Scatter::of(settings, 256, grain, rounds);
        let params = format!("scatter-gather of {}", scatter.params(grain));
        contests.push(contest(&params, move |run| scatter.ours(run)));
    }
    contests
}

/// All policies; the default, as `kahn`, first.
fn contest(params: &str, run: impl Fn(Options) -> Result<Vec<Figure>> + 'static) -> Contest {
    let run = Rc::new(run);
    let default = Rc::clone(&run);
    let contest = Contest::new(params, "kahn", move |workers| default(on(workers)));
    let policies = POLICIES.iter().filter(|entry| entry.threads() == Threads::AsAsked);
    policies.fold(contest, |contest, entry| {
        let run = Rc::clone(&run);
        // The table is small and the program short: a name is made once for each policy.
        let name: &'static str = Box::leak(format!("kahn-{}", entry.name()).into_boxed_str());
        contest.with(name, move |workers| run(on(workers).policy(entry.clone())))
    })
}
