//! Creating processes and channels while the network runs.

use super::core::{By, Core};
use super::{Channel, Process};
use crate::channel::language::Worker;
use crate::channel::process::InNetwork;
use crate::channel::{Port, Ports, Receiver, Sender};
use kahn_engine::sync::Arc;
use kahn_engine::task::ProcessResult;
use kahn_engine::{Scheduler, TaskRef};
use kahn_report::Name;
use std::marker::PhantomData;
use std::sync::Weak;

/// A port by which a process creates processes and channels while the network runs.
///
/// A process gets it when it is created ([`Network::spawner`](super::Network::spawner)). What it creates
/// it may keep or pass on: ends of its own go to the processes that it creates, and so does a clone of
/// this port, if they create in turn.
///
/// # Examples
///
/// The sieve of Eratosthenes: one process for each prime, which creates the next.
///
/// ```
/// use kahn::{Spawner, Network, Receiver, Sender};
/// use std::pin::Pin;
///
/// type Ports = (Receiver<u32>, Sender<u32>, Spawner<'static>);
///
/// // Boxed, for a process that creates its like is a recursive type otherwise.
/// fn sieve((mut numbers, mut primes, mut create): Ports) -> Pin<Box<dyn Future<Output = ()> + Send>> {
///     Box::pin(async move {
///         let Some(prime) = numbers.recv().await else { return };
///         primes.send(prime).await;
///         let (mut on, rest) = create.channel(format!("not by {prime}"));
///         let next = create.clone();
///         create.process(format!("after {prime}"), (rest, primes, next), sieve);
///         while let Some(n) = numbers.recv().await {
///             if n % prime != 0 {
///                 on.send(n).await;
///             }
///         }
///     })
/// }
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 2..30);
/// let (out, primes) = network.channel("primes");
/// let spawner = network.spawner();
/// network.process("sieve", (numbers, out, spawner), sieve);
/// let all = network.collect("all", primes);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![2, 3, 5, 7, 11, 13, 17, 19, 23, 29]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Spawner<'env> {
    core: Weak<Core>,
    /// Its scheduler, to compare with: while we name it, none other has its address.
    scheduler: Weak<Scheduler>,
    borrows: PhantomData<std::cell::Cell<&'env ()>>,
}

const ELSEWHERE: &str = "a process creates while it runs, in its own network";

// SAFETY: it holds a reference to what is shared under locks.
unsafe impl Send for Spawner<'_> {}
// SAFETY: `&Spawner` can only be cloned.
unsafe impl Sync for Spawner<'_> {}

/// A port for a process that is created and is to create in turn.
impl Clone for Spawner<'_> {
    fn clone(&self) -> Self {
        Self {
            core: Weak::clone(&self.core),
            scheduler: Weak::clone(&self.scheduler),
            borrows: PhantomData,
        }
    }
}

impl Ports for Spawner<'_> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        see(Port::creates());
    }
}

