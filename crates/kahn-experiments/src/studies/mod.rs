//! The experiments, a file a workload: what is measured, how it is drawn, what the paper says.
//!
//! A new one is a `Study` and an `Experiment` in a file here, and a line in [`EXPERIMENTS`].

mod aes;
mod agents;
mod communicating;
mod film;
mod h264;
mod kmeans;
mod message;
mod options;
mod pipeline;
mod policies;
mod program;
mod random;
mod rendezvous;
mod ring;
mod scatter;
mod snet;
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
    &message::COPY_OR_MOVE,
    &transaction::TRANSACTION,
    &scatter::FIGURE_5,
    &policies::STEALING,
    &h264::FIGURE_7,
    &random::FIGURE_9,
    &random::TRAFFIC_PATTERNS,
    &h264::FIGURE_10,
    &aes::FIGURE_11,
    &random::FIGURE_12,
    &random::FIGURE_13,
    &pipeline::FIGURE_14,
    &words::FIGURE_15,
    &kmeans::NORNIR_TABLE_1,
    &words::TABLE_1,
    &words::FIGURE_8,
    &kmeans::TABLE_3,
    &kmeans::FIGURE_9,
    &kmeans::TABLE_4,
    &ring::FIGURE_3,
    &aes::FIGURE_4,
    &h264::FIGURE_5,
    &snet::FIGURE_7,
    &snet::FIGURE_8,
    &snet::FIGURE_9,
    &snet::FIGURE_10,
    &rendezvous::TABLE_1,
    &film::FIGURE_12,
    &rendezvous::FIGURE_13,
    &agents::FIGURE_15,
    &agents::FIGURE_16,
];
