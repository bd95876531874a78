//! An interpreter of straight programs on unbounded queues: what a network of processes means,
//! written down a second time, without a line of the runtime.
//!
//! It takes processes in turn until none can go on. By Kahn's theorem the order is of no account.

use std::collections::VecDeque;

/// One step of a process. Channels are numbered over the whole network.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends the process's state, mixed with a number.
    Send(usize, u64),
    /// Receives a message and mixes it into the state; the end of the stream mixes in a constant.
    Recv(usize),
    /// Drops the sender of a channel.
    DropSender(usize),
    /// Drops the receiver of a channel.
    DropReceiver(usize),
    /// Creates a process that gets these ends, with a state drawn from the creator's.
    Create(Box<Program>),
    /// Returns an error.
    Fail,
    /// Panics.
    Panic,
}

/// A process: which ends it has, what it does, and how often it does it all over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) senders: Vec<usize>,
    pub(crate) receivers: Vec<usize>,
    pub(crate) steps: Vec<Step>,
    pub(crate) rounds: usize,
}

/// How it all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Finished,
    Failed,
    Deadlock,
}

/// What a network comes to.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) class: Class,
    /// What was received on each channel.
    pub(crate) histories: Vec<Vec<u64>>,
    /// The numbers of processes whose own failure counts, in the order of creation.
    pub(crate) failures: Vec<usize>,
}

