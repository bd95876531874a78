//! One rank of a run over several: what runs the network here, and what speaks with the other ranks on a thread of
//! its own, or by that of the only worker while it has nothing to run.
//!
//! | | the network's side, [`OneRank`] | the other side, [`Exchange`] |
//! |---|---|---|
//! | before | builds the network | waits for it |
//! | while it runs | runs it | moves frames |
//! | when it is over | writes down what ran here | gives that to rank 0, which waits for all |
//! | then | waits for the other side; on rank 0 it puts together what it has | is done |
//!
//! Each gets to know if the other gives up: a network that is not run is told as such, and one whose other side is
//! gone is ended.

use crate::NetError;
use crate::alike::Difference;
use crate::files::Input;
use crate::links::{RankLinks, Stage, Told};
use crate::placement::{Placement, RankTable};
use crate::rank::{Ended, How, RankLoop};
use crate::transport::Transport;
use crate::watch::Watch;
use kahn::observe::Observable as _;
use kahn::ranks::{Driver, History, Links, Reason};
use kahn::{Name, Network, Options, RankRun, Report, RunError};
use kahn_engine::sleep::shared_loop::SharedLoop;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::thread;

/// One rank of a run: runs what belongs here of a network that is built alike on all ranks.
///
/// What speaks with the other ranks is the [`Exchange`] that is made with it, on a thread of its own, for some
/// transports are to be used by one thread; see [`worker_drives`](Self::worker_drives) for those that are not.
///
/// # Examples
///
/// ```
/// use kahn::Options;
/// use kahn_net::{Event, OneRank, Placement, Transport};
/// use std::time::Duration;
///
/// /// There is no other rank.
/// struct Alone;
///
/// impl Transport for Alone {
///     fn send(&mut self, _to: usize, _bytes: &mut Vec<u8>) {}
///     fn receive(&mut self, _into: &mut [Vec<u8>]) -> Event {
///         Event::Nothing
///     }
///     fn wait(&mut self, _most: Duration) {}
/// }
///
/// let (rank, exchange) = OneRank::of(0, 1, Placement::new(), || {});
/// std::thread::spawn(|| exchange.run(Alone));
/// let ran = rank.run(&Options::new(), |network| {
///     let numbers = network.source("numbers", 0..10_u32);
///     network.fold("sum", numbers, 0, |sum, n| sum + n)
/// })?;
/// assert_eq!(ran.and_then(|ran| ran.result.take()), Some(45));
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[must_use = "the other ranks wait for it"]
pub struct OneRank {
    rank: usize,
    ranks: usize,
    placement: Placement,
    links: Arc<RankLinks>,
    end: Arc<EndOfExchange>,
    /// What its worker may turn.
    driver: Arc<dyn Driver>,
    /// Ranks that share the cores of this one, if that is known.
    sharing: Option<usize>,
}

/// What speaks with the other ranks, for [`OneRank`].
///
/// # Examples
///
/// See [`OneRank`].
#[must_use = "the other ranks wait for it"]
pub struct Exchange<T> {
    rank: usize,
    links: Arc<RankLinks>,
    end: Arc<EndOfExchange>,
    shared: Arc<SharedLoop<RankLoop<T>>>,
}

/// What a run on several ranks came to.
///
/// # Examples
///
/// See [`Sim`](crate::Sim).
///
/// ```
/// use kahn::Options;
///
/// let ran = kahn_net::Sim::new(2).run(&Options::new(), |network| {
///     network.process("idle", (), async |()| {});
/// })?;
/// assert!(ran.report.is_success());
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[derive(Debug)]
pub struct Ran<R> {
    /// What was built on rank 0, where results are.
    pub result: R,
    /// What ran on all ranks.
    pub report: Report,
    /// Which process ran where.
    pub table: RankTable,
    /// What was received on each channel, if the run was one to be [compared](Options::histories).
    pub histories: Vec<History>,
}

