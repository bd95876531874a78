//! Where processes and channels are made: in a network that is written down, by a process that runs, in
//! a part of either. One type with one set of methods, [`Network`], is each of them.

use super::Network;
use super::core::{By, Core};
use crate::channel::language::Worker;
use crate::channel::process::InNetwork;
use crate::channel::{Port, Ports};
use kahn_engine::sync::Arc;
use kahn_engine::{Scheduler, TaskRef};
use std::cell::Cell;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Weak;

/// Has what processes and channels are made of.
pub trait Making {
    /// Lends it.
    fn part(&self) -> Part<'_>;
}

/// The files of which a network has been told, and what is in them.
pub(super) type Inputs<'env> = Vec<(PathBuf, &'env [u8])>;

/// A network that has not run: all that its processes share.
#[derive(Debug)]
pub struct Whole<'env> {
    pub(super) core: Arc<Core>,
    pub(super) has_run: bool,
    pub(super) inputs: Inputs<'env>,
    /// What processes borrow must live when it is dropped, for they are dropped with it.
    borrows: PhantomData<Cell<&'env ()>>,
}

impl Whole<'_> {
    pub(super) fn new() -> Self {
        Self { core: Core::new(), has_run: false, inputs: Vec::new(), borrows: PhantomData }
    }
}

impl Making for Whole<'_> {
    fn part(&self) -> Part<'_> {
        Part(Outer::Whole(&self.core), PhantomData)
    }
}

/// A process that runs, with a port by which it creates.
#[derive(Debug)]
pub struct WhileRunning {
    core: Weak<Core>,
    /// Its scheduler, to compare with: while we name it, none other has its address.
    scheduler: Weak<Scheduler>,
}

const ELSEWHERE: &str = "a process creates while it runs, in its own network";

impl WhileRunning {
    /// Runs `f` in the name of the process that runs now.
    fn with<R>(&self, f: impl FnOnce(&Core, By<'_>) -> R) -> R {
        self.within(|core, task, worker| {
            assert!(task.creates(), "{ELSEWHERE}, with a spawner among its ports");
            f(core, Some((task, worker)))
        })
    }

    /// Runs `f` with the process that runs now, which is of its network.
    fn within<R>(&self, f: impl FnOnce(&Core, TaskRef, &Worker) -> R) -> R {
        let (worker, task) = Worker::running().expect(ELSEWHERE);
        let same = std::ptr::eq(Scheduler::of(task), self.scheduler.as_ptr());
        assert!(same, "{ELSEWHERE}");
        // SAFETY: one of its processes runs, and the thread that runs a network has its core until all have
        // ended. To count one reference more is two steps that other cores may have to wait for.
        let core = unsafe { &*self.core.as_ptr() };
        f(core, task, worker)
    }
}

impl Making for WhileRunning {
    fn part(&self) -> Part<'_> {
        Part(Outer::Running(self), PhantomData)
    }
}

/// What a part of a network has for itself while it is made.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a>(Outer<'a>, OneAtATime);

/// One thread makes at a time: a reference to a part does not go to another.
type OneAtATime = PhantomData<Cell<()>>;

#[derive(Clone, Copy, Debug)]
enum Outer<'a> {
    Whole(&'a Arc<Core>),
    Running(&'a WhileRunning),
}

impl Part<'_> {
    /// Runs `f` with the network, and with the process that makes something, if one does.
    pub(super) fn with<R>(self, f: impl FnOnce(&Core, By<'_>) -> R) -> R {
        match self.0 {
            Outer::Whole(core) => f(core, None),
            Outer::Running(running) => running.with(f),
        }
    }

    /// What a process needs to make something.
    pub(super) fn while_running(self) -> WhileRunning {
        let (core, scheduler) = match self.0 {
            Outer::Whole(core) => (Arc::downgrade(core), Arc::downgrade(&core.scheduler)),
            Outer::Running(WhileRunning { core, scheduler }) => {
                (Weak::clone(core), Weak::clone(scheduler))
            }
        };
        WhileRunning { core, scheduler }
    }
}

impl Making for Part<'_> {
    fn part(&self) -> Part<'_> {
        *self
    }
}

/// A port by which a process creates processes and channels while the network runs.
///
/// A process gets it when it is created ([`Network::spawner`]). It has the methods that networks have
/// for making channels and processes, those of the library included. What it creates starts at once; a
/// new channel's ends belong to the process that made it, which may keep them or pass them on: ends of
/// its own go to the processes that it creates, and so does a clone of this port, if they create in
/// turn.
///
/// Its methods panic if they are called by anything but a process that got a spawner among its ports.
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
///         let rest = create.filter(format!("not by {prime}"), numbers, move |n| n % prime != 0);
///         let next = create.clone();
///         create.process(format!("after {prime}"), (rest, primes, next), sieve);
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
#[doc(alias = "dynamic")]
pub type Spawner<'env> = Network<'env, WhileRunning>;

/// A part of a network, whose processes and channels are called `part/name`.
///
/// Made by [`Network::scope`], of networks, of [spawners](Spawner) and of parts. It has the methods that
/// they have for making channels and processes, so a function that takes one builds a part of any of
/// them, as often as it is called.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Receiver, Scope};
///
/// fn squares_of_odd(scope: &mut Scope<'_, '_>, numbers: Receiver<u64>) -> Receiver<u64> {
///     let odd = scope.filter("odd", numbers, |n| n % 2 == 1);
///     scope.map("square", odd, |n| n * n)
/// }
///
/// let mut network = Network::new();
/// let few = network.source("few", 0..4);
/// let many = network.source("many", 0..8);
/// let left = squares_of_odd(&mut network.scope("left"), few);
/// let right = squares_of_odd(&mut network.scope("right"), many);
/// let both = network.merge_sorted("both", vec![left, right]);
/// let all = network.collect("all", both);
/// let report = network.run()?;
/// assert_eq!(all.take(), Some(vec![1, 1, 9, 9, 25, 49]));
/// assert_eq!(report.processes[2].name, "left/odd");
/// # Ok::<(), kahn::RunError>(())
/// ```
#[doc(alias = "namespace")]
#[doc(alias = "prefix")]
pub type Scope<'a, 'env> = Network<'env, Part<'a>>;

impl Spawner<'_> {
    /// Runs `f` with the process that runs now, which is of its network.
    pub(super) fn within<R>(&self, f: impl FnOnce(&Core, TaskRef, &Worker) -> R) -> R {
        self.made.within(f)
    }
}

/// A port for a process that is created and is to create in turn.
impl Clone for Spawner<'_> {
    fn clone(&self) -> Self {
        self.spawner()
    }
}

impl Ports for Spawner<'_> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        see(Port::creates());
    }
}

/// Whether the process is being ended that creates: what its destructors create is dropped at once.
pub(super) fn is_ending(by: By<'_>) -> bool {
    by.is_some_and(|(_, worker)| worker.is_ending())
}
