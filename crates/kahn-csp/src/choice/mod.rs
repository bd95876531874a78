//! How does a process choose between several things?
//!
//! | file | what |
//! |---|---|
//! | `guard` | what can stand in an alternation, and under a condition |
//! | `operation` | an operation in progress: as a future, and as a guard |
//! | `ready` | guards at which no process is entered: `skip`, futures of other libraries |
//! | `several` | several guards as one: tuples, arrays, vectors |
//! | `alternation` | choosing: look, enter, leave, finish |

pub(crate) mod alternation;
pub(crate) mod guard;
pub(crate) mod operation;
pub(crate) mod ready;
pub(crate) mod several;
