//! What is told, and the exit code that follows.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// What was told so far.
#[derive(Debug)]
pub(super) struct Messages {
    quiet: bool,
    warned: bool,
    failed: bool,
    /// Sums of what was listed: files, bytes compressed and decompressed.
    listed: (u64, u64, u64),
}

impl Messages {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, warned: false, failed: false, listed: (0, 0, 0) }
    }

    /// Tells that something was left alone: exit code 2.
    pub(super) fn warn(&mut self, path: &Path, text: impl Display) {
        self.warned = true;
        if !self.quiet {
            tell(format_args!("kgz: {}: {text}", path.display()));
        }
    }

    /// Tells that something failed: exit code 1.
    pub(super) fn error(&mut self, path: &Path, text: &impl Display) {
        self.failed = true;
        tell(format_args!("kgz: {}: {text}", path.display()));
    }

    /// Tells something that was asked for.
    #[expect(clippy::unused_self, reason = "all that is told passes here")]
    pub(super) fn note(&mut self, path: &Path, text: impl Display) {
        tell(format_args!("{}: {text}", path.display()));
    }

    /// Lists a file: its size, that of what it decompresses to, what is saved, its name.
    pub(super) fn list(&mut self, packed: u64, plain: u64, saved: &str, path: &Path) {
        if self.listed.0 == 0 {
            self.line(format_args!(
                "{:>14} {:>14} {:>8}  name",
                "compressed", "uncompressed", "saved"
            ));
        }
        self.line(format_args!("{packed:>14} {plain:>14} {saved:>8}  {}", path.display()));
        self.listed = (self.listed.0 + 1, self.listed.1 + packed, self.listed.2 + plain);
    }

    /// Returns the sums of what was listed, if it was more than one file.
    pub(super) fn totals(&self) -> Option<(u64, u64)> {
        (self.listed.0 > 1).then_some((self.listed.1, self.listed.2))
    }

    /// Writes a line to standard output; a reader that has gone is no error of ours.
    pub(super) fn line(&mut self, text: impl Display) {
        if writeln!(io::stdout(), "{text}").is_err() {
            self.failed = true;
        }
    }

    /// Writes a line to standard error, as it is.
    #[expect(clippy::unused_self, reason = "all that is told passes here")]
    pub(super) fn raw(&mut self, text: impl Display) {
        tell(format_args!("{text}"));
    }

    /// Whether something failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match (self.failed, self.warned) {
            (true, _) => ExitCode::from(1),
            (false, true) => ExitCode::from(2),
            (false, false) => ExitCode::SUCCESS,
        }
    }
}

/// Prints a text that was asked for.
pub(super) fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}

/// Tells what is wrong with the arguments.
pub(super) fn usage(error: &impl Display) -> ExitCode {
    tell(format_args!("kgz: {error}\nhelp: `kgz --help` lists the options"));
    ExitCode::from(1)
}

fn tell(text: std::fmt::Arguments<'_>) {
    // There is nowhere else to say that standard error is closed.
    let _ = writeln!(io::stderr(), "{text}");
}
