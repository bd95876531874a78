//! One rank's part of a run: what a network runs there, and what is known of it when it is over, here or as bytes.

use super::Network;
use super::cut::CutRecord;
use super::merged::merged;
use super::options::Options;
use super::run::{RunError, perform};
use super::summary::{Outcome, RunPart, tell};
use crate::channel::observer::ObserverHandle;
use crate::channel::table::ChannelRecord;
use kahn_engine::sync::{Arc, Ordering::*};
use kahn_report::ranks::{History, Links, Shape};
use kahn_report::{Portable, Report};
use std::collections::BTreeMap;
use std::fmt;

/// What ran on one rank: a part of a run, which is told when the parts of all ranks are [put
/// together](Self::merge).
///
/// # Examples
///
/// The crate `kahn-net` makes runs of several ranks of it; see its documentation.
///
/// ```
/// use kahn::ranks::{Arrival, Batch, Links, Local, Shape};
/// use kahn::{Network, Options, RankRun};
/// use std::sync::Arc;
/// use std::task::{Context, Poll};
///
/// /// One rank, on which everything runs: nothing goes to another.
/// struct Alone;
///
/// impl Links for Alone {
///     fn places(&self, shape: &Shape) -> Result<Vec<usize>, String> {
///         Ok(vec![0; shape.processes.len()])
///     }
///     fn rank(&self) -> usize {
///         0
///     }
///     fn begins(&self, _local: Arc<dyn Local>) {}
///     fn poll_room(&self, _: usize, _: &mut Context<'_>) -> Poll<u64> {
///         Poll::Pending
///     }
///     fn sends(&self, _: usize, _: &mut Batch) -> u64 {
///         0
///     }
///     fn closes(&self, _: usize, _: bool) {}
///     fn poll_next(&self, _: usize, _: &mut Batch, _: &mut Context<'_>) -> Poll<Arrival> {
///         Poll::Pending
///     }
///     fn takes(&self, _: usize, _: u64) {}
///     fn departs(&self, _: usize) {}
///     fn refuses(&self, _: usize, _: String) {}
///     fn may_rest(&self) {}
/// }
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..10_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let links: Arc<dyn Links> = Arc::new(Alone);
/// let part = network.run_on_rank(Options::new(), &links)?;
/// let report = RankRun::merge(vec![part])?;
/// assert_eq!((sum.take(), report.processes.len()), (Some(45), 2));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct RankRun {
    part: RunPart,
    cut: CutRecord,
}

impl fmt::Debug for RankRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankRun").field("rank", &self.cut.rank).finish_non_exhaustive()
    }
}

impl Network<'_> {
    /// Returns the network as it is before the run, for what places its processes on ranks.
    ///
    /// # Examples
    ///
    /// See [`Shape`].
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// assert!(Network::new().shape().processes.is_empty());
    /// ```
    pub fn shape(&self) -> Shape {
        self.made.core.shape()
    }

    /// Runs the processes of the network that belong on the rank of `links`; the network was built alike on
    /// every rank.
    ///
    /// # Examples
    ///
    /// See [`RankRun`].
    ///
    /// ```
    /// # use kahn::ranks::{Arrival, Batch, Links, Local, Shape};
    /// # use std::sync::Arc;
    /// # use std::task::{Context, Poll};
    /// # struct Nowhere;
    /// # impl Links for Nowhere {
    /// #     fn places(&self, _: &Shape) -> Result<Vec<usize>, String> { Err("there is no rank".into()) }
    /// #     fn rank(&self) -> usize { 0 }
    /// #     fn begins(&self, _local: Arc<dyn Local>) {}
    /// #     fn poll_room(&self, _: usize, _: &mut Context<'_>) -> Poll<u64> { Poll::Pending }
    /// #     fn sends(&self, _: usize, _: &mut Batch) -> u64 { 0 }
    /// #     fn closes(&self, _: usize, _: bool) {}
    /// #     fn poll_next(&self, _: usize, _: &mut Batch, _: &mut Context<'_>) -> Poll<Arrival> { Poll::Pending }
    /// #     fn takes(&self, _: usize, _: u64) {}
    /// #     fn departs(&self, _: usize) {}
    /// #     fn refuses(&self, _: usize, _: String) {}
    /// #     fn may_rest(&self) {}
    /// # }
    /// use kahn::{Network, Options, RunError};
    ///
    /// // These links refuse every network.
    /// let links: Arc<dyn Links> = Arc::new(Nowhere);
    /// let refused = Network::new().run_on_rank(Options::new(), &links);
    /// assert!(matches!(refused, Err(RunError::Refused(why)) if why == "there is no rank"));
    /// ```
    ///
    /// # Errors
    /// As for [`run_with`](Self::run_with), but how the run ended is told when the parts are put together;
    /// [`RunError::Refused`] if the processes cannot be placed.
    pub fn run_on_rank(
        self,
        options: Options,
        links: &Arc<dyn Links>,
    ) -> Result<RankRun, RunError> {
        let (core, observer) = (Arc::clone(&self.made.core), options.observer.clone());
        let part = perform(self, options, Some(links))?;
        if let Some(ObserverHandle { observer, .. }) = observer {
            observer.ends(part.elapsed.tick);
        }
        core.gone.open();
        let cut = core.cut.get();
        let cut = cut.ok_or_else(|| RunError::Refused("it was not cut".to_owned()))?;
        // Partner: `HereLocal::rest`, when the network is gone.
        cut.has_verdict.store(part.verdict.is_some(), Release);
        Ok(RankRun { part, cut: CutRecord::of(cut) })
    }
}

