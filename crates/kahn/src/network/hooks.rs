//! What the scheduler asks of a network.

use super::core::{Core, Verdict};
use super::left::Left;
use crate::channel::language::OfNetwork;
use crate::channel::language::Worker;
use crate::channel::observer::tell_of_wait;
use crate::channel::raw::End;
use crate::deadlock::Found;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Arc, Ordering::*};
use kahn_report::{Activity, Misuse, Name};

/// The scheduler's way up to the network.
pub(super) struct Joined(pub(super) std::sync::Weak<Core>);

impl Joined {
    fn core(&self) -> Option<Arc<Core>> {
        self.0.upgrade()
    }
}

impl OfNetwork for Joined {
    fn probe(&self, worker: &Worker, budget: usize, in_passing: bool) -> usize {
        let Some(core) = self.core() else { return 0 };
        // A channel that must not grow is no verdict yet: others run, and may give back bytes.
        let (scheduler, channels) = (&core.scheduler, &core.channels);
        let recently_blocked = worker.of.recently_blocked();
        core.resolver().probe(scheduler, channels, recently_blocked, budget, in_passing).1
    }

    fn look_everywhere(&self) {
        if let Some(core) = self.core() {
            // A channel that must not grow is no verdict yet, as in `probe`.
            let _ = core.resolver().look_everywhere(&core.scheduler, &core.channels, false);
        }
    }

    fn look_from(&self, task: TaskRef) {
        if let Some(core) = self.core() {
            core.resolver().look_from(task, &core.scheduler, &core.channels);
        }
    }

    fn wake_to_prune(&self) {
        if let Some(core) = self.core() {
            core.resolver().wake_to_prune(&core.scheduler);
        }
    }

    fn workers(&self) -> usize {
        self.core().map_or(0, |core| core.scheduler.slot_count())
    }

    fn tell_no_root(&self) -> bool {
        let core = self.core();
        let elsewhere = core.as_ref().and_then(|core| core.cut.get());
        elsewhere.inspect(|cut| cut.by.may_rest()).is_none()
    }

    fn stuck(&self, worker: &Worker) {
        if let Some(core) = self.core() {
            core.stuck(worker);
            core.cut.get().into_iter().for_each(|cut| cut.has_settled());
        }
    }

    fn end_left_behind(&self, task: TaskRef) -> Option<Name> {
        let core = self.core()?;
        let kept = core.channels.hold();
        kept.all().into_iter().find_map(|channel| {
            let has = [End::Sender, End::Receiver]
                .into_iter()
                .any(|end| channel.owner(end) == Some(task) && !channel.seen(end).is_closed());
            has.then(|| channel.name().clone())
        })
    }

    fn parked(&self, task: TaskRef) {
        if let Some(core) = self.core() {
            core.resolver().parked(task, &core.scheduler, &core.channels);
        }
    }

    fn woken(&self, task: TaskRef) {
        if let Some(core) = self.core() {
            core.resolver().woken(task);
        }
    }

    fn share_out(&self) -> Option<u64> {
        let core = self.core()?;
        let placing = core.scheduler.run_queues().placing()?;
        // What does not fit was told before the run.
        core.share_out(placing, core.scheduler.slots().len()).ok().flatten()
    }

    fn misuse(&self, what: Misuse) {
        if let Some(core) = self.core() {
            core.misuse(what);
        }
    }
}

impl Core {
    fn stuck(&self, worker: &Worker) {
        let scheduler = &self.scheduler;
        if !scheduler.is_running() || self.resolver().wake_to_prune(scheduler) {
            return;
        }
        // First where it is likely.
        let recently_blocked = worker.of.recently_blocked();
        let (found, _) =
            self.resolver().probe(scheduler, &self.channels, recently_blocked, 64, false);
        if found == Found::Freed {
            return;
        }
        let stand_still = scheduler.activity.is_over();
        let found = self.resolver().look_everywhere(scheduler, &self.channels, stand_still);
        // A process that was found dead may have been the last observer of another.
        let goes_on = found == Found::Freed || self.resolver().wake_to_prune(scheduler);
        if goes_on || !stand_still || scheduler.live.load(SeqCst) == 0 {
            return;
        }
        if scheduler.activity.is_busy() || !scheduler.is_running() {
            return;
        }
        // A party may go on before the thread that freed it has counted it, and wake others: then one is
        // awake all the same, and looks again when it rests.
        let explanation = self.explain();
        let is_awake =
            |activity: &Activity| matches!(activity, Activity::Computes | Activity::Ready);
        if explanation.waiting.iter().any(|waiting| is_awake(&waiting.activity)) {
            return;
        }
        if let Found::OverBudget(channel) = found {
            self.over_budget(channel);
            return;
        }
        // Nothing runs, so any thread that comes here finds the same.
        self.note_what_is_left();
        let verdict = if self.quiescence.load(Relaxed) {
            Verdict::Quiescent
        } else {
            Verdict::Deadlock(explanation)
        };
        self.end_with(verdict);
    }

    /// Notes which processes are left, when nothing can go on any more.
    pub(super) fn note_what_is_left(&self) {
        if self.left.set(Left::new(&self.scheduler, &self.channels)).is_ok() {
            self.channels.note_what_is_left();
            let processes = self.scheduler.table.lock().all();
            processes.into_iter().for_each(tell_of_wait);
        }
    }
}
