//! Where the input of these programs comes from, and where their result goes.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::{Answer, Failure, Input, output};

/// What is typed about files.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Files {
    /// The file to work on, `-` is standard input; without one, input is generated
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Writes the result to OUT, once all is done
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Where a result goes.
#[derive(Debug)]
pub(super) enum Destination {
    /// Nobody wants all of generated data: a line tells what it is.
    Line,
    /// Standard output.
    Output,
    /// A file.
    File(PathBuf),
}

impl Files {
    /// Reads the file, if there is one: what `parse` makes of its name and its bytes.
    pub(super) fn read<T>(
        &self,
        parse: impl FnOnce(&str, &[u8]) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let Some(path) = &self.file else { return Ok(None) };
        let name = if path.as_os_str() == "-" {
            "standard input".into()
        } else {
            path.display().to_string()
        };
        parse(&name, &Input::open(path)?).map(Some)
    }

    /// Tells where the result goes, and refuses where none can go.
    pub(super) fn destination(&self) -> Result<Destination, Failure> {
        if let Some(path) = &self.output {
            output::check_writable(path)?;
            return Ok(Destination::File(path.clone()));
        }
        Ok(if self.file.is_some() { Destination::Output } else { Destination::Line })
    }
}

impl Destination {
    /// Makes the answer: `line`, or what `write` writes.
    pub(super) fn answer<'env>(
        &self,
        line: String,
        write: impl Fn(&mut dyn Write) -> io::Result<()> + 'env,
    ) -> Answer<'env> {
        match self {
            Self::Line => Answer::new(move |out| writeln!(out, "{line}")),
            Self::Output => Answer::new(write),
            Self::File(path) => {
                let mut answer = Answer::new(|_| Ok(()));
                answer.files.push((path.clone(), Box::new(write)));
                answer
            }
        }
    }
}
