//! Networks of `kahn` over several ranks: each process runs on one of them, and the histories of all channels are
//! what they are on one.
//!
//! Every rank builds the same network. A [`Placement`] says which processes run where; a channel between two
//! ranks is *cut*, and its messages travel in their written form ([`kahn::Channel::wire`]). What carries them is a
//! [`Transport`]; here is one within a program, the [`Sim`], which delays, splits and reorders what it carries, and
//! pauses and kills ranks, as a seed says.
//!
//! | module | what |
//! |---|---|
//! | `placement` | which process runs on which rank, and so which channels are cut |
//! | `frame` | what ranks say to each other, as bytes |
//! | `files` | a file as a rank has it |
//! | `alike` | whether all ranks have the same files |
//! | `links` | the ends of cut channels on one rank: what comes and what goes |
//! | `way` | … of one of them: what is under way, and what has come |
//! | `coordinator` | what rank 0 decides for all: growth, what is dead, the end |
//! | `chase` | … about rings through several ranks, while other parts run |
//! | `rings` | rings of ends |
//! | `roots` | whether anything is left that observes others, or all are to prune |
//! | `rank` | the loop of one rank |
//! | `one` | … and the network that runs there: one rank over any transport |
//! | `transport` | what carries bytes between ranks |
//! | `sim` | … within a program |
//! | `timed` | … under a virtual clock |
//! | `within` | all ranks of a run within a program |
//! | `parcels` | … as messages of a library for them, for one run after the other |
//! | `window` | how many parcels are under way between two ranks |
//! | `waits` | what processes wait for on all ranks, while the run goes on |
//! | `watch` | what rank 0 gets to see of all ranks, and how their clocks go |
//! | `error` | why a run over ranks gave no result |
//!
//! # Examples
//!
//! ```
//! use kahn::{Channel, Options};
//! use kahn_net::Sim;
//!
//! let ran = Sim::new(2).run(&Options::new().workers(1), |network| {
//!     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
//!     network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
//!     network.fold("sum", numbers, 0, |sum, n: u64| sum + n)
//! })?;
//! assert_eq!(ran.result.take(), Some(4950));
//! // `sum` has the result, so it runs on rank 0; the other process has rank 1 for itself.
//! assert_eq!(ran.table.rank_of("count"), Some(1));
//! # Ok::<(), kahn_net::NetError>(())
//! ```

mod alike;
mod chase;
mod coordinator;
mod error;
mod files;
mod frame;
mod links;
#[cfg(test)]
mod model;
mod one;
mod parcels;
mod placement;
mod rank;
mod rings;
mod roots;
mod sim;
mod timed;
mod transport;
mod waits;
mod watch;
mod way;
mod window;
mod within;

// The example of the page is compiled and run with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/ranks.md")]
mod page {}

pub use error::NetError;
pub use one::{Exchange, OneRank, Ran};
pub use parcels::{EndOfRun, Messages, Parcels, Sizes};
pub use placement::{Placement, RankTable, Weights};
pub use sim::Sim;
pub use timed::{LogGp, Share, Timed, TimedSim, Traffic, VirtualCore};
pub use transport::{Event, Transport};
pub use watch::{Clock, Heard, Watch};
pub use window::Window;