impl<R> Ran<R> {
    /// Tells the first difference of another run of the same network from this one, if there is one: a channel on
    /// which something else was received, and, if there is such a one, whose writer had received the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Options};
    /// use kahn_net::Sim;
    ///
    /// let run = |last: u64| {
    ///     Sim::new(2).run(&Options::new().histories(), |network| {
    ///         let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    ///         network.process("count", out, async move |mut out| out.send_all(0..last).await);
    ///         network.for_each("ignore", numbers, |_: u64| {});
    ///     })
    /// };
    /// let (three, four) = (run(3)?, run(4)?);
    /// assert_eq!(three.difference(&run(3)?), None);
    /// let difference = three.difference(&four).expect("there is a message more");
    /// assert_eq!(difference, "message 4 on channel `numbers`, from `count` to `ignore`");
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    pub fn difference<S>(&self, other: &Ran<S>) -> Option<String> {
        let (ours, theirs) = (&self.histories, &other.histories);
        let pairs = ours.iter().zip(theirs);
        let mut names = pairs.clone().map(|(own, other)| (&own.channel, &other.channel));
        if let Some((own, other)) = names.find(|(own, other)| own != other) {
            return Some(format!("there is channel `{other}` in place of `{own}`"));
        }
        if ours.len() != theirs.len() {
            return Some(format!("there are {} channels, and not {}", theirs.len(), ours.len()));
        }
        let differ: Vec<_> =
            pairs.filter_map(|(own, other)| Some((own.differs_at(other)?, own))).collect();
        // A difference spreads downstream.
        let readers: BTreeSet<_> = differ.iter().filter_map(|(_, one)| one.to.as_ref()).collect();
        let is_first =
            |one: &History| one.from.as_ref().is_some_and(|from| !readers.contains(from));
        let first =
            differ.iter().filter(|(_, one)| is_first(one)).min_by_key(|(number, _)| *number);
        let first = first.or_else(|| differ.iter().min_by_key(|(number, _)| *number));
        first.map(|(number, history)| {
            let end =
                |name: &Option<Name>| name.as_ref().map_or("nothing", Name::as_str).to_owned();
            let (from, to) = (end(&history.from), end(&history.to));
            format!("message {number} on channel `{}`, from `{from}` to `{to}`", history.channel)
        })
    }
}

#[derive(Default)]
struct EndOfExchange {
    ended: Mutex<Option<Ended>>,
    bell: Condvar,
}

impl EndOfExchange {
    fn is(&self, ended: Ended) {
        self.ended.lock().get_or_insert(ended);
        self.bell.notify_all();
    }

    fn wait(&self) -> Ended {
        let mut ended = self.ended.lock();
        loop {
            if let Some(ended) = ended.take() {
                return ended;
            }
            self.bell.wait(&mut ended);
        }
    }
}

