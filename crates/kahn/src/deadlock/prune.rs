//! Waking processes that are to be pruned and are parked.
//!
//! Only the peer may resume a process that is parked at a channel, and it stores its count without a
//! comparison where it has seen PARKED (`channel::word`). Here the peer may run, so it is told first
//! to publish by a swap, as at the channels of threads and parties, and is waited for:
//!
//! | the process | the peer | then |
//! |---|---|---|
//! | runs, is ready, or waits for something else than a channel | | it is looked at again later |
//! | is parked | may store | its end is to tell the outside, a grace period begins |
//! | is parked as it was, the period goes on | may store, or swaps | it is looked at again later |
//! | is parked as it was, the period has ended | swaps | PARKED is cleared by a comparison, and it is made ready |
//! | is parked elsewhere | may store | as the second |
//! | is held: it is in a ring through other ranks | | it is looked at again when that is released |
//! | has ended, or is dead | | it is forgotten |
//!
//! *One of the two wakes it.* After the grace period each publication of the peer either began before
//! the period and is complete, or sees what the end is to tell. So PARKED is cleared by read-modify-writes
//! alone, and the one that clears it wakes the process.
//!
//! *The right process is woken.* A word shows PARKED with one count only while one process waits there
//! once: counts grow with each wake-up but that of a ring, which the lock excludes, and with each
//! channel that uses the same memory.
//!
//! One that is dead stays so: the two endings are told as one (`network::observed`).
//!
//! When no root is left (`channel::prune`), all processes are marked and looked at so.

use super::walk::{Edge, edge_of};
use super::{Resolver, State, is_dead};
use crate::channel::language::Kahn;
use crate::channel::language::mark;
use crate::channel::prune::prune_all;
use crate::channel::raw::told;
use kahn_engine::sync::Ordering::*;
use kahn_engine::{Origin, Reason, Scheduler, TaskRef};

/// A process that is to be pruned, and where it was parked when it was looked at.
#[derive(Debug)]
pub(super) struct Marked {
    task: TaskRef,
    /// With the grace period after which it may be woken.
    parked: Option<(Edge, u64)>,
}

impl Resolver {
    /// Wakes those that are to be pruned and parked; `true` if there are any. Called by a worker that is in no
    /// operation, or by a thread of a process.
    pub(crate) fn wake_to_prune(&self, scheduler: &Scheduler) -> bool {
        let to_prune = &scheduler.language::<Kahn>().to_prune;
        if !to_prune.has_any() {
            return false;
        }
        let mut state = self.lock.lock();
        if to_prune.roots.take_lost() {
            watch_root(&mut state.root, scheduler);
        }
        let new = to_prune.take_new();
        state.to_prune.extend(new.into_iter().map(|task| Marked { task, parked: None }));
        state.to_prune.retain_mut(|marked| marked.is_left(scheduler));
        let last_grace = scheduler.last_grace();
        let before = state.to_prune.len();
        let State { waits, to_prune, .. } = &mut *state;
        let held = self.held.lock();
        to_prune.retain(|marked| {
            let is_woken = !held.contains(&marked.task) && marked.wake(last_grace, scheduler);
            if is_woken {
                waits.remove(&marked.task);
            }
            !is_woken
        });
        scheduler.language::<Kahn>().to_prune.keep_asking(!to_prune.is_empty());
        to_prune.len() < before
    }

    /// Whether no root has been left here since it was looked last. If one has become one, it is looked again.
    pub(crate) fn stays_without_root(&self, scheduler: &Scheduler) -> bool {
        let mut state = self.lock.lock();
        let roots = &scheduler.language::<Kahn>().to_prune.roots;
        if roots.are_none() && roots.are_more() {
            watch_root(&mut state.root, scheduler);
            return false;
        }
        roots.are_none()
    }
}

/// Places of the table that are looked at in one go.
const SOME: usize = 64;

/// Watches the next root in the table of processes, from the place of the last one on. If none is left, all that are
/// alive may be pruned, unless another rank has one.
pub(crate) fn watch_root(place: &mut usize, scheduler: &Scheduler) {
    let kahn = scheduler.language::<Kahn>();
    let roots = &kahn.to_prune.roots;
    let table = scheduler.table.lock();
    let places = table.part(0..0).1;
    let first = *place / SOME * SOME;
    loop {
        roots.begin_look();
        for start in (first..places).step_by(SOME).chain((0..first).step_by(SOME)) {
            let mut some = table.part(start..places.min(start + SOME)).0;
            if some.any(|task| roots.watch(task)) {
                *place = start;
                return;
            }
        }
        if !roots.are_more() {
            break;
        }
    }
    roots.set_none();
    drop(table);
    if kahn.network.tell_no_root() {
        prune_all(scheduler);
    }
}

impl Marked {
    /// Whether it is to be woken, now or later; prepares for it.
    fn is_left(&mut self, scheduler: &Scheduler) -> bool {
        let task = self.task;
        if task.has_ended() || task.marks.load(Acquire) & mark::PRUNE == 0 || is_dead(task) {
            return false;
        }
        let edge = edge_of(task);
        if self.parked.map(|(edge, _)| edge) != edge {
            self.parked = edge.map(|edge| {
                // Relaxed: what acts on it comes after the grace period.
                edge.channel.side(edge.end.peer()).tell(told::OUTSIDE);
                (edge, scheduler.begin_grace())
            });
        }
        true
    }

    /// Wakes it if it is still parked there and may be woken.
    fn wake(&self, last_grace: u64, scheduler: &Scheduler) -> bool {
        let Some((edge, period)) = self.parked else { return false };
        if period > last_grace || !edge.channel.word(edge.end.peer()).unpark(edge.seen) {
            return false;
        }
        // SAFETY: taken out of its wait, which one thread can do.
        let ready = unsafe { self.task.claim() };
        scheduler.make_ready(Origin::Outside, ready, Reason::Woken);
        true
    }
}
