//! Models of queues and of sleep, checked by loom: every interleaving within a bound.
//!
//! | file | what is checked | threads |
//! |---|---|---|
//! | `bias` | what a worker has for itself against thieves | 2 to 3 |
//! | `biased_lock` | the owner of a lock against those that come to it | 2 to 3 |
//! | `deque` | the owner against thieves, round and round | 2 to 3 |
//! | `fifo` | the same of the queue of those that wait, and what becomes of what is stolen | 2 to 3 |
//! | `window` | the owner of a migration window against thieves | 2 to 3 |
//! | `parker` | a thread that sleeps against those that wake it | 2 to 3 |
//! | `shared_loop` | a worker and a thread that turn an event loop, against one that makes events | 3 |
//!
//! `taking` is what the models of queues share. Models of whole networks are those of `kahn`.

mod bias;
mod biased_lock;
mod deque;
mod fifo;
mod parker;
mod shared_loop;
mod taking;
mod window;

use crate::model::check;