impl OneRank {
    /// Makes this rank of so many. `bell` is called by any thread when there is something to send: it ends the
    /// [wait](Transport::wait) of the transport, this one or the next.
    ///
    /// # Examples
    ///
    /// See [`OneRank`].
    ///
    /// # Panics
    /// Panics if there is no such rank.
    pub fn of<T: Transport + Send + 'static>(
        rank: usize,
        ranks: usize,
        placement: Placement,
        bell: impl Fn() + Send + Sync + 'static,
    ) -> (Self, Exchange<T>) {
        assert!(rank < ranks, "there are {ranks} ranks, the first is 0");
        let shared = Arc::new(SharedLoop::new(bell));
        let rung = Arc::clone(&shared);
        let links = RankLinks::new(rank, ranks, placement.clone(), Box::new(move || rung.ring()));
        let (links, end) = (Arc::new(links), Arc::<EndOfExchange>::default());
        let driver = Arc::<SharedLoop<RankLoop<T>>>::clone(&shared);
        let exchange = Exchange { rank, links: Arc::clone(&links), end: Arc::clone(&end), shared };
        (Self { rank, ranks, placement, links, end, driver, sharing: None }, exchange)
    }

    pub(crate) fn links(&self) -> &Arc<RankLinks> {
        &self.links
    }

    /// Has this see what happens on this rank, and rank 0 know of it; each rank of a run has one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::{OneRank, Watch};
    /// use std::sync::Arc;
    ///
    /// fn watched(rank: OneRank, by: Arc<dyn Watch>) -> OneRank {
    ///     rank.watched_by(by)
    /// }
    /// ```
    pub fn watched_by(self, watch: Arc<dyn Watch>) -> Self {
        *self.links.watch.lock() = Some(watch);
        self
    }

    /// Says how many ranks, this one among them, share the cores on which it may run, in place of what the options
    /// of its run [say](Options::cores_shared_by).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::OneRank;
    ///
    /// fn on_a_machine_of_four(rank: OneRank) -> OneRank {
    ///     rank.cores_shared_by(4)
    /// }
    /// ```
    ///
    /// # Panics
    /// Panics if there are none.
    #[must_use = "it is the rank"]
    pub fn cores_shared_by(mut self, ranks: usize) -> Self {
        assert!(ranks > 0, "this rank is one of them");
        self.sharing = Some(ranks);
        self
    }

    /// Lets the worker of this rank speak with the other ranks, too, if it is the only one and has one core for
    /// both: while it has nothing to run, and between two processes. The functions of the transport are called by two
    /// threads then, one at a time: that of the exchange, as before the run, after it, and while a process computes
    /// for long, and the one that runs the network.
    ///
    /// So a message that wakes a process does not cost two switches of threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::OneRank;
    ///
    /// fn over_what_any_thread_may_call(rank: OneRank) -> OneRank {
    ///     rank.worker_drives()
    /// }
    /// ```
    #[must_use = "it is the rank"]
    pub fn worker_drives(self) -> Self {
        *self.links.driver.lock() = Some(Arc::clone(&self.driver));
        self
    }

    /// Builds the network and runs what belongs here, until the run is over on all ranks: on rank 0 returns what it
    /// came to, on others `None`.
    ///
    /// # Examples
    ///
    /// See [`OneRank`].
    ///
    /// # Errors
    /// See [`NetError`]. Rank 0 tells of all ranks; others tell only what they know themselves.
    pub fn run<'env, R>(
        self,
        options: &Options,
        build: impl FnOnce(&mut Network<'env>) -> R,
    ) -> Result<Option<Ran<R>>, NetError> {
        let mut network = Network::new();
        let result = build(&mut network);
        let (table, own) = match self.part(network, options) {
            Ok(ran) => ran,
            Err(error) => {
                self.links.tell(Told::NotRun(error.to_string()));
                self.end.wait();
                return Err(error);
            }
        };
        let mut bytes = Vec::new();
        if self.rank != 0 {
            own.write(&mut bytes);
        }
        self.links.tell(Told::Ran(bytes));
        let (how, all_told) = self.end.wait();
        let mut parts: Vec<Option<RankRun>> = (0..self.ranks).map(|_| None).collect();
        for (rank, told) in all_told.into_iter().enumerate().filter(|(rank, _)| *rank != self.rank)
        {
            match told {
                Some(Told::Ran(bytes)) => {
                    let part = RankRun::read(&bytes).filter(|part| part.fits(&own, rank));
                    let what = "what ran there cannot be read";
                    let wrong = || NetError::Frame { rank: 0, channel: None, what: what.into() };
                    parts[rank] = Some(part.ok_or_else(wrong)?);
                }
                // What the others found is what followed from it.
                Some(Told::NotRun(why)) if how == How::Told => {
                    return Err(NetError::NotRun { rank, why });
                }
                Some(Told::NotRun(_)) | None => {}
            }
        }
        let channel_named = |number: u32| self.links.name_of_channel(number as usize);
        match how {
            How::Told if self.rank != 0 => Ok(None),
            How::Told => {
                let all = all(own, parts);
                let histories = RankRun::histories(&all);
                Ok(Some(Ran { result, report: RankRun::merge(all)?, table, histories }))
            }
            How::Lost(rank) => {
                let report = match RankRun::merge(all(own, parts)) {
                    Ok(report) => Box::new(report),
                    Err(RunError::Ended(report)) => report,
                    Err(other) => return Err(other.into()),
                };
                Err(NetError::Lost { rank, report })
            }
            How::Refused { rank, refusal } => Err(NetError::Frame {
                rank,
                channel: refusal.channel.and_then(channel_named),
                what: refusal.what,
            }),
            How::Differs { rank, difference: Difference::Network(what) } => {
                Err(NetError::OtherNetwork { rank, what })
            }
            How::Differs { rank, difference: Difference::Input { path, what } } => {
                Err(NetError::OtherInput { rank, path: path.into(), what })
            }
        }
    }

    fn part(
        &self,
        network: Network<'_>,
        options: &Options,
    ) -> Result<(RankTable, RankRun), NetError> {
        let table = self.placement.table(&network.shape(), self.ranks)?;
        let inputs = || network.inputs().filter(|_| self.ranks > 1);
        *self.links.inputs.lock() =
            inputs().map(|(path, contents)| Input::of(path, contents)).collect();
        let contents: Vec<&[u8]> = inputs().map(|(_path, contents)| contents).collect();
        let links: Arc<dyn Links> = Arc::<RankLinks>::clone(&self.links);
        let watch = self.links.watch.lock().clone();
        let observers = watch.map(|watch| watch.observers()).unwrap_or_default();
        let options = observers.into_iter().fold(options.clone(), Options::observed_by);
        let options = match self.sharing {
            Some(ranks) => options.cores_shared_by(ranks),
            None => options,
        };
        let run = || network.run_on_rank(options, &links);
        if contents.is_empty() {
            return Ok((table, run()?));
        }
        let ran = thread::scope(|scope| {
            // However the run ends.
            let _opened = Opened(&self.links);
            let sum = || {
                self.links.gate.sum(&contents);
                self.links.look();
            };
            let spawned = thread::Builder::new().name("kahn files".into()).spawn_scoped(scope, sum);
            spawned.map_err(|error| RunError::OutOfThreads(error.to_string()))?;
            run()
        });
        Ok((table, ran?))
    }

    /// Has the run end on all ranks, for nothing can run here; rank 0 tells why.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_net::{OneRank, Placement};
    ///
    /// fn with_input(rank: OneRank, path: &str) {
    ///     match std::fs::read(path) {
    ///         Ok(_bytes) => drop(rank.run(&kahn::Options::new(), |_network| {})),
    ///         Err(error) => rank.give_up(&format!("{path}: {error}")),
    ///     }
    /// }
    /// ```
    pub fn give_up(self, why: &str) {
        self.links.tell(Told::NotRun(why.to_owned()));
        self.end.wait();
    }
}

