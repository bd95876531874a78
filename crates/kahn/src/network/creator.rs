//! Creating processes and channels while the network runs.

use super::core::{By, Core};
use super::{Channel, Process, ProcessResult};
use crate::channel::language::Worker;
use crate::channel::process::InNetwork;
use crate::channel::{Port, Ports, Receiver, Sender};
use kahn_engine::Scheduler;
use kahn_engine::sync::Arc;
use kahn_report::Name;
use std::marker::PhantomData;
use std::sync::Weak;

/// A port by which a process creates processes and channels while the network runs.
///
/// A process asks for it at its creation. What it creates it may keep or pass on: ends of its own go
/// to the processes that it creates.
///
/// # Examples
///
/// The sieve of Eratosthenes: one process for each prime, which creates the next.
///
/// ```
/// use kahn::{Creator, Network, Receiver, Sender};
/// use std::pin::Pin;
///
/// type Ports = (Receiver<u32>, Sender<u32>, Creator<'static>);
///
/// // Boxed, for a process that creates its like is a recursive type otherwise.
/// fn sieve((mut numbers, mut primes, mut create): Ports) -> Pin<Box<dyn Future<Output = ()> + Send>> {
///     Box::pin(async move {
///         let Some(prime) = numbers.recv().await else { return };
///         primes.send(prime).await;
///         let (mut on, rest) = create.channel(format!("not by {prime}"));
///         let next = create.again();
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
/// let creator = network.creator();
/// network.process("sieve", (numbers, out, creator), sieve);
/// let all = network.collect("all", primes);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![2, 3, 5, 7, 11, 13, 17, 19, 23, 29]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Creator<'env> {
    core: Weak<Core>,
    /// Its scheduler, to compare with: while we name it, none other has its address.
    scheduler: Weak<Scheduler>,
    borrows: PhantomData<std::cell::Cell<&'env ()>>,
}

// SAFETY: it holds a reference to what is shared under locks.
unsafe impl Send for Creator<'_> {}
// SAFETY: `&Creator` can only make another.
unsafe impl Sync for Creator<'_> {}

impl Ports for Creator<'_> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        see(Port::creates());
    }
}

impl<'env> Creator<'env> {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::downgrade(core),
            scheduler: Arc::downgrade(&core.scheduler),
            borrows: PhantomData,
        }
    }

    /// Makes another such port, for a process that is created and is to create in turn.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            core: Weak::clone(&self.core),
            scheduler: Weak::clone(&self.scheduler),
            borrows: PhantomData,
        }
    }

    /// Runs `f` in the name of the process that runs now.
    fn create<R>(&self, f: impl FnOnce(&Core, By<'_>) -> R) -> R {
        const ELSEWHERE: &str = "a process creates while it runs, in its own network";
        let (worker, task) = Worker::running().expect(ELSEWHERE);
        let same = std::ptr::eq(task.scheduler(), self.scheduler.as_ptr());
        assert!(same && task.creates(), "{ELSEWHERE}, with a creator among its ports");
        // SAFETY: one of its processes runs, and who runs a network has its core until all have
        // ended. To count one reference more is two steps that other cores may have to wait for.
        let core = unsafe { &*self.core.as_ptr() };
        f(core, Some((task, worker)))
    }

    /// Makes a channel; both ends belong to the process that makes it.
    ///
    /// # Panics
    /// Panics if called by anyone but a process that got a creator among its ports.
    pub fn channel<T: Send + 'env>(&mut self, name: impl Into<Name>) -> (Sender<T>, Receiver<T>) {
        self.channel_with(Channel::named(name))
    }

    /// Makes a channel as told; both ends belong to the process that makes it.
    ///
    /// # Panics
    /// As for [`channel`](Self::channel).
    pub fn channel_with<T: Send + 'env>(
        &mut self,
        channel: Channel<T>,
    ) -> (Sender<T>, Receiver<T>) {
        self.create(|core, by| core.channel(channel.plan(), by))
    }

    /// Makes a process, which starts at once. Its ports must be the creator's own.
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
