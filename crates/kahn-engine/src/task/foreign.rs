//! The `Waker` that futures of other libraries get.
//!
//! What processes of one network wait for never uses it: there a process is a plain pointer.
//! The waker is an allocation of its own, made when a foreign future first clones it, so it may
//! outlive the process and the run; waking it then does nothing.
//!
//! | state | means | leaves by |
//! |---|---|---|
//! | `RUNNING` | the process is polled, ready, or parked | `wake` → `NOTIFIED`, its worker → `WAITING` |
//! | `NOTIFIED` | woken meanwhile: the next foreign wait returns at once | its worker → `RUNNING` |
//! | `WAITING` | it waits for a wake-up alone, and a clone of the waker is about | `wake` → `RUNNING` and it is ready; last clone dropped → `ORPHAN` |
//! | `ORPHAN` | it waits, and no waker of it is left: nothing can ever wake it | a mark of the language → `RUNNING` |
//! | `CLOSED` | the process has ended | never |
//!
//! The thread that moves `WAITING` or `ORPHAN` to `RUNNING` owns the process and makes it ready. Processes
//! in `WAITING` are pending in the activity: while there are any, there is no verdict.

use crate::sync::{Arc, AtomicPtr, AtomicU8, AtomicUsize, Ordering::*, PlainAtomicBool};
use crate::task::host::Runs;
use crate::task::{Task, TaskRef, mark};
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{RawWaker, RawWakerVTable, Waker};

const RUNNING: u8 = 0;
const NOTIFIED: u8 = 1;
const WAITING: u8 = 2;
const ORPHAN: u8 = 3;
const CLOSED: u8 = 4;

/// What clones of a process's waker share.
#[derive(Debug)]
pub struct Foreign {
    state: AtomicU8,
    clones: AtomicUsize,
    /// Whether a waker was asked for since the last wake-up; a hint, for explanations.
    was_asked: PlainAtomicBool,
    task: TaskRef,
    scheduler: Arc<dyn Runs>,
}

impl Foreign {
    /// Makes the waker of a process.
    pub(crate) fn new(task: TaskRef) -> Arc<Self> {
        Arc::new(Self {
            state: AtomicU8::new(RUNNING),
            clones: AtomicUsize::new(0),
            was_asked: PlainAtomicBool::new(false),
            task,
            scheduler: task.host().scheduler().expect("its processes live in it"),
        })
    }

    /// The process's worker: the process waits for a wake-up and nothing else. Returns `false` if
    /// it was woken meanwhile and has to run again.
    pub fn wait(&self) -> bool {
        self.scheduler.activity().expect();
        // Either we see that no clone is left, or the thread that drops the last sees that we wait: the
        // two read-modify-writes of `clones` have an order, and the second sees what was done
        // before the first.
        if self.state.compare_exchange(RUNNING, WAITING, SeqCst, SeqCst).is_err() {
            // NOTIFIED: no other thread leaves that state.
            self.state.store(RUNNING, SeqCst);
            self.scheduler.activity().settle();
            return false;
        }
        if self.clones.fetch_add(0, AcqRel) == 0 {
            self.orphan();
        }
        true
    }

    /// No waker seems to be left. A mark may have woken the process meanwhile, and it may wait
    /// again with a new clone: so look once more before it is no longer counted.
    fn orphan(&self) {
        while self.state.compare_exchange(WAITING, ORPHAN, SeqCst, SeqCst).is_ok() {
            let is_alone = self.clones.fetch_add(0, AcqRel) == 0;
            if is_alone || self.state.compare_exchange(ORPHAN, WAITING, SeqCst, SeqCst).is_err() {
                self.scheduler.activity().settle();
                return;
            }
            if self.clones.fetch_add(0, AcqRel) > 0 {
                return;
            }
        }
    }