/// Mixes a number into a state.
pub(crate) fn mix(state: u64, number: u64) -> u64 {
    (state ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5851_f42d
}

/// What the end of a stream mixes in.
pub(crate) const END: u64 = 0xe0f;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Closed {
    Open,
    Clean,
    Failed(usize),
}

#[derive(Debug)]
struct Queue {
    messages: VecDeque<u64>,
    history: Vec<u64>,
    sender: Closed,
    departed: bool,
}

#[derive(Debug)]
struct Running {
    program: Program,
    state: u64,
    next: usize,
    round: usize,
    /// Senders dropped since the last operation.
    dropped: Vec<usize>,
    had_senders: bool,
    creates: bool,
    ended: bool,
    /// It failed by itself.
    failed: bool,
    /// Processes that reached a mark of its.
    reached_by: Vec<usize>,
}

/// Whether a program creates others.
pub(crate) fn creates(program: &Program) -> bool {
    program.steps.iter().any(|step| matches!(step, Step::Create(_)))
}

fn start(program: Program, state: u64) -> Running {
    Running {
        state,
        next: 0,
        round: 0,
        dropped: Vec::new(),
        had_senders: !program.senders.is_empty(),
        creates: creates(&program),
        ended: false,
        failed: false,
        reached_by: Vec::new(),
        program,
    }
}

/// Ends a process: its channels end cleanly or with a mark.
fn end(processes: &mut [Running], queues: &mut [Queue], who: usize, failed: bool) {
    let process = &mut processes[who];
    process.ended = true;
    let mark = if failed { Closed::Failed(who) } else { Closed::Clean };
    for channel in process.program.senders.drain(..).chain(process.dropped.drain(..)) {
        queues[channel].sender = mark;
    }
    for channel in process.program.receivers.drain(..) {
        queues[channel].departed = true;
    }
}

/// Does one step of a process; `false` if it has to wait.
fn step(processes: &mut Vec<Running>, queues: &mut [Queue], who: usize) -> bool {
    let process = &mut processes[who];
    if process.next == process.program.steps.len() {
        process.next = 0;
        process.round += 1;
    }
    if process.round >= process.program.rounds || process.program.steps.is_empty() {
        end(processes, queues, who, false);
        return true;
    }
    let step = process.program.steps[process.next].clone();
    if matches!(step, Step::Send(..) | Step::Recv(_)) {
        for channel in process.dropped.drain(..) {
            queues[channel].sender = Closed::Clean;
        }
        // Nobody can observe it any more.
        let senders = &process.program.senders;
        let unseen = senders.iter().all(|&channel| queues[channel].departed);
        if !senders.is_empty() && unseen && !process.creates {
            end(processes, queues, who, false);
            return true;
        }
    }
    let process = &mut processes[who];
    match step {
        Step::Send(channel, number) if process.program.senders.contains(&channel) => {
            process.state = mix(process.state, number);
            queues[channel].messages.push_back(process.state);
        }
        Step::Recv(channel) if process.program.receivers.contains(&channel) => {
            let queue = &mut queues[channel];
            match (queue.messages.pop_front(), queue.sender) {
                (Some(message), _) => {
                    queue.history.push(message);
                    process.state = mix(process.state, message);
                }
                (None, Closed::Open) => return false,
                (None, Closed::Clean) => process.state = mix(process.state, END),
                (None, Closed::Failed(by)) => {
                    processes[by].reached_by.push(who);
                    end(processes, queues, who, true);
                    return true;
                }
            }
        }
        Step::DropSender(channel) if process.program.senders.contains(&channel) => {
            process.program.senders.retain(|&own| own != channel);
            process.dropped.push(channel);
        }
        Step::DropReceiver(channel) if process.program.receivers.contains(&channel) => {
            process.program.receivers.retain(|&own| own != channel);
            queues[channel].departed = true;
        }
        Step::Create(child) => {
            let has = |own: &[usize], wanted: &[usize]| wanted.iter().all(|c| own.contains(c));
            let program = &mut process.program;
            if has(&program.senders, &child.senders) && has(&program.receivers, &child.receivers) {
                program.senders.retain(|channel| !child.senders.contains(channel));
                program.receivers.retain(|channel| !child.receivers.contains(channel));
                let state = process.state;
                processes.push(start(*child, mix(state, 77)));
            }
        }
        Step::Fail | Step::Panic => {
            process.failed = true;
            end(processes, queues, who, true);
            return true;
        }
        // An end that it has not, or no more.
        Step::Send(..) | Step::Recv(_) | Step::DropSender(_) | Step::DropReceiver(_) => {}
    }
    processes[who].next += 1;
    true
}

/// Runs a network to its end. `initial` messages are in the channels before.
pub(crate) fn interpret(programs: &[Program], initial: &[Vec<u64>]) -> Meaning {
    let queue = |messages: &Vec<u64>| Queue {
        messages: messages.iter().copied().collect(),
        history: Vec::new(),
        sender: Closed::Open,
        departed: false,
    };
    let mut queues: Vec<Queue> = initial.iter().map(queue).collect();
    let numbered = programs.iter().cloned().enumerate();
    let mut processes: Vec<Running> =
        numbered.map(|(number, program)| start(program, number as u64)).collect();
    let mut moved = true;
    while moved {
        moved = false;
        for who in 0..processes.len() {
            // In turns, and not to the end: a process that is not observed must not run for ever.
            moved |= !processes[who].ended && step(&mut processes, &mut queues, who);
        }
        for index in programs.len()..processes.len() {
            moved |= !processes[index].ended;
            while !processes[index].ended && step(&mut processes, &mut queues, index) {}
            moved &= processes.iter().any(|process| !process.ended);
        }
    }
    finish(&processes, queues)
}

fn finish(processes: &[Running], queues: Vec<Queue>) -> Meaning {
    let counts = |who: &usize| -> bool {
        let mut reached = vec![*who];
        let mut next = 0;
        while next < reached.len() {
            let process = &processes[reached[next]];
            if !process.had_senders || next > 0 && process.creates {
                return true;
            }
            reached.extend(&process.reached_by);
            next += 1;
        }
        false
    };
    let failures: Vec<usize> =
        (0..processes.len()).filter(|who| processes[*who].failed).filter(counts).collect();
    let class = if processes.iter().any(|process| !process.ended) {
        Class::Deadlock
    } else if failures.is_empty() {
        Class::Finished
    } else {
        Class::Failed
    };
    let histories = queues.into_iter().map(|queue| queue.history).collect();
    Meaning { class, histories, failures }
}
