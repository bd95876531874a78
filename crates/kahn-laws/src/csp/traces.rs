//! All that a small program may do: its states, one after the other.
//!
//! A step is one of: two processes meet at a channel; one learns that a channel is closed or
//! poisoned; all that are enrolled meet at a barrier; one gets a claim; one drops or poisons an end.
//! Between them any process may be first. What a process saw is part of the state, so the last
//! states are all that a run may have seen.
//!
//! `pri` takes the first guard that is ready. Whether a partner has come already cannot be told
//! from outside, so that gives an order only among guards that were ready when the process came:
//! those of channels that were gone by then, and `skip`.

use super::program::{End, Event, Guard, How, Program};
use std::collections::BTreeSet;

/// Why a channel is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gone {
    /// An end was dropped.
    Closed,
    /// An end was poisoned, or dropped by one that had met poison.
    Poisoned,
}

/// What a process sees of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// It sent.
    Sent,
    /// It received this.
    Got(u64),
    /// The channel was gone.
    Gone(Gone),
    /// All came to the barrier.
    Met,
    /// It skipped.
    Skipped,
    /// The guard of this number was chosen: what comes next is what it saw.
    Chose(Guard),
    /// It has done all that it had to do.
    Ended,
}

/// A rule that is broken on purpose, to see whether a campaign notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// What is poisoned is closed.
    PoisonIsClosing,
    /// A barrier lets those go on that have come.
    BarrierOfThoseThatCame,
    /// An alternation takes its first guard.
    FirstGuardOnly,
    /// A message is received once more.
    Doubled,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::PoisonIsClosing, Self::BarrierOfThoseThatCame, Self::FirstGuardOnly, Self::Doubled];
}

/// What all processes have seen.
pub type Trace = Vec<Vec<Seen>>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    at: usize,
    /// Holds the claim of its event.
    holds: bool,
    /// Guards of channels that were gone when it came to its event.
    ready: u8,
    poisoned: bool,
    /// Ends that it still has.
    ends: Vec<End>,
    seen: Vec<Seen>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    processes: Vec<Process>,
    /// Why the sending end is gone, and the receiving end; of each channel.
    gone: Vec<[Option<Gone>; 2]>,
    claimed: Vec<bool>,
}

/// A program, and the rule that is broken.
#[derive(Clone, Copy)]
struct Rules<'p> {
    program: &'p Program,
    mistake: Option<Mistake>,
}

impl std::ops::Deref for Rules<'_> {
    type Target = Program;

    fn deref(&self) -> &Program {
        self.program
    }
}

/// The number that a process sends at an event.
pub(super) fn number(process: usize, event: usize) -> u64 {
    (process * 100 + event) as u64
}

/// More states are too many.
const STATES: usize = 20_000;

