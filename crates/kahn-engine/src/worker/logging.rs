//! What a worker writes down of what processes do, for a [`Log`].
//!
//! The worker is the one that writes its ring, so a record takes no lock and no look-up. The log is told which
//! process stands where when that is polled first.

use crate::sync::system::clock;
use crate::sync::{Arc, Ordering::Relaxed};
use crate::task::TaskRef;
use crate::worker::WorkerCore;
use kahn_report::log::{Log, Ring};
use kahn_report::observe::Subject;

impl WorkerCore {
    /// Where this worker writes down what processes do, if it does.
    #[inline(always)]
    pub fn ring(&self) -> Option<&Ring> {
        if !self.logged {
            return None;
        }
        match self.ring.get() {
            Some(ring) => Some(ring),
            None => self.first_ring(),
        }
    }

    #[cold]
    fn first_ring(&self) -> Option<&Ring> {
        let worker = (!self.is_dedicated()).then_some(self.index);
        let ring = self.log()?.ring(worker);
        Some(self.ring.get_or_init(|| ring))
    }

    fn log(&self) -> Option<&Arc<dyn Log>> {
        self.scheduler.config_if_any()?.log.as_ref()
    }

    /// Writes down that the wait of a process is over, which the caller has ended.
    #[inline]
    pub(crate) fn log_wake(&self, task: TaskRef) {
        if let Some(ring) = self.ring() {
            self.log_wake_in(ring, task);
        }
    }

    fn log_wake_in(&self, ring: &Ring, task: TaskRef) {
        // Parties outside are never polled.
        // Relaxed: whether it was polled ever is known to the one that owns it.
        let is_party = |task: TaskRef| task.polls.load(Relaxed) == 0;
        if is_party(task) {
            self.log_name(task);
        }
        let by = match self.current() {
            Some(by) => {
                if is_party(by) {
                    self.log_name(by);
                }
                by.address()
            }
            None => 0,
        };
        ring.wake(task.address(), (self.language.waited)(task), by, clock::ticks);
    }

    /// Tells which process this is.
    #[cold]
    pub fn log_name(&self, task: TaskRef) {
        if let Some(log) = self.log() {
            log.process(task.address(), clock::ticks(), task.subject());
        }
    }

    /// Tells which channel stands at this address.
    #[inline]
    pub fn log_channel(&self, address: usize, channel: Subject<'_>) {
        if let Some(log) = self.log_if_any() {
            log.channel(address, clock::ticks(), channel);
        }
    }

    /// Where it is written down, if it is.
    fn log_if_any(&self) -> Option<&Arc<dyn Log>> {
        if self.logged { self.log() } else { None }
    }

    /// Writes down that the running process has marked this moment.
    pub fn log_mark(&self, label: &'static str, number: u64) {
        if let (Some(ring), Some(log)) = (self.ring(), self.log()) {
            log.mark(ring, clock::ticks(), label, number);
        }
    }
}
