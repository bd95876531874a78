//! A network whose processes run on several ranks: what its runtime and what carries its messages there know
//! of each other.
//!
//! The network is built whole on every rank, and each process runs on one of them. A channel whose ends are on
//! two ranks is *cut*: on the sender's rank its messages go to [`Links`], on the receiver's rank they come from
//! there. What is stuck across ranks no rank sees alone: each tells what it knows ([`Local::look`]), and one
//! decides for all.

pub use crate::batch::Batch;
pub use crate::beside::Beside;

use crate::Name;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A network as every rank has built it, before anything runs.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..10_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let shape = network.shape();
/// assert_eq!(shape.processes[1].name.as_str(), "sum");
/// assert_eq!((shape.channels[0].from, shape.channels[0].to), (0, 1));
/// // Its messages cannot go to another rank.
/// assert!(!shape.channels[0].has_written_form);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Its processes and the parts of such, in the order of their creation.
    pub processes: Vec<Member>,
    /// Its channels, in the order of their creation, and behind them those that join the parts of processes.
    pub channels: Vec<Joint>,
}

/// A process of a [`Shape`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// Why it runs on rank 0 and nowhere else, if so.
    pub stays: Option<Stays>,
    /// The rank that the program says it is for.
    pub rank: Option<usize>,
}

/// Why a process runs on rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It sends nothing: its result is taken where the run is reported.
    HasResult,
    /// It sends, and keeps a result besides.
    KeepsResult,
    /// It is joined to what is outside of the network.
    IsJoined,
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HasResult => "it sends nothing, so its result is taken on rank 0",
            Self::KeepsResult => "it keeps a result, which is taken on rank 0",
            Self::IsJoined => "what is outside of the network is joined to rank 0",
        })
    }
}

/// A channel of a [`Shape`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Its name.
    pub name: Name,
    /// The process that sends, as a place among the [`processes`](Shape::processes).
    pub from: usize,
    /// The process that receives.
    pub to: usize,
    /// Whether its messages can be written, and so go to another rank.
    pub has_written_form: bool,
    /// How many messages it holds, in the run that is about to begin.
    pub capacity: u32,
}

/// What was received on a channel in a run that is to be compared with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Its name.
    pub channel: Name,
    /// The process that sent, at the end of the run.
    pub from: Option<Name>,
    /// The process that received, at the end of the run.
    pub to: Option<Name>,
    /// How many messages were received.
    pub received: u64,
    /// A digest of each, if its messages have one.
    pub digests: Option<Vec<u64>>,
    /// Whether all was received that ever is: if not, it is a beginning, for the process that received could be
    /// pruned, or waited for good.
    pub is_whole: bool,
}

impl History {
    /// Returns the number of the first message in which another history of the same channel differs; the first is 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::History;
    ///
    /// let of = |received, is_whole| History {
    ///     channel: "numbers".into(),
    ///     from: None,
    ///     to: None,
    ///     received,
    ///     digests: None,
    ///     is_whole,
    /// };
    /// assert_eq!(of(3, true).differs_at(&of(5, true)), Some(4));
    /// // A beginning may be as long as it is.
    /// assert_eq!(of(3, false).differs_at(&of(5, true)), None);
    /// ```
    pub fn differs_at(&self, other: &Self) -> Option<u64> {
        if let (Some(own), Some(others)) = (&self.digests, &other.digests)
            && let Some(place) = own.iter().zip(others).position(|(own, other)| own != other)
        {
            return Some(place as u64 + 1);
        }
        // A history that is whole is at least as long as any other of its channel.
        let (own, others) = (self.received, other.received);
        let is_other = own > others && other.is_whole || others > own && self.is_whole;
        is_other.then(|| own.min(others) + 1)
    }
}

/// What comes next at the receiving end of a cut channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Messages.
    Messages,
    /// The end of the stream.
    End,
    /// The failure of the process that sends.
    Failure,
}

/// What has gone of a cut channel from rank to rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Messages.
    pub messages: u64,
    /// Their bytes, as those of a [`Batch`]: in their written form, each with the four of its length.
    pub bytes: u64,
}

/// Carries the messages of cut channels between ranks; one for each rank of a run.
///
/// A channel is named by its place among the [`channels`](Shape::channels). The functions are called by workers:
/// they wait for nothing.
pub trait Links: Send + Sync {
    /// Returns the rank on which each process runs.
    ///
    /// # Errors
    /// Refuses the run, and says why.
    fn places(&self, shape: &Shape) -> Result<Vec<usize>, String>;

