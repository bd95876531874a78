//! The part of a report that does not depend on the language.

use crate::scheduler::{Balance, Elapsed, Scheduler};
use crate::sync::Ordering::*;
use crate::task::table::ProcessRecord;
use crate::worker::dispatch::Worker;
use crate::worker::language::Language;
use kahn_report::{
    Ending, Name, ProcessCounts, ProcessEnd, ProcessReport, Rebalances, Report, Summary,
    WorkerReport,
};

/// A report of a run that took so long: what the scheduler knows of it. The language fills in
/// what happened, and its channels.
pub fn outline(scheduler: &Scheduler, elapsed: Elapsed) -> Report {
    let table = scheduler.table.lock();
    let (more, sums) = table.folded;
    let config = scheduler.config();
    let balance = config.balance.as_ref();
    Report {
        outcome: Summary::Finished,
        chooses: scheduler.chose.load(Relaxed),
        detail: None,
        failures: Vec::new(),
        policy: scheduler.run_queues().name().to_owned(),
        workers: scheduler.worker_count(),
        seconds: elapsed.seconds(),
        created: (table.created, 0),
        slot_bytes: (0, 0),
        most_bytes: 0,
        grown: Vec::new(),
        weight_unknown: Vec::new(),
        walks: 0,
        warnings: config.refusal.clone().into_iter().collect(),
        from_outside: Vec::new(),
        processes: Vec::new(),
        more_processes: (more > 0).then(|| (more, Box::new(process_sums(sums, elapsed)))),
        channels: Vec::new(),
        more_channels: None,
        meetings: Vec::new(),
        more_meetings: None,
        local_share: None,
        rebalances: balance.map(rebalances),
        worker_reports: if config.settings.threads {
            Vec::new()
        } else {
            worker_reports(scheduler, elapsed)
        },
    }
}

/// Takes the records of all processes that the report lists. `nothing_can_run` says that the verdict was
/// given because nothing can go on: what was left over then has not ended, whether a thread unwound
/// or a future was dropped in the end.
pub fn take_listed(scheduler: &Scheduler, nothing_can_run: bool) -> Vec<ProcessRecord> {
    let mut records = scheduler.take_records();
    if nothing_can_run {
        for record in &mut records {
            record.ending.take_if(|ending| matches!(ending, Ending::Stopped));
        }
    }
    records
}

/// What is told of one process of a run that took so long.
pub fn process_report(
    record: &ProcessRecord,
    ending: ProcessEnd,
    elapsed: Elapsed,
) -> ProcessReport {
    let mut counts = told(record.counts, elapsed);
    // An estimate from samples may come to more than one thread can have run.
    let most = elapsed.seconds();
    counts.cpu_seconds = counts.cpu_seconds.map(|seconds| seconds.min(most));
    ProcessReport::new(record.name.clone(), ending, counts)
}

fn process_sums(counts: ProcessCounts, elapsed: Elapsed) -> ProcessReport {
    ProcessReport::new(Name::from(""), ProcessEnd::Finished, told(counts, elapsed))
}

fn told(mut counts: ProcessCounts, elapsed: Elapsed) -> ProcessCounts {
    counts.cpu_seconds = counts.cpu_seconds.map(|counted| elapsed.seconds_of_counter(counted));
    counts
}

fn rebalances(balance: &Balance) -> Rebalances {
    let counts = balance.counts();
    Rebalances {
        asked: counts.asked,
        changed: counts.changed,
        moved: counts.moved,
        seconds: counts.cost.as_secs_f64(),
    }
}

/// What the workers of a run did.
fn worker_reports(scheduler: &Scheduler, elapsed: Elapsed) -> Vec<WorkerReport> {
    let seconds = |ticks| elapsed.seconds_of(ticks);
    // Fewer than there are slots, if the system refused threads.
    let ran = scheduler.slots().iter().take(scheduler.worker_count()).enumerate();
    let reports = ran.map(|(worker, slot)| {
        let (total, idle) = (slot.times.total.load(Relaxed), slot.times.idle.load(Relaxed));
        let steals = scheduler.run_queues().steals(worker);
        WorkerReport {
            worker,
            busy_seconds: seconds(total.saturating_sub(idle)),
            idle_seconds: seconds(idle),
            spins: slot.times.spins.load(Relaxed),
            sleeps: slot.times.sleeps.load(Relaxed),
            steals_tried: steals.tried,
            steals_won: steals.won,
        }
    });
    reports.collect()
}

/// Drops the bodies of processes that have not ended, in the order of their creation. A
/// destructor may be the user's code: it runs as the process, whose operations do nothing.
///
/// # Safety
/// The run is over: no thread runs a process any more.
pub unsafe fn end_what_is_left<L: Language>(scheduler: &Scheduler) {
    let mut left = scheduler.table.lock().all();
    left.retain(|task| task.body().is_some() && !task.has_ended());
    left.sort_by_key(|task| task.info().identity);
    for task in left {
        // SAFETY: said by the caller; it has not ended.
        unsafe { Worker::<L>::for_clearing(scheduler).end(task, Ending::Stopped) };
    }
}
