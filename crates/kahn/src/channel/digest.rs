//! What a run can be compared by: the history of each channel, message by message.

use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

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
    pub fn of<T: Digest + ?Sized>(value: &T) -> u64 {
        let mut digester = Self(0xcbf2_9ce4_8422_2325);
        value.digest(&mut digester);
        digester.0
    }

    /// Takes in some bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A value that a run can be compared by.
///
/// Implemented for ordinary types; derive it for your own with `#[derive(kahn::Digest)]`. Channels
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
pub trait Digest {
    /// Writes all that distinguishes this value from others.
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
    pub(crate) digest: Option<DigestFn>,
    /// One digest a message.
    pub(crate) digests: Vec<u64>,
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
            self.digests.push(unsafe { digest(message) });
        }
    }
}
