//! Alternation: waiting for the first of several things.
//!
//! | stage | what | leaves by |
//! |---|---|---|
//! | look | tries the guards in order; the process is entered nowhere, so no thread can take it | a guard is ready → finish; the first time → give way; else → wait |
//! | give way | the others that are ready run first | its next turn → look |
//! | wait | the worker opens the select state and enters the process at every guard | a partner takes the select state; a foreign waker |
//! | leave | the select state is closed and the process is taken out everywhere | a guard was chosen → finish; else → look |
//! | finish | the chosen guard gives its result | the end |
//!
//! *Why it gives way.* To be entered at a guard and taken out of it takes about as much as a turn, and two
//! read-modify-writes, and this for each guard. Mostly a process that is ready comes to one of them in its turn:
//! one that was woken by the choice before.
//!
//! Why no message is lost or doubled, and none missed: see `wait::select`.

use crate::choice::guard::{Entering, Finishing, Guard, Leaving, Looking};
use crate::language::csp::Worker;
use crate::language::header::{mark, spawned_of};
use crate::language::running;
use crate::wait::place::{About, Awaited, Place};
use crate::wait::select;
use crate::wait::waiter::Attempt;
use crate::wait::{self, Stage};
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::Ordering::*;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// In which order guards are looked at.
enum Order<'f> {
    /// From the first.
    Priority,
    /// From the one after the last that was chosen.
    Fair(&'f mut Fair),
    /// From one that is drawn.
    Drawn,
}

/// Chooses a guard that is ready: it begins to look at one that is drawn.
///
/// Waits until a guard is ready, does that one, and nothing of the others. If none is, it gives way once before it
/// waits, as [`yield_now`](crate::yield_now) does, and looks again. With one worker and a
/// [seed](crate::Options::seed) the choices of a run are repeatable.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, OneOf2};
/// use std::time::Duration;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut out, mut news) = csp::channel::<&str>("news");
///     scope.spawn("reporter", async move { out.send("rain").await });
///     match csp::alt((news.recv(), csp::after(Duration::from_secs(3600)))).await {
///         OneOf2::First(news) => news.expect("the reporter reports"),
///         OneOf2::Second(()) => "nothing new",
///     }
/// })?;
/// assert_eq!(run.result, "rain");
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: Hoare 1985, section 1.3 and 7; occam's `ALT`.
pub fn alt<G: Guard>(guards: G) -> impl Future<Output = G::Output> {
    Alternating::new(guards, Order::Drawn)
}

/// Chooses the first guard that is ready, in the order in which they are written.
///
/// It waits as [`alt`] does: if none is ready, those that run in its turn are found by their order too.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, OneOf2};
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let (mut a_out, mut a) = csp::buffered::<u32>("a", 1);
///     let (mut b_out, mut b) = csp::buffered::<u32>("b", 1);
///     a_out.send(1).await.expect("there is room");
///     b_out.send(2).await.expect("there is room");
///     csp::pri((a.recv(), b.recv())).await
/// })?;
/// assert_eq!(run.result, OneOf2::First(Ok(1)));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam's `PRI ALT`; CCSP section 1.1.
pub fn pri<G: Guard>(guards: G) -> impl Future<Output = G::Output> {
    Alternating::new(guards, Order::Priority)
}

/// Chooses in turn: a guard that is always ready is chosen before any other is chosen twice.
///
/// One of it belongs to the loop in which the alternation stands.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, OneOf2};
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let (mut a_out, mut a) = csp::buffered::<u32>("a", 9);
///     let (mut b_out, mut b) = csp::buffered::<u32>("b", 9);
///     for n in 0..9 {
///         a_out.send(n).await.expect("there is room");
///         b_out.send(n).await.expect("there is room");
///     }
///     let mut fair = csp::Fair::new();
///     let mut chosen = String::new();
///     for _ in 0..6 {
///         match fair.alt((a.recv(), b.recv())).await {
///             OneOf2::First(_) => chosen.push('a'),
///             OneOf2::Second(_) => chosen.push('b'),
///         }
///     }
///     chosen
/// })?;
/// assert_eq!(run.result, "ababab");
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: Welch's fair `ALT`, built on `PRI ALT` by rotating it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fair {
    next: usize,
}

