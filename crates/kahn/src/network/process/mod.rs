//! Processes that many networks need, each a few lines over the public interface.
//!
//! As methods of networks, of [spawners](crate::Spawner) and of [parts](crate::Scope) they make the process and
//! the channels that it writes. Both have the name that is given; in the place of the name may stand a
//! [`Channel`], which says more: a capacity, a digest, weights, and with
//! [`written_by`](crate::Channel::written_by) the process's own name and what is to be known about it.
//!
//! What a process sends is a function of what it receives, unless the function it was given is none. What
//! is read ahead of need is no more than the message at hand, unless the table says so.
//!
//! | method | what it does | ends | needs room where streams meet |
//! |---|---|---|---|
//! | [`source`](crate::Network::source) | sends what an iterator gives | with the iterator | |
//! | [`lines`](crate::Network::lines), [`blocks`](crate::Network::blocks), [`records`](crate::Network::records) | sends the parts of what a reader gives | with the reader | |
//! | [`folder`](crate::Network::folder) | sends the paths of the files in a folder, in order | after the last | |
//! | [`write_file`](crate::Network::write_file), [`write`](crate::Network::write) | writes a file, which is there whole or not at all; writes to a writer | with its input | |
//! | [`map`](crate::Network::map), [`filter`](crate::Network::filter), [`flat_map`](crate::Network::flat_map) | makes one, at most one, any number of messages of each | with its input | after a `tee`, for what is left out or added |
//! | [`inspect`](crate::Network::inspect) | looks at each message; how far beyond what is read is a matter of the schedule | with its input | |
//! | [`scan`](crate::Network::scan) | makes a message of each, with a state | with its input, or when told | |
//! | [`fold`](crate::Network::fold), [`collect`](crate::Network::collect), [`for_each`](crate::Network::for_each) | keeps a result, or has an effect | with its input | `collect` keeps all |
//! | [`take`](crate::Network::take), [`take_while`](crate::Network::take_while) | sends the first messages | early | |
//! | [`skip`](crate::Network::skip) | leaves the first messages out | with its input | after a `tee`, for those |
//! | [`dedup`](crate::Network::dedup) | leaves repetitions out | with its input | after a `tee`, for those |
//! | [`batch`](crate::Network::batch), [`unbatch`](crate::Network::unbatch) | makes vectors of messages, and the reverse | with its input | after a `tee`, a batch |
//! | [`window`](crate::Network::window), [`rates`](crate::Network::rates) | makes messages of windows that move on | with its input, of which a rest may be left | after a `tee`, a window |
//! | [`chunk_by`](crate::Network::chunk_by) | makes vectors of what belongs together | with its input | after a `tee`, the longest |
//! | [`sort`](crate::Network::sort), [`group_by_key`](crate::Network::group_by_key), [`top_n`](crate::Network::top_n) | needs the whole stream first; `sort` keeps as many as it is told at most | with its input | after a `tee`, for all of it |
//! | [`zip`](crate::Network::zip) | pairs two streams | with the shorter | |
//! | [`join_by_key`](crate::Network::join_by_key) | pairs messages of equal keys; reads the right stream to its end first | with the left input | if both come from one process, for all of the left |
//! | [`chain`](crate::Network::chain) | one stream after the other | with the last | if they come from one process, for all of the later ones |
//! | [`tee`](crate::Network::tee) | gives every message to all | with its input | |
//! | [`delay`](crate::Network::delay) | puts messages before a stream | with its input | |
//! | [`feedback`](crate::Network::feedback) | a loop, with what is in it at first | with what goes round, or all that could see it | if more comes round than goes in, for that |
//! | [`scatter`](crate::Network::scatter), [`scatter_weighted`](crate::Network::scatter_weighted) | deals messages out in turn | with its input | |
//! | [`gather`](crate::Network::gather), [`gather_weighted`](crate::Network::gather_weighted) | takes messages in turn | with the last | after a `scatter` with other weights |
//! | [`scatter_by_key`](crate::Network::scatter_by_key) | deals messages out so that equal keys stay together | with its input | if they are gathered in turn |
//! | [`parallel_map`](crate::Network::parallel_map), [`parallel_map_with`](crate::Network::parallel_map_with) | maps in several processes, each in its turn, and keeps the order | with its input | |
//! | [`ordered_map`](crate::Network::ordered_map), [`ordered_map_with`](crate::Network::ordered_map_with) | maps several messages at once, by whichever worker is free, and keeps the order | with its input | |
//! | [`merge_sorted`](crate::Network::merge_sorted), [`merge_sorted_by_key`](crate::Network::merge_sorted_by_key) | makes one sorted stream of several | with the last | if they come from one process, as keys have it |
//! | [`compute`](crate::Network::compute), [`try_process`](crate::Network::try_process) | a process of your own whose value can be taken | when it returns | |
//!
//! # What may fail
//!
//! Each method that takes a function has one whose name begins with `try_`, for a function that may fail;
//! [`try_process`](crate::Network::try_process) is that of [`compute`](crate::Network::compute). The function
//! returns a `Result` with a [`BoxError`] and no other, so `?` takes every error and no type needs to be
//! named. The process then fails
//! at that message, in every run the same, after it has sent what it made of those before; the
//! [failure](crate::FailureReport) says which message of which channel it was, counted from 1.
//!
//! # As functions
//!
//! The functions of this module are the code of such processes alone, which takes the ports. That is for
//! channels of your own making, and for [tests](crate::testing::run_process) of one process:
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
//! goes on for the readers that are left, and a loop until nothing is left that could see it.
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
mod fallible;
mod file;
mod fold;
mod group;
mod merge;
mod ordered;
mod output;
mod pair;
mod parallel;
mod prefix;
mod scatter;
mod source;
mod state;
mod weighted;
mod window;

