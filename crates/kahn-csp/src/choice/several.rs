//! Several guards as one: tuples, arrays, vectors.

use crate::choice::guard::{Alternative, Entering, Finishing, Leaving, Looking};
use crate::wait::place::Awaited;
use crate::wait::waiter::Attempt;
use std::pin::Pin;
use std::task::Poll;

/// A part of the guards `from..to` that belongs to a member with `count` of them, from `base` on.
fn part(from: usize, to: usize, base: usize, count: usize) -> Option<(usize, usize)> {
    let (from, to) = (from.max(base), to.min(base + count));
    (from < to).then(|| (from - base, to - base))
}

/// A tuple whose members are pinned with it.
trait Tuple {
    type Members<'a>
    where
        Self: 'a;

    fn members(self: Pin<&mut Self>) -> Self::Members<'_>;
}

macro_rules! several {
    ($name:ident: $($guard:ident $place:tt $variant:ident),+) => {
        /// What an alternation over a tuple of guards came to: which one, and its result.
        ///
        /// # Examples
        ///
        /// ```
        /// use kahn_csp as csp;
        /// use std::future::ready;
        ///
        /// let run = csp::run(csp::Options::new(), async |_scope| {
        ///     let choice = csp::pri((
        $(#[doc = concat!("         csp::on(ready(", stringify!($place), ")),")])+
        ///     ));
        ///     choice.await
        /// })?;
        #[doc = concat!(" assert_eq!(run.result, csp::", stringify!($name), "::First(0));")]
        /// # Ok::<(), csp::RunError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name<$($guard),+> {
            $(
                #[doc = concat!("The guard at position ", stringify!($place), " of the tuple.")]
                $variant($guard),
            )+
        }

        impl<$($guard),+> Tuple for ($($guard,)+) {
            type Members<'a> = ($(Pin<&'a mut $guard>,)+) where Self: 'a;

            #[inline]
            fn members(self: Pin<&mut Self>) -> Self::Members<'_> {
                // SAFETY: nothing is moved out of the tuple.
                let this = unsafe { self.get_unchecked_mut() };
                // SAFETY: each member is pinned with the tuple.
                ($(unsafe { Pin::new_unchecked(&mut this.$place) },)+)
            }
        }

        // SAFETY: each member for itself; one of them is chosen.
        unsafe impl<$($guard: Alternative),+> Alternative for ($($guard,)+) {
            type Output = $name<$($guard::Output),+>;

            fn count(&self) -> usize {
                0 $(+ self.$place.count())+
            }

            fn is_foreign(&self) -> bool {
                false $(|| self.$place.is_foreign())+
            }

            #[inline]
            fn look(
                self: Pin<&mut Self>,
                at: &mut Looking<'_, '_>,
                from: usize,
                to: usize,
            ) -> Option<usize> {
                let members = self.members();
                let mut base = 0;
                $(
                    let count = members.$place.count();
                    if let Some((from, to)) = part(from, to, base, count) {
                        if let Some(nth) = members.$place.look(at, from, to) {
                            return Some(base + nth);
                        }
                    }
                    base += count;
                )+
                let _ = base;
                None
            }

            fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
                let members = self.members();
                let mut base = base;
                $(
                    let count = members.$place.count();
                    match members.$place.enter(at, base) {
                        Attempt::Nothing => {}
                        other => return other,
                    }
                    base += count;
                )+
                let _ = base;
                Attempt::Nothing
            }

            fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
                let members = self.members();
                $(members.$place.leave(at);)+
            }

            fn finish(self: Pin<&mut Self>, nth: usize, at: &Finishing<'_>) -> Poll<Self::Output> {
                let members = self.members();
                let mut base = 0;
                $(
                    let count = members.$place.count();
                    if nth < base + count {
                        return members.$place.finish(nth - base, at).map($name::$variant);
                    }
                    base += count;
                )+
                unreachable!("guard {nth} of {base} was chosen")
            }

            fn describe(&self, see: &mut dyn FnMut(Awaited)) {
                $(self.$place.describe(see);)+
            }
        }
    };
}

