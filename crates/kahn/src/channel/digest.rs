//! What a run can be compared by: the history of each channel, message by message.
//!
//! A channel that was created with a digest has it. Generic code, such as the library of processes,
//! cannot ask whether its messages have one, so runs that are compared look it up by the type of
//! message: [`Digests`] is a table of ordinary types, what is commonly made of them, and types that
//! a user has named.

use super::wire::Wire;
use std::any::{TypeId, type_name};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Sums up the contents of messages in 64 bits.
///
/// FNV-1a over the bytes that [`Digest::digest`] writes: the same on every machine and in every
/// run. It tells histories apart; it is no protection against forgery.
///
/// # Examples
///
/// ```
/// use kahn::{Digest, Digester};
///
/// let of = |text: &str| Digester::of(text);
/// assert_eq!(of("same"), of("same"));
/// assert_ne!(of("same"), of("other"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Digester(u64);

impl Digester {
    /// Digests one value.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Digester;
    ///
    /// let digest = Digester::of(&["a", "b"]);
    /// assert_eq!(digest, Digester::of(&["a", "b"]));
    /// assert_ne!(digest, Digester::of(&["ab", ""]));
    /// ```
    pub fn of<T: Digest + ?Sized>(value: &T) -> u64 {
        let mut digester = Self(0xcbf2_9ce4_8422_2325);
        value.digest(&mut digester);
        digester.0
    }

    /// Takes in some bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Digest, Digester};
    ///
    /// struct Colour([u8; 3]);
    ///
    /// impl Digest for Colour {
    ///     fn digest(&self, digester: &mut Digester) {
    ///         digester.write(&self.0);
    ///     }
    /// }
    ///
    /// assert_ne!(Digester::of(&Colour([255, 0, 0])), Digester::of(&Colour([0, 0, 255])));
    /// ```
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A value that a run can be compared by.
///
/// Implemented for ordinary types; derive it for your own with `#[derive(kahn::Digest)]` (feature `derive`). Channels
/// that are created with [`Channel::digest`](crate::Channel::digest) are then compared by contents
/// and not by count alone.
///
/// # Examples
///
/// ```
/// use kahn::{Digest, Digester};
///
/// #[derive(kahn::Digest)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
///
/// assert_eq!(Digester::of(&Point { x: 1.0, y: 2.0 }), Digester::of(&Point { x: 1.0, y: 2.0 }));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no digest, by which messages and keys are compared",
    note = "derive it: `#[derive(kahn::Digest)]`, or return something that has one"
)]
pub trait Digest {
    /// Writes all that distinguishes this value from others.
    ///
    /// # Examples
    ///
    /// Without a derive, for a type of which only a part counts:
    ///
    /// ```
    /// use kahn::{Digest, Digester};
    ///
    /// struct Measured {
    ///     value: u64,
    ///     /// Different in every run.
    ///     nanoseconds: u64,
    /// }
    ///
    /// impl Digest for Measured {
    ///     fn digest(&self, digester: &mut Digester) {
    ///         self.value.digest(digester);
    ///     }
    /// }
    ///
    /// let (a, b) = (Measured { value: 1, nanoseconds: 70 }, Measured { value: 1, nanoseconds: 90 });
    /// assert_eq!(Digester::of(&a), Digester::of(&b));
    /// ```
    fn digest(&self, digester: &mut Digester);
}

macro_rules! digest_numbers {
    ($($number:ty),*) => {$(
        impl Digest for $number {
            fn digest(&self, digester: &mut Digester) {
                digester.write(&self.to_le_bytes());
            }
        }
    )*};
}

digest_numbers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

impl Digest for bool {
    fn digest(&self, digester: &mut Digester) {
        u8::from(*self).digest(digester);
    }
}

impl Digest for char {
    fn digest(&self, digester: &mut Digester) {
        u32::from(*self).digest(digester);
    }
}

impl Digest for () {
    fn digest(&self, _digester: &mut Digester) {}
}

impl Digest for str {
    fn digest(&self, digester: &mut Digester) {
        self.len().digest(digester);
        digester.write(self.as_bytes());
    }
}

impl Digest for String {
    fn digest(&self, digester: &mut Digester) {
        self.as_str().digest(digester);
    }
}

impl<T: Digest> Digest for [T] {
    fn digest(&self, digester: &mut Digester) {
        self.len().digest(digester);
        for item in self {
            item.digest(digester);
        }
    }
}

impl<T: Digest, const N: usize> Digest for [T; N] {
    fn digest(&self, digester: &mut Digester) {
        self.as_slice().digest(digester);
    }
}

impl<T: Digest> Digest for Vec<T> {
    fn digest(&self, digester: &mut Digester) {
        self.as_slice().digest(digester);
    }
}

