//! The scheduling policies of the papers, over the public trait of `kahn-engine` and nothing else.
//!
//! A policy decides which ready process runs next, and on which worker; no choice it makes can change
//! a result. Each is a value that a run is given, and a row of [`POLICIES`], which has those that the
//! engine has by itself, too:
//!
//! ```
//! use kahn::{Network, Options};
//! use kahn_policies::WS_LAST;
//!
//! let mut network = Network::new();
//! let numbers = network.source("numbers", 0..10_u64);
//! let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
//! let report = network.run_with(Options::new().policy(WS_LAST))?;
//! assert_eq!((sum.take(), report.policy.as_str()), (Some(45), "ws-last"));
//! # Ok::<(), kahn::RunError>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | `ws_cur`, `ws_last` | work stealing of the Nornir papers; `work_stealing`: what both share |
//! | `static` | a worker for each process, for good; `placement`: which |
//! | `partition` | parts of the graph, cut anew when workers idle; `parts`: how (feature `partition`) |
//! | `placed` | what `static` and `partition` share: a worker for each process |
//! | `batch` | CCSP's batches; `batches`: the run queue of a worker |
//! | `queues` | a locked queue for each worker: of all but `batch` |
//! | `graph` | which processes are neighbours, and in which order they stand |

#![forbid(unsafe_code)]

mod batch;
mod batches;
mod graph;
#[cfg(all(feature = "partition", not(loom)))]
mod partition;
#[cfg(all(feature = "partition", not(loom)))]
mod parts;
mod placed;
mod placement;
mod queues;
mod r#static;
mod work_stealing;
mod ws_cur;
mod ws_last;

pub use batch::BATCH;
#[cfg(all(feature = "partition", not(loom)))]
pub use partition::{DEFAULT_TAU, PARTITION, partition_after};
#[cfg(all(feature = "partition", not(loom)))]
pub use parts::better_parts;
pub use placement::{Place, Placement, PlacementError};
pub use r#static::{STATIC, static_by, static_folded};
pub use ws_cur::WS_CUR;
pub use ws_last::WS_LAST;

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
    WS_CUR,
    WS_LAST,
    STATIC,
    // METIS is no subject of models.
    #[cfg(all(feature = "partition", not(loom)))]
    PARTITION,
    BATCH,
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
