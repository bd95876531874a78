//! Grace periods: how it is known that every worker has left its operation.
//!
//! A *grace period* ends when each worker has been outside of all operations since it began. What is
//! stored before it begins is seen by every operation that goes on after its end. A worker passes it
//! when the language has it do so, at a [`Probe`](crate::Probe): it is in no operation then. One
//! that sleeps is in no operation either, and wakes under the lock of the list of sleepers. A worker that
//! has entered that list looks whether a thread that had not found it there waits for it. (The quiescent
//! states of user-space RCU: Desnoyers et al. 2012.)

use crate::scheduler::Scheduler;
use crate::sync::Ordering::*;

impl Scheduler {
    /// Begins a grace period; its number.
    pub fn begin_grace(&self) -> u64 {
        // Release pairs with the Acquire of `WorkerCore::pass_grace`.
        self.grace_periods.fetch_add(1, AcqRel) + 1
    }

    /// The last grace period that has ended.
    pub fn last_grace(&self) -> u64 {
        let sleepers = self.sleepers.lock();
        let awake = self.slots().iter().enumerate().filter(|(index, _)| !sleepers.contains(index));
        // Acquire pairs with the Release of `WorkerCore::pass_grace`.
        awake.map(|(_, slot)| slot.passed.load(Acquire)).min().unwrap_or(u64::MAX)
    }
}
