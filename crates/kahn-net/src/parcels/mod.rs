//! Bytes between ranks as whole messages of a library that keeps without bound what has come and was not asked for, as
//! MPI does.
//!
//! Bytes go in *parcels*, and between two ranks there is a [`Window`]: a message ends with how many parcels its sender
//! has received from the other, and at most so many are under way that the other has not told of.
//!
//! | a message is | its bytes | sent when |
//! |---|---|---|
//! | a parcel | at most [`Sizes::parcel`] of the rank's, `received` and the number of the run | there are bytes to go, and the window is open |
//! | a receipt | `received` and the number of the run | `received` − `told` has come to half a window |
//!
//! *At most [`Sizes::window`] parcels of a pair are kept, and as many receipts.* A parcel that was not given to its
//! receiver was not told of. Of the receipts that were not given to theirs, each tells of more than the one before, all
//! of more than is known there and of no more than was sent, which is a window more at most.
//!
//! | a rank | sends | takes | then |
//! |---|---|---|---|
//! | runs | parcels of this run, receipts | what it has kept, and what has the number of this run | comes to the end of the run |
//! | waits until all its parcels are known of | parcels that are left, receipts | nothing: drops what it has kept, and what has the number of this run | comes to the barrier |
//! | waits at the barrier | receipts | the same; keeps what has the number of the next run | has passed it: the next run begins, with what was kept |
//!
//! *Runs do not mix.* A rank comes to the barrier when all its parcels of the run are known to have been taken, so none
//! of them is under way when it is passed, and what comes later has the number of a later run: of the next one, for its
//! sender cannot pass the next barrier before this rank comes to it.
//!
//! *It ends.* A rank that waits there takes whatever comes and tells of it, one parcel being enough; so each window opens
//! again until all parcels have gone and are known of, on all ranks.
//!
//! Parcels are memory that goes from hand to hand: what a rank has written becomes a parcel, and where that comes it is
//! read. Few bytes are copied instead, so that little memory is kept for them.

mod messages;

use crate::window::Window;
use std::collections::VecDeque;
use std::fmt;

pub use messages::Messages;

/// How large [`Parcels`] are, and how many.
///
/// # Examples
///
/// ```
/// use kahn_net::Sizes;
///
/// // At most this is kept of each other rank, but for receipts.
/// let Sizes { parcel, window, .. } = Sizes::default();
/// assert_eq!(parcel as u64 * window, 1 << 20);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The most bytes of a parcel, besides its tail: two messages of 32 KiB that go together are one parcel.
    pub parcel: usize,
    /// Parcels under way to a rank of which it has not told.
    pub window: u64,
    /// Rooms that wait for what comes.
    pub rooms: usize,
    /// Fewer bytes than this are copied: no memory is handed on for them.
    pub few: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { parcel: 128 << 10, window: 8, rooms: 8, few: 4 << 10 }
    }
}

/// `received` and the number of the run, eight bytes each.
const TAIL: usize = 16;

/// What there is between this rank and another.
struct Pair<M: Messages> {
    /// Parcels that are to go, the last of which may be filled yet; their tails are written when they go.
    out: VecDeque<Vec<u8>>,
    /// In the order in which they were sent.
    under_way: VecDeque<M::Sending>,
    window: Window,
}

/// Bytes between ranks, for one run after the other.
///
/// # Examples
///
/// See [`Messages`].
pub struct Parcels<M: Messages> {
    messages: M,
    sizes: Sizes,
    pairs: Vec<Pair<M>>,
    /// The one that is filled next is the first.
    rooms: VecDeque<M::Room>,
    /// The number of the run, or of the next one.
    run: u64,
    /// What has come for the next run.
    early: VecDeque<(usize, Vec<u8>)>,
    /// Memory of parcels that were sent.
    spare: Vec<Vec<u8>>,
    /// While the end of a run is waited for.
    barrier: Option<M::Barrier>,
    most_under_way: u64,
}

/// How far [`Parcels::end_run`] has come.
///
/// # Examples
///
/// See [`Messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfRun {
    /// All ranks have ended the run: the next may begin.
    pub is_over: bool,
    /// Something has come: more may have.
    pub has_come: bool,
}

