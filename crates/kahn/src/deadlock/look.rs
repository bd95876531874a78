//! What processes do at one moment, for what samples a run: states alone, many times a second, or with
//! names and channels.
//!
//! Nothing is told by the run: both read what parked processes leave in words and headers anyway, so a
//! message costs no instruction more. As in an explanation the table of processes is locked, so no header
//! is made or recycled meanwhile, and of a survey that of channels as well. What runs goes on: what is
//! found of two processes may have been so at two moments. Before the run, when headers and channels
//! are still changed without a lock, there is nothing to see.

use super::explain::{kind_of, members};
use super::is_dead;
use super::walk::{all_rings, edge_of, still_holds};
use crate::channel::raw::{ChannelRef, End};
use crate::channel::table::ChannelTable;
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::attribute;
use kahn_engine::{Kind, Scheduler, TaskRef};
use kahn_report::Identity;
use kahn_report::observe::{Doing, Look, Survey, SurveyedChannel, SurveyedProcess};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The number of what has this identity, as observers are told it.
fn number(identity: Identity) -> u64 {
    identity.digest() as u64
}

/// What works for a process: its parts and helpers, seen as one with it.
const WITHIN: u8 = attribute::PART | attribute::HELPER;

/// The numbers of processes. A further part has that of its process, while there is another part of it or a
/// helper that tells it.
struct Numbers {
    /// By the number of each further part.
    wholes: BTreeMap<u64, Whole>,
}

/// The process of a further part.
#[derive(Clone, Copy, Default)]
struct Whole {
    number: Option<u64>,
    /// Whether its first part is there.
    has_first: bool,
}

impl Numbers {
    /// `of_part` tells the identity of a further part from that of its process.
    fn new(tasks: &[TaskRef], of_part: fn(Identity) -> Identity) -> Self {
        let is_part = |task: &&TaskRef| task.attributes() & attribute::PART != 0;
        let parts = tasks.iter().filter(is_part);
        let mut wholes: BTreeMap<_, Whole> =
            parts.map(|task| (number(task.info().identity), Whole::default())).collect();
        if !wholes.is_empty() {
            for task in tasks.iter().filter(|task| !is_part(task)) {
                let identity = task.info().identity;
                if let Some(whole) = wholes.get_mut(&number(of_part(identity))) {
                    whole.number = Some(number(identity));
                    whole.has_first |= task.attributes() & WITHIN == 0;
                }
            }
        }
        Self { wholes }
    }

    fn of(&self, task: TaskRef) -> u64 {
        let own = number(task.info().identity);
        self.wholes.get(&own).and_then(|whole| whole.number).unwrap_or(own)
    }

    /// Whether it stands for its process: others of that are seen as one with it.
    fn stands_for_all(&self, task: TaskRef) -> bool {
        let is_left = || {
            let whole = self.wholes.get(&number(task.info().identity));
            whole.is_some_and(|whole| !whole.has_first)
        };
        match task.attributes() & WITHIN {
            0 => true,
            // The first part may have ended, or stand at a place that is not looked at.
            attribute::PART => is_left(),
            _ => false,
        }
    }
}

/// What a process does; `None`: it waits for another part of its process.
fn doing(task: TaskRef, running: &[TaskRef]) -> Option<Doing> {
    if running.contains(&task) {
        return Some(Doing::Busy);
    }
    if let Some(edge) = edge_of(task) {
        let is_outside = edge.peer().is_some_and(|peer| peer.created_as() == Kind::Outside);
        return match edge.end {
            _ if edge.channel.is_inner() => None,
            _ if is_outside => Some(Doing::WaitsOutside),
            End::Receiver => Some(Doing::WaitsForMessage),
            End::Sender => Some(Doing::WaitsForRoom),
        };
    }
    match task.foreign_if_any() {
        Some(foreign) if foreign.is_pending() || foreign.is_orphan() => {
            (task.attributes() & attribute::PART == 0).then_some(Doing::WaitsOutside)
        }
        _ if task.created_as() == Kind::Outside => Some(Doing::WaitsOutside),
        _ if task.kind() != Kind::Pooled => Some(Doing::Busy),
        _ => Some(Doing::Ready),
    }
}

