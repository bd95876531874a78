//! Programs of process networks: what is drawn, interpreted, translated and shrunk.
//!
//! A process is straight-line code with loops over *places*, each of which holds one end of a
//! channel or nothing. A statement about an empty place does nothing, so each deletion from a
//! program leaves a program. A state of one number takes in all that is received, and all that is
//! sent comes from it: what a process receives decides what it does.

use std::fmt::{self, Display, Formatter};

/// Where a process keeps one end of a channel.
pub type Place = usize;

/// A network: its channels and the processes that are there at the start.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The channels; an end that no process holds is dropped before the start.
    pub channels: Vec<Channel>,
    /// The processes.
    pub processes: Vec<Process>,
}

/// What a channel is made with.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The capacity; none takes that of the run.
    pub capacity: Option<usize>,
    /// The messages in it when it is made: 1, 2, …
    pub initial: u64,
    /// The bytes on the heap of each message; none sends plain numbers.
    pub weight: Option<usize>,
    /// Whether the runtime compares its contents.
    pub digest: bool,
    /// Whether its messages have a written form.
    pub wire: bool,
}

/// How a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As a future on a worker.
    Async,
    /// On a thread of its own.
    Blocking,
    /// On a thread that is no process: an outside party.
    Party,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// How it runs.
    pub how: How,
    /// Whether it may create channels and processes; statements that do are nothing without.
    pub creates: bool,
    /// Whether it has declared effects; [`Statement::Effect`] is nothing without.
    pub effects: bool,
    /// What its places hold at the start. A child's are what it is given.
    pub ports: Vec<Port>,
    /// A local whose destructor sends here unless the body returns.
    pub guard: Option<Place>,
    /// What it does.
    pub body: Vec<Statement>,
}

/// An end of a channel of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The sending end.
    Sender(usize),
    /// The receiving end.
    Receiver(usize),
}

/// How a body ends before it has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Returns `Ok`.
    Leave,
    /// Returns an error.
    Fail,
    /// Panics.
    Panic,
}

/// What a process does.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Sends the state plus a number.
    Send {
        /// Where.
        to: Place,
        /// The number.
        add: u64,
    },
    /// Sends the state, the state plus one, …, in one operation.
    SendAll {
        /// Where.
        to: Place,
        /// How many.
        count: u64,
    },
    /// Receives one message, or the end, into the state.
    Recv {
        /// From where.
        from: Place,
    },
    /// Receives so many messages, fewer only at the end, into the state.
    RecvMany {
        /// From where.
        from: Place,
        /// How many.
        count: u64,
    },
    /// Receives until the end, and does the body after each message.
    While {
        /// From where.
        from: Place,
        /// What is done with each.
        body: Vec<Statement>,
    },
    /// Repeats the body.
    Loop {
        /// How often.
        times: u64,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// Repeats the body until a round of it sends and receives nothing.
    Forever {
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// Does the body if the state is a multiple.
    If {
        /// Of what.
        modulus: u64,
        /// What is done.
        body: Vec<Statement>,
    },
    /// Adds to the state.
    Add(u64),
    /// Drops an end.
    Drop(Place),
    /// Moves an end; the one that was there is dropped.
    Move {
        /// From where.
        from: Place,
        /// To where.
        to: Place,
    },
    /// Makes what was sent visible.
    Flush,
    /// Does what the process has declared: appends the state to its own log.
    Effect,
    /// Makes a channel; ends that the places held are dropped.
    Channel {
        /// What it is made with.
        channel: Channel,
        /// Where its sender goes.
        sender: Place,
        /// Where its receiver goes.
        receiver: Place,
    },
    /// Creates a process that begins with this process's state.
    Create {
        /// The process.
        child: Box<Process>,
        /// The places whose ends it is given, in order of its own.
        gives: Vec<Place>,
    },
    /// Ends the body.
    End(End),
}

impl Statement {
    /// The statements within.
    pub fn body(&self) -> Option<&Vec<Self>> {
        match self {
            Self::While { body, .. }
            | Self::Loop { body, .. }
            | Self::Forever { body }
            | Self::If { body, .. } => Some(body),
            Self::Create { child, .. } => Some(&child.body),
            _ => None,
        }
    }

    /// The statements within, to be changed.
    pub fn body_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::While { body, .. }
            | Self::Loop { body, .. }
            | Self::Forever { body }
            | Self::If { body, .. } => Some(body),
            Self::Create { child, .. } => Some(&mut child.body),
            _ => None,
        }
    }
}

