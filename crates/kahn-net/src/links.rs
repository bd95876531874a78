//! The ends of cut channels on one rank, as its processes and the other ranks use them: what comes and what goes.
//!
//! A batch of messages is written and counted under one lock, and where it comes, it takes one lock and one wake-up.

use crate::alike::Gate;
use crate::files::Input;
use crate::frame::{Frame, VERSION};
use crate::placement::{Placement, RankTable, digests};
use crate::waits::AskedWaits;
use crate::watch::Watch;
use crate::way::{Refusal, Way, receiving, sending};
use kahn::ranks::{
    Arrival, Batch, Carried, Chain, CutEnd, Driver, Joint, Links, Local, Shape, Standing,
};
use parking_lot::Mutex;
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
    pub(crate) gate: Gate,
    /// What sees this rank, set before it runs.
    pub(crate) watch: Mutex<Option<Arc<dyn Watch>>>,
    /// What waits on the other ranks, if this is the first.
    pub(crate) waits: AskedWaits,
    /// What speaks with other ranks, if the worker here may do that.
    pub(crate) driver: Mutex<Option<Arc<dyn Driver>>>,
    state: Mutex<State>,
    /// Has the thread look that speaks with other ranks.
    pub(crate) ring: Box<dyn Fn() + Send + Sync>,
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
    /// What ran here, when it is over, and whether that was ever there.
    told: Option<Told>,
    has_told: bool,
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

