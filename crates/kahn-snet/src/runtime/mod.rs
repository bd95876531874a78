//! The runtime: records go through a program.
//!
//! | here        | is                                                                  |
//! |-------------|---------------------------------------------------------------------|
//! | [`run()`]   | a run, with [`Options`], a [`Source`] and a [`Sink`]; it returns a [`Report`], or a [`RunError`] |
//! | [`Handle`]  | looks into a run, and stops it                                      |
//! | `steps`     | a program as operations, and what each does with a record           |
//! | `front`     | workers that carry records through the operations, as FRONT did     |
//! | `network`   | a process of a Kahn network for each operation, as S-RTS did        |
//!
//! `steps` uses neither of the two, and neither of these the other.

mod error;
mod front;
mod handle;
mod network;
mod options;
mod report;
mod run;
mod steps;
mod streams;

pub use error::RunError;
pub use handle::Handle;
pub use options::{Concurrency, Observed, Options, Runtime};
pub use report::{ComponentCount, Report};
pub use run::run;
pub use steps::expression::NoValue;
pub use steps::failure::Failure;
pub use steps::graph::TooLarge;
pub use streams::{Ready, Sink, Source};