/// Which run a parcel belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belongs {
    Now,
    Next,
}

impl<M: Messages> Parcels<M> {
    /// Makes the parcels of a rank.
    ///
    /// # Examples
    ///
    /// See [`Messages`].
    ///
    /// # Panics
    /// Panics if a parcel may have no bytes, or if there is no window or no room: nothing would come.
    pub fn of(mut messages: M, sizes: Sizes) -> Self {
        let Sizes { parcel, window, rooms, .. } = sizes;
        assert!(
            parcel > 0 && window > 0 && rooms > 0,
            "nothing comes through parcels of {parcel} bytes, a window of {window} and {rooms} rooms"
        );
        let ranks = messages.ranks();
        let pair = || Pair {
            out: VecDeque::new(),
            under_way: VecDeque::new(),
            window: Window::of(sizes.window),
        };
        let rooms = if ranks > 1 { sizes.rooms } else { 0 };
        Self {
            pairs: std::iter::repeat_with(pair).take(ranks).collect(),
            rooms: (0..rooms).map(|_| messages.receive(Vec::new(), sizes.parcel + TAIL)).collect(),
            messages,
            sizes,
            run: 0,
            early: VecDeque::new(),
            spare: Vec::new(),
            barrier: None,
            most_under_way: 0,
        }
    }

