//! Names of processes and channels: cheap to make and to copy, readable in every message.
//!
//! Each process and each channel has one, and may be one of millions: a name has two words, and no
//! place on the heap unless it is a long text made at run time.
//!
//! | `kind` | the 15 bytes before it |
//! |---|---|
//! | 0 to 15 | so many bytes of text |
//! | `FIXED` | address and length of a text that lives for ever |
//! | `HEAP` | address and length of a text that is the name's own |

use std::fmt;
use std::mem::MaybeUninit;
use std::num::NonZeroU8;
use std::{ptr, slice};

/// The name of a process or a channel.
///
/// Made from a `&'static str` or a short `String` without a place on the heap.
///
/// # Examples
///
/// ```
/// use kahn::Name;
///
/// let fixed = Name::from("split");
/// let made = Name::from(format!("count {}", 3));
/// assert_eq!(format!("{fixed}, {made}"), "split, count 3");
/// ```
#[repr(C, align(8))]
pub struct Name {
    bytes: [MaybeUninit<u8>; SHORT],
    /// One more than the module's table says, so that there is a value for no name.
    kind: NonZeroU8,
}

/// The longest text that stands in the name itself.
const SHORT: usize = 15;
const FIXED: u8 = 16;
const HEAP: u8 = 17;

// SAFETY: a name owns its text, or the text never changes.
unsafe impl Send for Name {}
// SAFETY: as above; a name that is shared is only read.
unsafe impl Sync for Name {}

/// Where a text that is not short stands.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Far {
    start: *const u8,
    /// Fewer than 2^56, so the eighth byte of a number is not missed.
    length: [u8; 7],
}

impl Name {
    fn new(bytes: [MaybeUninit<u8>; SHORT], kind: u8) -> Self {
        Self { bytes, kind: NonZeroU8::MIN.saturating_add(kind) }
    }

    fn short(text: &str) -> Self {
        let mut bytes = [MaybeUninit::uninit(); SHORT];
        for (place, &byte) in bytes.iter_mut().zip(text.as_bytes()) {
            place.write(byte);
        }
        #[expect(clippy::cast_possible_truncation, reason = "asked for texts of 15 bytes at most")]
        Self::new(bytes, text.len() as u8)
    }

    fn far(text: *const str, kind: u8) -> Self {
        let length = (text as *const [u8]).len() as u64;
        let [length @ .., _] = length.to_le_bytes();
        let far = Far { start: text.cast(), length };
        let mut bytes = [MaybeUninit::uninit(); SHORT];
        // SAFETY: there is room for just that; bytes that may be anything keep what a pointer is.
        unsafe { bytes.as_mut_ptr().cast::<Far>().write_unaligned(far) };
        Self::new(bytes, kind)
    }

    fn kind(&self) -> u8 {
        self.kind.get() - 1
    }

    /// The text of a name that is not short.
    fn far_text(&self) -> *const str {
        // SAFETY: a name of such a kind was made by `far`.
        let Far { start, length } = unsafe { self.bytes.as_ptr().cast::<Far>().read_unaligned() };
        let mut number = [0; 8];
        number[..7].copy_from_slice(&length);
        #[expect(clippy::cast_possible_truncation, reason = "it was the length of a text")]
        let length = u64::from_le_bytes(number) as usize;
        ptr::slice_from_raw_parts(start, length) as *const str
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        match self.kind() {
            length @ 0..FIXED => {
                // SAFETY: so many bytes were written.
                let text =
                    unsafe { slice::from_raw_parts(self.bytes.as_ptr().cast(), length.into()) };
                // SAFETY: they were those of a text.
                unsafe { str::from_utf8_unchecked(text) }
            }
            // SAFETY: the text lives for ever, or as long as the name.
            _ => unsafe { &*self.far_text() },
        }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self::far(text, FIXED)
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

impl Clone for Name {
    fn clone(&self) -> Self {
        if self.kind() == HEAP {
            return Self::from(self.as_str().to_owned());
        }
        Self { bytes: self.bytes, kind: self.kind }
    }
}

impl Drop for Name {
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
    fn a_name_is_its_text_however_it_was_made() {
        let fixed = ["", "short", "just fifteen...", "sixteen bytes...", "größer: siebzehn Bytes"];
        for text in fixed {
            let names = [Name::from(text), Name::from(text.to_owned())];
            for name in names {
                assert_eq!(name.as_str(), text);
                let copy = name.clone();
                drop(name);
                assert_eq!(copy.as_str(), text, "a copy has a text of its own");
                assert_eq!(copy, Name::from(text));
            }
        }
        assert!(Name::from("a") < Name::from("another text, which is long".to_owned()));
    }
}
