//! What an observer of a run is told while it happens: what processes do and wait for, and their messages.

pub use crate::acts::{Act, Contents, Edge, Graph, Saved, Script, Step, Vertex};
pub use crate::look::{Doing, Look, Sampled, Survey, SurveyedChannel, SurveyedProcess};
pub use crate::slice::{Slice, Tick};
pub use crate::subject::Subject;
pub use crate::written::WrittenForms;

use crate::log::Log;
use crate::{Name, Report};
use std::ops::{BitOr, Range};
use std::sync::Arc;

/// Is told what the processes of a network do, while they do it.
///
/// All its functions do nothing unless they are overridden. They are called by the workers, at any
/// time and from several threads, and hold up the process they tell of. A `worker` is the place of the
/// calling thread among the workers: none of a process that has a thread of its own.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Observer, Subject};
/// use kahn::{Network, Options};
/// use std::ops::Range;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Received(AtomicU64);
///
/// impl Observer for Received {
///     fn received(&self, _channel: Subject<'_>, messages: Range<u64>) {
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
    /// Tells that a thread begins to run a process, at this reading of the clock of [`Slice`].
    fn runs(&self, process: Subject<'_>, worker: Option<usize>, at: u64) {
        let _ = (process, worker, at);
    }

    /// Tells that the thread runs the process no more: how long it did, and why it rests.
    fn rests(&self, process: Subject<'_>, worker: Option<usize>, slice: Slice, rest: Rest<'_>) {
        let _ = (process, worker, slice, rest);
    }

    /// Tells that the calling thread has ended the wait of a process, which was at `rest`. If it does so for
    /// a process, `by` sent what that waits for, or received and so made room, or has closed its end.
    fn wakes(&self, process: Subject<'_>, rest: Rest<'_>, by: Option<Subject<'_>>) {
        let _ = (process, rest, by);
    }

    /// Tells that a process is dropped that has not returned: it was pruned or stopped, or ends with the
    /// failure of a channel.
    fn dropped(&self, process: Subject<'_>) {
        let _ = process;
    }

    /// Tells that these messages of a channel were sent. The first message is number 0.
    fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
        let _ = (channel, messages);
    }

    /// Tells that these messages of a channel were received. The first message is number 0.
    fn received(&self, channel: Subject<'_>, messages: Range<u64>) {
        let _ = (channel, messages);
    }

    /// Tells that the run is over, and how long a tick of [`Slice`] was: the report tells times by this.
    fn ends(&self, tick: Tick) {
        let _ = tick;
    }

    /// Tells that the run is over and what has come of it, after all else; returns what the report is to warn of
    /// besides.
    fn reports(&self, report: &Report) -> Vec<String> {
        let _ = report;
        Vec::new()
    }

    /// Returns what this is told of: what processes do and the messages they pass, unless overridden. It is asked
    /// once, before the run.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Returns where threads write down what processes do, if anywhere: what is asked for by
    /// [`wants`](Self::wants) is told by calls besides. Nowhere, unless overridden. It is asked once, before the run.
    fn log(&self) -> Option<Arc<dyn Log>> {
        None
    }

    /// Tells of the network before it runs. No lock of it is held. Networks whose processes communicate are not told.
    ///
    /// # Errors
    /// Refuses the run, which ends with [`RunError::Refused`] and this text.
    ///
    /// [`RunError::Refused`]: https://docs.rs/kahn/latest/kahn/enum.RunError.html#variant.Refused
    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        let _ = graph;
        Ok(())
    }

    /// Gives what looks at the run and what stops it, when nothing is left that could refuse the run and nothing of it has
    /// run yet.
    ///
    /// # Errors
    /// Refuses the run, as [`starts`](Self::starts) does.
    fn begins(
        &self,
        run: &Arc<dyn Sampled>,
        stop: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(), String> {
        let _ = (run, stop);
        Ok(())
    }

    /// Tells of a process that moves messages from rank to rank, before anything runs.
    fn links(&self, link: Link<'_>) {
        let _ = link;
    }

    /// Tells what a process did that is joined to the outside, if acts are wanted.
    fn acts(&self, process: Subject<'_>, act: Act<'_>) {
        let _ = (process, act);
    }

    /// Returns after how many messages a process that writes a file has it on the disk and tells so
    /// ([`Act::Saves`]), if acts are wanted; it does after some megabytes in any case. Never, unless overridden.
    fn saves_each(&self) -> Option<u64> {
        None
    }

    /// Tells what is in messages that a process sends, if contents are wanted: their written forms, of channels whose
    /// messages have one; none of a message whose function has panicked.
    ///
    /// Told of each message once, in order, before it is [`sent`](Self::sent). Initial messages are not sent by a
    /// process, and not told.
    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        let _ = (process, channel, messages, written);
    }

    /// Tells of a message that stands in a channel in the end, if contents are wanted: its written form,
    /// of channels whose messages have one; none if the function that writes it has panicked.
    ///
    /// Told when nothing can go on in a run in which a process was [held](Script::holds), in order for each
    /// channel.
    fn left(&self, channel: Subject<'_>, number: u64, message: Option<&[u8]>) {
        let _ = (channel, number, message);
    }
}

