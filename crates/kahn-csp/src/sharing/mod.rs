//! How do many processes share something, or go on together?
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `claim` | something that is used by one at a time | first come first served |
//! | `crew` | semaphores, and locks for readers and writers | |
//! | `phases`, `barrier` | all go on when all have come, alone or in an alternation | phases never overlap; all or none |
//! | `bucket` | many wait, one lets all of them go | |

pub(crate) mod barrier;
pub(crate) mod bucket;
pub(crate) mod claim;
pub(crate) mod crew;
pub(crate) mod phases;
