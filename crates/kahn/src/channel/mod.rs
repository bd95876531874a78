//! HOW data moves: ports, the FIFO, growth, the end of a stream.
//!
//! | file | what |
//! |---|---|
//! | `sender`, `receiver` | the ends |
//! | `fast_path` | how their operations begin |
//! | `sending` | the operations that send, as futures |
//! | `received`, `slot` | the same in place: a message stays in its slot |
//! | `slow_path` | the slow path: look at the peer, wait, grow, end |
//! | `given` | messages that a sleeping receiver is given without a slot |
//! | `raw` | the memory of a channel, without its type |
//! | `listing` | ends with credit, which the worker takes away |
//! | `cold` | what is seldom needed of it |
//! | `counts` | what happened on it, in figures |
//! | `ring` | the slots |
//! | `growth` | the order in which messages take them in a channel that has grown |
//! | `closing` | how ends change hands and channels end |
//! | `endings` | what is kept of how processes ended, for what is told of failures |
//! | `events` | what a run tells subscribers of `tracing` |
//! | `capacities` | what a channel begins with |
//! | `table` | all channels of a network, and the byte budget |
//! | `outside` | ends for threads and tasks that are no process |
//! | `ports` | what a process is given |
//! | `weight` | what messages own, for the budget |
//! | `digest` | what histories are compared by |
//! | `wire` | the written form of messages |
//! | `untyped` | ends of a process that does again what it did, and has no types |
//! | `adapters` | `Stream` and `Sink` |

mod adapters;
pub(crate) mod capacities;
pub(crate) mod closing;
mod cold;
pub(crate) mod counts;
pub(crate) mod digest;
pub(crate) mod endings;
pub(crate) mod events;
mod fast_path;
mod given;
mod growth;
mod hold;
pub(crate) mod language;
mod listing;
pub(crate) mod observer;
mod outside;
mod ports;
pub(crate) mod process;
pub(crate) mod prune;
mod publication;
pub(crate) mod raw;
mod received;
mod receiver;
pub(crate) mod ring;
mod sender;
mod sending;
mod slot;
mod slow_path;
pub(crate) mod table;
pub(crate) mod untyped;
pub(crate) mod weight;
pub(crate) mod wire;
pub(crate) mod word;

pub use digest::{Digest, Digester};
pub use outside::{Ended, OutsidePorts, OutsideReceiver, OutsideSender, Party};
pub(crate) use ports::PortKind;
pub use ports::{Port, Ports};
pub use received::Received;
pub use receiver::Receiver;
pub use sender::Sender;
pub use slot::Slot;
pub use weight::Weigh;
