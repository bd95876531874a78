//! WHAT runs: processes, channels, the graph; the run; the picture.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Network`]: writing a network down |
//! | `creator` | [`Creator`]: creating while it runs |
//! | `body` | the closure and the future of a process |
//! | `check` | what can be found out before it runs |
//! | `options`, `run` | how it is run, and the run |
//! | `weights` | what is told of growth and weights |
//! | `handle` | [`StopHandle`]: from outside |
//! | `core` | what all of these share |

mod body;
mod check;
pub(crate) mod core;
mod creator;
mod handle;
mod hooks;
mod left;
mod load;
mod observed;
mod options;
pub(crate) mod run;
mod weights;

pub use body::ProcessResult;
pub use check::Problem;
pub use creator::Creator;
pub use handle::{StillRunning, StopHandle};
pub(crate) use options::{BuildPolicy, Choice};
pub use options::{DEFAULT_BUDGET, RunOptions};
pub(crate) use run::{Outcome, execute};
pub use run::{RunError, Running};

use self::core::{ChannelPlan, Core, ProcessPlan};
use crate::channel::digest::{DigestFn, Digests, digest_at};
use crate::channel::raw::End;
use crate::channel::weight::{Weigh, Weighing};
use crate::channel::{Digest, OutsidePorts, Ports, Receiver, Sender};
use crate::graph::{Arrow, DotBox, Shape, dot};
use kahn_engine::Kind;
use kahn_engine::sync::{Arc, Ordering::*};
use kahn_report::Name;
use std::marker::PhantomData;

/// The capacity of channels that name none: 64 messages.
pub const DEFAULT_CAPACITY: u32 = 64;

/// A network of processes joined by channels.
///
/// First it is written down, then it is run. Processes may borrow from the caller for the time of
/// the run: that is `'env`.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let text = String::from("one two three");
/// let mut network = Network::new();
/// let (words_out, words) = network.channel::<&str>("words");
/// let (lengths_out, lengths) = network.channel::<usize>("lengths");
/// network.process("split", words_out, async |mut words| {
///     for word in text.split(' ') {
///         words.send(word).await;
///     }
/// });
/// network.process("measure", (words, lengths_out), async |(mut words, mut lengths)| {
///     while let Some(word) = words.recv().await {
///         lengths.send(word.len()).await;
///     }
/// });
/// let total = network.fold("sum", lengths, 0, |sum, length| sum + length);
/// let report = network.run()?;
/// assert_eq!(total.take(), Some(11));
/// assert_eq!(report.messages(), 6);
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: Kahn 1974; Vrba, Halvorsen, Griwodz, Beskow, Espeland, Johansen: the Nornir run-time
/// system.
#[derive(Debug)]
pub struct Network<'env> {
    core: Arc<Core>,
    /// Invariant: what processes borrow must outlive the run, no more and no less.
    borrows: PhantomData<std::cell::Cell<&'env ()>>,
    has_run: bool,
}

// SAFETY: everything in a network that is not run yet is `Send`: bodies, ports and messages are
// bound to be, and the rest is shared under locks.
unsafe impl Send for Network<'_> {}

/// What a channel is to be: its name, capacity, initial messages, and whether runs are compared by
/// the contents of its messages.
///
/// # Examples
///
/// A feedback loop needs something in it to begin with:
///
/// ```
/// use kahn::{Channel, Network};
///
/// let mut network = Network::new();
/// let (back, around) = network.channel_with(Channel::named("loop").initial([1_u64]).digest());
/// let (out, powers) = network.channel("powers");
/// network.process("double", (around, back, out), async |(mut around, mut back, mut out)| {
///     for _ in 0..5 {
///         let n = around.recv().await.expect("the loop never ends before this process");
///         out.send(n).await;
///         back.send(2 * n).await;
///     }
/// });
/// let all = network.collect("all", powers);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![1, 2, 4, 8, 16]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
#[must_use = "a channel is made by `Network::channel_with`"]
pub struct Channel<T> {
    name: Name,
    capacity: u32,
    initial: Vec<T>,
    digest: Option<DigestFn>,
    weighing: Option<Weighing>,
}

