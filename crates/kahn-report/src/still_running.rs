//! What is left when a run that was stopped has not ended in time.

use std::error::Error;
use std::fmt;

/// The processes that have not stopped when the time was up.
///
/// # Examples
///
/// ```
/// use kahn_report::StillRunning;
///
/// let left = StillRunning { processes: vec!["`loop` computes".to_owned()] };
/// assert!(left.to_string().starts_with("1 of the processes did not stop in time"));
/// ```
#[derive(Clone, Debug)]
pub struct StillRunning {
    /// Their names, and what they do.
    pub processes: Vec<String>,
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processes } = self;
        writeln!(f, "{} of the processes did not stop in time:", processes.len())?;
        f.write_str(&processes.join("\n"))
    }
}

impl Error for StillRunning {}
