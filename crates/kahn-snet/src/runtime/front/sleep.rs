//! Roles that sleep, and how it is known that nothing is left to do: by the engine's
//! [sleepers](kahn_engine::sleep::sleepers) and its [activity count](kahn_engine::sleep::activity).
//!
//! | what                                   | is counted | from                              | until                                |
//! |----------------------------------------|------------|-----------------------------------|--------------------------------------|
//! | a role                                 | busy       | the start, or another has woken it | it sleeps, or waits for the input    |
//! | a role that waits for the input        | pending    | before it stops being busy        | it is busy again                     |
//! | a call that is away (see `threads`)    | pending    | its role is given to another thread | it has asked for one, and woken one |
//!
//! The last role to stop being busy looks for a call that waits, which goes on in any case. If there is none, and
//! nothing is pending, nothing will ever be to do: work lies in stacks of roles that are awake, records are
//! read only by such, and a call that is neither away nor waits has a role. That ends the run.

use kahn_engine::sleep::activity::ActivityCount;
use kahn_engine::sleep::sleepers::Sleepers;
use kahn_engine::sync::Ordering::SeqCst;
use kahn_engine::sync::{AtomicBool, Parker};

/// The roles of a run, as far as they sleep.
#[derive(Debug)]
pub(super) struct Idle {
    sleepers: Sleepers,
    activity: ActivityCount,
    parkers: Box<[Parker]>,
    is_over: AtomicBool,
}

impl Idle {
    pub(super) fn new(roles: usize) -> Self {
        Self {
            sleepers: Sleepers::new(),
            activity: ActivityCount::of(roles),
            parkers: (0..roles).map(|_| Parker::new()).collect(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Whether the run is over: nothing is left to do, or it has failed.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    /// Ends the run.
    pub(super) fn end(&self) {
        self.is_over.store(true, SeqCst);
        self.parkers.iter().for_each(Parker::unpark);
    }

    /// Wakes a role, if one sleeps, for work that is there already.
    pub(super) fn wake(&self) {
        if let Some(role) = self.sleepers.notify(&self.activity) {
            self.parkers[role].unpark();
        }
    }

    /// Says that a call that has no role will ask for one.
    pub(super) fn expect(&self) {
        self.activity.expect();
    }

    /// Says that it has asked, and wakes a role for it: one is busy before that call is not pending any more.
    pub(super) fn settle(&self) {
        self.wake();
        self.activity.settle();
    }

    /// Has a role sleep until there may be work, or the run is over. Returns whether it is the last instead, and
    /// `a_call_goes_on`.
    pub(super) fn sleep(
        &self,
        role: usize,
        has_work: impl FnOnce() -> bool,
        a_call_goes_on: impl FnOnce() -> bool,
    ) -> bool {
        let (has_work, mut is_last) = (|| self.is_over() || has_work(), false);
        if !self.sleepers.go_to_sleep(role, false, &self.activity, has_work, || is_last = true) {
            return false;
        }
        let goes_on = is_last && a_call_goes_on();
        if goes_on && self.sleepers.go_on(role, &self.activity) {
            return true;
        }
        if is_last && self.activity.is_over() {
            self.end();
        }
        self.parkers[role].park();
        goes_on
    }

    /// Has a role wait for what comes from outside: meanwhile it is as good as asleep.
    pub(super) fn wait_outside<T>(
        &self,
        a_call_goes_on: impl FnOnce() -> bool,
        wait: impl FnOnce() -> T,
    ) -> T {
        self.activity.expect();
        if self.activity.go_idle() && a_call_goes_on() {
            self.wake();
        }
        let waited = wait();
        self.activity.wake();
        self.activity.settle();
        waited
    }
}
