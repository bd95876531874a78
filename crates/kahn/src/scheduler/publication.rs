//! What the running process has done and its peers do not know of yet.
//!
//! A worker remembers the ends with such operations and publishes them when the poll is over, or
//! when somebody asks for it.

use super::Worker;
use super::request::Listed;
use super::worker::LISTED;

impl Worker {
    /// Remembers an end that may have operations to publish.
    pub(crate) fn list(&self, end: Listed) {
        let count = self.listed_count.get();
        if count == LISTED {
            self.flush();
            return self.list(end);
        }
        self.listed[count].set(Some(end));
        self.listed_count.set(count + 1);
    }

    /// Forgets an end that is about to close or to change hands.
    pub(crate) fn unlist(&self, end: *const ()) {
        let mut kept = 0;
        for index in 0..self.listed_count.get() {
            if let Some(listed) = self.listed[index].take()
                && listed.end != end
            {
                self.listed[kept].set(Some(listed));
                kept += 1;
            }
        }
        self.listed_count.set(kept);
    }

    /// Publishes everything that the running process has done.
    #[inline]
    pub(crate) fn flush(&self) {
        if self.listed_count.get() > 0 {
            self.publish_listed();
        }
    }

    #[inline(never)]
    fn publish_listed(&self) {
        let count = self.listed_count.replace(0);
        for place in &self.listed[..count] {
            if let Some(Listed { end, publish }) = place.take() {
                // SAFETY: listed by a live end of the running process; ends that close or change
                // hands are taken off first.
                unsafe { publish(end, self) };
            }
        }
    }
}
