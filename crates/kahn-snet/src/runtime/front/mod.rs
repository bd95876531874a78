//! Records, not components, are what is scheduled, as in FRONT: workers carry them from one to the next.
//!
//! | file         | says                                                                      |
//! |--------------|---------------------------------------------------------------------------|
//! | `run`        | a run, from the first record to the report                                |
//! | `shared`     | what all workers share: the input, the output, and where work may be      |
//! | `frame`      | what exists of a program: frames, entities, mailboxes (made on demand)     |
//! | `mailbox`    | where records wait for a worker                                           |
//! | `once`       | an entity, made by the thread that asks first                             |
//! | `worker`     | which thread carries a record, and where workers look for work            |
//! | `carry`      | how a record goes from one mailbox to the next; `failing`: how its mark does |
//! | `body`       | bodies of stars and feedbacks, and how they begin                         |
//! | `ownership`  | which worker may work at a mailbox                                        |
//! | `order`      | how deterministic combinators keep order under any nesting                |
//! | `stack`      | the mailboxes that a worker has work at, and what others steal of them     |
//! | `sleep`      | roles that sleep, and how it is known that nothing is left to do           |
//! | `calls`      | how boxes are called, several at once; `collector`: the order kept        |
//! | `emission`   | what a box emits; `backlog`: where that waits, and which calls wait for it |
//! | `threads`    | calls that wait until what they emit is taken, and threads in their place |
//! | `role`       | what a worker has; `handoff`: where it is while a box goes on that has emitted |
//!
//! Collectors are not components here: where streams meet without order, records simply go on.

mod backlog;
mod body;
mod calls;
mod carry;
mod collector;
mod emission;
mod failing;
mod frame;
mod handoff;
mod mailbox;
#[cfg(all(test, loom))]
mod models;
mod once;
mod order;
mod ownership;
mod role;
mod run;
mod shared;
mod sleep;
mod stack;
mod threads;
mod worker;

pub(super) use run::run;
