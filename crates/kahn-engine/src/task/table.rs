//! The table of processes: which are alive, and what is left of those that were.

use crate::memory::BlockPool;
use crate::sync::panics::Defect;
use crate::task::host::Host;
use crate::task::{BodyType, Header, Plan, Task, TaskRef, attribute};
use kahn_report::{Ending, Identity, Name, ProcessCounts};
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

/// What is kept of a process for the report.
#[derive(Clone, Debug)]
pub struct ProcessRecord {
    /// What tells it from others.
    pub identity: Identity,
    /// Its name.
    pub name: Name,
    /// `None` while it lives.
    pub ending: Option<Ending>,
    /// Bits of the language's own.
    pub attributes: u8,
    /// What it did; a tick is counted as a nanosecond.
    pub counts: ProcessCounts,
}

kahn_report::portable_structs! { ProcessRecord { identity, name, ending, attributes, counts } }

/// Everything about processes that is not on the path of a message.
#[derive(Debug)]
pub struct Table {
    pool: BlockPool,
    ended: Vec<ProcessRecord>,
    /// How many ended processes are listed one by one; the rest are summed up.
    pub(crate) limit: usize,
    /// Number and sums of the ended processes that are not listed.
    pub folded: (u64, ProcessCounts),
    /// Processes that were created before the run.
    fixed: u32,
    /// What helpers counted that have ended, by the identity of the process that they worked for.
    helped: BTreeMap<Identity, ProcessCounts>,
    /// Processes ever created.
    pub created: u64,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            pool: BlockPool::default(),
            ended: Vec::new(),
            // Outside parties may end before the start, which sets it: they are listed.
            limit: usize::MAX,
            folded: (0, ProcessCounts::default()),
            fixed: 0,
            helped: BTreeMap::new(),
            created: 0,
        }
    }

    /// The identity of the next process that is created before the run.
    pub fn next_fixed(&mut self) -> Identity {
        self.fixed += 1;
        Identity::fixed(self.fixed - 1)
    }

    /// What [`next_fixed`](Self::next_fixed) returns next.
    pub fn coming_fixed(&self) -> Identity {
        Identity::fixed(self.fixed)
    }

    /// Makes the header of a new process of `host`; its body is still to be written behind it. A party outside
    /// has none.
    ///
    /// `plan` is called when the process has its memory, so that nothing of it stands elsewhere while that is looked
    /// for. If it panics, the program ends.
    #[inline]
    pub fn make<L: Header>(
        &mut self,
        host: *const Host,
        body: Option<&'static BodyType>,
        plan: impl FnOnce(&mut Self) -> Plan,
    ) -> TaskRef {
        let size = body.map_or(size_of::<Task>(), |body| body.size);
        let block = self.pool.take(size, host.cast());
        // The block is in use, and has no header yet.
        let defect = Defect;
        let plan = plan(self);
        mem::forget(defect);
        // SAFETY: the pool gives whole blocks of that size to one owner, and recycles a block only
        // for a process, so a recycled one holds an old header.
        unsafe { Task::place::<L>(block.start, block.recycled, body, plan) }
    }

    pub(crate) fn add(&mut self, task: TaskRef) {
        task.set_listed();
        self.created += u64::from(task.attributes() & (attribute::PART | attribute::HELPER) == 0);
    }

    /// Every header that something may still name.
    fn headers(&self) -> impl Iterator<Item = TaskRef> {
        // SAFETY: the blocks of this pool begin with headers, written before the table was unlocked.
        self.pool.in_use().map(|block| unsafe { TaskRef::new(block.cast()) })
    }

    /// Whether nothing names a process that was here.
    #[cfg(loom)]
    pub fn is_empty(&self) -> bool {
        self.headers().next().is_none()
    }

    /// All that are alive, in the same order in every run that creates the same.
    pub fn all(&self) -> Vec<TaskRef> {
        self.headers().filter(|task| task.is_listed()).collect()
    }

    /// Those that are alive among the places of the table, and how many places are taken; by a process
    /// that has ended, too, while something names it.
    pub fn part(&self, places: Range<usize>) -> (impl Iterator<Item = TaskRef>, usize) {
        // SAFETY: as in `headers`.
        let headers = self.pool.part(places).map(|block| unsafe { TaskRef::new(block.cast()) });
        (headers.filter(|task| task.is_listed()), self.pool.len())
    }

    /// Whether this is a process that is alive.
    pub fn lists(&self, task: TaskRef) -> bool {
        task.is_listed()
    }

    /// The processes that have ended, and that something still names.
    pub fn ended(&self) -> Vec<TaskRef> {
        self.headers().filter(|task| task.has_ended()).collect()
    }

    /// Takes an ended process off the table and keeps its record, or what it counted.
    #[inline]
    pub(crate) fn retire(
        &mut self,
        task: TaskRef,
        ending: &Ending,
        counts: impl Fn() -> ProcessCounts,
    ) {
        debug_assert!(task.is_listed());
        task.set_ended();
        let matters = !matches!(ending, Ending::Finished | Ending::Pruned);
        let is_helper = task.attributes() & attribute::HELPER != 0;
        if is_helper || matters || self.ended.len() < self.limit {
            return self.keep(task, ending, &counts);
        }
        self.folded.0 += 1;
        self.folded.1.add(&counts());
    }

    #[cold]
    fn keep(&mut self, task: TaskRef, ending: &Ending, counts: &impl Fn() -> ProcessCounts) {
        let counts = counts();
        if task.attributes() & attribute::HELPER == 0 {
            self.ended.push(task.record(Some(ending.clone()), counts));
        } else {
            self.helped.entry(task.info().identity).or_default().add(&counts);
        }
    }

    /// Takes back the memory of a process that nothing names any more.
    #[inline]
    pub fn recycle(&mut self, task: TaskRef) {
        task.clear();
        // SAFETY: taken by `make`, and nothing names it any more.
        unsafe { self.pool.give(task.non_null().cast()) };
    }

    /// Takes the records of all listed processes, ended or not, in the order of their identities.
    pub(crate) fn take_records(
        &mut self,
        counts: impl Fn(TaskRef) -> ProcessCounts,
    ) -> Vec<ProcessRecord> {
        let mut records = mem::take(&mut self.ended);
        let mut alive = self.all();
        alive.retain(|task| task.attributes() & attribute::HELPER == 0);
        records.extend(alive.into_iter().map(|task| task.record(None, counts(task))));
        records.sort_by_cached_key(|record| record.identity);
        for record in records.iter_mut().filter(|_| !self.helped.is_empty()) {
            if let Some(counts) = self.helped.get(&record.identity) {
                record.counts.add(counts);
            }
        }
        records
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // The pool frees blocks, and knows nothing of what headers own.
        for task in self.headers() {
            task.clear();
        }
    }
}

impl TaskRef {
    /// What is to be told about it.
    fn record(self, ending: Option<Ending>, counts: ProcessCounts) -> ProcessRecord {
        let info = self.info();
        ProcessRecord {
            identity: info.identity,
            name: info.name.clone(),
            ending,
            attributes: self.attributes(),
            counts,
        }
    }
}
