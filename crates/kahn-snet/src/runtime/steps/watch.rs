//! Watching that no call of a box takes too long.
//!
//! A box that never returns cannot be ended: it has a thread, and what it holds. So the run is told
//! to fail, everything else ends in order, and the run returns when the box does. A command need
//! not wait that long: it lets the process end, with what was written until then.

use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::answers::Facts;
use super::failure::Failure;
use super::shape::Rec;
use crate::boxes::leave_process;
use crate::plan::BoxId;

/// A call that runs.
#[derive(Debug)]
struct Begun {
    number: u64,
    thread: ThreadId,
    /// When it began, were it not for the time that it waited; none while it waits until others take what it emitted.
    at: Option<Instant>,
    /// How long it took before it waited.
    spent: Duration,
    id: BoxId,
    rec: Rec,
}

#[derive(Debug, Default)]
struct Calls {
    running: Vec<Begun>,
    numbers: u64,
    over: bool,
}

/// The calls of boxes that run now, and how long one may take.
#[derive(Debug)]
pub(crate) struct Watch {
    limit: Duration,
    /// Whether the process ends if a call outlasts the run by the limit again.
    leave: bool,
    calls: Mutex<Calls>,
    ended: Condvar,
}

#[expect(clippy::disallowed_methods, reason = "a limit in time is what the caller asked for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Watch {
    pub(crate) fn new(limit: Duration, leave: bool) -> Self {
        Self { limit, leave, calls: Mutex::default(), ended: Condvar::new() }
    }

    /// Notes that a call begins; it ends when what is returned goes.
    pub(crate) fn begin(&self, id: BoxId, rec: &Rec) -> Watched<'_> {
        let mut calls = self.calls.lock();
        calls.numbers += 1;
        let number = calls.numbers;
        let thread = thread::current().id();
        calls.running.push(Begun {
            number,
            thread,
            at: Some(now()),
            spent: Duration::ZERO,
            id,
            rec: rec.clone(),
        });
        Watched { watch: self, number }
    }

    /// Says that the call on this thread waits until others take what it emitted, or goes on.
    fn rests(&self, rests: bool) {
        let (mut calls, thread) = (self.calls.lock(), thread::current().id());
        if let Some(call) = calls.running.iter_mut().find(|call| call.thread == thread) {
            match call.at.take() {
                Some(at) if rests => call.spent = at.elapsed(),
                None if !rests => call.at = now().checked_sub(call.spent),
                at => call.at = at,
            }
        }
    }

    /// Runs `work`, and tells `fail` if a call takes too long meanwhile, and for which record.
    pub(crate) fn during<T>(
        this: Option<&Self>,
        facts: Facts<'_>,
        fail: impl Fn(u32, Failure) + Sync,
        work: impl FnOnce() -> T,
    ) -> T {
        let Some(watch) = this else { return work() };
        thread::scope(|scope| {
            let watcher = scope.spawn(|| watch.look(facts, &fail));
            let over = Over(watch);
            let result = work();
            drop(over);
            // Joined by name: thread sanitizer sees that, but not the end of the scope.
            let _ = watcher.join();
            result
        })
    }

    fn look(&self, facts: Facts<'_>, fail: &dyn Fn(u32, Failure)) {
        let mut calls = self.calls.lock();
        let mut told = None;
        while !calls.over {
            let running = calls.running.iter().filter_map(|call| Some((call.at?, call.number)));
            let late = running.min().map(|(at, number)| (at.elapsed(), number));
            match late {
                Some((elapsed, number)) if elapsed >= self.limit && told.is_none() => {
                    told = Some(number);
                    if let Some(call) = calls.running.iter().find(|call| call.number == number) {
                        let (record, failure) = (call.rec.number, self.failure(facts, call));
                        drop(calls);
                        fail(record, failure);
                        calls = self.calls.lock();
                    }
                }
                Some((elapsed, number)) if told == Some(number) && elapsed >= 2 * self.limit => {
                    let call = calls.running.iter().find(|call| call.number == number);
                    if let (true, Some(call)) = (self.leave, call) {
                        leave_process(&format!("error: {}\n", self.failure(facts, call)));
                    }
                    self.ended.wait(&mut calls);
                }
                _ => {
                    let elapsed = late.map_or(Duration::ZERO, |(elapsed, _)| elapsed);
                    let full = if told.is_none() { self.limit } else { 2 * self.limit };
                    let left = full.saturating_sub(elapsed).max(Duration::from_millis(1));
                    self.ended.wait_for(&mut calls, left);
                }
            }
        }
    }

    fn failure(&self, facts: Facts<'_>, call: &Begun) -> Failure {
        let path = facts.plan.box_plan(call.id).path.clone();
        let (record, seconds) = (facts.text_of(&call.rec), self.limit.as_secs_f64());
        Failure::Blocked { path, record, seconds }
    }
}

impl Facts<'_> {
    /// Says that the call on this thread waits, which takes none of its time, or goes on.
    pub(crate) fn rests(self, rests: bool) {
        self.watch.into_iter().for_each(|watch| watch.rests(rests));
    }
}

/// A call that is watched.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    watch: &'a Watch,
    number: u64,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.watch.calls.lock().running.retain(|call| call.number != self.number);
    }
}

/// Ends the watch, also if what is watched panics.
struct Over<'a>(&'a Watch);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.calls.lock().over = true;
        self.0.ended.notify_all();
    }
}
