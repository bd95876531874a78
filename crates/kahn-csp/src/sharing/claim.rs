//! Claims: one at a time, first come first served.
//!
//! | step | by | does, behind the gate |
//! |---|---|---|
//! | claim | the process | takes it if it is free; else enters itself at the end of the queue |
//! | release | the holder, or the one that drops its claim | hands it to the first of the queue; else it is free |
//! | withdraw | a process that does not wait any more | takes itself out of the queue, if it stands there |
//!
//! *First come, first served.* While a process waits the claim is never free: it is handed over
//! directly, so no other can come in between. A claim that stands in an alternation is in the queue while
//! its process waits, and passed over once the process has something else: it never holds up those
//! behind it.

use crate::choice::guard::Guard;
use crate::choice::operation::{Operation, Pending};
use crate::language::common::Common;
use crate::language::csp::{Worker, access_of};
use crate::language::deferred::{Deferred, Over};
use crate::language::running;
use crate::wait::Stage;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How, Own, Waiter, Wake};
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Cell, ShortLock32};
use kahn_engine::task::Task;
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr;

/// No place is free. What is claimed has one place, a semaphore may have more.
const HELD: u32 = ShortLock32::FIRST_FLAG;

/// A process that waits, in the queue.
#[derive(Debug)]
struct Queued {
    /// The process, while it stands in the queue, and how it waits then.
    task: Cell<Option<TaskRef>>,
    how: Cell<MaybeUninit<How>>,
    before: Cell<*const Queued>,
    behind: Cell<*const Queued>,
    /// It has been handed over.
    granted: Cell<bool>,
}

impl Queued {
    fn new() -> Self {
        Self {
            task: Cell::new(None),
            how: Cell::new(MaybeUninit::uninit()),
            before: Cell::new(ptr::null()),
            behind: Cell::new(ptr::null()),
            granted: Cell::new(false),
        }
    }

    /// Which process waits here, and how, if one does.
    fn waiter(&self) -> Option<Waiter> {
        let task = self.task.get()?;
        // SAFETY: told before the process was.
        let how = unsafe { self.how.get().assume_init() };
        Some(Waiter { task, how })
    }

    fn enter(&self, task: TaskRef, how: How) {
        self.how.set(MaybeUninit::new(how));
        self.task.set(Some(task));
    }
}

/// How often something was claimed, and the process that holds it; none if it is free, or a
/// semaphore, whose places any process may give free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) claims: u64,
    pub(crate) holder: Option<*const Task>,
}

/// Which process holds it, and which wait.
#[derive(Debug)]
pub(crate) struct Queue {
    gate: ShortLock32,
    network: u32,
    common: Arc<Common>,
    pub(crate) name: Name,
    first: Cell<*const Queued>,
    last: Cell<*const Queued>,
    /// Whether one process holds it at a time, and gives it back itself.
    is_exclusive: bool,
    /// The process that holds it, or held it last.
    holder: Cell<*const Task>,
    claims: Cell<u64>,
    /// Free places.
    places: Cell<u32>,
}

impl Queue {
    fn new(common: &Arc<Common>, name: Name, places: Option<u32>) -> Self {
        let is_exclusive = places.is_none();
        let places = places.unwrap_or(1);
        Self {
            is_exclusive,
            gate: ShortLock32::new(if places == 0 { HELD } else { 0 }),
            places: Cell::new(places),
            network: common.number,
            common: Arc::clone(common),
            name,
            first: Cell::new(ptr::null()),
            last: Cell::new(ptr::null()),
            holder: Cell::new(ptr::null()),
            claims: Cell::new(0),
        }
    }

    /// How often it was claimed, and which process holds it.
    pub(crate) fn state(&self) -> Held {
        let flags = self.gate.lock(Access::SHARED);
        let is_held = flags & HELD != 0 && self.is_exclusive;
        let holder = Some(self.holder.get()).filter(|_| is_held);
        let state = Held { claims: self.claims.get(), holder };
        self.gate.unlock(flags);
        state
    }

