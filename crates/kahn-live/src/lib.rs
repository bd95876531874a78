//! A network while it runs: on a terminal, and as a page.
//!
//! | module | what |
//! |---|---|
//! | `terminal` | [`Screen`]: processes by what limits them, channels, workers, what is stuck; keys |
//! | `page` | [`Server`]: a page with the graph coloured by waiting, events, explanation, JSON, Prometheus' text |
//! | `options` | [`Live`]: the same by the options of a run |
//!
//! Both show what a [`Watch`](kahn_observe::sample::Watch) finds by looking from outside: names and counts, never
//! what is in messages. The run executes no instruction more for it.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../../docs/live.md")]
mod in_the_documents {}

mod limit;
mod options;
mod page;
mod terminal;

pub use options::Live;
pub use page::{Refused, Server};
pub use terminal::{Screen, leave};
