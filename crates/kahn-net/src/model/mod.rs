//! A model of networks over ranks, in which the real [`Coordinator`] and [`Lookout`] decide: all that may
//! happen next is a step, so all orders can be tried, or many at random.
//!
//! A process is a list of sends and receives; a channel is a number of messages, and if it is cut, what its two links
//! have (`way`). Frames go from rank to rank in order. What waits for what is known from outside: links and frames
//! go on in a copy until they come to rest, while processes do not; a process that can do nothing then waits for the
//! process at the other end, and for no other reason.

use crate::chase::Lookout;
use crate::coordinator::{Coordinator, Say};
use crate::frame::{At, End, Frame, KnownChain, Stand, State};
use roots::RankRoots;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Op {
    Send(usize),
    Receive(usize),
}
use Op::{Receive, Send};

/// What does not change.
#[derive(Clone, Debug)]
struct Program {
    ranks: usize,
    /// The rank and the code of each process.
    processes: Vec<(usize, Vec<Op>)>,
    /// The processes that send and receive, and the capacity.
    channels: Vec<(usize, usize, u64)>,
    /// A rank on which something runs for ever beside them.
    busy: Option<usize>,
    /// Processes that may be pruned whenever they wait.
    prunable: BTreeSet<usize>,
    /// From which step on each process is a root, if it ever is; `None` where loops are not pruned.
    roots: Option<Vec<usize>>,
    /// How often each rank looks for chains.
    looks: u32,
}

impl Program {
    fn rank(&self, process: usize) -> usize {
        self.processes[process].0
    }

    fn is_cut(&self, channel: usize) -> bool {
        let (from, to, _) = self.channels[channel];
        self.rank(from) != self.rank(to)
    }
}

/// A channel; of one that is not cut only `held`, `sent` and `room` are used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ChannelState {
    /// Messages in it, where its sender is, and how many it has room for.
    held: u64,
    room: u64,
    /// Sent by its link, or received if it is not cut.
    sent: u64,
    granted: u64,
    arrived: u64,
    /// The link at its receiver has taken a message, and not put it into the channel there.
    has_one: bool,
    taken: u64,
    granted_there: u64,
    held_there: u64,
    /// The link at its sender has told of the end; the one at its receiver knows.
    has_closed: bool,
    has_end: bool,
    /// The link at its sender knows that the receiver has left.
    has_left: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RankState {
    sent: u64,
    received: u64,
    time: u64,
    told: Option<Stand>,
    chains: Lookout,
    held: BTreeSet<usize>,
    looks: u32,
    roots: RankRoots,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    at: Vec<usize>,
    dead: BTreeSet<usize>,
    pruned: BTreeSet<usize>,
    channels: Vec<ChannelState>,
    ranks: Vec<RankState>,
    coordinator: Coordinator,
    /// From rank to rank.
    frames: BTreeMap<(usize, usize), VecDeque<Frame<'static>>>,
    over: Option<End>,
    /// No rank had a root at some moment.
    had_no_root: bool,
    /// Rings that were freed.
    freed: u32,
    /// Times that a ring was asked for.
    asked: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Process(usize),
    Prune(usize),
    Up(usize),
    Close(usize),
    Down(usize),
    Deliver(usize, usize),
    Tell(usize),
    TellOfRoots(usize),
    Look(usize),
}

impl World {
    fn new(program: &Program) -> Self {
        let channel = |&(.., capacity): &(usize, usize, u64)| ChannelState {
            held: 0,
            room: capacity,
            sent: 0,
            granted: capacity,
            arrived: 0,
            has_one: false,
            taken: 0,
            granted_there: capacity,
            held_there: 0,
            has_closed: false,
            has_end: false,
            has_left: false,
        };
        let rank = |_| RankState {
            sent: 0,
            received: 0,
            time: 0,
            told: None,
            chains: Lookout::default(),
            held: BTreeSet::new(),
            looks: program.looks,
            roots: RankRoots::default(),
        };
        Self {
            at: vec![0; program.processes.len()],
            dead: BTreeSet::new(),
            pruned: BTreeSet::new(),
            channels: program.channels.iter().map(channel).collect(),
            ranks: (0..program.ranks).map(rank).collect(),
            coordinator: Coordinator::new(program.ranks),
            frames: BTreeMap::new(),
            over: None,
            had_no_root: false,
            freed: 0,
            asked: 0,
        }
    }

