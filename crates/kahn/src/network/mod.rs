//! WHAT runs: processes, channels, the graph; the run; the picture.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Network`]: writing a network down |
//! | `describe` | [`Channel`], [`Process`]: what one is to be |
//! | `making` | where that is done: before the run, by a process ([`Spawner`]), in a part ([`Scope`]) |
//! | `body` | the closure and the future of a process |
//! | `farm` | the ordered farm: one process of several parts |
//! | `requests` | threads and tasks outside that ask |
//! | `check`, `roots` | what can be found out before it runs; whether unread loops are pruned |
//! | `options`, `run` | how it is run, and the run |
//! | `summary`, `weights` | what a run tells when it is over, of growth and weights, too |
//! | `input` | the files that it depends on, and messages that are parts of them |
//! | `told` | the network as observers are told |
//! | `replay` | processes that do again what they did in another run |
//! | `cut` | one rank of a network: what runs there, and the links to what does not |
//! | `chains`, `local` | … its chains of waits, from link to link, and what its links ask of it while it runs |
//! | `waits` | … and what processes wait for on all ranks, put together |
//! | `part`, `portable` | … and what ran there, when the run is over, also as bytes |
//! | `merged` | … and what all ranks know together then |
//! | `handle` | [`StopHandle`]: from outside |
//! | `gone` | … opens when the run is over |
//! | `core` | what all of these share |
//! | `process/` | the library of processes, over the public interface |

mod body;
mod chains;
mod check;
pub(crate) mod core;
mod cut;
mod describe;
mod farm;
mod gone;
mod handle;
mod hooks;
mod input;
mod left;
mod load;
mod local;
mod making;
mod merged;
mod observed;
mod options;
mod part;
mod portable;
pub mod process;
mod progress;
mod replay;
mod requests;
mod roots;
pub(crate) mod run;
mod summary;
mod told;
mod waits;
mod weights;

pub use check::Problem;
pub use describe::{Channel, Process};
pub(crate) use farm::FarmPlan;
pub use handle::StopHandle;
pub use making::{Scope, Spawner};
pub(crate) use options::DEFAULT_BUDGET;
pub use options::Options;
pub use part::RankRun;
pub use progress::Progress;
pub use requests::Requests;
pub(crate) use run::execute;
pub use run::{RunError, Running};
pub(crate) use summary::Outcome;

use self::core::Role;
use self::making::{Making, Whole, is_ending};
use crate::channel::digest::Digests;
use crate::channel::process::attribute;
use crate::channel::raw::End;
use crate::channel::{OutsidePorts, Ports, Receiver, Sender};
use crate::graph::{Arrow, DotBox, Shape, dot};
use kahn_engine::sync::{Arc, Ordering::*};
use kahn_engine::task::ProcessResult;
use kahn_engine::{Kind, TaskRef};
use kahn_report::{Name, Picture, VertexKind};
use std::collections::BTreeMap;
use std::marker::PhantomData;

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
pub struct Network<'env, M = Whole<'env>> {
    made: M,
    /// What comes before the names of its processes and channels.
    scope: Option<Name>,
    /// Invariant: what processes borrow must outlive the run, no more and no less.
    borrows: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl Network<'_> {
    /// The capacity of channels that name none, in messages.
    pub const DEFAULT_CAPACITY: u32 = 64;

    /// Makes an empty network.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=4_u32);
    /// let product = network.fold("product", numbers, 1, |product, n| product * n);
    /// network.run()?;
    /// assert_eq!(product.take(), Some(24));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn new() -> Self {
        Self::of(Whole::new(), None)
    }

    /// A process that brings messages in an order from outside, if there is one.
    pub(crate) fn asked_from_outside(&self) -> Option<Name> {
        self.made.core.from_outside.lock().first().cloned()
    }

    /// What a model drives by hand.
    #[cfg(all(test, loom))]
    pub(crate) fn core(&self) -> &Arc<core::Core> {
        &self.made.core
    }

    /// Has channels compared by contents that these digests are for, without being asked.
    pub(crate) fn record_by(&self, digests: &Arc<Digests>) {
        self.made.core.channels.record_by(digests);
    }
}

