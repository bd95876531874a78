//! What processes do at one moment, for what samples a run: states alone, many times a second, or with names and
//! channels.
//!
//! No gate is locked and no select state kept: what is read is atomic, and parked processes leave it behind
//! anyway, so a message costs no instruction more, and a network with one worker is looked at as any other.
//! The table of processes is locked, so no header is made or recycled meanwhile.
//!
//! | a process waits | it does so if |
//! |---|---|
//! | at a channel | the flag of its side is up, and it is the one that used the side last |
//! | for one of several things, or for a time | its offer is open, or kept for a moment |
//! | at a barrier | the phase that it came for is not complete: which it was, it has left in its `tally` |
//! | for a claim, a join, in a bucket | its place does not say that it was [left](Place::leave) |
//!
//! One that may be killed offers all its waits: if its offer is not open any more, it is ready. What is read
//! of two processes may have been so at two moments.

use crate::channel::blocks;
use crate::channel::rendezvous::{Rendezvous, Side, flag};
use crate::language::common::Common;
use crate::language::header::{mark, own};
use crate::network::core::Core;
use crate::run::explain::Stuck;
use crate::sharing::phases::Phases;
use crate::wait::place::Place;
use crate::wait::select;
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::Task;
use kahn_engine::{Kind, TaskRef};
use kahn_report::observe::{Doing, Look, Survey, SurveyedChannel, SurveyedProcess};
use std::collections::BTreeMap;
use std::ops::Range;

/// The number of a process, as observers are told it.
fn number(task: TaskRef) -> u64 {
    task.info().identity.digest() as u64
}

/// Whether a process waits at a channel, at either side: one that swaps is entered at any.
fn waits_at(task: TaskRef, channel: *const ()) -> Option<Side> {
    // SAFETY: type-stable memory.
    let rendezvous = unsafe { &*channel.cast::<Rendezvous>() };
    let flags = rendezvous.flags();
    [Side::Sender, Side::Receiver].into_iter().find(|&side| rendezvous.has(side, flags, task))
}

/// What a process does.
fn doing(common: &Common, task: TaskRef, running: &[TaskRef]) -> Doing {
    if running.contains(&task) {
        return Doing::Busy;
    }
    if task.foreign_if_any().is_some_and(|foreign| foreign.is_pending() || foreign.is_orphan()) {
        return Doing::WaitsOutside;
    }
    // Relaxed: what is stale has been so a moment ago.
    let is_killable = task.own.load(Relaxed) & own::KILLABLE != 0;
    let is_killed = task.marks.load(Relaxed) & mark::KILL != 0;
    let offers = || select::offers(task);
    let is_there = !is_killed && (!is_killable || offers());
    let waits = match Place::of(task).filter(|_| is_there) {
        Some(Place::Send(at) | Place::Receive(at)) => waits_at(task, at).map(|side| match side {
            Side::Sender => Doing::WaitsForRoom,
            Side::Receiver => Doing::WaitsForMessage,
        }),
        Some(Place::Sleep) => offers().then_some(Doing::WaitsOutside),
        Some(Place::Alternation(_)) => offers().then_some(Doing::WaitsForMessage),
        Some(Place::Barrier(at)) => {
            let awaited = task.tally.load(Relaxed);
            let at = at.cast::<Phases>();
            let phase = common.registry.look(at, Phases::number);
            (phase == Some(awaited)).then_some(Doing::WaitsForMessage)
        }
        Some(Place::Claim(_) | Place::Join(_) | Place::Bucket(_)) => Some(Doing::WaitsForMessage),
        None => None,
    };
    waits.unwrap_or(if task.kind() == Kind::Pooled { Doing::Ready } else { Doing::Busy })
}

/// Looks at the processes at these places.
pub(crate) fn look(core: &Core, places: Range<usize>, look: &mut Look) {
    look.processes.clear();
    look.workers.clear();
    look.places = 0;
    if !core.scheduler.is_running() {
        return;
    }
    let table = core.scheduler.table.lock();
    let (part, taken) = table.part(places);
    let running = core.scheduler.running();
    look.places = taken;
    look.processes.extend(part.map(|task| (number(task), doing(&core.common, task, &running))));
    let alive = |task: &TaskRef| table.lists(*task);
    let of_workers = core.scheduler.of_workers();
    look.workers.extend(of_workers.map(|task| task.filter(alive).map(number)));
}

/// Looks at the processes and the channels at these places, by name; `stuck` was found a moment ago.
pub(crate) fn survey(
    core: &Core,
    processes: Range<usize>,
    channels: &Range<usize>,
    stuck: Stuck,
) -> Survey {
    if !core.scheduler.is_running() {
        return Survey::default();
    }
    let table = core.scheduler.table.lock();
    let mut alive = table.all();
    alive.sort_unstable();
    let (mut ids, mut surveyed) = (BTreeMap::new(), Vec::new());
    let channel_places = blocks::each(&core.common, |nth, id, channel| {
        ids.insert(std::ptr::from_ref(channel).addr(), id);
        if channels.contains(&nth) {
            surveyed.push(surveyed_channel(channel, id, &alive));
        }
    });
    let (part, process_places) = table.part(processes);
    let running = core.scheduler.running();
    let processes = part.map(|task| {
        let waits = |at: *const ()| waits_at(task, at).is_some() && !running.contains(&task);
        let at = match Place::of(task) {
            Some(Place::Send(at) | Place::Receive(at)) if waits(at) => Some(at),
            _ => None,
        };
        SurveyedProcess {
            id: number(task),
            name: task.info().name.clone(),
            kind: if task.created_as() == Kind::Pooled { "process" } else { "blocking" },
            waits_at: at.and_then(|at| ids.get(&at.addr()).copied()),
            is_stuck: stuck.processes.contains(&number(task)),
        }
    });
    Survey {
        processes: processes.collect(),
        channels: surveyed,
        rings: stuck.rings,
        process_places,
        channel_places,
    }
}

/// A channel, while it stays in its block.
fn surveyed_channel(channel: &Rendezvous, id: u64, alive: &[TaskRef]) -> SurveyedChannel {
    let user = |side| {
        let user: *const Task = channel.user(side);
        let place = alive.binary_search_by_key(&user, |task| task.as_ptr()).ok()?;
        Some(number(alive[place]))
    };
    let (flags, received) = (channel.flags(), channel.met());
    let capacity = channel.capacity();
    let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
    // How many messages a buffer holds is behind the gate; that it is empty, or full, is not.
    let waiting = match (flags & flag::MESSAGES != 0, flags & flag::ROOM != 0) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => capacity,
    };
    SurveyedChannel {
        id,
        name: channel.name().clone(),
        from: user(Side::Sender),
        to: user(Side::Receiver),
        capacity,
        sent: received + u64::from(waiting),
        received,
        growths: 0,
    }
}
