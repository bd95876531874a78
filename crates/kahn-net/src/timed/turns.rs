//! Ranks that take turns under a virtual clock.
//!
//! | a rank | its threads | until |
//! |---|---|---|
//! | *waits* | sleep: its loop at the end of a turn, its processes for another rank, or in [`Turns::poll`] | an event gives it the turn |
//! | *has the turn* | run | its network rests, and its loop ends the turn |
//! | is *gone* | there are none | |
//!
//! One rank at most has the turn, and the clock stands while it does. When it ends its turn, what it has sent becomes
//! events; then they happen one after the other, and the clock is set to each, until one gives a turn:
//!
//! | event | what follows | gives a turn |
//! |---|---|---|
//! | a parcel *departs* | the sender's exchange computes `o` for it, its bytes leave, and after `L` it *comes* | |
//! | … *comes* | its bytes enter, the receiver's exchange computes `o`, and it is *delivered* | |
//! | … is *delivered* | the window hears what it tells; a parcel that waited for that may depart | if it has frames |
//! | a loop *wakes* | it has waited for as long as it said, or its network has rung | if it still waits |
//! | a process *has computed* | it is woken | yes |
//! | a rank is *lost* | its loop is told | yes |
//! | a rank *pauses* | until then its exchange and its processes compute nothing else | |
//!
//! A rank has one core for its exchange and one for its processes, and each does one thing after the other. Messages
//! are charged to the second, where they are sent and where they come, and leave, batch by batch, when it is done with
//! them. What a process computes besides is [`VirtualCore::compute`](super::VirtualCore::compute). All else takes no time.
//!
//! *The clock never goes back*, for what follows from an event is never before it.
//!
//! *Between two ranks parcels keep their order.* They depart in order, for none departs before one that was to depart
//! earlier, and the exchange of the sender, its way out, the way in and the exchange of the receiver each
//! take one parcel after the other. Of events at one time that concern the same two ranks the older one is first.
//!
//! *It is the same each time.* Events have an order that is that of time, ranks and age. A turn depends on the event
//! and on what the rank was before, for its loop takes one frame at a time, its network comes to rest before the next,
//! and one worker runs it. If threads run late, in the sense that a network goes on after it was seen at rest (the
//! last worker to rest may find a ring on its rank that is to grow), it rings, and its rank has another turn at the same
//! time of the clock.

use super::costs::{LogGp, nanoseconds};
use super::traffic::Traffic;
use crate::frame::Frames;
use crate::window::Window;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The most bytes of a parcel, and those of its head.
const MOST_BYTES: usize = 32 << 10;
const HEAD: usize = 16;

/// How long it is looked at most whether a network rests that has not rung.
const LOOK: Duration = Duration::from_millis(1);

/// The clock of all ranks, and whose turn it is.
#[derive(Debug)]
pub(super) struct Turns {
    costs: LogGp,
    /// When the clock showed 0, for what reckons with such times.
    begin: Instant,
    state: Mutex<State>,
    /// Of each rank: it has the turn, or its network has rung.
    bells: Vec<Condvar>,
}

#[derive(Debug, Default)]
struct State {
    clock: u64,
    turn: Option<usize>,
    events: BTreeMap<When, What>,
    /// Events that there were.
    events_made: u64,
    ranks: Vec<RankState>,
    traffic: Traffic,
    /// When rank 0 has said that the run is over.
    ended: Option<u64>,
}

/// When an event is: at which time, for which rank, because of which other one, and after how many events.
type When = (u64, usize, usize, u64);

#[derive(Debug)]
enum What {
    Departs {
        to: usize,
        parcel: Parcel,
    },
    Comes {
        from: usize,
        parcel: Parcel,
    },
    Delivered {
        from: usize,
        parcel: Parcel,
    },
    /// In this turn's wait.
    Wakes {
        turn: u64,
    },
    Computed {
        number: u64,
    },
    Lost {
        rank: usize,
    },
    Pauses {
        time: u64,
    },
}

#[derive(Debug, Default)]
struct Parcel {
    /// How many parcels have come the other way.
    tells: u64,
    /// Frames; nothing is in a receipt.
    bytes: Vec<u8>,
    /// When its messages are written.
    ready: u64,
}