impl Fair {
    /// Begins with the first guard.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let (mut out, mut numbers) = csp::buffered::<u32>("numbers", 1);
    ///     out.send(1).await.expect("there is room");
    ///     csp::Fair::new().alt((numbers.recv(), csp::skip())).await
    /// })?;
    /// assert_eq!(run.result, OneOf2::First(Ok(1)));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses the next guard that is ready.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let mut fair = csp::Fair::new();
    ///     let mut chosen = String::new();
    ///     for _ in 0..4 {
    ///         let guards = [csp::until(csp::now()), csp::until(csp::now())];
    ///         let (which, ()) = fair.alt(guards).await;
    ///         chosen.push_str(["a", "b"][which]);
    ///     }
    ///     chosen
    /// })?;
    /// assert_eq!(run.result, "abab");
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn alt<G: Guard>(&mut self, guards: G) -> impl Future<Output = G::Output> {
        Alternating::new(guards, Order::Fair(self))
    }
}

/// An alternation in progress; made by [`alt`], [`pri`] and [`Fair::alt`].
#[must_use = "nothing is chosen unless it is awaited"]
struct Alternating<'f, G: Guard> {
    guards: G,
    order: Order<'f>,
    stage: Stage,
    chosen: Option<usize>,
    about: About,
    _pinned: PhantomPinned,
}

impl<G: Guard> fmt::Debug for Alternating<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alternating").field("guards", &self.guards.count()).finish_non_exhaustive()
    }
}

impl<'f, G: Guard> Alternating<'f, G> {
    fn new(guards: G, order: Order<'f>) -> Self {
        Self {
            guards,
            order,
            stage: Stage::Fresh,
            chosen: None,
            about: About { what: ptr::null(), describe: Self::describe },
            _pinned: PhantomPinned,
        }
    }

    fn guards(self: Pin<&mut Self>) -> Pin<&mut G> {
        // SAFETY: the guards are pinned with us.
        unsafe { self.map_unchecked_mut(|this| &mut this.guards) }
    }

    /// Tries the guards; returns the one that was done.
    #[inline]
    fn look(
        mut self: Pin<&mut Self>,
        worker: &Worker,
        task: TaskRef,
        context: &mut Context<'_>,
    ) -> Option<usize> {
        let count = self.guards.count();
        let (start, skips) = match &self.order {
            Order::Priority => (0, true),
            Order::Fair(fair) => (if fair.next < count { fair.next } else { 0 }, false),
            Order::Drawn => (draw(worker, task, count), false),
        };
        let mut at = Looking { worker, task, context, skips };
        if let Some(nth) = self.as_mut().guards().look(&mut at, start, count) {
            return Some(nth);
        }
        if start > 0
            && let Some(nth) = self.as_mut().guards().look(&mut at, 0, start)
        {
            return Some(nth);
        }
        if skips {
            return None;
        }
        // Nothing else is ready: `skip` is.
        at.skips = true;
        self.guards().look(&mut at, 0, count)
    }

    unsafe fn describe(this: *const (), see: &mut dyn FnMut(Awaited)) {
        // SAFETY: said by the caller: it waits, and this is its type.
        unsafe { &*this.cast::<Self>() }.guards.describe(see);
    }

