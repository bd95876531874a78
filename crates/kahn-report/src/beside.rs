//! Messages that borrow, in a written form: what they borrow from is on every rank.

use crate::BoxError;
use std::cmp::Reverse;
use std::sync::Arc;

/// Is written and read beside something that is on every rank, `S`, such as the bytes of a file: what is borrowed
/// from there is written as the place where it stands.
///
/// `S` is a reference, or as small as two: it is copied. What is read ends where it was written to end, so forms are
/// put together: numbers, texts, pairs, vectors and boxes of what has this form have it, beside anything.
///
/// # Examples
///
/// ```
/// use kahn::{Network, ranks::Beside};
///
/// /// A line, and which it is.
/// #[derive(Clone, Copy)]
/// struct Line<'text>(u64, &'text str);
///
/// impl<'text> Beside<&'text str> for Line<'text> {
///     fn encode(&self, text: &'text str, into: &mut Vec<u8>) {
///         (self.0, self.1).encode(text, into);
///     }
///     fn decode(text: &'text str, bytes: &mut &[u8]) -> Result<Self, kahn::BoxError> {
///         <(u64, &str)>::decode(text, bytes).map(|(number, line)| Line(number, line))
///     }
/// }
///
/// let text = String::from("to be\nor not");
/// let mut network = Network::new();
/// let (out, lines) = network.channel_beside("lines", &text[..]);
/// network.process("cut", out, async |mut out| {
///     for (line, number) in text.lines().zip(1..) {
///         out.send(Line(number, line)).await;
///     }
/// });
/// let last = network.fold("last", lines, "", |_, line: Line<'_>| line.1);
/// network.run()?;
/// assert_eq!(last.take(), Some("or not"));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` has no written form beside a `{S}`",
    note = "a type of yours gets one by implementing `ranks::Beside`"
)]
pub trait Beside<S>: Sized {
    /// Appends what is written of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::Beside;
    ///
    /// let text = "to be or not";
    /// let mut bytes = Vec::new();
    /// (&text[3..5]).encode(text, &mut bytes);
    /// assert_eq!(<&str>::decode(text, &mut &bytes[..]).ok(), Some("be"));
    /// ```
    ///
    /// # Panics
    /// May panic if it borrows from something else: then it has no written form.
    fn encode(&self, beside: S, into: &mut Vec<u8>);

    /// Takes from the front of `bytes` what was written of one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::Beside;
    ///
    /// let mut bytes = &[7, 0, 0, 0, 1][..];
    /// assert_eq!(u32::decode((), &mut bytes).ok(), Some(7));
    /// assert_eq!(bytes, [1]);
    /// ```
    ///
    /// # Errors
    /// Refuses what was not written so.
    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError>;
}

/// Takes so many bytes from the front.
fn take<'bytes>(bytes: &mut &'bytes [u8], count: usize) -> Result<&'bytes [u8], BoxError> {
    let (first, rest) = bytes.split_at_checked(count).ok_or("it is cut off")?;
    *bytes = rest;
    Ok(first)
}

macro_rules! beside_numbers {
    ($($number:ty),*) => {$(
        impl<S> Beside<S> for $number {
            fn encode(&self, _beside: S, into: &mut Vec<u8>) {
                into.extend_from_slice(&self.to_le_bytes());
            }
            fn decode(_beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
                Ok(Self::from_le_bytes(take(bytes, size_of::<Self>())?.try_into()?))
            }
        }
    )*};
}

beside_numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

/// As eight bytes: ranks may have other words.
impl<S> Beside<S> for usize {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        (*self as u64).encode(beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Ok(u64::decode(beside, bytes)?.try_into()?)
    }
}

impl<S> Beside<S> for bool {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        u8::from(*self).encode(beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        match u8::decode(beside, bytes)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{other} is neither 0 nor 1").into()),
        }
    }
}

impl<S> Beside<S> for () {
    fn encode(&self, _beside: S, _into: &mut Vec<u8>) {}

    fn decode(_beside: S, _bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Ok(())
    }
}

impl<S: Copy> Beside<S> for String {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.len().encode(beside, into);
        into.extend_from_slice(self.as_bytes());
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let length = usize::decode(beside, bytes)?;
        Ok(str::from_utf8(take(bytes, length)?)?.to_owned())
    }
}

impl<S: Copy, T: Beside<S>> Beside<S> for Vec<T> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.len().encode(beside, into);
        for one in self {
            one.encode(beside, into);
        }
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let count = usize::decode(beside, bytes)?;
        // No more memory is taken than there are bytes, whatever is said.
        let mut all = Self::with_capacity(count.min(bytes.len() / size_of::<T>().max(1)));
        for _ in 0..count {
            let before = bytes.len();
            all.push(T::decode(beside, bytes)?);
            // Any number of what takes no bytes can be told in a few.
            if bytes.len() == before && count > MOST_OF_NOTHING {
                return Err(format!("{count} of what takes no bytes").into());
            }
        }
        Ok(all)
    }
}

/// So many values of no bytes are read at most.
const MOST_OF_NOTHING: usize = 1 << 20;

impl<S, T: Beside<S>> Beside<S> for Box<T> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        T::encode(self, beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        T::decode(beside, bytes).map(Self::new)
    }
}

