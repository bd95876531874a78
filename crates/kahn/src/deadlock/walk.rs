//! Following which process waits for which.

use crate::channel::process::InNetwork;
use crate::channel::raw::{ChannelRef, End, flag};
use crate::channel::word::Seen;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Ordering::*, fence};
use std::collections::BTreeMap;

/// A process that is parked, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) task: TaskRef,
    pub(crate) channel: ChannelRef,
    /// Its own end; the peer's word shows PARKED.
    pub(crate) end: End,
    pub(crate) seen: Seen,
}

impl Edge {
    /// What is at the other end.
    pub(crate) fn peer(&self) -> Option<TaskRef> {
        self.channel.owner(self.end.peer())
    }

    /// The capacity that a parked sender has found full.
    pub(crate) fn capacity(&self) -> u32 {
        // Relaxed: seen with the bit that shows the sender parked.
        self.channel.cold.capacity.load(Relaxed)
    }
}

/// Where a process is parked, if it is.
pub(crate) fn edge_of(task: TaskRef) -> Option<Edge> {
    // Acquire pairs with the Release of the store in `channel::slow_path`.
    let waits_at = task.state().waits_at.load(Acquire);
    // SAFETY: set by `waiting_at` of a channel of this network, or null.
    let (channel, end) = unsafe { ChannelRef::from_waiting(waits_at) }?;
    let seen = channel.seen(end.peer());
    // An end that was handed on since is the wait of another.
    (seen.is_parked() && channel.owner(end) == Some(task)).then_some(Edge {
        task,
        channel,
        end,
        seen,
    })
}

fn next_of(task: TaskRef, stop_at_bridges: bool) -> Option<(Edge, TaskRef)> {
    let edge = edge_of(task)?;
    if stop_at_bridges && edge.channel.has_flag(flag::BRIDGE) {
        return None;
    }
    Some((edge, edge.peer()?))
}

/// Follows the waits from `start`; if they come round, returns the ring, looked at twice.
///
/// Brent's algorithm: no memory but the ring itself. `spent` counts the looks.
pub(crate) fn ring_from(
    start: TaskRef,
    stop_at_bridges: bool,
    spent: &mut usize,
) -> Option<Vec<Edge>> {
    // A process that parked before this look is seen; see the module above for why late is early enough.
    fence(SeqCst);
    let (mut resting, mut walking) = (start, start);
    let (mut taken, mut limit) = (0_usize, 1_usize);
    loop {
        *spent += 1;
        let (_, next) = next_of(walking, stop_at_bridges)?;
        walking = next;
        if walking == resting {
            break;
        }
        taken += 1;
        if taken == limit {
            (resting, taken, limit) = (walking, 0, limit * 2);
        }
    }
    let mut ring = Vec::new();
    let first = walking;
    loop {
        *spent += 1;
        let (edge, next) = next_of(walking, stop_at_bridges)?;
        ring.push(edge);
        walking = next;
        if walking == first {
            break;
        }
        if ring.len() > taken + limit {
            // The ring changed under our feet.
            return None;
        }
    }
    *spent += ring.len();
    still_holds(&ring).then_some(ring)
}

/// The ring through `start`, if these waits come round to it; looked at twice.
pub(crate) fn ring_through(start: TaskRef, waits: &BTreeMap<TaskRef, Edge>) -> Option<Vec<Edge>> {
    let mut ring = Vec::new();
    let mut at = start;
    // A wait may be over that is still in the map, so the walk may come round to another.
    while ring.len() <= waits.len() {
        let edge = waits.get(&at)?;
        ring.push(*edge);
        at = edge.peer()?;
        if at == start {
            return still_holds(&ring).then_some(ring);
        }
    }
    None
}

/// The second look: every process still parked where it was.
pub(crate) fn still_holds(ring: &[Edge]) -> bool {
    ring.iter().all(|edge| edge_of(edge.task) == Some(*edge))
}

/// All rings among these processes, each once; hardly more than linear.
pub(crate) fn all_rings(processes: &[TaskRef]) -> Vec<Vec<Edge>> {
    /// No walk has come to this process.
    const NOT_SEEN: usize = usize::MAX;
    fence(SeqCst);
    let mut by_address = processes.to_vec();
    by_address.sort_unstable();
    let place = |task: TaskRef| by_address.binary_search(&task).ok();
    let mut walked = vec![NOT_SEEN; processes.len()];
    let mut rings = Vec::new();
    for (number, &start) in processes.iter().enumerate() {
        let mut at = start;
        // Until we come to no process, to an older walk, or to our own track.
        let closed = loop {
            let Some(index) = place(at) else { break None };
            if walked[index] == number {
                break Some(at);
            }
            if walked[index] != NOT_SEEN {
                break None;
            }
            walked[index] = number;
            match next_of(at, false) {
                Some((_, next)) => at = next,
                None => break None,
            }
        };
        let Some(first) = closed else { continue };
        let mut ring = Vec::new();
        let mut at = first;
        while let Some((edge, next)) = next_of(at, false) {
            ring.push(edge);
            at = next;
            if at == first || ring.len() > processes.len() {
                break;
            }
        }
        if at == first && !ring.is_empty() {
            rings.push(ring);
        }
    }
    rings
}
