//! A process as the scheduler sees it: one header, and behind it the body.
//!
//! # What may touch what
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `marks` | anyone, by read-modify-write | the process, at its operations and when it is resumed |
//! | `own` | the thread that *holds* the process | the same, and any thread, which then finds out that it is not the holder |
//! | `assigned` | policies, any time | the same: a hint |
//! | `hot`, `tally`, `cold` | as the language says ([`Kept`]) | the same |
//! | counters | the holder, by load and store | reports, any time |
//! | `references` | what names the process, by read-modify-write unless [alone](crate::sync::Access) | the same |
//! | `stage` | the thread that adds it to the table or takes it off, under the table's lock | any thread |
//! | `pinned` | the holder | the thread that has it ready |
//! | `Info`, `attributes` | set when the process is created, before anyone else knows it | anyone while it lives |
//! | `extension` | the thread that wants it first, by compare-and-swap; it stays with the block | any thread |
//!
//! **Holding.** A process is held by exactly one thread at a time: the worker that runs it, or
//! the one that took it over. It is handed on by parking and being woken, as the language does it, by a
//! run queue, or by the state word of its foreign waker; each is a Release that pairs with an Acquire. So plain cells suffice for what only the holder touches.
//!
//! **Memory.** A process is one block of type-stable memory (`memory`): header, then body. The
//! block is recycled when the process has ended and nothing names it any more: none of its `references`,
//! which are handles and what is to name it in a report, and nothing that it has left behind. A header
//! may be read at any time, stale or not: what is read is atomic, and a new process stores into it.
//!
//! There may be millions of processes, most of them small, so each field counts: the header has 120
//! bytes, and a body of 72 ends with the third line. What few processes have is [`Extension`], and the
//! scheduler is found from the block (`memory`).

pub mod extension;
pub mod foreign;
mod host;
mod kept;
mod ready;
mod result;
pub mod table;

pub use host::Host;
pub(crate) use host::Runs;
pub use kept::{Header, Kept};
pub use ready::Ready;
pub use result::{ProcessResult, Returns};

use self::kept::Room;
use crate::memory::BlockPool;
use crate::sync::{
    Access, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, Cell, Ordering::*, PlainAtomicU32,
    PlainAtomicU64,
};
use crate::task::extension::Extension;
use kahn_report::observe::Subject;
use kahn_report::{Failure, Identity, Name};
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::{self, NonNull};
use std::task::Context;

/// Bits of [`Task::marks`]: what others want of a process, when it next looks.
pub mod mark {
    /// Publish what you have done so far: a worker has nothing to do.
    pub const FLUSH: u8 = 1;
    /// The run is being stopped.
    pub const STOP: u8 = 2;
    /// Its waker was called while it ran: poll it again.
    pub const AGAIN: u8 = 4;
    /// Those of the language: any may end the process, see [`must_end`](crate::Language::must_end).
    pub const LANGUAGE: u8 = 0xf0;
    /// Those that may end it.
    pub const MAY_END: u8 = STOP | LANGUAGE;
}

/// Bits of [`Task::own`]: what a process has to remember at its next operation.
pub mod own {
    /// The language has something to do when the poll is over, or at the next operation.
    pub const LEFT: u8 = 1;
    /// Every operation waits once (`testing`, policy `seeded`).
    pub const WAIT_ONCE: u8 = 2;
    /// The body is being dropped: operations do nothing.
    pub const ENDING: u8 = 4;
    /// Two of the language's own.
    pub const LANGUAGE: [u8; 2] = [8, 16];
    /// It runs on one worker only: which, [`Task::pinned`](super::Task::pinned) tells.
    pub const PINNED: u8 = 32;
    /// It runs before others.
    pub const URGENT: u8 = 64;
    /// It runs when there is nothing else.
    pub const BACKGROUND: u8 = 128;
    /// It does not stand in the policy's queues when it is ready, but in `queue::places`.
    pub const APART: u8 = PINNED | URGENT | BACKGROUND;
}

