//! Random programs, interpreters of their own, and campaigns that hold the runtime against them.
//!
//! The interpreters are written from the model alone, and know nothing of the runtime: what both
//! get wrong must be wrong in the model. The crate is for tests and for `kahn-bench soak`, and is
//! not published.
//!
//! | module | what |
//! |---|---|
//! | [`draw`] | random choices that are counted by name |
//! | [`campaign`] | many cases, the first that fails made smaller, the counts |
//! | [`network`] | process networks |
//! | [`csp`] | communicating processes |
//! | `every_kind` | one network with processes of every kind |
//!
//! # Examples
//!
//! ```
//! use kahn_laws::{Extent, Networks, soak};
//! use std::time::Duration;
//!
//! let shrinking = Duration::from_secs(10);
//! let summary = soak(&Networks::default(), Extent { seed: 1, cases: 3, time: None, shrinking });
//! assert!(summary.is_good(), "{summary}");
//! ```

pub mod campaign;
pub mod csp;
pub mod draw;
mod every_kind;
pub mod network;

pub use campaign::{Campaign, Extent, Failure, Summary, Tally, Trouble, soak};
pub use csp::Communicating;
pub use draw::{Choice, Draw};
pub use every_kind::add_every_kind;
pub use network::Networks;

use kahn::policy::PolicyChoice;

/// Returns the policy of that name, as choices and schedules have it.
///
/// # Panics
/// Panics if there is none.
///
/// # Examples
///
/// ```
/// assert_eq!(kahn_laws::policy("batch").name(), "batch");
/// ```
pub fn policy(name: &str) -> PolicyChoice {
    kahn_policies::named(name).unwrap_or_else(|| panic!("there is no policy `{name}`"))
}
