//! The interpreter's processes and channels, and one step after another.

use super::interpreter::{Mistake, Unending};
use super::machine::{Action, Held, Machine, PLACES};
use super::program::{End, How, Port, Process, Program};
use std::collections::VecDeque;

const STEPS: usize = 6_000;
/// The rounds in which only such run that would for ever, with nothing to see them.
const PATIENCE: usize = 10;
/// The messages in a channel at which its sender gives way to others.
const PLENTY: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Clean,
    Failed(usize),
}

#[derive(Debug)]
pub(super) struct Wire {
    queue: VecDeque<u64>,
    /// The messages at which its sender gives way to others.
    room: usize,
    pub(super) history: Vec<u64>,
    /// Every process that has held the receiver.
    pub(super) readers: Vec<usize>,
    pub(super) sender: Option<usize>,
    pub(super) receiver: Option<usize>,
    end: Option<Mark>,
    /// The process that received the last message that was sent so far.
    pub(super) received_by: Option<usize>,
    /// The first process that saw the end, clean or not.
    pub(super) seen_by: Option<usize>,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Running,
    Finished,
    Pruned,
    Failed,
    FailedWith(usize),
}

#[derive(Debug)]
pub(super) struct Actor<'p> {
    pub(super) name: String,
    pub(super) process: &'p Process,
    machine: Machine<'p>,
    pub(super) places: Vec<Option<(Held, usize)>>,
    pub(super) dropped: Vec<usize>,
    /// The operation that waits.
    pending: Option<Action<'p>>,
    started: bool,
    pub(super) fate: Fate,
    pub(super) dead: bool,
    pub(super) had_sender: bool,
    /// It failed while it had senders, of which not one led to itself.
    pub(super) sender_when_failed: bool,
    /// It has had both ends of a channel since it could be pruned last, and dropped the receiver.
    kept: bool,
    /// The channel to which it has sent since it could be pruned last.
    just_sent: Option<usize>,
    /// The channels of the senders that it dropped last, when it had no other left.
    pub(super) last_wires: Vec<usize>,
    /// What `kept` and `just_sent` were then.
    pub(super) was_kept: bool,
    pub(super) had_just_sent: Option<usize>,
    channels: usize,
    children: usize,
    pub(super) effects: Vec<u64>,
}

#[derive(Debug)]
pub(super) struct World<'p> {
    pub(super) wires: Vec<Wire>,
    pub(super) actors: Vec<Actor<'p>>,
    pub(super) mistake: Option<Mistake>,
    prunes: bool,
    /// Those that are there at the start.
    pub(super) first: usize,
    /// Loops that nothing sees are pruned: there is one, and each of the first is seen by one that needs no reader,
    /// through others perhaps.
    pub(super) prunes_loops: bool,
    /// Whether channels hold as few messages as they may in a run.
    narrow: bool,
}

#[derive(PartialEq, Eq)]
enum Step {
    Moved,
    /// Waits for a message.
    Waits,
    /// Its channel has plenty.
    GivesWay,
}

fn held(end: Option<(Held, usize)>) -> Held {
    end.map_or(Held::Nothing, |(held, _)| held)
}

impl<'p> World<'p> {
    pub(super) fn new(program: &'p Program, mistake: Option<Mistake>, prunes: bool) -> Self {
        Self::with_room(program, mistake, prunes, false)
    }

    /// Channels hold one message, or those they begin with; they grow in rings alone, or when
    /// nothing else can run.
    pub(super) fn narrow(program: &'p Program, mistake: Option<Mistake>) -> Self {
        Self::with_room(program, mistake, true, true)
    }

