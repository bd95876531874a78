//! What the papers compare with: threads and POSIX message queues, as the system has them.
//!
//! | file | what |
//! |---|---|
//! | `queue` | a POSIX message queue with two ends |
//! | `ring` | the ring over such queues, on threads and on the workers of a network |
//! | `encoder` | the graph of an H.264 encoder over such queues |
//! | `encryption` | AES over such queues |
//! | `limits` | what the machine refuses, and by which limit |

mod encoder;
mod encryption;
mod limits;
mod queue;
mod ring;

pub(crate) use encoder::thread_encoder;
pub(crate) use encryption::thread_encryption;
pub(crate) use limits::refused_thread;
pub(crate) use queue::LEAST_MESSAGE;
pub(crate) use ring::{network_ring, thread_ring};
