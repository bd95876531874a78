//! What a channel or a process is to be, before it is made.

use super::Network;
use super::core::{ChannelPlan, ProcessPlan, Role};
use crate::channel::Digest;
use crate::channel::digest::{DigestFn, digest_at};
use crate::channel::weight::{Weigh, Weighing};
use crate::channel::wire::Wire;
use kahn_report::{BoxError, Name};

/// What a channel is to be: its name, capacity, initial messages, and whether runs are compared by
/// the contents of its messages.
///
/// The processes of the [library](crate::process) take one wherever a name is enough.
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
    /// The written form of its messages.
    wire: Option<Wire>,
    /// The process of the library that is to write it, if more is said of it than its name.
    writer: Option<Process>,
}

/// A name is enough where a channel is to be described.
impl<T: Send, N: Into<Name>> From<N> for Channel<T> {
    fn from(name: N) -> Self {
        Self::named(name)
    }
}

impl<T: Send> Channel<T> {
    /// Names a channel, with the default capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, lines) = network.channel_with(Channel::named("lines"));
    /// network.process("write", out, async |mut out| out.send("a line").await);
    /// network.for_each("print", lines, |line| assert_eq!(line, "a line"));
    /// let report = network.run()?;
    /// assert_eq!(report.channels[0].name, "lines");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn named(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            capacity: Network::DEFAULT_CAPACITY,
            initial: Vec::new(),
            digest: None,
            weighing: None,
            wire: None,
            writer: None,
        }
    }

    /// Sets the capacity, in messages. It is a hint: a ring of waits makes a full channel grow.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// // The sender waits until each message has been taken.
    /// let (out, pages) = network.channel_with(Channel::named("pages").capacity(1));
    /// network.process("print", out, async |mut out| out.send_all(1..=9_u32).await);
    /// network.for_each("read", pages, |_page| {});
    /// let report = network.run()?;
    /// assert_eq!(report.channels[0].capacity, 1);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0: a channel holds a message at least.
    pub fn capacity(mut self, messages: u32) -> Self {
        assert!(messages > 0, "channel `{}`: a channel holds a message at least", self.name);
        self.capacity = messages;
        self
    }

    /// Puts messages into the channel before anything runs. More than the capacity raise it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel_with(Channel::named("numbers").initial([10, 20]));
    /// network.process("count on", out, async |mut out| out.send(30_u32).await);
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![10, 20, 30]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn initial(mut self, messages: impl IntoIterator<Item = T>) -> Self {
        self.initial = messages.into_iter().collect();
        self
    }

    /// Has runs compared by the contents of the messages, and not by their number alone.
    ///
    /// [`testing::verify`](crate::testing::verify) does so without being asked if the messages are of
    /// an ordinary type, such as numbers, texts, and vectors and pairs of them, or of one that
    /// [`Schedules::digest`](crate::testing::Schedules::digest) names.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, testing};
    ///
    /// /// Not an ordinary type, so that only its channel can say how it is compared.
    /// #[derive(kahn::Digest)]
    /// struct Celsius(f64);
    ///
    /// let verified = testing::verify(|network| {
    ///     let (out, measured) = network.channel_with(Channel::named("measured").digest());
    ///     network.process("measure", out, async |mut out| out.send(Celsius(21.5)).await);
    ///     network.for_each("show", measured, |_celsius| {});
    /// })?;
    /// assert_eq!(verified.by_contents, 1);
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network, Weigh};
    ///
    /// struct Page(String);
    ///
    /// impl Weigh for Page {
    ///     fn owned_bytes(&self) -> usize {
    ///         self.0.owned_bytes()
    ///     }
    /// }
    ///
    /// let mut network = Network::new();
    /// let (out, pages) = network.channel_with(Channel::named("pages").weighed());
    /// network.process("write", out, async |mut out| out.send(Page("x".repeat(100))).await);
    /// network.for_each("read", pages, |_page| {});
    /// let report = network.run()?;
    /// assert_eq!(report.channels[0].owned_bytes, Some(100));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
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

    /// Gives messages a written form, as functions of yours write and read it.
    ///
    /// With it runs are compared by what is written of the messages, unless a [`digest`](Self::digest)
    /// is given. What is written must be the same for the same message in every run.
    ///
    /// The first function appends to what is there. The second reads what the first has appended, and
    /// refuses all else. In [`testing::verify`](crate::testing::verify) the receiver fails if what was read is
    /// written otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, testing};
    ///
    /// struct Celsius(f32);
    ///
    /// let verified = testing::verify(|network| {
    ///     let measured = Channel::named("measured").wire_with(
    ///         |celsius: &Celsius, bytes| bytes.extend(celsius.0.to_le_bytes()),
    ///         |bytes| Ok(Celsius(f32::from_le_bytes(bytes.try_into()?))),
    ///     );
    ///     let (out, measured) = network.channel_with(measured);
    ///     network.process("measure", out, async |mut out| out.send(Celsius(21.5)).await);
    ///     network.for_each("show", measured, |_celsius| {});
    /// })?;
    /// assert_eq!(verified.by_contents, 1);
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
    pub fn wire_with(
        mut self,
        encode: fn(&T, &mut Vec<u8>),
        decode: fn(&[u8]) -> Result<T, BoxError>,
    ) -> Self {
        self.wire = Some(Wire::new(encode, decode));
        self
    }

    pub(super) fn written_by_wire(mut self, wire: Wire) -> Self {
        self.wire = Some(wire);
        self
    }

    /// Gives messages a written form, as serde describes them, in postcard's format (feature `wire`).
    ///
    /// See [`wire_with`](Self::wire_with). A type that borrows has none: nothing that is read could
    /// live as long.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, testing};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Sale {
    ///     what: String,
    ///     cents: u64,
    /// }
    ///
    /// let verified = testing::verify(|network| {
    ///     let (out, sales) = network.channel_with(Channel::named("sales").wire());
    ///     network.process("sell", out, async |mut out| {
    ///         out.send(Sale { what: "tea".to_owned(), cents: 250 }).await;
    ///     });
    ///     network.for_each("book", sales, |sale: Sale| assert!(sale.cents < 1000, "{}", sale.what));
    /// })?;
    /// assert_eq!(verified.by_contents, 1);
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
    #[cfg(feature = "wire")]
    pub fn wire(mut self) -> Self
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        self.wire = Some(crate::channel::wire::of_serde::<T>());
        self
    }

    /// Describes the process of the library that writes the channel: its name, if that is another, and
    /// what the runtime may not assume of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network, Process};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=3_u32);
    /// let squares = Channel::named("squares").capacity(2).written_by(Process::named("square"));
    /// let squares = network.map(squares, numbers, |n| n * n);
    /// let all = network.collect("all", squares);
    /// let report = network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 4, 9]));
    /// assert_eq!(report.processes[1].name, "square");
    /// assert_eq!(report.channels[1].name, "squares");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn written_by(mut self, process: impl Into<Process>) -> Self {
        self.writer = Some(process.into());
        self
    }

    /// The process of the library that is to write it: called as the channel, unless said otherwise.
    pub(super) fn writer(&mut self) -> Process {
        self.writer.take().unwrap_or_else(|| Process::named(self.name.clone()))
    }

    /// One of several channels that are described together, called `name index`.
    pub(super) fn one_of(&self, index: usize) -> Self {
        assert!(
            self.initial.is_empty(),
            "channel `{}`: one of several has no initial messages",
            self.name
        );
        Self {
            name: format_args!("{} {index}", self.name).into(),
            initial: Vec::new(),
            writer: None,
            ..*self
        }
    }

    pub(super) fn plan(self) -> ChannelPlan<T> {
        let described = self.writer.is_none();
        assert!(
            described,
            "channel `{}`: only a process of the library is described with its channel",
            self.name
        );
        ChannelPlan {
            name: self.name,
            capacity: self.capacity,
            initial: self.initial,
            digest: self.digest,
            weighing: self.weighing,
            wire: self.wire,
            is_inner: false,
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
/// // No process reads its output, but it must run to its end all the same.
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
    pub(super) name: Name,
    effects: bool,
    is_joined: bool,
    worker: Option<u32>,
    rank: Option<usize>,
}

/// A name is enough where a process is to be described.
impl<N: Into<Name>> From<N> for Process {
    fn from(name: N) -> Self {
        Self::named(name)
    }
}

impl Process {
    /// Names a process.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process};
    ///
    /// let mut network = Network::new();
    /// network.process_with(Process::named("greet"), (), async |()| {});
    /// let report = network.run()?;
    /// assert_eq!(report.processes[0].name, "greet");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn named(name: impl Into<Name>) -> Self {
        Self { name: name.into(), effects: false, is_joined: false, worker: None, rank: None }
    }

    /// Declares that the process does something that can be seen without its channels: it is never
    /// ended because no process reads its output, or none is left to see the [loop](super::Network::feedback)
    /// that it is in. Processes without senders need no such word.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process};
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let written = AtomicU32::new(0);
    /// let mut network = Network::new();
    /// let (out, unused) = network.channel("unused");
    /// network.process_with(Process::named("log").effects(), out, async |mut out| {
    ///     for line in 0..3_u32 {
    ///         written.fetch_add(1, Relaxed);
    ///         out.send(line).await;
    ///     }
    /// });
    /// network.process("leave", unused, async |_unused| {});
    /// network.run()?;
    /// // Without `effects`, the process might have been ended when its reader left.
    /// assert_eq!(written.load(Relaxed), 3);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn effects(mut self) -> Self {
        self.effects = true;
        self.is_joined = true;
        self
    }

    /// Says that the process keeps a result for what made the network. Like one with
    /// [`effects`](Self::effects) it is never ended because no process reads its output; but it acts on
    /// nothing outside of the program, so it is run again when the network is
    /// [replayed](super::Network::replay).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process};
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let count = AtomicU32::new(0);
    /// let mut network = Network::new();
    /// let words = network.source("words", ["to", "be"]);
    /// network.process_with(Process::named("count").keeps_result(), words, async |mut words| {
    ///     words.for_each(|_| count.store(count.load(Relaxed) + 1, Relaxed)).await;
    /// });
    /// network.run()?;
    /// assert_eq!(count.load(Relaxed), 2);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn keeps_result(mut self) -> Self {
        self.effects = true;
        self
    }

    /// Pins the process to a worker, for policies that heed it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process, Options};
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// network.process_with(Process::named("count").worker(0), out, async |mut out| {
    ///     out.send_all(0..10_u32).await;
    /// });
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// network.run_with(Options::new().workers(2))?;
    /// assert_eq!(sum.take(), Some(45));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn worker(mut self, worker: u32) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Says on which rank the process runs, if the network runs on as many: what is placed by the name of the
    /// process counts more.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "wire")]
    /// # {
    /// use kahn::{Channel, Network, Process};
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    /// network.process_with(Process::named("count").rank(1), out, async |mut out| {
    ///     out.send_all(0..10_u32).await;
    /// });
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// assert_eq!(network.shape().processes[0].rank, Some(1));
    /// // On one rank it says nothing.
    /// network.run()?;
    /// assert_eq!(sum.take(), Some(45));
    /// # }
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn rank(mut self, rank: usize) -> Self {
        self.rank = Some(rank);
        self
    }

    pub(super) fn plan(self) -> ProcessPlan {
        let Self { name, effects, is_joined, worker: pinned, rank } = self;
        let (role, attributes) = (Role::Process, 0);
        ProcessPlan { name, effects, is_joined, pinned, rank, role, attributes }
    }
}

