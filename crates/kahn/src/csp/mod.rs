//! CHOICE: communicating processes, in the manner of CSP and occam.
//!
//! Elsewhere in this crate a process cannot ask whether a message is there, and so its results do
//! not depend on the schedule. Here processes *choose*: they wait for whatever comes first, share
//! ends, look at clocks. What they compute may then depend on the schedule, on purpose. So all of
//! it stands behind one door: [`run()`] gives its first process a [`Scope`], and nothing here works
//! outside of such a run. Its report says that it [chooses](crate::Report::chooses). With one
//! worker and a [seed](crate::RunOptions::seed) every choice is repeatable.
//!
//! ```
//! use kahn::csp::{self, OneOf2};
//! use std::time::Duration;
//!
//! let run = csp::run(kahn::RunOptions::new(), async |scope| {
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
//! # Ok::<(), kahn::RunError>(())
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
//! | … and what occam has not | `send(…)`, `claim()`, [`Event::wait`], [`after`], [`on`] a future; any mixture, at both ends |
//! | replicated `ALT` | [`any`] receivers; an array or a vector of guards |
//! | `PRI PAR`, `SETPRI`, `GETPRI` | [`Process::runs`] and [`Process::priority`], [`set_priority`], [`priority()`] |
//! | `SETAFF`, `GETAFF` | [`Process::worker`], [`set_affinity`], [`affinity`] |
//! | `SHARED`, `CLAIM` | [`Shared`], [`Shared::claim`] |
//! | `BARRIER`, `ENROLL`, `SYNC` | [`Barrier`]: `clone()`, [`Barrier::sync`], drop resigns |
//! | `MOBILE` data, `MOBILE` channel ends | messages are moved; ends are messages |
//! | semaphores, buckets, events, CREW locks | [`Semaphore`], [`Bucket`], [`Event`], [`Crew`] |
//! | timers | [`now`], [`sleep`], [`until`] |
//! | `RESCHEDULE` | [`yield_now`] |
//! | blocking system calls | [`blocking()`] |
//!
//! # When a channel ends
//!
//! Dropping an end closes its channel. A receiver gets what was sent before, and then
//! [`Gone::Closed`]; a sender gets its message back. An end may also be *poisoned*
//! ([`Sender::poison`]): whoever meets poison passes it on by every end that it drops from then on,
//! so a whole network comes down in order. A process that panics poisons its ends.
//!
//! # How it works
//!
//! ```text
//!            poll: is my partner there?
//!   running ────────────yes──────────────► the message moves, the partner is made ready, on we go
//!      │  no: the poll returns
//!      ▼
//!   entered at the channel, behind its gate ──► asleep ──partner comes──► ready
//!      └── the partner has come meanwhile: polled again
//! ```
//!
//! The second of two that meet does the work and carries on; the first is queued with the worker
//! that met it. A wait for one thing alone costs one step behind the channel's gate; a wait for
//! several is an *offer*, and a compare-and-swap decides who gets it.
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `gate` | a lock of one word with flags to look at | who is behind it |
//! | `offer` | the offer of a process that waits for several things | taken once; two offers that want each other; no partner missed |
//! | `meeting`, `memory` | where a sender and a receiver meet | no wake-up lost, nobody run twice |
//! | `channel`, `ends` | the same by the type of the messages; closing; held senders | |
//! | `attempt` | what sending, receiving and swapping do behind the gate | what is looked at first |
//! | `wait` | what all operations have in common when they wait | |
//! | `alternation`, `guard`, `several` | choosing | look, enter, leave, finish |
//! | `claim` | shared ends | first come first served |
//! | `barrier`, `meet` | meeting of many, by those who wait for it alone and those who offer it | phases never overlap; all or none |
//! | `timer`, `heap` | deadlines | counted while they may still come |
//! | `blocking` | calls on threads of their own | |
//! | `process`, `parallel`, `body` | creating processes, joining them | whose the result is |
//! | `run`, `core`, `handle`, `outside` | the run, its verdict, what is done elsewhere | |
//! | `tally` | the channels of a report | |
//! | `explain`, `look`, `known` | who waits for what, and who for ever | looked at twice |

mod alternation;
mod attempt;
mod barrier;
mod blocking;
mod body;
mod bucket;
mod channel;
mod claim;
mod core;
mod ends;
mod error;
mod exchange;
mod explain;
mod extended;
mod gate;
mod guard;
mod handle;
mod heap;
mod known;
mod language;
mod library;
mod look;
mod meet;
mod meeting;
mod memory;
#[cfg(all(test, loom))]
mod models;
mod offer;
mod outside;
mod parallel;
mod placement;
mod poison;
mod process;
mod run;
mod several;
mod tally;
mod timer;
mod wait;
mod yielding;

pub use alternation::{Alternating, Fair, alt, pri};
pub use barrier::{Barrier, Syncing};
pub use blocking::{Blocking, blocking};
pub use bucket::{Bucket, Event, Falling};
pub use claim::{Claim, Claiming, Shared};
pub use ends::{Receiver, Receiving, Sender, Sending, buffered, channel};
pub use error::{Failed, Gone, Unsent};
pub use exchange::{Exchange, Swapping, exchange};
pub use extended::{Extended, ReceivingExtended};
pub use guard::{Any, Entering, Guard, Leaving, Looking, On, Skip, When, any, on, skip};
pub use handle::{Handle, handle};
pub use library::{Crew, Permit, Reading, Semaphore, Writing};
pub use look::Awaited;
pub use parallel::{Branch, Forks, Parallel, Runs};
pub use placement::{Priority, affinity, priority, set_affinity, set_priority};
pub use poison::antidote;
pub use process::{Forked, Joining, Process, Scope};
pub use run::{Run, run, stop};
pub use several::{OneOf1, OneOf2, OneOf3, OneOf4, OneOf5, OneOf6};
pub use timer::{Sleeping, Time, after, now, sleep, until};
pub use yielding::{Yielding, yield_now};