    fn with_room(
        program: &'p Program,
        mistake: Option<Mistake>,
        prunes: bool,
        narrow: bool,
    ) -> Self {
        let prunes = prunes && mistake != Some(Mistake::NothingIsPruned);
        let mut world = Self {
            wires: Vec::new(),
            actors: Vec::new(),
            mistake,
            prunes,
            first: program.processes.len(),
            prunes_loops: false,
            narrow,
        };
        for (number, channel) in program.channels.iter().enumerate() {
            world.wire(format!("c{number}"), channel.initial);
        }
        for (number, process) in program.processes.iter().enumerate() {
            let places = process.ports.iter().map(|port| match *port {
                Port::Sender(channel) => Some((Held::Sender, channel)),
                Port::Receiver(channel) => Some((Held::Receiver, channel)),
            });
            world.actor(format!("p{number}"), process, 0, places.collect());
        }
        world.prunes_loops = world.has_loops_that_all_are_seen();
        // What no process holds is dropped before the start.
        for wire in &mut world.wires {
            if wire.sender.is_none() {
                wire.end = Some(Mark::Clean);
            }
        }
        world
    }

    fn wire(&mut self, name: String, initial: u64) -> usize {
        let initial = if self.mistake == Some(Mistake::NoInitialMessages) { 0 } else { initial };
        let queue: VecDeque<u64> = (1..=initial).collect();
        self.wires.push(Wire {
            room: if self.narrow { queue.len().max(1) } else { PLENTY },
            queue,
            history: Vec::new(),
            readers: Vec::new(),
            sender: None,
            receiver: None,
            end: None,
            received_by: None,
            seen_by: None,
            name,
        });
        self.wires.len() - 1
    }

    fn actor(
        &mut self,
        name: String,
        process: &'p Process,
        state: u64,
        mut places: Vec<Option<(Held, usize)>>,
    ) {
        let number = self.actors.len();
        for &(held, wire) in places.iter().flatten() {
            self.own(number, held, wire);
        }
        let kinds: Vec<Held> = places.iter().map(|end| held(*end)).collect();
        places.resize(PLACES, None);
        self.actors.push(Actor {
            name,
            process,
            machine: Machine::new(process, state, &kinds),
            places,
            dropped: Vec::new(),
            pending: None,
            started: false,
            fate: Fate::Running,
            dead: false,
            had_sender: kinds.contains(&Held::Sender),
            sender_when_failed: false,
            kept: false,
            just_sent: None,
            last_wires: Vec::new(),
            was_kept: false,
            had_just_sent: None,
            channels: 0,
            children: 0,
            effects: Vec::new(),
        });
    }

    fn own(&mut self, number: usize, held: Held, wire: usize) {
        let wire = &mut self.wires[wire];
        if held == Held::Sender {
            wire.sender = Some(number);
        } else {
            wire.receiver = Some(number);
            wire.readers.push(number);
        }
    }

    fn is_full(&self, wire: usize) -> bool {
        self.wires[wire].queue.len() >= self.wires[wire].room
    }

    fn put(&mut self, number: usize, wire: usize, value: u64) {
        self.actors[number].just_sent = Some(wire);
        self.wires[wire].received_by = None;
        if !self.is_unread(wire) {
            self.wires[wire].queue.push_back(value);
        }
    }

    fn release(&mut self, number: usize, end: (Held, usize)) {
        let (held, wire) = end;
        if held == Held::Receiver {
            self.actors[number].kept |= self.wires[wire].sender == Some(number);
            self.wires[wire].receiver = None;
            self.wires[wire].queue.clear();
        } else if self.mistake == Some(Mistake::DropAtOnce)
            || self.actors[number].process.how() == How::Party
        {
            self.wires[wire].end = Some(Mark::Clean);
            self.wires[wire].sender = None;
        } else {
            self.actors[number].dropped.push(wire);
        }
    }

    /// Lets drops take effect.
    fn operation(&mut self, number: usize, mark: Mark) {
        let dropped = std::mem::take(&mut self.actors[number].dropped);
        if !dropped.is_empty() && !self.has_sender(number) {
            self.note_last(number, dropped.clone());
        }
        for wire in dropped {
            self.wires[wire].end = Some(mark);
            self.wires[wire].sender = None;
        }
    }

