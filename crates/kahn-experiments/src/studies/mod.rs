//! The experiments, a file a workload: what is measured, how it is drawn, what the paper says.
//!
//! A new one is a `Study` and an `Experiment` in a file here, and a line in [`EXPERIMENTS`].

mod message;
mod options;
mod pipeline;
mod program;
mod ring;
mod scatter;
mod transaction;
mod words;

use crate::experiment::Experiment;

/// All experiments, in the order in which lists show them.
///
/// ```
/// let names: Vec<_> = kahn_experiments::EXPERIMENTS.iter().map(|one| one.name).collect();
/// assert!(names.contains(&"nornir-transaction"));
/// ```
pub static EXPERIMENTS: &[&Experiment] = &[
    &transaction::TRANSACTION,
    &message::COPY_OR_MOVE,
    &scatter::FIGURE_5,
    &pipeline::FIGURE_14,
    &words::FIGURE_15,
    &words::TABLE_1,
    &words::FIGURE_8,
    &ring::FIGURE_3,
];
