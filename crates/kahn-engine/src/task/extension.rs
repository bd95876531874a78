//! What few processes have: a waker for foreign futures, an unparker, processes of their own.
//!
//! It is made when it is first wanted, and stays with the block of the process until the table goes:
//! a thread that looks at a stale header finds it there.

use crate::counters::Apart;
use crate::sync::system::clock;
use crate::sync::{Arc, AtomicPtr, AtomicU64, Cell, Mutex, Ordering::*, Parker};
use crate::task::foreign::Foreign;
use crate::task::{Task, TaskRef};
use kahn_report::{Identity, Kept, ProcessCounter, ProcessCounts};
use std::ptr;

/// What few processes have; made when it is first wanted.
pub struct Extension {
    /// Processes and channels it has created; the holder's.
    created: Cell<u64>,
    /// One of these, whose identity the next one's differs from in its order alone; the holder's.
    child: Cell<Identity>,
    /// What is counted apart from the header.
    pub(crate) counts: Apart,
    /// When an outside party began or ended an operation last, in ticks; 0: never.
    used: AtomicU64,
    foreign: Mutex<Option<Arc<Foreign>>>,
    /// What a thread or an outside party sleeps on.
    unparker: Mutex<Option<Unparker>>,
    /// The next in the list of all.
    next: Cell<*mut Extension>,
}

/// All that were ever made, until the network's memory goes: so no thread has to look through all blocks
/// for the few that have one.
#[derive(Debug, Default)]
pub(crate) struct Extensions(AtomicPtr<Extension>);

impl Extensions {
    /// Takes over what was made for a block.
    pub(crate) fn add(&self, made: &Extension) {
        let made_at = ptr::from_ref(made).cast_mut();
        let mut first = self.0.load(Relaxed);
        loop {
            made.next.set(first);
            // Release: the thread that frees them finds what came next.
            match self.0.compare_exchange(first, made_at, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }
}

impl Drop for Extensions {
    fn drop(&mut self) {
        let mut next = self.0.load(Acquire);
        while !next.is_null() {
            // SAFETY: it came from a box, was added once, and the blocks that point to it are no
            // longer looked at.
            let extension = unsafe { Box::from_raw(next) };
            next = extension.next.get();
        }
    }
}

/// How a vertex that no worker runs is told that its wait is over.
#[derive(Debug, Clone)]
pub enum Unparker {
    /// The thread of a process, or one outside, that sleeps.
    Thread(Arc<Parker>),
    /// A task of another executor.
    Waker(std::task::Waker),
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extension").finish_non_exhaustive()
    }
}

impl Extension {
    fn new() -> Self {
        Self {
            created: Cell::new(0),
            child: Cell::new(Identity::fixed(0)),
            counts: Apart::new(),
            used: AtomicU64::new(0),
            foreign: Mutex::new(None),
            unparker: Mutex::new(None),
            next: Cell::new(ptr::null_mut()),
        }
    }

    /// For another process in the same block.
    #[inline]
    pub(crate) fn restart(&self) {
        self.created.set(0);
        self.counts.restart();
        self.used.store(0, Relaxed);
        debug_assert!(self.foreign.lock().is_none(), "cut off when the old process ended");
    }

    #[inline(never)]
    fn cut_off(&self) {
        if let Some(foreign) = self.foreign.lock().take() {
            foreign.close();
        }
        *self.unparker.lock() = None;
    }
}

impl Task {
    #[inline]
    pub(crate) fn extension_if_any(&self) -> Option<&Extension> {
        // Acquire pairs with the Release in `extension`. SAFETY: it stays until the table goes.
        unsafe { self.extension.load(Acquire).as_ref() }
    }

    /// The same, for a thread that has written something which the one that makes it later has to see.
    ///
    /// A process that is about to wait leaves its unparker or its foreign waker here and then looks once
    /// more; the thread that ends its wait writes why and then comes here. If there is nothing yet, this is
    /// the earlier of two read-modify-writes, and the later one sees what was written before it; if
    /// there is, the lock of the unparker or the waker orders them.
    fn extension_after_all(&self) -> Option<&Extension> {
        let none = ptr::null_mut();
        let extension = self.extension.compare_exchange(none, none, AcqRel, Acquire).err()?;
        // SAFETY: it stays until the table goes.
        unsafe { extension.as_ref() }
    }

    /// Ticks spent in polls, with accounting `timing`.
    #[inline]
    pub fn busy(&self) -> u64 {
        self.counted_apart(ProcessCounter::cpu_seconds)
    }

    /// What was counted of one that is kept apart.
    #[inline]
    pub(crate) fn counted_apart(&self, counter: ProcessCounter) -> u64 {
        self.extension_if_any().map_or(0, |extension| extension.counts.of(counter).load(Relaxed))
    }