/// A process that stands on this rank for one that runs on another: it moves the messages of a channel between the two.
///
/// # Examples
///
/// ```
/// use kahn::observe::Link;
///
/// fn called(link: &Link<'_>) -> String {
///     let way = if link.sends { "from" } else { "to" };
///     format!("{} {way} rank {}", link.channel.name, link.rank)
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The link, which has the name of the process for which it stands.
    pub process: Subject<'a>,
    /// The channel.
    pub channel: Subject<'a>,
    /// The rank on which the other end of the channel is.
    pub rank: usize,
    /// Whether it sends here what comes from there; else it receives what goes there.
    pub sends: bool,
}

/// Options of a run that can have it observed: what extensions of options are made over.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn::observe::{Observable, Observer, Subject};
/// use std::ops::Range;
/// use std::sync::Arc;
///
/// struct Shows;
///
/// impl Observer for Shows {
///     fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
///         println!("{}: {messages:?}", channel.name);
///     }
/// }
///
/// trait Show: Observable {
///     /// Shows which messages are sent.
///     fn show(self) -> Self {
///         self.observed_by(Arc::new(Shows))
///     }
/// }
///
/// impl<O: Observable> Show for O {}
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// network.for_each("ignore", numbers, |_| {});
/// network.run_with(Options::new().show())?;
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Observable: Sized {
    /// Has this told of the run, beside the observers given before.
    #[must_use]
    fn observed_by(self, observer: Arc<dyn Observer>) -> Self;
}

/// What an observer is told of.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Observer, Subject, Wants};
/// use kahn::{Network, Options};
/// use std::ops::Range;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// /// Counts messages, for which no poll reads a clock.
/// #[derive(Default)]
/// struct Sent(AtomicU64);
///
/// impl Observer for Sent {
///     fn wants(&self) -> Wants {
///         Wants { messages: true, ..Wants::NOTHING }
///     }
///
///     fn sent(&self, _channel: Subject<'_>, messages: Range<u64>) {
///         self.0.fetch_add(messages.end - messages.start, Ordering::Relaxed);
///     }
/// }
///
/// let sent = Arc::new(Sent::default());
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// network.for_each("ignore", numbers, |_| {});
/// network.run_with(Options::new().observer(Arc::clone(&sent)))?;
/// assert_eq!(sent.0.load(Ordering::Relaxed), 100);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// When processes run, rest, are woken and dropped: it costs each poll two readings of the clock.
    pub schedule: bool,
    /// Which messages are [`sent`](Observer::sent) and [`received`](Observer::received).
    pub messages: bool,
    /// What those processes do that are joined to the outside, and the network before it runs.
    pub acts: bool,
    /// What is in messages: it costs each of them its written form.
    pub contents: bool,
}

impl Wants {
    /// Nothing at all.
    pub const NOTHING: Self =
        Self { schedule: false, messages: false, acts: false, contents: false };
}

impl Default for Wants {
    /// What processes do and the messages they pass, but not what is in them.
    fn default() -> Self {
        Self { schedule: true, messages: true, ..Self::NOTHING }
    }
}

impl BitOr for Wants {
    type Output = Self;

    /// What either wants.
    fn bitor(self, other: Self) -> Self {
        Self {
            schedule: self.schedule | other.schedule,
            messages: self.messages | other.messages,
            acts: self.acts | other.acts,
            contents: self.contents | other.contents,
        }
    }
}

/// Why a process rests.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Observer, Rest, Slice, Subject};
/// use kahn::{Network, Options};
/// use std::sync::{Arc, Mutex};
///
/// /// The channels at which a process waited for a message, and the numbers of the messages.
/// #[derive(Default)]
/// struct Waits(Mutex<Vec<(String, u64)>>);
///
/// impl Observer for Waits {
///     fn rests(&self, _: Subject<'_>, _worker: Option<usize>, _: Slice, rest: Rest<'_>) {
///         if let Rest::ForMessage { channel, number } = rest {
///             let wait = (channel.name.to_string(), number);
///             self.0.lock().expect("no other thread panics").push(wait);
///         }
///     }
/// }
///
/// let waits = Arc::new(Waits::default());
/// let mut network = Network::new();
/// let (out, numbers) = network.channel("numbers");
/// network.process("read", numbers, async |mut numbers| while numbers.recv().await.is_some() {});
/// network.process("write", out, async |mut out| out.send(1_u32).await);
/// network.run_with(Options::new().workers(1).observer(Arc::clone(&waits)))?;
/// assert_eq!(waits.0.lock().expect("no other thread panics")[0], ("numbers".to_owned(), 0));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rest<'a> {
    /// It waits for a message of this channel: for this one. The first is number 0.
    ForMessage {
        /// Where it waits.
        channel: Subject<'a>,
        /// Which message it waits for.
        number: u64,
    },
    /// It waits for room in this channel, to send this message.
    ForRoom {
        /// Where it waits.
        channel: Subject<'a>,
        /// Which message it wants to send.
        number: u64,
    },
    /// It waits for the process that is to come to the same channel of communicating processes.
    ForPartner {
        /// What the channel is called.
        channel: &'a Name,
    },
    /// It gives way to others, and could run on.
    GivesWay,
    /// It waits for something outside the network, such as a time or a file, or for another part of itself.
    Otherwise,
    /// It has returned, or has failed.
    ForGood,
}