    /// Whether a process waits here.
    pub(crate) fn has(&self, task: TaskRef) -> bool {
        let flags = self.gate.lock(Access::SHARED);
        let mut next = self.first.get();
        let mut has = false;
        // SAFETY: what is in the queue is pinned, and leaves it behind the gate.
        while let Some(queued) = unsafe { next.as_ref() } {
            has |= queued.task.get() == Some(task);
            next = queued.behind.get();
        }
        self.gate.unlock(flags);
        has
    }

    fn give_to(&self, task: TaskRef) {
        self.holder.set(task.as_ptr());
        self.claims.set(self.claims.get() + 1);
    }

    /// Takes it if it is free; else enters the process, if told to.
    #[inline(always)]
    fn claim(&self, access: Access, task: TaskRef, enter: Option<(&Queued, How)>) -> Attempt {
        let flags = self.gate.lock(access);
        if flags & HELD == 0 {
            let own = Own::of(enter.map(|(_, how)| Waiter { task, how }));
            if !own.keep() {
                self.gate.unlock(flags);
                return Attempt::WeWere;
            }
            self.give_to(task);
            let left = self.places.get() - 1;
            self.places.set(left);
            own.chosen();
            self.gate.unlock(if left == 0 { flags | HELD } else { flags });
            return Attempt::Done;
        }
        if let Some((queued, how)) = enter {
            queued.enter(task, how);
            let last = self.last.replace(queued);
            queued.before.set(last);
            queued.behind.set(ptr::null());
            // SAFETY: what is in the queue is pinned, and leaves it behind the gate.
            match unsafe { last.as_ref() } {
                Some(last) => last.behind.set(queued),
                None => self.first.set(queued),
            }
        }
        self.gate.unlock(flags);
        Attempt::Nothing
    }

    /// Behind the gate: takes a process out of the queue.
    fn unlink(&self, queued: &Queued) {
        let (before, behind) = (queued.before.get(), queued.behind.get());
        // SAFETY: neighbours in the queue are pinned, and leave it behind the gate.
        match unsafe { before.as_ref() } {
            Some(before) => before.behind.set(behind),
            None => self.first.set(behind),
        }
        // SAFETY: as above.
        match unsafe { behind.as_ref() } {
            Some(behind) => behind.before.set(before),
            None => self.last.set(before),
        }
        queued.task.set(None);
    }

    /// Hands it to the first that waits.
    pub(crate) fn release(&self, worker: Option<&Worker>) {
        let flags = self.gate.lock(access_of(worker));
        // SAFETY: what is in the queue is pinned, and leaves it behind the gate.
        while let Some(first) = unsafe { self.first.get().as_ref() } {
            let waiter = first.waiter().expect("what is in the queue waits");
            self.unlink(first);
            // Apart, for most wait for this alone.
            if waiter.how == How::Plain {
                return self.hand_to(first, Wake::Plain(waiter.task), waiter.task, flags, worker);
            }
            if let Some(wake) = waiter.take() {
                return self.hand_to(first, wake, waiter.task, flags, worker);
            }
        }
        self.places.set(self.places.get() + 1);
        self.gate.unlock(flags & !HELD);
    }

    /// Behind the gate, which is open when this returns: hands it to a process that has been taken out of
    /// the queue.
    #[inline(always)]
    fn hand_to(
        &self,
        queued: &Queued,
        wake: Wake,
        task: TaskRef,
        flags: u32,
        worker: Option<&Worker>,
    ) {
        queued.granted.set(true);
        self.give_to(task);
        self.gate.unlock(flags);
        if let Some(worker) = worker {
            wake.up_again(worker);
        }
    }

    /// A process does not wait any more, and keeps what it was given.
    fn withdraw(&self, queued: &Queued, access: Access) {
        let flags = self.gate.lock(access);
        if queued.task.get().is_some() {
            self.unlink(queued);
        }
        self.gate.unlock(flags);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.common.registry.remove(self);
    }
}

struct Inner<E> {
    queue: Queue,
    shared: UnsafeCell<E>,
}

// SAFETY: the queue is behind its gate, and what is shared is used by the process that has the claim.
unsafe impl<E: Send> Sync for Inner<E> {}
// SAFETY: as above.
unsafe impl<E: Send> Send for Inner<E> {}