#[derive(Debug, Default)]
struct RankState {
    /// Until when its exchange, its processes, its way out and its way in have something to do.
    exchange: u64,
    core: u64,
    way_out: u64,
    way_in: u64,
    pairs: BTreeMap<usize, Pair>,
    /// What has come and was not taken by its loop.
    delivered: VecDeque<(usize, Vec<u8>)>,
    lost: VecDeque<usize>,
    /// Its network has rung since it was looked at.
    has_rung: bool,
    turns: u64,
    /// What its processes compute.
    computing: BTreeMap<u64, Option<Waker>>,
    is_gone: bool,
}

/// From one rank to another.
#[derive(Debug, Default)]
struct Pair {
    window: Window,
    out: VecDeque<Parcel>,
    /// When the last one departs.
    departed: u64,
}

impl Turns {
    pub(super) fn new(ranks: usize, costs: LogGp) -> Self {
        let mut state = State { ranks: Vec::new(), ..State::default() };
        state.ranks.resize_with(ranks, RankState::default);
        state.traffic.exchanged = vec![Duration::ZERO; ranks];
        state.traffic.computed = vec![Duration::ZERO; ranks];
        for rank in 0..ranks {
            state.push(0, rank, rank, What::Wakes { turn: 0 });
        }
        state.go_on(&costs);
        let bells = std::iter::repeat_with(Condvar::new).take(ranks).collect();
        Self { costs, begin: begin(), state: Mutex::new(state), bells }
    }

    /// A rank is to pause at this time, for so long.
    pub(super) fn pause(&self, rank: usize, at: Duration, time: Duration) {
        let time = nanoseconds(time);
        self.state.lock().push(nanoseconds(at), rank, rank, What::Pauses { time });
    }

    /// What the clock shows.
    pub(super) fn clock(&self) -> Duration {
        Duration::from_nanos(self.state.lock().clock)
    }

    pub(super) fn now(&self) -> Instant {
        self.begin + self.clock()
    }

    /// What has gone, and when rank 0 has said that the run is over.
    pub(super) fn traffic(&self) -> (Traffic, Duration) {
        let state = self.state.lock();
        let mut traffic = state.traffic.clone();
        let pairs = state.ranks.iter().flat_map(|rank| rank.pairs.values());
        let most = pairs.map(|pair| pair.window.most_under_way()).max();
        traffic.most_under_way = most.unwrap_or(0);
        (traffic, Duration::from_nanos(state.ended.unwrap_or(state.clock)))
    }

    /// Sleeps until this rank has the turn.
    pub(super) fn wait(&self, rank: usize) {
        drop(self.wait_locked(rank));
    }

