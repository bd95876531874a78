//! Roles: what a worker has, on whichever thread, and the seats where threads get one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::handoff::LeftOutputs;
use super::mailbox::Mailbox;
use super::order::End;
use super::stack::{Stack, Task};
use super::worker::{FAIR, Worker};
use crate::runtime::steps::shape::Rec;
use kahn_engine::sync::{Condvar, Mutex};

/// What a worker has, on whichever thread.
#[derive(Debug)]
pub(super) struct Role {
    /// Its number; none if a thread is without a role.
    pub(super) index: Option<usize>,
    pub(super) local: Stack,
    /// Mailboxes that became ready, not yet on the stack.
    #[expect(clippy::vec_box, reason = "they go on as they are, in queues of pointers")]
    pub(super) ready: Vec<Box<Task>>,
    pub(super) outbox: Vec<(Arc<Mailbox>, VecDeque<Rec>)>,
    /// Whether the outbox is being emptied.
    pub(super) flushing: bool,
    /// Ends of order slots that the orders are not told of yet.
    pub(super) ends: Vec<End>,
    /// Empty queues with room.
    pub(super) emptied: Vec<VecDeque<Rec>>,
    /// How many records came to each operation.
    pub(super) counts: Vec<u64>,
    /// How many records waited for each when a batch was taken, at most.
    pub(super) waited: Vec<usize>,
    /// Searches until the bottom of the stack comes first.
    pub(super) until_bottom: usize,
    /// Whether the mailbox taken last was at the bottom.
    pub(super) from_bottom: bool,
    /// Where many records wait, and this worker has put more.
    pub(super) backlog: Option<Arc<Mailbox>>,
    pub(super) stolen: u64,
    pub(super) activations: u64,
    /// What its calls have emitted since one was last asked whether it may begin.
    pub(super) ahead: usize,
    /// What is to be handed on before all else.
    pub(super) emitted: Option<LeftOutputs>,
}

impl Role {
    pub(super) fn new(index: Option<usize>, operations: usize) -> Self {
        Self {
            index,
            local: Stack::default(),
            ready: Vec::new(),
            outbox: Vec::new(),
            flushing: false,
            ends: Vec::new(),
            emptied: Vec::new(),
            counts: vec![0; operations],
            waited: vec![0; operations],
            until_bottom: FAIR,
            from_bottom: false,
            backlog: None,
            stolen: 0,
            activations: 0,
            ahead: 0,
            emitted: None,
        }
    }
}

/// What a thread gets that waits for a role.
#[derive(Debug)]
pub(super) enum Handed {
    Nothing,
    Role(Box<Role>),
    /// The run is over.
    Over,
}

/// Where a thread gets a role.
#[derive(Debug)]
pub(super) struct Seat {
    handed: Mutex<Handed>,
    changed: Condvar,
}

impl Seat {
    pub(super) fn new(handed: Handed) -> Arc<Self> {
        Arc::new(Self { handed: Mutex::new(handed), changed: Condvar::new() })
    }

    pub(super) fn with(role: Box<Role>) -> Arc<Self> {
        Self::new(Handed::Role(role))
    }

    pub(super) fn hand(&self, handed: Handed) {
        *self.handed.lock() = handed;
        self.changed.notify_one();
    }

    /// Waits for a role; there is none once the run is over.
    pub(super) fn take(&self) -> Option<Box<Role>> {
        let mut handed = self.handed.lock();
        loop {
            match std::mem::replace(&mut *handed, Handed::Nothing) {
                Handed::Nothing => self.changed.wait(&mut handed),
                Handed::Role(role) => return Some(role),
                Handed::Over => return None,
            }
        }
    }
}

impl Worker<'_, '_> {
    /// Takes the role of this thread away.
    pub(super) fn without_role(&mut self) -> Box<Role> {
        let operations = self.role.counts.len();
        let no_role = self.no_role.take();
        let no_role = no_role.unwrap_or_else(|| Box::new(Role::new(None, operations)));
        std::mem::replace(&mut self.role, no_role)
    }

    /// Gives this thread a role, if there is one: there is none once the run is over.
    pub(super) fn with_role(&mut self, role: Option<Box<Role>>) {
        if let Some(role) = role {
            self.no_role = Some(std::mem::replace(&mut self.role, role));
        }
    }
}

/// What a worker counted.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) counts: Vec<u64>,
    pub(super) waited: Vec<usize>,
    pub(super) activations: u64,
    pub(super) stolen: u64,
}