    /// Returns which rank this is.
    fn rank(&self) -> usize;

    /// Tells that the run is about to begin here, on the thread that runs it. It begins when this returns, which so
    /// may wait until the other ranks have come as far.
    fn begins(&self, local: Arc<dyn Local>);

    /// Waits until a message of this channel may go to its receiver's rank; returns how many may.
    fn poll_room(&self, channel: usize, context: &mut Context<'_>) -> Poll<u64>;

    /// Takes messages that go to the receiver's rank: there was [room](Self::poll_room) for so many. Returns how many
    /// more may go.
    fn sends(&self, channel: usize, messages: &mut Batch) -> u64;

    /// Takes the end of a channel that was sent to, after its last message.
    fn closes(&self, channel: usize, has_failed: bool);

    /// Returns what has gone of this channel from here to its receiver's rank, as far as that is counted.
    fn carried(&self, channel: usize) -> Carried {
        let _ = channel;
        Carried::default()
    }

    /// Waits for what comes next on a channel from its sender's rank; messages are put into `into`, which has none.
    fn poll_next(
        &self,
        channel: usize,
        into: &mut Batch,
        context: &mut Context<'_>,
    ) -> Poll<Arrival>;

    /// Tells that so many more of the messages that came are in the channel here.
    fn takes(&self, channel: usize, messages: u64);

    /// Tells that nothing receives from a channel any more: its receiver has left, or waits for good.
    fn departs(&self, channel: usize);

    /// Tells that a message could not be written, or was not read as one.
    fn refuses(&self, channel: usize, why: String);

    /// Asks all other ranks what [waits](Local::waits) there, and returns what they tell, by rank, own and first left out:
    /// nothing of one that has not told in time. Only on rank 0, by a thread that may wait; on others there is nothing.
    fn waits_elsewhere(&self) -> Vec<Option<Vec<u8>>> {
        Vec::new()
    }

    /// Tells that nothing runs here, or hardly anything, or that no root is left: it is time to ask whether the rank
    /// [rests](Local::rest), and [has one](Local::has_no_root).
    fn may_rest(&self);

    /// Returns what speaks with the other ranks, if the worker of this one may do that, where it is the only one and
    /// has one core for it.
    fn driver(&self) -> Option<Arc<dyn Driver>> {
        None
    }
}

/// Speaks with the other ranks, by the thread of a worker: while that has nothing to run, and between two processes.
///
/// While it does so, the thread is none of a worker's: what it wakes is woken from outside.
///
/// # Examples
///
/// What a worker does that has nothing to run:
///
/// ```
/// use kahn::ranks::Driver;
/// use std::time::Duration;
///
/// fn park(driver: &dyn Driver, mut is_unparked: impl FnMut() -> bool) {
///     loop {
///         driver.turn();
///         if is_unparked() {
///             return;
///         }
///         driver.wait(None);
///     }
/// }
///
/// /// There is nothing to do, ever.
/// struct Idle;
///
/// impl Driver for Idle {
///     fn turn(&self) {}
///     fn wait(&self, _most: Option<Duration>) {}
///     fn wake(&self) {}
///     fn leave(&self) {}
/// }
///
/// let mut turns = 0;
/// park(&Idle, || {
///     turns += 1;
///     turns == 3
/// });
/// ```
pub trait Driver: Send + Sync {
    /// Does what there is to do, and waits for nothing.
    fn turn(&self);

    /// Waits until there is something to do, or it is [woken](Self::wake); for so long at most. It may return before.
    fn wait(&self, most: Option<Duration>);

    /// Ends a wait, this one or the next; called by any thread.
    fn wake(&self);

    /// Tells that the worker turns this no more: its run is over.
    fn leave(&self);
}

/// The part of a network that runs on one rank, as its [`Links`] see it.
///
/// What stands here "while nothing moves" may be called only when nothing runs on any rank and nothing is under
/// way between two.
pub trait Local: Send + Sync {
    /// Returns whether anything runs here.
    fn rest(&self) -> Standing;

    /// Does what a runtime does that finds nothing running, and returns what its processes wait for; while
    /// nothing moves.
    fn look(&self) -> Seen;

    /// Lets the smallest full channel grow on the way from the process at this end of a cut channel to the
    /// link at which its waits end; `false` if the budget does not allow it. While nothing moves.
    fn grow(&self, end: CutEnd) -> bool;

