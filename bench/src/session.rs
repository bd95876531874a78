//! A whole run: all entries of each contest in turn, again and again (A B A B …), so that a noisy
//! machine is noisy for all.

use crate::child::Order;
use crate::contest::{Contest, Entry, Settings, Workload, is_peer};
use crate::lines::{Line, Round, Runs};
use crate::peers::{self, PEERS};
use crate::table::Missing;
use anyhow::Result;
use kahn_experiments::Meanwhile;

/// Which peers take part.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    All,
    These(Vec<String>),
}

impl Selection {
    /// Reads `all`, `none` or names.
    pub(crate) fn of(names: &[String]) -> Result<Self, String> {
        match names {
            [all] if all == "all" => return Ok(Self::All),
            [none] if none == "none" => return Ok(Self::These(Vec::new())),
            _ => {}
        }
        for name in names {
            if !PEERS.iter().any(|peer| peer.name == name) {
                return Err(format!("there is no peer `{name}`: `list` shows what there is"));
            }
        }
        Ok(Self::These(names.to_vec()))
    }

    fn has(&self, runtime: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => !is_peer(runtime) || names.iter().any(|name| name == runtime),
        }
    }
}

/// What is measured, and how often.
pub(crate) struct Session {
    pub(crate) settings: Settings,
    pub(crate) workers: Vec<usize>,
    pub(crate) repeat: usize,
    /// How often more what was disturbed is measured.
    pub(crate) again: usize,
    pub(crate) peers: Selection,
    /// Peers that cannot take part, and why.
    pub(crate) missing: Missing,
}

impl Session {
    /// Measures a workload; `each` gets the lines of one contest after another, and which peers were left out.
    pub(crate) fn run(
        &mut self,
        workload: &Workload,
        mut each: impl FnMut(&[Line], &Missing) -> Result<()>,
    ) -> Result<()> {
        (workload.prepare)(&self.settings)?;
        let contests = (workload.contests)(&self.settings);
        for (index, contest) in contests.into_iter().enumerate() {
            let lines = self.hold(workload.name, index, contest)?;
            each(&lines, &self.missing)?;
        }
        Ok(())
    }

    /// Says once why a peer is left out.
    fn leave_out(&mut self, name: &'static str, reason: &anyhow::Error) {
        say(&format!("skipped: {name}: {reason:#}"));
        self.missing.insert(name.to_owned(), format!("{reason:#}"));
    }

    fn takes_part(&mut self, entry: &Entry) -> bool {
        if !self.peers.has(entry.runtime) || self.missing.contains_key(entry.runtime) {
            return false;
        }
        match peers::prepare(entry.runtime) {
            Ok(()) => true,
            Err(reason) => {
                self.leave_out(entry.runtime, &reason);
                false
            }
        }
    }

    /// Measures; again if something else ran meanwhile.
    fn quietly(&self, order: &Order) -> Result<Round> {
        let mut again = self.again;
        loop {
            let meanwhile = Meanwhile::begin();
            let figures = order.carry_out()?;
            let round = Round { figures, disturbance: meanwhile.so_far() };
            // Where the system does not tell what else ran, no other try would know more.
            if again == 0 || round.disturbance.is_none() || round.is_quiet() {
                return Ok(round);
            }
            again -= 1;
        }
    }

    fn hold(&mut self, name: &'static str, index: usize, contest: Contest) -> Result<Vec<Line>> {
        let workers = contest.workers.unwrap_or_else(|| self.workers.clone());
        let mut runtimes: Vec<&'static str> = Vec::new();
        for entry in &contest.entries {
            if self.takes_part(entry) {
                runtimes.push(entry.runtime);
            }
        }
        say(&format!("{name}, {}: {} runtimes", contest.params, runtimes.len()));
        let mut runs = Runs::default();
        for _ in 0..self.repeat {
            for &workers in &workers {
                let mut failed = Vec::new();
                for &runtime in &runtimes {
                    let order = Order {
                        workload: name.to_owned(),
                        contest: index,
                        runtime: runtime.to_owned(),
                        workers,
                        settings: self.settings.clone(),
                    };
                    match self.quietly(&order) {
                        Ok(round) => runs.add(runtime, workers, round),
                        // One of ours that fails is an error, not a gap in a table.
                        Err(reason) if !is_peer(runtime) => {
                            return Err(reason.context(format!("{name}: {runtime}")));
                        }
                        Err(reason) => {
                            say(&format!("left out of this contest: {runtime}: {reason:#}"));
                            failed.push(runtime);
                        }
                    }
                }
                runtimes.retain(|runtime| !failed.contains(runtime));
            }
        }
        Ok(runs.lines(name, &contest.params))
    }
}

/// Reports progress: standard output is for results.
#[expect(clippy::print_stderr, reason = "a command reports")]
pub(crate) fn say(message: &str) {
    eprintln!("{message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_the_floor_always_take_part() {
        let none = Selection::of(&["none".to_owned()]).unwrap();
        assert!(none.has("kahn") && none.has("kahn-batch") && none.has("floor"));
        assert!(!none.has("go"));
    }

    #[test]
    fn a_peer_that_does_not_exist_is_an_error() {
        assert!(Selection::of(&["go".to_owned()]).is_ok());
        assert!(Selection::of(&["go".to_owned(), "python".to_owned()]).is_err());
    }

    #[test]
    fn every_entry_that_is_a_peer_is_in_the_table() {
        let settings = Settings {
            quick: true,
            tokens: vec![1, 64],
            steps_per_microsecond: 1.0,
            inputs: "/".into(),
        };
        for workload in crate::workloads::WORKLOADS {
            for entry in (workload.contests)(&settings).iter().flat_map(|contest| &contest.entries)
            {
                let known = PEERS.iter().any(|peer| peer.name == entry.runtime);
                assert_eq!(known, is_peer(entry.runtime), "{} in {}", entry.runtime, workload.name);
            }
        }
    }
}