/// All traces of a program, or none if there are too many states.
pub(super) fn traces(program: &Program, mistake: Option<Mistake>) -> Option<BTreeSet<Trace>> {
    let program = Rules { program, mistake };
    let processes = (0..program.processes.len()).map(|process| Process {
        at: 0,
        holds: false,
        ready: 0,
        poisoned: false,
        ends: program.ends(process),
        seen: Vec::new(),
    });
    let mut first = State {
        processes: processes.collect(),
        gone: vec![[None; 2]; program.channels.len()],
        claimed: vec![false; program.channels.len()],
    };
    for process in 0..program.processes.len() {
        first.come(program, process);
    }
    let mut known = BTreeSet::from([first.clone()]);
    let mut open = vec![first];
    let mut last = BTreeSet::new();
    while let Some(state) = open.pop() {
        let next = state.next(program);
        if next.is_empty() {
            last.insert(state.processes.into_iter().map(|process| process.seen).collect());
        }
        for state in next {
            if known.len() > STATES {
                return None;
            }
            if known.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    Some(last)
}

/// The guards of an event for which the process still has the end.
fn guards(event: &Event, ends: &[End]) -> Vec<Guard> {
    let has = |guard: &Guard| match *guard {
        Guard::Recv(channel) => ends.contains(&End::Receiver(channel)),
        Guard::Send(channel) => ends.contains(&End::Sender(channel)),
        Guard::Sync(barrier) => ends.contains(&End::Barrier(barrier)),
        Guard::Skip => true,
    };
    let all = match event {
        Event::Send(channel) => vec![Guard::Send(*channel)],
        Event::Recv(channel) => vec![Guard::Recv(*channel)],
        Event::Sync(barrier) => vec![Guard::Sync(*barrier)],
        Event::Alt(_, guards) => guards.clone(),
        Event::Claim(_) | Event::Drop(_) | Event::Poison(_) => Vec::new(),
    };
    all.into_iter().filter(has).collect()
}

/// Whether an event is left out, for want of an end.
pub(super) fn is_left_out(event: &Event, ends: &[End]) -> bool {
    match event {
        Event::Claim(channel) => !ends.contains(&End::Share(*channel)),
        Event::Drop(end) | Event::Poison(end) => !ends.contains(end),
        _ => guards(event, ends).is_empty(),
    }
}

impl State {
    /// Lets a process come to its next event that is not left out.
    fn come(&mut self, program: Rules<'_>, process: usize) {
        let events = &program.processes[process];
        let me = &mut self.processes[process];
        while events.get(me.at).is_some_and(|event| is_left_out(event, &me.ends)) {
            me.at += 1;
        }
        me.ready = 0;
        match events.get(me.at) {
            Some(event) => {
                for (at, guard) in guards(event, &me.ends).iter().enumerate() {
                    let is_gone = match *guard {
                        Guard::Recv(channel) => self.gone[channel][0].is_some(),
                        Guard::Send(channel) => self.gone[channel][1].is_some(),
                        Guard::Sync(_) => false,
                        Guard::Skip => true,
                    };
                    me.ready |= u8::from(is_gone) << at;
                }
            }
            None if me.seen.last() != Some(&Seen::Ended) => me.seen.push(Seen::Ended),
            None => {}
        }
    }

    /// The guards that a process may be chosen at.
    fn offers(&self, program: Rules<'_>, process: usize) -> Vec<Guard> {
        let me = &self.processes[process];
        let Some(event) = program.processes[process].get(me.at) else { return Vec::new() };
        if let Event::Claim(channel) = event {
            return if me.holds { vec![Guard::Send(*channel)] } else { Vec::new() };
        }
        let mut offers = guards(event, &me.ends);
        if matches!(event, Event::Alt(How::Pri, _)) && me.ready != 0 {
            offers.truncate(me.ready.trailing_zeros() as usize + 1);
        }
        if program.mistake == Some(Mistake::FirstGuardOnly) {
            offers.truncate(1);
        }
        offers
    }

    /// Takes a process past its event, which came to this.
    fn take(&mut self, program: Rules<'_>, process: usize, guard: Guard, seen: Seen) {
        let event = &program.processes[process][self.processes[process].at];
        let me = &mut self.processes[process];
        if matches!(event, Event::Alt(..)) {
            me.seen.push(Seen::Chose(guard));
        }
        me.seen.push(seen);
        if program.mistake == Some(Mistake::Doubled) && matches!(seen, Seen::Got(_)) {
            me.seen.push(seen);
        }
        me.poisoned |= seen == Seen::Gone(Gone::Poisoned);
        if let Event::Claim(channel) = event {
            me.holds = false;
            self.claimed[*channel] = false;
        }
        self.processes[process].at += 1;
        self.come(program, process);
    }

    /// Drops an end.
    fn drop_end(&mut self, process: usize, end: End, why: Gone) {
        self.processes[process].ends.retain(|other| *other != end);
        let still = |channel| {
            self.processes.iter().any(|process| process.ends.contains(&End::Share(channel)))
        };
        match end {
            End::Sender(channel) => self.gone[channel][0] = Some(why),
            End::Receiver(channel) => self.gone[channel][1] = Some(why),
            End::Share(channel) if !still(channel) => self.gone[channel][0] = Some(why),
            End::Share(_) | End::Barrier(_) => {}
        }
    }

    fn next(&self, program: Rules<'_>) -> Vec<Self> {
        let mut all = Vec::new();
        let mut then = |change: &dyn Fn(&mut Self)| {
            let mut state = self.clone();
            change(&mut state);
            all.push(state);
        };
        let count = self.processes.len();
        let offers: Vec<Vec<Guard>> =
            (0..count).map(|process| self.offers(program, process)).collect();
        for process in 0..count {
            let me = &self.processes[process];
            let why = if me.poisoned { Gone::Poisoned } else { Gone::Closed };
            match program.processes[process].get(me.at) {
                None => {
                    if let Some(&end) = me.ends.first() {
                        then(&|state| state.drop_end(process, end, why));
                    }
                }
                Some(&(Event::Drop(end) | Event::Poison(end))) => {
                    let event = &program.processes[process][me.at];
                    let poisons = matches!(event, Event::Poison(_));
                    let poisons = poisons && program.mistake != Some(Mistake::PoisonIsClosing);
                    let why = if poisons { Gone::Poisoned } else { why };
                    then(&|state| {
                        state.drop_end(process, end, why);
                        state.processes[process].at += 1;
                        state.come(program, process);
                    });
                }
                Some(&Event::Claim(channel)) if !me.holds && !self.claimed[channel] => {
                    then(&|state| {
                        state.processes[process].holds = true;
                        state.claimed[channel] = true;
                    });
                }
                Some(_) => {}
            }
            for &guard in &offers[process] {
                match guard {
                    Guard::Recv(channel) => {
                        if let Some(why) = self.gone[channel][0] {
                            let seen = Seen::Gone(why);
                            then(&|state| state.take(program, process, guard, seen));
                        }
                    }
                    Guard::Send(channel) => {
                        if let Some(why) = self.gone[channel][1] {
                            let seen = Seen::Gone(why);
                            then(&|state| state.take(program, process, guard, seen));
                        } else {
                            let receiver = program.channels[channel].receiver;
                            let meets = offers[receiver].contains(&Guard::Recv(channel));
                            if meets && receiver != process {
                                let got = Seen::Got(number(process, me.at));
                                let recv = Guard::Recv(channel);
                                then(&|state| {
                                    state.take(program, process, guard, Seen::Sent);
                                    state.take(program, receiver, recv, got);
                                });
                            }
                        }
                    }
                    Guard::Skip => {
                        then(&|state| state.take(program, process, guard, Seen::Skipped));
                    }
                    Guard::Sync(barrier) => {
                        let has =
                            |at: &usize| self.processes[*at].ends.contains(&End::Barrier(barrier));
                        let mut members: Vec<usize> = (0..count).filter(has).collect();
                        if program.mistake == Some(Mistake::BarrierOfThoseThatCame) {
                            members.retain(|&at| offers[at].contains(&guard));
                        }
                        let all_come = members.iter().all(|&at| offers[at].contains(&guard));
                        // Once, for the first of them.
                        if all_come && members.first() == Some(&process) {
                            then(&|state| {
                                for &at in &members {
                                    state.take(program, at, guard, Seen::Met);
                                }
                            });
                        }
                    }
                }
            }
        }
        all
    }
}
