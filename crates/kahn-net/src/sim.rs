//! Ranks within one program, over a transport that delays, splits and reorders what it carries, and pauses and
//! kills ranks, as a seed says.
//!
//! It is drawn, too, which ranks let their worker speak with the others, where it can.
//!
//! A rank asks the transport for what has come, again and again. What is under way to it stands in a queue for each
//! rank that sends. At each time it is drawn whether the rank is paused, which of the queues is looked at first,
//! whether that is held up, and how many of its bytes come. So bytes of one rank keep their order and those of
//! several do not, and frames come in pieces.

use crate::NetError;
use crate::one::{OneRank, Ran};
use crate::placement::Placement;
use crate::transport::{Event, Transport};
use crate::watch::Watch;
use crate::within;
use kahn::{Network, Options};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Runs networks on several ranks within this program.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Options};
/// use kahn_net::Sim;
///
/// // Whatever the seed, the result is the same.
/// for seed in 0..3 {
///     let ran = Sim::new(3).seed(seed).run(&Options::new().workers(1).capacity(1), |network| {
///         let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
///         let (squares_out, squares) = network.channel_with(Channel::named("squares").wire());
///         network.process("count", out, async |mut out| out.send_all(1..=9_u64).await);
///         network.process("square", (numbers, squares_out), async |(mut numbers, mut out)| {
///             while let Some(n) = numbers.recv().await {
///                 out.send(n * n).await;
///             }
///         });
///         network.collect("all", squares)
///     })?;
///     assert_eq!(ran.result.take(), Some(vec![1, 4, 9, 16, 25, 36, 49, 64, 81]));
/// }
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sim {
    ranks: usize,
    seed: u64,
    placement: Placement,
    /// The rank that is killed, and when: so many looks at what has come.
    kill: Option<(usize, u64)>,
    /// The rank that sends a byte that is another, and which of its bytes.
    damage: Option<(usize, u64)>,
    watches: Option<Watches>,
}

/// What sees each rank.
#[derive(Clone)]
struct Watches(Arc<dyn Fn(usize) -> Arc<dyn Watch> + Send + Sync>);

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watches")
    }
}

impl Sim {
    /// Makes so many ranks.
    ///
    /// # Examples
    ///
    /// See [`Sim`].
    ///
    /// ```
    /// let _two = kahn_net::Sim::new(2);
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn new(ranks: usize) -> Self {
        assert!(ranks > 0, "a network runs on one rank at least");
        Self {
            ranks,
            seed: 0,
            placement: Placement::new(),
            kill: None,
            damage: None,
            watches: None,
        }
    }

    /// Sets the seed of what the transport does.
    ///
    /// # Examples
    ///
    /// See [`Sim`].
    ///
    /// ```
    /// let _other = kahn_net::Sim::new(2).seed(7);
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Has processes of this name run on this rank; see [`Placement::at`].
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// let _placed = kahn_net::Sim::new(2).place("map *", 1);
    /// ```
    #[must_use]
    pub fn place(mut self, name: impl Into<String>, rank: usize) -> Self {
        self.placement = self.placement.at(name, rank);
        self
    }

