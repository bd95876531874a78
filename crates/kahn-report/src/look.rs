//! What a run does at one moment, for what samples it: states of processes, how full channels are.

use crate::{Explanation, Name, RingMember};
use std::ops::Range;
use std::sync::Arc;

/// A run that can be looked at while it goes on, which costs it nothing.
///
/// The handle of a network does this, [`StopHandle`], and that of communicating processes. All processes and channels stand in tables, at places
/// from 0 on; a part of very many is told by a range of places, all of them by `0..usize::MAX`. A
/// table keeps its order while processes come and go, but for those that take the places of others.
///
/// [`StopHandle`]: https://docs.rs/kahn/latest/kahn/struct.StopHandle.html
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn::observe::{Look, Sampled};
///
/// let mut network = Network::new();
/// let handle = network.stop_handle();
/// let (out, seen) = network.channel("seen");
/// network.process("look", out, async move |mut out| {
///     let mut look = Look::default();
///     handle.look(0..usize::MAX, &mut look);
///     let survey = handle.survey(0..usize::MAX, 0..usize::MAX);
///     out.send((look.processes.len(), survey.channels.len())).await;
/// });
/// let seen = network.collect("all", seen);
/// network.run()?;
/// assert_eq!(seen.take(), Some(vec![(2, 1)]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Sampled: Send + Sync {
    /// Finds what the processes at these places do right now. Nothing is there before the run has begun and
    /// when it has ended.
    ///
    /// For what samples a run many times a second. No process is created or recycled while it looks.
    fn look(&self, places: Range<usize>, found: &mut Look);

    /// Returns the processes and the channels at these places of their tables, with their names, and the rings
    /// of processes that wait for each other, wherever those stand.
    ///
    /// Names are copied, so this is for what a person watches: a few times a second.
    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey;

    /// Returns what was seen last on the ranks of a run on several: a view each, as what samples them has written it down
    /// there; empty of this rank, and of one of which nothing is known yet. A run on one rank has none.
    fn ranks(&self) -> Vec<Arc<[u8]>> {
        Vec::new()
    }

    /// Tells what every process waits for, for a person who asks. Empty before the run has begun and when it has
    /// ended.
    fn explain(&self) -> Explanation;
}

impl<Run: Sampled + ?Sized> Sampled for Arc<Run> {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        (**self).look(places, found);
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        (**self).survey(processes, channels)
    }

    fn ranks(&self) -> Vec<Arc<[u8]>> {
        (**self).ranks()
    }

    fn explain(&self) -> Explanation {
        (**self).explain()
    }
}

/// What a process does at one moment, in a word.
///
/// # Examples
///
/// ```
/// use kahn::observe::Doing;
///
/// assert_eq!(Doing::ALL.map(Doing::name).join(", "), "busy, ready, empty, full, outside");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// A thread runs it.
    Busy,
    /// It could run, and waits for a worker.
    Ready,
    /// It waits for a message of another process: the channel is empty. Of communicating processes also one that
    /// waits for anything else of another.
    WaitsForMessage,
    /// It waits for another process to receive: the channel is full.
    WaitsForRoom,
    /// It waits for what is outside of the network: a party at the other end of its channel, a future of
    /// another library, or a time. A party that is in no operation does so as well.
    WaitsOutside,
}

impl Doing {
    /// All of them, in the order of their numbers, `doing as usize`.
    pub const ALL: [Self; 5] =
        [Self::Busy, Self::Ready, Self::WaitsForMessage, Self::WaitsForRoom, Self::WaitsOutside];

    /// Returns the word for it in tables and files.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::observe::Doing;
    ///
    /// assert_eq!(Doing::WaitsForRoom.name(), "full");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Ready => "ready",
            Self::WaitsForMessage => "empty",
            Self::WaitsForRoom => "full",
            Self::WaitsOutside => "outside",
        }
    }
}

/// What the processes at some places of a run's table do at one moment; filled by [`Sampled::look`].
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn::observe::{Doing, Look, Sampled};
///
/// let mut network = Network::new();
/// let handle = network.stop_handle();
/// let (out, seen) = network.channel("seen");
/// network.process("look", out, async move |mut out| {
///     let mut look = Look::default();
///     handle.look(0..100, &mut look);
///     out.send(look.processes.iter().any(|&(_, doing)| doing == Doing::Busy)).await;
/// });
/// let seen = network.collect("all", seen);
/// network.run()?;
/// assert_eq!(seen.take(), Some(vec![true]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The processes by their numbers, which are those of [`Subject`](super::observe::Subject): each once.
    pub processes: Vec<(u64, Doing)>,
    /// The process that each worker runs.
    pub workers: Vec<Option<u64>>,
    /// How many places of the table are taken: by the processes that are alive, and some others.
    pub places: usize,
}

/// What there is at some places of a run's tables at one moment, by name; made by [`Sampled::survey`].
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn::observe::Sampled;
///
/// let mut network = Network::new();
/// let handle = network.stop_handle();
/// let (out, seen) = network.channel("seen");
/// network.process("look", out, async move |mut out| {
///     let survey = handle.survey(0..100, 0..100);
///     let channel = &survey.channels[0];
///     assert_eq!((channel.name.as_str(), channel.sent), ("seen", 0));
///     out.send(survey.processes.iter().any(|process| process.name == "look")).await;
/// });
/// let seen = network.collect("all", seen);
/// network.run()?;
/// assert_eq!(seen.take(), Some(vec![true]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The processes at these places.
    pub processes: Vec<SurveyedProcess>,
    /// The channels at these places.
    pub channels: Vec<SurveyedChannel>,
    /// Rings of processes that wait for each other, also of such as are not among these.
    pub rings: Vec<Vec<RingMember>>,
    /// How many places of the table of processes are taken.
    pub process_places: usize,
    /// How many places of the table of channels are taken.
    pub channel_places: usize,
}

/// A process of a [`Survey`].
///
/// # Examples
///
/// ```
/// use kahn::observe::SurveyedProcess;
///
/// fn line(process: &SurveyedProcess) -> String {
///     let stuck = if process.is_stuck { ", for ever" } else { "" };
///     format!("{}: a {}{stuck}", process.name, process.kind)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct SurveyedProcess {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: Name,
    /// What kind of process it is: `process`, `blocking` or `outside`.
    pub kind: &'static str,
    /// The channel at which it waits.
    pub waits_at: Option<u64>,
    /// Whether nothing can wake it: the runtime has found so, or it is in a ring of which all wait for messages.
    pub is_stuck: bool,
}

/// A channel of a [`Survey`].
///
/// # Examples
///
/// ```
/// use kahn::observe::SurveyedChannel;
///
/// fn fill(channel: &SurveyedChannel) -> String {
///     let waiting = channel.sent.saturating_sub(channel.received);
///     format!("{}: {waiting} of {}", channel.name, channel.capacity)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct SurveyedChannel {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: Name,
    /// The process that sends.
    pub from: Option<u64>,
    /// The process that receives.
    pub to: Option<u64>,
    /// How many messages it holds at most.
    pub capacity: u32,
    /// Messages sent, as far as they are published. Never less than received.
    pub sent: u64,
    /// Messages received, as far as that is published.
    pub received: u64,
    /// How often it grew.
    pub growths: u32,
}
