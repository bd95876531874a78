//! A gate that opens when a run is over.

use kahn_engine::sync::{Condvar, Mutex};
use std::time::Duration;

/// A gate that opens once, when the run is over.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    open: Mutex<bool>,
    bell: Condvar,
}

impl Gone {
    pub(crate) fn open(&self) {
        *self.open.lock() = true;
        self.bell.notify_all();
    }

    /// Waits until it opens or for `time`; tells whether it is open.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let mut open = self.open.lock();
        self.bell.wait_while_for(&mut open, |open| !*open, time);
        *open
    }
}
