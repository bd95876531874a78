//! What few processes have: a waker for foreign futures, a bell, processes of their own.
//!
//! It is made when it is first wanted, and stays with the block of the process until the table goes:
//! whoever looks at a stale header finds it there.

use super::foreign::Foreign;
use super::task::{Task, TaskRef};
use crate::sync::{Arc, AtomicU64, Cell, Mutex, Ordering::*, Parker};
use std::ptr::{self, NonNull};

/// What few processes have; made when it is first wanted.
pub(crate) struct Rare {
    /// Processes and channels it has created; the holder's.
    created: Cell<u64>,
    /// Ticks spent in polls, with accounting `timing`.
    pub(crate) busy: AtomicU64,
    foreign: Mutex<Option<Arc<Foreign>>>,
    /// What a thread or an outside party sleeps on.
    bell: Mutex<Option<Bell>>,
}

/// How a vertex that no worker runs is told that its wait is over.
#[derive(Clone)]
pub(crate) enum Bell {
    Thread(Arc<Parker>),
    Waker(std::task::Waker),
}

impl Rare {
    fn new() -> Self {
        Self {
            created: Cell::new(0),
            busy: AtomicU64::new(0),
            foreign: Mutex::new(None),
            bell: Mutex::new(None),
        }
    }

    /// For another process in the same block.
    pub(super) fn restart(&self) {
        self.created.set(0);
        self.busy.store(0, Relaxed);
        debug_assert!(self.foreign.lock().is_none(), "cut off when the old process ended");
    }
}

impl Task {
    /// Frees what stays with the block of a process when the table goes.
    ///
    /// # Safety
    /// Nobody looks at the block any more.
    pub(super) unsafe fn drop_rare(&self) {
        let rare = NonNull::new(self.rare.swap(ptr::null_mut(), Acquire));
        if let Some(rare) = rare {
            // SAFETY: it came from a box, and the caller says that nobody looks at it.
            drop(unsafe { Box::from_raw(rare.as_ptr()) });
        }
    }

    pub(super) fn rare_if_any(&self) -> Option<&Rare> {
        // Acquire pairs with the Release in `rare`. SAFETY: it stays until the table goes.
        unsafe { self.rare.load(Acquire).as_ref() }
    }

    /// The same, for who has written something that whoever makes it later has to see.
    ///
    /// A process that is about to wait leaves its bell or its foreign waker here and then looks once
    /// more; whoever ends its wait writes why and then comes here. If there is nothing yet, this is
    /// the earlier of two read-modify-writes, and the later one sees what was written before it; if
    /// there is, the lock of the bell or the waker orders them.
    fn rare_after_all(&self) -> Option<&Rare> {
        let none = ptr::null_mut();
        let rare = self.rare.compare_exchange(none, none, AcqRel, Acquire).err()?;
        // SAFETY: it stays until the table goes.
        unsafe { rare.as_ref() }
    }

    /// What few processes have; from now on this one has it.
    pub(crate) fn rare(&self) -> &Rare {
        self.rare_if_any().unwrap_or_else(|| self.make_rare())
    }

    #[cold]
    fn make_rare(&self) -> &Rare {
        let made = Box::into_raw(Box::new(Rare::new()));
        // Release: who finds it finds it written. Acquire: so do we, if another was first.
        match self.rare.compare_exchange(ptr::null_mut(), made, AcqRel, Acquire) {
            // SAFETY: it stays until the table goes.
            Ok(_) => unsafe { &*made },
            Err(first) => {
                // SAFETY: made above, and nobody else knows it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: it stays until the table goes.
                unsafe { &*first }
            }
        }
    }

    /// The holder: how many processes and channels it has created before this one.
    pub(crate) fn count_created(&self) -> u64 {
        let created = &self.rare().created;
        created.replace(created.get() + 1)
    }

    /// Ticks spent in polls, with accounting `timing`.
    pub(crate) fn busy(&self) -> u64 {
        self.rare_if_any().map_or(0, |rare| rare.busy.load(Relaxed))
    }

    /// What a thread or an outside party sleeps on, if it does.
    pub(super) fn bell(&self) -> Option<Bell> {
        self.rare_after_all()?.bell.lock().clone()
    }

    pub(crate) fn set_bell(&self, bell: Bell) {
        *self.rare().bell.lock() = Some(bell);
    }

    /// Nobody rings it any more.
    pub(super) fn forget_bell(&self) {
        if let Some(rare) = self.rare_if_any() {
            *rare.bell.lock() = None;
        }
    }

    /// The waker for foreign futures, made at the first use.
    pub(crate) fn foreign(&self, task: TaskRef) -> Arc<Foreign> {
        let mut slot = self.rare().foreign.lock();
        Arc::clone(slot.get_or_insert_with(|| Foreign::new(task)))
    }

    /// The waker for foreign futures, if one was made.
    pub(crate) fn foreign_if_any(&self) -> Option<Arc<Foreign>> {
        self.rare_after_all()?.foreign.lock().as_ref().map(Arc::clone)
    }

    pub(crate) fn take_foreign(&self) -> Option<Arc<Foreign>> {
        self.rare_if_any()?.foreign.lock().take()
    }
}
