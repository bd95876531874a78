//! Tests of networks: every schedule, one process as a function, a watchdog for hangs.
//!
//! | file | what |
//! |---|---|
//! | `schedule` | [`Schedules`]: the ways to run a network |
//! | `verify` | runs it in all of them |
//! | `parts` | … with several numbers of parts that share its work |
//! | `compare` | [`Difference`]: what two runs do not have in common |
//! | `function` | [`run_process`]: from histories to histories |
//! | `watchdog` | [`within`]: a hang becomes an explanation |
//!
//! What a network computes is the same under every policy, for every number of workers and every
//! capacity, as long as its processes talk through their ports alone. [`verify()`] finds those that
//! do not, and [`assert_same`] makes a test of it:
//!
//! ```
//! use kahn::testing;
//!
//! let squares = testing::assert_same(
//!     |network| {
//!         let numbers = network.source("numbers", 0..50_u64);
//!         let squares = network.parallel_map("square", numbers, 3, |n| n * n);
//!         network.collect("all", squares)
//!     },
//!     |all| all.take(),
//! );
//! assert_eq!(squares, Some((0..50).map(|n| n * n).collect()));
//! ```
//!
//! No test of a network needs to sleep or to measure time: the policy `seeded` runs it in an order
//! that is drawn from a seed, so a schedule that shows an error can be run again.

mod compare;
mod function;
mod parts;
mod schedule;
mod verify;
mod watchdog;

pub use compare::{Difference, Mismatch, Unlike};
pub use function::{Histories, run_process, try_run_process};
pub use schedule::{Case, Schedules};
pub use verify::{Cut, Ran, Verified, VerifyError, assert_same, verify};
pub use watchdog::{Watchdog, within};
