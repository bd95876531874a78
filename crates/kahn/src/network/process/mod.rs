//! Processes that many networks need, each a few lines over the public interface.
//!
//! Each comes in two forms. As a method of [`Network`] it makes the process and the
//! channels it writes, named after the process:
//!
//! | method | what it does | when it ends |
//! |---|---|---|
//! | [`source`](crate::Network::source) | sends what an iterator gives | with the iterator |
//! | [`map`](crate::Network::map), [`filter`](crate::Network::filter), [`flat_map`](crate::Network::flat_map) | makes one, at most one, any number of messages of each | with its input |
//! | [`fold`](crate::Network::fold), [`collect`](crate::Network::collect), [`for_each`](crate::Network::for_each) | keeps a result, or has an effect | with its input |
//! | [`zip`](crate::Network::zip) | pairs two streams | with the shorter |
//! | [`tee`](crate::Network::tee) | gives every message to all | with its input |
//! | [`batch`](crate::Network::batch), [`unbatch`](crate::Network::unbatch) | makes vectors of messages, and the reverse | with its input |
//! | [`delay`](crate::Network::delay) | puts messages before a stream | with its input |
//! | [`scatter`](crate::Network::scatter), [`gather`](crate::Network::gather) | deals messages out in turn, and takes them in turn | with its input; with the last |
//! | [`scatter_by_key`](crate::Network::scatter_by_key) | deals messages out so that equal keys stay together | with its input |
//! | [`parallel_map`](crate::Network::parallel_map) | maps in several processes, each in its turn, and keeps the order | with its input |
//! | [`ordered_map`](crate::Network::ordered_map), [`try_ordered_map`](crate::Network::try_ordered_map), [`ordered_map_with`](crate::Network::ordered_map_with) | maps several messages at once, by whichever worker is free, and keeps the order | with its input |
//! | [`merge_sorted`](crate::Network::merge_sorted), [`merge_sorted_by_key`](crate::Network::merge_sorted_by_key) | makes one sorted stream of several | with the last |
//!
//! As a function of this module it is the code of such a process alone, which takes the ports. That
//! is for channels of your own making, and for what is created while the network runs:
//!
//! ```
//! use kahn::{Channel, Network, process};
//!
//! let mut network = Network::new();
//! let numbers = network.source("numbers", 0..3_u64);
//! let (out, squares) = network.channel("squares");
//! let create = network.spawner();
//! network.process("author", (numbers, out, create), async |(numbers, out, mut create)| {
//!     // A channel with a capacity and a digest of its own, and two processes around it.
//!     let (between_out, between) = create.channel_with(Channel::named("odd").capacity(2).digest());
//!     create.process("make odd", (numbers, between_out), |ports| {
//!         process::map(ports, |n| 2 * n + 1)
//!     });
//!     create.process("square", (between, out), |ports| process::map(ports, |n| n * n));
//! });
//! let all = network.collect("all", squares);
//! network.run()?;
//! assert_eq!(all.take(), Some(vec![1, 9, 25]));
//! # Ok::<(), kahn::RunError>(())
//! ```
//!
//! # The ends of streams
//!
//! When the input of a process ends, so do its outputs, after what it still has to send. When a
//! reader leaves early, what is sent to it is discarded; a process whose readers have all left is
//! pruned, and so on upstream, up to sources that would otherwise never end. A tee or a scatter
//! goes on for the readers that are left.
//!
//! # Where channels grow
//!
//! Where streams part and meet again, one way may need more room than the other: a tee, a filter on
//! one way, and a zip. The filter lets little through, so the zip waits there, while the tee waits
//! to send on the other way, which is full. The runtime then grows that channel; nothing needs to
//! be done, but the byte budget limits how far it goes. A scatter and a gather with the same number
//! of messages for each on the way need no more room than they have.

mod batch;
mod delay;
mod each;
mod fold;
mod merge;
mod ordered;
mod output;
mod pair;
mod parallel;
mod scatter;
mod source;

pub use batch::{batch, unbatch};
pub use delay::forward;
pub use each::{filter, flat_map, map};
pub use fold::{fold, for_each};
pub use merge::{merge_sorted, merge_sorted_by_key};
pub use output::Output;
pub use pair::{tee, zip};
pub use scatter::{gather, scatter, scatter_by_key};
pub use source::source;

use crate::{Name, Network, Receiver, Sender};

/// Makes the channels of a process with several outputs: `name 0`, `name 1` and so on.
fn outputs<'env, T: Send + 'env>(
    network: &mut Network<'env>,
    name: &Name,
    count: usize,
) -> (Vec<Sender<T>>, Vec<Receiver<T>>) {
    assert!(count > 0, "process `{name}` needs an output at least");
    (0..count).map(|index| network.channel(format!("{name} {index}"))).unzip()
}
