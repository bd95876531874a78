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
//! | `claim`, `side`, `interval` | a promise, the rows that it compares, the verdict |
//! | `measure`, `store`, `machine` | measurements, on disk, and whose they are |
//! | `plot`, `page` | what is written |
//! | `perform` | the one loop that carries all of them out |
//! | `judge` | from raw data to verdicts |
//! | `native`, `peers` | what the papers compare with: POSIX message queues, other programs |
//! | `papers` | the papers, by name |
//! | `studies` | the experiments, a file a workload |

mod claim;
mod counters;
mod experiment;
mod interval;
mod judge;
mod machine;
mod measure;
mod native;
mod page;
mod papers;
mod peers;
mod perform;
mod plot;
mod point;
mod rows;
mod side;
mod store;
mod studies;

pub use claim::{Claim, Finding, Verdict, show};
pub use experiment::{
    Bench, Experiment, Measured, Outcome, Paper, Plan, Refused, Size, Study, View,
};
pub use interval::Interval;
pub use judge::{Evaluation, Judged, judge};
pub use machine::Machine;
pub use measure::{Disturbance, Meanwhile};
pub use perform::{Order, Watcher, perform};
pub use plot::{Axis, Marks, Panel, Series, Spread};
pub use point::{Point, Value, float};
pub use rows::{Curve, Row, Rows, Run, Spot};
pub use side::{Pick, Side};
pub use store::read_plain;
pub use studies::EXPERIMENTS;
