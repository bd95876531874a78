//! The ends of cut channels on one rank: credit, what comes and what goes.
//!
//! The window of a channel is its capacity, which every rank knows alike. Messages are numbered from 0; initial
//! ones lie on both sides and are not among them. Counted in messages:
//!
//! | | the sender's rank | the receiver's rank |
//! |---|---|---|
//! | `sent` | gave to the transport | |
//! | `arrived` | | came, and are queued or taken |
//! | `taken` | | are in the channel here |
//! | `granted` | may be sent | may come; at most `taken` + window |
//!
//! *What a rank keeps for a channel is bounded.* `sent` ≤ `granted` on the sender's rank ≤ `granted` on the
//! receiver's, for it travels one way and only grows. So `arrived` − `taken` ≤ window; a message beyond is refused
//! before it is kept, and so is one that is not the next.
//!
//! *No grant is withheld that a sender waits for.* Room is granted again when half a window is taken, and when all
//! that has come is taken. If the sender's rank has sent all that it may, and all of it has come and was taken,
//! the second has granted more. If it was not taken, the receiver's process has not taken what the channel here
//! holds, and the sender waits for it rightly.
//!
//! A blocked channel holds up no other: each has its queue, and the transport's bytes are always taken.

use crate::chase::Counts;
use crate::frame::{Frame, Input};
use crate::placement::{Placement, RankTable, digests};
use kahn::ranks::{Arrival, Chain, CutEnd, Joint, Links, Local, Shape};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What one rank has of the channels that are cut.
pub(crate) struct RankLinks {
    rank: usize,
    ranks: usize,
    placement: Placement,
    /// The files that the network depends on, before it runs.
    pub(crate) inputs: Mutex<Vec<Input>>,
    state: Mutex<State>,
    /// Has the thread look that speaks with other ranks.
    ring: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for RankLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankLinks").field("rank", &self.rank).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    table: RankTable,
    ways: Vec<Way>,
    /// Frames that are to go to each rank.
    out: Vec<Vec<u8>>,
    sent: u64,
    received: u64,
    hello: (Vec<u32>, Vec<u32>),
    stage: Stage,
    refusal: Option<Refusal>,
    /// What ran here, when it is over.
    told: Option<Told>,
}

/// What a rank tells when the run is over.
#[derive(Debug)]
pub(crate) enum Told {
    /// What ran there; nothing of rank 0, which has it.
    Ran(Vec<u8>),
    NotRun(String),
}

/// How far the network of this rank has come.
#[derive(Clone, Default)]
pub(crate) enum Stage {
    /// It has not begun to run.
    #[default]
    Before,
    /// It runs, or has run.
    Begun(Arc<dyn Local>),
    /// It will not run.
    Never,
}

/// What a rank was sent that is not right, or could not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) channel: Option<u32>,
    pub(crate) what: String,
}

/// What this rank has of a channel.
enum Way {
    /// Nothing: it is not cut, or joins two other ranks.
    None,
    To(Sending),
    From(Receiving),
}

impl Way {
    /// What the link has counted, if the channel goes on.
    fn counts(&self) -> Option<Counts> {
        match *self {
            Self::To(Sending { sent, granted, has_closed: false, has_left: false, .. }) => {
                Some(Counts::Up { sent, granted })
            }
            Self::From(Receiving {
                arrived, taken, granted, end: None, has_left: false, ..
            }) => Some(Counts::Down { arrived, taken, granted }),
            Self::To(_) | Self::From(_) | Self::None => None,
        }
    }
}

/// The sender is here.
struct Sending {
    to: usize,
    window: u64,
    sent: u64,
    granted: u64,
    has_closed: bool,
    /// Nothing receives any more.
    has_left: bool,
    waker: Option<Waker>,
}

/// The receiver is here.
struct Receiving {
    from: usize,
    window: u64,
    queue: VecDeque<Vec<u8>>,
    arrived: u64,
    taken: u64,
    granted: u64,
    /// How the channel has ended, behind what is queued.
    end: Option<Arrival>,
    has_left: bool,
    waker: Option<Waker>,
}

