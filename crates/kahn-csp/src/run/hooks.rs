//! What the engine asks of communicating processes: they wait at gates, and may be killed there.

use crate::channel::rendezvous::Rendezvous;
use crate::language::csp::{self, Csp, OfWorker, Worker};
use crate::language::header::{Cold, Hot, mark};
use crate::network::core::{Core, Verdict};
use crate::process::body;
use crate::run::explain::{self};
use crate::wait::place::Place;
use kahn_engine::sync::Ordering::*;
use kahn_engine::{Header, Hooks, Language, Left, Park, Pause, Probe, Tag, TaskRef, WorkerCore};
use kahn_report::log::Wait;
use kahn_report::observe::{Rest, Slice};
use kahn_report::{Ending, Failure};

static CSP: Tag = Worker::tag();

impl Header for Csp {
    type Hot = Hot;

    type Cold = Cold;
}

impl Language for Csp {
    type OfWorker = OfWorker;

    const ASKS_WAKERS: bool = false;

    const NOTES_WHAT_IS_LEFT: bool = false;

    fn of_worker(&self, _core: &WorkerCore) -> OfWorker {
        OfWorker::new()
    }

    #[inline(always)]
    fn park(worker: &Worker, task: TaskRef) -> Park {
        // SAFETY: so it has asked, at a channel of which it has an end.
        unsafe { Rendezvous::leave_to_partner(task, worker) }
    }

    fn park_otherwise(worker: &Worker, task: TaskRef) -> Park {
        let (enter, what) = csp::asked_to_enter(worker);
        // SAFETY: asked for by something that the process still owns.
        unsafe { enter(what, task, worker) }
    }

    /// Each operation is complete when it returns.
    #[inline(always)]
    fn left_poll(_worker: &Worker, _task: TaskRef, _left: Left) {}

    fn must_end(_task: TaskRef, marks: u8) -> Option<Ending> {
        (marks & mark::KILL != 0).then_some(Ending::Stopped)
    }

    #[inline]
    fn ended(worker: &Worker, task: TaskRef, ending: &Ending) -> bool {
        // What no process can join has left nothing in its block.
        if let Some(join) = body::join_if_any(task)
            && !join.end(worker)
        {
            drop_what_is_not_wanted(worker, task, ending);
        }
        false
    }

    fn probe(worker: &Worker, why: Probe) -> bool {
        if !matches!(why, Probe::Asleep | Probe::Parked(_)) {
            worker.language().common().calls.run(worker.scheduler());
        }
        false
    }

    fn wait(task: TaskRef, pause: Pause) -> Wait {
        match pause {
            // SAFETY: the process has an end of the channel at which it waits, or waited till now.
            Pause::ToPark => Place::logged(task, |channel| unsafe { Rendezvous::met_at(channel) }),
            other => other.nowhere(),
        }
    }

    fn runs(worker: &Worker, task: TaskRef, at: u64) {
        if let Some(observer) = worker.language().observer() {
            observer.runs(task.subject(), Some(worker.index()), at);
        }
    }

    fn rests(worker: &Worker, task: TaskRef, slice: Slice, pause: Pause) {
        let Some(observer) = worker.language().observer() else { return };
        let rest = match pause {
            Pause::ForGood => Rest::ForGood,
            Pause::GivesWay => Rest::GivesWay,
            Pause::ToPark => match Place::of(task) {
                Some(Place::Send(channel) | Place::Receive(channel)) => {
                    // SAFETY: the process has an end of it.
                    Rest::ForPartner { channel: unsafe { Rendezvous::name_at(channel) } }
                }
                _ => Rest::Otherwise,
            },
            Pause::Otherwise => Rest::Otherwise,
        };
        observer.rests(task.subject(), Some(worker.index()), slice, rest);
    }

    fn dropped(worker: &Worker, task: TaskRef) {
        if let Some(observer) = worker.language().observer() {
            observer.dropped(task.subject());
        }
    }

    fn quiet(worker: &Worker) {
        let (core, scheduler) = (Core::of_worker(worker), worker.scheduler());
        if !scheduler.is_running() || scheduler.live.load(SeqCst) == 0 {
            return;
        }
        if worker.language().common().calls.run(scheduler) {
            return;
        }
        if !scheduler.activity.is_over() || !scheduler.is_running() {
            return;
        }
        if core.timers.jump(scheduler) {
            return;
        }
        core.end_with(if core.quiescence {
            Verdict::Quiescent
        } else {
            Verdict::Deadlock(explain::explain(core))
        });
    }
}

/// Drops what a process has left for a handle that there is no more.
#[cold]
fn drop_what_is_not_wanted(worker: &Worker, task: TaskRef, ending: &Ending) {
    if matches!(ending, Ending::Finished) {
        // If it failed, there was a handle a moment ago.
        Core::of_worker(worker).drop_result(task);
    } else if let Some(body) = task.body() {
        // Its end is told already.
        // SAFETY: we hold the process; the future is gone.
        let _: Result<(), Failure> = unsafe { (body.drop)(task.non_null()) };
    }
}

impl Hooks for Csp {
    #[inline]
    fn tag() -> &'static Tag {
        &CSP
    }
}