/// Bits of [`Task::attributes`] that are the engine's; the others are the language's.
pub mod attribute {
    /// It is a part of another process, and is not counted as one.
    pub const PART: u8 = 128;
    /// It works for the process that has its identity: what it counts is that one's, and there is no
    /// record of it. It catches the panics of the code that it runs.
    pub const HELPER: u8 = 64;
}

/// Values of [`Task::stage`].
mod stage {
    /// Its creator alone knows it.
    pub(crate) const MADE: u8 = 0;
    /// Alive, and in the table.
    pub(crate) const LISTED: u8 = 1;
    pub(crate) const ENDED: u8 = 2;
}

/// What runs a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A future, polled by the workers.
    Pooled,
    /// A thread of its own: a blocking process, or any process under the policy `threads`.
    Threaded,
    /// A thread or task outside, which calls at any time.
    Outside,
}

/// What a poll of the body came to. A failure is boxed, so that the usual answers fit registers.
#[derive(Debug)]
pub enum Polled {
    /// It waits, or yields.
    Pending,
    /// It has returned, or failed.
    Ready(Result<(), Box<Failure>>),
}

/// The functions of a body, by its type.
#[derive(Debug)]
pub struct BodyType {
    /// Polls the future; never unwinds.
    pub poll: unsafe fn(NonNull<Task>, &mut Context<'_>) -> Polled,
    /// Drops the body; never unwinds. Returns the message of a panic in a destructor.
    pub drop: unsafe fn(NonNull<Task>) -> Result<(), Failure>,
    /// Bytes of header and body.
    pub size: usize,
    /// Whether the body blocks its thread: `send_blocking` and `recv_blocking` are its forms.
    pub blocking: bool,
    /// Whether others may wait for its end.
    pub joined: bool,
}

/// What tells a process from others.
#[derive(Debug)]
pub struct Info {
    /// Its name.
    pub name: Name,
    /// What tells it from others, the same in every run.
    pub identity: Identity,
}

/// What is fixed when a process is created.
#[derive(Debug)]
pub struct Plan {
    /// What tells it from others.
    pub info: Info,
    /// What runs it.
    pub kind: Kind,
    /// Bits of the language's own, and of [`attribute`].
    pub attributes: u8,
    /// The worker the user pinned it to.
    pub pinned: Option<u32>,
}

/// A process belongs to no worker.
const NOWHERE: u16 = u16::MAX;

/// The header of a process. It stands at the beginning of a cache line.
#[repr(C)]
pub struct Task {
    // First line: touched at every resume.
    /// What the language keeps there.
    hot: Room<{ kept::HOT }>,
    body: Cell<Option<&'static BodyType>>,
    /// How often it was polled.
    pub polls: PlainAtomicU64,
    /// How often another worker took it over.
    pub migrations: PlainAtomicU32,
    /// Bits of [`mark`].
    pub marks: AtomicU8,
    /// Bits of [`own`].
    pub own: AtomicU8,
    kind: Cell<Kind>,
    stage: AtomicU8,
    /// Where the body stands, for bodies that leave it to the header.
    body_stage: Cell<u8>,
    attributes: AtomicU8,
    /// The worker that ran it last.
    pub home: AtomicU16,
    /// The worker it belongs to, for policies that settle that; `NOWHERE` if none did.
    assigned: AtomicU16,
    /// The worker the user pinned it to, or `NOWHERE`.
    pinned: AtomicU16,
    /// A count of the language's.
    pub tally: AtomicU32,
    references: AtomicU32,
    // Second line.
    /// What the language keeps there.
    cold: Room<{ kept::COLD }>,
    pub(crate) extension: AtomicPtr<Extension>,
    info: UnsafeCell<Option<Info>>,
}

/// What blocks are aligned to, and so what a body behind its header may ask for.
pub const BLOCK_ALIGN: usize = 64;

#[cfg(not(loom))]
const _: () = assert!(size_of::<Task>() == 120, "the module says so");

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("home", &self.home).finish_non_exhaustive()
    }
}

