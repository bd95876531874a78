//! Buckets and events: many processes wait, and one lets all of them go.
//!
//! Processes that wait stand in a list behind a gate; a flush takes the whole list at once. An event is a
//! bucket that may stay open: then no process waits.

use crate::choice::guard::Guard;
use crate::choice::operation::{Operation, Pending};
use crate::language::common::Common;
use crate::language::csp::{Worker, access_of};
use crate::language::registry::Registry;
use crate::language::running;
use crate::wait::Stage;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How, Waiter, Wake};
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Cell, ShortLock32};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::mem;
use std::ptr;

/// No process has to wait.
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
    /// Behind the gate: the processes that wait, and an empty list for after the next flush.
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

    /// Lets all go that wait; returns how many. `open`: no process waits from now on.
    fn flush(&self, open: bool) -> usize {
        let (worker, _) = running::in_network(self.network, "a bucket");
        let flags = self.gate.lock(worker.access());
        let lists = self.lists();
        let spare = mem::take(&mut lists.1);
        let mut waiting = mem::replace(&mut lists.0, spare);
        let mut count = 0;
        for waiting in &mut waiting {
            let Some(wake) = waiting.waiter.take() else { continue };
            waiting.wake = wake;
            // SAFETY: a process that waits is pinned, and leaves behind the gate.
            unsafe { (*waiting.released).set(true) };
            count += 1;
        }
        self.gate.unlock(if open { flags | OPEN } else { flags });
        for waiting in waiting.drain(..) {
            waiting.wake.up_again(worker);
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
        let flags = inner.gate.lock(Access::SHARED);
        let mut waiting = inner.lists().0.iter();
        let name = waiting.any(|w| w.waiter.task == task).then(|| inner.name.clone());
        inner.gate.unlock(flags);
        name
    })?
}

/// Where processes fall in and wait until another process flushes all of them out.
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
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     csp::Bucket::new("empty").flush()
    /// })?;
    /// assert_eq!(run.result, 0);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self(Inner::new(name.into()))
    }

    /// Waits for the next flush. Also a guard of an [alternation](crate::alt).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let bucket = csp::Bucket::new("bucket");
    ///     csp::pri((bucket.fall_in(), csp::skip())).await
    /// })?;
    /// assert_eq!(run.result, OneOf2::Second(()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn fall_in(&self) -> impl Future<Output = ()> + Guard<Output = ()> {
        Falling::into(&self.0)
    }

    /// Lets all go that have fallen in; returns how many.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let bucket = csp::Bucket::new("bucket");
    ///     let inside = bucket.clone();
    ///     let sleeper = scope.fork("sleeper", async move { inside.fall_in().await });
    ///     while bucket.flush() == 0 {
    ///         csp::yield_now().await;
    ///     }
    ///     sleeper.join().await
    /// })?;
    /// assert_eq!(run.result, Ok(()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of the bucket's network.
    pub fn flush(&self) -> usize {
        self.0.flush(false)
    }

    /// Returns how many have fallen in.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     csp::Bucket::new("bucket").count()
    /// })?;
    /// assert_eq!(run.result, 0);
    /// # Ok::<(), csp::RunError>(())
    /// ```
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
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     csp::Event::new("dawn").set()
    /// })?;
    /// assert_eq!(run.result, 0);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self(Inner::new(name.into()))
    }

    /// Waits until it has happened. Also a guard of an [alternation](crate::alt).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let dawn = csp::Event::new("dawn");
    ///     let night = csp::pri((dawn.wait(), csp::skip())).await;
    ///     dawn.set();
    ///     (night, csp::pri((dawn.wait(), csp::skip())).await)
    /// })?;
    /// assert_eq!(run.result, (OneOf2::Second(()), OneOf2::First(())));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn wait(&self) -> impl Future<Output = ()> + Guard<Output = ()> {
        Falling::into(&self.0)
    }

    /// Lets it happen; returns how many waited.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// csp::run(csp::Options::new(), async |_scope| {
    ///     let dawn = csp::Event::new("dawn");
    ///     dawn.set();
    ///     // It has happened: nothing waits.
    ///     dawn.wait().await;
    /// })?;
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of the event's network.
    pub fn set(&self) -> usize {
        self.0.flush(true)
    }

    /// Lets it not have happened.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let dawn = csp::Event::new("dawn");
    ///     dawn.set();
    ///     dawn.reset();
    ///     csp::pri((dawn.wait(), csp::skip())).await
    /// })?;
    /// assert_eq!(run.result, OneOf2::Second(()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`set`](Self::set).
    pub fn reset(&self) {
        self.0.close();
    }
}

/// A wait for a flush; made by [`Bucket::fall_in`] and [`Event::wait`].
struct Falling<'a> {
    bucket: &'a Inner,
    released: Cell<bool>,
    stage: Stage,
}

// SAFETY: `released` is touched behind the gate, or by the process when it runs.
unsafe impl Sync for Falling<'_> {}

impl<'a> Falling<'a> {
    fn into(bucket: &'a Inner) -> Pending<Self> {
        Pending::new(Self { bucket, released: Cell::new(false), stage: Stage::Fresh })
    }
}

// SAFETY: entered in the bucket, and left behind its gate.
unsafe impl Operation for Falling<'_> {
    type Output = ();

    const WHAT: &'static str = "a bucket";

    fn network(&self) -> Option<u32> {
        Some(self.bucket.network)
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn place(&self) -> Place {
        Place::Bucket(ptr::from_ref(self.bucket).cast())
    }

    fn awaited(&self) -> Awaited {
        Awaited::of("flush of", &self.bucket.name, At::Somebody)
    }

    fn attempt(&self, _worker: &Worker, _task: TaskRef) -> bool {
        let is_open = self.bucket.gate.peek() & OPEN != 0;
        if is_open {
            // It may be closed again before the process has its result.
            self.released.set(true);
        }
        is_open
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        // If it has happened meanwhile, the process looks again, and finds it.
        self.bucket.enter(worker.access(), Waiter { task, how }, &self.released)
    }

    fn leave(&self, worker: Option<&Worker>) {
        self.bucket.leave(access_of(worker), &self.released);
    }

    fn result(&mut self, _worker: &Worker) -> Option<()> {
        self.released.get().then_some(())
    }
}
