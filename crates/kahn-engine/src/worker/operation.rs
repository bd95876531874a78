//! What the operations of a process ask of the worker that runs it.

use crate::policy::Ready;
use crate::queue::lane::Lane;
use crate::task::own;
use crate::worker::WorkerCore;
use crate::worker::request::Request;
use crate::{Kind, Origin, Reason, TaskRef, Urgency};
use kahn_report::Ending;

impl WorkerCore {
    /// Makes a process ready.
    pub fn make_ready(&self, ready: Ready, reason: Reason) {
        let Some(lane) = self.lane_for(ready.notes(), ready.kind()) else {
            return self.make_ready_elsewhere(ready, reason);
        };
        match reason {
            Reason::Yielded => lane.queue_cold(ready),
            Reason::Woken | Reason::New | Reason::Preempted => lane.queue_hot(ready),
        }
        self.has_queued(lane);
    }

    /// The same for one that is not to stand in this worker's own lane.
    #[inline(never)]
    fn make_ready_elsewhere(&self, ready: Ready, reason: Reason) {
        if self.is_dedicated() || ready.kind() != Kind::Pooled {
            return self.scheduler().make_ready(self.origin(), ready, reason);
        }
        // Before it is where others take it from.
        let (urgency, pinned) = (Urgency::of(ready.notes()), ready.pinned_to());
        let scheduler = self.scheduler();
        scheduler.notify(scheduler.push(Origin::Worker(self.index()), ready, reason));
        self.invite();
        self.gives_way_to(urgency, pinned);
    }

    /// The worker's own lane, if a process with these notes is to stand there: where the engine's own
    /// queues would put it, without asking them.
    #[inline]
    fn lane_for(&self, notes: u8, kind: Kind) -> Option<&Lane> {
        self.lane().filter(|_| notes & own::APART == 0 && kind == Kind::Pooled)
    }

    /// Usual processes were queued in the worker's own lane.
    #[inline]
    pub(crate) fn has_queued(&self, lane: &Lane) {
        if !lane.is_alone() {
            self.invite();
        }
        self.gives_way_to(Urgency::Usual, None);
    }

    /// Starts a process that the running one has made, and that is enlisted.
    pub fn start(&self, ready: Ready) {
        if let Some(lane) = self.lane_for(ready.notes(), ready.kind())
            && !self.scheduler().is_ending()
        {
            lane.queue_hot(ready);
            return self.gives_way_to(Urgency::Usual, None);
        }
        self.start_elsewhere(ready);
    }

    /// The same for one that is not to stand in this worker's own lane.
    #[inline(never)]
    fn start_elsewhere(&self, ready: Ready) {
        let (urgency, pinned) = (Urgency::of(ready.notes()), ready.pinned_to());
        self.scheduler().start(ready, self.origin());
        self.gives_way_to(urgency, pinned);
    }

    /// Whether a worker with nothing to do may come for what this one makes ready: then results are
    /// published sooner.
    #[inline]
    pub fn has_takers(&self) -> bool {
        self.scheduler().is_hungry() && self.lane().is_none_or(Lane::is_open)
    }

    /// What makes a process ready if this worker does.
    #[inline]
    pub fn origin(&self) -> Origin {
        if self.is_dedicated() { Origin::Outside } else { Origin::Worker(self.index()) }
    }

    /// Makes many processes ready that this worker owns; it runs the last of them next.
    pub(crate) fn wake_all(&self, mut tasks: impl DoubleEndedIterator<Item = TaskRef>) {
        let last = tasks.next_back();
        // None of them goes by way of the LIFO slot only to be displaced there.
        tasks.for_each(|task| self.queue(task));
        if let Some(last) = last {
            self.wake(Ready::new(last));
        }
    }

    /// The running process has looked at so many peers, or made so many processes; `false` if that
    /// was more than a dispatch may do: it should yield at its next operation.
    #[inline]
    pub fn spend(&self, count: u32) -> bool {
        let patience = self.patience.get();
        self.patience.set(patience.saturating_sub(count));
        patience >= count
    }

    /// The running process has made another.
    #[inline]
    pub fn has_made_one(&self) {
        self.spend(1);
        if self.lane().is_some_and(Lane::has_grown) {
            self.looks_further_next();
        }
    }

    /// Asks for something to be done when the poll returns.
    #[inline]
    pub fn ask(&self, request: Request) {
        self.request.set(request);
    }

    /// Asks to be dropped when the poll returns, and to end as told.
    #[inline]
    pub fn ask_to_end(&self, ending: Ending) {
        self.ending.set(ending);
        self.request.set(Request::End);
    }

    /// Whether the running process is being ended: its operations do nothing.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.current().is_some_and(|task| task.notes() & own::ENDING != 0)
    }

    /// How the process ends that has asked to be dropped.
    #[inline]
    pub fn asked_ending(&self) -> Ending {
        self.ending.replace(Ending::Stopped)
    }

    /// Asks to be parked when the poll has returned; `false` if the process has asked for anything in
    /// this poll already.
    #[must_use = "a process that waits for two things at once waits for none"]
    #[inline]
    pub fn ask_to_park(&self) -> bool {
        matches!(self.request.replace(Request::Park), Request::None)
    }

    /// The same in [another way](Request::ParkOtherwise) than the language's usual one.
    #[must_use = "a process that waits for two things at once waits for none"]
    #[inline]
    pub fn ask_to_park_otherwise(&self) -> bool {
        matches!(self.request.replace(Request::ParkOtherwise), Request::None)
    }

    /// The running process has done something that is to be made visible when its poll is over: so one that has asked to
    /// be parked in the usual way is parked in the other.
    #[inline]
    pub fn has_something_left(&self) {
        if matches!(self.request.get(), Request::Park) {
            self.request.set(Request::ParkOtherwise);
        }
    }

    /// Takes back what the running process asked for.
    #[inline]
    pub fn take_back(&self) -> Request {
        self.request.take()
    }

    /// What the thread of a blocking process asked for.
    #[inline]
    pub fn asked(&self) -> Request {
        self.request.take()
    }
}
