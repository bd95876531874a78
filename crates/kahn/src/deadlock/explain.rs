//! Finds out who waits for what, at which message, and what would help.

use super::walk::{Edge, all_rings, edge_of, still_holds};
use crate::channel::raw::End;
use crate::channel::table::ChannelTable;
use crate::graph::{Activity, Explanation, RingMember, Waiting};
use crate::scheduler::{Kind, Scheduler, TaskRef};
use crate::sync::Ordering::*;

/// Looks at every process that has not ended.
pub(crate) fn explain(scheduler: &Scheduler, channels: &ChannelTable) -> Explanation {
    // While both tables are locked no process and no channel is recycled: names can be read.
    let table = scheduler.table.lock();
    let _channels = channels.hold();
    let mut processes = table.all();
    // Looked at twice: the network may be running.
    let rings: Vec<_> = all_rings(&processes)
        .iter()
        .filter(|ring| still_holds(ring))
        .map(|ring| members(ring))
        .collect();
    let running = scheduler.running();
    processes.sort_by_key(|task| task.info().identity);
    let waiting = processes
        .iter()
        .filter(|task| !task.has_ended())
        .map(|&task| Waiting {
            process: task.info().name.clone(),
            activity: activity(task, running.contains(&task), scheduler),
            kind: match task.created_as() {
                Kind::Pooled => "process",
                Kind::Threaded => "blocking",
                Kind::Outside => "outside",
            },
            is_stuck: false,
            created_at: None,
        })
        .collect();
    let mut explanation = Explanation { waiting, rings, remedies: Vec::new() };
    explanation.remedies = remedies(&explanation);
    explanation
}

fn members(ring: &[Edge]) -> Vec<RingMember> {
    let mut members: Vec<_> = ring
        .iter()
        .map(|edge| RingMember {
            process: edge.task.info().name.clone(),
            channel: edge.channel.name().clone(),
            full: edge.end == End::Sender,
            operation: None,
        })
        .collect();
    // Begin with the process that was created first, whoever found the ring.
    let first = ring
        .iter()
        .enumerate()
        .min_by_key(|(_, edge)| edge.task.info().identity)
        .map_or(0, |(index, _)| index);
    members.rotate_left(first);
    members
}

fn activity(task: TaskRef, runs: bool, scheduler: &Scheduler) -> Activity {
    if runs {
        return Activity::Computes;
    }
    if let Some(edge) = edge_of(task) {
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
        Some(foreign) if foreign.is_pending() => Activity::WaitsForeign,
        Some(foreign) if foreign.is_orphan() => Activity::Orphaned,
        // Also while the run is being stopped: then it is the one who does not stop.
        _ if task.kind() != Kind::Pooled && !scheduler.is_building() => Activity::Computes,
        _ => Activity::Ready,
    }
}

fn remedies(explanation: &Explanation) -> Vec<String> {
    let mut remedies = Vec::new();
    for ring in &explanation.rings {
        if let Some(full) = ring.iter().find(|member| member.full) {
            remedies.push(format!(
                "give `{}` more capacity, or let the runtime grow it: do not switch detection off, \
                 and allow a larger budget",
                full.channel
            ));
        } else if ring.len() == 1 {
            let name = &ring[0].channel;
            remedies.push(format!("give `{name}` an initial message: it leads back to its sender"));
        } else {
            let names: Vec<_> = ring.iter().map(|member| format!("`{}`", member.channel)).collect();
            remedies.push(format!(
                "one process of the ring must send before it receives, or one of {} needs an \
                 initial message",
                names.join(", ")
            ));
        }
    }
    if explanation.waiting.iter().any(|w| matches!(w.activity, Activity::Orphaned)) {
        remedies.push(
            "a process waits for a future that dropped its waker: nothing can ever wake it".into(),
        );
    }
    remedies.dedup();
    remedies
}