impl<T: Send> Channel<T> {
    /// Names a channel, with the default capacity.
    pub fn named(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            capacity: DEFAULT_CAPACITY,
            initial: Vec::new(),
            digest: None,
            weighing: None,
        }
    }

    /// Sets the capacity, in messages. It is a hint: a ring of waits makes a full channel grow.
    ///
    /// # Panics
    /// Panics if it is 0: a channel holds a message at least.
    pub fn capacity(mut self, messages: u32) -> Self {
        assert!(messages > 0, "channel `{}`: a channel holds a message at least", self.name);
        self.capacity = messages;
        self
    }

    /// Puts messages into the channel before anything runs. More than the capacity raise it.
    pub fn initial(mut self, messages: impl IntoIterator<Item = T>) -> Self {
        self.initial = messages.into_iter().collect();
        self
    }

    /// Has runs compared by the contents of the messages, and not by their number alone.
    ///
    /// [`testing::verify`](crate::testing::verify) does so without being asked if the messages are of
    /// an ordinary type, such as numbers, texts, and vectors and pairs of them, or of one that
    /// [`Schedules::digest`](crate::testing::Schedules::digest) names.
    pub fn digest(mut self) -> Self
    where
        T: Digest,
    {
        self.digest = Some(digest_at::<T>);
        self
    }

    /// Has the byte budget count what the messages own, as their type tells.
    ///
    /// Not needed for types that own nothing, nor for ordinary ones: texts, boxes, and vectors,
    /// options and pairs of ordinary types are weighed without being asked. What messages of other
    /// types own is not counted unless this says how, and the report names their channels.
    pub fn weighed(mut self) -> Self
    where
        T: Weigh,
    {
        self.weighing = Some(Weighing::of::<T>());
        self
    }

    /// Has the byte budget count what the messages own, as a function tells: the bytes of each beside
    /// those that it takes itself. See [`weighed`](Self::weighed).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    /// use std::sync::Mutex;
    ///
    /// let mut network = Network::new();
    /// let pages = Channel::named("pages").weighed_by(|page: &Mutex<Vec<u8>>| {
    ///     page.lock().map_or(0, |bytes| bytes.capacity())
    /// });
    /// let (out, pages) = network.channel_with(pages);
    /// network.process("print", out, async |mut out| out.send(Mutex::new(vec![0; 4096])).await);
    /// let count = network.fold("count", pages, 0, |count, _| count + 1);
    /// let report = network.run()?;
    /// assert_eq!(count.take(), Some(1));
    /// assert_eq!(report.channels[0].owned_bytes, Some(4096));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn weighed_by(mut self, owned_bytes: fn(&T) -> usize) -> Self {
        self.weighing = Some(Weighing::with(owned_bytes));
        self
    }

    fn plan(self) -> ChannelPlan<T> {
        ChannelPlan {
            name: self.name,
            capacity: self.capacity,
            initial: self.initial,
            digest: self.digest,
            weighing: self.weighing,
        }
    }
}

/// What a process is to be: its name, and what the runtime may not assume of it.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Process};
///
/// let mut network = Network::new();
/// let (out, unused) = network.channel("unused");
/// // Nobody reads its output, but it must run to its end all the same.
/// network.process_with(Process::named("log").effects(), out, async |mut out| {
///     for line in 0..3_u32 {
///         out.send(line).await;
///     }
/// });
/// network.process("reader", unused, async |_unused| {});
/// network.run()?;
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a process is made by `Network::process_with`"]
pub struct Process {
    name: Name,
    effects: bool,
    worker: Option<u32>,
}

impl Process {
    /// Names a process.
    pub fn named(name: impl Into<Name>) -> Self {
        Self { name: name.into(), effects: false, worker: None }
    }

    /// Declares that the process does something that can be seen without its channels: it is never
    /// ended because nobody reads its output. Processes without senders need no such word.
    pub fn effects(mut self) -> Self {
        self.effects = true;
        self
    }

    /// Pins the process to a worker, for policies that heed it.
    pub fn worker(mut self, worker: u32) -> Self {
        self.worker = Some(worker);
        self
    }

    fn plan(self) -> ProcessPlan {
        ProcessPlan { name: self.name, effects: self.effects, pinned: self.worker }
    }
}

impl<'env> Network<'env> {
    /// Makes an empty network.
    pub fn new() -> Self {
        Self { core: Core::new(), borrows: PhantomData, has_run: false }
    }

    /// Has channels compared by contents that these digests are for, without being asked.
    pub(crate) fn record_by(&self, digests: &Arc<Digests>) {
        self.core.channels.record_by(digests);
    }