impl<T: Digest> Digest for Option<T> {
    fn digest(&self, digester: &mut Digester) {
        self.is_some().digest(digester);
        if let Some(value) = self {
            value.digest(digester);
        }
    }
}

impl<T: Digest, E: Digest> Digest for Result<T, E> {
    fn digest(&self, digester: &mut Digester) {
        self.is_ok().digest(digester);
        match self {
            Ok(value) => value.digest(digester),
            Err(error) => error.digest(digester),
        }
    }
}

impl<T: Digest> Digest for VecDeque<T> {
    fn digest(&self, digester: &mut Digester) {
        self.len().digest(digester);
        for item in self {
            item.digest(digester);
        }
    }
}

impl<T: Digest> Digest for BTreeSet<T> {
    fn digest(&self, digester: &mut Digester) {
        self.len().digest(digester);
        for item in self {
            item.digest(digester);
        }
    }
}

impl<K: Digest, V: Digest> Digest for BTreeMap<K, V> {
    fn digest(&self, digester: &mut Digester) {
        self.len().digest(digester);
        for (key, value) in self {
            key.digest(digester);
            value.digest(digester);
        }
    }
}

impl Digest for Duration {
    fn digest(&self, digester: &mut Digester) {
        self.as_nanos().digest(digester);
    }
}

impl<T: Digest> Digest for Reverse<T> {
    fn digest(&self, digester: &mut Digester) {
        self.0.digest(digester);
    }
}

macro_rules! digest_pointers {
    ($($pointer:ty),*) => {$(
        impl<T: Digest + ?Sized> Digest for $pointer {
            fn digest(&self, digester: &mut Digester) {
                T::digest(self, digester);
            }
        }
    )*};
}

digest_pointers!(&T, &mut T, Box<T>, Arc<T>, Rc<T>);

macro_rules! digest_tuples {
    ($(($($name:ident),+)),*) => {$(
        impl<$($name: Digest),+> Digest for ($($name,)+) {
            fn digest(&self, digester: &mut Digester) {
                #[expect(non_snake_case, reason = "one name for a type and its value")]
                let ($($name,)+) = self;
                $($name.digest(digester);)+
            }
        }
    )*};
}

digest_tuples!((A), (A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F));

/// What was received on a channel, as far as it is recorded.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Digests one message of the channel's type; `None`: only their number counts.
    pub(crate) digest: Option<DigestOf>,
    /// One digest a message.
    pub(crate) digests: Vec<u64>,
}

/// What sums up the messages of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DigestOf {
    /// What its type says.
    Contents(DigestFn),
    /// What is written of it.
    Written(Wire),
}

impl DigestOf {
    /// # Safety
    /// `message` points to one of the type that this is for.
    unsafe fn of(self, message: *const ()) -> u64 {
        match self {
            // SAFETY: said by the caller.
            Self::Contents(digest) => unsafe { digest(message) },
            // SAFETY: said by the caller.
            Self::Written(wire) => unsafe { wire.digest(message) },
        }
    }
}

/// Digests the message at an address.
pub(crate) type DigestFn = unsafe fn(*const ()) -> u64;

/// Digests the `T` at an address.
///
/// # Safety
/// A `T` stands there.
pub(crate) unsafe fn digest_at<T: Digest>(message: *const ()) -> u64 {
    // SAFETY: said by the caller.
    Digester::of(unsafe { &*message.cast::<T>() })
}

/// Digests by the type of message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digests(BTreeMap<TypeId, DigestFn>);

/// Adds each of several types, and what is commonly made of it.
macro_rules! add_each {
    ($digests:ident: $($of:ty),*) => {$( $digests.add_with_shapes::<$of>(); )*};
}

/// Adds the pairs of a type with each of several others.
macro_rules! add_pairs {
    ($digests:ident: $first:ty, $($second:ty),*) => {$(
        $digests.add::<($first, $second)>();
        $digests.add::<Vec<($first, $second)>>();
        $digests.add::<Option<($first, $second)>>();
    )*};
}

/// Calls a macro with each of a list of types, and the whole list.
macro_rules! with_each {
    ($digests:ident, $add:ident: $($first:ty),* ; $rest:tt) => {$( with_each!(@ $digests, $add, $first, $rest); )*};
    (@ $digests:ident, $add:ident, $first:ty, ($($second:ty),*)) => { $add!($digests: $first, $($second),*); };
}

impl Digests {
    /// Returns those of ordinary types: numbers, texts, what collections and pairs are made of them.
    pub(crate) fn ordinary() -> Self {
        let mut digests = Self::default();
        add_each!(digests: (), bool, char, String, &str, Duration, Vec<u8>);
        add_each!(digests: u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);
        with_each!(digests, add_pairs:
            bool, char, u8, u16, u32, u64, usize, i32, i64, f32, f64, String, &str, Vec<u8>;
            (bool, char, u8, u16, u32, u64, usize, i32, i64, f32, f64, String, &str, Vec<u8>));
        digests
    }