/// Something that several processes use, one at a time: they claim it.
///
/// Usually an end of a channel: with a shared sender any of several processes sends, with a shared
/// receiver any receives. Clones share it; the end is dropped with the last.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (out, mut words) = csp::channel::<String>("words");
///     let out = csp::Shared::new("printer", out);
///     for name in ["ann", "bob"] {
///         let out = out.clone();
///         scope.spawn(name, async move {
///             // Both words of one process, with no other's in between.
///             let mut printer = out.claim().await;
///             printer.send(format!("{name}:")).await?;
///             printer.send("hello".to_owned()).await
///         });
///     }
///     drop(out);
///     let mut said = Vec::new();
///     while let Ok(word) = words.recv().await {
///         said.push(word);
///     }
///     said
/// })?;
/// assert_eq!(run.result.len(), 4);
/// assert_eq!(run.result[1], "hello");
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's `SHARED` ends and `CLAIM`; CCSP section 1.1, `MTLock`.
pub struct Shared<E> {
    inner: Arc<Inner<E>>,
}

impl<E> Clone for Shared<E> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<E> fmt::Debug for Shared<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.inner.queue.name).finish()
    }
}

impl<E: Send> Shared<E> {
    /// Shares something under a name.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let total = csp::Shared::new("total", 0_u32);
    ///     *total.claim().await += 1;
    ///     let sum = *total.claim().await;
    ///     sum
    /// })?;
    /// assert_eq!(run.result, 1);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>, shared: E) -> Self {
        Self::make(running::common("a shared end"), name.into(), shared, None)
    }

    /// The same with so many places; only for what needs no exclusion.
    pub(super) fn with_places(name: Name, shared: E, places: u32) -> Self {
        Self::make(running::common("a semaphore"), name, shared, Some(places))
    }

    fn make(common: &Arc<Common>, name: Name, shared: E, places: Option<u32>) -> Self {
        let queue = Queue::new(common, name, places);
        let inner = Arc::new(Inner { queue, shared: UnsafeCell::new(shared) });
        common.registry.add(&inner.queue);
        Self { inner }
    }

    /// Shares something before a model runs.
    #[cfg(all(test, loom))]
    pub(crate) fn in_network(common: &Arc<Common>, name: Name, shared: E) -> Self {
        Self::make(common, name, shared, None)
    }

    /// Waits until no other process has it, in the order of claiming.
    ///
    /// The claim ends when it is dropped, in whatever way. Also a guard of an
    /// [alternation](crate::alt): a claim that is not chosen gives up its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let total = csp::Shared::new("total", 1_u32);
    ///     let claim = total.claim().await;
    ///     // One process has it: others, or the same once more, would wait.
    ///     let taken = matches!(csp::pri((total.claim(), csp::skip())).await, OneOf2::Second(()));
    ///     drop(claim);
    ///     let free = matches!(csp::pri((total.claim(), csp::skip())).await, OneOf2::First(_));
    ///     (taken, free)
    /// })?;
    /// assert_eq!(run.result, (true, true));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn claim(&self) -> impl Future<Output = Claim<'_, E>> + Guard<Output = Claim<'_, E>> {
        Pending::new(Claiming { shared: self, queued: Queued::new(), stage: Stage::Fresh })
    }
}

/// A wait for a claim; made by [`Shared::claim`].
struct Claiming<'a, E> {
    shared: &'a Shared<E>,
    queued: Queued,
    stage: Stage,
}

// SAFETY: what stands in the queue is touched behind the gate.
unsafe impl<E: Send> Send for Claiming<'_, E> {}
// SAFETY: as above.
unsafe impl<E: Send> Sync for Claiming<'_, E> {}

impl<E> Claiming<'_, E> {
    fn queue(&self) -> &Queue {
        &self.shared.inner.queue
    }

    #[inline(always)]
    fn claim(&self, worker: &Worker, task: TaskRef, enter: Option<How>) -> Attempt {
        let enter = enter.map(|how| (&self.queued, how));
        let attempt = self.queue().claim(worker.access(), task, enter);
        if attempt == Attempt::Done {
            self.queued.granted.set(true);
        }
        attempt
    }
}