impl Display for Channel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("channel(")?;
        match self.capacity {
            Some(capacity) => write!(f, "capacity {capacity}")?,
            None => f.write_str("the run's capacity")?,
        }
        if self.initial > 0 {
            write!(f, ", {} initial", self.initial)?;
        }
        if let Some(weight) = self.weight {
            write!(f, ", vectors of {weight} bytes")?;
        }
        f.write_str(if self.digest { ", digest" } else { "" })?;
        f.write_str(if self.wire { ", written)" } else { ")" })
    }
}

fn lines(f: &mut Formatter<'_>, body: &[Statement], depth: usize) -> fmt::Result {
    let pad = "    ".repeat(depth);
    for statement in body {
        f.write_str(&pad)?;
        match statement {
            Statement::Send { to, add } => writeln!(f, "{to}.send(x + {add})")?,
            Statement::SendAll { to, count } => writeln!(f, "{to}.send_all(x .. x + {count})")?,
            Statement::Recv { from } => writeln!(f, "x.take({from}.recv())")?,
            Statement::RecvMany { from, count } => {
                writeln!(f, "x.take({from}.recv_many({count}))")?;
            }
            Statement::While { from, .. } => writeln!(f, "while x.take({from}.recv()) {{")?,
            Statement::Loop { times, .. } => writeln!(f, "repeat {times} {{")?,
            Statement::Forever { .. } => writeln!(f, "forever {{")?,
            Statement::If { modulus, .. } => writeln!(f, "if x % {modulus} == 0 {{")?,
            Statement::Add(add) => writeln!(f, "x += {add}")?,
            Statement::Drop(place) => writeln!(f, "drop {place}")?,
            Statement::Move { from, to } => writeln!(f, "{to} = {from}")?,
            Statement::Flush => writeln!(f, "flush")?,
            Statement::Effect => writeln!(f, "effect(x)")?,
            Statement::Channel { channel, sender, receiver } => {
                writeln!(f, "({sender}, {receiver}) = {channel}")?;
            }
            Statement::Create { child, gives } => {
                writeln!(f, "create {} given {gives:?} {{", child.kind())?;
            }
            Statement::End(End::Leave) => writeln!(f, "return Ok")?,
            Statement::End(End::Fail) => writeln!(f, "return Err")?,
            Statement::End(End::Panic) => writeln!(f, "panic")?,
        }
        if let Some(body) = statement.body() {
            lines(f, body, depth + 1)?;
            writeln!(f, "{pad}}}")?;
        }
    }
    Ok(())
}

impl Process {
    /// How it runs: a party without ends is none.
    pub fn how(&self) -> How {
        if self.how == How::Party && self.ports.is_empty() { How::Async } else { self.how }
    }

    fn kind(&self) -> String {
        let mut kind = match self.how() {
            How::Async => "async",
            How::Blocking => "blocking",
            How::Party => "party",
        }
        .to_owned();
        for (it, word) in [(self.creates, ", creates"), (self.effects, ", effects")] {
            if it {
                kind.push_str(word);
            }
        }
        if let Some(place) = self.guard {
            use std::fmt::Write as _;
            // Writing to a string does not fail.
            let _ = write!(kind, ", destructor sends to {place}");
        }
        kind
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, channel) in self.channels.iter().enumerate() {
            writeln!(f, "c{number} = {channel}")?;
        }
        for (number, process) in self.processes.iter().enumerate() {
            write!(f, "p{number}: {}, places", process.kind())?;
            for (place, port) in process.ports.iter().enumerate() {
                match port {
                    Port::Sender(channel) => write!(f, " {place} = sender of c{channel}")?,
                    Port::Receiver(channel) => write!(f, " {place} = receiver of c{channel}")?,
                }
            }
            writeln!(f, " {{")?;
            lines(f, &process.body, 1)?;
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}
