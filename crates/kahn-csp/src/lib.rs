//! Communicating processes that may choose, in the manner of CSP and occam-pi.
//!
//! In a network of the crate `kahn` a process cannot ask whether a message is there, so its results
//! do not depend on the schedule. Here processes *choose*: they wait for the first of several things,
//! share ends, read clocks. What they compute may then depend on the schedule, on purpose. [`run()`]
//! gives its first process a [`Scope`], and nothing here works outside of such a run. Its report says
//! that it [chooses](Report::chooses). With one worker and a [seed](Options::seed) every choice is
//! repeatable.
//!
//! ```
//! use kahn_csp::{self as csp, OneOf2};
//! use std::time::Duration;
//!
//! let run = csp::run(csp::Options::new(), async |scope| {
//!     let (mut ask, mut questions) = csp::channel::<u32>("questions");
//!     let (mut tell, mut answers) = csp::channel::<u32>("answers");
//!     scope.spawn("oracle", async move {
//!         while let Ok(question) = questions.recv().await {
//!             tell.send(question * 6).await?;
//!         }
//!         Ok::<(), csp::Unsent<u32>>(())
//!     });
//!     ask.send(7).await.expect("the oracle listens");
//!     match csp::alt((answers.recv(), csp::after(Duration::from_secs(60)))).await {
//!         OneOf2::First(answer) => answer,
//!         OneOf2::Second(()) => panic!("the oracle is silent"),
//!     }
//! })?;
//! assert_eq!(run.result, Ok(42));
//! # Ok::<(), csp::RunError>(())
//! ```
//!
//! | occam-pi | here |
//! |---|---|
//! | `STOP` | [`std::future::pending`] |
//! | `PAR`, replicated `PAR` | [`Scope::par`] with a tuple, an array, a vector |
//! | `FORK`, `FORKING` | [`Scope::spawn`]; [`Scope::fork`] with a result; [`Scope::forks`] |
//! | `CHAN OF T`, `!`, `?` | [`channel()`], [`Sender::send`], [`Receiver::recv`] |
//! | `??` (extended rendezvous) | [`Receiver::recv_extended`] |
//! | `MTChanXChg` (exchange) | [`exchange()`] |
//! | `ALT`, `PRI ALT`, fair `ALT` | [`alt`], [`pri`], [`Fair::alt`] |
//! | guards: input, `AFTER`, `SKIP`, `condition &` | `recv()`, [`until`], [`skip`], [`Guard::when`] |
//! | multiway `SYNC` in an `ALT` | [`Barrier::sync`] as a guard |
//! | … and what occam has not | `send(…)`, `claim()`, [`Event::wait`], [`Forked::join`], [`after`], [`on`] a future; any mixture, at both ends |
//! | replicated `ALT` | [`any`] receivers; an array or a vector of guards |
//! | `PRI PAR`, `SETPRI`, `GETPRI` | [`Process::runs`] and [`Process::priority`], [`set_priority`], [`priority()`] |
//! | `SETAFF`, `GETAFF` | [`Process::worker`], [`set_affinity`], [`affinity`] |
//! | `SHARED`, `CLAIM` | [`Shared`], [`Shared::claim`] |
//! | `BARRIER`, `ENROLL`, `SYNC` | [`Barrier`]: `clone()`, [`Barrier::sync`], drop resigns |
//! | `MOBILE` data, `MOBILE` channel ends | messages are moved; ends are messages |
//! | semaphores, buckets, events, CREW locks | [`Semaphore`], [`Bucket`], [`Event`], [`Crew`] |
//! | timers | [`now`], [`after`], [`until`] |
//! | `RESCHEDULE` | [`yield_now`] |
//! | blocking system calls | [`blocking()`] |
//!
//! # When a channel ends
//!
//! Dropping an end closes its channel. A receiver gets what was sent before, and then
//! [`Gone::Closed`]; a sender gets its message back. An end may also be *poisoned*
//! ([`Sender::poison`]): a process that learns of poison passes it on by every end that it drops from then on,
//! so a whole network comes down in order. A process that panics poisons its ends.
//!
//! # How it works
//!
//! ```text
//!            poll: does a partner wait there?
//!   running ────────────yes──────────────► the message moves, the partner is made ready, on we go
//!      │  no: the poll returns
//!      ▼
//!   entered at the channel, behind its gate ──► asleep ──partner comes──► ready
//!      └── the partner has come meanwhile: polled again
//! ```
//!
//! The second of two partners moves the message and goes on; the first is queued with the worker of the
//! second. A wait for one thing alone costs one step behind the channel's gate. A process that waits for
//! several things has a *select state*, and a compare-and-swap there decides which of them it gets.
//!
//! | folder | answers |
//! |---|---|
//! | `language` | what does the engine keep for communicating processes, and which of them runs here? |
//! | `wait` | how does a process wait, for one thing or for several? |
//! | `choice` | how does a process choose between several things? |
//! | `channel` | how do a sender and a receiver communicate? |
//! | `sharing` | how do many processes share something, or go on together? |
//! | `network` | what do the processes of one network share? |
//! | `process` | how are processes created, and waited for? |
//! | `run` | how does a network run, and what is told of it? |
//! | [`testing`] | does a policy keep the scheduling laws? |
//!
//! Each uses only what stands above it. Protocols, with their proofs, stand at the top of the files.

// The programs of the chapter on communicating processes are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/csp.md")]
mod chapter {}

mod channel;
mod choice;
mod language;
#[cfg(all(test, loom))]
mod models;
mod network;
mod process;
mod run;
mod sharing;
pub mod testing;
mod wait;

pub use channel::ends::{Receiver, Sender, buffered, channel};
pub use channel::exchange::{Exchange, exchange};
pub use channel::extended::Extended;
pub use channel::gone::{Gone, Unsent};
pub use channel::operations::any;
pub use channel::poison::antidote;
pub use choice::alternation::{Fair, alt, pri};
pub use choice::guard::Guard;
pub use choice::ready::{on, skip};
pub use choice::several::{OneOf2, OneOf3, OneOf4, OneOf5, OneOf6};
pub use kahn_engine::policy;
pub use kahn_engine::task::ProcessResult;
pub use kahn_engine::{Accounting, Schedule};
pub use kahn_report::{
    Activity, Detail, Explanation, FailureReport, MeetingKind, MeetingReport, MeetingState, Name,
    ProcessEnd, ProcessReport, Report, RingMember, StillRunning, Summary, Waiting, WorkerReport,
};
pub use network::blocking::{Blocking, blocking};
pub use network::clock::Time;
pub use network::error::{Failed, RunError};
pub use network::sleeping::{after, now, until};
pub use process::forked::Forked;
pub use process::parallel::{Branch, Forks, Parallel};
pub use process::placement::{Priority, affinity, priority, set_affinity, set_priority};
pub use process::scope::{Process, Scope};
pub use process::yielding::yield_now;
pub use run::execute::{Run, run};
pub use run::handle::{Handle, handle};
pub use run::options::Options;
pub use sharing::barrier::Barrier;
pub use sharing::bucket::{Bucket, Event};
pub use sharing::claim::{Claim, Shared};
pub use sharing::crew::{Crew, Reading, Semaphore, Writing};