    /// Says where processes run.
    ///
    /// # Examples
    ///
    /// See [`Placement`].
    ///
    /// ```
    /// use kahn_net::{Placement, Sim};
    ///
    /// let _placed = Sim::new(2).placement(Placement::new().at("map *", 1));
    /// ```
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Kills this rank after so many looks at what has come there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Options};
    /// use kahn_net::{NetError, Sim};
    ///
    /// let error = Sim::new(2).kill(1, 20).run(&Options::new(), |network| {
    ///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    ///     network.process("for ever", out, async |mut out| out.send_all(0_u64..).await);
    ///     network.for_each("ignore", numbers, |_: u64| {});
    /// });
    /// assert!(matches!(error, Err(NetError::Lost { rank: 1, .. })));
    /// ```
    #[must_use]
    pub fn kill(mut self, rank: usize, after: u64) -> Self {
        self.kill = Some((rank, after));
        self
    }

    /// Changes one byte that this rank sends, the first being number 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Options};
    /// use kahn_net::{NetError, Sim};
    ///
    /// // In the number of the first frame's bytes.
    /// let error = Sim::new(2).damage(1, 3).run(&Options::new(), |network| {
    ///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    ///     network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
    ///     network.for_each("ignore", numbers, |_: u64| {});
    /// });
    /// assert!(matches!(error, Err(NetError::Frame { rank: 0, .. })));
    /// ```
    #[must_use]
    pub fn damage(mut self, rank: usize, byte: u64) -> Self {
        self.damage = Some((rank, byte));
        self
    }

    /// Has what this makes for each rank see it; see [`Watch`].
    ///
    /// # Examples
    ///
    /// See [`Watch`].
    #[must_use]
    pub fn watched(mut self, by: impl Fn(usize) -> Arc<dyn Watch> + Send + Sync + 'static) -> Self {
        self.watches = Some(Watches(Arc::new(by)));
        self
    }

    /// Runs the network that `build` writes down, once on each rank.
    ///
    /// `build` is called on every rank, and must build the same there; what it returns on rank 0, where the results
    /// are, is returned. The ranks [share the cores](Options::cores_shared_by).
    ///
    /// # Examples
    ///
    /// See [`Sim`].
    ///
    /// ```
    /// use kahn::Options;
    ///
    /// let ran = kahn_net::Sim::new(2).run(&Options::new(), |network| {
    ///     let numbers = network.source("numbers", 0..10_u32);
    ///     network.fold("sum", numbers, 0, |sum, n| sum + n)
    /// })?;
    /// // Its channel has no written form, so all is on rank 0.
    /// assert_eq!((ran.result.take(), ran.table.rank_of("numbers")), (Some(45), Some(0)));
    /// # Ok::<(), kahn_net::NetError>(())
    /// ```
    ///
    /// # Errors
    /// See [`NetError`].
    pub fn run<'env, R>(
        &self,
        options: &Options,
        build: impl Fn(&mut Network<'env>) -> R + Sync,
    ) -> Result<Ran<R>, NetError> {
        self.run_each(options, |_rank, network| build(network))
    }

    /// Runs the network that `build` writes down, which is told the rank: it must build the same on all, but may
    /// keep what belongs to one, such as a [`StopHandle`](kahn::StopHandle).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Options, StopHandle, Summary};
    /// use kahn_net::Sim;
    /// use std::sync::Mutex;
    ///
    /// let kept = Mutex::new(None::<StopHandle>);
    /// let error = Sim::new(2).run_each(&Options::new(), |rank, network| {
    ///     if rank == 0 {
    ///         *kept.lock().expect("no thread panics") = Some(network.stop_handle());
    ///     }
    ///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    ///     network.process("for ever", out, async |mut out| out.send_all(0_u64..).await);
    ///     network.for_each("stop", numbers, |n: u64| {
    ///         if n == 100 {
    ///             kept.lock().expect("no thread panics").iter().for_each(StopHandle::stop);
    ///         }
    ///     });
    /// });
    /// let error = error.expect_err("it was stopped");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
    /// ```
    ///
    /// # Errors
    /// See [`NetError`].
    ///
    /// # Panics
    /// Panics if `build` does.
    pub fn run_each<'env, R>(
        &self,
        options: &Options,
        build: impl Fn(usize, &mut Network<'env>) -> R + Sync,
    ) -> Result<Ran<R>, NetError> {
        let carrier = Arc::new(Carrier::new(self.ranks));
        let rank = |rank: usize| {
            let bell = Arc::clone(&carrier);
            let (one, exchange) =
                OneRank::of(rank, self.ranks, self.placement.clone(), move || bell.ring(rank));
            let one = match &self.watches {
                Some(Watches(by)) => one.watched_by(by(rank)),
                None => one,
            };
            let mut transport = self.transport(rank, &carrier);
            let one = if transport.draw(2) == 0 { one.worker_drives() } else { one };
            (one, exchange, transport)
        };
        let all = (0..self.ranks).map(rank).collect();
        within::run(all, options, build)
    }

    fn transport(&self, rank: usize, carrier: &Arc<Carrier>) -> SimTransport {
        let own = |of: Option<(usize, u64)>| of.filter(|(of, _)| *of == rank).map(|(_, at)| at);
        SimTransport {
            rank,
            carrier: Arc::clone(carrier),
            draw: self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (rank as u64 + 1),
            paused: 0,
            looks_left: own(self.kill),
            damage: own(self.damage),
            told_lost: vec![false; self.ranks],
        }
    }
}

/// What is under way between all ranks.
#[derive(Debug)]
struct Carrier {
    ranks: Vec<Inbox>,
}