    /// Notes that what waits on the way from the process at this end of a cut channel waits for good, and does
    /// nothing about it before the next look; while nothing moves.
    fn is_dead(&self, end: CutEnd);

    /// Returns the chains of waits that lead from link to link here; what runs goes on.
    ///
    /// No two of them begin at the same end. What is found of one may have been so at several moments; but what is
    /// found twice has stood from the first time to the second.
    fn chains(&self) -> Vec<Chain>;

    /// Returns which of these chains stand, and holds them: none of their processes is pruned until they are
    /// [released](Self::release).
    fn hold(&self, chains: &[Chain]) -> Vec<bool>;

    /// Lets the smallest full channel grow on a chain that is [held](Self::hold), as are the others of the ring of
    /// which it is a part; `false` if the budget does not allow it.
    fn grow_on(&self, chain: &Chain) -> bool;

    /// Notes that what waits on a chain waits for good, and does nothing about it until it is
    /// [released](Self::release). The chain is held, as are the others of its ring, which is one of empty channels.
    fn is_dead_on(&self, chain: &Chain);

    /// Holds no chain any more, and does what follows from what was noted.
    fn release(&self);

    /// Returns whether no root was left here when it was looked last: no process through which others can be
    /// observed. Where loops are not pruned it is not looked, and that is `false`.
    fn has_no_root(&self) -> bool;

    /// Returns whether none has been left since it was looked last. If one has come since, it is looked again.
    fn stays_without_root(&self) -> bool;

    /// Prunes all that is alive here: no root is left on any rank.
    fn prune_all(&self);

    /// Returns what processes wait for here, written down for rank 0; what runs goes on.
    fn waits(&self) -> Vec<u8>;

    /// Notes that nothing receives from this channel on its receiver's rank any more.
    fn reader_left(&self, channel: usize);

    /// Ends the run here.
    fn end(&self, why: Reason);
}

/// Whether anything runs on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Something runs.
    Runs,
    /// Nothing runs, but something may be woken from outside of all ranks.
    Waits,
    /// Nothing runs, and nothing goes on unless something comes from another rank.
    Rests,
    /// The run has ended here, after all its processes.
    Finished,
    /// The run has ended here before: it was stopped, or misused.
    Ended,
}

/// An end of a cut channel, on the rank of the process that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CutEnd {
    /// The channel.
    pub channel: usize,
    /// Whether it is the sending end.
    pub is_sender: bool,
}

impl CutEnd {
    /// Returns the other end.
    #[must_use]
    pub fn peer(self) -> Self {
        Self { is_sender: !self.is_sender, ..self }
    }
}

/// What stands on a rank, while nothing moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether something goes on here after all.
    pub goes_on: bool,
    /// A channel that had to grow, and must not.
    pub over_budget: Option<Name>,
    /// Where the waits of the processes at the ends of cut channels lead to.
    pub leads: Vec<(CutEnd, Lead)>,
}

/// Where the waits of a process lead to, from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// The process waits for good.
    Dead,
    /// To a process that waits at this end of a cut channel.
    To {
        /// The end.
        end: CutEnd,
        /// The smallest full channel on the way.
        smallest: Option<Full>,
    },
}

/// A full channel; the smaller one is to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Full {
    /// Whether it joins the parts of one process, and so does not grow if another does.
    pub is_inner: bool,
    /// How many messages it holds.
    pub capacity: u32,
    /// Tells it from others that hold as many.
    pub channel: u64,
}

/// A chain of waits on one rank: a link waits for a process, which waits for the next, and the last of them for
/// another link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The end, on this rank, of the cut channel at whose link it begins: that of the first process.
    pub from: CutEnd,
    /// The end at which the last process waits.
    pub to: CutEnd,
    /// The smallest full channel at which one of the processes waits.
    pub smallest: Option<Full>,
    /// Where each of them is parked, the link first, and how far its channel had come.
    pub waits: Vec<ChainWait>,
}

/// One wait of a [`Chain`]: the same process, channel and count are not seen again when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainWait {
    /// The address of the process.
    pub process: usize,
    /// The address of the channel.
    pub channel: usize,
    /// What the other end had done when it was parked.
    pub count: u64,
}

/// Why a run ends on a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing can go on any more on any rank.
    Stuck,
    /// This channel had to grow, and must not.
    OverBudget(Name),
    /// It has ended elsewhere.
    Elsewhere,
}