    /// With these a process has no sender any more.
    fn note_last(&mut self, number: usize, wires: Vec<usize>) {
        let own = wires.iter().any(|&wire| self.wires[wire].receiver == Some(number));
        let actor = &mut self.actors[number];
        actor.was_kept = actor.kept || own;
        actor.had_just_sent = actor.just_sent;
        actor.last_wires = wires;
    }

    fn end(&mut self, number: usize, fate: Fate) {
        let root = match fate {
            Fate::FailedWith(root) => root,
            _ => number,
        };
        let mark = match fate {
            Fate::Failed | Fate::FailedWith(_)
                if self.mistake != Some(Mistake::ErrorIsCleanEnd)
                    && self.actors[number].process.how() != How::Party =>
            {
                Mark::Failed(root)
            }
            _ => Mark::Clean,
        };
        // A drop that is not yet in effect is as good as none: to return drops all senders.
        let places = std::mem::take(&mut self.actors[number].places);
        let held = places.iter().flatten().filter(|(held, _)| *held == Held::Sender);
        let actor = &mut self.actors[number];
        let last: Vec<usize> = held.map(|(_, wire)| *wire).chain(actor.dropped.clone()).collect();
        let has_sender = !last.is_empty();
        if has_sender {
            self.note_last(number, last);
        }
        let is_for_itself = self.is_for_itself(number);
        let actor = &mut self.actors[number];
        actor.sender_when_failed = has_sender && !(actor.was_kept && is_for_itself);
        for wire in std::mem::take(&mut actor.dropped) {
            self.wires[wire].end = Some(mark);
            self.wires[wire].sender = None;
        }
        for (held, wire) in places.into_iter().flatten() {
            if held == Held::Sender {
                self.wires[wire].end = Some(mark);
                self.wires[wire].sender = None;
            } else {
                self.wires[wire].receiver = None;
                self.wires[wire].queue.clear();
            }
        }
        self.actors[number].fate = fate;
    }

