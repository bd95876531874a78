//! What the parts of one network have in common, as long as there is any of them.
//!
//! Ends, barriers, claims and handles are values: they may be dropped on any thread, and after the run
//! that they were made in. So each has a counted reference to this, and no two networks share anything.
//!
//! | what refers to it | from | until |
//! |---|---|---|
//! | the network and its language | the run begins | the run is over |
//! | a channel | it is made | its second end is gone; see `channel::blocks` |
//! | a barrier, a claim, a bucket | it is made | its last handle is gone |
//! | the handle of a process | the process is created | it is dropped, or has given its result |

use crate::language::deferred::{Calls, Deferred};
use crate::language::registry::Registry;
use kahn_engine::sync::Arc;
use std::any::Any;
use std::fmt;

/// What the parts of one network have in common. See the module.
///
/// In a line of its own: it is read whenever a part is used, beside the count of references that
/// processes change which create others.
#[repr(align(64))]
pub(crate) struct Common {
    /// The number of the network.
    pub(crate) number: u32,
    /// What drawn choices begin with.
    pub(crate) seed: u64,
    /// The claims, barriers and buckets that there are.
    pub(crate) registry: Registry,
    /// What is dropped where the network does not run.
    pub(crate) calls: Calls,
    /// The memory of its channels, of a type that channels know.
    memory: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Common {
    /// That of a network which does not run yet, with memory for its channels, and what its choices are drawn from.
    pub(crate) fn new(number: u32, seed: u64, memory: impl Any + Send + Sync) -> Arc<Self> {
        let (registry, calls) = (Registry::new(), Calls::new());
        Arc::new(Self { number, seed, registry, calls, memory: Box::new(memory) })
    }

    /// The memory of its channels.
    #[cfg_attr(loom, expect(dead_code, reason = "in a model each channel has memory of its own"))]
    pub(crate) fn memory<M: Any>(&self) -> &M {
        self.memory.downcast_ref().expect("a network has one kind of channels")
    }

    /// Defers a call to the network, or makes it here if that has ended. Takes a reference of its own,
    /// for the call may give up the last of the others.
    pub(crate) fn defer(self: Arc<Self>, call: Deferred) {
        self.calls.defer(call);
    }
}