    /// Makes the process ready if it waits for a wake-up; otherwise leaves a note.
    pub fn wake(&self) {
        let mut state = self.state.load(SeqCst);
        loop {
            let next = match state {
                RUNNING => NOTIFIED,
                WAITING | ORPHAN => RUNNING,
                _ => return,
            };
            match self.state.compare_exchange(state, next, SeqCst, SeqCst) {
                Ok(_) if next == NOTIFIED => return,
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        self.was_asked.store(false, Relaxed);
        // SAFETY: the step from a wait to `RUNNING` is taken once: the process is ours.
        let ready = unsafe { self.task.claim() };
        self.scheduler.wake(ready);
        if state == WAITING {
            // After the process is ready, and a worker is busy that will run it.
            self.scheduler.activity().settle();
        }
    }

    /// The process has ended: wake-ups do nothing from now on.
    pub fn close(&self) {
        if self.state.swap(CLOSED, SeqCst) == WAITING {
            self.scheduler.activity().settle();
        }
    }

    /// Whether the process waits for a wake-up that may still come.
    pub fn is_pending(&self) -> bool {
        self.state.load(SeqCst) == WAITING
    }

    /// Whether the process waits for a wake-up that cannot come.
    pub fn is_orphan(&self) -> bool {
        self.state.load(SeqCst) == ORPHAN
    }

    /// Of one that waits for what cannot come: whether it has asked for a wake-up at all.
    pub fn was_asked(&self) -> bool {
        self.was_asked.load(Relaxed)
    }
}

// The waker that a process is polled with: it costs nothing unless it is cloned.

static POLLED_WITH: RawWakerVTable = RawWakerVTable::new(clone_base, wake_base, wake_base, |_| {});
static POLLED_AS_CURRENT: RawWakerVTable =
    RawWakerVTable::new(clone_current, wake_current, wake_current, |_| {});
static CLONED: RawWakerVTable =
    RawWakerVTable::new(clone_waker, wake_waker, wake_waker_by_ref, drop_waker);

/// Makes the waker that `task` is polled with.
pub fn base_waker(task: TaskRef) -> ManuallyDrop<Waker> {
    // SAFETY: the functions below keep `RawWaker`'s contract: the data is a header in type-stable
    // memory, and clones are `Foreign`, which is thread-safe.
    ManuallyDrop::new(unsafe { Waker::new(task.as_ptr().cast(), &POLLED_WITH) })
}

/// Makes the waker that one worker polls its processes with: it is that of the process which stands in
/// `current` when it is used. No use outlives the poll, for what is kept is a clone; so also on another
/// thread, which has it by reference, that is the process that is polled.
pub(crate) fn waker_of_current(current: &AtomicPtr<Task>) -> ManuallyDrop<Waker> {
    let data = ptr::from_ref(current).cast();
    // SAFETY: the functions below keep `RawWaker`'s contract, as in `base_waker`; the worker outlives its waker.
    ManuallyDrop::new(unsafe { Waker::new(data, &POLLED_AS_CURRENT) })
}

/// Whether `waker` is the one that the process at `task` is polled with.
#[inline]
pub fn is_base_waker(waker: &Waker, task: *const ()) -> bool {
    waker.data() == task && ptr::eq(waker.vtable(), &raw const POLLED_WITH)
}

/// The process that `waker` belongs to, if it is one that a process is polled with.
pub fn polled_task(waker: &Waker) -> Option<TaskRef> {
    if !ptr::eq(waker.vtable(), &raw const POLLED_WITH) {
        return None;
    }
    // SAFETY: made by `base_waker`, from a live header.
    unsafe { TaskRef::from_ptr(waker.data().cast()) }
}

fn clone_base(data: *const ()) -> RawWaker {
    // SAFETY: a waker made by `base_waker` lives only while its process is polled.
    let task = unsafe { TaskRef::from_ptr(data.cast()) }.expect("made from a reference");
    clone_foreign(&task.foreign())
}

fn wake_base(data: *const ()) {
    // SAFETY: as in `clone_base`.
    let task = unsafe { TaskRef::from_ptr(data.cast()) }.expect("made from a reference");
    task.marks.fetch_or(mark::AGAIN, Release);
}

/// The process that is polled with a waker of [`waker_of_current`].
fn current_at(data: *const ()) -> TaskRef {
    // SAFETY: points into the slot of a worker, which is there while it polls.
    let current = unsafe { &*data.cast::<AtomicPtr<Task>>() };
    // Acquire pairs with the Release of the worker, for a thread that has the waker by reference.
    // SAFETY: the process is polled, so it has not ended.
    unsafe { TaskRef::from_ptr(current.load(Acquire)) }.expect("a process is polled")
}

fn clone_current(data: *const ()) -> RawWaker {
    clone_foreign(&current_at(data).foreign())
}

fn wake_current(data: *const ()) {
    current_at(data).marks.fetch_or(mark::AGAIN, Release);
}

fn clone_foreign(foreign: &Arc<Foreign>) -> RawWaker {
    foreign.clones.fetch_add(1, SeqCst);
    foreign.was_asked.store(true, Relaxed);
    RawWaker::new(Arc::into_raw(Arc::clone(foreign)).cast(), &CLONED)
}

fn clone_waker(data: *const ()) -> RawWaker {
    // SAFETY: `data` came from `Arc::into_raw` and the waker that holds it is alive.
    let foreign = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Foreign>()) });
    clone_foreign(&foreign)
}

fn wake_waker(data: *const ()) {
    wake_waker_by_ref(data);
    drop_waker(data);
}

fn wake_waker_by_ref(data: *const ()) {
    // SAFETY: as in `clone_waker`.
    let foreign = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Foreign>()) });
    foreign.wake();
}

fn drop_waker(data: *const ()) {
    // SAFETY: this clone's own reference, given up here.
    let foreign = unsafe { Arc::from_raw(data.cast::<Foreign>()) };
    if foreign.clones.fetch_sub(1, SeqCst) == 1 && foreign.state.load(SeqCst) == WAITING {
        foreign.orphan();
        // Perhaps this was the last thing the run was waiting for.
        foreign.scheduler.look_again();
    }
}