several!(OneOf2: A 0 First, B 1 Second);
several!(OneOf3: A 0 First, B 1 Second, C 2 Third);
several!(OneOf4: A 0 First, B 1 Second, C 2 Third, D 3 Fourth);
several!(OneOf5: A 0 First, B 1 Second, C 2 Third, D 3 Fourth, E 4 Fifth);
several!(OneOf6: A 0 First, B 1 Second, C 2 Third, D 3 Fourth, E 4 Fifth, F 5 Sixth);

/// The members of an array or a vector, as a pinned slice.
struct Members<'a, G>(Pin<&'a mut [G]>);

impl<G: Alternative> Members<'_, G> {
    fn each<R>(&mut self, mut f: impl FnMut(usize, usize, Pin<&mut G>) -> Option<R>) -> Option<R> {
        let mut base = 0;
        // SAFETY: nothing is moved out of the slice.
        let members = unsafe { self.0.as_mut().get_unchecked_mut() };
        for (index, member) in members.iter_mut().enumerate() {
            let count = member.count();
            // SAFETY: the members are pinned with the slice.
            if let Some(result) = f(index, base, unsafe { Pin::new_unchecked(member) }) {
                return Some(result);
            }
            base += count;
        }
        None
    }
}

macro_rules! all_of_a_kind {
    ($([$($parameters:tt)*] $type:ty, $members:expr;)+) => {$(
        // SAFETY: each member for itself; one of them is chosen.
        unsafe impl<$($parameters)*> Alternative for $type {
            type Output = (usize, G::Output);

            fn count(&self) -> usize {
                self.iter().map(Alternative::count).sum()
            }

            fn is_foreign(&self) -> bool {
                self.iter().any(Alternative::is_foreign)
            }

            fn look(
                self: Pin<&mut Self>,
                at: &mut Looking<'_, '_>,
                from: usize,
                to: usize,
            ) -> Option<usize> {
                $members(self).each(|_, base, member| {
                    let (from, to) = part(from, to, base, member.count())?;
                    member.look(at, from, to).map(|nth| base + nth)
                })
            }

            fn enter(self: Pin<&mut Self>, at: &Entering<'_>, first: usize) -> Attempt {
                let stopped = $members(self).each(|_, base, member| {
                    let attempt = member.enter(at, first + base);
                    (attempt != Attempt::Nothing).then_some(attempt)
                });
                stopped.unwrap_or(Attempt::Nothing)
            }

            fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
                let _: Option<()> = $members(self).each(|_, _, member| {
                    member.leave(at);
                    None
                });
            }

            fn finish(self: Pin<&mut Self>, nth: usize, at: &Finishing<'_>) -> Poll<Self::Output> {
                let finished = $members(self).each(|index, base, member| {
                    let is_it = (base..base + member.count()).contains(&nth);
                    is_it.then(|| {
                        member.finish(nth - base, at).map(|output| (index, output))
                    })
                });
                finished.expect("one of the members was chosen")
            }

            fn describe(&self, see: &mut dyn FnMut(Awaited)) {
                for member in self.iter() {
                    member.describe(see);
                }
            }
        }
    )+};
}

fn of_array<G, const N: usize>(array: Pin<&mut [G; N]>) -> Members<'_, G> {
    // SAFETY: the members are pinned with the array.
    Members(unsafe { array.map_unchecked_mut(|array| array.as_mut_slice()) })
}

fn of_vector<G>(vector: Pin<&mut Vec<G>>) -> Members<'_, G> {
    // SAFETY: nothing but our own methods moves members of a vector that stands in an alternation,
    // and they do not; it drops them where they are.
    let members = unsafe { vector.get_unchecked_mut() };
    // SAFETY: as above.
    Members(unsafe { Pin::new_unchecked(members.as_mut_slice()) })
}

all_of_a_kind! {
    [G: Alternative, const N: usize] [G; N], of_array;
    [G: Alternative] Vec<G>, of_vector;
}
