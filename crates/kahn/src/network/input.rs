//! Files that a network reads from the memory of its caller: what it depends on beside what comes from outside.

use super::making::Whole;
use super::{Channel, Network};
use crate::channel::wire::{Borrowed, Wire};
use std::path::PathBuf;

impl<'env> Network<'env, Whole<'env>> {
    /// Says that the network depends on a file, of which these are the contents.
    ///
    /// They may be read or mapped. An observer is told of the file before the run
    /// ([`Graph`](crate::observe::Graph)): a recording of the run names it and its digest instead of holding it, and
    /// is not replayed with another.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("words.txt");
    /// # std::fs::write(&path, "to be or not")?;
    /// let text = std::fs::read_to_string(&path)?;
    /// let mut network = Network::new();
    /// network.input(&path, text.as_bytes());
    /// let words = network.source(Channel::named("words").wire_within(&text[..]), text.split(' '));
    /// let count = network.fold("count", words, 0, |count, _word| count + 1);
    /// network.run()?;
    /// assert_eq!(count.take(), Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn input(&mut self, path: impl Into<PathBuf>, contents: &'env [u8]) {
        self.made.inputs.push((path.into(), contents));
    }
}

impl<T: Borrowed + Send> Channel<T> {
    /// Gives messages of type `&[u8]` or `&str` a written form: each is a part of `whole`, and is written as the
    /// place where it begins there, and its length.
    ///
    /// So what was recorded is read beside the same bytes only: those of an [`input`](Network::input), as a rule. A
    /// message that is no part of them has no written form, and a recording ends before it. See
    /// [`wire_with`](Self::wire_with).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, testing};
    ///
    /// let whole = "to be or";
    /// let verified = testing::verify(|network| {
    ///     let (out, halves) = network.channel_with(Channel::named("halves").wire_within(whole));
    ///     network.process("cut", out, async |mut out| {
    ///         out.send(&whole[..4]).await;
    ///         out.send(&whole[4..]).await;
    ///     });
    ///     network.for_each("show", halves, |half| assert_eq!(half.len(), 4));
    /// })?;
    /// assert_eq!(verified.by_contents, 1);
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
    pub fn wire_within(self, whole: T) -> Self {
        self.written_by_wire(Wire::within(whole))
    }
}
