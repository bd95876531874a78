//! The command `kahn-mpi`: `kahn`, whose programs run over the ranks of an MPI job.
//!
//! On one rank it does all that `kahn` does, and as that does it.

use kahn_command::Cluster;
use kahn_mpi::World;
use kahn_net::{OneRank, Placement};
use std::process::ExitCode;

/// The ranks of the job.
struct Job(World);

impl Cluster for Job {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn join(&self, placement: Placement) -> OneRank {
        self.0.join(placement)
    }
}

fn main() -> ExitCode {
    match World::begin().map(Job) {
        Ok(job) if job.ranks() > 1 => kahn_cli::main(Some(&job)),
        Ok(_alone) => kahn_cli::main(None),
        Err(error) => {
            eprintln!("kahn-mpi: error: {error}");
            ExitCode::FAILURE
        }
    }
}
