//! Why a run over ranks gave no result.

use kahn::{Report, RunError};
use std::path::PathBuf;

/// Why a run over ranks gave no result.
///
/// # Examples
///
/// ```
/// use kahn::Options;
/// use kahn_net::{NetError, Sim};
///
/// // The messages of this channel cannot be written, and its processes are to be apart.
/// let sim = Sim::new(2).place("numbers", 1);
/// let error = sim.run(&Options::new(), |network| {
///     let numbers = network.source("numbers", 0..10_u32);
///     network.fold("sum", numbers, 0, |sum, n| sum + n)
/// });
/// let Err(NetError::Placement(why)) = error else { panic!("it cannot be cut") };
/// assert!(why.contains("channel `numbers` has no written form"), "{why}");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The processes cannot be placed so; nothing ran.
    #[error("{0}")]
    Placement(String),
    /// This rank has built another network than rank 0; nothing ran.
    #[error("rank {rank} has built another network: {what}")]
    OtherNetwork {
        /// The rank.
        rank: usize,
        /// The first difference.
        what: String,
    },
    /// This rank has another file than rank 0, and the network depends on it; no result is whole.
    #[error("rank {rank} has another `{}`: {what}", .path.display())]
    OtherInput {
        /// The rank.
        rank: usize,
        /// The file.
        path: PathBuf,
        /// What is different about it.
        what: String,
    },
    /// Nothing ran on this rank, so the run was ended.
    #[error("rank {rank}: {why}")]
    NotRun {
        /// The rank.
        rank: usize,
        /// Why not.
        why: String,
    },
    /// A rank was lost. What was written is the beginning of what would have been.
    #[error("rank {rank} was lost, and the run with it")]
    Lost {
        /// The rank.
        rank: usize,
        /// What ran until then on the ranks that were left.
        report: Box<Report>,
    },
    /// A rank was sent what it cannot be sent.
    #[error("rank {rank} was sent what is not right{}: {what}", .channel.as_ref().map_or_else(String::new, |name| format!(" on channel `{name}`")))]
    Frame {
        /// The rank that found out.
        rank: usize,
        /// The channel, if it is one's.
        channel: Option<String>,
        /// What is wrong.
        what: String,
    },
    /// The network did not run, or did not end as it should.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl NetError {
    /// Returns the report, if anything ran and its end is told by one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Options, Summary};
    /// use kahn_net::Sim;
    ///
    /// let error = Sim::new(1)
    ///     .run(&Options::new(), |network| {
    ///         network.process("fail", (), async |()| Err::<(), _>("no luck"));
    ///     })
    ///     .expect_err("it fails");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Failed));
    /// ```
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Lost { report, .. } => Some(report),
            Self::Run(error) => error.report(),
            _ => None,
        }
    }
}