    /// After so many steps of processes and links, each as soon as it can be done.
    fn after(program: &Program, steps: usize) -> Self {
        let mut world = Self::new(program);
        for _ in 0..steps {
            let all = world.steps(program);
            let is_early = |step: &&Step| {
                matches!(step, Step::Process(_) | Step::Up(_) | Step::Down(_) | Step::Deliver(..))
            };
            let Some(step) = all.iter().find(is_early) else { break };
            world.step(program, *step);
        }
        world
    }

    fn op(&self, program: &Program, process: usize) -> Option<Op> {
        let code = &program.processes[process].1;
        code.get(self.at[process]).copied().filter(|_| !self.pruned.contains(&process))
    }

    fn can_go_on(&self, program: &Program, process: usize) -> bool {
        let op = self.op(program, process).filter(|_| !self.dead.contains(&process));
        op.is_some_and(|op| self.moves_message(program, op) || self.sees_end(program, op))
    }

    /// Whether there is room for a message, or a message.
    fn moves_message(&self, program: &Program, op: Op) -> bool {
        match op {
            Send(channel) => self.channels[channel].held < self.channels[channel].room,
            Receive(channel) if program.is_cut(channel) => self.channels[channel].held_there > 0,
            Receive(channel) => self.channels[channel].held > 0,
        }
    }

    /// Whether the process at the other end is known to be gone.
    fn sees_end(&self, program: &Program, op: Op) -> bool {
        let (Send(number) | Receive(number)) = op;
        let (channel, (from, to, _)) = (&self.channels[number], program.channels[number]);
        match op {
            Send(_) if program.is_cut(number) => channel.has_left,
            Send(_) => self.pruned.contains(&to),
            Receive(_) if program.is_cut(number) => {
                channel.has_end && channel.arrived == channel.taken
            }
            Receive(_) => self.pruned.contains(&from),
        }
    }

    fn can_prune(&self, program: &Program, process: usize) -> bool {
        let with_loops = || self.prunes_all(program, process) && !self.is_root(program, process);
        let may_prune = program.prunable.contains(&process) && !self.can_go_on(program, process);
        !self.dead.contains(&process)
            && self.op(program, process).is_some()
            && (may_prune || with_loops())
    }

    fn can_up(&self, program: &Program, channel: usize) -> bool {
        let one = &self.channels[channel];
        program.is_cut(channel) && !one.has_left && one.sent < one.granted && one.held > 0
    }

    fn can_close(&self, program: &Program, channel: usize) -> bool {
        let one = &self.channels[channel];
        let from = program.channels[channel].0;
        let is_over = self.pruned.contains(&from) && one.held == 0;
        let is_told = !self.prunes_all(program, from);
        is_over && is_told && program.is_cut(channel) && !one.has_closed && one.sent < one.granted
    }

    fn can_down(&self, program: &Program, channel: usize) -> bool {
        let one = &self.channels[channel];
        let (_, to, capacity) = program.channels[channel];
        let is_there = !self.pruned.contains(&to);
        is_there && if one.has_one { one.held_there < capacity } else { one.arrived > one.taken }
    }

    /// Whether anything can be done on a rank that is not for a frame.
    fn rests(&self, program: &Program, rank: usize) -> bool {
        let mut processes = (0..self.at.len()).filter(|process| program.rank(*process) == rank);
        let mut channels = 0..self.channels.len();
        program.busy != Some(rank)
            && !processes
                .any(|process| self.can_go_on(program, process) || self.can_prune(program, process))
            && !channels.any(|channel| {
                let (from, to, _) = program.channels[channel];
                let ups = self.can_up(program, channel) || self.can_close(program, channel);
                program.rank(from) == rank && ups
                    || program.rank(to) == rank && self.can_down(program, channel)
            })
    }

