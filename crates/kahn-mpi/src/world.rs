//! The ranks of the job that this program is a part of.
//!
//! A thread of its own begins MPI, makes the calls and ends it: none of them waits. It is given the
//! [`Exchange`] of one run after the other. While the network of a rank runs that has one core, its worker makes the calls
//! that the exchange needs, if MPI allows that.

use crate::calls::Mpi;
use crate::cores::shared_by;
use crate::transport::{Bell, MpiTransport};
use kahn::{Network, Options};
use kahn_net::{Exchange, NetError, OneRank, Placement, Ran};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// Why there are no ranks.
///
/// # Examples
///
/// ```
/// let error = kahn_mpi::MpiError::Refused;
/// assert!(error.to_string().contains("has begun before"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI cannot begin twice, and must allow a program to have threads.
    #[error(
        "MPI has begun before in this program, or does not allow threads (MPI_THREAD_FUNNELED)"
    )]
    Refused,
    /// The system has refused a thread for the calls of MPI.
    #[error("the system refused a thread for MPI: {0}")]
    NoThread(std::io::Error),
}

/// The ranks of a job of MPI, of which this program is one. There is one of these in a program, once.
///
/// All ranks do the same: each [runs](Self::run) one network after the other. When it is dropped, the job
/// ends; if that is by a panic, it is aborted on all ranks.
///
/// # Examples
///
/// Without `mpirun` there is one rank:
///
/// ```no_run
/// use kahn::{Channel, Options};
/// use kahn_mpi::World;
/// use kahn_net::Placement;
///
/// let world = World::begin()?;
/// let ran = world.run(&Options::new(), &Placement::new(), |network| {
///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
///     network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
///     network.fold("sum", numbers, 0, |sum, n: u64| sum + n)
/// })?;
/// // On rank 0 alone.
/// if let Some(ran) = ran {
///     assert_eq!(ran.result.take(), Some(4950));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct World {
    rank: usize,
    ranks: usize,
    /// Those with which it shares the cores on which it may run, and itself.
    sharing: usize,
    /// Whether MPI allows calls by any thread, one at a time.
    may_move: bool,
    bell: Arc<Bell>,
    /// `None` when it is over.
    runs: Option<Sender<Exchange<MpiTransport>>>,
    thread: Option<JoinHandle<()>>,
}

impl World {
    /// Begins MPI.
    ///
    /// # Examples
    ///
    /// See [`World`].
    ///
    /// # Errors
    /// [`MpiError`]: if this program has begun MPI before, or no thread for its calls is to be had.
    pub fn begin() -> Result<Self, MpiError> {
        let bell = Arc::new(Bell::default());
        let (runs, to_run) = mpsc::channel();
        let (tell, begun) = mpsc::channel();
        let of_thread = Arc::clone(&bell);
        let serve = move || {
            let Some(mpi) = Mpi::begin() else { return };
            let sharing = shared_by(mpi.ranks_here);
            let _ = tell.send((mpi.rank, mpi.ranks, mpi.may_move, sharing));
            serve(MpiTransport::new(mpi, of_thread), &to_run);
        };
        let thread = thread::Builder::new().name("kahn mpi".to_owned()).spawn(serve);
        let thread = thread.map_err(MpiError::NoThread)?;
        let (rank, ranks, may_move, sharing) = begun.recv().map_err(|_| MpiError::Refused)?;
        Ok(Self { rank, ranks, sharing, may_move, bell, runs: Some(runs), thread: Some(thread) })
    }

    /// Returns which rank this is; the first is 0.
    ///
    /// # Examples
    ///
    /// See [`World`].
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns how many ranks there are.
    ///
    /// # Examples
    ///
    /// See [`World`].
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the most parcels that were under way from this rank to another at once, of which that had not told: what
    /// MPI kept of them at most.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let world = kahn_mpi::World::begin()?;
    /// assert_eq!(world.most_under_way(), 0);
    /// # Ok::<(), kahn_mpi::MpiError>(())
    /// ```
    pub fn most_under_way(&self) -> u64 {
        self.bell.most_under_way()
    }

    /// Makes this rank's part of a run on all ranks: each must make one, for every run. Ranks that may run on the same
    /// cores [share them](OneRank::cores_shared_by).
    ///
    /// # Examples
    ///
    /// A rank that lacks its input says so; rank 0 tells:
    ///
    /// ```no_run
    /// use kahn_mpi::World;
    /// use kahn_net::Placement;
    ///
    /// let world = World::begin()?;
    /// let rank = world.join(Placement::new());
    /// match std::fs::read("points.csv") {
    ///     Ok(_points) => drop(rank.run(&kahn::Options::new(), |_network| {})),
    ///     Err(error) => rank.give_up(&format!("points.csv: {error}")),
    /// }
    /// # Ok::<(), kahn_mpi::MpiError>(())
    /// ```
    pub fn join(&self, placement: Placement) -> OneRank {
        let bell = Arc::clone(&self.bell);
        let (one, exchange) = OneRank::of(self.rank, self.ranks, placement, move || bell.ring());
        // If the thread is gone, the exchange is dropped, and the rank gets to know.
        if let Some(runs) = &self.runs {
            let _ = runs.send(exchange);
        }
        self.bell.ring();
        let one = one.cores_shared_by(self.sharing);
        if self.may_move { one.worker_drives() } else { one }
    }

    /// Runs a network that every rank builds alike, and returns what it came to on rank 0, on others `None`. On one
    /// rank it is run as [`Network::run_with`] does.
    ///
    /// # Examples
    ///
    /// See [`World`].
    ///
    /// # Errors
    /// See [`NetError`]. Those of rank 0 tell of all ranks.
    pub fn run<'env, R>(
        &self,
        options: &Options,
        placement: &Placement,
        build: impl FnOnce(&mut Network<'env>) -> R,
    ) -> Result<Option<Ran<R>>, NetError> {
        if self.ranks > 1 {
            return self.join(placement.clone()).run(options, build);
        }
        let mut network = Network::new();
        let result = build(&mut network);
        let table = placement.table(&network.shape(), 1)?;
        let report = network.run_with(options.clone())?;
        // One rank is compared with nothing by itself.
        Ok(Some(Ran { result, report, table, histories: Vec::new() }))
    }
}

/// Ends MPI, when all ranks have come to it.
impl Drop for World {
    fn drop(&mut self) {
        if thread::panicking() && self.ranks > 1 {
            // The others would wait for this one.
            self.bell.abort();
        }
        self.runs = None;
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // If it has panicked, it has said so.
            let _ = thread.join();
        }
    }
}

/// Serves one run after the other.
fn serve(mut transport: MpiTransport, runs: &Receiver<Exchange<MpiTransport>>) {
    while let Ok(exchange) = runs.recv() {
        transport = exchange.run(transport);
        transport.finish();
    }
    transport.end();
}
