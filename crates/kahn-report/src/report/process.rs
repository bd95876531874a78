//! What a report tells of failures, and of processes that move.

#[cfg(feature = "json")]
use serde::Serialize;

/// What it came to that processes were shared out among the workers while the network ran.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// network.process("idle", (), async |()| {});
/// let report = network.run()?;
/// // The default policy steals and does not share out anew.
/// assert!(report.rebalances.is_none());
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct Rebalances {
    /// Times the workers had been idle for long enough to look for a better share.
    pub asked: u64,
    /// Times a better one was found: the repartitions.
    pub changed: u64,
    /// Processes that had to move, all together.
    pub moved: u64,
    /// Seconds that this took.
    pub seconds: f64,
}