    fn stand(&self, program: &Program, rank: usize) -> Stand {
        let RankState { sent, received, time, .. } = self.ranks[rank];
        let state = if self.rests(program, rank) { State::Rests } else { State::Runs };
        Stand { time, state, sent, received }
    }

    fn steps(&self, program: &Program) -> Vec<Step> {
        if self.over.is_some() {
            return Vec::new();
        }
        let mut steps = self.of_links(program);
        let processes = (0..self.at.len()).filter(|process| self.can_go_on(program, *process));
        steps.extend(processes.map(Step::Process));
        let pruned = (0..self.at.len()).filter(|process| {
            let held = &self.ranks[program.rank(*process)].held;
            !held.contains(process) && self.can_prune(program, *process)
        });
        steps.extend(pruned.map(Step::Prune));
        let frames = self.frames.iter().filter(|(_, frames)| !frames.is_empty());
        steps.extend(frames.map(|((from, to), _)| Step::Deliver(*from, *to)));
        for (number, rank) in self.ranks.iter().enumerate() {
            let stand = self.stand(program, number);
            if stand.state == State::Rests && rank.told != Some(stand) {
                steps.push(Step::Tell(number));
            }
            if self.may_tell_of_roots(program, number) {
                steps.push(Step::TellOfRoots(number));
            }
            if rank.looks > 0 {
                steps.push(Step::Look(number));
            }
        }
        steps
    }

    fn of_links(&self, program: &Program) -> Vec<Step> {
        let channels = 0..self.channels.len();
        let up = channels.clone().filter(|channel| self.can_up(program, *channel)).map(Step::Up);
        let down = channels.filter(|channel| self.can_down(program, *channel)).map(Step::Down);
        let close = (0..self.channels.len()).filter(|channel| self.can_close(program, *channel));
        up.chain(down).chain(close.map(Step::Close)).collect()
    }

    fn put(&mut self, from: usize, to: usize, frame: Frame<'static>) {
        if frame.is_counted() {
            self.ranks[from].sent += 1;
        }
        self.frames.entry((from, to)).or_default().push_back(frame);
    }

    fn step(&mut self, program: &Program, step: Step) {
        self.do_step(program, step);
        self.had_no_root |= self.has_no_root(program);
    }

    fn do_step(&mut self, program: &Program, step: Step) {
        match step {
            Step::Process(process) => {
                let op = self.op(program, process).expect("it can go on");
                let moves = self.moves_message(program, op);
                match op {
                    // To none, or the end.
                    _ if !moves => self.check_end(program, process, op),
                    Send(channel) => self.channels[channel].held += 1,
                    Receive(channel) if program.is_cut(channel) => {
                        self.channels[channel].held_there -= 1;
                    }
                    Receive(channel) => {
                        self.channels[channel].held -= 1;
                        self.channels[channel].sent += 1;
                    }
                }
                self.at[process] += 1;
                self.note_root(program, process);
            }
            Step::Up(number) => {
                let (from, to, _) = program.channels[number];
                let channel = &mut self.channels[number];
                // Many that go together are as many steps without another between: one of the orders.
                let message = Frame::Messages {
                    channel: small(number),
                    number: channel.sent,
                    count: 1,
                    asks: true,
                    messages: b"",
                };
                channel.held -= 1;
                channel.sent += 1;
                self.put(program.rank(from), program.rank(to), message);
            }
            Step::Prune(process) => {
                self.pruned.insert(process);
                for (number, (from, to, _)) in program.channels.iter().enumerate() {
                    if *to == process && program.is_cut(number) {
                        let left = Frame::Left { channel: small(number) };
                        self.put(program.rank(*to), program.rank(*from), left);
                    }
                }
            }
            Step::Close(number) => {
                let (from, to, _) = program.channels[number];
                let channel = &mut self.channels[number];
                channel.has_closed = true;
                let (channel, messages) = (small(number), channel.sent);
                let close = Frame::Close { channel, messages, has_failed: false };
                self.put(program.rank(from), program.rank(to), close);
            }
            Step::Down(number) => {
                let (from, to, capacity) = program.channels[number];
                let channel = &mut self.channels[number];
                if !channel.has_one {
                    channel.has_one = true;
                    return;
                }
                channel.has_one = false;
                channel.held_there += 1;
                channel.taken += 1;
                // Each frame asks: where there is room for one or two, half of it is used by one.
                assert!(capacity <= 2, "half of a larger one would be used by several");
                channel.granted_there = channel.taken + capacity;
                let room = Frame::Room { channel: small(number), taken: channel.taken };
                self.put(program.rank(to), program.rank(from), room);
            }
            Step::Deliver(from, to) => {
                let frame = self.frames.get_mut(&(from, to)).and_then(VecDeque::pop_front);
                self.hear(program, from, to, frame.expect("there is one"));
            }
            Step::Tell(rank) => {
                let stand = self.stand(program, rank);
                self.ranks[rank].told = Some(stand);
                self.say_to_0(program, rank, Frame::Stand(stand));
            }
            Step::TellOfRoots(rank) => {
                self.ranks[rank].roots =
                    RankRoots { has_told: true, are_more: false, ..self.ranks[rank].roots };
                self.say_to_0(program, rank, Frame::NoRoot);
            }
            Step::Look(rank) => {
                self.ranks[rank].looks -= 1;
                let seen = self.seen(program, rank);
                let new = self.ranks[rank].chains.look(seen);
                let chains: Vec<_> = new.into_iter().map(KnownChain::of).collect();
                if !chains.is_empty() {
                    self.say_to_0(program, rank, Frame::Stands { chains });
                }
            }
        }
    }

