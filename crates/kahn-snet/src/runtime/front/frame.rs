//! The entity graph: what exists of a program at run time, made when the first record comes.
//!
//! | here        | is                                                                      |
//! |-------------|-------------------------------------------------------------------------|
//! | [`Frame`]   | an instance of a scope: the program, a replica of a star or split, the body of a feedback |
//! | [`Entity`]  | what a component with state keeps in a frame                            |
//! | [`Mailbox`] | where records wait for a worker: a queue that one worker at a time drains |
//!
//! Filters, choices and tests keep nothing, so they have no entity: a worker carries a record
//! through them from one mailbox to the next; which worker may work at a mailbox, `ownership` says.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kahn_engine::sync::Ordering::Relaxed;
use kahn_engine::sync::{Mutex, PlainAtomicU64, PlainRwLock};

use super::mailbox::{Duty, Mailbox};
use super::once::Once;
use crate::runtime::steps::cell::{Cell, Zipper};
use crate::runtime::steps::graph::{OpId, ScopeId};
use crate::runtime::steps::tickets::RegionId;
use crate::runtime::steps::within::Within;

/// How many frames were made; only their order matters.
static MADE: PlainAtomicU64 = PlainAtomicU64::new(0);

/// An instance of a scope.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) scope: ScopeId,
    /// How many were made before.
    pub(super) made: u64,
    pub(super) owner: Owner,
    pub(super) entities: Box<[Once<Entity>]>,
}

/// What a frame belongs to, which says where records go at its end.
#[derive(Debug)]
pub(super) enum Owner {
    Program,
    /// A replica of a star.
    Stage {
        parent: Arc<Frame>,
        star: OpId,
        next: Mutex<Next>,
    },
    /// The stateless rest of replicas that were collected.
    Dead {
        parent: Arc<Frame>,
        star: OpId,
        next: Next,
    },
    /// A replica of a split.
    Replica {
        parent: Arc<Frame>,
        after: OpId,
    },
    /// The body of a feedback.
    Loop {
        parent: Arc<Frame>,
        feedback: OpId,
    },
}

/// The next replica of a star, and how many collected ones lie before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Next {
    pub(super) mailbox: Option<Arc<Mailbox>>,
    pub(super) dead: usize,
}

impl Next {
    /// The number of the replica, where `before` is that of the one that leads to it.
    fn number(&self, before: i64) -> i64 {
        before + 1 + i64::try_from(self.dead).unwrap_or(i64::MAX)
    }
}

impl Frame {
    pub(super) fn new(scope: ScopeId, entities: usize, owner: Owner) -> Self {
        let made = MADE.fetch_add(1, Relaxed);
        Self { scope, made, owner, entities: (0..entities).map(|_| Once::new()).collect() }
    }
}

/// Replicas by the value that they are for.
pub(super) type Table<T> = HashMap<i64, T, FixedState>;

/// What a component keeps.
#[derive(Debug)]
pub(super) enum Entity {
    Cell(Mutex<Cell>),
    Zipper(Mutex<Zipper>),
    /// The first replica that is not collected.
    Star(Mutex<Next>),
    /// The replicas.
    Split(PlainRwLock<Table<Arc<Frame>>>),
    /// The replicas, if each is a synchro-cell and nothing else.
    Cells(Mutex<Table<Cell>>),
    /// Where records wait for the body.
    Loop(Arc<Mailbox>),
    Box(Arc<Mailbox>),
    Region(RegionId),
}

/// Takes the entity graph apart, so that nothing refers to itself any more; calls `visit` for
/// every frame first, with where it lies. What a collected replica forwards to, its frame leads to
/// as well.
pub(super) fn dismantle(root: Arc<Frame>, mut visit: impl FnMut(&Frame, Option<&Arc<Within>>)) {
    type Around = Option<Arc<Within>>;
    let mut frames: Vec<(Arc<Frame>, Around)> = vec![(root, None)];
    // With the number of the replica if it is one of a star, and with where the star lies.
    let mut mailboxes: Vec<(Arc<Mailbox>, Option<i64>, Around)> = Vec::new();
    while let Some((frame, within)) = frames.pop() {
        visit(&frame, within.as_ref());
        if let (Owner::Stage { next, .. }, Some(here)) = (&frame.owner, &within) {
            let mut next = next.lock();
            let number = next.number(here.value);
            mailboxes.extend(next.mailbox.take().map(|to| (to, Some(number), here.outer.clone())));
        }
        for entity in frame.entities.iter().filter_map(Once::get) {
            match entity {
                Entity::Cell(_)
                | Entity::Cells(_)
                | Entity::Zipper(_)
                | Entity::Box(_)
                | Entity::Region(_) => {}
                Entity::Star(first) => {
                    let mut first = first.lock();
                    let number = first.number(0);
                    let mailbox = first.mailbox.take();
                    mailboxes.extend(mailbox.map(|to| (to, Some(number), within.clone())));
                }
                Entity::Split(replicas) => {
                    let mut all: Vec<_> = replicas.write().drain().collect();
                    all.sort_unstable_by_key(|(value, _)| *value);
                    for (value, frame) in all {
                        let place = Within { scope: frame.scope, value, outer: within.clone() };
                        frames.push((frame, Some(Arc::new(place))));
                    }
                }
                Entity::Loop(mailbox) => {
                    mailboxes.push((Arc::clone(mailbox), None, within.clone()));
                }
            }
        }
        while let Some((mailbox, number, outer)) = mailboxes.pop() {
            mailbox.waiting.clear();
            let Duty::Body(body) = &mailbox.duty else { continue };
            let Some(body) = body.lock().take() else { continue };
            let place = match number {
                None => outer,
                Some(value) => Some(Arc::new(Within { scope: body.scope, value, outer })),
            };
            frames.push((body, place));
        }
    }
}