impl RankLinks {
    pub(crate) fn new(
        rank: usize,
        ranks: usize,
        placement: Placement,
        ring: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let state = State { out: vec![Vec::new(); ranks], ..State::default() };
        let inputs = Mutex::default();
        Self { rank, ranks, placement, inputs, state: Mutex::new(state), ring }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    pub(crate) fn stage(&self) -> Stage {
        self.state.lock().stage.clone()
    }

    /// The network will not run on this rank, if it has not begun.
    pub(crate) fn give_up(&self) {
        let mut state = self.state.lock();
        if matches!(state.stage, Stage::Before) {
            state.stage = Stage::Never;
        }
        drop(state);
        (self.ring)();
    }

    /// Takes what is told of this rank when the run is over.
    pub(crate) fn tell(&self, told: Told) {
        self.state.lock().told = Some(told);
        self.give_up();
    }

    pub(crate) fn take_told(&self) -> Option<Told> {
        self.state.lock().told.take()
    }

    /// Which network this rank has built.
    pub(crate) fn hello(&self) -> (Vec<u32>, Vec<u32>) {
        self.state.lock().hello.clone()
    }

    /// The names that belong to the first difference of a network that another rank has built.
    pub(crate) fn name_of_process(&self, place: usize) -> Option<String> {
        self.state.lock().table.process(place)
    }

    pub(crate) fn name_of_channel(&self, place: usize) -> Option<String> {
        self.state.lock().table.channel(place)
    }

    /// Counted frames that were sent and received.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.sent, state.received)
    }

    /// Says something to a rank.
    pub(crate) fn say(&self, to: usize, frame: &Frame<'_>) {
        frame.write(&mut self.state.lock().out[to]);
    }

    /// Takes what is to go to a rank.
    pub(crate) fn take_out(&self, to: usize, into: &mut Vec<u8>) {
        into.clear();
        std::mem::swap(into, &mut self.state.lock().out[to]);
    }

    pub(crate) fn take_refusal(&self) -> Option<Refusal> {
        self.state.lock().refusal.take()
    }

    fn refuse(&self, channel: Option<u32>, what: String) {
        self.state.lock().refusal.get_or_insert(Refusal { channel, what });
        (self.ring)();
    }

    /// What the links at the first and the last end of a chain have counted, if it may be one of a ring.
    pub(crate) fn counts_of(&self, chain: &Chain) -> Option<(u64, u64)> {
        let state = self.state.lock();
        let counts = |end: CutEnd| state.ways.get(end.channel)?.counts();
        Some((counts(chain.from)?.of_first(), counts(chain.to)?.of_last()?))
    }

    /// Takes a counted frame that a rank has sent.
    pub(crate) fn take(&self, from: usize, frame: &Frame<'_>) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        let State { ways, received, stage, .. } = &mut *state;
        let mut left = None;
        let waker = match *frame {
            Frame::Message { channel, number, message } => {
                let way = receiving(ways, channel, from)?;
                way.take(channel, number, message)?;
                way.waker.take()
            }
            Frame::Close { channel, messages, has_failed } => {
                let way = receiving(ways, channel, from)?;
                if way.end.is_some() || messages != way.arrived {
                    let arrived = way.arrived;
                    return Err(wrong(
                        channel,
                        format!("an end after {messages} messages of {arrived}"),
                    ));
                }
                way.end = Some(if has_failed { Arrival::Failure } else { Arrival::End });
                way.waker.take()
            }
            Frame::Room { channel, messages } => {
                let way = sending(ways, channel, from)?;
                if messages <= way.granted || messages > way.sent + way.window {
                    return Err(wrong(channel, format!("room for {messages} messages")));
                }
                way.granted = messages;
                way.waker.take()
            }
            Frame::Left { channel } => {
                let way = sending(ways, channel, from)?;
                if std::mem::replace(&mut way.has_left, true) {
                    return Err(wrong(channel, "that its reader has left, twice".to_owned()));
                }
                left = Some(channel as usize);
                way.waker.take()
            }
            _ => return Err(Refusal { channel: None, what: "a frame that is not counted".into() }),
        };
        *received += 1;
        let stage = stage.clone();
        drop(state);
        // Before it is woken: then it is known that it is to end.
        if let (Some(channel), Stage::Begun(local)) = (left, stage) {
            local.reader_left(channel);
        }
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }
}

fn wrong(channel: u32, what: String) -> Refusal {
    Refusal { channel: Some(channel), what }
}

fn not_there(channel: u32) -> Refusal {
    Refusal { channel: None, what: format!("a channel that is not there: {channel}") }
}

fn receiving(ways: &mut [Way], channel: u32, from: usize) -> Result<&mut Receiving, Refusal> {
    match ways.get_mut(channel as usize) {
        Some(Way::From(way)) if way.from == from => Ok(way),
        Some(_) => Err(wrong(channel, format!("what rank {from} does not send"))),
        None => Err(not_there(channel)),
    }
}

fn sending(ways: &mut [Way], channel: u32, from: usize) -> Result<&mut Sending, Refusal> {
    match ways.get_mut(channel as usize) {
        Some(Way::To(way)) if way.to == from => Ok(way),
        Some(_) => Err(wrong(channel, format!("what rank {from} does not receive"))),
        None => Err(not_there(channel)),
    }
}

