//! Files that a network reads from the memory of its caller: what it depends on beside what comes from outside.

use super::making::{Making, Whole};
use super::{Channel, Network};
use crate::channel::wire::Wire;
use crate::channel::{Receiver, Sender};
use kahn_report::ranks::Beside;
use std::path::{Path, PathBuf};

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

    /// Returns the files that the network depends on, with their contents.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut network = kahn::Network::new();
    /// network.input("words.txt", b"to be or not");
    /// let lengths: Vec<_> = network.inputs().map(|(_path, contents)| contents.len()).collect();
    /// assert_eq!(lengths, [12]);
    /// ```
    pub fn inputs(&self) -> impl Iterator<Item = (&Path, &'env [u8])> {
        self.made.inputs.iter().map(|(path, contents)| (&**path, *contents))
    }
}

impl<'env, M: Making> Network<'env, M> {
    /// Makes a channel whose messages have a written form beside something that every rank has, such as the
    /// contents of files: they may borrow from it ([`Beside`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let text = String::from("to be or not");
    /// let mut network = Network::new();
    /// // A word goes as the place where it stands, and how often it was seen as it is.
    /// let (out, counted) = network.channel_beside("counted", &text[..]);
    /// network.process("count", out, async |mut out| {
    ///     for word in text.split(' ') {
    ///         out.send(vec![(word, 1_u64)]).await;
    ///     }
    /// });
    /// let longest = network.fold("longest", counted, 0, |longest, words: Vec<(&str, u64)>| {
    ///     words.iter().map(|(word, _)| word.len()).fold(longest, usize::max)
    /// });
    /// network.run()?;
    /// assert_eq!(longest.take(), Some(3));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// A process panics that sends what borrows from something else to where it is written. An end of the channel
    /// is for processes: [`outside`](Network::outside) panics if it is given one.
    pub fn channel_beside<T, S>(
        &mut self,
        channel: impl Into<Channel<T>>,
        beside: S,
    ) -> (Sender<T>, Receiver<T>)
    where
        T: Beside<S> + Send + 'env,
        S: Copy + Send + Sync + 'env,
    {
        self.channel_with(channel.into().written_by_wire(Wire::beside::<T, S>(beside)))
    }
}

impl<T: Beside<T> + Copy + Send + Sync> Channel<T> {
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
