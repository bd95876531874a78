//! The phases of a barrier: which processes have come, alone or in an alternation, and when all go on.
//!
//! ```text
//!   flags of the gate: how many of the enrolled are missing
//!   waiters: processes that wait for the phase alone, by worker     selecting: those that wait for other things too
//! ```
//!
//! | step | by | does, behind the gate |
//! |---|---|---|
//! | enrol | the one that clones a handle | one more enrolled, one more missing |
//! | come | a process that waits for this alone | enters itself among the waiters of its worker, one less missing |
//! | select | an alternation, from this guard | enters itself among the selecting, one less missing |
//! | withdraw | an alternation that has something else | takes itself out, one more missing |
//! | complete | the one that brings the missing to none | takes all that are selecting or none; begins the next phase, takes the waiters |
//! | release | the same, when the gate is open | makes those ready that ran on its worker, and hands the others to their home workers, a batch each |
//! | resign | the one that drops a handle | one less enrolled and missing; perhaps it was the last to wait for |
//!
//! # States of an enrolled process
//!
//! | state | counted as missing | leaves by |
//! |---|---|---|
//! | elsewhere | yes | it comes, selects or resigns |
//! | committed, among the waiters | no | the phase is complete |
//! | selecting | no | the phase is complete; another guard of its alternation is chosen → gone |
//! | gone: its select state was taken elsewhere, and it has not withdrawn yet | no | it withdraws, for it must leave all its guards before it does anything else |
//!
//! # Why it holds
//!
//! *Phases never overlap.* The one that completes resets the count and takes the lists of those that wait,
//! in one go behind the gate, before any of them runs. A process knows that it is released by the
//! number of the phase, which is another than when it came; the next can not be complete before it has
//! come again, so it reads that number without the gate.
//!
//! *All or none.* A phase is complete when every enrolled process is committed or selecting. The one that completes first
//! makes every select state `BUSY`, in the order of the processes' addresses, and so keeps all other
//! partners off; when it holds all, they are taken together. If one is gone, those that it holds are
//! open again, as if nothing had been. So no process is released by a phase that another, which was
//! counted, has left for something else: at most one branch of each alternation is taken, and it is
//! the same phase for all.
//!
//! *No phase is missed.* The attempt is made by the one that brings the missing to none, whether it comes,
//! selects or resigns. It fails only because of one that is gone; that one counts as missing again
//! when it withdraws, behind this gate, and the one that brings the missing to none next tries again. So
//! there is no moment at which all are committed or selecting and no thread looks.
//!
//! *No global lock.* Two barriers may want the same processes at once. Each is completed behind its
//! own gate, and select states are kept in one order everywhere, so a thread that waits for one keeps only
//! smaller ones (see `wait::select`); a thread that keeps one waits for no gate. JCSP has a lock for all
//! barriers of a program that stand in alternations, for lack of such an order.
//!
//! *What it costs.* A phase without alternations costs nothing more for them: one list is looked at and
//! found empty. With `n` of them a phase sorts `n` addresses. The one that completes touches none of the
//! processes that ran elsewhere: each worker gets its batch as it is, so that release is
//! parallel, and what each of them has in the cache of its core stays there.
//!
//! *What frees it.* The last handle: handles are counted behind the gate, with the enrolments, so a clone takes no
//! read-modify-write of its own. A handle that resigns counts until the phase is released that it
//! completes thereby, for those that are released may resign as well. A thread that looks from outside holds
//! the registry, from which the last handle strikes the barrier out before it frees it.
//!
//! *Two handles of one process in one alternation* can never both be had by one branch, so a phase
//! that needs both does not come; the explanation says so.

use crate::language::common::Common;
use crate::language::csp::{Worker, access_of};
use crate::wait::select::{self, Leave, Ticket};
use crate::wait::waiter::{Attempt, How, Wake};
use kahn_engine::sync::{Access, Arc, AtomicU64, Cell, Ordering::Relaxed, ShortLock32};
use kahn_engine::task::Task;
use kahn_engine::{TaskRef, Waiters};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::mem;
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// One process that is missing, as the flags count it.
const ONE: u32 = ShortLock32::FIRST_FLAG;

/// The number of an enrolment.
pub(super) type Member = u32;

/// No phase.
pub(super) const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Selecting {
    task: TaskRef,
    ticket: Ticket,
    guard: u32,
    member: Member,
}