    /// When an outside party began or ended an operation last, in ticks.
    #[inline]
    pub fn last_operation(&self) -> Option<u64> {
        self.extension_if_any()
            .map(|extension| extension.used.load(Relaxed))
            .filter(|ticks| *ticks > 0)
    }

    /// What a thread or an outside party sleeps on, if it does.
    #[inline]
    pub(crate) fn unparker(&self) -> Option<Unparker> {
        self.extension_after_all()?.unparker.lock().clone()
    }

    /// Nothing unparks it any more.
    #[inline(always)]
    pub(crate) fn forget_unparker(&self) {
        if let Some(extension) = self.extension_if_any() {
            *extension.unparker.lock() = None;
        }
    }

    /// The waker for foreign futures, if one was made.
    #[inline]
    pub fn foreign_if_any(&self) -> Option<Arc<Foreign>> {
        self.extension_after_all()?.foreign.lock().as_ref().map(Arc::clone)
    }

    /// Nothing wakes or unparks it any more: it has ended.
    #[inline]
    pub(crate) fn cut_off(&self) {
        if let Some(extension) = self.extension_if_any() {
            extension.cut_off();
        }
    }
}

impl TaskRef {
    /// What the process has done so far: its CPU time if that is `timed`, and what the language counts.
    /// A tick is counted as a nanosecond: [`Elapsed`](crate::scheduler::Elapsed) converts all of a run alike.
    #[inline]
    pub(crate) fn counts(
        self,
        timed: bool,
        of_language: impl Fn(ProcessCounter) -> u64,
    ) -> ProcessCounts {
        ProcessCounts::of(|counter| match (counter, counter.kept()) {
            (ProcessCounter::polls, _) => Some(self.polls.load(Relaxed)),
            (ProcessCounter::migrations, _) => Some(self.migrations.load(Relaxed).into()),
            (ProcessCounter::cpu_seconds, _) => timed.then(|| self.busy()),
            (_, Kept::Apart | Kept::Header) => Some(self.counted_apart(counter)),
            (_, Kept::Language) => Some(of_language(counter)),
        })
    }

    /// The holder: adds to a counter that is kept apart.
    #[inline]
    pub fn count_apart(self, counter: ProcessCounter, more: u64) {
        let count = self.extension().counts.of(counter);
        // Relaxed, and no read-modify-write: only the holder of the process writes.
        count.store(count.load(Relaxed) + more, Relaxed);
    }

    /// What few processes have; from now on this one has it.
    #[inline]
    pub fn extension<'a>(self) -> &'a Extension {
        // SAFETY: blocks live as long as the scheduler, which outlives every reference in use.
        let task = unsafe { &*self.as_ptr() };
        task.extension_if_any().unwrap_or_else(|| self.make_extension())
    }

    #[cold]
    fn make_extension<'a>(self) -> &'a Extension {
        let made = Box::into_raw(Box::new(Extension::new()));
        // Release: a thread that finds it finds it written. Acquire: so do we, if another was first.
        match self.extension.compare_exchange(ptr::null_mut(), made, AcqRel, Acquire) {
            Ok(_) => {
                // SAFETY: it stays until the scheduler goes.
                let made = unsafe { &*made };
                self.host().scheduler().expect("its processes live in it").keep(made);
                made
            }
            Err(first) => {
                // SAFETY: made above, and no other thread knows it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: it stays until the table goes.
                unsafe { &*first }
            }
        }
    }

    /// The holder: the identity of the next thing that it creates.
    pub fn next_child(self) -> Identity {
        let extension = self.extension();
        let coming = self.coming_in(extension);
        extension.created.set(extension.created.get() + 1);
        coming
    }

    /// The holder: what [`next_child`](Self::next_child) returns next.
    pub fn coming_child(self) -> Identity {
        self.coming_in(self.extension())
    }

    fn coming_in(self, Extension { created, child, .. }: &Extension) -> Identity {
        let number = created.get();
        #[expect(clippy::cast_possible_truncation, reason = "what is above is in the others")]
        let order = number as u32;
        if order == 0 {
            child.set(self.info().identity.child(number));
        }
        child.get().with_order(order)
    }

    /// An outside party begins or ends an operation.
    #[inline]
    pub fn note_operation(self) {
        self.extension().used.store(clock::ticks(), Relaxed);
    }

    /// Says how the process is told that its wait is over.
    #[inline]
    pub fn set_unparker(self, unparker: Unparker) {
        *self.extension().unparker.lock() = Some(unparker);
    }

    /// The waker for foreign futures, made at the first use.
    #[inline]
    pub fn foreign(self) -> Arc<Foreign> {
        let mut slot = self.extension().foreign.lock();
        Arc::clone(slot.get_or_insert_with(|| Foreign::new(self)))
    }
}
