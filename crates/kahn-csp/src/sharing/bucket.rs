//! Buckets and events: many fall in and wait, one lets all of them go.
//!
//! Those who wait stand in a list behind a gate; the one that flushes takes the whole list in one go.
//! An event is a bucket that may stay open: then nobody waits.

use crate::choice::guard::{Entering, Guard, Leaving, Looking};
use crate::language::common::Common;
use crate::language::csp::Worker;
use crate::language::registry::Registry;
use crate::language::running;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::select::{self, Taken};
use crate::wait::waiter::{Attempt, How, Waiter, Wake};
use crate::wait::{self, Stage};
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Cell, ShortLock32};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// Nobody has to wait.
const OPEN: u32 = ShortLock32::FIRST_FLAG;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    waiter: Waiter,
    released: *const Cell<bool>,
    /// What is to be done when it is let go.
    wake: Wake,
}

#[derive(Debug)]
struct Inner {
    gate: ShortLock32,
    network: u32,
    common: Arc<Common>,
    name: Name,
    /// Behind the gate: who waits, and an empty list for after the next flush.
    lists: UnsafeCell<(Vec<Waiting>, Vec<Waiting>)>,
}

// SAFETY: the lists are behind the gate; what they point to leaves behind it too.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Inner {
    fn new(name: Name) -> Arc<Self> {
        let common = running::common("a bucket");
        let inner = Arc::new(Self {
            gate: ShortLock32::new(0),
            network: common.number,
            common: Arc::clone(common),
            name,
            lists: UnsafeCell::new((Vec::new(), Vec::new())),
        });
        common.registry.add(&*inner);
        inner
    }

    /// Behind the gate.
    #[expect(clippy::mut_from_ref, reason = "the gate is held, and gives one access at a time")]
    fn lists(&self) -> &mut (Vec<Waiting>, Vec<Waiting>) {
        // SAFETY: said above.
        unsafe { &mut *self.lists.get() }
    }

    fn enter(&self, access: Access, waiter: Waiter, released: &Cell<bool>) -> Attempt {
        let flags = self.gate.lock(access);
        if flags & OPEN == 0 {
            self.lists().0.push(Waiting { waiter, released, wake: Wake::Nobody });
        }
        self.gate.unlock(flags);
        if flags & OPEN == 0 { Attempt::Nothing } else { Attempt::Done }
    }

    fn leave(&self, access: Access, released: &Cell<bool>) {
        let flags = self.gate.lock(access);
        self.lists().0.retain(|waiting| !ptr::eq(waiting.released, released));
        self.gate.unlock(flags);
    }

    /// Lets all go who wait; returns how many. `open`: nobody waits from now on.
    fn flush(&self, open: bool) -> usize {
        let (worker, _) = running::in_network(self.network, "a bucket");
        let flags = self.gate.lock(worker.access());
        let lists = self.lists();
        let spare = mem::take(&mut lists.1);
        let mut waiting = mem::replace(&mut lists.0, spare);
        let mut count = 0;
        for waiting in &mut waiting {
            waiting.wake = match waiting.waiter.how {
                How::Plain => Wake::Plain(waiting.waiter.task),
                How::Offer { ticket, guard } => {
                    match select::take(waiting.waiter.task, ticket, guard, None) {
                        Taken::Yes(wake) => wake,
                        // It has something else, or is being ended.
                        Taken::No | Taken::WeWere => continue,
                    }
                }
            };
            // SAFETY: a process that waits is pinned, and leaves behind the gate.
            unsafe { (*waiting.released).set(true) };
            count += 1;
        }
        self.gate.unlock(if open { flags | OPEN } else { flags });
        for waiting in waiting.drain(..) {
            waiting.wake.up(worker);
        }
        let flags = self.gate.lock(worker.access());
        self.lists().1 = waiting;
        self.gate.unlock(flags);
        count
    }

    fn count(&self) -> usize {
        let (worker, _) = running::in_network(self.network, "a bucket");
        let flags = self.gate.lock(worker.access());
        let count = self.lists().0.len();
        self.gate.unlock(flags);
        count
    }

    fn close(&self) {
        let (worker, _) = running::in_network(self.network, "an event");
        let flags = self.gate.lock(worker.access());
        self.gate.unlock(flags & !OPEN);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.common.registry.remove(self);
    }
}

/// The name of a bucket that may be gone, if a process waits in it.
pub(crate) fn name_if_in(registry: &Registry, bucket: *const (), task: TaskRef) -> Option<Name> {
    registry.look(bucket.cast::<Inner>(), |inner| {
        let flags = inner.gate.lock(Access::Shared);
        let mut waiting = inner.lists().0.iter();
        let name = waiting.any(|w| w.waiter.task == task).then(|| inner.name.clone());
        inner.gate.unlock(flags);
        name
    })?
}

