//! Messages of a channel in their written form.

use std::iter::FusedIterator;
use std::slice;

/// Messages in their written form, one after the other: an iterator over them.
///
/// # Examples
///
/// ```
/// use kahn_report::observe::WrittenForms;
///
/// let written = WrittenForms::new(b"to beor", &[5, 5, 7]);
/// let messages: Vec<&[u8]> = written.collect();
/// assert_eq!(messages, [&b"to be"[..], b"", b"or"]);
/// ```
#[derive(Clone, Debug)]
pub struct WrittenForms<'a> {
    bytes: &'a [u8],
    /// Where the next one begins.
    from: usize,
    ends: slice::Iter<'a, usize>,
}

impl<'a> WrittenForms<'a> {
    /// Makes them of their bytes, and of where each of them ends there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::observe::WrittenForms;
    ///
    /// assert_eq!(WrittenForms::new(b"", &[]).count(), 0);
    /// assert!(WrittenForms::new(b"to be", &[5]).eq([b"to be"]));
    /// ```
    ///
    /// # Panics
    /// The iterator panics if a message ends before it begins, or behind the bytes.
    pub fn new(bytes: &'a [u8], ends: &'a [usize]) -> Self {
        Self { bytes, from: 0, ends: ends.iter() }
    }
}

impl<'a> Iterator for WrittenForms<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = *self.ends.next()?;
        let message = &self.bytes[self.from..end];
        self.from = end;
        Some(message)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for WrittenForms<'_> {}

impl FusedIterator for WrittenForms<'_> {}
