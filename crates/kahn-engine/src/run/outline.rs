//! The part of a report that does not depend on the language.

use crate::scheduler::{Balance, Scheduler};
use crate::sync::Ordering::*;
use crate::sync::system::clock;
use crate::task::table::ProcessRecord;
use crate::worker::dispatch::Worker;
use crate::worker::language::Language;
use kahn_report::{
    Ending, Name, ProcessCounts, ProcessEnd, ProcessReport, Rebalances, Report, Summary,
    WorkerReport,
};

/// A report of a run that took so many ticks: what the scheduler knows of it. The language fills in
/// what happened, and its channels.
pub fn outline(scheduler: &Scheduler, ticks: u64) -> Report {
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
        seconds: clock::to_duration(ticks).as_secs_f64(),
        created: (table.created, 0),
        slot_bytes: (0, 0),
        most_bytes: 0,
        grown: Vec::new(),
        weight_unknown: Vec::new(),
        walks: 0,
        warnings: config.refusal.clone().into_iter().collect(),
        from_outside: Vec::new(),
        processes: Vec::new(),
        more_processes: (more > 0).then(|| (more, Box::new(process_sums(&sums)))),
        channels: Vec::new(),
        more_channels: None,
        meetings: Vec::new(),
        more_meetings: None,
        local_share: None,
        rebalances: balance.map(rebalances),
        worker_reports: if config.settings.threads {
            Vec::new()
        } else {
            worker_reports(scheduler)
        },
    }
}

/// The records of all processes that the report lists. `nothing_can_run` says that the verdict was
/// given because nothing can go on: what was left over then has not ended, whether a thread unwound
/// or a future was dropped in the end.
pub fn listed(scheduler: &Scheduler, nothing_can_run: bool) -> Vec<ProcessRecord> {
    let mut records = scheduler.records();
    if nothing_can_run {
        for record in &mut records {
            record.ending.take_if(|ending| matches!(ending, Ending::Stopped));
        }
    }
    records
}

/// What is told of one process of a run that took so many ticks.
pub fn process_report(record: &ProcessRecord, ending: ProcessEnd, ticks: u64) -> ProcessReport {
    let mut counts = record.counts;
    // An estimate from samples may come to more than one thread can have run.
    let most = clock::to_duration(ticks).as_secs_f64();
    counts.cpu_seconds = counts.cpu_seconds.map(|seconds| seconds.min(most));
    ProcessReport::new(record.name.clone(), ending, counts)
}

fn process_sums(counts: &ProcessCounts) -> ProcessReport {
    ProcessReport::new(Name::from(""), ProcessEnd::Finished, *counts)
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
fn worker_reports(scheduler: &Scheduler) -> Vec<WorkerReport> {
    let seconds = |ticks| clock::to_duration(ticks).as_secs_f64();
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
