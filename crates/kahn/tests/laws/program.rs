//! Straight programs as data: what random networks are made of.

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