/// Gives channels of these types a written form by one copy.
#[cfg(feature = "wire-raw")]
macro_rules! wire_raw {
    ($($messages:ty),*) => {$(
        impl<T: bytemuck::Pod + Send + Sync> Channel<$messages> {
            /// Gives messages a written form: their values as they lie in memory, by one copy (feature
            /// `wire-raw`).
            ///
            /// For values without padding and of which all bits mean something: those that are
            /// [`bytemuck::Pod`]. They are read on machines alone that lay them out alike. See
            /// [`wire_with`](Self::wire_with).
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn::{Channel, testing};
            ///
            /// let verified = testing::verify(|network| {
            ///     let samples = Channel::<Vec<[f32; 2]>>::named("samples").wire_raw();
            ///     let (out, samples) = network.channel_with(samples);
            ///     network.process("measure", out, async |mut out| {
            ///         out.send(vec![[0.5, 1.5]; 100]).await;
            ///     });
            ///     network.for_each("show", samples, |samples| assert_eq!(samples.len(), 100));
            /// })?;
            /// assert_eq!(verified.by_contents, 1);
            /// # Ok::<(), testing::VerifyError>(())
            /// ```
            pub fn wire_raw(mut self) -> Self {
                self.wire = Some(crate::channel::wire::of_plain::<T, $messages>());
                self
            }
        }
    )*};
}

#[cfg(feature = "wire-raw")]
wire_raw!(Vec<T>, Box<[T]>, std::sync::Arc<[T]>);
