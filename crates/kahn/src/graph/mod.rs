//! What exists: names and identities of processes and channels, and what follows from the plain
//! graph alone.

mod bridges;
mod dot;
mod ending;
mod identity;
mod misuse;
mod name;

pub(crate) use bridges::bridges;
pub(crate) use dot::{Arrow, Box as DotBox, Shape, dot};
pub(crate) use ending::{Ending, Failure};
pub(crate) use identity::Identity;
pub use misuse::{Misuse, MisuseKind};
pub use name::Name;
