//! What each process does and waits for while a run goes on, by looking at it many times a second.
//!
//! | module | what |
//! |---|---|
//! | `sampler` | adds up what looks find |
//! | `view` | what that comes to: shares, rates, rings |
//! | `ranks` | views of other ranks, on their way and put together |
//! | `watch` | looks 50 times a second, or less often if that would take more than a hundredth of a core |
//!
//! A run is not changed by it, and tells nothing: it is looked at from outside
//! ([`kahn_report::observe::Sampled`]), which costs a message no instruction. What is found is a sample: of
//! 50 looks a second, a process that computes for a fifth of the time is found computing in 10, give or take 3.
//! What processes did between two looks is not known, unlike in a [trace](crate::trace).

mod ranks;
mod sampler;
mod view;
mod watch;

pub use ranks::RankViews;
pub use sampler::{MOST, Sampler};
pub use view::{ChannelView, Part, ProcessView, RingView, Shares, View, WorkerView};
pub use watch::{LOOKS_A_SECOND, Watch};
