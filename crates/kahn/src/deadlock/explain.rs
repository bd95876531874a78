//! Finds out which process waits for what, at which message, and what would help.

use super::walk::{Edge, all_rings, edge_of, still_holds};
use crate::channel::process::attribute::LINK;
use crate::channel::raw::End;
use crate::channel::table::{ChannelTable, Kept};
use kahn_engine::sync::Ordering::*;
use kahn_engine::sync::system::clock;
use kahn_engine::task::attribute;
use kahn_engine::{Kind, Scheduler, TaskRef};
use kahn_report::{Activity, Explanation, Held, Identity, RingMember, Waiting};

/// Looks at every process that has not ended.
pub(crate) fn explain(scheduler: &Scheduler, channels: &ChannelTable) -> Explanation {
    explain_each(scheduler, channels).0
}

/// … and tells their identities, too.
pub(crate) fn explain_each(
    scheduler: &Scheduler,
    channels: &ChannelTable,
) -> (Explanation, Vec<Identity>) {
    // While both tables are locked no process and no channel is recycled: names can be read.
    let table = scheduler.table.lock();
    let channels = channels.hold();
    let mut processes = table.all();
    // Looked at twice: the network may be running.
    let rings: Vec<_> = all_rings(&processes)
        .iter()
        .filter(|ring| still_holds(ring))
        .map(|ring| members(ring))
        .collect();
    let running = scheduler.running();
    processes.retain(|task| !task.has_ended() && is_told(*task));
    processes.sort_by_key(|task| task.info().identity);
    let waiting = |task: &TaskRef| Waiting {
        process: task.info().name.clone(),
        activity: activity(*task, running.contains(task), scheduler, &channels),
        kind: kind_of(*task),
        is_stuck: false,
        created_at: None,
    };
    let waiting = processes.iter().map(waiting).collect();
    let identities = processes.iter().map(|task| task.info().identity).collect();
    let mut explanation = Explanation { waiting, rings, ..Explanation::default() };
    explanation.remedies = remedies(&explanation);
    (explanation, identities)
}

/// Whether it is told what a process does: not of one that works for another, nor of a part that waits for
/// another part.
pub(crate) fn is_told(task: TaskRef) -> bool {
    task.attributes() & (attribute::HELPER | LINK) == 0
        && edge_of(task).is_none_or(|Edge { channel, .. }| {
            !channel.is_inner() || channel.table().held_at(channel).is_some()
        })
}

/// What kind of process it is, as explanations tell it.
pub(super) fn kind_of(task: TaskRef) -> &'static str {
    match task.created_as() {
        Kind::Pooled => "process",
        Kind::Threaded => "blocking",
        Kind::Outside => "outside",
    }
}

pub(super) fn members(ring: &[Edge]) -> Vec<RingMember> {
    let mut members: Vec<_> = ring
        .iter()
        .filter(|edge| !edge.channel.is_inner())
        .map(|edge| RingMember {
            process: edge.task.info().name.clone(),
            channel: edge.channel.name().clone(),
            full: edge.end == End::Sender,
            operation: None,
        })
        .collect();
    // Begin with the process that was created first, wherever the ring was found.
    let first = ring
        .iter()
        .filter(|edge| !edge.channel.is_inner())
        .enumerate()
        .min_by_key(|(_, edge)| edge.task.info().identity)
        .map_or(0, |(index, _)| index);
    members.rotate_left(first);
    members
}

