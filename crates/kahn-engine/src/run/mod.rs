//! The run, as far as it is the same for every language.
//!
//! | file | what |
//! |---|---|
//! | `schedule` | [`Schedule`]: workers, policy, seed, what is counted |
//! | `plan` | [`RunPlan`]: the policy and the threads that a schedule comes to, or why there are none |
//! | `outline` | the part of a report that does not depend on the language |
//!
//! A language plans, adds what it has to say to the [`Settings`](crate::Settings), configures its
//! scheduler, runs it with [`Scheduler::timed_run`](crate::Scheduler::timed_run), clears away and fills in the rest of the report.

mod outline;
mod plan;
mod schedule;

pub use outline::{end_what_is_left, outline, process_report, take_listed};
pub use plan::{Refused, RunPlan};
pub use schedule::Schedule;
