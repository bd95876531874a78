//! Where the command reads and writes: the process's streams, or a test's.

use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};

use super::Refusal;

/// The three streams, and whether messages may be coloured.
pub struct Streams<'a> {
    /// Where records come from unless a file is named.
    pub input: Box<dyn BufRead + Send + 'a>,
    /// Where results go.
    pub output: Box<dyn Write + Send + 'a>,
    /// The file descriptor behind `output`, if a box may end the process.
    pub descriptor: Option<i32>,
    /// Where messages go.
    pub messages: Box<dyn Write + Send + 'a>,
    /// Whether messages may be coloured.
    pub colour: bool,
}

impl std::fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams").field("colour", &self.colour).finish_non_exhaustive()
    }
}

impl Streams<'_> {
    /// Returns the streams of this process.
    pub fn of_process() -> Self {
        let colour = io::stderr().is_terminal() && no_colour_unwanted();
        // A descriptor of its own, for a box may close that of the process.
        let own = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
        let (output, descriptor): (Box<dyn Write + Send>, i32) = match own {
            Ok(file) => {
                let descriptor = file.as_raw_fd();
                (Box::new(file), descriptor)
            }
            Err(_) => (Box::new(io::stdout()), 1),
        };
        Self {
            input: Box::new(io::BufReader::with_capacity(1 << 16, io::stdin())),
            output,
            descriptor: Some(descriptor),
            messages: Box::new(io::stderr()),
            colour,
        }
    }

    /// Tells a person something.
    pub(super) fn tell(&mut self, text: &str) {
        // If the stream is closed there is nowhere to say so.
        let _ = writeln!(self.messages, "{}", text.trim_end());
    }

    /// Prints a result; a reader that has left is no failure.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Refusal> {
        let written = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Refusal::run(format!("cannot write the result: {error}"))),
            Ok(()) => Ok(()),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the command reads the environment")]
fn no_colour_unwanted() -> bool {
    std::env::var("NO_COLOR").map_or(true, |value| value.is_empty())
}
