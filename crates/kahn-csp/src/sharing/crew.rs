//! Semaphore and many-readers-one-writer lock, over claims.

use crate::choice::guard::Guard;
use crate::sharing::claim::{Claim, Shared};
use kahn_engine::sync::{Arc, AtomicUsize, Ordering::*};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// So many processes at once, first come first served.
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

/// One of the places of a [`Semaphore`]; free again when it is dropped.
pub type Permit<'a> = Claim<'a, ()>;

impl Semaphore {
    /// Makes a semaphore with so many places.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>, places: u32) -> Self {
        Self(Shared::with_places(name.into(), (), places))
    }

    /// Waits for a place.
    pub fn acquire(&self) -> impl Future<Output = Permit<'_>> + Guard<Output = Permit<'_>> {
        self.0.claim()
    }

    /// Adds a place: the one that waits first gets it. With a permit that is
    /// [forgotten](std::mem::forget) this is the other half of a semaphore in the classical form.
    ///
    /// # Panics
    /// Panics outside of a process of the semaphore's network.
    pub fn release(&self) {
        self.0.add_place();
    }
}

struct Inner<T> {
    /// The one that wants to come in passes here, one at a time, in order.
    turnstile: Shared<()>,
    /// Held by the writer, or by the readers together.
    room: Semaphore,
    readers: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: the room is held by one writer or by readers; who reads on several workers at once needs
// `Sync`.
unsafe impl<T: Send + Sync> Sync for Inner<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Inner<T> {}

/// A value that many read or one writes, first come first served: a writer that waits lets no
/// further reader in.
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
    /// Makes it, with its first value.
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

    /// Waits until nobody writes, nor waited before to do so.
    pub async fn read(&self) -> Reading<'_, T> {
        let inner = &*self.inner;
        let _turn = inner.turnstile.claim().await;
        // Only who is in the turnstile brings the number up from zero.
        let joins = |readers: usize| (readers > 0).then_some(readers + 1);
        // AcqRel: the readers hold the room together, and the last gives it back.
        if inner.readers.fetch_update(AcqRel, Acquire, joins).is_err() {
            let permit = inner.room.acquire().await;
            std::mem::forget(permit);
            inner.readers.store(1, Release);
        }
        Reading { crew: self }
    }

    /// Waits until nobody reads or writes.
    pub async fn write(&self) -> Writing<'_, T> {
        let inner = &*self.inner;
        let _turn = inner.turnstile.claim().await;
        let room = inner.room.acquire().await;
        Writing { crew: self, _room: room }
    }
}

/// The value, for one of its readers; made by [`Crew::read`].
#[derive(Debug)]
#[must_use = "dropping it ends the reading"]
pub struct Reading<'a, T> {
    crew: &'a Crew<T>,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: readers hold the room, so nobody writes.
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
#[derive(Debug)]
#[must_use = "dropping it ends the writing"]
pub struct Writing<'a, T> {
    crew: &'a Crew<T>,
    _room: Permit<'a>,
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
