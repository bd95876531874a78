//! What a program means, by the model alone: channels without bound, one process at a time.
//!
//! Nothing here was taken from the runtime. The rules, each with the sentence it stands for:
//!
//! * *recv* waits for a message, and gives none once the sender has ended and all is read; *send*
//!   cannot fail. Capacities do not matter, so there are none.
//! * *End of stream*: a dropped sender takes effect at the process's next operation or its clean
//!   end; if the process fails before, it becomes a failure mark. Others may learn of it, and leave,
//!   before that operation does anything else.
//! * *A receiver that leaves early* is invisible: what is sent to it is discarded. A process with
//!   senders whose receivers are all departed or dead, without effects and without leave to create,
//!   is pruned when it next begins an operation; to start is one. So are all when none is left that runs for its own
//!   sake (`pruning`).
//! * *Dead*: in a ring of empty channels, or waiting for a dead process. Noted when nothing else
//!   can run; sends to it are discarded.
//! * *Failure*: the senders of a failed process are marked, those among them whose drop is not yet in
//!   effect; one that reaches a mark fails with it. It counts if it cannot have been pruned: it has no
//!   sender any more, has effects or may create; or if one that counts has reached its mark. A process
//!   that has no sender any more, but could have been pruned before it dropped the last, has failed in
//!   some runs and not in others. What is told must be a function of the input, so no run tells it; nor if
//!   only processes that may be pruned themselves could see that it could not. So it is with one that has no
//!   sender any more and waits for ever (`failures`).
//! * *Outside parties* are no processes: what they drop is dropped at once, a mark that they reach
//!   is told to them, and what they do then (here: they drop their ends) is their own affair.
//!
//! A process that *may be pruned* is found by trying: it is held back until nothing else can run,
//! before each of its operations. If it is pruned then, some schedule prunes it.

use super::program::{How, Program};
use super::world::{Actor, Fate, World};
use std::collections::{BTreeMap, BTreeSet};

/// A rule that is broken on purpose, to see whether a campaign notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// An error ends the process's channels as a return does.
    ErrorIsCleanEnd,
    /// A failure counts only if the process never had a sender, or its mark is reached.
    NeverHadASender,
    /// A dropped sender takes effect at once.
    DropAtOnce,
    /// Nothing is pruned.
    NothingIsPruned,
    /// Sends to dead processes are not discarded.
    DeadStayLive,
    /// A receive of many takes what is there.
    SomeOfMany,
    /// A process that reaches a mark receives the end.
    MarksAreEnds,
    /// Messages that are in a channel from the start are lost.
    NoInitialMessages,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ErrorIsCleanEnd,
        Self::NeverHadASender,
        Self::DropAtOnce,
        Self::NothingIsPruned,
        Self::DeadStayLive,
        Self::SomeOfMany,
        Self::MarksAreEnds,
        Self::NoInitialMessages,
    ];
}

/// How a process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Returned, or was pruned.
    Finished,
    /// Returned an error or panicked.
    Failed,
    /// Reached the mark of this process, the first that failed.
    FailedWith(String),
    /// Waits for ever.
    Stuck,
}

/// What the model says of one channel.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What its receiver gets, as far as was computed.
    pub messages: Vec<u64>,
    /// Whether every run gets all of it: no holder of the receiver may be pruned.
    pub exact: bool,
}

/// What the model says of one process.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// How it ends, if it is not pruned.
    pub ending: Ending,
    /// Whether some schedule prunes it.
    pub may_be_pruned: bool,
    /// Whether all that could read what it sends are gone or dead in the end, in some schedule. It would be
    /// pruned if it did not wait for ever.
    pub is_unread: bool,
    /// Its effects.
    pub effects: Vec<u64>,
    /// Whether it is an outside party.
    pub party: bool,
}

/// What a program means.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// The history of each channel, by name.
    pub channels: BTreeMap<String, History>,
    /// Each process, by name.
    pub processes: BTreeMap<String, Outlook>,
    /// The failures that count.
    pub failures: BTreeSet<String>,
    /// Failures that are not compared with the interpreter's, only between runs: whether they count takes
    /// a look at processes that wait for ever.
    pub open: BTreeSet<String>,
    /// Processes that failed, or wait for ever, when they had no sender any more, and are told as pruned: some
    /// schedule prunes them, or all that could see that none does may be pruned themselves.
    pub as_pruned: BTreeSet<String>,
    /// Whether processes are left that wait for ever, and for themselves or for such a one.
    pub stuck: bool,
    /// Whether a loop is in it that ends for nothing sees it.
    pub ends_by_pruning_of_loops: bool,
}

/// Why a program has no meaning that could be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unending {
    /// It does not end within some thousand operations.
    Long,
    /// It ends in channels without bound, and may go on for ever in those of a run.
    Narrow,
    /// It ends if a process is pruned before it has dropped its last sender, and else goes on for ever.
    Scheduled,
}