    /// Enters the process at its guards, after its poll.
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll` with this type; it is pinned, not dropped, and no other thread
        // touches it before the process runs again.
        let this = unsafe { &mut *this.cast_mut().cast::<Self>() };
        // SAFETY: as above.
        let this = unsafe { Pin::new_unchecked(this) };
        let foreign = this.guards.is_foreign();
        let Some(ticket) = select::open(task, foreign) else { return Park::Moved };
        if this.guards().enter(&Entering { worker, task, ticket }, 0) != Attempt::Nothing {
            return Park::Moved;
        }
        let asleep = if foreign { wait_foreign_too(worker, task) } else { select::settle(task) };
        if asleep { Park::Asleep } else { Park::Moved }
    }
}

impl<G: Guard> Future for Alternating<'_, G> {
    type Output = G::Output;

    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<G::Output> {
        let (worker, task) = running::process("an alternation");
        if self.stage == Stage::Waiting {
            let chosen = select::close(task);
            // All of them, also the one that was chosen: its partner may still be at it, and has
            // done when its gate opens.
            self.as_mut().guards().leave(&Leaving { worker: Some(worker) });
            // SAFETY: the guards stay where they are.
            let this = unsafe { self.as_mut().get_unchecked_mut() };
            this.stage = Stage::Yielded;
            this.chosen = chosen;
        }
        if self.chosen.is_none() {
            // SAFETY: as above.
            let stage = unsafe { &mut self.as_mut().get_unchecked_mut().stage };
            if !wait::has_turn(worker, task, stage) {
                return Poll::Pending;
            }
            let chosen = self.as_mut().look(worker, task, context);
            // SAFETY: as above.
            let this = unsafe { self.as_mut().get_unchecked_mut() };
            this.chosen = chosen;
            if chosen.is_none() && !wait::has_given_way(worker, &mut this.stage) {
                return Poll::Pending;
            }
        }
        if let Some(nth) = self.chosen {
            // SAFETY: as above.
            let this = unsafe { self.as_mut().get_unchecked_mut() };
            if let Order::Fair(fair) = &mut this.order {
                fair.next = nth + 1;
            }
            this.stage = Stage::Over;
            return self.guards().finish(nth, &Finishing { worker, task });
        }
        // SAFETY: as above.
        let this = unsafe { self.get_unchecked_mut() };
        this.stage = Stage::Waiting;
        this.about.what = ptr::from_ref(this).cast();
        let place = Place::Alternation(ptr::from_ref(&this.about).cast());
        wait::ask_to_enter(worker, task, place, &raw const *this, Self::commit);
        Poll::Pending
    }
}

impl<G: Guard> Drop for Alternating<'_, G> {
    fn drop(&mut self) {
        if self.stage != Stage::Waiting {
            return;
        }
        let here = Worker::running();
        if let Some((worker, task)) = here {
            // Perhaps it has only just asked.
            worker.take_back();
            select::close(task);
        }
        // SAFETY: pinned when it was polled, and about to be dropped there.
        let guards = unsafe { Pin::new_unchecked(&mut self.guards) };
        guards.leave(&Leaving { worker: here.map(|(worker, _)| worker) });
    }
}

/// Draws a number below `count`, by the process's own generator.
fn draw(worker: &Worker, task: TaskRef, count: usize) -> usize {
    if count < 2 {
        return 0;
    }
    // SplitMix64 (Steele, Lea, Flood 2014).
    let place = &spawned_of(task).draw;
    let before = match place.get() {
        0 => task.info().identity.draw_from(worker.language().common().seed),
        before => before,
    };
    let state = before.wrapping_add(0x9e37_79b9_7f4a_7c15);
    place.set(state);
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    usize::try_from((u128::from(z) * (count as u128)) >> 64).unwrap_or(0)
}

/// Leaves a process, whose select state is open, to its foreign waker as well; `false` if it runs again at
/// once.
fn wait_foreign_too(worker: &Worker, task: TaskRef) -> bool {
    if task.marks.load(Relaxed) & mark::AGAIN != 0 {
        task.marks.fetch_and(!mark::AGAIN, Acquire);
        return false;
    }
    // SAFETY: the running process, whose poll is over: this is its commit.
    unsafe { worker.wait_foreign(task) }
}
