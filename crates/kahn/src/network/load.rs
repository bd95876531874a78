//! The network as a policy sees it that decides where processes belong.

use super::core::Core;
use crate::channel::process::InNetwork;
use crate::channel::table::Volume;
use kahn_engine::policy::{ChannelLoad, Load, Misplaced, Placing, ProcessLoad};
use kahn_engine::{Kind, TaskRef};
use kahn_report::Identity;
use std::collections::BTreeMap;

/// What was measured when the policy was asked last.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    work: BTreeMap<Identity, Weight>,
    volume: BTreeMap<Identity, Weight>,
}

/// A count that only grows, and what it has grown by of late.
#[derive(Clone, Copy, Debug)]
struct Weight {
    total: u64,
    recent: u64,
}

impl Weight {
    /// What happened since the last time counts whole, what was before by half, and so on.
    fn follow(before: Option<&Self>, total: u64) -> Self {
        let (counted, recent) = before.map_or((0, 0), |before| (before.total, before.recent));
        Self { total, recent: total.saturating_sub(counted) + recent / 2 }
    }
}

impl Core {
    /// Asks a policy where each process belongs, and settles it. Returns how many processes are to
    /// move; `None` if nothing changes.
    pub(crate) fn share_out(
        &self,
        placing: &dyn Placing,
        workers: usize,
    ) -> Result<Option<u64>, Misplaced> {
        let (tasks, load) = self.load(workers);
        let Some(homes) = placing.place(&load)? else { return Ok(None) };
        debug_assert_eq!(homes.len(), tasks.len(), "a worker for each process");
        let mut moved = 0;
        for (task, home) in tasks.iter().zip(homes) {
            moved += u64::from(task.assigned() != Some(home));
            // A process that has ended meanwhile may have left its place to another, which then
            // gets a worker too: one is as good as another for it.
            task.assign(home);
        }
        Ok(Some(moved))
    }

    /// Weighs processes and channels.
    fn load(&self, workers: usize) -> (Vec<TaskRef>, Load) {
        let volumes = self.channels.volumes();
        let mut load = Load::new(workers);
        let mut measured = self.measured.lock();
        let mut work = BTreeMap::new();
        let tasks = {
            // No process that is alive is recycled while the table is locked.
            let table = self.scheduler.table.lock();
            let (tasks, others): (Vec<_>, Vec<_>) =
                table.all().into_iter().partition(|task| task.kind() == Kind::Pooled);
            load.may_grow = tasks.iter().chain(&others).any(|task| task.creates());
            load.others = others.into_iter().map(|task| task.info().name.clone()).collect();
            for task in &tasks {
                let info = task.info();
                let before = measured.work.get(&info.identity);
                let weight = Weight::follow(before, task.busy());
                work.insert(info.identity, weight);
                let mut process = ProcessLoad::new(info.name.clone());
                process.pinned = task.pinned().map(|worker| worker as usize);
                process.worker = task.assigned();
                process.work = weight.recent;
                load.processes.push(process);
            }
            tasks
        };
        let mut places: Vec<_> = tasks.iter().map(|task| task.as_ptr()).zip(0..).collect();
        places.sort_unstable();
        let place = |task: Option<TaskRef>| {
            let found = places.binary_search_by_key(&task?.as_ptr(), |&(task, _)| task);
            found.ok().map(|found| places[found].1)
        };
        let mut volume = BTreeMap::new();
        for Volume { identity, from, to, bytes } in volumes {
            let weight = Weight::follow(measured.volume.get(&identity), bytes);
            volume.insert(identity, weight);
            if let (Some(from), Some(to)) = (place(from), place(to)) {
                load.channels.push(ChannelLoad::new(from, to, weight.recent));
            }
        }
        *measured = Measured { work, volume };
        (tasks, load)
    }
}