impl<'env, M: Making> Network<'env, M> {
    fn of(made: M, scope: Option<Name>) -> Self {
        Self { made, scope, borrows: PhantomData }
    }

    /// What it is called in its part.
    fn called(&self, name: Name) -> Name {
        match &self.scope {
            None => name,
            Some(scope) => format_args!("{scope}/{name}").into(),
        }
    }

    /// Borrows it as a part in which the names of processes and channels begin with `name/`.
    ///
    /// See [`Scope`] for an example with a function that builds a part.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let mut input = network.scope("input");
    /// let mut first = input.scope("first");
    /// let numbers = first.source("numbers", 0..3_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let report = network.run()?;
    /// assert_eq!(sum.take(), Some(3));
    /// assert_eq!(report.processes[0].name, "input/first/numbers");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn scope(&mut self, name: impl Into<Name>) -> Scope<'_, 'env> {
        let name = self.called(name.into());
        Network::of(self.made.part(), Some(name))
    }

    /// Makes a channel with the default capacity, and returns its two ends.
    ///
    /// Both belong to nothing yet; while the network runs, to the process that makes the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, words) = network.channel("words");
    /// network.process("speak", out, async |mut out| out.send("hello").await);
    /// let all = network.collect("all", words);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["hello"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn channel<T: Send + 'env>(&mut self, name: impl Into<Name>) -> (Sender<T>, Receiver<T>) {
        self.channel_with(Channel::named(name))
    }

    /// Makes a channel, and returns its two ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, words) = network.channel_with(Channel::named("words").capacity(2).initial(["hello"]));
    /// network.process("speak", out, async |mut out| out.send("world").await);
    /// let all = network.collect("all", words);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["hello", "world"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn channel_with<T: Send + 'env>(
        &mut self,
        channel: Channel<T>,
    ) -> (Sender<T>, Receiver<T>) {
        let mut plan = channel.plan();
        plan.name = self.called(plan.name);
        self.made.part().with(|core, by| core.channel(plan, by))
    }

    /// Makes a process that has these ports and runs this code.
    ///
    /// The code is called with the ports when the process runs for the first time. It may return
    /// nothing or a result; an error is a [failure](crate::FailureReport), and so is a panic. What it uses of
    /// a function that returns before the network runs, it must own: `async move`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [5, 8, 6_u32]);
    /// let (out, differences) = network.channel("differences");
    /// network.process("subtract", (numbers, out), async |(mut numbers, mut out)| {
    ///     let mut before = 0;
    ///     while let Some(n) = numbers.recv().await {
    ///         out.send(n.abs_diff(before)).await;
    ///         before = n;
    ///     }
    /// });
    /// let all = network.collect("all", differences);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![5, 3, 2]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    #[doc(alias = "spawn")]
    #[doc(alias = "actor")]
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
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..3_u32);
    /// let print = Process::named("print").effects().worker(0);
    /// network.process_with(print, numbers, async |mut numbers| {
    ///     numbers.for_each(|n| assert!(n < 3)).await;
    /// });
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
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
        let mut plan = process.plan();
        plan.name = self.called(plan.name);
        self.made.part().with(|core, by| {
            if !is_ending(by) {
                core.process(plan, ports, code, by);
            }
        });
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
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..3_u32);
    /// let print = Process::named("print").effects();
    /// network.blocking_with(print, numbers, |mut numbers| {
    ///     while let Some(n) = numbers.recv_blocking() {
    ///         assert!(n < 3);
    ///     }
    /// });
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn blocking_with<P, F, O>(&mut self, process: Process, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> O + Send + 'env,
        O: ProcessResult + 'env,
    {
        let mut plan = process.plan();
        plan.name = self.called(plan.name);
        self.made.part().with(|core, by| {
            if !is_ending(by) {
                core.blocking(plan, ports, code, by);
            }
        });
    }

    /// Makes a port that lets a process create processes and channels while the network runs.
    ///
    /// See [`Spawner`] for an example.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// network.process("parent", (out, network.spawner()), async |(out, mut spawner)| {
    ///     spawner.process("child", out, async |mut out| out.send(7_u32).await);
    /// });
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![7]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn spawner(&self) -> Spawner<'env> {
        Network::of(self.made.part().while_running(), self.scope.clone())
    }
}

