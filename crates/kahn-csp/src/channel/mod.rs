//! How do a sender and a receiver communicate?
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `gone` | what an operation comes to | |
//! | `word` | the lock of a channel, which a process that sleeps leaves to its partner | one read-modify-write a meeting |
//! | `rendezvous` | where a sender and a receiver meet, whatever their messages | no wake-up lost, no process run twice |
//! | `users` | which process uses an end | |
//! | `entering` | how a process is entered there, and taken out again | |
//! | `record`, `blocks` | what is told of a channel; the memory of all of them | |
//! | `attempt` | what sending, receiving and swapping do behind the gate | what is looked at first |
//! | `slot` | where the message of an operation that waits stands | |
//! | `typed` | the same by the type of the messages; closing; held senders | |
//! | `poison` | how the end of one process reaches all that depend on it | |
//! | `ends`, `extended`, `exchange` | what users have | |
//! | `operations` | sending, receiving, receiving from any of several | |
//!
//! `rendezvous` and `blocks` know each other, for a block is a rendezvous, and so do `ends`, `extended`
//! and `operations`, for the ends begin operations on themselves.

pub(crate) mod attempt;
pub(crate) mod blocks;
pub(crate) mod ends;
mod entering;
pub(crate) mod exchange;
pub(crate) mod extended;
pub(crate) mod gone;
pub(crate) mod operations;
pub(crate) mod poison;
pub(crate) mod record;
pub(crate) mod rendezvous;
mod slot;
pub(crate) mod typed;
mod users;
pub(crate) mod word;