fn activity(task: TaskRef, runs: bool, scheduler: &Scheduler, channels: &Kept<'_>) -> Activity {
    if runs {
        return Activity::Computes;
    }
    if let Some(edge) = edge_of(task) {
        if let Some(held) = edge.channel.table().held_at(edge.channel) {
            return held;
        }
        let channel = edge.channel.name().clone();
        let peer = edge.peer().map(|peer| peer.info().name.clone());
        return match edge.end {
            End::Receiver => Activity::Receives {
                channel,
                message: edge.channel.messages(End::Sender) + 1,
                from: peer,
            },
            End::Sender => Activity::Sends {
                channel,
                message: edge.channel.messages(End::Sender) + 1,
                capacity: edge.channel.cold.capacity.load(Relaxed).into(),
                to: peer,
            },
        };
    }
    match task.foreign_if_any() {
        // Other parts of its process work for it.
        Some(_) if task.attributes() & attribute::PART != 0 => Activity::Computes,
        Some(foreign) if foreign.is_pending() => Activity::WaitsForeign,
        Some(foreign) if foreign.is_orphan() => {
            if foreign.was_asked() {
                Activity::Orphaned
            } else {
                Activity::Stopped
            }
        }
        // Also while the run is being stopped: then it is the one that does not stop.
        _ if task.kind() == Kind::Outside => Activity::Outside {
            holds: held(task, channels),
            idle_seconds: task.last_operation().map(|ticks| {
                clock::to_duration(clock::ticks().saturating_sub(ticks)).as_secs_f64()
            }),
        },
        _ if task.kind() != Kind::Pooled && !scheduler.is_building() => Activity::Computes,
        _ => Activity::Ready,
    }
}

/// The ends that a party holds, in the order in which their channels were created.
fn held(party: TaskRef, channels: &Kept<'_>) -> Vec<Held> {
    let all = channels.all();
    let ends =
        all.iter().flat_map(|&channel| [End::Sender, End::Receiver].map(|end| (channel, end)));
    let mut held: Vec<_> = ends
        .filter(|(channel, end)| {
            channel.owner(*end) == Some(party) && !channel.seen(*end).is_closed()
        })
        .collect();
    held.sort_by_key(|(channel, end)| (channel.label().identity, *end));
    held.into_iter()
        .map(|(channel, end)| Held {
            channel: channel.name().clone(),
            is_sender: end == End::Sender,
            messages: channel.messages(end),
        })
        .collect()
}

/// What helps if all that is left of a run are idle parties and those that wait for them.
fn forgotten_ends(explanation: &Explanation) -> Option<String> {
    let mut parties = Vec::new();
    for waiting in &explanation.waiting {
        match waiting.activity {
            Activity::Outside { .. } => parties.push(format!("`{}`", waiting.process)),
            Activity::Receives { .. } | Activity::Sends { .. } => {}
            _ => return None,
        }
    }
    let (has, their) = if parties.len() == 1 { ("has", "its") } else { ("have", "their") };
    (!parties.is_empty()).then(|| {
        format!(
            "the run waits until {} {has} dropped {their} ends: drop what is needed no more, also \
             where a thread or a task keeps it",
            parties.join(" and ")
        )
    })
}

/// What would help the processes of a ring.
pub(crate) fn remedy_of(ring: &[RingMember]) -> String {
    if let Some(full) = ring.iter().find(|member| member.full) {
        format!(
            "give `{}` more capacity, or let the runtime grow it: do not switch detection off, \
             and allow a larger budget",
            full.channel
        )
    } else if let [only] = ring {
        format!("give `{}` an initial message: it leads back to its sender", only.channel)
    } else {
        let names: Vec<_> = ring.iter().map(|member| format!("`{}`", member.channel)).collect();
        format!(
            "one process of the ring must send before it receives, or one of {} needs an \
             initial message",
            names.join(", ")
        )
    }
}

fn remedies(explanation: &Explanation) -> Vec<String> {
    let mut remedies = Vec::new();
    remedies.extend(explanation.rings.iter().map(|ring| remedy_of(ring)));
    remedies.extend(forgotten_ends(explanation));
    if explanation.waiting.iter().any(|w| matches!(w.activity, Activity::Orphaned)) {
        remedies.push(
            "a process waits for a future that dropped its waker: nothing can ever wake it".into(),
        );
    }
    remedies.dedup();
    remedies
}