    /// Does one thing, if it can be done.
    fn step(&mut self, number: usize, patient: bool) -> Step {
        if !self.actors[number].started {
            self.actors[number].started = true;
            if self.prunes && self.is_prunable(number) {
                self.end(number, Fate::Pruned);
            }
            return Step::Moved;
        }
        let actor = &mut self.actors[number];
        let begins = actor.pending.is_none();
        let action = match actor.pending.take() {
            Some(action) => action,
            None => actor.machine.next(),
        };
        let operates = match action {
            // With no message it is no operation.
            Action::SendAll { count, .. } | Action::RecvMany { count, .. } if count == 0 => {
                return Step::Moved;
            }
            Action::Send { .. }
            | Action::SendAll { .. }
            | Action::Recv { .. }
            | Action::RecvMany { .. } => true,
            // One that blocks has none, and it is that of an end.
            Action::Flush => {
                actor.process.how() == How::Async && actor.places.iter().any(Option::is_some)
            }
            _ => false,
        };
        if operates {
            if begins && !self.actors[number].dropped.is_empty() {
                self.operation(number, Mark::Clean);
                // Others may learn of it, and leave, before it does the rest.
                self.actors[number].pending = Some(action);
                return Step::Moved;
            }
            self.actors[number].kept = false;
            self.actors[number].just_sent = None;
            // A dead process waits already: it begins no operation.
            if self.prunes && !self.actors[number].dead && self.is_prunable(number) {
                self.end(number, Fate::Pruned);
                return Step::Moved;
            }
        }
        let places = &self.actors[number].places;
        let wire_at = |place: usize| places[place].map_or(usize::MAX, |(_, wire)| wire);
        match action {
            Action::Send { to, .. } | Action::SendAll { to, .. }
                if patient && self.is_full(wire_at(to)) =>
            {
                self.actors[number].pending = Some(action);
                return Step::GivesWay;
            }
            Action::Send { to, value } => self.put(number, wire_at(to), value),
            Action::SendAll { to, first, count } => {
                let wire = wire_at(to);
                // It may wait before each message.
                self.put(number, wire, first);
                if count > 1 {
                    let (first, count) = (first.wrapping_add(1), count - 1);
                    self.actors[number].pending = Some(Action::SendAll { to, first, count });
                }
            }
            Action::Recv { from } => {
                let wire = wire_at(from);
                if !self.receive(number, wire, None) {
                    self.actors[number].pending = Some(action);
                    return Step::Waits;
                }
            }
            Action::RecvMany { from, count } => {
                let wire = wire_at(from);
                if !self.receive(number, wire, Some(count)) {
                    self.actors[number].pending = Some(action);
                    return Step::Waits;
                }
            }
            Action::Drop(place) => {
                if let Some(end) = self.actors[number].places[place].take() {
                    self.release(number, end);
                }
            }
            Action::Move { from, to } => {
                let end = self.actors[number].places[from].take();
                if let Some(old) = std::mem::replace(&mut self.actors[number].places[to], end) {
                    self.release(number, old);
                }
            }
            Action::Flush => {}
            Action::Effect(value) => self.actors[number].effects.push(value),
            Action::Channel { channel, sender, receiver } => {
                let count = self.actors[number].channels;
                self.actors[number].channels += 1;
                let name = format!("{}.c{count}", self.actors[number].name);
                let wire = self.wire(name, channel.initial);
                for (place, held) in [(sender, Held::Sender), (receiver, Held::Receiver)] {
                    if let Some(end) = self.actors[number].places[place].replace((held, wire)) {
                        self.release(number, end);
                    }
                    self.own(number, held, wire);
                }
                self.actors[number].had_sender = true;
            }
            Action::Create { child, gives, state } => {
                let count = self.actors[number].children;
                self.actors[number].children += 1;
                let name = format!("{}.{count}", self.actors[number].name);
                let actor = &mut self.actors[number];
                let given = gives.iter().map(|&place| {
                    actor.machine.give(place);
                    actor.places[place].take()
                });
                let given = given.collect();
                self.actor(name, child, state, given);
            }
            // A party is no process, and returns nothing.
            Action::End(end) => {
                let party = self.actors[number].process.how() == How::Party;
                let finished = party || end == End::Leave;
                self.end(number, if finished { Fate::Finished } else { Fate::Failed });
            }
        }
        Step::Moved
    }

    /// Receives, or returns that it must wait.
    fn receive(&mut self, number: usize, wire: usize, many: Option<u64>) -> bool {
        let mistake = self.mistake;
        let wire = &mut self.wires[wire];
        let asked = many.unwrap_or(1);
        let short = (wire.queue.len() as u64) < asked;
        let takes_some = mistake == Some(Mistake::SomeOfMany) && !wire.queue.is_empty();
        if short && !takes_some {
            let Some(end) = wire.end else { return false };
            wire.seen_by.get_or_insert(number);
            if let Mark::Failed(root) = end
                && mistake != Some(Mistake::MarksAreEnds)
            {
                self.end(number, Fate::FailedWith(root));
                return true;
            }
        }
        let mut messages = Vec::new();
        while (messages.len() as u64) < asked
            && let Some(value) = wire.queue.pop_front()
        {
            messages.push(value);
        }
        wire.history.extend(&messages);
        if !messages.is_empty() && wire.queue.is_empty() {
            wire.received_by = Some(number);
        }
        let machine = &mut self.actors[number].machine;
        if many.is_some() {
            machine.received_many(&messages, asked);
        } else {
            machine.received(messages.first().copied());
        }
        true
    }

    /// The process that another waits for, if that waits for a message. One that is held back may have one.
    pub(super) fn awaited(&self, number: usize) -> Option<usize> {
        let actor = &self.actors[number];
        if actor.fate != Fate::Running {
            return None;
        }
        let (from, asked) = match actor.pending {
            Some(Action::Recv { from }) => (from, 1),
            Some(Action::RecvMany { from, count }) => (from, count),
            _ => return None,
        };
        let (_, wire) = actor.places[from]?;
        let wire = &self.wires[wire];
        wire.sender.filter(|_| (wire.queue.len() as u64) < asked)
    }