impl RankLinks {
    pub(crate) fn new(
        rank: usize,
        ranks: usize,
        placement: Placement,
        ring: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let state = State { out: vec![Vec::new(); ranks], ..State::default() };
        let (inputs, gate, watch, waits, driver) = Default::default();
        let state = Mutex::new(state);
        Self { rank, ranks, placement, inputs, gate, watch, waits, driver, state, ring }
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

    /// Whether the network has not begun to run, for files are compared on another rank.
    fn is_held(&self) -> bool {
        !self.inputs.lock().is_empty() && self.gate.holds()
    }

    /// Has the loop look what there is to do.
    pub(crate) fn look(&self) {
        (self.ring)();
    }

    /// Takes what is told of this rank when the run is over.
    pub(crate) fn tell(&self, told: Told) {
        let mut state = self.state.lock();
        (state.told, state.has_told) = (Some(told), true);
        drop(state);
        self.give_up();
    }

    /// Whether nothing happens on this rank until something comes from another, or by a clock, of which `may_wait`
    /// says whether it is waited for.
    pub(crate) fn is_at_rest(&self, may_wait: impl FnOnce() -> bool) -> bool {
        let state = self.state.lock();
        let (stage, has_told) = (state.stage.clone(), state.has_told);
        drop(state);
        match stage {
            Stage::Before => false,
            Stage::Never => has_told,
            Stage::Begun(_) if self.is_held() => true,
            Stage::Begun(local) => match local.rest() {
                Standing::Runs => false,
                Standing::Waits => may_wait(),
                Standing::Rests => true,
                Standing::Finished | Standing::Ended => has_told,
            },
        }
    }

    /// Takes it if it is there and may go.
    pub(crate) fn take_told(&self, may_go: impl FnOnce() -> bool) -> Option<Told> {
        self.state.lock().told.take_if(|_| may_go())
    }

    /// How the network of another rank, in this version, differs from what was built here, if it does.
    pub(crate) fn compare(
        &self,
        version: u32,
        processes: &[u32],
        channels: &[u32],
    ) -> Option<String> {
        let own = self.hello();
        let first = |own: &[u32], other: &[u32]| {
            let place = own.iter().zip(other).position(|(own, other)| own != other);
            place.or_else(|| (own.len() != other.len()).then(|| own.len().min(other.len())))
        };
        let named = |name: Option<String>, kind: &str| match name {
            Some(name) => format!("{kind} `{name}` is another there, or placed elsewhere"),
            None => format!("there is one {kind} more"),
        };
        if version != VERSION {
            let what = format!("it is of version {version}, and this one of version {VERSION}");
            return Some(what);
        }
        let process = || Some(named(self.name_of_process(first(&own.0, processes)?), "process"));
        let channel = || Some(named(self.name_of_channel(first(&own.1, channels)?), "channel"));
        process().or_else(channel)
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
            Frame::Messages { channel, number, count, asks, messages } => {
                let way = receiving(ways, channel, from)?;
                way.take(channel, number, (count, asks), messages)?;
                way.waker.take()
            }
            Frame::Close { channel, messages, has_failed } => {
                let way = receiving(ways, channel, from)?;
                way.take_end(channel, messages, has_failed)?;
                way.waker.take()
            }
            Frame::Room { channel, taken } => {
                let way = sending(ways, channel, from)?;
                way.hear(channel, taken)?;
                way.waker.take()
            }
            Frame::Left { channel } => {
                let way = sending(ways, channel, from)?;
                way.leave(channel)?;
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

impl Links for RankLinks {
    fn places(&self, shape: &Shape) -> Result<Vec<usize>, String> {
        let table = self.placement.table(shape, self.ranks).map_err(|error| error.to_string())?;
        let ranks = table.ranks.clone();
        let way = |joint: &Joint| {
            let (from, to) = (ranks[joint.from], ranks[joint.to]);
            Way::between(from, to, self.rank, joint.capacity.max(1).into())
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
        self.look();
        if !self.inputs.lock().is_empty() {
            self.gate.pass();
        }
    }

    fn poll_room(&self, channel: usize, context: &mut Context<'_>) -> Poll<u64> {
        let mut state = self.state.lock();
        let Some(Way::To(way)) = state.ways.get_mut(channel) else { return Poll::Pending };
        let room = way.room();
        if room > 0 {
            return Poll::Ready(room);
        }
        way.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn sends(&self, channel: usize, messages: &mut Batch) -> u64 {
        let mut state = self.state.lock();
        let State { ways, out, sent, .. } = &mut *state;
        let Some(Way::To(way)) = ways.get_mut(channel) else { return 0 };
        let to = &mut out[way.to];
        let is_first = !way.has_left && to.is_empty();
        if !way.has_left {
            let (channel, number, count) = (number(channel), way.sent, messages.len());
            let asks = way.send(count, messages.bytes().len() as u64);
            Frame::Messages { channel, number, count, asks, messages: messages.bytes() }.write(to);
            *sent += 1;
        }
        let room = way.room();
        drop(state);
        messages.clear();
        if is_first {
            (self.ring)();
        }
        room
    }

    fn carried(&self, channel: usize) -> Carried {
        match self.state.lock().ways.get(channel) {
            Some(Way::To(way)) => Carried { messages: way.sent, bytes: way.bytes },
            _ => Carried::default(),
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
        into: &mut Batch,
        context: &mut Context<'_>,
    ) -> Poll<Arrival> {
        let mut state = self.state.lock();
        let Some(Way::From(way)) = state.ways.get_mut(channel) else { return Poll::Pending };
        if !way.queue.is_empty() {
            // The memory is used in turn.
            std::mem::swap(into, &mut way.queue);
            return Poll::Ready(Arrival::Messages);
        }
        if let Some(end) = way.end {
            return Poll::Ready(end);
        }
        way.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn takes(&self, channel: usize, messages: u64) {
        let mut state = self.state.lock();
        let State { ways, out, sent, .. } = &mut *state;
        let Some(Way::From(way)) = ways.get_mut(channel) else { return };
        let Some(taken) = way.taken(messages) else { return };
        Frame::Room { channel: number(channel), taken }.write(&mut out[way.from]);
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

    fn waits_elsewhere(&self) -> Vec<Option<Vec<u8>>> {
        self.ask_waits()
    }

    fn may_rest(&self) {
        (self.ring)();
    }

    fn driver(&self) -> Option<Arc<dyn Driver>> {
        self.driver.lock().clone()
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

    const TWO: &[u8] = b"\x01\0\0\0m\x01\0\0\0m";

    fn message(channel: u32, number: u64) -> Frame<'static> {
        Frame::Messages { channel, number, count: 1, asks: true, messages: &TWO[..5] }
    }

    fn messages(count: u64, messages: &'static [u8]) -> Frame<'static> {
        Frame::Messages { channel: 0, number: 0, count, asks: true, messages }
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
        let room = |taken| Frame::Room { channel: 1, taken };
        let of = |channel: u32, what: &str| (Some(channel), what.to_owned());
        assert_eq!(refused(&[(0, message(0, 1))]), of(0, "message 1, and the next is 0"));
        assert_eq!(refused(&[(2, message(0, 0))]), of(0, "what rank 2 does not send"));
        assert_eq!(refused(&[(0, message(1, 0))]), of(1, "what rank 0 does not send"));
        let two = [(0, message(0, 0)), (0, message(0, 1)), (0, message(0, 2))];
        assert_eq!(refused(&two), of(0, "message 2, for which there is no room"));
        assert_eq!(
            refused(&[(0, messages(3, TWO))]),
            of(0, "message 2, for which there is no room")
        );
        let none = |count, bytes: &'static [u8]| refused(&[(0, messages(count, bytes))]);
        assert_eq!(none(0, b""), of(0, "0 bytes that are not 0 messages"));
        assert_eq!(none(1, TWO), of(0, "10 bytes that are not 1 messages"));
        assert_eq!(none(1, &TWO[..7]), of(0, "7 bytes that are not 1 messages"));
        assert_eq!(none(2, &TWO[..9]), of(0, "9 bytes that are not 2 messages"));
        assert_eq!(none(2, &TWO[..7]), of(0, "7 bytes that are not 2 messages"));
        assert_eq!(none(2, &TWO[..5]), of(0, "5 bytes that are not 2 messages"));
        assert_eq!(none(u64::MAX, TWO), of(0, "message 2, for which there is no room"));
        assert_eq!(refused(&[(0, close(1))]), of(0, "an end after 1 messages of 0"));
        assert_eq!(
            refused(&[(0, close(0)), (0, message(0, 0))]),
            of(0, "message 0, and the next is 0")
        );
        assert_eq!(refused(&[(2, room(3))]), of(1, "that 3 messages of 0 are taken"));
        assert_eq!(refused(&[(2, room(0))]), of(1, "that 0 messages of 0 are taken"));
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
    fn what_is_taken_is_told_when_that_was_asked() {
        let links = links();
        let waker = Waker::noop();
        let mut context = Context::from_waker(waker);
        let told = |links: &RankLinks| {
            let mut bytes = Vec::new();
            links.take_out(0, &mut bytes);
            match crate::frame::Frames::of(&bytes).next().expect("it was written so") {
                Some(Frame::Room { taken, .. }) => Some(taken),
                _ => None,
            }
        };
        for number in 0..2 {
            links.take(0, &message(0, number)).expect("there is room");
        }
        let mut into = Batch::new();
        assert_eq!(links.poll_next(0, &mut into, &mut context), Poll::Ready(Arrival::Messages));
        assert_eq!(into.bytes(), TWO);
        for expected in [1, 2] {
            assert_eq!(told(&links), None);
            links.takes(0, 1);
            assert_eq!(told(&links), Some(expected));
        }
        into.clear();
        assert!(links.poll_next(0, &mut into, &mut context).is_pending());
        // Both at once, of which the last asks: it is told when that is taken.
        let both = Frame::Messages { channel: 0, number: 2, count: 2, asks: true, messages: TWO };
        links.take(0, &both).expect("there is room");
        links.takes(0, 1);
        assert_eq!(told(&links), None);
        links.takes(0, 1);
        assert_eq!(told(&links), Some(4));
        // The sender's side: the capacity is two.
        assert_eq!(links.poll_room(1, &mut context), Poll::Ready(2));
        for left in [1, 0] {
            into.push(b"m");
            assert_eq!(links.sends(1, &mut into), left);
        }
        assert!(links.poll_room(1, &mut context).is_pending());
        links.take(2, &Frame::Room { channel: 1, taken: 1 }).expect("one was sent");
        assert_eq!(links.poll_room(1, &mut context), Poll::Ready(1));
    }
}
