//! The tables and figures of the papers, measured again.
//!
//! An [`Experiment`] is data: points to measure, panels to draw, and claims to compare with the
//! paper. [`EXPERIMENTS`] is the one table of them; the command, its help and the tests walk it.
//! [`perform()`] carries them out:
//!
//! ```text
//!   EXPERIMENTS ──► measure what is not on disk ──► rows ──► panels ──► CSV, SVG, PNG
//!                   a line each, at once              └────► claims ──► page, summary
//! ```
//!
//! | module | what |
//! |---|---|
//! | `experiment` | what an experiment is |
//! | `point`, `rows` | parameters; measurements summed up |
//! | `claim` | a promise, what we find, the verdict |
//! | `store`, `machine` | measurements on disk, and whose they are |
//! | `plot`, `page`, `summary` | what is written |
//! | `perform` | the one loop that carries all of them out |
//! | `native` | what the papers compare with: POSIX message queues |
//! | `studies` | the experiments, a file a workload |

mod claim;
mod experiment;
mod machine;
mod measure;
mod native;
mod page;
mod papers;
mod perform;
mod plot;
mod point;
mod rows;
mod store;
mod studies;
mod summary;

pub use claim::{Claim, Verdict, show};
pub use experiment::{
    Bench, Experiment, Measured, Outcome, Paper, Plan, Refused, Size, Statistic, Study, View,
};
pub use machine::Machine;
pub use perform::{Order, Watcher, perform};
pub use plot::{Axis, Marks, Panel, Series, Spread};
pub use point::{Point, Value, float};
pub use rows::{Curve, Row, Rows, Spot};
pub use studies::EXPERIMENTS;