impl<'env> Network<'env> {
    /// Gives ends to a party outside: an ordinary thread, a task of another executor.
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
        let party = self.made.core.party(name.into(), &ports);
        ports.into_outside(&party)
    }

    /// Makes a handle by which the run can be stopped and looked into from outside.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Summary};
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0_u64..);
    /// let handle = network.stop_handle();
    /// network.for_each("stop", numbers, move |n| {
    ///     if n == 100 {
    ///         handle.stop();
    ///     }
    /// });
    /// let error = network.run().expect_err("it was stopped");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
    /// ```
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle::new(&self.made.core)
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
        let (boxes, arrows) = self.drawn();
        dot(&boxes, &arrows)
    }

    /// Draws the network as SVG, without any other program and whatever its size: processes that differ in
    /// the numbers of their names alone are one box, and the picture says so. After a run,
    /// [`Report::svg`](crate::Report::svg) shows where time and messages went.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let _sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let svg = network.svg();
    /// assert!(svg.starts_with("<svg ") && svg.contains(">sum<"));
    /// ```
    pub fn svg(&self) -> String {
        let (boxes, arrows) = self.drawn();
        let mut picture = Picture::default();
        for vertex in &boxes {
            let kind = match vertex.shape {
                Shape::Process => VertexKind::Process,
                Shape::Blocking => VertexKind::Blocking,
                Shape::Outside => VertexKind::Outside,
            };
            picture.vertex(&vertex.label, kind);
        }
        for arrow in &arrows {
            picture.edge(arrow.from, arrow.to, &arrow.name, arrow.initial);
        }
        picture.svg()
    }

    /// What is drawn, in the order of creation.
    fn drawn(&self) -> (Vec<DotBox>, Vec<Arrow>) {
        // No channel and no process ends before the run.
        let mut processes = self.made.core.scheduler.table.lock().all();
        processes.sort_by_key(|task| task.info().identity);
        let is_part = |task: &TaskRef| task.attributes() & attribute::PART != 0;
        processes.retain(|task| !is_part(task));
        let from_outside = self.made.core.from_outside.lock();
        let boxes = processes
            .iter()
            .map(|task| DotBox {
                label: task.info().name.to_string(),
                shape: match task.created_as() {
                    // It stands for those outside that ask.
                    _ if from_outside.contains(&task.info().name) => Shape::Outside,
                    Kind::Pooled => Shape::Process,
                    Kind::Threaded => Shape::Blocking,
                    Kind::Outside => Shape::Outside,
                },
            })
            .collect();
        let identities = || processes.iter().map(|task| task.info().identity).zip(0..);
        let places: BTreeMap<_, usize> = identities().collect();
        // A part belongs to the process that it is a part of.
        let places_of_parts: BTreeMap<_, usize> =
            identities().map(|(whole, place)| (Role::of_part(whole), place)).collect();
        let place = |channel: &crate::channel::raw::ChannelRef, end| {
            let owner = channel.owner(end)?;
            let of = if is_part(&owner) { &places_of_parts } else { &places };
            of.get(&owner.info().identity).copied()
        };
        let mut channels = self.made.core.channels.all();
        channels.retain(|channel| !channel.is_inner());
        channels.sort_by_key(|channel| channel.label().identity);
        let arrows = channels.iter().filter_map(|channel| {
            Some(Arrow {
                from: place(channel, End::Sender)?,
                to: place(channel, End::Receiver)?,
                name: channel.name().to_string(),
                capacity: channel.cold.capacity.load(Relaxed),
                initial: channel.initial().into(),
            })
        });
        (boxes, arrows.collect())
    }

    /// Returns the number of processes and of channels written down so far.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..3_u32);
    /// network.for_each("ignore", numbers, |_| {});
    /// assert_eq!(network.size(), (2, 1));
    /// ```
    pub fn size(&self) -> (usize, usize) {
        let mut processes = self.made.core.scheduler.table.lock().all();
        processes.retain(|task| task.attributes() & attribute::PART == 0);
        let mut channels = self.made.core.channels.all();
        channels.retain(|channel| !channel.is_inner());
        (processes.len(), channels.len())
    }
}

impl Default for Network<'_> {
    fn default() -> Self {
        Self::new()
    }
}
