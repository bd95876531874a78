//! An interpreter of straight programs on unbounded queues: what a network of processes means,
//! written down a second time, without a line of the runtime.
//!
//! It takes one step of each process in turn until none can go on. By Kahn's theorem the order is of
//! no account.

use std::collections::VecDeque;

/// One step of a process. Channels are numbered over the whole network.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Mixes a number into the process's state and sends it.
    Send(usize, u64),
    /// Receives a message and mixes it into the state; the end of the stream mixes in a constant.
    Recv(usize),
    DropSender(usize),
    DropReceiver(usize),
    /// Creates a process that gets ends of this one, if it has them all.
    Create(Box<Program>),
    Fail,
    Panic,
}

/// A process: which ends it has, what it does, and how often it does it all over. A step on an end
/// that it has no more does nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) senders: Vec<usize>,
    pub(crate) receivers: Vec<usize>,
    pub(crate) steps: Vec<Step>,
    pub(crate) rounds: usize,
}

impl Program {
    pub(crate) fn creates(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Create(_)))
    }
}

/// Mixes a number into a state.
pub(crate) fn mix(state: u64, number: u64) -> u64 {
    (state ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5851_f42d
}

/// What the end of a stream, and creating a process, mix in.
pub(crate) const END: u64 = 0xe0f;
pub(crate) const CHILD: u64 = 0xc41d;

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
    /// What was received on each channel, and whether its reader may be cut short: ended because
    /// nobody observes it, sooner or later as the schedule has it.
    pub(crate) histories: Vec<(Vec<u64>, bool)>,
    /// The processes whose own failures count, sorted.
    pub(crate) failures: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Open,
    Clean,
    /// The mark of this process.
    Failed(usize),
}

#[derive(Debug)]
struct Queue {
    messages: VecDeque<u64>,
    history: Vec<u64>,
    end: End,
    departed: bool,
    end_was_seen: bool,
    readers: Vec<usize>,
}

#[derive(Debug, Default)]
struct Process {
    name: String,
    program: Program,
    state: u64,
    next: usize,
    round: usize,
    children: usize,
    /// Senders dropped since the last operation.
    dropped: Vec<usize>,
    /// The senders it had, after each change.
    had: Vec<Vec<usize>>,
    creates: bool,
    ended: bool,
    failed: bool,
    /// Processes that reached a mark of its.
    reached_by: Vec<usize>,
}

#[derive(Debug, Default)]
struct Network {
    processes: Vec<Process>,
    queues: Vec<Queue>,
}

/// Runs a network to its end. `initial` messages are in the channels before.
pub(crate) fn interpret(programs: &[Program], initial: &[Vec<u64>]) -> Meaning {
    let mut network = Network::default();
    network.queues.extend(initial.iter().map(|messages| Queue {
        messages: messages.iter().copied().collect(),
        history: Vec::new(),
        end: End::Open,
        departed: false,
        end_was_seen: false,
        readers: Vec::new(),
    }));
    for (number, program) in programs.iter().enumerate() {
        network.add(format!("p{number}"), program.clone(), number as u64);
    }
    let mut moved = true;
    while moved {
        moved = false;
        let mut who = 0;
        while who < network.processes.len() {
            moved |= !network.processes[who].ended && network.step(who);
            who += 1;
        }
    }
    network.meaning()
}

impl Network {
    fn add(&mut self, name: String, program: Program, state: u64) {
        for &channel in &program.receivers {
            self.queues[channel].readers.push(self.processes.len());
        }
        let (creates, had) = (program.creates(), vec![program.senders.clone()]);
        self.processes.push(Process { name, program, state, had, creates, ..Process::default() });
    }

    /// Ends a process: its channels end, cleanly or with a mark.
    fn end(&mut self, who: usize, mark: End) {
        let process = &mut self.processes[who];
        process.ended = true;
        for channel in process.program.senders.drain(..).chain(process.dropped.drain(..)) {
            self.queues[channel].end = mark;
        }
        for channel in process.program.receivers.drain(..) {
            self.queues[channel].departed = true;
        }
    }

