//! MapReduce on process networks.
//!
//! A computation is two closures: *map* makes records of a key and a value of each item, and
//! *reduce* gets all values of a key at once. The rest is a network that looks always the same:
//!
//! ```text
//!           ┌─► map 0 ─┬─► reduce 0 ─┐       split deals batches of items out in turn; a record
//!   split ──┤          ╳             ├─► merge    goes to the reducer that its key hashes to, is
//!           └─► map 1 ─┴─► reduce 1 ─┘       sorted there, and merge makes one sorted stream of all
//! ```
//!
//! ```
//! use kahn::Network;
//! use kahn_mapreduce::{Job, Split};
//!
//! let lines = ["to be or", "not to be"];
//! let mut network = Network::new();
//! let parts = Split::new("lines", 2).items(&mut network, lines);
//! let counted = Job::new(
//!     "count",
//!     |line: &str, out| line.split(' ').for_each(|word| out.emit(word, 1)),
//!     |_word, ones, out| out.emit(ones.sum::<u64>()),
//! )
//! .on(&mut network, parts);
//! let merged = counted.merge(&mut network, "merge");
//! let all = network.collect("all", merged);
//! network.run()?;
//! let all = all.take().map(|batches| batches.concat());
//! assert_eq!(all, Some(vec![("be", 2), ("not", 1), ("or", 1), ("to", 2)]));
//! # Ok::<(), kahn::RunError>(())
//! ```
//!
//! [`Split`] starts a computation, from an iterator or a stream; [`Job::on`] makes a job of two
//! stages out of its [`Parts`], and gives parts again: of these the next job is made, without a
//! merge in between, or one stream by [`Parts::merge`]. [`Split::iterate`] repeats a job, with a
//! process that looks at the outcome of each round.
//!
//! # What the output depends on
//!
//! On the items and the closures alone. Records arrive at a reducer in the order in which the items
//! were split and then emitted: batches are dealt out in turn and taken in turn. So even a reduce
//! whose result depends on the order of its values, such as a sum of floats, gives the same for every
//! number of maps and reducers, besides every number of workers, policy and capacity. There are two
//! exceptions, both only for such a reduce:
//!
//! - **With a [combiner](Job::combine)** values are combined batch by batch: the size of the batches
//!   decides which ones, so a sum of floats may change with it. It still does not depend on the
//!   number of maps and reducers.
//! - **In a chained job** the order of items is by part of the job before, and in each by its keys: the
//!   number of reducers of that job decides. Where the order matters, have the
//!   [values sorted](Job::sort_values).
//!
//! Whatever the closures read besides their arguments (clocks, shared memory) is not covered.
//!
//! # Errors
//!
//! Both closures may return a `Result`. An error, or a panic, is the failure of the process it
//! happens in: the report names it, what depends on it ends with it, and the run ends in order. If
//! several items fail, the report names a process that failed at the first of their batches.
//!
//! # Readers that leave
//!
//! A process that has read enough of the merged stream, or of a part, leaves: what of the job no process can observe
//! any more is ended. Before the first result there is nothing to have enough of: a job reduces when
//! it has all items.
//!
//! # Memory
//!
//! All records that a reducer is responsible for are in memory at the time it sorts them, and half
//! of that again for the sorting: nothing is spilled to disk. The byte budget of a run counts
//! channels and their messages, not processes, so it does not notice. [`Job::limit`] bounds what a
//! reducer may hold and makes it fail with a message otherwise; without it, the system's memory is
//! the bound. A combiner and larger batches make the records fewer.
//!
//! # Channels do not grow
//!
//! Every map sends every reducer one message for each batch, if need be an empty one, or
//! [one by one](Job::one_by_one) several, and a reducer takes them in the order in which the batches
//! were dealt out. Look at the first batch that is not taken by all: its map has nothing before it
//! left to send, and a reducer that has not taken it reads from this map. So a full channel keeps the
//! map waiting only while its reader takes, and those that wait for a later batch wait for this one
//! at most: no ring of waits can close, at any capacity. The merge reads by need, but only from
//! reducers that have read all of theirs.
//!
//! Source: Vrba, Halvorsen, Griwodz and Beskow, *Kahn process networks are a flexible alternative to
//! MapReduce* (2009), sections 2, 5 and 6.1, figures 1 and 5; Dean and Ghemawat, *MapReduce* (2004).

mod batch;
mod iterate;
mod job;
mod map;
mod merge;
mod parts;
mod reduce;
mod split;

// The page that compares is compiled and run with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mapreduce.md")]
mod page {}

pub use batch::Batch;
pub use iterate::Step;
pub use job::Job;
pub use map::Emit;
pub use merge::merge;
pub use parts::Parts;
pub use reduce::{Reduced, Values};
pub use split::Split;