/// One enrolment.
#[derive(Clone, Copy, Debug)]
struct Enrolment {
    /// The process that used it last, or null.
    task: *const Task,
    /// The phase that it has come for, or `NEVER`.
    came_for: u64,
    /// Where its alternation stands in the list, if it does.
    place: u32,
    is_enrolled: bool,
}

/// What is behind the gate.
#[derive(Debug, Default)]
struct State {
    enrolled: u32,
    /// Handles that there are: those enrolled, and one that is resigning.
    handles: u32,
    waiters: Waiters,
    selecting: Vec<Selecting>,
    members: Vec<Enrolment>,
    free: Vec<Member>,
    /// Lists that are empty between the phases: no phase takes memory.
    spare: Waiters,
    order: Vec<u32>,
    wakes: Vec<Wake>,
}

impl State {
    /// `task`: whose it is, if that is known.
    fn enrol(&mut self, task: *const Task) -> Member {
        self.enrolled += 1;
        self.handles += 1;
        let new = Enrolment { task, is_enrolled: true, came_for: NEVER, place: u32::MAX };
        if let Some(member) = self.free.pop() {
            self.members[member as usize] = new;
            return member;
        }
        self.members.push(new);
        u32::try_from(self.members.len() - 1).unwrap_or(u32::MAX)
    }

    fn has_waiters(&self) -> bool {
        !self.waiters.are_empty() || !self.selecting.is_empty()
    }
}

/// A barrier, as all its handles share it. See the module's tables.
#[derive(Debug)]
pub(crate) struct Phases {
    gate: ShortLock32,
    pub(crate) network: u32,
    pub(super) common: Arc<Common>,
    /// The number of the phase; written behind the gate.
    phase: AtomicU64,
    pub(crate) name: Name,
    /// Whether it is there for the end of forks.
    pub(crate) joins_forks: bool,
    state: UnsafeCell<State>,
}

/// A barrier, for one that has a handle of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhasesRef(NonNull<Phases>);

// SAFETY: as a shared reference.
unsafe impl Send for PhasesRef {}
// SAFETY: as above.
unsafe impl Sync for PhasesRef {}

impl Deref for PhasesRef {
    type Target = Phases;

    #[inline]
    fn deref(&self) -> &Phases {
        // SAFETY: the caller has a handle, and the last one frees it.
        unsafe { self.0.as_ref() }
    }
}

impl PhasesRef {
    /// Its address, for explanations.
    pub(super) fn as_ptr(self) -> *const Phases {
        self.0.as_ptr()
    }

