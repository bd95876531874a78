//! Names of processes and channels: cheap to make and to copy, readable in every message.
//!
//! Each process and each channel has one, and may be one of millions: a name has two words, and no
//! place on the heap unless it is a text of more than 15 bytes.
//!
//! | `kind` | the 15 bytes before it |
//! |---|---|
//! | 0 to 15 | so many bytes of text |
//! | `FIXED` | address and length of a text that lives for ever |
//! | `HEAP` | address and length of a text that is the name's own |

use std::fmt;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::{ptr, slice};

/// The name of a process or a channel.
///
/// Made from a text, a `String` or `format_args!`; without a place on the heap if it has 15 bytes at most.
///
/// # Examples
///
/// ```
/// use kahn_report::Name;
///
/// let fixed = Name::from("split");
/// let made = Name::from(format!("count {}", 3));
/// assert_eq!(format!("{fixed}, {made}"), "split, count 3");
/// assert!(fixed == "split" && made != *"count 4");
/// ```
#[repr(C)]
pub struct Name {
    /// The first eight bytes: of the text, or where it stands. Two words, so that a name moves in two
    /// registers.
    start: MaybeUninit<u64>,
    /// The other seven, and a byte that is one more than the module's table says, so that there is a
    /// value for no name.
    rest: NonZeroU64,
}

/// The longest text that stands in the name itself.
const SHORT: usize = 15;
const FIXED: u8 = 16;
const HEAP: u8 = 17;

// SAFETY: a name owns its text, or the text never changes.
unsafe impl Send for Name {}
// SAFETY: as above; a name that is shared is only read.
unsafe impl Sync for Name {}

/// A word of seven bytes and of a kind in the place of the eighth.
#[inline]
fn word(mut bytes: [u8; 8], kind: u8) -> NonZeroU64 {
    bytes[7] = kind + 1;
    NonZeroU64::new(u64::from_ne_bytes(bytes)).expect("the last byte is not zero")
}

impl Name {
    #[inline]
    fn short(text: &str) -> Self {
        let mut bytes = [[0; 8]; 2];
        bytes.as_flattened_mut()[..text.len()].copy_from_slice(text.as_bytes());
        let [start, rest] = bytes;
        #[expect(clippy::cast_possible_truncation, reason = "asked for texts of 15 bytes at most")]
        let rest = word(rest, text.len() as u8);
        Self { start: MaybeUninit::new(u64::from_ne_bytes(start)), rest }
    }

    #[inline]
    fn far(text: *const str, kind: u8) -> Self {
        // Fewer than 2^56, so the eighth byte of the number is not missed.
        let length = ((text as *const [u8]).len() as u64).to_le_bytes();
        let mut start = MaybeUninit::<u64>::uninit();
        // SAFETY: a pointer fits; bytes that may be anything keep what a pointer is.
        unsafe { start.as_mut_ptr().cast::<*const u8>().write(text.cast()) };
        Self { start, rest: word(length, kind) }
    }

    #[inline]
    fn kind(&self) -> u8 {
        let [.., kind] = self.rest.get().to_ne_bytes();
        kind - 1
    }

    /// The text of a name that is not short.
    fn far_text(&self) -> *const str {
        // SAFETY: a name of such a kind was made by `far`.
        let start = unsafe { self.start.as_ptr().cast::<*const u8>().read() };
        let mut length = self.rest.get().to_ne_bytes();
        length[7] = 0;
        #[expect(clippy::cast_possible_truncation, reason = "it was the length of a text")]
        let length = u64::from_le_bytes(length) as usize;
        ptr::slice_from_raw_parts(start, length) as *const str
    }

    /// Returns the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Name;
    ///
    /// assert_eq!(Name::from("split").as_str(), "split");
    /// ```
    #[inline]
    pub fn as_str(&self) -> &str {
        match self.kind() {
            length @ 0..FIXED => {
                // SAFETY: so many bytes were written, one word behind the other.
                let text =
                    unsafe { slice::from_raw_parts(ptr::from_ref(self).cast(), length.into()) };
                // SAFETY: they were those of a text.
                unsafe { str::from_utf8_unchecked(text) }
            }
            // SAFETY: the text lives for ever, or as long as the name.
            _ => unsafe { &*self.far_text() },
        }
    }
}

impl From<&str> for Name {
    #[inline]
    fn from(text: &str) -> Self {
        if text.len() <= SHORT { Self::short(text) } else { Self::from(text.to_owned()) }
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

/// A text that stands in the program has no copy.
impl From<fmt::Arguments<'_>> for Name {
    fn from(text: fmt::Arguments<'_>) -> Self {
        match text.as_str() {
            Some(text) => Self::far(text, FIXED),
            None => Self::from(fmt::format(text)),
        }
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        if text.len() <= SHORT {
            return Self::short(&text);
        }
        Self::far(Box::into_raw(text.into_boxed_str()), HEAP)
    }
}

/// Compares a name with a text, both ways round.
macro_rules! equal_to_texts {
    ($($text:ty),*) => {$(
        impl PartialEq<$text> for Name {
            fn eq(&self, text: &$text) -> bool {
                let text: &str = text.as_ref();
                self.as_str() == text
            }
        }

        impl PartialEq<Name> for $text {
            fn eq(&self, name: &Name) -> bool {
                name == self
            }
        }
    )*};
}

equal_to_texts!(str, &str, String);

impl Clone for Name {
    #[inline]
    fn clone(&self) -> Self {
        if self.kind() == HEAP {
            return Self::from(self.as_str().to_owned());
        }
        Self { start: self.start, rest: self.rest }
    }
}

impl Drop for Name {
    #[inline]
    fn drop(&mut self) {
        if self.kind() == HEAP {
            // SAFETY: made from a box, which is this name's alone.
            drop(unsafe { Box::from_raw(self.far_text().cast_mut()) });
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(feature = "json")]
impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_words_and_none_has_no_more() {
        assert_eq!(size_of::<Name>(), 16);
        assert_eq!(size_of::<Option<Name>>(), 16);
    }

    #[test]
    fn a_name_equals_its_text_in_every_form_and_no_other() {
        for text in ["short", "sixteen bytes..."] {
            let (name, owned) = (Name::from(text), text.to_owned());
            assert!(name == *text && name == text && name == owned);
            assert!(*text == name && text == name && owned == name);
            assert_ne!(name, "other");
        }
    }

    #[test]
    fn a_name_is_its_text_however_it_was_made() {
        let fixed = ["", "short", "just fifteen...", "sixteen bytes...", "größer: siebzehn Bytes"];
        for text in fixed {
            let owned = text.to_owned();
            let names = [
                Name::from(text),
                Name::from(&owned),
                Name::from(format_args!("{text}")),
                owned.into(),
            ];
            for name in names {
                assert_eq!(name.as_str(), text);
                let copy = name.clone();
                drop(name);
                assert_eq!(copy.as_str(), text, "a copy has a text of its own");
                assert_eq!(copy, Name::from(text));
            }
        }
        let [a, another] = [Name::from("a"), Name::from("another text, which is long".to_owned())];
        assert!(a < another);
    }
}