/// A pointer to a process that is handed from thread to thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskRef(NonNull<Task>);

// SAFETY: the pointee is type-stable memory, and the fields follow the module's table.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl std::ops::Deref for TaskRef {
    type Target = Task;

    fn deref(&self) -> &Task {
        // SAFETY: blocks live as long as the scheduler, which outlives every reference in use.
        unsafe { self.0.as_ref() }
    }
}

impl TaskRef {
    /// Wraps the address of an initialised header.
    ///
    /// # Safety
    /// `task` was initialised by [`Task::place`], and its scheduler is alive.
    #[inline]
    pub unsafe fn new(task: NonNull<Task>) -> Self {
        Self(task)
    }

    /// Wraps an address that may be null.
    ///
    /// # Safety
    /// As for [`new`](Self::new), unless null.
    #[inline]
    pub unsafe fn from_ptr(task: *const Task) -> Option<Self> {
        NonNull::new(task.cast_mut()).map(Self)
    }

    /// Wraps an address that is not null.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline]
    pub unsafe fn from_ptr_unchecked(task: *mut Task) -> Self {
        // SAFETY: said by the caller.
        Self(unsafe { NonNull::new_unchecked(task) })
    }

    /// Its address.
    #[inline]
    pub fn as_ptr(self) -> *const Task {
        self.0.as_ptr()
    }

    /// Its address, as logs have it.
    #[inline]
    pub fn address(self) -> usize {
        self.0.addr().get()
    }

    /// Its address.
    #[inline]
    pub fn non_null(self) -> NonNull<Task> {
        self.0
    }

    /// The address of what runs it.
    #[inline]
    pub(crate) fn host_address(self) -> *const () {
        // SAFETY: headers stand in blocks of the pool of a scheduler, which is alive.
        unsafe { BlockPool::owner_of(self.0.cast()) }
    }

    /// What it knows of what runs it.
    pub(crate) fn host<'a>(self) -> &'a Host {
        // SAFETY: the owner of its pool is a scheduler, which is alive and begins with its host.
        unsafe { &*self.host_address().cast::<Host>() }
    }
}

impl Task {
    /// Writes the header of a new process into a block.
    ///
    /// # Safety
    /// `block` has room for a header, no other thread knows it, and if it is `recycled` it holds an old
    /// header.
    #[inline]
    pub unsafe fn place<L: Header>(
        block: NonNull<u8>,
        recycled: bool,
        body: Option<&'static BodyType>,
        plan: Plan,
    ) -> TaskRef {
        let place = block.cast::<Self>();
        let pinned = plan.pinned.map_or(NOWHERE, |worker| u16::try_from(worker).unwrap_or(NOWHERE));
        if recycled {
            // SAFETY: an old header stands here; stale readers read its atomics at most.
            let task = unsafe { place.as_ref() };
            // Relaxed: see the module's paragraph on memory.
            // SAFETY: an old header of the same language, as all of one pool.
            unsafe { task.hot::<L>() }.restart();
            // SAFETY: as above.
            unsafe { task.cold::<L>() }.restart();
            task.polls.store(0, Relaxed);
            task.marks.store(0, Relaxed);
            task.own.store(0, Relaxed);
            task.home.store(0, Relaxed);
            task.stage.store(stage::MADE, Relaxed);
            task.attributes.store(plan.attributes, Relaxed);
            task.assigned.store(NOWHERE, Relaxed);
            task.pinned.store(pinned, Relaxed);
            task.migrations.store(0, Relaxed);
            task.tally.store(0, Relaxed);
            task.references.store(1, Relaxed);
            task.body.set(body);
            task.kind.set(plan.kind);
            task.body_stage.set(0);
            if let Some(extension) = task.extension_if_any() {
                extension.restart();
            }
            // SAFETY: `info` is read only while a process lives, and none does.
            // No value is dropped: `clear` has left none.
            unsafe { task.info.get().write(Some(plan.info)) };
        } else {
            let task = Self {
                hot: Room::holding(L::Hot::new()),
                body: Cell::new(body),
                polls: PlainAtomicU64::new(0),
                marks: AtomicU8::new(0),
                own: AtomicU8::new(0),
                home: AtomicU16::new(0),
                kind: Cell::new(plan.kind),
                stage: AtomicU8::new(stage::MADE),
                body_stage: Cell::new(0),
                attributes: AtomicU8::new(plan.attributes),
                assigned: AtomicU16::new(NOWHERE),
                pinned: AtomicU16::new(pinned),
                migrations: PlainAtomicU32::new(0),
                tally: AtomicU32::new(0),
                references: AtomicU32::new(1),
                cold: Room::holding(L::Cold::new()),
                extension: AtomicPtr::new(ptr::null_mut()),
                info: UnsafeCell::new(Some(plan.info)),
            };
            // SAFETY: the block is ours, large enough and aligned to a cache line.
            unsafe { place.write(task) };
        }
        TaskRef(place)
    }