    /// Takes a handle off, and the barrier itself with the last one.
    ///
    /// # Safety
    /// The handle is the caller's, and not used again.
    pub(super) unsafe fn resign(self, member: Member, worker: Option<&Worker>) {
        let is_last = self.take_off(member, worker);
        if is_last {
            // SAFETY: made by `create`; no other handle is left.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

// SAFETY: the state is behind the gate, and the pointers in it are to type-stable memory or to
// pinned futures that leave behind the gate.
unsafe impl Send for Phases {}
// SAFETY: as above.
unsafe impl Sync for Phases {}

impl Phases {
    /// Makes a barrier, which has no handle yet.
    pub(super) fn create(common: &Arc<Common>, name: Name, joins_forks: bool) -> PhasesRef {
        let phases = Box::new(Self {
            gate: ShortLock32::new(0),
            network: common.number,
            common: Arc::clone(common),
            phase: AtomicU64::new(0),
            name,
            joins_forks,
            state: UnsafeCell::new(State::default()),
        });
        common.registry.add(&*phases);
        PhasesRef(NonNull::from(Box::leak(phases)))
    }

    /// Behind the gate.
    #[expect(clippy::mut_from_ref, reason = "the gate is held, and gives one access at a time")]
    fn state(&self) -> &mut State {
        // SAFETY: said above.
        unsafe { &mut *self.state.get() }
    }

    pub(super) fn enrol(&self, access: Access) -> Member {
        let flags = self.gate.lock(access);
        let member = self.state().enrol(ptr::null());
        self.gate.unlock(flags + ONE);
        member
    }

    /// Enrols a process, and notes whose the enrolment is of the one that makes it.
    pub(super) fn enrol_beside(
        &self,
        (member, maker): (Member, TaskRef),
        task: TaskRef,
        access: Access,
    ) -> Member {
        let flags = self.gate.lock(access);
        let state = self.state();
        state.members[member as usize].task = maker.as_ptr();
        let new = state.enrol(task.as_ptr());
        self.gate.unlock(flags + ONE);
        new
    }

    /// Takes a handle off; `true` if it was the last.
    fn take_off(&self, member: Member, worker: Option<&Worker>) -> bool {
        let access = access_of(worker);
        let flags = self.gate.lock(access);
        let state = self.state();
        state.enrolled -= 1;
        state.members[member as usize].is_enrolled = false;
        state.free.push(member);
        let mut flags = flags - ONE;
        if flags < ONE && state.has_waiters() && self.hold_selecting() {
            self.complete(worker, None);
            flags = self.gate.lock(access);
        }
        let state = self.state();
        state.handles -= 1;
        let is_last = state.handles == 0;
        self.gate.unlock(flags);
        is_last
    }

    /// Whether the process that asks may be the last one missing: a hint.
    #[inline]
    pub(crate) fn is_promising(&self) -> bool {
        self.gate.peek() < 2 * ONE
    }

    /// Whether a phase that a process has come for is complete. Asked by the process when it runs
    /// again, or behind the gate.
    #[inline]
    pub(super) fn is_complete(&self, came_for: u64) -> bool {
        // Relaxed: the process was made ready after it was written. The phase that is `NEVER` does not come.
        came_for < self.phase.load(Relaxed)
    }

    /// The number of the phase, behind the gate.
    #[inline]
    fn phase(&self) -> u64 {
        self.phase.load(Relaxed)
    }

    /// The lower half of the number of the phase, for one that only looks: a hint, without the gate.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(crate) fn number(&self) -> u32 {
        self.phase() as u32
    }

    /// Comes, alone or from an alternation; `Done` if that completes the phase, whose number is noted in `came_for`. Else
    /// enters the process, if told to.
    #[inline]
    pub(super) fn come(
        &self,
        worker: &Worker,
        task: TaskRef,
        member: Member,
        came_for: &Cell<u64>,
        enter: Option<How>,
    ) -> Attempt {
        let flags = self.gate.lock(worker.access());
        let (state, phase) = (self.state(), self.phase());
        let is_last = flags < 2 * ONE;
        let enrolled = &mut state.members[member as usize];
        enrolled.task = task.as_ptr();
        came_for.set(phase);
        let is_selecting = matches!(enter, Some(How::Offer { .. }));
        if is_last && !is_selecting && self.hold_selecting() {
            self.complete(Some(worker), None);
            return Attempt::Done;
        }
        let Some(how) = enter else {
            self.gate.unlock(flags);
            return Attempt::Nothing;
        };
        enrolled.came_for = phase;
        match how {
            // SAFETY: it comes to rest here, and is taken out behind the gate.
            How::Plain => unsafe { state.waiters.add(task, worker) },
            How::Offer { ticket, guard } => {
                enrolled.place = u32::try_from(state.selecting.len()).unwrap_or(u32::MAX);
                state.selecting.push(Selecting { task, ticket, guard, member });
                // Our own select state is one of them: a partner may have taken it by now.
                if is_last && self.hold_selecting() {
                    self.complete(Some(worker), Some(task));
                    return Attempt::Done;
                }
            }
        }
        self.gate.unlock(flags - ONE);
        Attempt::Nothing
    }

    /// The usual case of [`come`](Self::come): a process comes alone and is entered. `false`, and nothing done, if it is
    /// the last, the list has no room, or another thread is behind the gate.
    #[inline(always)]
    pub(super) fn come_and_wait(
        &self,
        worker: &Worker,
        task: TaskRef,
        member: Member,
        came_for: &Cell<u64>,
    ) -> bool {
        let Some(flags) = self.gate.try_lock(worker.access()) else { return false };
        let state = self.state();
        // SAFETY: it comes to rest here, and is taken out behind the gate.
        let is_entered = flags >= 2 * ONE && unsafe { state.waiters.add_if_room(task, worker) };
        if is_entered {
            let phase = self.phase();
            let enrolled = &mut state.members[member as usize];
            enrolled.task = task.as_ptr();
            enrolled.came_for = phase;
            came_for.set(phase);
            Self::is_awaited(task, phase);
        }
        self.gate.unlock(if is_entered { flags - ONE } else { flags });
        is_entered
    }

    /// Says which phase a process waits for, to those that only look.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    fn is_awaited(task: TaskRef, phase: u64) {
        // Relaxed: the phase cannot be complete before the process has come.
        task.tally.store(phase as u32, Relaxed);
    }

    /// Behind the gate: keeps others off every select state; `false`, and nothing done, if one is gone.
    #[inline]
    fn hold_selecting(&self) -> bool {
        self.state().selecting.is_empty() || self.hold_in_order()
    }

    #[cold]
    fn hold_in_order(&self) -> bool {
        let State { selecting, order, .. } = self.state();
        order.clear();
        order.extend(0..u32::try_from(selecting.len()).unwrap_or(u32::MAX));
        order.sort_unstable_by_key(|&index| selecting[index as usize].task.as_ptr());
        let entry_of = |index: u32| &selecting[index as usize];
        for (held, &index) in order.iter().enumerate() {
            let Selecting { task, ticket, .. } = *entry_of(index);
            let is_twice = held > 0 && entry_of(order[held - 1]).task == task;
            if is_twice || !select::hold(task, ticket) {
                order[..held].iter().for_each(|&index| select::let_go(entry_of(index).task));
                return false;
            }
        }
        true
    }

    /// Behind the gate, which this opens, and with all select states kept: every process has come. `own` is
    /// the caller's process, if it is selecting: it runs by itself.
    fn complete(&self, worker: Option<&Worker>, own: Option<TaskRef>) {
        let state = self.state();
        // Relaxed: behind the gate.
        self.phase.store(self.phase() + 1, Relaxed);
        let spare = mem::take(&mut state.spare);
        let mut waiters = mem::replace(&mut state.waiters, spare);
        let mut wakes = mem::take(&mut state.wakes);
        for selected in state.selecting.drain(..) {
            if Some(selected.task) == own {
                select::leave_busy(selected.task, Leave::Taken(selected.guard));
            } else {
                wakes.push(select::take_held(selected.task, selected.guard));
            }
        }
        self.gate.unlock(state.enrolled * ONE);
        let Some(worker) = worker else { return };
        // The lists are ours: they have left the state.
        worker.release(&mut waiters);
        for wake in wakes.drain(..) {
            wake.up(worker);
        }
        // The empty lists go back.
        let flags = self.gate.lock(worker.access());
        let state = self.state();
        state.spare = waiters;
        state.wakes = wakes;
        self.gate.unlock(flags);
    }

    /// A process that came for a phase does not wait any more: withdraws, unless that is complete.
    pub(crate) fn leave(&self, member: Member, came_for: u64, access: Access) {
        let flags = self.gate.lock(access);
        let left = !self.is_complete(came_for) && self.take_out(member);
        self.gate.unlock(if left { flags + ONE } else { flags });
    }

    /// Behind the gate; `false` if it stands nowhere.
    fn take_out(&self, member: Member) -> bool {
        let State { selecting, waiters, members, .. } = self.state();
        let Enrolment { place, task, .. } = members[member as usize];
        let place = place as usize;
        if selecting.get(place).is_some_and(|selected| selected.member == member) {
            selecting.swap_remove(place);
            if let Some(moved) = selecting.get(place) {
                members[moved.member as usize].place = u32::try_from(place).unwrap_or(u32::MAX);
            }
        } else if !waiters.remove(task) {
            // Only the one that is dropped while it waits comes so far.
            return false;
        }
        members[member as usize].came_for = NEVER;
        true
    }

    /// The phase, and the processes that have not come yet: null for an enrolment that was not used.
    pub(crate) fn missing(&self) -> (u64, Vec<*const Task>) {
        let flags = self.gate.lock(Access::SHARED);
        let phase = self.phase();
        let has_come = |member: &Enrolment| member.came_for == phase;
        let members = self.state().members.iter();
        let missing = members.filter(|member| member.is_enrolled && !has_come(member));
        let missing = missing.map(|member| member.task).collect();
        self.gate.unlock(flags);
        (phase, missing)
    }

    /// Whether a process waits here.
    pub(crate) fn has(&self, task: TaskRef) -> bool {
        let flags = self.gate.lock(Access::SHARED);
        let state = self.state();
        let has =
            state.waiters.has(task) || state.selecting.iter().any(|selected| selected.task == task);
        self.gate.unlock(flags);
        has
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        self.common.registry.remove(self);
    }
}
