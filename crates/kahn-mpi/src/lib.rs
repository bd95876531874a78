//! Networks of `kahn` over the ranks of an MPI job: `mpirun` on a laptop, `srun` on a cluster, mpi-operator on
//! Kubernetes.
//!
//! Every rank builds the same network and runs a part of it; see `kahn-net` for what is promised. The [`World`]
//! has the ranks. What fails on one is told by rank 0, which has results and report.
//!
//! A rank that dies ends the job: MPI's launcher ends the others. MPI authenticates nobody, so a network runs inside one
//! job only.
//!
//! | module | what |
//! |---|---|
//! | `world` | the ranks of the job, and the thread that begins and ends MPI |
//! | `transport` | bytes between ranks as messages of MPI, which keeps a bounded number of them |
//! | `calls` | the calls themselves |
//!
//! # Examples
//!
//! ```no_run
//! use kahn::{Channel, Options};
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     // Started by `mpirun -n 2`, `count` runs on rank 1, `sum` on rank 0.
//!     let ran = kahn_mpi::run(&Options::new(), |network| {
//!         let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
//!         network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
//!         network.fold("sum", numbers, 0, |sum, n: u64| sum + n)
//!     });
//!     kahn_mpi::end(ran, |ran| println!("{:?}", ran.result.take()))
//! }
//! ```

mod calls;
mod cores;
mod transport;
mod world;

pub use world::{MpiError, World};

use kahn::{Network, Options};
use kahn_net::{NetError, Placement, Ran};
use std::process::ExitCode;

/// Why a program has no result.
///
/// # Examples
///
/// ```
/// let error = kahn_mpi::Error::from(kahn_mpi::MpiError::Refused);
/// assert!(error.to_string().starts_with("MPI has begun before"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no ranks.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// The run has failed; rank 0 tells of all ranks.
    #[error(transparent)]
    Net(#[from] NetError),
    /// This is not rank 0, which tells why.
    #[error("rank 0 tells why")]
    Elsewhere,
}

/// Runs one network over the ranks of the job, once in a program: begins MPI and ends it. On rank 0 returns what it
/// came to, on others `None`.
///
/// # Examples
///
/// See the [crate].
///
/// # Errors
/// [`Error`]; on other ranks than the first [`Error::Elsewhere`].
pub fn run<'env, R>(
    options: &Options,
    build: impl FnOnce(&mut Network<'env>) -> R,
) -> Result<Option<Ran<R>>, Error> {
    let world = World::begin()?;
    let ran = world.run(options, &Placement::new(), build);
    ran.map_err(|error| if world.rank() == 0 { error.into() } else { Error::Elsewhere })
}

/// Does something with what a network came to, on rank 0, and returns the exit code; an error is told on standard
/// error, once.
///
/// # Examples
///
/// See the [crate].
pub fn end<R>(ran: Result<Option<Ran<R>>, Error>, with: impl FnOnce(Ran<R>)) -> ExitCode {
    match ran {
        Ok(ran) => {
            if let Some(ran) = ran {
                with(ran);
            }
            ExitCode::SUCCESS
        }
        // The exit code of the job is that of rank 0.
        Err(Error::Elsewhere) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