/// Looks at the processes at these places. Of several parts of one process it is told what the one does
/// that does most.
pub(crate) fn look(
    scheduler: &Scheduler,
    places: Range<usize>,
    of_part: fn(Identity) -> Identity,
    look: &mut Look,
) {
    look.processes.clear();
    look.workers.clear();
    look.places = 0;
    if !scheduler.is_running() {
        return;
    }
    let table = scheduler.table.lock();
    let (part, taken) = table.part(places);
    let part: Vec<_> = part.collect();
    let running = scheduler.running();
    let numbers = Numbers::new(&part, of_part);
    let mut within: Vec<(u64, Option<Doing>)> = Vec::new();
    look.places = taken;
    for &task in &part {
        let (number, doing) = (numbers.of(task), doing(task, &running));
        let stands_for_all = numbers.stands_for_all(task);
        if !stands_for_all || doing.is_none() {
            within.push((number, doing));
        }
        if stands_for_all {
            look.processes.push((number, doing.unwrap_or(Doing::Ready)));
        }
    }
    merge(&mut look.processes, within);
    let alive = |task: &TaskRef| table.lists(*task);
    look.workers.extend(scheduler.of_workers().map(|task| Some(numbers.of(task.filter(alive)?))));
}

/// Adds what parts of processes do to what those do. A process that waits for another part of itself
/// stands in both lists.
fn merge(processes: &mut [(u64, Doing)], mut within: Vec<(u64, Option<Doing>)>) {
    if within.is_empty() {
        return;
    }
    within.sort_unstable_by_key(|&(number, _)| number);
    for (number, doing) in processes {
        let first = within.partition_point(|other| other.0 < *number);
        let parts = within[first..].iter().take_while(|other| other.0 == *number);
        let waits_within = parts.clone().any(|(_, doing)| doing.is_none());
        let most = parts.filter_map(|&(_, doing)| doing).min();
        *doing = match most {
            Some(most) if waits_within && *doing == Doing::Ready => most,
            Some(most) => most.min(*doing),
            None => *doing,
        };
    }
}

/// Looks at the processes and the channels at these places, by name, and for rings among all processes.
pub(crate) fn survey(
    scheduler: &Scheduler,
    channels: &ChannelTable,
    places: (Range<usize>, Range<usize>),
    of_part: fn(Identity) -> Identity,
) -> Survey {
    if !scheduler.is_running() {
        return Survey::default();
    }
    let table = scheduler.table.lock();
    let kept = channels.hold();
    let (part, process_places) = table.part(places.0);
    let part: Vec<_> = part.collect();
    let numbers = Numbers::new(&part, of_part);
    // Of all: a ring may go through many places.
    let mut rings = all_rings(&table.all());
    rings.retain(|ring| still_holds(ring));
    // One with a channel that is full goes on if that grows.
    let for_ever = rings.iter().filter(|ring| ring.iter().all(|edge| edge.end == End::Receiver));
    let for_ever: BTreeSet<_> = for_ever.flatten().map(|edge| numbers.of(edge.task)).collect();
    let waits_at = |task| {
        let edge = edge_of(task).filter(|edge| !edge.channel.is_inner())?;
        Some(number(edge.channel.label().identity))
    };
    let further = part.iter().filter(|task| task.attributes() & attribute::PART != 0);
    let further: BTreeMap<_, _> =
        further.filter_map(|&task| Some((numbers.of(task), waits_at(task)?))).collect();
    let processes = part.iter().filter(|task| numbers.stands_for_all(**task));
    let processes = processes.map(|&task| {
        let id = numbers.of(task);
        SurveyedProcess {
            id,
            name: task.info().name.clone(),
            kind: kind_of(task),
            waits_at: waits_at(task).or_else(|| further.get(&id).copied()),
            is_stuck: is_dead(task) || for_ever.contains(&id),
        }
    });
    let (at_places, channel_places) = kept.part(places.1);
    let at_places = at_places.filter(|channel| !channel.is_inner());
    Survey {
        processes: processes.collect(),
        channels: at_places.map(|channel| surveyed(channel, &numbers)).collect(),
        rings: rings.iter().map(|ring| members(ring)).collect(),
        process_places,
        channel_places,
    }
}

fn surveyed(channel: ChannelRef, numbers: &Numbers) -> SurveyedChannel {
    // It is named as long as the channel is there, also if it has ended.
    let owner = |end| channel.owner(end).map(|owner| numbers.of(owner));
    // This one first: what was received was sent before.
    let received = channel.messages(End::Receiver);
    SurveyedChannel {
        id: number(channel.label().identity),
        name: channel.name().clone(),
        from: owner(End::Sender),
        to: owner(End::Receiver),
        capacity: channel.cold.capacity.load(Relaxed),
        sent: channel.messages(End::Sender),
        received,
        growths: channel.growths().load(Relaxed),
    }
}