    /// Makes a channel with the default capacity, and returns its two ends.
    pub fn channel<T: Send + 'env>(&mut self, name: impl Into<Name>) -> (Sender<T>, Receiver<T>) {
        self.channel_with(Channel::named(name))
    }

    /// Makes a channel, and returns its two ends.
    pub fn channel_with<T: Send + 'env>(
        &mut self,
        channel: Channel<T>,
    ) -> (Sender<T>, Receiver<T>) {
        self.core.channel(channel.plan(), None)
    }

    /// Makes a process that has these ports and runs this code.
    ///
    /// The code is called with the ports when the process runs for the first time. It may return
    /// nothing or a result; an error is a [failure](crate::FailureReport), and so is a panic.
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn process<P, F, R, O>(&mut self, name: impl Into<Name>, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> R + Send + 'env,
        R: Future<Output = O> + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.process_with(Process::named(name), ports, code);
    }

    /// Makes a process, with what is to be known about it.
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn process_with<P, F, R, O>(&mut self, process: Process, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> R + Send + 'env,
        R: Future<Output = O> + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.core.process(process.plan(), ports, code, None);
    }

    /// Makes a process that blocks its thread: it gets one of its own, and the same ports.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::io::{BufRead, Cursor};
    ///
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel::<String>("lines");
    /// network.blocking("read", out, |mut out| {
    ///     for line in Cursor::new("a\nb\n").lines() {
    ///         out.send_blocking(line?);
    ///     }
    ///     Ok::<(), std::io::Error>(())
    /// });
    /// let all = network.collect("all", lines);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["a".to_owned(), "b".to_owned()]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn blocking<P, F, O>(&mut self, name: impl Into<Name>, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> O + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.blocking_with(Process::named(name), ports, code);
    }

    /// Makes a process that blocks its thread, with what is to be known about it.
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn blocking_with<P, F, O>(&mut self, process: Process, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> O + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.core.blocking(process.plan(), ports, code, None);
    }

    /// Makes a port that lets a process create processes and channels while the network runs.
    ///
    /// See [`Creator`] for an example.
    pub fn creator(&self) -> Creator<'env> {
        Creator::new(&self.core)
    }

    /// Gives ends to somebody outside: an ordinary thread, a task of another executor.
    ///
    /// One party waits in one operation at a time; two threads are two parties. The run waits until
    /// the party has dropped its ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (question, asked) = network.channel::<u32>("question");
    /// let (answer, answered) = network.channel::<u32>("answer");
    /// network.process("answer", (asked, answer), async |(mut asked, mut answer)| {
    ///     while let Some(n) = asked.recv().await {
    ///         answer.send(n + 1).await;
    ///     }
    /// });
    /// let (mut ask, mut hear) = network.outside("driver", (question, answered));
    /// let driver = std::thread::spawn(move || {
    ///     ask.send_blocking(41)?;
    ///     hear.recv_blocking()
    /// });
    /// network.run()?;
    /// assert_eq!(driver.join().expect("the driver does not panic"), Ok(Some(42)));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn outside<P: OutsidePorts + 'env>(
        &mut self,
        name: impl Into<Name>,
        ports: P,
    ) -> P::Outside {
        let party = self.core.party(name.into(), &ports);
        ports.into_outside(&party)
    }

    /// Makes a handle by which the run can be stopped and looked into from outside.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle::new(&self.core)
    }

    /// Draws the network in the DOT language: one box a process, one arrow a channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let _sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// assert!(network.dot().contains("p0 -> p1"));
    /// ```
    pub fn dot(&self) -> String {
        let mut processes = self.core.scheduler.table.lock().all();
        processes.sort_by_key(|task| task.info().identity);
        let boxes: Vec<_> = processes
            .iter()
            .map(|task| DotBox {
                label: task.info().name.to_string(),
                shape: match task.created_as() {
                    Kind::Pooled => Shape::Process,
                    Kind::Threaded => Shape::Blocking,
                    Kind::Outside => Shape::Outside,
                },
            })
            .collect();
        let place = |channel: &crate::channel::raw::ChannelRef, end| {
            let owner = channel.owner(end)?;
            processes.iter().position(|task| *task == owner)
        };
        let mut channels = self.core.channels.all();
        channels.sort_by_key(|channel| channel.label().identity);
        let arrows: Vec<_> = channels
            .iter()
            .filter_map(|channel| {
                let initial = channel.initial();
                let more = if initial > 0 { format!(", {initial} initial") } else { String::new() };
                Some(Arrow {
                    from: place(channel, End::Sender)?,
                    to: place(channel, End::Receiver)?,
                    label: format!(
                        "{}\n{}{more}",
                        channel.name(),
                        channel.cold.capacity.load(Relaxed)
                    ),
                })
            })
            .collect();
        dot(&boxes, &arrows)
    }

    /// Returns the number of processes and of channels written down so far.
    pub fn size(&self) -> (usize, usize) {
        (self.core.scheduler.table.lock().all().len(), self.core.channels.all().len())
    }
}

impl Default for Network<'_> {
    fn default() -> Self {
        Self::new()
    }
}