// SAFETY: entered in the queue, and left behind its gate.
unsafe impl<'a, E> Operation for Claiming<'a, E> {
    type Output = Claim<'a, E>;

    const WHAT: &'static str = "a claim";

    fn network(&self) -> Option<u32> {
        Some(self.queue().network)
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn place(&self) -> Place {
        Place::Claim(ptr::from_ref(self.queue()).cast())
    }

    fn awaited(&self) -> Awaited {
        Awaited::of("claim", &self.queue().name, At::Place(self.place()))
    }

    #[inline(always)]
    fn may_be_ready(&self) -> bool {
        self.queue().gate.peek() & HELD == 0
    }

    #[inline]
    fn attempt(&self, worker: &Worker, task: TaskRef) -> bool {
        self.may_be_ready() && self.claim(worker, task, None) == Attempt::Done
    }

    #[inline(always)]
    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        self.claim(worker, task, Some(how))
    }

    fn leave(&self, worker: Option<&Worker>) {
        self.queue().withdraw(&self.queued, access_of(worker));
    }

    #[inline]
    fn result(&mut self, _worker: &Worker) -> Option<Claim<'a, E>> {
        // Not made without need: a claim that is dropped gives back what it stands for.
        self.queued.granted.replace(false).then(|| Claim { shared: self.shared })
    }
}

impl<E> Drop for Claiming<'_, E> {
    #[inline]
    fn drop(&mut self) {
        // It was given the claim, and is dropped before it could say so: it passes it on.
        if self.queued.granted.get() {
            self.shared.give_back();
        }
    }
}

/// What is shared, for the process that has claimed it; made by [`Shared::claim`].
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let list = csp::Shared::new("list", vec![1, 2]);
///     let mut claim = list.claim().await;
///     claim.push(3);
///     claim.len()
/// })?;
/// assert_eq!(run.result, 3);
/// # Ok::<(), csp::RunError>(())
/// ```
#[must_use = "dropping it ends the claim"]
pub struct Claim<'a, E> {
    shared: &'a Shared<E>,
}

// SAFETY: the one claim gives the one access.
unsafe impl<E: Send> Send for Claim<'_, E> {}
// SAFETY: as a shared reference to what is claimed.
unsafe impl<E: Sync> Sync for Claim<'_, E> {}

impl<E: fmt::Debug> fmt::Debug for Claim<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claim").field(&**self).finish()
    }
}

impl<E> Deref for Claim<'_, E> {
    type Target = E;

    fn deref(&self) -> &E {
        // SAFETY: there is one claim at a time, and we have it.
        unsafe { &*self.shared.inner.shared.get() }
    }
}

impl<E> DerefMut for Claim<'_, E> {
    fn deref_mut(&mut self) -> &mut E {
        // SAFETY: as above.
        unsafe { &mut *self.shared.inner.shared.get() }
    }
}

impl<E> Shared<E> {
    /// Gives a place free that is new, or was forgotten.
    pub(super) fn add_place(&self) {
        let (worker, _) = running::in_network(self.inner.queue.network, "a semaphore");
        self.inner.queue.release(Some(worker));
    }

    /// The same from wherever a place that was forgotten is dropped.
    pub(crate) fn give_back(&self) {
        let queue = &self.inner.queue;
        match Worker::running_in(queue.network) {
            Some((worker, _)) => queue.release(Some(worker)),
            None => Arc::clone(&queue.common).defer(Deferred::call(
                Arc::into_raw(Arc::clone(&self.inner)).cast(),
                release_at::<E>,
            )),
        }
    }
}

unsafe fn release_at<E>(inner: *const (), worker: Option<&Worker>, _is_over: Over<'_>) {
    // SAFETY: the call has a counted reference, which is given up here.
    let inner = unsafe { Arc::from_raw(inner.cast::<Inner<E>>()) };
    inner.queue.release(worker);
}

impl<E> Drop for Claim<'_, E> {
    #[inline]
    fn drop(&mut self) {
        self.shared.give_back();
    }
}