impl Receiving {
    fn take(&mut self, channel: u32, number: u64, message: &[u8]) -> Result<(), Refusal> {
        if number != self.arrived || self.end.is_some() {
            let next = self.arrived;
            return Err(wrong(channel, format!("message {number}, and the next is {next}")));
        }
        if number >= self.granted {
            return Err(wrong(channel, format!("message {number}, for which there is no room")));
        }
        self.arrived += 1;
        if !self.has_left {
            self.queue.push_back(message.to_vec());
        }
        Ok(())
    }
}

impl Links for RankLinks {
    fn places(&self, shape: &Shape) -> Result<Vec<usize>, String> {
        let table = self.placement.table(shape, self.ranks).map_err(|error| error.to_string())?;
        let ranks = table.ranks.clone();
        let way = |joint: &Joint| {
            let (from, to) = (ranks[joint.from], ranks[joint.to]);
            let window = u64::from(joint.capacity.max(1));
            if from == to {
                Way::None
            } else if from == self.rank {
                Way::To(Sending {
                    to,
                    window,
                    sent: 0,
                    granted: window,
                    has_closed: false,
                    has_left: false,
                    waker: None,
                })
            } else if to == self.rank {
                Way::From(Receiving {
                    from,
                    window,
                    queue: VecDeque::new(),
                    arrived: 0,
                    taken: 0,
                    granted: window,
                    end: None,
                    has_left: false,
                    waker: None,
                })
            } else {
                Way::None
            }
        };
        let mut state = self.state.lock();
        state.ways = shape.channels.iter().map(way).collect();
        let process =
            |(place, rank): (usize, &usize)| (shape.processes[place].name.to_string(), *rank);
        let channel = |joint: &Joint| {
            let Joint { name, from, to, has_written_form, capacity } = joint;
            (name.to_string(), *from, *to, *has_written_form, *capacity)
        };
        state.hello = (
            digests(ranks.iter().enumerate().map(process)),
            digests(shape.channels.iter().map(channel)),
        );
        state.table = table;
        Ok(ranks)
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn begins(&self, local: Arc<dyn Local>) {
        self.state.lock().stage = Stage::Begun(local);
        (self.ring)();
    }

    fn poll_room(&self, channel: usize, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        let Some(Way::To(way)) = state.ways.get_mut(channel) else { return Poll::Pending };
        // If nothing receives, the process that asks is to end.
        if way.sent < way.granted || way.has_left {
            return Poll::Ready(());
        }
        way.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn sends(&self, channel: usize, message: &[u8]) {
        let mut state = self.state.lock();
        let State { ways, out, sent, .. } = &mut *state;
        let Some(Way::To(way)) = ways.get_mut(channel) else { return };
        if way.has_left {
            return;
        }
        let to = &mut out[way.to];
        let was_empty = to.is_empty();
        Frame::Message { channel: number(channel), number: way.sent, message }.write(to);
        way.sent += 1;
        *sent += 1;
        drop(state);
        if was_empty {
            (self.ring)();
        }
    }

    fn closes(&self, channel: usize, has_failed: bool) {
        let mut state = self.state.lock();
        let State { ways, out, sent, .. } = &mut *state;
        let Some(Way::To(way)) = ways.get_mut(channel) else { return };
        if std::mem::replace(&mut way.has_closed, true) {
            return;
        }
        let (channel, messages) = (number(channel), way.sent);
        Frame::Close { channel, messages, has_failed }.write(&mut out[way.to]);
        *sent += 1;
        drop(state);
        (self.ring)();
    }

    fn poll_next(
        &self,
        channel: usize,
        into: &mut Vec<u8>,
        context: &mut Context<'_>,
    ) -> Poll<Arrival> {
        let mut state = self.state.lock();
        let Some(Way::From(way)) = state.ways.get_mut(channel) else { return Poll::Pending };
        if let Some(message) = way.queue.pop_front() {
            into.extend(message);
            return Poll::Ready(Arrival::Message);
        }
        if let Some(end) = way.end {
            return Poll::Ready(end);
        }
        way.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn takes(&self, channel: usize) {
        let mut state = self.state.lock();
        let State { ways, out, sent, .. } = &mut *state;
        let Some(Way::From(way)) = ways.get_mut(channel) else { return };
        way.taken += 1;
        let more = way.taken + way.window - way.granted;
        let is_due = way.queue.is_empty() || more >= way.window.div_ceil(2);
        if !is_due || way.end.is_some() || way.has_left {
            return;
        }
        way.granted += more;
        let messages = way.granted;
        Frame::Room { channel: number(channel), messages }.write(&mut out[way.from]);
        *sent += 1;
        drop(state);
        (self.ring)();
    }

    fn departs(&self, channel: usize) {
        let mut state = self.state.lock();
        let State { ways, out, sent, .. } = &mut *state;
        let Some(Way::From(way)) = ways.get_mut(channel) else { return };
        if std::mem::replace(&mut way.has_left, true) {
            return;
        }
        way.queue.clear();
        Frame::Left { channel: number(channel) }.write(&mut out[way.from]);
        *sent += 1;
        drop(state);
        (self.ring)();
    }

    fn refuses(&self, channel: usize, why: String) {
        self.refuse(Some(number(channel)), why);
    }

    fn may_rest(&self) {
        (self.ring)();
    }
}

/// A channel's place, as frames have it.
fn number(channel: usize) -> u32 {
    u32::try_from(channel).expect("a network has fewer than 2^32 channels")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::ranks::Member;

    /// The links of rank 1, to which rank 0 sends on channel 0, and which sends to rank 2 on channel 1.
    fn links() -> RankLinks {
        let joint = |number: usize| Joint {
            name: format!("c{number}").into(),
            from: number,
            to: number + 1,
            has_written_form: true,
            capacity: 2,
        };
        let member =
            |place: usize| Member { name: format!("p{place}").into(), stays: None, rank: None };
        let shape = Shape {
            processes: (0..3).map(member).collect(),
            channels: (0..2).map(joint).collect(),
        };
        let placement = Placement::new().at("p0", 0).at("p1", 1).at("p2", 2);
        let links = RankLinks::new(1, 3, placement, Box::new(|| {}));
        assert_eq!(links.places(&shape), Ok(vec![0, 1, 2]));
        links
    }

    fn message(channel: u32, number: u64) -> Frame<'static> {
        Frame::Message { channel, number, message: b"m" }
    }

    #[test]
    fn what_is_not_right_is_refused_before_it_is_kept() {
        let refused = |frames: &[(usize, Frame<'static>)]| {
            let links = links();
            let (last, before) = frames.split_last().expect("there is one");
            for (from, frame) in before {
                assert_eq!(links.take(*from, frame), Ok(()));
            }
            let refusal = links.take(last.0, &last.1).expect_err("it is not right");
            assert_eq!(links.counts().1, before.len() as u64);
            (refusal.channel, refusal.what)
        };
        let close = |messages| Frame::Close { channel: 0, messages, has_failed: false };
        let room = |messages| Frame::Room { channel: 1, messages };
        let of = |channel: u32, what: &str| (Some(channel), what.to_owned());
        assert_eq!(refused(&[(0, message(0, 1))]), of(0, "message 1, and the next is 0"));
        assert_eq!(refused(&[(2, message(0, 0))]), of(0, "what rank 2 does not send"));
        assert_eq!(refused(&[(0, message(1, 0))]), of(1, "what rank 0 does not send"));
        let two = [(0, message(0, 0)), (0, message(0, 1)), (0, message(0, 2))];
        assert_eq!(refused(&two), of(0, "message 2, for which there is no room"));
        assert_eq!(refused(&[(0, close(1))]), of(0, "an end after 1 messages of 0"));
        assert_eq!(
            refused(&[(0, close(0)), (0, message(0, 0))]),
            of(0, "message 0, and the next is 0")
        );
        assert_eq!(refused(&[(2, room(3))]), of(1, "room for 3 messages"));
        assert_eq!(refused(&[(2, room(2))]), of(1, "room for 2 messages"));
        assert_eq!(refused(&[(0, room(1))]), of(1, "what rank 0 does not receive"));
        let left = Frame::Left { channel: 1 };
        assert_eq!(
            refused(&[(2, left.clone()), (2, left)]),
            of(1, "that its reader has left, twice")
        );
        let nowhere = refused(&[(0, message(9, 0))]);
        assert_eq!(nowhere, (None, "a channel that is not there: 9".to_owned()));
    }

    #[test]
    fn room_is_granted_when_half_is_taken_or_all() {
        let links = links();
        let waker = Waker::noop();
        let mut context = Context::from_waker(waker);
        let granted = |links: &RankLinks| {
            let mut bytes = Vec::new();
            links.take_out(0, &mut bytes);
            let mut incoming = crate::frame::Incoming::default();
            incoming.bytes = bytes;
            match incoming.next().expect("it was written so") {
                Some(Frame::Room { messages, .. }) => Some(messages),
                _ => None,
            }
        };
        for number in 0..2 {
            links.take(0, &message(0, number)).expect("there is room");
        }
        let mut into = Vec::new();
        for expected in [3, 4] {
            assert!(links.poll_next(0, &mut into, &mut context).is_ready());
            assert_eq!(granted(&links), None);
            links.takes(0);
            assert_eq!(granted(&links), Some(expected));
        }
        assert!(links.poll_next(0, &mut into, &mut context).is_pending());
        // The sender's side: the window is two.
        for _ in 0..2 {
            assert!(links.poll_room(1, &mut context).is_ready());
            links.sends(1, b"m");
        }
        assert!(links.poll_room(1, &mut context).is_pending());
        links.take(2, &Frame::Room { channel: 1, messages: 3 }).expect("it is granted");
        assert!(links.poll_room(1, &mut context).is_ready());
    }
}