impl RankRun {
    /// Puts together what ran on all ranks, rank 0 first.
    ///
    /// # Examples
    ///
    /// See [`RankRun`].
    ///
    /// # Errors
    /// As for [`Network::run`].
    ///
    /// # Panics
    /// Panics if there is no part.
    pub fn merge(parts: Vec<Self>) -> Result<Report, RunError> {
        let report = Self::outcome(parts).report;
        if report.is_success() { Ok(report) } else { Err(RunError::Ended(Box::new(report))) }
    }

    /// Returns what was received on each channel, in the order of their creation, if the run was one to be
    /// [compared](Options::histories): of the parts of all ranks.
    ///
    /// # Examples
    ///
    /// The crate `kahn-net` gives them with the report.
    ///
    /// ```
    /// use kahn::RankRun;
    ///
    /// fn messages(parts: &[RankRun]) -> u64 {
    ///     RankRun::histories(parts).iter().map(|history| history.received).sum()
    /// }
    /// ```
    pub fn histories(parts: &[Self]) -> Vec<History> {
        let mut all = Vec::new();
        for Self { part, cut } in parts {
            let places: BTreeMap<_, _> = cut.channels.iter().copied().collect();
            // Of a cut channel the rank of its receiver tells.
            let is_told_here = |channel: &&ChannelRecord| {
                let ends = places.get(&channel.identity);
                ends.is_none_or(|&(_, to)| cut.ranks[to] == cut.rank)
            };
            all.extend(part.channels.iter().filter(is_told_here).map(|channel| {
                let history = History {
                    channel: channel.name.clone(),
                    from: channel.from.clone(),
                    to: channel.to.clone(),
                    received: channel.counts.received,
                    digests: channel.history.as_ref().map(|history| history.digests.clone()),
                    is_whole: !channel.is_cut,
                };
                (channel.identity, history)
            }));
        }
        all.sort_by_key(|(identity, _)| *identity);
        all.into_iter().map(|(_, history)| history).collect()
    }

    pub(crate) fn outcome(parts: Vec<Self>) -> Outcome {
        let (of_ranks, parts): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|run| (run.cut, run.part)).unzip();
        tell(merged(&of_ranks, parts))
    }

    /// Writes what is known of the part behind `to`, for rank 0 to [read](Self::read).
    ///
    /// Errors that processes returned stay behind: what is told of them goes.
    ///
    /// # Examples
    ///
    /// The crate `kahn-net` has every rank but the first one do so.
    ///
    /// ```
    /// use kahn::RankRun;
    ///
    /// fn through_bytes(part: &RankRun) -> Option<RankRun> {
    ///     let mut bytes = Vec::new();
    ///     part.write(&mut bytes);
    ///     RankRun::read(&bytes)
    /// }
    /// ```
    pub fn write(&self, to: &mut Vec<u8>) {
        self.cut.write(to);
        self.part.write(to);
    }

    /// Reads what another rank has [written](Self::write); `None` if it is nothing of the kind.
    ///
    /// # Examples
    ///
    /// See [`write`](Self::write).
    ///
    /// ```
    /// assert!(kahn::RankRun::read(b"no part of a run").is_none());
    /// ```
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let cut = CutRecord::read(&mut bytes)?;
        let part = RunPart::read(&mut bytes)?;
        let count = cut.processes.len();
        // Places lead into the lists.
        let is_place = |place: &usize| *place < count;
        let are_places = cut.channels.iter().all(|(_, (from, to))| is_place(from) && is_place(to));
        let are_links = cut.links.keys().all(|link| *link < cut.channels.len());
        let is_whole = cut.ranks.len() == count && are_places && are_links && bytes.is_empty();
        is_whole.then_some(Self { part, cut })
    }

    /// Returns whether this is what ran on that rank of the run of which `other` is a part.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::RankRun;
    ///
    /// fn of_rank_1(bytes: &[u8], own: &RankRun) -> Option<RankRun> {
    ///     RankRun::read(bytes).filter(|part| part.fits(own, 1))
    /// }
    /// ```
    pub fn fits(&self, other: &Self, rank: usize) -> bool {
        let network = |run: &'_ Self| {
            let CutRecord { ranks, processes, channels, .. } = &run.cut;
            (ranks.clone(), processes.clone(), channels.clone())
        };
        self.cut.rank == rank && network(self) == network(other)
    }

    /// Makes what is known of another rank of the same run if that is lost: nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Report, RankRun, RunError};
    ///
    /// fn without_rank_1(first: RankRun) -> Result<Report, RunError> {
    ///     let lost = first.of_lost(1);
    ///     RankRun::merge(vec![first, lost])
    /// }
    /// ```
    #[must_use]
    pub fn of_lost(&self, rank: usize) -> Self {
        let (own, part) = (&self.cut, &self.part);
        let cut = CutRecord {
            rank,
            ranks: own.ranks.clone(),
            processes: own.processes.clone(),
            channels: own.channels.clone(),
            counted: own.counted,
            links: BTreeMap::new(),
            carried: BTreeMap::new(),
        };
        Self { part: RunPart::unknown(own.counted, part.elapsed), cut }
    }

    /// Returns the rank.
    ///
    /// # Examples
    ///
    /// ```
    /// fn is_first(part: &kahn::RankRun) -> bool {
    ///     part.rank() == 0
    /// }
    /// ```
    pub fn rank(&self) -> usize {
        self.cut.rank
    }
}
