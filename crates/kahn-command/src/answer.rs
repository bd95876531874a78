//! What a program has found out, and how it is written.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::PathBuf;

use kahn::Progress;
use kahn::process::Output;

/// Writes a result, or a part of it.
pub type Writer<'env> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'env>;

/// What is written once the network has finished; nothing of it before.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_command::Answer;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 1..=4_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// // Ten, in a line of its own; `Answer::new` writes anything else.
/// let answer = Answer::from(sum);
/// ```
pub struct Answer<'env> {
    pub(crate) lines: Writer<'env>,
    pub(crate) files: Vec<(PathBuf, Writer<'env>)>,
    pub(crate) notes: Vec<(&'static str, u64)>,
    pub(crate) progress: Option<Progress>,
}

impl<'env> Answer<'env> {
    /// Makes a result that `write` writes to standard output, after the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_command::Answer;
    ///
    /// let mut network = Network::new();
    /// let words = network.source("words", ["to", "be"]);
    /// let words = network.collect("all", words);
    /// let answer = Answer::new(move |out| {
    ///     words.take().iter().flatten().try_for_each(|word| writeln!(out, "{word}"))
    /// });
    /// ```
    pub fn new(write: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'env) -> Self {
        Self { lines: Box::new(write), files: Vec::new(), notes: Vec::new(), progress: None }
    }

    /// Makes a result that is nothing on standard output: the network's effects are all.
    ///
    /// # Examples
    ///
    /// ```
    /// let answer = kahn_command::Answer::nothing();
    /// ```
    pub fn nothing() -> Self {
        Self::new(|_out| Ok(()))
    }

    /// Adds a file that is written after the run: whole, or not at all.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Answer;
    ///
    /// let answer = Answer::nothing().file("groups.csv", |out| writeln!(out, "1,2"));
    /// ```
    #[must_use]
    pub fn file(
        mut self,
        path: impl Into<PathBuf>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'env,
    ) -> Self {
        self.files.push((path.into(), Box::new(write)));
        self
    }

    /// Adds a fact about the run for the report, such as a number of rounds.
    ///
    /// # Examples
    ///
    /// ```
    /// let answer = kahn_command::Answer::nothing().note("rounds", 12);
    /// ```
    #[must_use]
    pub fn note(mut self, name: &'static str, number: u64) -> Self {
        self.notes.push((name, number));
        self
    }

    /// Shows how far this is while the network runs, in place of how many messages there were.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Progress};
    /// use kahn_command::Answer;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=1000_u64);
    /// let progress = Progress::new("numbers", Some(1000));
    /// let counted = progress.clone();
    /// let sum = network.fold("sum", numbers, 0, move |sum, n| {
    ///     counted.add(1);
    ///     sum + n
    /// });
    /// let answer = Answer::from(sum).progress(&progress);
    /// ```
    #[must_use]
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = Some(progress.clone());
        self
    }

    /// All that would be written, in memory.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for write in [self.lines].into_iter().chain(self.files.into_iter().map(|(_, file)| file)) {
            write(&mut bytes).expect("writing to memory does not fail");
        }
        bytes
    }
}

/// The result of one process, in a line.
impl<'env, T: Display + 'env> From<Output<T>> for Answer<'env> {
    fn from(output: Output<T>) -> Self {
        Self::new(move |out| output.take().map_or(Ok(()), |value| writeln!(out, "{value}")))
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("notes", &self.notes).finish_non_exhaustive()
    }
}
