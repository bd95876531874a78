//! Sending and receiving as guards, and receiving from any of several.

use crate::channel::ends::{Receiver, Receiving, Sending, drop_received, entry, received};
use crate::channel::gone::{Gone, Unsent};
use crate::channel::rendezvous::Side;
use crate::channel::slot::Slot;
use crate::choice::guard::{Entering, Guard, Leaving, Looking};
use crate::language::running;
use crate::wait::place::{At, Awaited};
use crate::wait::waiter::Attempt;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

// SAFETY: entered and left at one channel, under its gate.
unsafe impl<T: Send> Guard for Receiving<'_, T> {
    type Output = Result<T, Gone>;

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        let channel = self.end.channel;
        running::check_network(at.worker, channel.meeting().network(), "an end of a channel");
        let done = channel.is_promising(Side::Receiver)
            && channel.receive(at.worker, at.task, &self.slot, self.slot.extended) == Attempt::Done;
        done.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        let extended = self.slot.extended;
        let entry = entry(at.task, at.how(base), &self.slot, extended);
        self.end.channel.receive_or_enter(at.worker, at.task, &self.slot, entry)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        let slot = (&raw const self.slot).cast();
        self.end.channel.meeting().leave(Side::Receiver, slot, at.access());
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll(context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        let at = At::Place(self.end.channel.waits_at(Side::Receiver));
        see(Awaited::of("receive from", self.end.name(), at));
    }
}

// SAFETY: entered and left at one channel, under its gate.
unsafe impl<T: Send> Guard for Sending<'_, T> {
    type Output = Result<(), Unsent<T>>;

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        let channel = self.end.channel;
        running::check_network(at.worker, channel.meeting().network(), "an end of a channel");
        let done = channel.is_promising(Side::Sender)
            && channel.send(at.worker, at.task, &self.slot) == Attempt::Done;
        done.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        let entry = entry(at.task, at.how(base), &self.slot, false);
        self.end.channel.send_or_enter(at.worker, at.task, &self.slot, entry)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        let slot = (&raw const self.slot).cast();
        self.end.channel.meeting().leave(Side::Sender, slot, at.access());
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll(context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        let at = At::Place(self.end.channel.waits_at(Side::Sender));
        see(Awaited::of("send to", self.end.name(), at));
    }
}

/// Receives from whichever of several channels is ready; made by [`any`].
#[must_use = "nothing is received unless it stands in an alternation"]
struct Any<'a, T: Send> {
    ends: &'a mut [Receiver<T>],
    slot: Slot<T>,
    _pinned: PhantomPinned,
}

// SAFETY: as for `Receiving`.
unsafe impl<T: Send> Send for Any<'_, T> {}

/// Makes a guard of all receivers of a slice: a replicated alternation.
///
/// Its result names the one that was chosen. It costs the same for 4 and for 4000 receivers as long
/// as one of them is ready.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let mut inputs = Vec::new();
///     for n in 0..3_usize {
///         let (mut out, input) = csp::channel("input");
///         inputs.push(input);
///         scope.spawn("source", async move { out.send(n * n).await });
///     }
///     let mut fair = csp::Fair::new();
///     let mut sum = 0;
///     while !inputs.is_empty() {
///         match fair.alt(csp::any(&mut inputs)).await {
///             (_, Ok(square)) => sum += square,
///             // An end whose channel is closed is ready for ever: take it out.
///             (which, Err(_)) => drop(inputs.swap_remove(which)),
///         }
///     }
///     sum
/// })?;
/// assert_eq!(run.result, 0 + 1 + 4);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam's replicated `ALT`.
pub fn any<T: Send>(ends: &mut [Receiver<T>]) -> impl Guard<Output = (usize, Result<T, Gone>)> {
    Any { ends, slot: Slot::empty(false), _pinned: PhantomPinned }
}

impl<T: Send> fmt::Debug for Any<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Any").field("ends", &self.ends).finish_non_exhaustive()
    }
}

// SAFETY: entered and left at each channel, under its gate; one of them is chosen.
unsafe impl<T: Send> Guard for Any<'_, T> {
    type Output = (usize, Result<T, Gone>);

    fn count(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        (from..to).find(|&nth| {
            let channel = self.ends[nth].channel;
            running::check_network(at.worker, channel.meeting().network(), "an end of a channel");
            channel.is_promising(Side::Receiver)
                && channel.receive(at.worker, at.task, &self.slot, false) == Attempt::Done
        })
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        for (nth, end) in self.ends.iter().enumerate() {
            let entry = entry(at.task, at.how(base + nth), &self.slot, false);
            match end.channel.receive_or_enter(at.worker, at.task, &self.slot, entry) {
                Attempt::Nothing => {}
                other => return other,
            }
        }
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        let slot: *const Slot<T> = &raw const self.slot;
        for end in self.ends.iter() {
            end.channel.meeting().leave(Side::Receiver, slot.cast(), at.access());
        }
    }

    fn finish(self: Pin<&mut Self>, nth: usize, _context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready((nth, received(&self.slot)))
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        for end in self.ends.iter() {
            let at = At::Place(end.channel.waits_at(Side::Receiver));
            see(Awaited::of("receive from", end.name(), at));
        }
    }
}

impl<T: Send> Drop for Any<'_, T> {
    fn drop(&mut self) {
        drop_received(&self.slot);
    }
}