/// Computes what a program means.
///
/// # Errors
///
/// If it does not end within some thousand operations, or would not with channels that are narrow, or in
/// another schedule.
///
/// # Panics
///
/// If two runs of the interpreter contradict each other.
pub fn interpret(program: &Program, mistake: Option<Mistake>) -> Result<Meaning, Unending> {
    let mut world = World::new(program, mistake, true);
    world.run(&[])?;
    // What ends with the room of a wide channel may go on for ever with less: a process waits at
    // a channel that is full, and its reader neither reads nor waits, for it feeds another that
    // reads for ever. No ring is there to be resolved, and more room for what is never read would
    // be no bounded execution. Whether such a program ends is open.
    World::narrow(program, mistake).run(&[]).map_err(|_| Unending::Narrow)?;
    // A process that is pruned here at its start, say, may in another schedule come to drop its last
    // sender, and then reads for ever what another sends for ever. So it must end whichever is the last.
    for actor in &world.actors {
        let mut other = World::new(program, mistake, true);
        other.run(&[&actor.name]).map_err(|_| Unending::Scheduled)?;
    }
    let pruned = may_be_pruned(program, &world, mistake)?;
    let mut latest = World::new(program, mistake, true);
    latest.run(&pruned.iter().map(String::as_str).collect::<Vec<_>>())?;
    let is_unread =
        |(at, actor): (usize, &Actor<'_>)| latest.is_prunable(at).then(|| actor.name.clone());
    let unread: BTreeSet<String> = latest.actors.iter().enumerate().filter_map(is_unread).collect();

    // Without pruning more is received: what a pruned process may have got is a prefix of that.
    let mut generous = World::new(program, mistake, false);
    let _ = generous.run(&[]);

    let mut meaning = Meaning::default();
    let longer: BTreeMap<&str, &Vec<u64>> =
        generous.wires.iter().map(|wire| (wire.name.as_str(), &wire.history)).collect();
    for wire in &world.wires {
        let exact = wire.readers.iter().all(|&at| !pruned.contains(&world.actors[at].name));
        let mut messages = wire.history.clone();
        if !exact && let Some(more) = longer.get(wire.name.as_str()) {
            let shared = messages.len().min(more.len());
            assert_eq!(messages[..shared], more[..shared], "the interpreter contradicts itself");
            if more.len() > shared {
                messages.clone_from(more);
            }
        }
        meaning.channels.insert(wire.name.clone(), History { messages, exact });
    }
    let told = world.told(&pruned);
    meaning.stuck = world.is_stuck(&pruned);
    let without = World::new(program, mistake, true).without_pruning_of_loops().run(&[]);
    meaning.ends_by_pruning_of_loops = without.is_err();
    let names =
        |all: &BTreeSet<usize>| all.iter().map(|&at| world.actors[at].name.clone()).collect();
    meaning.failures = names(&told.counted);
    meaning.open = names(&told.open);
    meaning.as_pruned = names(&told.as_pruned);
    for actor in &world.actors {
        let ending = match actor.fate {
            Fate::Running => Ending::Stuck,
            Fate::Finished | Fate::Pruned => Ending::Finished,
            Fate::Failed => Ending::Failed,
            Fate::FailedWith(root) => Ending::FailedWith(world.actors[root].name.clone()),
        };
        meaning.processes.insert(
            actor.name.clone(),
            Outlook {
                ending,
                may_be_pruned: pruned.contains(&actor.name),
                is_unread: unread.contains(&actor.name),
                effects: actor.effects.clone(),
                party: actor.process.how() == How::Party,
            },
        );
    }
    Ok(meaning)
}

/// Finds the processes that some schedule prunes.
fn may_be_pruned(
    program: &Program,
    world: &World<'_>,
    mistake: Option<Mistake>,
) -> Result<BTreeSet<String>, Unending> {
    let is_pruned = |actor: &&Actor<'_>| actor.fate == Fate::Pruned;
    let mut found: BTreeSet<String> =
        world.actors.iter().filter(is_pruned).map(|actor| actor.name.clone()).collect();
    loop {
        let before = found.len();
        for actor in &world.actors {
            if found.contains(&actor.name) || actor.process.effects || actor.process.creates {
                continue;
            }
            // What is found, in either order: one of them may have to go on for others to be pruned.
            for reversed in [false, true] {
                let mut late: Vec<&str> = found.iter().map(String::as_str).collect();
                if reversed {
                    late.reverse();
                }
                late.push(&actor.name);
                let mut trial = World::new(program, mistake, true);
                trial.run(&late)?;
                let pruned = trial.actors.iter().filter(is_pruned);
                found.extend(pruned.map(|actor| actor.name.clone()).collect::<Vec<_>>());
            }
        }
        if found.len() == before {
            return Ok(found);
        }
    }
}
