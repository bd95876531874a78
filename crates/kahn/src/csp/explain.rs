//! Who waits for what, when nothing can go on.
//!
//! Each process leaves behind where it waits ([`Place`]). When all stand still, what it points to
//! is in the memory of a process that waits, so it can be looked at.

use super::claim::Queue;
use super::core::Core;
use super::meet::Meet;
use super::meeting::{Meeting, Side};
use super::wait::{About, Place};
use crate::graph::{Activity, Explanation, Name, Waiting};
use crate::scheduler::task::Task;
use crate::scheduler::{Kind, TaskRef};

/// Looks at every process that has not ended. Nobody runs.
pub(super) fn explain(core: &Core) -> Explanation {
    let table = core.scheduler.table.lock();
    let mut processes = table.all();
    processes.sort_by_key(|task| task.info().identity);
    let waiting = processes
        .iter()
        .filter(|task| !task.has_ended())
        .map(|&task| Waiting {
            process: task.info().name.clone(),
            activity: activity(task),
            kind: match task.info().kind {
                Kind::Pooled => "process",
                Kind::Threaded => "blocking",
                Kind::Outside => "outside",
            },
            created_at: task.info().site.map(ToString::to_string),
        })
        .collect();
    Explanation { waiting, rings: Vec::new(), remedies: Vec::new() }
}

fn name_of(task: *const Task) -> Option<Name> {
    // SAFETY: the headers of processes are type-stable memory, and the table is locked: a name is
    // there as long as the process is.
    let task = unsafe { TaskRef::from_ptr(task) }?;
    (!task.has_ended()).then(|| task.info().name.clone())
}

fn meeting(task: TaskRef, meeting: *const (), side: Side) -> Activity {
    // SAFETY: type-stable memory.
    let meeting = unsafe { &*meeting.cast::<Meeting>() };
    let flags = meeting.gate.lock(false);
    let sends = meeting
        .entry(Side::Sender)
        .is_some_and(|entry| entry.waiter.task == task && side == Side::Sender);
    let activity = Activity::Meets {
        operation: if sends || side == Side::Sender { "send" } else { "receive" },
        channel: meeting.name().clone(),
        message: meeting.met.get() + 1,
        partner: name_of(meeting.user(side.other())).filter(|_| {
            let partner = meeting.user(side.other());
            partner != task.as_ptr()
        }),
    };
    meeting.gate.unlock(flags);
    activity
}

fn activity(task: TaskRef) -> Activity {
    match task.foreign_if_any() {
        Some(foreign) if foreign.is_pending() => return Activity::WaitsForeign,
        Some(foreign) if foreign.is_orphan() => return Activity::Orphaned,
        _ => {}
    }
    match Place::of(task) {
        Some(Place::Send(at)) => meeting(task, at, Side::Sender),
        Some(Place::Receive(at)) => meeting(task, at, Side::Receiver),
        Some(Place::Alternation(about)) => {
            // SAFETY: in the memory of a process that waits there.
            let About { what, describe } = unsafe { *about.cast::<About>() };
            let mut guards = Vec::new();
            // SAFETY: written by the alternation for itself.
            unsafe { describe(what, &mut |guard| guards.push(guard)) };
            Activity::Alternates { guards }
        }
        Some(Place::Claim(queue)) => {
            // SAFETY: borrowed by a process that waits there.
            let queue = unsafe { &*queue.cast::<Queue>() };
            let (claims, holder) = queue.state();
            Activity::Claims {
                what: queue.name.clone(),
                claims,
                holder: holder.and_then(|holder| name_of(holder.as_ptr())),
            }
        }
        Some(Place::Barrier(meet)) => {
            // SAFETY: borrowed by a process that waits there.
            let meet = unsafe { &*meet.cast::<Meet>() };
            let (phase, missing) = meet.missing();
            let name = |task: Option<TaskRef>| task.and_then(|task| name_of(task.as_ptr()));
            Activity::Synchronises {
                barrier: meet.name.clone(),
                phase,
                missing: missing.into_iter().map(name).collect(),
            }
        }
        Some(Place::Bucket(name)) => {
            // SAFETY: borrowed by a process that waits there.
            let name = unsafe { &*name.cast::<Name>() };
            Activity::FallenIn { bucket: name.clone() }
        }
        Some(Place::Join(child)) => Activity::Joins { process: name_of(child.cast()) },
        Some(Place::Sleep) => Activity::Sleeps,
        None => Activity::Ready,
    }
}
