//! Semaphore and many-readers-one-writer lock, over claims.

use crate::choice::guard::Guard;
use crate::sharing::claim::{Claim, Shared};
use kahn_engine::sync::{Arc, AtomicUsize, Ordering::*};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A semaphore: so many processes at once, first come first served.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let seats = csp::Semaphore::new("seats", 2);
///     let forks = scope.forks("guests");
///     for _ in 0..5 {
///         let seats = seats.clone();
///         forks.spawn("guest", async move {
///             let _seat = seats.acquire().await;
///             csp::yield_now().await;
///         });
///     }
///     forks.join().await;
/// })?;
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: Dijkstra 1965; occam-pi's library of synchronisations, `SEMAPHORE`.
#[derive(Clone, Debug)]
pub struct Semaphore(Shared<()>);

impl Semaphore {
    /// Makes a semaphore with so many places.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let seats = csp::Semaphore::new("seats", 1);
    ///     let first = csp::pri((seats.acquire(), csp::skip())).await;
    ///     let second = csp::pri((seats.acquire(), csp::skip())).await;
    ///     matches!((first, second), (OneOf2::First(_), OneOf2::Second(())))
    /// })?;
    /// assert!(run.result);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>, places: u32) -> Self {
        Self(Shared::with_places(name.into(), (), places))
    }

    /// Waits for a place, which is free again when the claim is dropped. Also a guard of an
    /// [alternation](crate::alt).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// csp::run(csp::Options::new(), async |_scope| {
    ///     let seats = csp::Semaphore::new("seats", 2);
    ///     let seat = seats.acquire().await;
    ///     drop(seat);
    ///     // Both are free again.
    ///     let both = (seats.acquire().await, seats.acquire().await);
    ///     drop(both);
    /// })?;
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn acquire(&self) -> impl Future<Output = Claim<'_, ()>> + Guard<Output = Claim<'_, ()>> {
        self.0.claim()
    }

    /// Adds a place: the one that waits first gets it. With a place that is
    /// [forgotten](std::mem::forget) this is the other half of a semaphore in the classical form.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// csp::run(csp::Options::new(), async |scope| {
    ///     let messages = csp::Semaphore::new("messages", 0);
    ///     let theirs = messages.clone();
    ///     scope.spawn("producer", async move { theirs.release() });
    ///     // Consumed, and not given back.
    ///     std::mem::forget(messages.acquire().await);
    /// })?;
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of the semaphore's network.
    pub fn release(&self) {
        self.0.add_place();
    }
}

struct Inner<T> {
    /// A process that wants to come in passes here, one at a time, in order.
    turnstile: Shared<()>,
    /// Held by the writer, or by the readers together.
    room: Semaphore,
    readers: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: the room is held by one writer or by readers; what is read on several workers at once is
// `Sync`.
unsafe impl<T: Send + Sync> Sync for Inner<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Inner<T> {}

/// A read-write lock (`RwLock`) around a value: many read or one writes, first come first served. A
/// writer that waits lets no further reader in.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let board = csp::Crew::new("board", 0_u32);
///     let writer = board.clone();
///     let write = scope.fork("writer", async move { *writer.write().await += 5 });
///     write.join().await.expect("it does not panic");
///     let (a, b) = (board.read().await, board.read().await);
///     *a + *b
/// })?;
/// assert_eq!(run.result, 10);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: Courtois, Heymans and Parnas 1971; occam-pi's library of synchronisations, `CREW`.
pub struct Crew<T> {
    inner: Arc<Inner<T>>,
}

impl<T> Clone for Crew<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> fmt::Debug for Crew<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Crew").field(&self.inner.turnstile).finish()
    }
}

impl<T: Send + Sync> Crew<T> {
    /// Makes a lock with its first value.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let board = csp::Crew::new("board", 1_u32);
    ///     let value = *board.read().await;
    ///     value
    /// })?;
    /// assert_eq!(run.result, 1);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>, value: T) -> Self {
        let name = name.into();
        Self {
            inner: Arc::new(Inner {
                turnstile: Shared::new(name.clone(), ()),
                room: Semaphore::new(name, 1),
                readers: AtomicUsize::new(0),
                value: UnsafeCell::new(value),
            }),
        }
    }

    /// Waits until no process writes, or waited before to do so.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let board = csp::Crew::new("board", 1_u32);
    ///     // Any number of readers at once.
    ///     let (a, b) = (board.read().await, board.read().await);
    ///     *a + *b
    /// })?;
    /// assert_eq!(run.result, 2);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub async fn read(&self) -> Reading<'_, T> {
        let inner = &*self.inner;
        let _turn = inner.turnstile.claim().await;
        // Only the process in the turnstile brings the number up from zero.
        let joins = |readers: usize| (readers > 0).then_some(readers + 1);
        // AcqRel: the readers hold the room together, and the last gives it back.
        if inner.readers.fetch_update(AcqRel, Acquire, joins).is_err() {
            std::mem::forget(inner.room.acquire().await);
            inner.readers.store(1, Release);
        }
        Reading { crew: self }
    }

    /// Waits until no process reads or writes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let board = csp::Crew::new("board", 1_u32);
    ///     *board.write().await = 2;
    ///     let value = *board.read().await;
    ///     value
    /// })?;
    /// assert_eq!(run.result, 2);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub async fn write(&self) -> Writing<'_, T> {
        let inner = &*self.inner;
        let _turn = inner.turnstile.claim().await;
        let room = inner.room.acquire().await;
        Writing { crew: self, _room: room }
    }
}

/// The value, for one of its readers; made by [`Crew::read`].
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let board = csp::Crew::new("board", vec![1, 2]);
///     let reading = board.read().await;
///     reading.len()
/// })?;
/// assert_eq!(run.result, 2);
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the reading"]
pub struct Reading<'a, T> {
    crew: &'a Crew<T>,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: readers hold the room, so no process writes.
        unsafe { &*self.crew.inner.value.get() }
    }
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        let inner = &*self.crew.inner;
        if inner.readers.fetch_sub(1, AcqRel) == 1 {
            inner.room.0.give_back();
        }
    }
}

/// The value, for its writer; made by [`Crew::write`].
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let board = csp::Crew::new("board", vec![1, 2]);
///     let mut writing = board.write().await;
///     writing.push(3);
///     writing.len()
/// })?;
/// assert_eq!(run.result, 3);
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the writing"]
pub struct Writing<'a, T> {
    crew: &'a Crew<T>,
    _room: Claim<'a, ()>,
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: we alone hold the room.
        unsafe { &*self.crew.inner.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.crew.inner.value.get() }
    }
}
