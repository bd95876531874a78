//! Real programs on process networks, and their sequential twins.
//!
//! One folder is one problem. Each has a `sequential` variant, written as one would without a
//! runtime, and a `network` variant that must print the same bytes, whatever the number of
//! workers, the policy or the capacities:
//!
//! | folder             | problem                                      | the network                          |
//! |--------------------|----------------------------------------------|--------------------------------------|
//! | [`wordcount`]      | how often each word stands in some files     | split, count, sum and sort, merge    |
//! | [`kmeans`]         | groups of points around their means          | a cycle: iterate and assign          |
//! | [`sieve`]          | prime numbers                                | grows as it runs: a process a prime  |
//! | [`hamming`]        | numbers with no prime factor beyond five     | a cycle whose channels grow          |
//! | [`ring`]           | tokens go round; what a message costs        | one ring, full if one likes          |
//! | [`scatter_gather`] | tasks in rounds; what a barrier costs        | a root and many around it            |
//! | [`pipeline`]       | stages in a row; what a message's size costs | a row                                |
//! | [`random_network`] | work through layers at random                | drawn from a seed, with cycles       |
//! | [`aes`]            | encryption of a file or a block              | a root and many around it            |
//! | [`h264_graph`]     | frames through a video encoder's graph       | twenty stages, three of them divided |
//! | [`streamit`]       | five problems of signals and bits            | filters with rates, split-joins      |
//!
//! The others are communicating processes, which may choose ([`kahn_csp`]); they too see to it that
//! their results depend on nothing but their arguments:
//!
//! | folder             | problem                                      | the processes                        |
//! |--------------------|----------------------------------------------|--------------------------------------|
//! | [`ring`]           | the ring, where a sender awaits its receiver | as above; full, it is a deadlock     |
//! | [`commstime`]      | what a communication costs                   | four in a ring                       |
//! | [`philosophers`]   | sharing that ends in a deadlock, or not      | one a philosopher, who claims forks  |
//! | [`bank`]           | many clients of one server                   | one a client; the bank alternates    |
//! | [`agents`]         | agents who see each other and move           | one an agent, two a location         |
//! | [`mandelbrot`]     | a film of the set                            | farmer, workers, harvester           |
//! | [`proxy`]          | connections forwarded elsewhere              | a door, one a connection             |
//!
//! Two of the networks, [`wordcount`] and [`kmeans`], have a third variant, `mapreduce`: what
//! [`kahn_mapreduce`] makes of the same problem.
//!
//! Those of [`streamit`] and those that may choose are compiled with the features `streamit` and
//! `communicating`, which are on by default, and off in the command unless it has its feature `full`. Boxes and
//! streams for programs in S-Net are in the module `snet`, with the feature of that name.
//!
//! [`APPS`] is the one table of them: the command, its help and the tests walk it, and a program
//! that is not in the table does not exist. A program is used in two steps: [`App::prepare`]
//! reads and checks all input and gives a [`Program`], which [`run()`] then runs; so bad input is
//! known before anything has started.

pub mod aes;
#[cfg(feature = "communicating")]
pub mod agents;
mod app;
#[cfg(feature = "communicating")]
pub mod bank;
pub mod checksum;
#[cfg(feature = "communicating")]
pub mod commstime;
mod execution;
pub mod h264_graph;
pub mod hamming;
mod input;
pub mod kmeans;
#[cfg(feature = "communicating")]
pub mod mandelbrot;
#[cfg(feature = "communicating")]
pub mod philosophers;
pub mod pipeline;
#[cfg(feature = "communicating")]
pub mod proxy;
pub mod random;
pub mod random_network;
pub mod ring;
pub mod scatter_gather;
pub mod sieve;
mod slot;
#[cfg(feature = "snet")]
pub mod snet;
mod stop;
#[cfg(feature = "streamit")]
pub mod streamit;
mod table;
pub mod wordcount;
pub mod work;
pub mod zipf;

#[cfg(feature = "communicating")]
pub use app::failed;
pub use app::{
    Answer, App, Compare, Pending, Prepare, Program, Settings, Variant, Writer, at_least_one,
};
use app::{MOST_PROCESSES, whole};
pub use execution::{Ran, build, run};
pub use input::{Files, Input};
pub use kahn::Progress;
pub use kahn_command::{Failure, output};
pub use slot::{Giver, Slot};
pub use stop::{Asked, Seen, Stop, Stopper};
pub use table::APPS;
