//! The sequential half of a process: which operation comes next.
//!
//! The interpreter and the translation share it: it knows loops and arithmetic and nothing of
//! channels. What an operation *means* is told twice.

use super::program::{Channel, End, Place, Process, Statement};

/// What a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Nothing,
    Sender,
    Receiver,
}

/// The next thing that a process does.
#[derive(Debug)]
pub(crate) enum Action<'p> {
    Send { to: Place, value: u64 },
    SendAll { to: Place, first: u64, count: u64 },
    Recv { from: Place },
    RecvMany { from: Place, count: u64 },
    Drop(Place),
    Move { from: Place, to: Place },
    Flush,
    Effect(u64),
    Channel { channel: &'p Channel, sender: Place, receiver: Place },
    Create { child: &'p Process, gives: &'p [Place], state: u64 },
    End(End),
}

#[derive(Debug)]
enum Repeat {
    Once,
    Times(u64),
    Forever(u64),
    While(Place),
}

#[derive(Debug)]
struct Frame<'p> {
    body: &'p [Statement],
    at: usize,
    repeat: Repeat,
}

/// A process between two operations.
#[derive(Debug)]
pub(crate) struct Machine<'p> {
    process: &'p Process,
    frames: Vec<Frame<'p>>,
    state: u64,
    places: Vec<Held>,
    /// Messages sent and received, by which a round of `Forever` is judged.
    moved: u64,
    /// Whether the receive under way is that of a `While`.
    in_while: bool,
}

/// More places than a program names.
pub(crate) const PLACES: usize = 16;

fn mixed(state: u64, value: u64) -> u64 {
    (state ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17) % 1_000_003
}

impl<'p> Machine<'p> {
    /// Begins a process whose places hold these.
    pub(crate) fn new(process: &'p Process, state: u64, held: &[Held]) -> Self {
        let mut places = vec![Held::Nothing; PLACES];
        places[..held.len()].copy_from_slice(held);
        let frames = vec![Frame { body: &process.body, at: 0, repeat: Repeat::Once }];
        Self { process, frames, state, places, moved: 0, in_while: false }
    }

    fn holds(&self, place: Place, what: Held) -> bool {
        self.places.get(place) == Some(&what)
    }

    /// Returns what comes next, after the last one has been done.
    pub(crate) fn next(&mut self) -> Action<'p> {
        loop {
            let Some(frame) = self.frames.last_mut() else { return Action::End(End::Leave) };
            let Some(statement) = frame.body.get(frame.at) else {
                if let Some(action) = self.round() {
                    return action;
                }
                continue;
            };
            frame.at += 1;
            if let Some(action) = self.action(statement) {
                return action;
            }
        }
    }

    /// Ends a round of the innermost body.
    fn round(&mut self) -> Option<Action<'p>> {
        let moved = self.moved;
        let frame = self.frames.last_mut()?;
        match &mut frame.repeat {
            Repeat::Times(left) if *left > 1 => {
                *left -= 1;
                frame.at = 0;
            }
            Repeat::Forever(before) if *before != moved => {
                *before = moved;
                frame.at = 0;
            }
            &mut Repeat::While(from) if self.places[from] == Held::Receiver => {
                self.in_while = true;
                return Some(Action::Recv { from });
            }
            _ => {
                self.frames.pop();
            }
        }
        None
    }

    fn action(&mut self, statement: &'p Statement) -> Option<Action<'p>> {
        let state = self.state;
        match *statement {
            Statement::Send { to, add } if self.holds(to, Held::Sender) => {
                self.moved += 1;
                Some(Action::Send { to, value: state.wrapping_add(add) })
            }
            Statement::SendAll { to, count } if self.holds(to, Held::Sender) => {
                self.moved += count;
                Some(Action::SendAll { to, first: state, count })
            }
            Statement::Recv { from } if self.holds(from, Held::Receiver) => {
                Some(Action::Recv { from })
            }
            Statement::RecvMany { from, count } if self.holds(from, Held::Receiver) => {
                Some(Action::RecvMany { from, count })
            }
            Statement::While { from, ref body } if self.holds(from, Held::Receiver) => {
                self.enter(body, body.len(), Repeat::While(from))
            }
            Statement::Loop { times, ref body } if times > 0 => {
                self.enter(body, 0, Repeat::Times(times))
            }
            Statement::Forever { ref body } => self.enter(body, 0, Repeat::Forever(self.moved)),
            Statement::If { modulus, ref body } if state.is_multiple_of(modulus) => {
                self.enter(body, 0, Repeat::Once)
            }
            Statement::Add(add) => {
                self.state = mixed(state, add);
                None
            }
            Statement::Drop(place) if self.places.get(place) != Some(&Held::Nothing) => {
                self.places[place] = Held::Nothing;
                Some(Action::Drop(place))
            }
            Statement::Move { from, to }
                if from != to && self.places.get(from) != Some(&Held::Nothing) =>
            {
                self.places[to] = std::mem::replace(&mut self.places[from], Held::Nothing);
                Some(Action::Move { from, to })
            }
            Statement::Flush => Some(Action::Flush),
            Statement::Effect if self.process.effects => Some(Action::Effect(state)),
            Statement::Channel { ref channel, sender, receiver }
                if self.process.creates && sender != receiver =>
            {
                self.places[sender] = Held::Sender;
                self.places[receiver] = Held::Receiver;
                Some(Action::Channel { channel, sender, receiver })
            }
            Statement::Create { ref child, ref gives } if self.process.creates => {
                Some(Action::Create { child, gives, state })
            }
            Statement::End(end) => Some(Action::End(end)),
            _ => None,
        }
    }

    fn enter(&mut self, body: &'p [Statement], at: usize, repeat: Repeat) -> Option<Action<'p>> {
        self.frames.push(Frame { body, at, repeat });
        None
    }

    /// Notes that a place has been given away, and what it held.
    pub(crate) fn give(&mut self, place: Place) -> Held {
        match self.places.get_mut(place) {
            Some(held) => std::mem::replace(held, Held::Nothing),
            None => Held::Nothing,
        }
    }

    /// Takes in what a receive returned.
    pub(crate) fn received(&mut self, message: Option<u64>) {
        let in_while = std::mem::take(&mut self.in_while);
        match message {
            Some(value) => {
                self.moved += 1;
                self.state = mixed(self.state, value);
                if in_while && let Some(frame) = self.frames.last_mut() {
                    frame.at = 0;
                }
            }
            None if in_while => {
                self.frames.pop();
            }
            None => self.state = mixed(self.state, u64::MAX),
        }
    }

    /// Takes in what a receive of many returned, of as many as it asked for.
    pub(crate) fn received_many(&mut self, messages: &[u64], asked: u64) {
        for &value in messages {
            self.received(Some(value));
        }
        if (messages.len() as u64) < asked {
            self.received(None);
        }
    }
}