impl<S> Beside<S> for Box<[u8]> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.len().encode(beside, into);
        into.extend_from_slice(self);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let length = usize::decode(beside, bytes)?;
        Ok(take(bytes, length)?.into())
    }
}

impl<S: Copy, T: Beside<S>> Beside<S> for Arc<[T]> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.len().encode(beside, into);
        for one in self.iter() {
            one.encode(beside, into);
        }
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Vec::decode(beside, bytes).map(Self::from)
    }
}

impl<S, T: Beside<S>> Beside<S> for Reverse<T> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.0.encode(beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        T::decode(beside, bytes).map(Self)
    }
}

impl<S: Copy, T: Beside<S>> Beside<S> for Option<T> {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.is_some().encode(beside, into);
        if let Some(some) = self {
            some.encode(beside, into);
        }
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        bool::decode(beside, bytes)?.then(|| T::decode(beside, bytes)).transpose()
    }
}

impl<S: Copy, A: Beside<S>, B: Beside<S>> Beside<S> for (A, B) {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.0.encode(beside, into);
        self.1.encode(beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Ok((A::decode(beside, bytes)?, B::decode(beside, bytes)?))
    }
}

/// A part of a slice: where it begins there, and how many there are of them.
impl<'whole, T> Beside<&'whole [T]> for &'whole [T] {
    fn encode(&self, whole: &'whole [T], into: &mut Vec<u8>) {
        let bytes = self.as_ptr().addr().checked_sub(whole.as_ptr().addr());
        let first =
            if self.is_empty() { Some(0) } else { bytes.map(|n| n / size_of::<T>().max(1)) };
        let part = first.and_then(|first| whole.get(first..)?.get(..self.len()));
        let is_it = part.is_some_and(|part| self.is_empty() || std::ptr::eq(part, *self));
        assert!(is_it, "a message is no part of what its channel is beside");
        first.unwrap_or(0).encode((), into);
        self.len().encode((), into);
    }

    fn decode(whole: &'whole [T], bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let (first, count) = <(usize, usize)>::decode((), bytes)?;
        let part = whole.get(first..).and_then(|rest| rest.get(..count));
        let all = whole.len();
        part.ok_or_else(|| format!("{count} from {first} on are no part of {all}").into())
    }
}

/// A part of a text, in bytes.
impl<'whole> Beside<&'whole str> for &'whole str {
    fn encode(&self, whole: &'whole str, into: &mut Vec<u8>) {
        self.as_bytes().encode(whole.as_bytes(), into);
    }

    fn decode(whole: &'whole str, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Ok(str::from_utf8(<&[u8]>::decode(whole.as_bytes(), bytes)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of what is written beside something, and how much is left over of it and one byte more.
    fn again<S: Copy, T: Beside<S>>(beside: S, value: &T) -> (T, usize) {
        let mut bytes = Vec::new();
        value.encode(beside, &mut bytes);
        bytes.push(0);
        let mut left = &bytes[..];
        (T::decode(beside, &mut left).expect("it was written"), left.len())
    }

    #[test]
    fn what_is_written_is_read_and_no_byte_more() {
        let text = "to be or not to be";
        let parts = vec![(1_u64, &text[..2]), (2, &text[3..]), (3, &text[18..]), (4, "")];
        assert_eq!(again(text, &parts), (parts.clone(), 1));
        let nested = Some(vec![(Reverse(Box::new(7_u128)), (String::from("ä"), true))]);
        assert_eq!(again((), &nested), (nested.clone(), 1));
        assert_eq!(again((), &vec![(), (), ()]), (vec![(); 3], 1));
        let shared = (Arc::<[u16]>::from([5, 6]), Box::<[u8]>::from([7, 8, 9]));
        assert_eq!(again((), &shared), (shared.clone(), 1));
        let numbers = [1_i64, -5, 9];
        assert_eq!(again(&numbers[..], &&numbers[1..]), (&numbers[1..], 1));
    }

    #[test]
    fn what_is_cut_off_or_changed_is_refused_and_takes_no_memory() {
        let text = "to be or not to be";
        let mut bytes = Vec::new();
        vec![(1_u64, &text[3..5])].encode(text, &mut bytes);
        for end in 0..bytes.len() {
            assert!(<Vec<(u64, &str)>>::decode(text, &mut &bytes[..end]).is_err(), "{end} bytes");
        }
        let mut outside = Vec::new();
        (17_usize, 2_usize).encode((), &mut outside);
        assert!(<&str>::decode(text, &mut &outside[..]).is_err());
        let mut endless = Vec::new();
        usize::MAX.encode((), &mut endless);
        assert!(<Vec<u64>>::decode((), &mut &endless[..]).is_err());
        assert!(<Vec<()>>::decode((), &mut &endless[..]).is_err());
        assert!(bool::decode((), &mut &[2][..]).is_err());
        // No character is cut.
        let umlaut = "ä";
        let mut half = Vec::new();
        (0_usize, 1_usize).encode((), &mut half);
        assert!(<&str>::decode(umlaut, &mut &half[..]).is_err());
    }

    #[test]
    #[should_panic(expected = "no part of what its channel is beside")]
    fn what_stands_elsewhere_is_not_written() {
        (&String::from("to be")[..]).encode("to be", &mut Vec::new());
    }
}
