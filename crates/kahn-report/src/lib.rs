//! What a run tells: names and identities of processes and channels, how processes ended, which
//! waits for which, and the report with its tables and its JSON.
//!
//! The data of all runtimes of Kahn, without any of them: nothing here runs, locks or counts, but that a
//! [ring](log::Ring) is written by one thread and read by others, and that texts of other ranks are kept once. Users
//! see these types by way of the crate whose networks they run; `kahn` re-exports them.
//!
//! | module | what it tells |
//! |---|---|
//! | `name` | what a process or a channel is called |
//! | `identity` | which it is, in every run the same |
//! | `ending` | how a process ended |
//! | `failure` | why a process failed, and the error itself |
//! | `misuse` | what a process did that the schedule could show through |
//! | `explanation` | which process waits for which |
//! | `still_running` | what did not stop in time |
//! | `families` | which names belong together |
//! | `human` | figures as people say them |
//! | `report` | what happened in a run, and what it cost |
//! | `picture` | a network as SVG |
//! | [`observe`] | what is told of a run while it happens |
//! | `both` | … two observers as one |
//! | `acts` | … and of it, what processes do that are joined to what is outside of their network |
//! | `look` | what a run does at one moment, for what samples it |
//! | [`log`] | … and what threads write down of it themselves |
//! | `slice` | … and of it, a time in which a thread ran a process |
//! | `subject` | which process or channel an observer is told of |
//! | `written` | messages in their written form, as an observer is told of them |
//! | `portable` | values as bytes, which another rank reads |
//! | [`ranks`] | a network whose processes run on several ranks |
//! | `beside` | … and messages that borrow from what every rank has, as bytes |
//!
//! Reports are made by runtimes and read by all others. All that is counted is one table
//! ([`COUNTERS`]), from which fields, columns and JSON are made. A new counter is a new field, so a new
//! version: `kahn-report` is pinned exactly by the crates that fill it.

#![deny(unsafe_code)]

mod acts;
mod batch;
mod beside;
mod both;
mod ending;
mod explanation;
mod failure;
mod families;
mod human;
mod identity;
pub mod log;
mod look;
mod misuse;
#[allow(unsafe_code, reason = "a name has two words and points to its text itself")]
mod name;
pub mod observe;
mod picture;
mod portable;
pub mod ranks;
mod report;
mod slice;
mod still_running;
mod subject;
mod written;

pub use both::Both;
pub use ending::{Ending, ProcessEnd};
pub use explanation::{Activity, Explanation, Held, RingMember, Waiting};
pub use failure::{AtMessage, BoxError, Failure, FailureReport};
pub use identity::Identity;
pub use misuse::{Misuse, MisuseKind};
pub use name::Name;
pub use picture::{Picture, VertexKind};
pub use portable::Portable;
pub use report::{
    COUNTERS, ChannelReport, Counter, Detail, GrowthReport, Kept, MeetingKind, MeetingReport,
    MeetingState, Owner, ProcessCounter, ProcessCounts, ProcessReport, Rebalances, Report, Summary,
    Unit, WorkerReport,
};
pub use still_running::StillRunning;
