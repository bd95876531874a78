//! What each process and each worker did, and when.
//!
//! A [`Trace`] watches a run. Each thread writes what it does into a [ring](kahn_report::log::Ring) of its own, so a trace keeps the last
//! events of each; how many were lost is told. A [`Stream`] writes them all to a file meanwhile. What is kept becomes a [`Timeline`], at any time: a file for
//! Perfetto's viewer, a [`Summary`], or one side of a [`Difference`].
//!
//! | file | what |
//! |---|---|
//! | `record` | what is kept of a run |
//! | `event`, `ring`, `names` | what happened by names, what one ring has kept, which process stood where |
//! | `timeline`, `weave` | tracks of spans, and how they are made of events |
//! | `perfetto` | a timeline as Perfetto's protobuf, and back |
//! | `summary`, `difference` | where time went; what is other than in another run |
//! | `picture` | a timeline as SVG |
//! | `ranks` | what other ranks have kept, put together by one clock |
//! | `stream` | what is written while the run goes on |
//!
//! # What it costs
//!
//! A run that is not traced executes no instruction more for it. [`Level::Schedule`] has the clock read
//! twice a poll, and writes five words for a poll and for a wake: 244 instructions for both, which
//! `examples/cost.rs` counts. [`Level::Messages`] adds five words, and sometimes a reading of
//! the clock, for each *publication* at either end of a channel: of one message, or of a batch.

mod difference;
mod event;
mod names;
mod perfetto;
mod picture;
mod ranks;
mod record;
mod ring;
mod stream;
mod summary;
mod timeline;
mod weave;

pub use difference::Difference;
pub use perfetto::ReadError;
pub use ranks::{OtherRank, RankTrace};
pub use record::{Level, Trace, mark};
pub use stream::Stream;
pub use summary::Summary;
pub use timeline::Timeline;
