//! How much a run counts about itself.

/// How much a run counts about itself.
///
/// # Examples
///
/// ```
/// use kahn::{Accounting, Network, Options};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let report = network.run_with(Options::new().accounting(Accounting::Timing))?;
/// assert_eq!(report.channels[0].received, 100);
/// assert!(report.processes.iter().any(|process| process.cpu_seconds > Some(0.0)));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accounting {
    /// Messages alone, which channels count anyway.
    Off,
    /// Blocks, polls, steals, the most messages that waited, local and remote messages.
    #[default]
    Counters,
    /// The same, and the processor time of every poll: two reads of the cycle counter each, and one
    /// of the thread's own clock in a millisecond, by which what a thread did not run is taken off.
    /// Without it, times are unknown: `-` in the table and null in JSON.
    Timing,
}
