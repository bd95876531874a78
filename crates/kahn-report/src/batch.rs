//! Messages of a cut channel in their written form, many at once.

/// The bytes before a message: its length, the least byte first.
const LENGTH: usize = 4;

/// Messages of one channel in their written form, which go to another rank together; each is taken once, in order.
///
/// As bytes, each is its length, four bytes with the least one first, and what is written of it.
///
/// # Examples
///
/// ```
/// use kahn::ranks::Batch;
///
/// let mut sent = Batch::new();
/// sent.push(b"one");
/// sent.push(b"");
/// let mut received = Batch::new();
/// assert!(received.append(sent.bytes(), sent.len()));
/// assert_eq!(received.pop(), Some(&b"one"[..]));
/// assert_eq!(received.pop(), Some(&b""[..]));
/// assert_eq!(received.pop(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where the next message is.
    next: usize,
    /// Messages from there on.
    messages: u64,
}

impl Batch {
    /// Makes one without messages.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kahn::ranks::Batch::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many messages are left.
    ///
    /// # Examples
    ///
    /// See [`Batch`].
    pub fn len(&self) -> u64 {
        self.messages
    }

    /// Returns whether no message is left.
    ///
    /// # Examples
    ///
    /// See [`new`](Self::new).
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Returns the messages that are left, as bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::Batch;
    ///
    /// let mut batch = Batch::new();
    /// batch.push(b"!");
    /// assert_eq!(batch.bytes(), [1, 0, 0, 0, b'!']);
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.next..]
    }

    /// Adds a message.
    ///
    /// # Examples
    ///
    /// See [`Batch`].
    ///
    /// # Panics
    /// Panics if it has 4 GiB or more.
    pub fn push(&mut self, message: &[u8]) {
        let is_written = self.push_with(|into| {
            into.extend_from_slice(message);
            true
        });
        assert!(is_written, "a message is shorter than 4 GiB");
    }

    /// Adds the message that `write` writes behind what is there; `false` if that says that it cannot, or if it has 4 GiB
    /// or more. Then nothing is added; and no message is left if it has taken away what was there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::Batch;
    ///
    /// let mut batch = Batch::new();
    /// assert!(batch.push_with(|into| {
    ///     into.extend_from_slice(b"one");
    ///     true
    /// }));
    /// assert!(!batch.push_with(|_into| false));
    /// assert_eq!(batch.len(), 1);
    /// ```
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        self.forget_taken();
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; LENGTH]);
        let is_written = write(&mut self.bytes);
        let length = self.bytes.get(start + LENGTH..).map(<[u8]>::len);
        match length.map(u32::try_from) {
            Some(Ok(length)) if is_written => {
                self.bytes[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
                self.messages += 1;
                return true;
            }
            Some(_) => self.bytes.truncate(start),
            None => self.clear(),
        }
        false
    }

    /// Adds so many messages, which are these [bytes](Self::bytes) of another one; `false` if they are not, and then nothing
    /// is added.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::Batch;
    ///
    /// let mut batch = Batch::new();
    /// assert!(!batch.append(&[1, 0, 0, 0], 1));
    /// assert!(!batch.append(&[0, 0, 0, 0], 2));
    /// assert!(batch.append(&[0, 0, 0, 0], 1));
    /// assert_eq!(batch.len(), 1);
    /// ```
    pub fn append(&mut self, bytes: &[u8], messages: u64) -> bool {
        let (mut rest, mut count) = (bytes, 0);
        while let Some((length, behind)) = rest.split_first_chunk::<LENGTH>() {
            let length = u32::from_le_bytes(*length) as usize;
            let Some(behind) = behind.get(length..) else { return false };
            (rest, count) = (behind, count + 1);
        }
        if !rest.is_empty() || count != messages {
            return false;
        }
        self.forget_taken();
        self.bytes.extend_from_slice(bytes);
        self.messages += messages;
        true
    }

    /// Takes the first message, if one is left.
    ///
    /// # Examples
    ///
    /// See [`Batch`].
    #[inline]
    pub fn pop(&mut self) -> Option<&[u8]> {
        if self.messages == 0 {
            return None;
        }
        let left = &self.bytes[self.next..];
        let (length, behind) = left.split_first_chunk::<LENGTH>()?;
        let length = u32::from_le_bytes(*length) as usize;
        self.messages -= 1;
        self.next += LENGTH + length;
        behind.get(..length)
    }

    /// Drops all messages, and keeps the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::ranks::Batch;
    ///
    /// let mut batch = Batch::new();
    /// batch.push(b"one");
    /// batch.clear();
    /// assert!(batch.is_empty() && batch.bytes().is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.next, self.messages) = (0, 0);
    }

    /// Drops the bytes of what was taken, if that is all.
    #[inline]
    fn forget_taken(&mut self) {
        if self.messages == 0 {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let mut batch = Batch::new();
        batch.push(b"one");
        assert!(!batch.push_with(|into| {
            into.extend_from_slice(b"half");
            false
        }));
        assert_eq!((batch.len(), batch.bytes()), (1, &b"\x03\0\0\0one"[..]));
        // It takes away what was there: there is no telling what is left.
        assert!(!batch.push_with(|into| {
            into.clear();
            true
        }));
        assert!(batch.is_empty() && batch.bytes().is_empty());
    }

    #[test]
    fn messages_come_in_order_and_memory_is_used_again() {
        let (mut sent, mut received) = (Batch::new(), Batch::new());
        for round in 0..3_u8 {
            (0..100).for_each(|number| sent.push(&vec![number; usize::from(number + round)]));
            assert!(received.append(sent.bytes(), 100));
            for number in 0..100 {
                assert_eq!(received.len(), 100 - u64::from(number));
                assert_eq!(received.pop(), Some(&vec![number; usize::from(number + round)][..]));
            }
            assert!(received.pop().is_none() && received.bytes().is_empty());
            sent.clear();
        }
        assert!(received.bytes.len() < 100 * 110, "what was taken is kept");
    }
}
