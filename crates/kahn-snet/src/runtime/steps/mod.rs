//! What both runtimes run: a program as operations, and what each does with a record.
//!
//! | file         | says                                                                      |
//! |--------------|---------------------------------------------------------------------------|
//! | `graph`      | what a program is: operations that know what follows them (static)         |
//! | `shape`      | records as shape and values; `expression`: tag expressions bound to a shape |
//! | `filter`     | what a filter makes; `pattern`: branches, stars, splits: where a record goes |
//! | `boxes`      | what a box takes and makes, and how it is called; `watch`: for how long    |
//! | `cell`       | synchro-cells, and stars of them fused into one                           |
//! | `answers`    | all of this for a shape, worked out once                                  |
//! | `tickets`    | the slots of a record in orders; `within`: the replicas it is in         |
//! | `failure`    | what ends a run; `marks`: what a run that fails still writes              |
//! | `observe`    | records shown, or looked at, as they pass                                 |

pub(super) mod answers;
pub(super) mod boxes;
pub(super) mod cell;
pub(super) mod expression;
pub(super) mod failure;
pub(super) mod filter;
pub(super) mod graph;
pub(super) mod marks;
pub(super) mod observe;
pub(super) mod pattern;
pub(super) mod shape;
pub(super) mod tickets;
pub(super) mod watch;
pub(super) mod within;