    /// Adds a type that a user names.
    ///
    /// # Panics
    /// Panics if the type borrows.
    pub(crate) fn add_named<T: Digest + 'static>(&mut self) {
        let name = type_name::<T>();
        // Types are told apart without their lifetimes, and the digest of `T` may count on its own.
        assert!(
            !name.contains(['\'', '&']),
            "`{name}` borrows: give the channels that carry it a digest with `Channel::digest`"
        );
        self.add_with_shapes::<T>();
    }

    fn add_with_shapes<T: Digest>(&mut self) {
        self.add::<T>();
        self.add::<&T>();
        self.add::<Box<T>>();
        self.add::<Arc<T>>();
        self.add::<Option<T>>();
        self.add::<Vec<T>>();
        self.add::<&[T]>();
        self.add::<Box<[T]>>();
        self.add::<Arc<[T]>>();
        self.add::<Vec<Vec<T>>>();
        self.add::<Option<Vec<T>>>();
        self.add::<Arc<Vec<T>>>();
        self.add::<[T; 2]>();
        self.add::<[T; 3]>();
        self.add::<(T, T, T)>();
        self.add::<(usize, T)>();
        self.add::<(u64, T)>();
    }

    fn add<T: Digest>(&mut self) {
        self.0.insert(type_of::<T>(), digest_at::<T>);
    }

    /// Finds the digest of a type.
    pub(crate) fn find<T>(&self) -> Option<DigestFn> {
        self.0.get(&type_of::<T>()).copied()
    }
}

/// Tells a type from all others; types that differ in their lifetimes alone count as one.
pub(super) fn type_of<T>() -> TypeId {
    /// The way of the crate `typeid`: a method that only types without borrows have, called through
    /// a table that forgets what `T` borrows.
    trait Identified {
        fn identity(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Identified for PhantomData<T> {
        fn identity(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let of = PhantomData::<T>;
    let of: &dyn Identified = &of;
    // SAFETY: nothing is called but `identity`, which looks at no value and for which lifetimes are
    // nothing: they are erased before there is code.
    let of = unsafe { mem::transmute::<&dyn Identified, &(dyn Identified + 'static)>(of) };
    of.identity()
}

impl History {
    /// Takes in the message that came after so many others, unless it was taken in before.
    ///
    /// # Safety
    /// `message` points to a value of the type that `digest` was made for.
    pub(crate) unsafe fn add(&mut self, before: u64, message: *const ()) {
        if let Some(digest) = self.digest
            && self.digests.len() as u64 == before
        {
            // SAFETY: said by the caller.
            self.digests.push(unsafe { digest.of(message) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Own(u32);

    impl Digest for Own {
        fn digest(&self, digester: &mut Digester) {
            self.0.digest(digester);
        }
    }

    /// The digest that the table has for the type of a value, of that value.
    fn found<T: Digest>(digests: &Digests, value: &T) -> Option<bool> {
        let digest = digests.find::<T>()?;
        // SAFETY: a `T` stands there.
        let found = unsafe { digest(std::ptr::from_ref(value).cast()) };
        Some(found == Digester::of(value))
    }

    #[test]
    fn ordinary_types_and_what_is_made_of_them_are_found_by_their_type() {
        let digests = Digests::ordinary();
        let text = String::from("borrowed for a while");
        assert_eq!(found(&digests, &7_u32), Some(true));
        assert_eq!(found(&digests, &&text[2..5]), Some(true));
        assert_eq!(found(&digests, &vec![(text.as_str(), 3_u64)]), Some(true));
        assert_eq!(found(&digests, &Some(vec![1.5_f64])), Some(true));
        assert_eq!(found(&digests, &(3_usize, text)), Some(true));
        assert_eq!(found(&digests, &Arc::<[u8]>::from(&b"abc"[..])), Some(true));
        assert_eq!(found(&digests, &Own(1)), None);
        assert!(digests.find::<Rc<std::cell::Cell<u32>>>().is_none());
    }

    #[test]
    fn a_type_that_a_user_names_is_found_and_what_is_made_of_it() {
        let mut digests = Digests::ordinary();
        digests.add_named::<Own>();
        assert_eq!(found(&digests, &Own(1)), Some(true));
        assert_eq!(found(&digests, &vec![Own(1), Own(2)]), Some(true));
    }

    #[test]
    #[should_panic(expected = "borrows: give the channels that carry it a digest")]
    fn a_type_that_borrows_cannot_be_named() {
        Digests::ordinary().add_named::<(Own, &str)>();
    }
}