    fn say_to_0(&mut self, program: &Program, rank: usize, frame: Frame<'static>) {
        if rank == 0 {
            self.hear(program, 0, 0, frame);
        } else {
            self.put(rank, 0, frame);
        }
    }

    fn hear(&mut self, program: &Program, from: usize, to: usize, frame: Frame<'static>) {
        if self.over.is_some() {
            return;
        }
        match frame {
            Frame::Messages { channel, count, .. } => {
                self.channels[channel as usize].arrived += count;
                self.ranks[to].received += 1;
            }
            Frame::Room { channel, taken } => {
                let (.., capacity) = program.channels[channel as usize];
                self.channels[channel as usize].granted = taken + capacity;
                self.ranks[to].received += 1;
            }
            Frame::Close { channel, .. } => {
                self.channels[channel as usize].has_end = true;
                self.ranks[to].received += 1;
            }
            Frame::Left { channel } => {
                self.channels[channel as usize].has_left = true;
                self.ranks[to].received += 1;
            }
            Frame::Stand(stand) => {
                let says = self.coordinator.told(from, stand);
                self.decided(program, says);
            }
            Frame::Answer { round, stand } => {
                let says = self.coordinator.answered(from, round, stand);
                self.decided(program, says);
            }
            Frame::Seen(sight) => {
                let says = self.coordinator.saw(from, sight);
                self.decided(program, says);
            }
            Frame::Stands { chains } => {
                let says = self.coordinator.stands(from, &chains);
                self.decided(program, says);
            }
            Frame::Confirmed { round, stood } => {
                let says = self.coordinator.confirmed(from, round, &stood);
                self.decided(program, says);
            }
            Frame::NoRoot => {
                let says = self.coordinator.has_no_root(from);
                self.decided(program, says);
            }
            Frame::Root { round, stays } => {
                let says = self.coordinator.stays_without_root(from, round, stays);
                self.decided(program, says);
            }
            Frame::AskRoot { round } => {
                let roots = &mut self.ranks[to].roots;
                let stays = roots.has_told && !roots.are_more;
                roots.has_told &= stays;
                self.say_to_0(program, to, Frame::Root { round, stays });
            }
            Frame::Prune { time } => {
                assert!(self.had_no_root, "all prune while there is a root: {self:?}");
                self.ranks[to].held.clear();
                self.ranks[to].roots.prunes_all = true;
                self.ranks[to].time = time;
            }
            Frame::Ask { round } => {
                let stand = self.stand(program, to);
                self.ranks[to].told = Some(stand);
                self.say_to_0(program, to, Frame::Answer { round, stand });
            }
            Frame::Look => {
                self.ranks[to].held.clear();
                let sight = self.sight(program, to);
                self.say_to_0(program, to, Frame::Seen(sight));
            }
            Frame::Act { time, grow, dead } => {
                for end in grow {
                    self.grow(self.leads(program, to)[&end].1.map(|full| full.channel));
                }
                for end in dead {
                    let owner = owner(program, end);
                    self.dead.insert(owner);
                    let waits = self.walk(program, owner).map(|(waits, _)| waits);
                    self.dead.extend(waits.into_iter().flatten());
                }
                self.ranks[to].time = time;
            }
            Frame::Confirm { round, chains } => {
                let seen = self.seen(program, to);
                let stands = |number: &u64| {
                    self.ranks[to].chains.told(*number).is_some_and(|told| seen.contains(told))
                };
                let stood: Vec<u64> = chains.into_iter().filter(stands).collect();
                let told = stood.iter().filter_map(|number| self.ranks[to].chains.told(*number));
                let held = told.flat_map(|seen| &seen.chain.waits[1..]).map(|wait| wait.process);
                let held: Vec<usize> = held.collect();
                self.ranks[to].held.extend(held);
                self.say_to_0(program, to, Frame::Confirmed { round, stood });
            }
            Frame::Free { time, grow, dead } => {
                for number in grow {
                    let seen = self.ranks[to].chains.take(number).expect("it was told");
                    assert!(
                        self.seen(program, to).contains(&seen),
                        "what is freed stands: {self:?}"
                    );
                    self.grow(seen.chain.smallest.map(|full| full.channel));
                }
                for number in dead {
                    let seen = self.ranks[to].chains.take(number).expect("it was told");
                    assert!(self.seen(program, to).contains(&seen), "what dies stands: {self:?}");
                    self.dead.extend(seen.chain.waits[1..].iter().map(|wait| wait.process));
                }
                self.ranks[to].time = time;
                let stand = self.stand(program, to);
                self.ranks[to].told = Some(stand);
                self.say_to_0(program, to, Frame::Stand(stand));
            }
            Frame::Release { time } => {
                self.ranks[to].held.clear();
                self.ranks[to].time = time;
            }
            Frame::End(why) => self.over = Some(why),
            _ => unreachable!("no rank says it here"),
        }
    }