/// Where processes fall in and wait until somebody flushes all of them out.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new().workers(1), async |scope| {
///     let bucket = csp::Bucket::new("night");
///     for _ in 0..3 {
///         let bucket = bucket.clone();
///         scope.spawn("sleeper", async move { bucket.fall_in().await });
///     }
///     while bucket.count() < 3 {
///         csp::yield_now().await;
///     }
///     bucket.flush()
/// })?;
/// assert_eq!(run.result, 3);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's library of synchronisations, `BUCKET`.
#[derive(Clone, Debug)]
pub struct Bucket(Arc<Inner>);

impl Bucket {
    /// Makes an empty bucket.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self(Inner::new(name.into()))
    }

    /// Waits for the next flush. Also a guard of an [alternation](crate::alt).
    pub fn fall_in(&self) -> impl Future<Output = ()> + Guard<Output = ()> {
        Falling::new(&self.0)
    }

    /// Lets all go who have fallen in; returns how many.
    ///
    /// # Panics
    /// Panics outside of a process of the bucket's network.
    pub fn flush(&self) -> usize {
        self.0.flush(false)
    }

    /// Returns how many have fallen in.
    ///
    /// # Panics
    /// As for [`flush`](Self::flush).
    pub fn count(&self) -> usize {
        self.0.count()
    }
}

/// Something that happens, and that processes wait for; it stays happened until it is reset.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let dawn = csp::Event::new("dawn");
///     let cock = dawn.clone();
///     scope.spawn("cock", async move {
///         cock.set();
///     });
///     dawn.wait().await;
/// })?;
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's library of synchronisations, `EVENT`.
#[derive(Clone, Debug)]
pub struct Event(Arc<Inner>);

impl Event {
    /// Makes an event that has not happened.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self(Inner::new(name.into()))
    }

    /// Waits until it has happened. Also a guard of an [alternation](crate::alt).
    pub fn wait(&self) -> impl Future<Output = ()> + Guard<Output = ()> {
        Falling::new(&self.0)
    }

    /// Lets it happen; returns how many waited.
    ///
    /// # Panics
    /// Panics outside of a process of the event's network.
    pub fn set(&self) -> usize {
        self.0.flush(true)
    }

    /// Lets it not have happened.
    ///
    /// # Panics
    /// As for [`set`](Self::set).
    pub fn reset(&self) {
        self.0.close();
    }
}

/// A wait for a flush; made by [`Bucket::fall_in`] and [`Event::wait`].
#[must_use = "nothing waits unless it is awaited"]
struct Falling<'a> {
    bucket: &'a Inner,
    released: Cell<bool>,
    stage: Stage,
    _pinned: PhantomPinned,
}

// SAFETY: `released` is touched behind the gate, or by the process when it runs.
unsafe impl Sync for Falling<'_> {}

impl fmt::Debug for Falling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Falling").field(&self.bucket.name).finish()
    }
}

impl<'a> Falling<'a> {
    fn new(bucket: &'a Inner) -> Self {
        Self { bucket, released: Cell::new(false), stage: Stage::Fresh, _pinned: PhantomPinned }
    }

    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll`; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        wait::enter_alone(task, |how| {
            this.bucket.enter(worker.access(), Waiter { task, how }, &this.released)
        })
    }
}

impl Future for Falling<'_> {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of the network.
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let (worker, task) = running::in_network(this.bucket.network, "a bucket");
        if this.stage == Stage::Waiting && wait::resumed(task) {
            // The one that flushes has done when the gate opens.
            this.bucket.leave(worker.access(), &this.released);
        }
        if this.released.get() || this.bucket.gate.peek() & OPEN != 0 {
            this.stage = Stage::Over;
            return Poll::Ready(());
        }
        if !wait::has_turn(worker, task, &mut this.stage) {
            return Poll::Pending;
        }
        this.stage = Stage::Waiting;
        let place = Place::Bucket(ptr::from_ref(this.bucket).cast());
        wait::ask_to_enter(worker, task, place, &raw const *this, Self::commit);
        Poll::Pending
    }
}

// SAFETY: entered and left under the gate of the bucket.
unsafe impl Guard for Falling<'_> {
    type Output = ();

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        running::check_network(at.worker, self.bucket.network, "a bucket");
        (self.bucket.gate.peek() & OPEN != 0).then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        // If it has happened meanwhile: the alternation looks again, and finds it.
        let waiter = Waiter { task: at.task, how: at.how(base) };
        self.bucket.enter(at.worker.access(), waiter, &self.released)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.bucket.leave(at.access(), &self.released);
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        see(Awaited::of("flush of", &self.bucket.name, At::Somebody));
    }
}

impl Drop for Falling<'_> {
    fn drop(&mut self) {
        if self.stage == Stage::Waiting {
            let worker = Worker::running_in(self.bucket.network).map(|(worker, _)| worker);
            if let Some(worker) = worker {
                // Perhaps it has only just asked.
                worker.take_back();
            }
            let access = worker.map_or(Access::Shared, |worker| worker.access());
            self.bucket.leave(access, &self.released);
        }
    }
}
