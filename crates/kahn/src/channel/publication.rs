//! What the running process has done and its peers do not know of yet.
//!
//! A worker remembers the ends with such operations and publishes them when the poll is over, or
//! when another thread asks for it.

use super::language::Worker;
use std::cell::Cell;

/// Ends of one process with unpublished operations that a worker remembers.
const LISTED: usize = 8;

/// An end with operations that its peer does not know of yet.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    pub(super) end: *const (),
    /// Publishes what the end has done.
    pub(super) publish: unsafe fn(*const (), &Worker),
}

/// The ends of the running process that have something to publish.
#[derive(Default)]
pub(super) struct Published {
    listed: [Cell<Option<Listed>>; LISTED],
    count: Cell<usize>,
}

impl Published {
    /// Remembers an end that may have operations to publish.
    pub(super) fn list(&self, end: Listed, worker: &Worker) {
        let count = self.count.get();
        if count == LISTED {
            self.flush(worker);
            return self.list(end, worker);
        }
        self.listed[count].set(Some(end));
        self.count.set(count + 1);
    }

    /// Forgets an end that is about to close or to change hands.
    pub(super) fn unlist(&self, end: *const ()) {
        let mut kept = 0;
        for index in 0..self.count.get() {
            if let Some(listed) = self.listed[index].take()
                && listed.end != end
            {
                self.listed[kept].set(Some(listed));
                kept += 1;
            }
        }
        self.count.set(kept);
    }

    /// Publishes everything that the running process has done.
    #[inline]
    pub(super) fn flush(&self, worker: &Worker) {
        if self.count.get() > 0 {
            self.publish_listed(worker);
        }
    }

    #[inline(never)]
    fn publish_listed(&self, worker: &Worker) {
        let count = self.count.replace(0);
        for place in &self.listed[..count] {
            if let Some(Listed { end, publish }) = place.take() {
                // SAFETY: listed by a live end of the running process; ends that close or change
                // hands are taken off first.
                unsafe { publish(end, worker) };
            }
        }
    }
}
