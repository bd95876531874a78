//! Process networks that run on all cores, never hang for lack of buffer space, and explain
//! themselves.
//!
//! A network is sequential processes joined by channels. Each process is ordinary sequential code
//! that receives and sends; the runtime runs thousands of them on a few threads. Three promises:
//!
//! 1. **Same input, same output**, for every number of workers, every policy, every capacity.
//! 2. **Never stuck for lack of buffer space**: a full channel in a ring of waits grows.
//! 3. **It explains itself**: a network that cannot go on says which process waits for which, and why.
//!
//! ```
//! use kahn::Network;
//!
//! let mut network = Network::new();
//! let numbers = network.source("numbers", 1..=10_u64);
//! let squares = network.map("square", numbers, |n| n * n);
//! let sum = network.fold("sum", squares, 0, |sum, n| sum + n);
//! network.run()?;
//! assert_eq!(sum.take(), Some(385));
//! # Ok::<(), kahn::RunError>(())
//! ```
//!
//! Start with [`Network`]; the processes of [`process`] save writing the same ten lines, and
//! [`testing`] runs a network under many schedules and compares.

mod channel;
// Private, so that the compiler shows this line to what still names it.
mod csp {} // has moved: `cargo add kahn-csp`, and `use kahn_csp as csp;`
mod deadlock;
mod graph;
#[cfg(all(test, loom))]
pub(crate) mod models;
mod network;
pub mod testing;

// The network of the README is compiled and run with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from.md")]
mod coming_from {}

// So that the derive macro's `::kahn::` paths work inside this crate as well.
extern crate self as kahn;

pub use channel::{
    Digest, Digester, Ended, OutsidePorts, OutsideReceiver, OutsideSender, Party, Port, Ports,
    Received, Receiver, Sender, Slot, Weigh,
};
pub use deadlock::Detection;
#[cfg(feature = "derive")]
pub use kahn_derive::Digest;
pub use kahn_engine::policy;
pub use kahn_engine::task::ProcessResult;
pub use kahn_engine::{Accounting, Schedule};
pub use kahn_report::observe;
pub use kahn_report::ranks;
pub use kahn_report::{
    Activity, AtMessage, BoxError, ChannelReport, Detail, Explanation, FailureReport, GrowthReport,
    Held, Misuse, MisuseKind, Name, ProcessEnd, ProcessReport, Rebalances, Report, RingMember,
    StillRunning, Summary, Waiting, WorkerReport,
};
pub use network::{
    Channel, Network, Options, Problem, Process, Progress, RankRun, Requests, RunError, Running,
    Scope, Spawner, StopHandle, process,
};

/// Gives the worker to others for a moment: the process goes to the end of the queue.
///
/// What it has sent so far becomes visible. For long computations without channel operations.
///
/// # Examples
///
/// ```
/// # use kahn::Network;
/// # let mut network = Network::new();
/// network.process("long", (), async |()| {
///     for _part in 0..3 {
///         // … compute a part …
///         kahn::yield_now().await;
///     }
/// });
/// # network.run()?;
/// # Ok::<(), kahn::RunError>(())
/// ```
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