    /// Sends bytes to a rank, now or when its window opens. It may keep the memory: what is in `bytes` when it returns
    /// counts for nothing.
    ///
    /// # Examples
    ///
    /// See [`Messages`].
    pub fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        self.pack(to, bytes);
        self.send_parcels(to);
    }

    /// Writes what has come next behind the bytes of its rank, and returns that rank.
    ///
    /// # Examples
    ///
    /// See [`Messages`].
    pub fn receive(&mut self, into: &mut [Vec<u8>]) -> Option<usize> {
        self.forget_sent();
        if let Some((from, bytes)) = self.early.pop_front() {
            into[from].extend(bytes);
            return Some(from);
        }
        self.take(Some(into))
    }

    /// Waits no longer for what belongs to this run: until all ranks have come to this, it is to be called again, and
    /// drops what comes.
    ///
    /// # Examples
    ///
    /// See [`Messages`].
    pub fn end_run(&mut self) -> EndOfRun {
        self.forget_sent();
        if self.barrier.is_none() {
            // What was kept is of this run, for no rank has passed its barrier.
            self.early.clear();
        }
        let has_come = self.take(None).is_some();
        let mut is_all_known = true;
        for rank in 0..self.pairs.len() {
            self.send_parcels(rank);
            self.send_receipt(rank, 1);
            let pair = &self.pairs[rank];
            is_all_known &= pair.out.is_empty() && pair.window.is_all_known();
        }
        let mut is_over = false;
        if is_all_known {
            let barrier = self.barrier.get_or_insert_with(|| self.messages.barrier());
            let is_sent = self.pairs.iter().all(|pair| pair.under_way.is_empty());
            is_over = is_sent && self.messages.is_passed(barrier);
        }
        if is_over {
            self.barrier = None;
            self.run += 1;
        }
        EndOfRun { is_over, has_come }
    }

    /// Returns the most parcels that were under way to a rank of which it had not told.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::{Messages, Parcels};
    ///
    /// fn is_bounded<M: Messages>(parcels: &Parcels<M>, window: u64) -> bool {
    ///     parcels.most_under_way() <= window
    /// }
    /// ```
    pub fn most_under_way(&self) -> u64 {
        self.most_under_way
    }

    /// Takes all room back and returns what carries messages, when a run has ended and none is to come.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::{Messages, Parcels};
    ///
    /// fn ended<M: Messages>(mut parcels: Parcels<M>) -> M {
    ///     while !parcels.end_run().is_over {}
    ///     parcels.into_messages()
    /// }
    /// ```
    pub fn into_messages(self) -> M {
        let Self { mut messages, rooms, .. } = self;
        for room in rooms {
            messages.cancel(room);
        }
        messages
    }

    /// Memory for a parcel.
    fn room(sizes: Sizes) -> Vec<u8> {
        Vec::with_capacity(sizes.parcel + TAIL)
    }

    /// Whether this is memory for a parcel, and not for much more.
    fn is_room(&self, bytes: &Vec<u8>) -> bool {
        (self.sizes.parcel + TAIL..=4 * self.sizes.parcel).contains(&bytes.capacity())
    }

    /// Gives away what the window to a rank allows.
    fn send_parcels(&mut self, to: usize) {
        let pair = &mut self.pairs[to];
        while pair.window.is_open()
            && let Some(mut parcel) = pair.out.pop_front()
        {
            parcel.extend(pair.window.send().to_le_bytes());
            parcel.extend(self.run.to_le_bytes());
            pair.under_way.push_back(self.messages.send(to, parcel));
        }
        self.most_under_way = self.most_under_way.max(pair.window.most_under_way());
    }

    /// Makes parcels of bytes.
    fn pack(&mut self, to: usize, bytes: &mut Vec<u8>) {
        let Self { pairs, spare, sizes, .. } = self;
        let out = &mut pairs[to].out;
        let mut new = || spare.pop().unwrap_or_else(|| Self::room(*sizes));
        if (sizes.few..=sizes.parcel).contains(&bytes.len()) {
            out.push_back(std::mem::replace(bytes, new()));
            return;
        }
        let mut left = &bytes[..];
        while !left.is_empty() {
            if out.back().is_none_or(|parcel| parcel.len() == sizes.parcel) {
                out.push_back(new());
            }
            let Some(parcel) = out.back_mut() else { return };
            let (now, later) = left.split_at(left.len().min(sizes.parcel - parcel.len()));
            parcel.extend_from_slice(now);
            left = later;
        }
    }

    /// Tells a rank how much has come from it, if it has not been told of so many parcels.
    fn send_receipt(&mut self, to: usize, from: u64) {
        let pair = &mut self.pairs[to];
        if let Some(received) = pair.window.receipt(from) {
            let receipt = [received.to_le_bytes(), self.run.to_le_bytes()].concat();
            pair.under_way.push_back(self.messages.send(to, receipt));
        }
    }

    /// Forgets what is sent.
    fn forget_sent(&mut self) {
        // As many as are under way to a rank, or memory is kept for nothing.
        let most_spare = 2 * usize::try_from(self.sizes.window).unwrap_or(usize::MAX);
        for to in 0..self.pairs.len() {
            while let Some(sending) = self.pairs[to].under_way.front_mut()
                && let Some(mut parcel) = self.messages.is_sent(sending)
            {
                self.pairs[to].under_way.pop_front();
                if self.is_room(&parcel) && self.spare.len() < most_spare {
                    parcel.clear();
                    self.spare.push(parcel);
                }
            }
        }
    }

    /// Takes messages until one is a parcel of this run, which is written behind what came from its rank, or dropped if
    /// there is no `into`.
    fn take(&mut self, mut into: Option<&mut [Vec<u8>]>) -> Option<usize> {
        loop {
            let (from, mut bytes) = self.messages.has_come(self.rooms.front_mut()?)?;
            self.rooms.pop_front();
            let belongs = self.open(from, &mut bytes);
            match (belongs, &mut into) {
                (Some(Belongs::Next), _) => self.early.push_back((from, bytes.clone())),
                (Some(Belongs::Now), Some(into)) => {
                    if into[from].is_empty() && bytes.len() >= self.sizes.few {
                        std::mem::swap(&mut into[from], &mut bytes);
                    } else {
                        into[from].extend_from_slice(&bytes);
                    }
                }
                (Some(Belongs::Now), None) | (None, _) => {}
            }
            if !self.is_room(&bytes) {
                bytes = self.spare.pop().unwrap_or_default();
            }
            self.rooms.push_back(self.messages.receive(bytes, self.sizes.parcel + TAIL));
            self.send_parcels(from);
            self.send_receipt(from, self.sizes.window.div_ceil(2));
            if belongs == Some(Belongs::Now) {
                return Some(from);
            }
        }
    }

    /// Heeds the tail of a message and takes it off; what is left, if that is a parcel.
    fn open(&mut self, from: usize, bytes: &mut Vec<u8>) -> Option<Belongs> {
        // A message that is too short is none of ours, and tells nothing.
        let length = bytes.len().checked_sub(TAIL)?;
        let number = |at: usize| {
            bytes[length + at..].first_chunk().map_or(0, |own| u64::from_le_bytes(*own))
        };
        let (known, run) = (number(0), number(8));
        bytes.truncate(length);
        let window = &mut self.pairs[from].window;
        window.hear(known);
        if bytes.is_empty() {
            return None;
        }
        window.receive();
        Some(if run > self.run { Belongs::Next } else { Belongs::Now })
    }
}