    fn grow(&mut self, channel: Option<u64>) {
        let channel = usize::try_from(channel.expect("one is full")).expect("it is small");
        self.channels[channel].room += 1;
    }

    /// What rank 0 says, held against what is so.
    fn decided(&mut self, program: &Program, says: Vec<Say>) {
        self.asked +=
            u32::from(says.iter().any(|(_, frame)| matches!(frame, Frame::Confirm { .. })));
        let frees = |(rank, frame): &Say| match frame {
            Frame::Free { grow, dead, .. } => {
                grow.iter().chain(dead).map(|number| (*rank, *number)).collect()
            }
            _ => Vec::new(),
        };
        let frees: Vec<(usize, u64)> = says.iter().flat_map(frees).collect();
        if !frees.is_empty() {
            self.freed += 1;
            let real: BTreeSet<usize> = self.rings(program).into_iter().flatten().collect();
            for (rank, number) in frees {
                let told = self.ranks[rank].chains.told(number);
                for wait in told.into_iter().flat_map(|seen| &seen.chain.waits[1..]) {
                    assert!(
                        real.contains(&wait.process),
                        "a ring that is none: {wait:?} in {self:?}"
                    );
                }
            }
        }
        if says.iter().any(|(_, frame)| matches!(frame, Frame::Look)) {
            let moves = (0..program.ranks).any(|rank| !self.rests(program, rank));
            let flies = self.frames.values().flatten().any(Frame::is_counted);
            assert!(!moves && !flies, "all look while something moves: {self:?}");
        }
        for (to, frame) in says {
            if to == 0 {
                self.hear(program, 0, 0, frame);
            } else {
                self.put(0, to, frame);
            }
        }
    }
}

fn owner(program: &Program, end: At) -> usize {
    let (from, to, _) = program.channels[end.channel as usize];
    if end.is_sender { from } else { to }
}

fn small(channel: usize) -> u32 {
    u32::try_from(channel).expect("it is small")
}

mod roots;
mod tests;
mod waits;
