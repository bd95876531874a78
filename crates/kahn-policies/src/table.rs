//! The table of all policies, by name: those of this crate, and those that the engine has by itself.

use kahn_engine::policy::{PolicyChoice, SEEDED, SEQUENTIAL, SHARED, STEALING, THREADS};

/// All policies, in the order in which lists show them.
///
/// # Examples
///
/// ```
/// let names: Vec<_> = kahn_policies::POLICIES.iter().map(|policy| policy.name()).collect();
/// assert_eq!(names[..3], ["stealing", "ws-cur", "ws-last"]);
/// ```
pub const POLICIES: &[PolicyChoice] = &[
    STEALING,
    crate::WS_CUR,
    crate::WS_LAST,
    crate::STATIC,
    // METIS is no subject of models.
    #[cfg(all(feature = "partition", not(loom)))]
    crate::PARTITION,
    crate::BATCH,
    SHARED,
    THREADS,
    SEQUENTIAL,
    SEEDED,
];

/// Returns the policy of that name, if there is one.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let policy = kahn_policies::named("batch").expect("it is in the table");
/// let report = Network::new().run_with(Options::new().policy(policy))?;
/// assert_eq!(report.policy, "batch");
/// assert!(kahn_policies::named("best").is_none());
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn named(name: &str) -> Option<PolicyChoice> {
    POLICIES.iter().find(|policy| policy.name() == name).cloned()
}