impl<M: Messages> fmt::Debug for Parcels<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.pairs.iter().map(|pair| &pair.window);
        f.debug_struct("Parcels")
            .field("run", &self.run)
            .field("windows", &pairs.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const RANKS: usize = 3;

    /// A message that is under way, and the rank that has sent it.
    struct UnderWay {
        from: usize,
        message: Vec<u8>,
    }

    /// What carries messages, for all ranks: they come when a room is asked for, in order from each rank and in any order
    /// from several.
    #[derive(Default)]
    struct Carrier {
        to: [VecDeque<UnderWay>; RANKS],
        /// Ranks that have come to each barrier.
        barriers: Vec<usize>,
        /// Which of the ranks whose messages are under way is heard next.
        draw: u64,
        /// The most parcels, and the most messages, that were under way from one rank to another.
        most: (usize, usize),
    }

    impl Carrier {
        fn draw(&mut self, below: usize) -> usize {
            self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.draw >> 33).expect("31 bits") % below
        }
    }

    struct End {
        rank: usize,
        carrier: Rc<RefCell<Carrier>>,
        barriers: usize,
    }

    impl Messages for End {
        type Sending = Vec<u8>;
        type Room = ();
        type Barrier = usize;

        fn ranks(&self) -> usize {
            RANKS
        }

        fn send(&mut self, to: usize, message: Vec<u8>) -> Vec<u8> {
            let mut carrier = self.carrier.borrow_mut();
            carrier.to[to].push_back(UnderWay { from: self.rank, message: message.clone() });
            let own = || carrier.to[to].iter().filter(|one| one.from == self.rank);
            let parcels = own().filter(|one| one.message.len() > TAIL).count();
            let most = (carrier.most.0.max(parcels), carrier.most.1.max(own().count()));
            carrier.most = most;
            message
        }

        fn is_sent(&mut self, sending: &mut Vec<u8>) -> Option<Vec<u8>> {
            let is_sent = self.carrier.borrow_mut().draw(2) == 0;
            is_sent.then(|| std::mem::take(sending))
        }

        fn receive(&mut self, _memory: Vec<u8>, _most: usize) {}

        fn has_come(&mut self, _room: &mut ()) -> Option<(usize, Vec<u8>)> {
            let mut carrier = self.carrier.borrow_mut();
            let from = carrier.draw(RANKS + 1);
            let own = &mut carrier.to[self.rank];
            let at = own.iter().position(|one| one.from == from)?;
            own.remove(at).map(|one| (one.from, one.message))
        }

        fn cancel(&mut self, _room: ()) {}

        fn barrier(&mut self) -> usize {
            let mut carrier = self.carrier.borrow_mut();
            let number = self.barriers;
            self.barriers += 1;
            if carrier.barriers.len() == number {
                carrier.barriers.push(0);
            }
            carrier.barriers[number] += 1;
            number
        }

        fn is_passed(&mut self, barrier: &mut usize) -> bool {
            self.carrier.borrow().barriers[*barrier] == RANKS
        }
    }

    /// What one rank sends to another in one run: so many bytes at once.
    type Sends = Vec<(usize, usize)>;

    /// The bytes that a rank sends to another in a run: they tell the run, both ranks, and their place.
    fn byte(run: usize, from: usize, to: usize, place: usize) -> u8 {
        u8::try_from((run * 67 + from * 29 + to * 13 + place) % 251).expect("it is less than 251")
    }

    /// A rank that does what is planned, run after run.
    struct Planned {
        rank: usize,
        parcels: Option<Parcels<End>>,
        run: usize,
        sends: VecDeque<(usize, usize)>,
        sent: [usize; RANKS],
        received: Vec<Vec<u8>>,
        /// Whether it waits for what others send to it.
        is_patient: bool,
    }

    proptest! {
        /// Ranks run one run after the other, each as fast as it is awake; one may end a run before all has come that
        /// was sent to it.
        #[test]
        fn a_rank_receives_in_each_run_what_is_sent_there(
            plans in prop::collection::vec(
                prop::collection::vec(
                    (prop::collection::vec((1..RANKS, 1_usize..30), 0..12), prop::bool::ANY),
                    RANKS,
                ),
                1..8,
            ),
            awake in prop::collection::vec(0..RANKS, 0..2_000),
            draw: u64,
            window in 1_u64..6,
        ) {
            // Small, so that a run has many.
            let sizes = Sizes { parcel: 8, window, rooms: 3, few: 4 };
            let carrier = Rc::new(RefCell::new(Carrier { draw, ..Carrier::default() }));
            let bytes_of = |run: usize, from: usize, to: usize| -> usize {
                let sends: &Sends = &plans[run][from].0;
                sends.iter().filter(|(step, _)| (from + step) % RANKS == to).map(|(_, bytes)| bytes).sum()
            };
            let begin = |rank: &mut Planned| {
                let (sends, is_patient) = &plans[rank.run][rank.rank];
                let to = |(step, bytes): &(usize, usize)| ((rank.rank + step) % RANKS, *bytes);
                rank.sends = sends.iter().map(to).collect();
                rank.sent = [0; RANKS];
                rank.received = vec![Vec::new(); RANKS];
                rank.is_patient = *is_patient;
            };
            let mut ranks: Vec<Planned> = (0..RANKS).map(|rank| {
                let end = End { rank, carrier: Rc::clone(&carrier), barriers: 0 };
                let mut rank = Planned {
                    rank,
                    parcels: Some(Parcels::of(end, sizes)),
                    run: 0,
                    sends: VecDeque::new(),
                    sent: [0; RANKS],
                    received: Vec::new(),
                    is_patient: true,
                };
                begin(&mut rank);
                rank
            }).collect();
            let rest = (0..60_000 * RANKS).map(|step| step % RANKS);
            for rank in awake.into_iter().chain(rest) {
                if ranks.iter().all(|rank| rank.parcels.is_none()) {
                    break;
                }
                let rank = &mut ranks[rank];
                let Some(parcels) = &mut rank.parcels else { continue };
                if let Some((to, count)) = rank.sends.pop_front() {
                    let from = rank.sent[to];
                    rank.sent[to] += count;
                    let bytes = (from..rank.sent[to]).map(|place| byte(rank.run, rank.rank, to, place));
                    parcels.send(to, &mut bytes.collect());
                }
                let mut is_whole = true;
                for from in (0..RANKS).filter(|from| *from != rank.rank) {
                    let (all, received) = (bytes_of(rank.run, from, rank.rank), &rank.received[from]);
                    is_whole &= received.len() == all;
                    prop_assert!(received.len() <= all);
                    let sent = (0..all).map(|place| byte(rank.run, from, rank.rank, place));
                    prop_assert!(received.iter().copied().eq(sent.take(received.len())));
                }
                if !rank.sends.is_empty() || rank.is_patient && !is_whole {
                    parcels.receive(&mut rank.received);
                    continue;
                }
                if parcels.end_run().is_over {
                    rank.run += 1;
                    if rank.run == plans.len() {
                        prop_assert!(parcels.most_under_way() <= window);
                        rank.parcels.take().map(Parcels::into_messages);
                    } else {
                        begin(rank);
                    }
                }
            }
            prop_assert!(ranks.iter().all(|rank| rank.run == plans.len()), "a rank waits for ever");
            let (parcels, messages) = carrier.borrow().most;
            prop_assert!(parcels as u64 <= window);
            prop_assert!(messages as u64 <= 2 * window);
        }
    }
}