/// What is under way to one rank.
#[derive(Debug)]
struct Inbox {
    state: Mutex<InboxState>,
    bell: Condvar,
}

#[derive(Debug)]
struct InboxState {
    /// By the rank that sends.
    from: Vec<VecDeque<u8>>,
    lost: Vec<usize>,
    has_rung: bool,
}

impl Carrier {
    fn new(ranks: usize) -> Self {
        let inbox = || Inbox {
            state: Mutex::new(InboxState {
                from: vec![VecDeque::new(); ranks],
                lost: Vec::new(),
                has_rung: false,
            }),
            bell: Condvar::new(),
        };
        Self { ranks: (0..ranks).map(|_| inbox()).collect() }
    }

    /// A rank is gone, with what it had sent and was not received.
    fn lose(&self, lost: usize) {
        for (rank, inbox) in self.ranks.iter().enumerate().filter(|(rank, _)| *rank != lost) {
            let mut state = inbox.state.lock();
            state.lost.push(lost);
            state.from[lost].clear();
            drop(state);
            self.ring(rank);
        }
    }

    fn ring(&self, rank: usize) {
        let inbox = &self.ranks[rank];
        inbox.state.lock().has_rung = true;
        inbox.bell.notify_one();
    }
}

/// One rank's end of it.
#[derive(Debug)]
struct SimTransport {
    rank: usize,
    carrier: Arc<Carrier>,
    draw: u64,
    /// Looks for which it is paused yet.
    paused: u64,
    /// Looks until it is killed, if it is.
    looks_left: Option<u64>,
    /// Bytes that it sends until the one that is changed, if one is.
    damage: Option<u64>,
    told_lost: Vec<bool>,
}

impl SimTransport {
    /// A number below this, by the generator SplitMix64.
    fn draw(&mut self, below: u64) -> u64 {
        self.draw = self.draw.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.draw;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// The others would wait for ever for a rank whose thread panics.
impl Drop for SimTransport {
    fn drop(&mut self) {
        if thread::panicking() {
            self.carrier.lose(self.rank);
        }
    }
}

impl Transport for SimTransport {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        let mut state = self.carrier.ranks[to].state.lock();
        let queue = &mut state.from[self.rank];
        let start = queue.len();
        queue.extend(&*bytes);
        if let Some(left) = self.damage {
            match usize::try_from(left).ok().filter(|left| *left < bytes.len()) {
                Some(at) => {
                    queue[start + at] ^= 0xff;
                    self.damage = None;
                }
                None => self.damage = Some(left - bytes.len() as u64),
            }
        }
        drop(state);
        self.carrier.ring(to);
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        if let Some(left) = &mut self.looks_left {
            if *left == 0 {
                self.carrier.lose(self.rank);
                return Event::Killed;
            }
            *left -= 1;
        }
        if self.paused > 0 {
            self.paused -= 1;
            return Event::Later;
        }
        let ranks = self.carrier.ranks.len();
        let first = usize::try_from(self.draw(ranks as u64)).unwrap_or(0);
        let (is_held_up, pauses) = (self.draw(4) == 0, self.draw(32) == 0);
        let most = 1 + usize::try_from(self.draw(64)).unwrap_or(0);
        let takes_all = self.draw(4) > 0;
        if pauses {
            self.paused = self.draw(16);
        }
        let carrier = Arc::clone(&self.carrier);
        let mut state = carrier.ranks[self.rank].state.lock();
        if let Some(&rank) = state.lost.iter().find(|rank| !self.told_lost[**rank]) {
            self.told_lost[rank] = true;
            return Event::Lost(rank);
        }
        let next = (0..ranks).map(|step| (first + step) % ranks);
        let Some(from) = next.into_iter().find(|from| !state.from[*from].is_empty()) else {
            return Event::Nothing;
        };
        if is_held_up {
            return Event::Later;
        }
        let queue = &mut state.from[from];
        let count = if takes_all { queue.len() } else { most.min(queue.len()) };
        into[from].extend(queue.drain(..count));
        Event::Bytes(from)
    }

    fn wait(&mut self, most: Duration) {
        let inbox = &self.carrier.ranks[self.rank];
        let mut state = inbox.state.lock();
        if !state.has_rung {
            inbox.bell.wait_for(&mut state, most);
        }
        state.has_rung = false;
    }
}
