//! Threads: those of the workers, and those of processes that have one of their own.

mod of_processes;
mod of_workers;

pub(crate) use of_processes::ProcessThreads;
pub use of_workers::ThreadSet;
