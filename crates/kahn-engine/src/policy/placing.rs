//! Where processes belong, for policies that settle that: what they may know of the network, and
//! when they are asked.
//!
//! A policy is asked before the run starts. It may want to be asked again when the workers, all
//! together, have been idle for long (Vrba and others, *The Nornir run-time system*, section 5.2.2).
//! What looks is a worker that has nothing to run: as it begins to wait, and as the monitor between
//! naps. So those that work pay nothing for it.
//!
//! Idle time counts from the last time the policy was asked, up to now, also that of workers that
//! are still idle. Where every attempt is in vain because the network has less to do than there
//! are workers, asking must not eat up what is left: it takes at most a tenth of the idle time.

use kahn_report::Name;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Decides to which worker each process belongs: an optional part of a [`Policy`](super::Policy).
///
/// # Examples
///
/// ```
/// use kahn::policy::{Load, Misplaced, Placing};
///
/// /// Processes in turn.
/// #[derive(Debug)]
/// struct InTurn;
///
/// impl Placing for InTurn {
///     fn place(&self, load: &Load) -> Result<Option<Vec<usize>>, Misplaced> {
///         Ok(Some((0..load.processes.len()).map(|process| process % load.workers).collect()))
///     }
/// }
///
/// assert_eq!(InTurn.place(&Load::new(2)), Ok(Some(vec![])));
/// ```
pub trait Placing: fmt::Debug + Send + Sync {
    /// Decides to which worker each process belongs: [`Ready::belongs_to`](super::Ready::belongs_to)
    /// tells it from then on, and it is for the policy to heed it. Asked before the start, for all
    /// that exists then; and again as [`again_after`](Self::again_after) says. `None` if nothing is to
    /// change; otherwise a worker for each process of the load.
    ///
    /// # Errors
    /// [`Misplaced`] if the network cannot be placed as it was asked for. It is not run then; while it
    /// runs, nothing changes.
    fn place(&self, load: &Load) -> Result<Option<Vec<usize>>, Misplaced>;

    /// Returns how long workers may be idle, all together, until [`place`](Self::place) is asked
    /// again while the network runs. The run then measures what a [`Load`] tells: CPU times by
    /// samples, volumes by the counts that channels keep anyway.
    fn again_after(&self) -> Option<Duration> {
        None
    }
}

/// Why a network cannot be placed as it was asked for.
///
/// # Examples
///
/// ```
/// use kahn::policy::Misplaced;
///
/// assert_eq!(Misplaced("there is no worker 7".to_owned()).to_string(), "there is no worker 7");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced(
    /// What does not fit.
    pub String,
);

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Misplaced {}

/// A network as a graph: processes with the work they do, channels with the volume they carry.
///
/// Only processes that are queued are in it: those with threads of their own belong to no worker.
/// Before the start nothing has been measured, and all work and all volumes are zero.
///
/// # Examples
///
/// ```
/// use kahn::policy::{ChannelLoad, Load, ProcessLoad};
///
/// let mut load = Load::new(2);
/// load.processes = ["source", "sink"].map(|name| ProcessLoad::new(name.into())).into();
/// load.channels = vec![ChannelLoad::new(0, 1, 4096)];
/// assert_eq!(load.processes[load.channels[0].to].name, "sink");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Load {
    /// The number of workers.
    pub workers: usize,
    /// The processes; before the start in the order of their creation.
    pub processes: Vec<ProcessLoad>,
    /// The channels between two of them.
    pub channels: Vec<ChannelLoad>,
    /// The names of processes with threads of their own.
    pub others: Vec<Name>,
    /// Whether processes may be created while the network runs.
    pub may_grow: bool,
}

/// A process in a [`Load`].
///
/// # Examples
///
/// ```
/// use kahn::policy::ProcessLoad;
///
/// let heaviest = |processes: &[ProcessLoad]| processes.iter().map(|process| process.work).max();
/// assert_eq!(heaviest(&[ProcessLoad::new("source".into())]), Some(0));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessLoad {
    /// Its name.
    pub name: Name,
    /// The worker that its program pinned it to.
    pub pinned: Option<usize>,
    /// The worker that it belongs to now.
    pub worker: Option<usize>,
    /// The CPU time it took of late, in a unit that is the same for all.
    pub work: u64,
}

/// A channel in a [`Load`].
///
/// # Examples
///
/// ```
/// use kahn::policy::ChannelLoad;
///
/// /// The bytes that cross if these are the workers of the processes.
/// fn crossing(channels: &[ChannelLoad], workers: &[usize]) -> u64 {
///     let crosses = |channel: &&ChannelLoad| workers[channel.from] != workers[channel.to];
///     channels.iter().filter(crosses).map(|channel| channel.volume).sum()
/// }
///
/// let channels = [ChannelLoad::new(0, 1, 100), ChannelLoad::new(1, 2, 10)];
/// assert_eq!(crossing(&channels, &[0, 0, 1]), 10);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelLoad {
    /// The process that sends, by its place in [`Load::processes`].
    pub from: usize,
    /// The process that receives.
    pub to: usize,
    /// Bytes in slots that it carried of late.
    pub volume: u64,
}

impl ProcessLoad {
    /// Makes what is known of a process that belongs to no worker and has done no work.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::ProcessLoad;
    ///
    /// let process = ProcessLoad::new("source".into());
    /// assert_eq!((process.worker, process.work), (None, 0));
    /// ```
    #[must_use]
    pub fn new(name: Name) -> Self {
        Self { name, pinned: None, worker: None, work: 0 }
    }
}

impl ChannelLoad {
    /// Makes what is known of a channel between two processes, by their places.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::ChannelLoad;
    ///
    /// let channel = ChannelLoad::new(0, 1, 4096);
    /// assert_eq!((channel.from, channel.to, channel.volume), (0, 1, 4096));
    /// ```
    #[must_use]
    pub fn new(from: usize, to: usize, volume: u64) -> Self {
        Self { from, to, volume }
    }
}

impl Load {
    /// Makes the load of so many workers, without any process.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Load;
    ///
    /// let load = Load::new(4);
    /// assert_eq!((load.workers, load.processes.len()), (4, 0));
    /// ```
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self { workers, ..Self::default() }
    }
}
