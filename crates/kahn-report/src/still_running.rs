//! What is left when a run that was stopped has not ended in time.

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
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} of the processes did not stop in time:\n{}", processes.len(), processes.join("\n"))]
pub struct StillRunning {
    /// Their names, and what they do.
    pub processes: Vec<String>,
}
