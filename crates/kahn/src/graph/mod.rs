//! What exists: names and identities of processes and channels, what follows from the plain graph
//! alone, and the words in which the layers above tell what became of it.

mod bridges;
mod dot;
mod ending;
mod explanation;
mod identity;
mod misuse;
mod name;

pub(crate) use bridges::bridges;
pub(crate) use dot::{Arrow, Box as DotBox, Shape, dot};
pub use ending::ProcessEnd;
pub(crate) use ending::{Ending, Failure};
pub use explanation::{Activity, Explanation, Held, RingMember, Waiting};
pub(crate) use identity::Identity;
pub use misuse::{Misuse, MisuseKind};
pub use name::Name;
