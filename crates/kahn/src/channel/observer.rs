//! What a run can be watched by: its polls and its messages, while they happen.
//!
//! | told | by | when |
//! |---|---|---|
//! | a poll begins, a poll ends | the worker that polls | around the poll |
//! | messages were sent | the sender's worker | before they become visible to the receiver |
//! | messages were received | the receiver's worker | before their slots become free |
//!
//! A run without an observer pays nothing for polls, whose test is that for times, and one test of a
//! byte that is at hand for each *publication*: no message is looked at one by one. So an observer is
//! told of ranges of messages, each message in one of them, in order; and of a message's sending before
//! its receiving, for both words are published after it was told.

use super::raw::{ChannelRef, End, kind};
use super::table::ChannelTable;
use kahn_engine::sync::Arc;
use kahn_report::Name;
use std::fmt;
use std::ops::Range;

/// Is told what the processes of a network do, while they do it.
///
/// All its functions do nothing unless they are overridden. They are called by the workers, at any
/// time and from several threads, and hold up the process they tell of.
///
/// # Examples
///
/// ```
/// use kahn::{Name, Network, Observer, Options};
/// use std::ops::Range;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Received(AtomicU64);
///
/// impl Observer for Received {
///     fn received(&self, _channel: &Name, messages: Range<u64>) {
///         self.0.fetch_add(messages.end - messages.start, Ordering::Relaxed);
///     }
/// }
///
/// let observer = Arc::new(Received::default());
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// let doubled = network.map("double", numbers, |n| 2 * n);
/// network.for_each("ignore", doubled, |_| {});
/// network.run_with(Options::new().observer(Arc::clone(&observer)))?;
/// assert_eq!(observer.0.load(Ordering::Relaxed), 200);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Observer: Send + Sync {
    /// Tells that a worker begins to run a process: it polls it.
    fn runs(&self, process: &Name, worker: usize) {
        let _ = (process, worker);
    }

    /// Tells that a worker runs the process no more: it waits, has given way to others, or has ended.
    fn rests(&self, process: &Name, worker: usize) {
        let _ = (process, worker);
    }

    /// Tells that these messages of a channel were sent. The first message is number 0.
    fn sent(&self, channel: &Name, messages: Range<u64>) {
        let _ = (channel, messages);
    }

    /// Tells that these messages of a channel were received. The first message is number 0.
    fn received(&self, channel: &Name, messages: Range<u64>) {
        let _ = (channel, messages);
    }
}

/// The observer of a run.
#[derive(Clone)]
pub(crate) struct ObserverHandle(pub(crate) Arc<dyn Observer>);

impl fmt::Debug for ObserverHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl ChannelTable {
    /// Has both ends of all channels told of. Said once, before anything runs.
    pub(crate) fn observe_by(&self, observer: ObserverHandle) {
        let _ = self.observer.set(observer);
        self.all().into_iter().for_each(|channel| channel.set_observed(true));
    }

    /// What is told of messages, if anything is.
    pub(crate) fn observer(&self) -> Option<&ObserverHandle> {
        self.observer.get()
    }
}

impl ChannelRef {
    /// Tells the observer of both ends from now on, or does not.
    pub(super) fn set_observed(self, is_observed: bool) {
        for end in [End::Sender, End::Receiver] {
            self.side(end).set_kind(kind::OBSERVED, is_observed && !self.is_inner());
        }
    }

    /// What `end` has done is about to become visible: tells the observer, if there is one.
    #[inline(always)]
    pub(super) fn tell_observer(self, end: End) {
        if self.side(end).is_kind(kind::OBSERVED) {
            self.tell_of_messages(end);
        }
    }

    #[cold]
    fn tell_of_messages(self, end: End) {
        let (from, to) = (self.count(end), self.side(end).local.get());
        let messages = self.before(from)..self.before(to);
        if messages.is_empty() {
            return;
        }
        if let Some(ObserverHandle(observer)) = self.table().observer() {
            match end {
                End::Sender => observer.sent(self.name(), messages),
                End::Receiver => observer.received(self.name(), messages),
            }
        }
    }
}
