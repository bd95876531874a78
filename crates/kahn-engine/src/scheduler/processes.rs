//! The processes of a network: how they are registered, and taken off the books.

use crate::scheduler::{BUILDING, Scheduler};
use crate::sync::{Access, Ordering::*};
use crate::task::table::{ProcessRecord, Table};
use crate::task::{Kind, TaskRef};
use kahn_report::{Ending, ProcessCounts};

impl Scheduler {
    /// Makes a process while the table is locked, and registers it.
    #[inline]
    pub fn enlist_new(&self, access: Access, make: impl FnOnce(&mut Table) -> TaskRef) -> TaskRef {
        let mut table = self.table.lock_as(access);
        let task = make(&mut table);
        self.add(&mut table, task);
        task
    }

    #[inline]
    pub(crate) fn add(&self, table: &mut Table, task: TaskRef) {
        table.add(task);
        // No read-modify-write: the table is locked.
        self.live.store(self.live.load(Relaxed) + 1, Relaxed);
    }

    /// Registers a process: it is alive from now on, and runs when the network does.
    #[inline]
    pub fn enlist(&self, task: TaskRef) {
        if task.kind() == Kind::Outside {
            // Not inside an operation, it counts as running.
            self.activity.wake();
        }
        self.add(&mut self.table.lock(), task);
    }

    /// Takes an ended process off the books, with what it did; ends the run after the last one.
    /// `is_named`: something that it has left behind names it for good.
    ///
    /// # Safety
    /// The caller holds the process, whose body is gone; it is retired once.
    #[inline]
    pub unsafe fn retire(
        &self,
        task: TaskRef,
        ending: &Ending,
        counts: impl Fn() -> ProcessCounts,
        is_named: bool,
        access: Access,
    ) {
        // Nothing wakes or unparks it any more; its block may be named for long by an end that was misused.
        task.cut_off();
        let mut table = self.table.lock_as(access);
        table.retire(task, ending, counts);
        if !is_named && task.drop_reference(access) {
            table.recycle(task);
        }
        // No read-modify-write but for the last: the table is locked.
        let left = self.live.load(Relaxed) - 1;
        if left > 0 {
            self.live.store(left, Relaxed);
            return;
        }
        let _ = self.live.swap(0, SeqCst);
        drop(table);
        self.end_after_last();
    }

    /// None is left: ends the run, if it has begun.
    #[cold]
    fn end_after_last(&self) {
        // SeqCst, as the start's look at `live`: one of the two sees that none is left.
        if self.phase.load(SeqCst) != BUILDING {
            self.end_run();
        }
    }

    /// Gives up one reference to a process; the last one recycles its memory.
    ///
    /// # Safety
    /// The reference is the caller's.
    pub unsafe fn release(&self, task: TaskRef, access: Access) {
        if task.drop_reference(access) {
            self.table.lock_as(access).recycle(task);
        }
    }

    /// What a process has done, for those that know no worker.
    pub fn counts_of(&self, task: TaskRef) -> ProcessCounts {
        task.counts(self.measures_times(), |counter| (self.tag.counted)(task, counter))
    }

    /// Takes the records of all listed processes, ended or not, in the order of their identities.
    pub fn take_records(&self) -> Vec<ProcessRecord> {
        self.table.lock().take_records(|task| self.counts_of(task))
    }
}
