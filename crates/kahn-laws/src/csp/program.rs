//! Small programs of communicating processes, drawn and shown.

use crate::draw::{Choice, Draw};
use std::fmt::{self, Display, Formatter};

/// A program: at most 6 processes of at most 4 events each.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Of each channel, which processes send and which one receives.
    pub channels: Vec<Channel>,
    /// Of each barrier, which processes are enrolled.
    pub barriers: Vec<Vec<usize>>,
    /// What each process does.
    pub processes: Vec<Vec<Event>>,
    /// Whether the processes are branches of one `par`.
    pub par: bool,
}

/// A synchronous channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The processes that send; more than one share the end and claim it.
    pub senders: Vec<usize>,
    /// The process that receives.
    pub receiver: usize,
}

/// One end, or one enrolment, of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The sending end of a channel.
    Sender(usize),
    /// The receiving end of a channel.
    Receiver(usize),
    /// A share in the sending end of a channel.
    Share(usize),
    /// A handle of a barrier.
    Barrier(usize),
}

/// Which alternation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Any that is ready.
    Alt,
    /// The first that is ready.
    Pri,
    /// In turn.
    Fair,
}

/// A guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// To receive.
    Recv(usize),
    /// To send.
    Send(usize),
    /// To synchronise.
    Sync(usize),
    /// Nothing: ready always.
    Skip,
}

/// What a process does. An event that has no end to act on is left out.
#[derive(Clone, Debug)]
pub enum Event {
    /// Sends a number of its own.
    Send(usize),
    /// Receives.
    Recv(usize),
    /// Claims a shared end, sends, and releases it.
    Claim(usize),
    /// Waits at a barrier.
    Sync(usize),
    /// Chooses.
    Alt(How, Vec<Guard>),
    /// Drops an end.
    Drop(End),
    /// Poisons an end.
    Poison(End),
}

static COUNT: Choice =
    Choice { name: "processes", answers: &[("2", 2), ("3", 3), ("4", 2), ("5", 1), ("6", 1)] };
static EVENT: Choice = Choice {
    name: "event",
    answers: &[
        ("send", 6),
        ("receive", 6),
        ("claim", 3),
        ("barrier", 3),
        ("alternation", 6),
        ("drop", 1),
        ("poison", 1),
    ],
};
static HOW: Choice =
    Choice { name: "alternation", answers: &[("alt", 2), ("pri", 2), ("fair", 1)] };
static GUARD: Choice =
    Choice { name: "guard", answers: &[("receive", 6), ("send", 4), ("barrier", 2), ("skip", 1)] };
static SHARED: Choice = Choice { name: "sending end", answers: &[("one's own", 3), ("shared", 1)] };
static STARTED: Choice = Choice { name: "started by", answers: &[("par", 1), ("spawn", 1)] };

/// The questions of this generator.
pub(crate) static CHOICES: &[&Choice] = &[&COUNT, &EVENT, &HOW, &GUARD, &SHARED, &STARTED];

impl Program {
    /// The ends of a process, in the order in which it drops them.
    pub(crate) fn ends(&self, process: usize) -> Vec<End> {
        let mut ends = Vec::new();
        for (at, channel) in self.channels.iter().enumerate() {
            if channel.senders == [process] {
                ends.push(End::Sender(at));
            } else if channel.senders.contains(&process) {
                ends.push(End::Share(at));
            }
            if channel.receiver == process {
                ends.push(End::Receiver(at));
            }
        }
        for (at, members) in self.barriers.iter().enumerate() {
            if members.contains(&process) {
                ends.push(End::Barrier(at));
            }
        }
        ends.sort_unstable();
        ends
    }

    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let count = draw.pick(&COUNT).parse().unwrap_or(2);
        let mut program = Self { par: draw.pick(&STARTED) == "par", ..Self::default() };
        for _ in 0..draw.between(1, count.min(4)) {
            let receiver = draw.below(count);
            let mut senders = vec![(receiver + draw.between(1, count - 1)) % count];
            if draw.pick(&SHARED) == "shared" && count > 2 {
                senders = (0..count).filter(|&at| at != receiver && draw.below(3) > 0).collect();
                if senders.is_empty() {
                    senders.push((receiver + 1) % count);
                }
            }
            program.channels.push(Channel { senders, receiver });
        }
        for _ in 0..draw.below(3) {
            let members: Vec<usize> = (0..count).filter(|_| draw.below(3) > 0).collect();
            if !members.is_empty() {
                program.barriers.push(members);
            }
        }
        for process in 0..count {
            let ends = program.ends(process);
            let events = (0..draw.between(1, 4)).filter_map(|_| event(draw, &ends)).collect();
            program.processes.push(events);
        }
        program
    }

    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for process in 0..self.processes.len() {
            if !self.processes[process].is_empty() {
                let mut less = self.clone();
                less.processes[process].clear();
                all.push(less);
            }
            for at in 0..self.processes[process].len() {
                let mut less = self.clone();
                less.processes[process].remove(at);
                all.push(less);
                if let Event::Alt(_, guards) = &self.processes[process][at] {
                    for guard in 0..guards.len() {
                        let mut less = self.clone();
                        if let Event::Alt(_, guards) = &mut less.processes[process][at] {
                            guards.remove(guard);
                        }
                        all.push(less);
                    }
                }
            }
        }
        for barrier in 0..self.barriers.len() {
            for at in 0..self.barriers[barrier].len() {
                let mut less = self.clone();
                less.barriers[barrier].remove(at);
                all.push(less);
            }
        }
        all
    }
}

