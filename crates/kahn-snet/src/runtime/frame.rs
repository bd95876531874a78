//! The entity graph: what exists of a program at run time, made when the first record comes.
//!
//! | here        | is                                                                      |
//! |-------------|-------------------------------------------------------------------------|
//! | [`Frame`]   | an instance of a scope: the program, a replica of a star or split, the body of a feedback |
//! | [`Entity`]  | what a component with state keeps in a frame                            |
//! | [`Landing`] | a place where records wait for a worker: a queue that one worker at a time drains |
//!
//! Filters, choices and tests keep nothing, so they have no entity: a worker carries a record
//! through them from one landing to the next; who may work at a landing, `licence` says.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

use super::cell::{Cell, Zipper};
use super::collector::Collector;
use super::graph::{OpId, ScopeId};
use super::licence::Waiting;
use super::order::RegionId;
use super::place::Place;
use super::shape::Rec;

/// How many frames were made; only their order matters.
static MADE: AtomicU64 = AtomicU64::new(0);

/// An instance of a scope.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) scope: ScopeId,
    /// How many were made before.
    pub(super) made: u64,
    pub(super) owner: Owner,
    pub(super) entities: Box<[Place<Entity>]>,
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
    pub(super) landing: Option<Arc<Landing>>,
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
        Self { scope, made, owner, entities: (0..entities).map(|_| Place::new()).collect() }
    }
}

/// The replicas of splits and stars that something lies in, the innermost first.
#[derive(Debug)]
pub(super) struct Within {
    /// The body of the split or star.
    pub(super) scope: ScopeId,
    /// What was split by, or the number of the replica in its star, from 1.
    pub(super) value: i64,
    pub(super) outer: Option<Arc<Within>>,
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
    Split(RwLock<Table<Arc<Frame>>>),
    /// The replicas, if each is a synchro-cell and nothing else.
    Cells(Mutex<Table<Cell>>),
    /// Where records wait for the body.
    Loop(Arc<Landing>),
    Box(Arc<Landing>),
    Region(RegionId),
}

/// A place where records wait for a worker.
#[derive(Debug)]
pub(super) struct Landing {
    /// The frame it lies in; held by the worker or deque that has work here, not by the landing,
    /// for the frame holds the landing.
    pub(super) home: Weak<Frame>,
    pub(super) op: OpId,
    pub(super) kind: Kind,
    /// Closed when the replica here was collected.
    pub(super) waiting: Waiting<Rec, Next>,
}

/// What a worker does with the records that wait.
#[derive(Debug)]
pub(super) enum Kind {
    /// Goes on behind the operation.
    Resume,
    /// Goes on in a replica or body, which is made when the first record comes.
    Body(Mutex<Option<Arc<Frame>>>),
    /// Calls a box, for as many records at once as allowed.
    Box(Option<Turn>),
    /// Writes records out.
    Output,
}

/// What keeps the order of a box that runs for several records at once.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) limit: usize,
    pub(super) collector: Collector<Rec>,
    /// Where its outputs go on, in order.
    pub(super) exit: Arc<Landing>,
}

impl Landing {
    pub(super) fn new(home: Weak<Frame>, op: OpId, kind: Kind) -> Arc<Self> {
        Arc::new(Self { home, op, kind, waiting: Waiting::new() })
    }
}

impl Drop for Landing {
    /// Drops a chain of collected replicas one by one, not one inside the other.
    fn drop(&mut self) {
        let mut next = self.waiting.take_forward().and_then(|next| next.landing);
        while let Some(mut landing) = next.and_then(Arc::into_inner) {
            next = landing.waiting.take_forward().and_then(|next| next.landing);
        }
    }
}

/// Takes the entity graph apart, so that nothing refers to itself any more; calls `visit` for
/// every frame first, with where it lies. What a collected replica forwards to, its frame leads to
/// as well.
pub(super) fn dismantle(root: Arc<Frame>, mut visit: impl FnMut(&Frame, Option<&Arc<Within>>)) {
    type Around = Option<Arc<Within>>;
    let mut frames: Vec<(Arc<Frame>, Around)> = vec![(root, None)];
    // With the number of the replica if it is one of a star, and with where the star lies.
    let mut landings: Vec<(Arc<Landing>, Option<i64>, Around)> = Vec::new();
    while let Some((frame, within)) = frames.pop() {
        visit(&frame, within.as_ref());
        if let (Owner::Stage { next, .. }, Some(here)) = (&frame.owner, &within) {
            let mut next = next.lock();
            let number = next.number(here.value);
            landings.extend(next.landing.take().map(|to| (to, Some(number), here.outer.clone())));
        }
        for entity in frame.entities.iter().filter_map(Place::get) {
            match entity {
                Entity::Cell(_)
                | Entity::Cells(_)
                | Entity::Zipper(_)
                | Entity::Box(_)
                | Entity::Region(_) => {}
                Entity::Star(first) => {
                    let mut first = first.lock();
                    let number = first.number(0);
                    let landing = first.landing.take();
                    landings.extend(landing.map(|to| (to, Some(number), within.clone())));
                }
                Entity::Split(replicas) => {
                    let mut all: Vec<_> = replicas.write().drain().collect();
                    all.sort_unstable_by_key(|(value, _)| *value);
                    for (value, frame) in all {
                        let place = Within { scope: frame.scope, value, outer: within.clone() };
                        frames.push((frame, Some(Arc::new(place))));
                    }
                }
                Entity::Loop(landing) => landings.push((Arc::clone(landing), None, within.clone())),
            }
        }
        while let Some((landing, number, outer)) = landings.pop() {
            landing.waiting.clear();
            let Kind::Body(body) = &landing.kind else { continue };
            let Some(body) = body.lock().take() else { continue };
            let place = match number {
                None => outer,
                Some(value) => Some(Arc::new(Within { scope: body.scope, value, outer })),
            };
            frames.push((body, place));
        }
    }
}
