//! What can be found out before anything runs.

use super::core::Core;
use crate::channel::process::attribute;
use crate::channel::raw::End;
use foldhash::fast::FixedState;
use kahn_report::Name;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::BuildHasher as _;

/// Something wrong with a network as it is written down.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Problem, RunError};
///
/// let mut network = Network::new();
/// network.process("twin", (), async |()| {});
/// network.process("twin", (), async |()| {});
/// let Err(RunError::Check(problems)) = network.run() else { panic!("the names are equal") };
/// assert_eq!(problems, [Problem::SameProcess("twin".into())]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// An end was given to no process.
    Unused {
        /// The channel.
        channel: Name,
        /// `sender` or `receiver`.
        end: &'static str,
    },
    /// Two processes have the same name.
    SameProcess(Name),
    /// Two channels have the same name.
    SameChannel(Name),
    /// The slots of the channels take more than the byte budget.
    Budget {
        /// Bytes of slots.
        needed: u64,
        /// The budget.
        budget: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unused { channel, end } => write!(
                f,
                "the {end} of channel `{channel}` belongs to no process: \
                 name it among the ports of the process that uses it"
            ),
            Self::SameProcess(name) => {
                write!(f, "two processes are called `{name}`: give each a name of its own")
            }
            Self::SameChannel(name) => {
                write!(f, "two channels are called `{name}`: give each a name of its own")
            }
            Self::Budget { needed, budget } => write!(
                f,
                "the channels' slots take {needed} bytes, and the budget is {budget}: \
                 lower capacities or raise the budget"
            ),
        }
    }
}

impl Core {
    /// Finds out what is wrong, and what looks wrong.
    pub(super) fn check(&self) -> (Vec<Problem>, Vec<String>) {
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        // No channel and no process ends before the run.
        let mut channels = self.channels.all();
        channels.retain(|channel| !channel.is_inner());
        channels.sort_by_key(|channel| channel.label().identity);
        for channel in &channels {
            for (end, called) in [(End::Sender, "sender"), (End::Receiver, "receiver")] {
                if channel.owner(end).is_none() {
                    let channel = channel.name().clone();
                    problems.push(Problem::Unused { channel, end: called });
                }
            }
            let (from, to) = (channel.owner(End::Sender), channel.owner(End::Receiver));
            if from.is_some() && from == to && channel.initial() == 0 {
                warnings.push(format!(
                    "channel `{}` leads from a process to itself and has no initial message: \
                     the process must send before it receives",
                    channel.name()
                ));
            }
        }
        let twice = named_twice(channels.iter().map(|channel| channel.name()));
        problems.extend(twice.into_iter().map(Problem::SameChannel));
        let mut processes = self.scheduler.table.lock().all();
        processes.retain(|task| task.attributes() & attribute::PART == 0);
        processes.sort_by_key(|task| task.info().identity);
        let twice = named_twice(processes.iter().map(|task| &task.info().name));
        problems.extend(twice.into_iter().map(Problem::SameProcess));
        let (needed, budget) = self.channels.usage();
        if needed > budget {
            problems.push(Problem::Budget { needed, budget });
        }
        (problems, warnings)
    }
}

/// Every name that was there before, in order.
///
/// A set of hashes, sorted: of a million names the texts of few are ever compared.
fn named_twice<'a>(names: impl Iterator<Item = &'a Name> + Clone) -> Vec<Name> {
    let hash = |name: &Name| FixedState::default().hash_one(name.as_str());
    let mut hashes: Vec<u64> = names.clone().map(hash).collect();
    hashes.sort_unstable();
    let alike = hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let alike = alike.collect::<BTreeSet<_>>();
    let mut known = BTreeSet::new();
    let twice = names.filter(|name| alike.contains(&hash(name)) && !known.insert(*name));
    twice.cloned().collect()
}
