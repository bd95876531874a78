//! Ranks within this program under a virtual clock, as many as memory has room for: how a network would do on a
//! cluster, and what it would be held up by.
//!
//! The ranks are real: their networks, loops, credits, rings and rounds are those of any run. What carries their
//! bytes owns the clock, and lets one rank run at a time (`turns`); so neither the machine nor its load decides
//! anything, and a run takes the same virtual time each time.
//!
//! | file | what |
//! |---|---|
//! | `turns` | whose turn it is, and when what comes |
//! | `costs` | what a parcel and a message cost |
//! | `carrier` | a rank's end of that |
//! | `traffic` | what went from rank to rank |

mod carrier;
mod costs;
mod traffic;
mod turns;

pub use costs::LogGp;
pub use traffic::{Share, Traffic};

use crate::NetError;
use crate::one::{OneRank, Ran};
use crate::placement::Placement;
use crate::within;
use carrier::TimedTransport;
use kahn::{Network, Options};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use turns::Turns;

/// Runs networks on several ranks within this program under a virtual clock.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Options};
/// use kahn_net::{LogGp, TimedSim};
/// use std::time::Duration;
///
/// // `count` computes for a millisecond before each number, and nothing takes a millisecond here.
/// let timed = TimedSim::new(2, LogGp::TCP).run(&Options::new(), |core, network| {
///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
///     let core = core.clone();
///     network.process("count", out, async move |mut out| {
///         for n in 0..1000_u64 {
///             core.compute(Duration::from_millis(1)).await;
///             out.send(n).await;
///         }
///     });
///     network.fold("sum", numbers, 0, |sum, n| sum + n)
/// })?;
/// assert_eq!(timed.ran.result.take(), Some(499_500));
/// assert!(timed.time >= Duration::from_secs(1) && timed.time < Duration::from_millis(1001));
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimedSim {
    ranks: usize,
    costs: LogGp,
    placement: Placement,
    /// Ranks that pause: when, and for how long.
    pauses: Vec<(usize, Duration, Duration)>,
}

/// What a run under a virtual clock came to.
///
/// # Examples
///
/// See [`TimedSim`].
#[derive(Debug)]
pub struct Timed<R> {
    /// What it came to.
    pub ran: Ran<R>,
    /// When rank 0 knew that the run was over, by the virtual clock.
    pub time: Duration,
    /// What went from rank to rank.
    pub traffic: Traffic,
}

/// The core on which the processes of a rank compute, one after the other.
///
/// # Examples
///
/// See [`TimedSim`].
#[derive(Clone, Debug)]
pub struct VirtualCore {
    rank: usize,
    turns: Arc<Turns>,
}

impl VirtualCore {
    /// Returns which rank it is of.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Options;
    /// use kahn_net::{LogGp, TimedSim};
    ///
    /// // What is returned is that of rank 0.
    /// let timed = TimedSim::new(3, LogGp::TCP).run(&Options::new(), |core, _network| core.rank())?;
    /// assert_eq!(timed.ran.result, 0);
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Computes for so long by the virtual clock, when the processes of the rank have done so that began before.
    ///
    /// # Examples
    ///
    /// See [`TimedSim`].
    pub async fn compute(&self, time: Duration) {
        let number = self.turns.begin(self.rank, time);
        poll_fn(|context| self.turns.poll(self.rank, number, context)).await;
    }
}

impl TimedSim {
    /// Makes so many ranks, between which parcels and messages cost this.
    ///
    /// # Examples
    ///
    /// See [`TimedSim`].
    ///
    /// # Panics
    /// Panics if there are no ranks.
    #[must_use]
    pub fn new(ranks: usize, costs: LogGp) -> Self {
        assert!(ranks > 0, "a network runs on one rank at least");
        Self { ranks, costs, placement: Placement::new(), pauses: Vec::new() }
    }

    /// Says where processes run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::{LogGp, Placement, TimedSim};
    ///
    /// let _placed = TimedSim::new(2, LogGp::TCP).placement(Placement::new().at("map *", 1));
    /// ```
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Has a rank do nothing for a time: neither its processes nor what speaks with other ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Options};
    /// use kahn_net::{LogGp, TimedSim, Window};
    /// use std::time::Duration;
    ///
    /// // What is sent to a rank that sleeps is kept where it comes from.
    /// let second = Duration::from_secs(1);
    /// let sleepy = TimedSim::new(2, LogGp::TCP).pause(0, Duration::ZERO, second);
    /// let timed = sleepy.run(&Options::new(), |_core, network| {
    ///     let texts = Channel::named("texts").capacity(1000).wire();
    ///     let (out, texts) = network.channel_with(texts);
    ///     network.process("write", out, async |mut out| {
    ///         out.send_all((0..1000).map(|n| format!("{n:4000}"))).await;
    ///     });
    ///     network.for_each("read", texts, |_text| {});
    /// })?;
    /// assert!(timed.time > second);
    /// assert_eq!(timed.traffic.most_under_way, Window::MOST);
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such rank.
    #[must_use]
    pub fn pause(mut self, rank: usize, at: Duration, time: Duration) -> Self {
        assert!(rank < self.ranks, "there are {} ranks, the first is 0", self.ranks);
        self.pauses.push((rank, at, time));
        self
    }

    /// Runs the network that `build` writes down, once on each rank, which is called with the core of the rank and
    /// must build the same on all. Each rank has one worker, whatever the options say.
    ///
    /// # Examples
    ///
    /// See [`TimedSim`].
    ///
    /// # Errors
    /// See [`NetError`].
    pub fn run<'env, R>(
        &self,
        options: &Options,
        build: impl Fn(&VirtualCore, &mut Network<'env>) -> R + Sync,
    ) -> Result<Timed<R>, NetError> {
        let turns = Arc::new(Turns::new(self.ranks, self.costs));
        for &(rank, at, time) in &self.pauses {
            turns.pause(rank, at, time);
        }
        let rank = |rank: usize| {
            let bell = Arc::clone(&turns);
            let (one, exchange) =
                OneRank::of(rank, self.ranks, self.placement.clone(), move || bell.ring(rank));
            let transport = TimedTransport::new(rank, &turns, one.links());
            (one, exchange, transport)
        };
        let all = (0..self.ranks).map(rank).collect();
        let ran = within::run(all, &options.clone().workers(1), |rank, network| {
            // One after the other: so much memory is used for one network at a time.
            turns.wait(rank);
            build(&VirtualCore { rank, turns: Arc::clone(&turns) }, network)
        })?;
        let (traffic, time) = turns.traffic();
        Ok(Timed { ran, time, traffic })
    }
}
