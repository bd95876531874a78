//! An interpreter of straight programs on unbounded queues: what a network of processes means,
//! written down a second time, without a line of the runtime.
//!
//! It takes one step of each process in turn until none can go on. By Kahn's theorem the order is of
//! no account.

use super::meaning::Meaning;
use super::program::{CHILD, END, Program, Step, mix};
use std::collections::{BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Open,
    Clean,
    Failed,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) messages: VecDeque<u64>,
    pub(super) history: Vec<u64>,
    pub(super) end: End,
    pub(super) departed: bool,
    /// Which saw the end.
    pub(super) seen_by: Option<usize>,
    /// Which received the last message so far.
    pub(super) received_by: Option<usize>,
    pub(super) readers: Vec<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) program: Program,
    pub(super) state: u64,
    pub(super) next: usize,
    pub(super) round: usize,
    pub(super) children: usize,
    /// Senders dropped since the last operation.
    pub(super) dropped: Vec<usize>,
    /// The senders it had last: those that ended together, after which it had none.
    pub(super) last: Vec<usize>,
    /// Where its last operation sent.
    pub(super) sent: Option<usize>,
    /// Where it sent last, if it had no sender any more at its next operation, or ended.
    pub(super) sent_at_last: Option<usize>,
    /// It has had both ends of a channel since its last operation, and gave up the receiver.
    kept: bool,
    /// It had both ends of a channel when its last senders ended, or since its last operation.
    pub(super) kept_at_last: bool,
    /// It failed with senders.
    pub(super) leaves_marks: bool,
    pub(super) creates: bool,
    /// It was there at the start, and had senders.
    pub(super) sends_from_the_start: bool,
    pub(super) ended: bool,
    pub(super) failed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Network {
    pub(super) processes: Vec<Process>,
    pub(super) queues: Vec<Queue>,
    /// It has a loop, and from each process a way to one that needs no reader.
    pub(super) prunes_loops: bool,
}

/// Runs a network to its end. `initial` messages are in the channels before.
pub(crate) fn interpret(programs: &[Program], initial: &[Vec<u64>]) -> Meaning {
    let mut network = Network::default();
    network.queues.extend(initial.iter().map(|messages| Queue {
        messages: messages.iter().copied().collect(),
        history: Vec::new(),
        end: End::Open,
        departed: false,
        seen_by: None,
        received_by: None,
        readers: Vec::new(),
    }));
    for (number, program) in programs.iter().enumerate() {
        network.add(format!("p{number}"), program.clone(), number as u64);
    }
    for process in &mut network.processes {
        process.sends_from_the_start = !process.program.senders.is_empty();
    }
    network.prunes_loops = network.has_loops_that_are_pruned();
    let mut moved = true;
    while moved {
        moved = false;
        let mut place = 0;
        while place < network.processes.len() {
            moved |= !network.processes[place].ended && network.step(place);
            place += 1;
        }
    }
    network.meaning()
}

impl Process {
    /// All the senders it has end now, or never will.
    pub(super) fn note_last(&mut self) {
        let all = [&self.program.senders[..], &self.dropped].concat();
        if !all.is_empty() {
            let is_own = |channel: &usize| self.program.receivers.contains(channel);
            self.kept_at_last = self.kept || all.iter().any(is_own);
            self.sent_at_last = self.sent.filter(|sent| all.contains(sent));
            self.last = all;
        }
    }
}

impl Network {
    fn add(&mut self, name: String, program: Program, state: u64) {
        for &channel in &program.receivers {
            self.queues[channel].readers.push(self.processes.len());
        }
        let creates = program.creates();
        self.processes.push(Process { name, program, state, creates, ..Process::default() });
    }

    /// Whether there is a loop, and each process leads on to one that creates others or has no sender.
    fn has_loops_that_are_pruned(&self) -> bool {
        // By one channel or more.
        let leads = |from: usize| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(at) = open.pop() {
                let channels = self.processes[at].program.senders.iter();
                let readers = channels.flat_map(|channel| &self.queues[*channel].readers);
                open.extend(readers.copied().filter(|reader| reached.insert(*reader)));
            }
            reached
        };
        let is_end = |at: &usize| {
            let process = &self.processes[*at];
            process.creates || process.program.senders.is_empty()
        };
        let all: Vec<_> = (0..self.processes.len()).map(leads).collect();
        all.iter().enumerate().all(|(at, reached)| is_end(&at) || reached.iter().any(is_end))
            && all.iter().enumerate().any(|(at, reached)| reached.contains(&at))
    }

    /// Ends a process: its channels end, cleanly or with a mark.
    fn end(&mut self, place: usize, mark: End) {
        let process = &mut self.processes[place];
        process.ended = true;
        process.note_last();
        process.leaves_marks = !(process.program.senders.is_empty() && process.dropped.is_empty());
        for channel in process.program.senders.drain(..).chain(process.dropped.drain(..)) {
            self.queues[channel].end = mark;
        }
        for channel in process.program.receivers.drain(..) {
            self.queues[channel].departed = true;
        }
    }

    /// Does one step of a process; `false` if it has to wait.
    fn step(&mut self, place: usize) -> bool {
        let process = &mut self.processes[place];
        if process.next == process.program.steps.len() {
            (process.next, process.round) = (0, process.round + 1);
        }
        if process.program.steps.is_empty() || process.round >= process.program.rounds {
            self.end(place, End::Clean);
            return true;
        }
        let step = process.program.steps[process.next].clone();
        let Program { senders, receivers, .. } = process.program.clone();
        let has_sender = |channel: &usize| senders.contains(channel);
        let has_receiver = |channel: &usize| receivers.contains(channel);
        let is_operation = match &step {
            Step::Send(channel, _) => has_sender(channel),
            Step::Recv(channel) => has_receiver(channel),
            _ => false,
        };
        let mut moved = false;
        if is_operation {
            moved = !process.dropped.is_empty();
            if moved && process.program.senders.is_empty() {
                process.note_last();
            }
            (process.sent, process.kept) = (None, false);
            for channel in process.dropped.drain(..) {
                self.queues[channel].end = End::Clean;
            }
            let is_unseen = process.program.senders.iter().all(|&c| self.queues[c].departed);
            if !process.creates && is_unseen && !process.program.senders.is_empty() {
                self.end(place, End::Clean);
                return true;
            }
        }
        match step {
            Step::Send(channel, number) if is_operation => {
                process.state = mix(process.state, number);
                process.sent = Some(channel);
                self.queues[channel].messages.push_back(process.state);
            }
            Step::Recv(channel) if is_operation => {
                let queue = &mut self.queues[channel];
                let message = match (queue.messages.pop_front(), queue.end) {
                    (Some(message), _) => {
                        queue.history.push(message);
                        queue.received_by = Some(place);
                        message
                    }
                    (None, End::Open) => return moved,
                    (None, End::Clean) => {
                        queue.seen_by = Some(place);
                        END
                    }
                    (None, End::Failed) => {
                        queue.seen_by = Some(place);
                        self.end(place, End::Failed);
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
                process.kept |= process.program.senders.contains(&channel)
                    || process.dropped.contains(&channel);
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
                self.end(place, End::Failed);
                return true;
            }
            _ => {}
        }
        self.processes[place].next += 1;
        true
    }
}