    fn wait_locked(&self, rank: usize) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while state.turn != Some(rank) {
            self.bells[rank].wait(&mut state);
        }
        state
    }

    /// The network of a rank has something to send, or rests.
    pub(super) fn ring(&self, rank: usize) {
        let mut state = self.state.lock();
        state.ranks[rank].has_rung = true;
        if state.turn != Some(rank) && !state.ranks[rank].is_gone {
            let (at, turn) = (state.clock, state.ranks[rank].turns);
            state.push(at, rank, rank, What::Wakes { turn });
        }
        self.bells[rank].notify_all();
    }

    /// Whether the network of a rank has rung since this was asked.
    pub(super) fn has_rung(&self, rank: usize) -> bool {
        std::mem::take(&mut self.state.lock().ranks[rank].has_rung)
    }

    /// Sleeps until the network of a rank rings, but not for long.
    pub(super) fn listen(&self, rank: usize) {
        let mut state = self.state.lock();
        if !state.ranks[rank].has_rung {
            self.bells[rank].wait_for(&mut state, LOOK);
        }
    }

    /// Whether processes of a rank compute.
    pub(super) fn computes(&self, rank: usize) -> bool {
        !self.state.lock().ranks[rank].computing.is_empty()
    }

    /// A process of a rank begins to compute; by which number.
    pub(super) fn begin(&self, rank: usize, time: Duration) -> u64 {
        let mut state = self.state.lock();
        state.traffic.computed[rank] += time;
        let (clock, number) = (state.clock, state.events_made);
        let one = &mut state.ranks[rank];
        one.core = one.core.max(clock) + nanoseconds(time);
        one.computing.insert(number, None);
        let at = one.core;
        state.push(at, rank, rank, What::Computed { number });
        number
    }

    /// Whether it has computed; it is woken when it has.
    pub(super) fn poll(&self, rank: usize, number: u64, context: &Context<'_>) -> Poll<()> {
        match self.state.lock().ranks[rank].computing.get_mut(&number) {
            Some(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }

    /// Takes what was delivered to a rank.
    pub(super) fn take(&self, rank: usize) -> Option<(usize, Vec<u8>)> {
        self.state.lock().ranks[rank].delivered.pop_front()
    }

    pub(super) fn take_lost(&self, rank: usize) -> Option<usize> {
        self.state.lock().ranks[rank].lost.pop_front()
    }

    /// So many messages have come to a rank, in a frame that is counted if there are any.
    pub(super) fn reads(&self, rank: usize, messages: u64, is_counted: bool) {
        let mut state = self.state.lock();
        let clock = state.clock;
        if is_counted {
            state.traffic.last = Duration::from_nanos(clock);
        }
        state.charge(rank, messages, &self.costs);
    }

    /// Ends the turn of a rank, which has sent this, and wants another after `most` at the latest; waits for it.
    pub(super) fn end(&self, rank: usize, out: BTreeMap<usize, Vec<u8>>, most: Duration) {
        let mut state = self.wait_locked(rank);
        state.send(rank, out, &self.costs);
        state.ranks[rank].turns += 1;
        let (at, turn) = (state.clock + nanoseconds(most), state.ranks[rank].turns);
        state.push(at, rank, rank, What::Wakes { turn });
        self.pass_on(state);
        self.wait(rank);
    }

    /// … its last one.
    pub(super) fn end_last(&self, rank: usize, out: BTreeMap<usize, Vec<u8>>, is_lost: bool) {
        let mut state = self.wait_locked(rank);
        state.send(rank, out, &self.costs);
        state.ranks[rank].is_gone = true;
        if rank == 0 {
            let clock = state.clock;
            state.ended.get_or_insert(clock);
        }
        if is_lost {
            for other in 0..self.bells.len() {
                let at = state.clock;
                state.push(at, other, rank, What::Lost { rank });
            }
        }
        self.pass_on(state);
    }

    fn pass_on(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.go_on(&self.costs);
        let next = state.turn;
        drop(state);
        // It may ring.
        waker.into_iter().for_each(Waker::wake);
        if let Some(next) = next {
            self.bells[next].notify_all();
        }
    }
}

impl State {
    fn push(&mut self, at: u64, rank: usize, from: usize, what: What) {
        self.events.insert((at, rank, from, self.events_made), what);
        self.events_made += 1;
    }

    /// Has events happen until one gives a turn; what is to be woken then.
    fn go_on(&mut self, costs: &LogGp) -> Option<Waker> {
        self.turn = None;
        while let Some(((at, rank, ..), what)) = self.events.pop_first() {
            self.clock = at;
            let one = &mut self.ranks[rank];
            match what {
                What::Departs { to, parcel } => {
                    self.traffic.parcels += 1;
                    self.ended.is_none().then(|| self.traffic.exchanged[rank] += costs.overhead);
                    one.exchange = one.exchange.max(at) + nanoseconds(costs.overhead);
                    let bytes = HEAD + parcel.bytes.len();
                    one.way_out = one.way_out.max(one.exchange) + costs.of_bytes(bytes);
                    let comes = one.way_out + nanoseconds(costs.latency);
                    self.push(comes, to, rank, What::Comes { from: rank, parcel });
                }
                What::Comes { from, parcel } => {
                    let enters = costs.of_bytes(HEAD + parcel.bytes.len());
                    one.way_in = one.way_in.max(at.saturating_sub(enters)) + enters;
                    self.ended.is_none().then(|| self.traffic.exchanged[rank] += costs.overhead);
                    one.exchange =
                        one.exchange.max(one.way_in.max(at)) + nanoseconds(costs.overhead);
                    let delivered = one.exchange;
                    self.push(delivered, rank, from, What::Delivered { from, parcel });
                }
                What::Delivered { from, parcel } => {
                    let pair = one.pairs.entry(from).or_default();
                    pair.window.hear(parcel.tells);
                    let has_frames = !parcel.bytes.is_empty();
                    if has_frames {
                        pair.window.receive();
                    }
                    let gives_turn = has_frames && !one.is_gone;
                    if gives_turn {
                        one.delivered.push_back((from, parcel.bytes));
                    }
                    self.depart(rank, from);
                    if gives_turn {
                        self.turn = Some(rank);
                        return None;
                    }
                }
                What::Wakes { turn } if turn == one.turns && !one.is_gone => {
                    self.turn = Some(rank);
                    return None;
                }
                What::Computed { number } => {
                    let waker = one.computing.remove(&number).flatten();
                    if !one.is_gone {
                        self.turn = Some(rank);
                        return waker;
                    }
                }
                What::Lost { rank: lost } if !one.is_gone => {
                    one.lost.push_back(lost);
                    self.turn = Some(rank);
                    return None;
                }
                What::Pauses { time } => {
                    one.exchange = one.exchange.max(at) + time;
                    one.core = one.core.max(at) + time;
                }
                What::Wakes { .. } | What::Lost { .. } => {}
            }
        }
        None
    }

    /// The processes of a rank write or read so many messages.
    fn charge(&mut self, rank: usize, messages: u64, costs: &LogGp) {
        if messages > 0 {
            let one = &mut self.ranks[rank];
            one.core = one.core.max(self.clock) + messages * nanoseconds(costs.message);
        }
    }

    /// Puts what a rank has sent into parcels. Messages go when they are written, whatever is written after them.
    fn send(&mut self, rank: usize, out: BTreeMap<usize, Vec<u8>>, costs: &LogGp) {
        for (to, bytes) in out {
            let (mut left, mut has_messages) = (&bytes[..], false);
            while !left.is_empty() {
                let mut frames = Frames::of(left);
                // What is no frame goes as it is: the other rank tells.
                let is_frame = matches!(frames.next(), Ok(Some(_)));
                let length = if is_frame { left.len() - frames.left() } else { left.len() };
                let (frame, later) = left.split_at(length);
                let (messages, ends) = self.traffic.count(frame);
                if messages > 0 && std::mem::replace(&mut has_messages, true) {
                    self.depart(rank, to);
                }
                self.charge(rank, messages, costs);
                self.pack(rank, to, frame, messages > 0);
                if ends && rank == 0 {
                    let clock = self.clock;
                    self.ended.get_or_insert(clock);
                }
                left = later;
            }
            self.depart(rank, to);
        }
    }

    /// Puts a frame into the last parcel that waits, and into others if it is full.
    fn pack(&mut self, rank: usize, to: usize, mut frame: &[u8], has_messages: bool) {
        let clock = self.clock;
        let one = &mut self.ranks[rank];
        let ready = if has_messages { one.core } else { clock };
        let pair = one.pairs.entry(to).or_default();
        while !frame.is_empty() {
            if pair.out.back().is_none_or(|parcel| parcel.bytes.len() == MOST_BYTES) {
                pair.out.push_back(Parcel::default());
            }
            let Some(parcel) = pair.out.back_mut() else { break };
            let (now, later) = frame.split_at(frame.len().min(MOST_BYTES - parcel.bytes.len()));
            parcel.bytes.extend_from_slice(now);
            parcel.ready = parcel.ready.max(ready);
            frame = later;
        }
    }

    /// Has parcels depart that the window lets go, and a receipt if there is none and one is due.
    fn depart(&mut self, rank: usize, to: usize) {
        let clock = self.clock;
        let Some(pair) = self.ranks[rank].pairs.get_mut(&to) else { return };
        let mut departing = Vec::new();
        while pair.window.is_open()
            && let Some(mut parcel) = pair.out.pop_front()
        {
            parcel.tells = pair.window.send();
            departing.push(parcel);
        }
        if let Some(tells) = pair.window.receipt(Window::MOST / 2) {
            departing.push(Parcel { tells, ..Parcel::default() });
        }
        for parcel in departing {
            let pair = self.ranks[rank].pairs.entry(to).or_default();
            pair.departed = pair.departed.max(parcel.ready).max(clock);
            let at = pair.departed;
            self.push(at, rank, to, What::Departs { to, parcel });
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "what is reckoned from it is how long")]
fn begin() -> Instant {
    Instant::now()
}
