//! What does the engine keep for communicating processes, and which of them runs here?
//!
//! | file | what |
//! |---|---|
//! | `csp` | the language: what all workers of a network share of it, and what each has |
//! | `header` | the language's part of a process's header, and its bits |
//! | `running` | the process that runs on this thread, and its network |
//! | `common` | what the parts of one network have in common, as long as there is any of them |
//! | `registry` | places that may be gone: which of them there are |
//! | `deferred` | what is dropped where its network does not run |
//!
//! What the engine asks of the language is answered in `run::hooks`, for it takes all of the crate.
//!
//! `csp`, `header`, `common` and `deferred` know each other: the header is that of the language's
//! processes, and what was deferred is done by a worker of the language.

pub(crate) mod common;
pub(crate) mod csp;
pub(crate) mod deferred;
pub(crate) mod header;
pub(crate) mod registry;
pub(crate) mod running;