/// Nothing waits at the gate when this is dropped.
struct Opened<'a>(&'a RankLinks);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.gate.open();
    }
}

/// A rank that is dropped has not run.
impl Drop for OneRank {
    fn drop(&mut self) {
        if matches!(self.links.stage(), Stage::Before) {
            self.links.tell(Told::NotRun("it has not built its network".to_owned()));
        }
    }
}

impl fmt::Debug for OneRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneRank").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// What ran on all ranks; of a rank that was lost nothing is known.
fn all(own: RankRun, parts: Vec<Option<RankRun>>) -> Vec<RankRun> {
    let rank = own.rank();
    let part = |(at, part): (usize, Option<RankRun>)| part.unwrap_or_else(|| own.of_lost(at));
    let mut all: Vec<RankRun> = parts.into_iter().enumerate().map(part).collect();
    all[rank] = own;
    all
}

impl<T: Transport + Send + 'static> Exchange<T> {
    /// Speaks with the other ranks until the run is over on all, and what ran here is on its way to rank 0. Returns
    /// the transport.
    ///
    /// # Examples
    ///
    /// See [`OneRank`].
    pub fn run(self, transport: T) -> T {
        let served = RankLoop::new(self.rank, Arc::clone(&self.links), transport);
        let (ended, transport) = self.shared.serve(served).end_of_run();
        self.end.is(ended);
        transport
    }
}

/// What is dropped before it is done cannot go on: the run ends here.
impl<T> Drop for Exchange<T> {
    fn drop(&mut self) {
        if let Stage::Begun(local) = self.links.stage() {
            local.end(Reason::Elsewhere);
        }
        self.links.gate.open();
        self.end.is((How::Lost(self.rank), Vec::new()));
    }
}

impl<T> fmt::Debug for Exchange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("rank", &self.rank).finish_non_exhaustive()
    }
}