fn event(draw: &mut Draw, ends: &[End]) -> Option<Event> {
    let some = |draw: &mut Draw, which: &dyn Fn(&End) -> bool| {
        let fit: Vec<End> = ends.iter().copied().filter(which).collect();
        (!fit.is_empty()).then(|| *draw.one(&fit))
    };
    Some(match draw.pick(&EVENT) {
        "send" => match some(draw, &|end| matches!(end, End::Sender(_)))? {
            End::Sender(channel) => Event::Send(channel),
            _ => return None,
        },
        "receive" => match some(draw, &|end| matches!(end, End::Receiver(_)))? {
            End::Receiver(channel) => Event::Recv(channel),
            _ => return None,
        },
        "claim" => match some(draw, &|end| matches!(end, End::Share(_)))? {
            End::Share(channel) => Event::Claim(channel),
            _ => return None,
        },
        "barrier" => match some(draw, &|end| matches!(end, End::Barrier(_)))? {
            End::Barrier(barrier) => Event::Sync(barrier),
            _ => return None,
        },
        "drop" => Event::Drop(some(draw, &|_| true)?),
        "poison" => {
            Event::Poison(some(draw, &|end| matches!(end, End::Sender(_) | End::Receiver(_)))?)
        }
        _ => {
            let how = match draw.pick(&HOW) {
                "alt" => How::Alt,
                "pri" => How::Pri,
                _ => How::Fair,
            };
            let mut guards = Vec::new();
            for _ in 0..draw.between(2, 4) {
                let guard = match draw.pick(&GUARD) {
                    "receive" => some(draw, &|end| matches!(end, End::Receiver(_))),
                    "send" => some(draw, &|end| matches!(end, End::Sender(_))),
                    "barrier" => some(draw, &|end| matches!(end, End::Barrier(_))),
                    _ => {
                        guards.push(Guard::Skip);
                        None
                    }
                };
                guards.extend(guard.and_then(|end| match end {
                    End::Receiver(channel) => Some(Guard::Recv(channel)),
                    End::Sender(channel) => Some(Guard::Send(channel)),
                    End::Barrier(barrier) => Some(Guard::Sync(barrier)),
                    End::Share(_) => None,
                }));
            }
            Event::Alt(how, tidy(guards))
        }
    })
}

/// The order in which an alternation of the translation has its guards, and how many of each.
fn tidy(mut guards: Vec<Guard>) -> Vec<Guard> {
    guards.sort_unstable();
    guards.dedup();
    let mut count = [0; 4];
    guards.retain(|guard| {
        let (kind, most) = match guard {
            Guard::Recv(_) => (0, 2),
            Guard::Send(_) => (1, 1),
            Guard::Sync(_) => (2, 1),
            Guard::Skip => (3, 1),
        };
        count[kind] += 1;
        count[kind] <= most
    });
    guards
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, channel) in self.channels.iter().enumerate() {
            writeln!(f, "channel {at}: from {:?} to {}", channel.senders, channel.receiver)?;
        }
        for (at, members) in self.barriers.iter().enumerate() {
            writeln!(f, "barrier {at}: {members:?}")?;
        }
        let how = if self.par { "par" } else { "spawn" };
        for (at, events) in self.processes.iter().enumerate() {
            writeln!(f, "{how} process {at}: {events:?}")?;
        }
        Ok(())
    }
}
