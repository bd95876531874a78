//! What watches a network while it runs.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | recordings: what came from outside, from which all else follows, in a file; and running the same network from one |
//! | [`sample`] | what each process does and waits for while a run goes on, found from outside by looking |
//! | [`trace`] | what each process and each worker did, and when: a file for Perfetto's viewer, figures, a comparison of two runs |
//!
//! [`Observe`] gives the options of a run `record`, `bundle` and `trace`, for those who want a file and no more.
//!
//! A run knows nothing of this: it tells an [`Observer`](kahn_report::observe::Observer), or is
//! [`Sampled`](kahn_report::observe::Sampled). `kahn` shows both in `kahn::observe`.

#![forbid(unsafe_code)]

mod options;
pub mod record;
pub mod sample;
pub mod trace;

pub use options::Observe;
