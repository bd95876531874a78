//! What the machine refuses, by which limit, and what its value is.

use std::fs;

use kahn::{Detail, Report};
use rustix::process::{Resource, getrlimit};

use crate::experiment::Refused;

/// Tells a network that failed because the system gave no more threads from other failures.
pub(crate) fn refused_thread(report: &Report) -> Option<Refused> {
    match &report.detail {
        Some(Detail::Threads(why)) => Some(no_thread(why)),
        _ => None,
    }
}

/// Areas of memory that the system keeps for a thread: its stack and the one for signals, each with
/// a guard.
const AREAS: usize = 4;

/// Areas that the program has besides, and some to spare.
const OTHER_AREAS: usize = 512;

/// Refuses more threads than there is room for: the standard library would end the program.
pub(super) fn room_for(threads: usize) -> Result<(), Refused> {
    let limit = setting("/proc/sys/vm/max_map_count");
    let most =
        limit.parse().map_or(usize::MAX, |areas: usize| areas.saturating_sub(OTHER_AREAS) / AREAS);
    if threads <= most {
        return Ok(());
    }
    let what = format!("{threads} threads: there is room for {most}");
    Err(Refused { what, limit: "vm.max_map_count".to_owned(), value: limit })
}

/// Tells why there are no more threads.
pub(super) fn no_thread(what: &str) -> Refused {
    Refused {
        what: what.to_owned(),
        limit: "kernel.threads-max, vm.max_map_count, RLIMIT_NPROC".to_owned(),
        value: format!(
            "{}, {}, {}",
            setting("/proc/sys/kernel/threads-max"),
            setting("/proc/sys/vm/max_map_count"),
            limit(Resource::Nproc)
        ),
    }
}

/// Tells why there are no more message queues.
#[cfg(target_os = "linux")]
pub(super) fn no_queue(error: nix::errno::Errno) -> Refused {
    use nix::errno::Errno;
    let (limit, value) = match error {
        Errno::EMFILE => (
            "RLIMIT_MSGQUEUE, RLIMIT_NOFILE",
            format!("{} bytes, {}", limit(Resource::Msgqueue), limit(Resource::Nofile)),
        ),
        Errno::ENOSPC => ("fs.mqueue.queues_max", setting("/proc/sys/fs/mqueue/queues_max")),
        _ => ("the system", "unknown".to_owned()),
    };
    Refused { what: format!("a message queue: {error}"), limit: limit.to_owned(), value }
}

fn setting(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn limit(resource: Resource) -> String {
    getrlimit(resource).current.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}