pub use batch::{batch, unbatch};
pub use delay::forward;
pub use each::{filter, flat_map, map};
pub use file::{WholeFile, exit, open};
pub use fold::{fold, for_each};
pub use merge::{merge_sorted, merge_sorted_by_key};
pub use output::Output;
pub use pair::{tee, zip};
pub use scatter::{gather, scatter, scatter_by_key};
pub use source::source;

use crate::network::making::Making;
use crate::{AtMessage, BoxError, Channel, Network, Ports, ProcessResult, Receiver, Sender};

impl<'env, M: Making> Network<'env, M> {
    /// Makes a process of the library and the channel that it writes.
    fn stage<I, T, F, R, O>(
        &mut self,
        out: impl Into<Channel<T>>,
        inputs: I,
        code: F,
    ) -> Receiver<T>
    where
        I: Ports + 'env,
        T: Send + 'env,
        F: FnOnce((I, Sender<T>)) -> R + Send + 'env,
        R: Future<Output = O> + Send + 'env,
        O: ProcessResult + 'env,
    {
        let mut channel = out.into();
        let process = channel.writer();
        let (out, made) = self.channel_with(channel);
        self.process_with(process, (inputs, out), code);
        made
    }

    /// Makes a process of the library and several channels that it writes: `name 0`, `name 1` and so on.
    fn fan<T, F, R, O>(
        &mut self,
        outs: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
        code: F,
    ) -> Vec<Receiver<T>>
    where
        T: Send + 'env,
        F: FnOnce((Receiver<T>, Vec<Sender<T>>)) -> R + Send + 'env,
        R: Future<Output = O> + Send + 'env,
        O: ProcessResult + 'env,
    {
        let mut channel = outs.into();
        let process = channel.writer();
        assert!(count > 0, "process `{}` needs an output at least", process.name);
        let (outs, made) = (0..count).map(|index| self.channel_with(channel.one_of(index))).unzip();
        self.process_with(process, (items, outs), code);
        made
    }
}

/// A receiver that knows which message came last.
struct Counted<T> {
    items: Receiver<T>,
    number: u64,
}

impl<T: Send> Counted<T> {
    fn new(items: Receiver<T>) -> Self {
        Self { items, number: 0 }
    }

    async fn recv(&mut self) -> Option<T> {
        let item = self.items.recv().await;
        self.number += u64::from(item.is_some());
        item
    }

    /// Fills `into` up to so many messages; tells whether they have come.
    async fn recv_up_to(&mut self, into: &mut Vec<T>, count: usize) -> bool {
        let missing = count - into.len();
        let came = self.items.recv_batch(into, missing).await;
        self.number += came as u64;
        came == missing
    }

    /// Says of an error that the message that came last led to it.
    fn blame(&self, error: BoxError) -> BoxError {
        AtMessage { channel: self.items.name().clone(), number: self.number }.blame(error)
    }
}