impl<'env> Spawner<'env> {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::downgrade(core),
            scheduler: Arc::downgrade(&core.scheduler),
            borrows: PhantomData,
        }
    }

    /// Runs `f` in the name of the process that runs now.
    fn create<R>(&self, f: impl FnOnce(&Core, By<'_>) -> R) -> R {
        self.within(|core, task, worker| {
            assert!(task.creates(), "{ELSEWHERE}, with a spawner among its ports");
            f(core, Some((task, worker)))
        })
    }

    /// Runs `f` with the process that runs now, which is of its network.
    pub(super) fn within<R>(&self, f: impl FnOnce(&Core, TaskRef, &Worker) -> R) -> R {
        let (worker, task) = Worker::running().expect(ELSEWHERE);
        let same = std::ptr::eq(task.scheduler(), self.scheduler.as_ptr());
        assert!(same, "{ELSEWHERE}");
        // SAFETY: one of its processes runs, and the thread that runs a network has its core until all have
        // ended. To count one reference more is two steps that other cores may have to wait for.
        let core = unsafe { &*self.core.as_ptr() };
        f(core, task, worker)
    }

    /// Makes a channel; both ends belong to the process that makes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (mut out, sums) = network.channel("sums");
    /// let spawner = network.spawner();
    /// network.process("parent", (out, spawner), async |(mut out, mut spawner)| {
    ///     let (to_parent, mut from_child) = spawner.channel("answer");
    ///     spawner.process("child", to_parent, async |mut out| out.send(21_u32).await);
    ///     let answer = from_child.recv().await.unwrap_or(0);
    ///     out.send(2 * answer).await;
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![42]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if called by anyone but a process that got a spawner among its ports.
    pub fn channel<T: Send + 'env>(&mut self, name: impl Into<Name>) -> (Sender<T>, Receiver<T>) {
        self.channel_with(Channel::named(name))
    }

    /// Makes a channel as told; both ends belong to the process that makes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// let mut network = Network::new();
    /// network.process("parent", network.spawner(), async |mut spawner| {
    ///     let (out, tickets) = spawner.channel_with(Channel::named("tickets").capacity(1));
    ///     spawner.process("sell", out, async |mut out| out.send_all(0..3_u32).await);
    ///     spawner.process("buy", tickets, async |mut tickets| {
    ///         assert_eq!(tickets.for_each(|_ticket| {}).await, 3);
    ///     });
    /// });
    /// let report = network.run()?;
    /// assert_eq!(report.channels[0].capacity, 1);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`channel`](Self::channel).
    pub fn channel_with<T: Send + 'env>(
        &mut self,
        channel: Channel<T>,
    ) -> (Sender<T>, Receiver<T>) {
        self.create(|core, by| core.channel(channel.plan(), by))
    }

    /// Makes a process, which starts at once. Its ports must belong to the process that makes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel("numbers");
    /// network.process("parent", (out, network.spawner()), async |(out, mut spawner)| {
    ///     // The end goes to the child; the parent has it no more.
    ///     spawner.process("child", out, async |mut out| out.send_all(0..3_u32).await);
    /// });
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![0, 1, 2]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`channel`](Self::channel).
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
    /// network.process("parent", network.spawner(), async |mut spawner| {
    ///     let child = Process::named("child").worker(0);
    ///     spawner.process_with(child, (), async |()| kahn::yield_now().await);
    /// });
    /// let report = network.run()?;
    /// assert_eq!(report.processes[1].name, "child");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`channel`](Self::channel).
    pub fn process_with<P, F, R, O>(&mut self, process: Process, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> R + Send + 'env,
        R: Future<Output = O> + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.create(|core, by| {
            if !is_ending(by) {
                core.process(process.plan(), ports, code, by);
            }
        });
    }

    /// Makes a process that blocks a thread of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, bytes) = network.channel("bytes");
    /// network.process("parent", (out, network.spawner()), async |(out, mut spawner)| {
    ///     spawner.blocking("read", out, |mut out| {
    ///         out.send_blocking(std::fs::read("/dev/null")?.len());
    ///         Ok::<(), std::io::Error>(())
    ///     });
    /// });
    /// let all = network.collect("all", bytes);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![0]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`channel`](Self::channel).
    pub fn blocking<P, F, O>(&mut self, name: impl Into<Name>, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> O + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.blocking_with(Process::named(name), ports, code);
    }

    /// Makes a process that blocks a thread of its own, with what is to be known about it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Process};
    ///
    /// let mut network = Network::new();
    /// network.process("parent", network.spawner(), async |mut spawner| {
    ///     let (out, lines) = spawner.channel("lines");
    ///     spawner.blocking_with(Process::named("read").effects(), out, |mut out| {
    ///         out.send_blocking("a line");
    ///     });
    ///     spawner.process("count", lines, async |mut lines| {
    ///         assert_eq!(lines.for_each(|_line| {}).await, 1);
    ///     });
    /// });
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`channel`](Self::channel).
    pub fn blocking_with<P, F, O>(&mut self, process: Process, ports: P, code: F)
    where
        P: Ports + 'env,
        F: FnOnce(P) -> O + Send + 'env,
        O: ProcessResult + 'env,
    {
        self.create(|core, by| {
            if !is_ending(by) {
                core.blocking(process.plan(), ports, code, by);
            }
        });
    }
}

/// Whether the process is being ended that creates: what its destructors create is dropped at once.
fn is_ending(by: By<'_>) -> bool {
    by.is_some_and(|(_, worker)| worker.is_ending())
}
