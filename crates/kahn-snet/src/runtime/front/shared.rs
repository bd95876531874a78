//! What all workers share: the input, the output, and where work may be.

use std::sync::Arc;

use kahn_engine::sync::Mutex;

use super::frame::Frame;
use super::mailbox::Mailbox;
use super::order::Regions;
use super::sleep::Idle;
use super::stack::Bottom;
use super::threads::{Threads, Wanted};
use super::worker::Worker;
use crate::boxes::BoxFunction;
use crate::record::{ReadError, Record};
use crate::runtime::steps::answers::Facts;
use crate::runtime::steps::graph::OpId;
use crate::runtime::steps::marks::Failures;
use crate::runtime::steps::observe::Observers;
use crate::runtime::steps::shape::Rec;
use crate::runtime::streams::{Input, Output, Source};

/// Records admitted at once.
const ADMIT: usize = 32;

/// The input of a run, which one worker at a time reads.
pub(super) struct Entrance<'r> {
    pub(super) input: Input<'r>,
    /// Whether records may be read: the initialisers have run, and it has not ended.
    pub(super) open: bool,
}

/// What all workers share.
pub(super) struct Shared<'r> {
    pub(super) facts: Facts<'r>,
    pub(super) functions: Vec<Arc<dyn BoxFunction>>,
    pub(super) limits: Vec<usize>,
    pub(super) stacks: Vec<Bottom>,
    pub(super) output_mailbox: Arc<Mailbox>,
    pub(super) entry_mailbox: Arc<Mailbox>,
    pub(super) root: Arc<Frame>,
    pub(super) entrance: Mutex<Entrance<'r>>,
    pub(super) output: Mutex<Output<'r>>,
    pub(super) observers: Observers,
    pub(super) idle: Idle,
    pub(super) threads: Threads,
    pub(super) failures: Arc<Failures>,
    pub(super) regions: Regions,
    pub(super) collecting: bool,
}

impl Shared<'_> {
    pub(super) fn limit_of(&self, op: OpId) -> usize {
        self.limits[op.0]
    }

    /// Has a role sleep until there may be work. Returns whether it is the last instead, and a call that waits
    /// is to go on.
    pub(super) fn sleep(&self, role: usize) -> bool {
        let has_work = || {
            self.stacks.iter().any(|stack| !stack.is_empty())
                || self.has_next(Wanted::Any)
                || self.has_input()
        };
        self.idle.sleep(role, has_work, || self.has_next(Wanted::Last))
    }

    /// Wakes a worker for what may go on without another having said so.
    pub(super) fn wake_for_calls(&self) {
        let away = || self.threads.has_away() && self.has_input();
        if self.has_next(Wanted::Any) || away() {
            self.idle.wake();
        }
    }

    /// Whether a call that waits may go on.
    fn has_next(&self, wanted: Wanted) -> bool {
        self.threads.has_next(&self.regions, wanted)
    }

    /// Whether records may be read that no other worker is about to read.
    fn has_input(&self) -> bool {
        let may_read = || self.entrance.try_lock().is_some_and(|it| self.may_read(&it));
        may_read() && !self.threads.holds_input(&self.regions)
    }

    /// Lets records be read.
    pub(super) fn open_input(&self) {
        self.entrance.lock().open = true;
        self.idle.wake();
    }

    /// Whether records may be read: the only worker does not wait for them while a call is away, which
    /// will need it.
    fn may_read(&self, entrance: &Entrance<'_>) -> bool {
        let may_wait = self.stacks.len() > 1 || !self.threads.has_away();
        entrance.open && (may_wait || entrance.input.source.is_ready())
    }

    /// Reads records, if no one else does; tells whether some were read.
    pub(super) fn admit(&self, worker: &mut Worker<'_, '_>) -> bool {
        let Some(mut entrance) = self.entrance.try_lock() else { return false };
        entrance.open &= !self.failures.any();
        // In this order: a call that is not away any more is seen to wait.
        if !self.may_read(&entrance) || self.threads.holds_input(&self.regions) {
            return false;
        }
        let mut read = worker.emptied();
        let Entrance { input, open } = &mut *entrance;
        while *open && read.len() < ADMIT && (read.is_empty() || input.source.is_ready()) {
            let next = self.next_of(&mut *input.source);
            let entered = next.map(|next| input.enter(self.facts, &self.failures, next));
            *open = entered.as_ref().is_some_and(|rec| !rec.is_mark());
            read.extend(entered);
        }
        let any = !read.is_empty();
        if any {
            worker.put_all_now(&self.entry_mailbox, &mut read);
        }
        worker.keep_emptied(read);
        let more = entrance.open;
        drop(entrance);
        worker.publish();
        if more && any {
            self.idle.wake();
        }
        any
    }

    /// Takes the next record of the input, for which it may wait long.
    fn next_of(&self, source: &mut dyn Source) -> Option<Result<Record, ReadError>> {
        if source.is_ready() {
            return source.next();
        }
        self.flush();
        self.idle.wait_outside(|| self.has_next(Wanted::Last), || source.next())
    }

    /// Lets everything be seen that is done, if another worker waits for input meanwhile.
    pub(super) fn show(&self) {
        if self.entrance.try_lock().is_none() {
            self.flush();
        }
    }

    pub(super) fn flush(&self) {
        self.output.lock().flush(&self.failures);
    }

    pub(super) fn write(&self, records: impl Iterator<Item = Rec>) {
        let mut output = self.output.lock();
        records.for_each(|rec| output.write(self.facts, &self.failures, rec));
    }
}