    /// Does one step of a process; `false` if it has to wait.
    fn step(&mut self, who: usize) -> bool {
        let process = &mut self.processes[who];
        if process.next == process.program.steps.len() {
            (process.next, process.round) = (0, process.round + 1);
        }
        if process.program.steps.is_empty() || process.round >= process.program.rounds {
            self.end(who, End::Clean);
            return true;
        }
        let step = process.program.steps[process.next].clone();
        let has_sender = |channel: &usize| process.program.senders.contains(channel);
        let has_receiver = |channel: &usize| process.program.receivers.contains(channel);
        let is_operation = match &step {
            Step::Send(channel, _) => has_sender(channel),
            Step::Recv(channel) => has_receiver(channel),
            _ => false,
        };
        let mut moved = false;
        if is_operation {
            moved = !process.dropped.is_empty();
            for channel in process.dropped.drain(..) {
                self.queues[channel].end = End::Clean;
            }
            let is_unseen = process.program.senders.iter().all(|&c| self.queues[c].departed);
            if !process.creates && is_unseen && !process.program.senders.is_empty() {
                self.end(who, End::Clean);
                return true;
            }
        }
        match step {
            Step::Send(channel, number) if is_operation => {
                process.state = mix(process.state, number);
                self.queues[channel].messages.push_back(process.state);
            }
            Step::Recv(channel) if is_operation => {
                let queue = &mut self.queues[channel];
                let message = match (queue.messages.pop_front(), queue.end) {
                    (Some(message), _) => {
                        queue.history.push(message);
                        message
                    }
                    (None, End::Open) => return moved,
                    (None, End::Clean) => {
                        queue.end_was_seen = true;
                        END
                    }
                    (None, End::Failed(by)) => {
                        queue.end_was_seen = true;
                        self.processes[by].reached_by.push(who);
                        self.end(who, End::Failed(who));
                        return true;
                    }
                };
                process.state = mix(process.state, message);
            }
            Step::DropSender(channel) if has_sender(&channel) => {
                process.program.senders.retain(|&own| own != channel);
                process.dropped.push(channel);
            }
            Step::DropReceiver(channel) if has_receiver(&channel) => {
                process.program.receivers.retain(|&own| own != channel);
                self.queues[channel].departed = true;
            }
            Step::Create(child)
                if child.senders.iter().all(has_sender)
                    && child.receivers.iter().all(has_receiver) =>
            {
                process.program.senders.retain(|channel| !child.senders.contains(channel));
                process.program.receivers.retain(|channel| !child.receivers.contains(channel));
                process.children += 1;
                let name = format!("{}.{}", process.name, process.children);
                let state = mix(process.state, CHILD);
                self.add(name, *child, state);
            }
            Step::Fail | Step::Panic => {
                process.failed = true;
                self.end(who, End::Failed(who));
                return true;
            }
            _ => {}
        }
        let process = &mut self.processes[who];
        process.had.push(process.program.senders.clone());
        process.next += 1;
        true
    }

    /// Which processes may be ended because nobody observes them, at some time of their life: all
    /// readers of the senders they have then are dead, or leave before they see the end.
    fn cut(&self) -> Vec<bool> {
        let mut cut = vec![false; self.processes.len()];
        loop {
            let is_unseen = |channel: &usize| {
                let queue = &self.queues[*channel];
                let is_lost = |&reader: &usize| cut[reader] || !self.processes[reader].ended;
                !queue.end_was_seen || queue.readers.iter().any(is_lost)
            };
            let now: Vec<bool> = self
                .processes
                .iter()
                .map(|process| {
                    let is_cut = |had: &Vec<usize>| !had.is_empty() && had.iter().all(is_unseen);
                    !process.creates && process.had.iter().any(is_cut)
                })
                .collect();
            if now == cut {
                return cut;
            }
            cut = now;
        }
    }

    fn counts(&self, who: usize) -> bool {
        let mut reached = vec![who];
        let mut next = 0;
        while next < reached.len() {
            let process = &self.processes[reached[next]];
            if process.had[0].is_empty() || next > 0 && process.creates {
                return true;
            }
            reached.extend(&process.reached_by);
            next += 1;
        }
        false
    }

    fn meaning(self) -> Meaning {
        let cut = self.cut();
        let all = self.processes.iter().enumerate();
        let counting = all.filter(|(who, process)| process.failed && self.counts(*who));
        let mut failures: Vec<String> = counting.map(|(_, process)| process.name.clone()).collect();
        failures.sort();
        let class = if self.processes.iter().any(|process| !process.ended) {
            Class::Deadlock
        } else if failures.is_empty() {
            Class::Finished
        } else {
            Class::Failed
        };
        let is_cut = |queue: &Queue| queue.readers.iter().any(|&reader| cut[reader]);
        let histories =
            self.queues.iter().map(|queue| (queue.history.clone(), is_cut(queue))).collect();
        Meaning { class, histories, failures }
    }
}