    /// Whether a process that gives way waits in a ring.
    fn is_in_ring(&self, number: usize) -> bool {
        let reader = |at: usize| match self.actors[at].pending {
            Some(Action::Send { to, .. } | Action::SendAll { to, .. }) => {
                let (_, wire) = self.actors[at].places.get(to).copied().flatten()?;
                self.wires[wire].receiver.filter(|_| self.is_full(wire))
            }
            _ => self.awaited(at),
        };
        let ring = std::iter::successors(reader(number), |&at| reader(at));
        ring.take(self.actors.len()).any(|at| at == number)
    }

    /// Notes the dead, and returns whether there are more.
    fn note_dead(&mut self) -> bool {
        let mut more = false;
        for first in 0..self.actors.len() {
            let mut at = first;
            let mut steps = 0;
            // A chain of waits as long as there are processes has come round.
            while let Some(next) = self.awaited(at)
                && steps <= self.actors.len()
            {
                at = next;
                steps += 1;
            }
            if steps > self.actors.len() && !self.actors[first].dead {
                self.actors[first].dead = true;
                more = true;
            }
        }
        more
    }

    /// Runs to the end; those in `late` only when no other can run, first those that are pruned; or
    /// when only such run that would for ever, with nothing to see them.
    pub(super) fn run(&mut self, late: &[&str]) -> Result<(), Unending> {
        let (mut steps, mut rounds) = (0, 0);
        loop {
            let is_late = |world: &Self, at: usize| late.contains(&world.actors[at].name.as_str());
            let (mut moved, mut goes_on) = (false, false);
            let mut giving_way = Vec::new();
            let mut at = 0;
            while at < self.actors.len() {
                // A few at a time, so that none is far ahead.
                for _ in 0..8 {
                    if self.actors[at].fate != Fate::Running || is_late(self, at) {
                        break;
                    }
                    match self.step(at, true) {
                        Step::Moved => {
                            moved = true;
                            goes_on |= self.is_for_itself(at);
                        }
                        Step::Waits => break,
                        Step::GivesWay => {
                            giving_way.push(at);
                            break;
                        }
                    }
                    steps += 1;
                    if steps > STEPS {
                        return Err(Unending::Long);
                    }
                }
                at += 1;
            }
            if self.narrow {
                for &at in &giving_way {
                    if self.is_in_ring(at) {
                        steps += 1;
                        moved |= self.step(at, false) == Step::Moved;
                    }
                }
                if steps > STEPS {
                    return Err(Unending::Long);
                }
            }
            rounds = if moved && !goes_on { rounds + 1 } else { 0 };
            if rounds < PATIENCE && (moved || self.note_dead()) {
                continue;
            }
            for &at in giving_way.iter().filter(|_| rounds < PATIENCE) {
                steps += 1;
                moved |= self.step(at, false) == Step::Moved;
            }
            let only_loops = rounds == PATIENCE;
            moved &= !only_loops;
            rounds %= PATIENCE;
            let running = |name: &&str| {
                let is = |actor: &Actor<'_>| actor.name == **name && actor.fate == Fate::Running;
                self.actors.iter().position(is)
            };
            let mut held_back: Vec<usize> = late.iter().filter_map(running).collect();
            // A process that is pruned now lets others be pruned that would run on otherwise.
            held_back.sort_by_key(|&at| !self.is_prunable(at));
            for at in held_back {
                if !moved {
                    steps += 1;
                    moved = self.step(at, true) == Step::Moved
                        || self.step(at, false) == Step::Moved
                        || self.note_dead();
                }
            }
            if steps > STEPS {
                return Err(Unending::Long);
            }
            if !moved && !only_loops {
                return Ok(());
            }
        }
    }
}