    /// What tells it from others.
    ///
    /// # Panics
    /// Panics if nothing names the process any more.
    #[inline]
    pub fn info(&self) -> &Info {
        // SAFETY: set before the process became known, unchanged until its block is recycled, which
        // its `references` delay until none can ask.
        let info = unsafe { &*self.info.get() };
        info.as_ref().expect("a process that is known has its info")
    }

    /// What observers are told that it is.
    pub fn subject(&self) -> Subject<'_> {
        let info = self.info();
        let part = ptr::from_ref(self).addr() as u64;
        Subject { part, ..Subject::new(&info.name, info.identity) }
    }

    /// Frees what the header of a process owns, when nothing names it any more.
    #[inline]
    pub(crate) fn clear(&self) {
        // SAFETY: what is here is asked for by what has a reference only, and none is left.
        unsafe { *self.info.get() = None };
        self.forget_unparker();
    }

    /// What the language keeps in the first line.
    ///
    /// # Safety
    /// The process is of this language.
    #[inline(always)]
    pub unsafe fn hot<L: Header>(&self) -> &L::Hot {
        // SAFETY: said by the caller: written by `place`, or before it in the same block.
        unsafe { self.hot.get() }
    }

    /// What the language keeps in the second line.
    ///
    /// # Safety
    /// The process is of this language.
    #[inline(always)]
    pub unsafe fn cold<L: Header>(&self) -> &L::Cold {
        // SAFETY: as for `hot`.
        unsafe { self.cold.get() }
    }

    /// Bits of the language's own, and of [`attribute`].
    #[inline]
    pub fn attributes(&self) -> u8 {
        // Relaxed: what is asked by others was set before they knew it.
        self.attributes.load(Relaxed)
    }

    /// The holder: sets bits of the language's own.
    #[inline]
    pub fn set_attributes(&self, bits: u8) {
        // Relaxed, and no read-modify-write: only the holder writes.
        self.attributes.store(self.attributes() | bits, Relaxed);
    }

    /// The worker the user pinned it to.
    #[inline]
    pub fn pinned(&self) -> Option<u32> {
        // Relaxed: it comes with the process.
        let worker = self.pinned.load(Relaxed);
        (worker != NOWHERE).then_some(worker.into())
    }

    /// The holder: pins it to a worker, or to none.
    #[inline]
    pub fn pin(&self, worker: Option<u32>) {
        let worker = worker.map_or(NOWHERE, |worker| u16::try_from(worker).unwrap_or(NOWHERE));
        self.pinned.store(worker, Relaxed);
    }

    /// What it was created as, whatever runs it in the end.
    pub fn created_as(&self) -> Kind {
        match self.body() {
            None => Kind::Outside,
            Some(body) if body.blocking => Kind::Threaded,
            Some(_) => Kind::Pooled,
        }
    }

    /// Decides, before the run, that a thread of its own runs it.
    ///
    /// # Safety
    /// No other thread knows the process yet, or nothing runs.
    #[inline]
    pub unsafe fn set_kind(&self, kind: Kind) {
        self.kind.set(kind);
    }

    /// Where the body stands, for bodies that leave it to the header.
    ///
    /// # Safety
    /// The caller holds the process, or it has ended and the caller has its only handle.
    #[inline(always)]
    pub unsafe fn body_stage(&self) -> &Cell<u8> {
        &self.body_stage
    }

    /// What runs it.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.kind.get()
    }

    /// The functions of its body; none for a party outside.
    #[inline]
    pub fn body(&self) -> Option<&'static BodyType> {
        self.body.get()
    }

    /// Whether it has ended.
    #[inline]
    pub fn has_ended(&self) -> bool {
        // Acquire pairs with `set_ended`.
        self.stage.load(Acquire) == stage::ENDED
    }

    /// Whether it is alive and in the table; asked while that is locked.
    #[inline]
    pub(crate) fn is_listed(&self) -> bool {
        self.stage.load(Relaxed) == stage::LISTED
    }

    /// It is complete, and alive from now on. The table is locked.
    #[inline]
    pub(crate) fn set_listed(&self) {
        self.stage.store(stage::LISTED, Relaxed);
    }

    /// The table is locked.
    #[inline]
    pub(crate) fn set_ended(&self) {
        self.stage.store(stage::ENDED, Release);
    }

    /// Adds one to a counter that only the holder writes.
    #[inline]
    pub fn count(counter: &PlainAtomicU32) {
        // Relaxed, and no read-modify-write: only the holder writes, and reports may lag.
        counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The worker it belongs to, if that is settled.
    #[inline]
    pub fn assigned(&self) -> Option<usize> {
        // Relaxed: a hint where to queue it.
        let worker = self.assigned.load(Relaxed);
        (worker != NOWHERE).then_some(worker as usize)
    }

    /// Settles the worker it belongs to.
    ///
    /// # Panics
    /// Panics if there are more workers than 65 534.
    #[inline]
    pub fn assign(&self, worker: usize) {
        let worker = u16::try_from(worker).ok().filter(|&worker| worker != NOWHERE);
        self.assigned.store(worker.expect("a network has fewer than 2^16 workers"), Relaxed);
    }

    /// The holder: remembers something for the next operation.
    #[inline]
    pub fn note(&self, bits: u8) {
        // Relaxed, and no read-modify-write: only the holder writes.
        self.own.store(self.own.load(Relaxed) | bits, Relaxed);
    }

    /// The holder: has dealt with what it remembered.
    #[inline]
    pub fn forget(&self, bits: u8) {
        self.own.store(self.own.load(Relaxed) & !bits, Relaxed);
    }

    /// The holder: what it has to remember.
    #[inline]
    pub fn notes(&self) -> u8 {
        self.own.load(Relaxed)
    }

    /// So many more name this process from now on.
    pub fn add_references(&self, count: u32, access: Access) {
        // Relaxed: the caller holds one already.
        if access.is_alone() {
            self.references.store(self.references.load(Relaxed) + count, Relaxed);
        } else {
            self.references.fetch_add(count, Relaxed);
        }
    }

    /// Something that named this process is gone; `true` if that was the last reference.
    #[inline]
    #[must_use = "the last reference must recycle the block"]
    pub fn drop_reference(&self, access: Access) -> bool {
        // The holder of the only one is alone, and no other can add any. AcqRel: the last one sees all
        // that the others did with the header.
        self.references.load(Acquire) == 1 || count_down(&self.references, access) == 0
    }
}

/// Takes one off a count and returns what is left.
pub fn count_down(count: &AtomicU32, access: Access) -> u32 {
    if access.is_alone() {
        let left = count.load(Relaxed) - 1;
        count.store(left, Relaxed);
        left
    } else {
        // AcqRel: the thread that takes the last one sees what the others did.
        count.fetch_sub(1, AcqRel) - 1
    }
}
