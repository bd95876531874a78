//! What a run can be watched by: what processes do and wait for, and their messages, while they happen.
//!
//! | told | by | when |
//! |---|---|---|
//! | a process runs, a process rests, and why | the thread that runs it | around the poll; and around each wait of a process that blocks its thread |
//! | a wait is over | the worker whose messages, or whose free slots, ended it | before the process is ready |
//! | a process is dropped | the thread that drops it | before its body is |
//! | what is in a message, if it has a written form and the observer asks for it | the sender's worker | before it is told that it was sent |
//! | messages were sent | the sender's worker | before they become visible to the receiver |
//! | messages were received | the receiver's worker | before their slots become free |
//!
//! A run without an observer pays nothing for polls, whose test is that for times, nothing for waits,
//! whose test is that for central detection, and one test of a byte that is at hand for each
//! *publication*, which is all that one pays that does not want to know of messages: none is looked at one by one. So an observer is
//! told of ranges of messages, each message in one of them, in order; and of a message's sending before
//! its receiving, for both words are published after it was told.
//!
//! A process *rests* when its poll is over. It asks to wait then, and is told to, before the worker has
//! parked it: if what it waits for came meanwhile it runs again at once, and no worker has woken it.

use super::language::{Kahn, Worker};
use super::raw::{ChannelRef, End, told};
use super::slow_path::waiting_end;
use super::table::ChannelTable;
use kahn_engine::sync::Arc;
use kahn_engine::{Pause, TaskRef};
use kahn_report::observe::{Observer, Rest, Slice, Subject};
use std::fmt;
use std::ops::Range;

/// The observer of a run.
#[derive(Clone)]
pub(crate) struct ObserverHandle(pub(crate) Arc<dyn Observer>);

impl fmt::Debug for ObserverHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Kahn {
    /// Has this told of what processes do. Said once, before there are workers.
    pub(crate) fn observe_by(&self, observer: ObserverHandle) {
        let _ = self.observer.set(observer);
    }
}

fn process(task: &TaskRef) -> Subject<'_> {
    let info = task.info();
    Subject { part: task.as_ptr().addr() as u64, ..Subject::new(&info.name, info.identity) }
}

fn channel(channel: &ChannelRef) -> Subject<'_> {
    let label = channel.label();
    Subject::new(&label.name, label.identity)
}

/// What a process waits for at `end`. Its holder asks.
fn rest_at(end: Option<&(ChannelRef, End)>) -> Rest<'_> {
    let Some((waits_at, end)) = end.filter(|(channel, _)| !channel.is_inner()) else {
        return Rest::Otherwise;
    };
    let number = waits_at.before(waits_at.side(*end).local.get());
    let channel = channel(waits_at);
    match end {
        End::Sender => Rest::ForRoom { channel, number },
        End::Receiver => Rest::ForMessage { channel, number },
    }
}

fn observer(worker: &Worker) -> Option<(&dyn Observer, Option<usize>)> {
    let ObserverHandle(observer) = worker.language().observer.get()?;
    Some((&**observer, (!worker.is_dedicated()).then(|| worker.index())))
}

pub(super) fn tell_of_running(worker: &Worker, task: TaskRef, at: u64) {
    if let Some((observer, number)) = observer(worker) {
        observer.runs(process(&task), number, at);
    }
}

pub(super) fn tell_of_resting(worker: &Worker, task: TaskRef, slice: Slice, pause: Pause) {
    let Some((observer, number)) = observer(worker) else { return };
    let waits_at = waiting_end(task);
    let rest = match pause {
        Pause::ForGood => Rest::ForGood,
        Pause::ToPark => rest_at(waits_at.as_ref()),
        Pause::GivesWay => Rest::GivesWay,
        Pause::Otherwise => Rest::Otherwise,
    };
    observer.rests(process(&task), number, slice, rest);
}

/// The caller has ended the wait of the process, and holds it.
pub(super) fn tell_of_waking(worker: &Worker, task: TaskRef) {
    if let Some((observer, _)) = observer(worker) {
        let by = worker.current();
        let rest = waiting_end(task);
        observer.wakes(process(&task), rest_at(rest.as_ref()), by.as_ref().map(process));
    }
}

pub(super) fn tell_of_dropping(worker: &Worker, task: TaskRef) {
    if let Some((observer, _)) = observer(worker) {
        observer.dropped(process(&task));
    }
}

impl ChannelTable {
    /// Has both ends of all channels told of, if the observer wants to know. Said once, before anything runs.
    pub(crate) fn observe_by(&self, observer: ObserverHandle) {
        if !observer.0.wants_messages() && !observer.0.wants_contents() {
            return;
        }
        let _ = self.observer.set(observer);
        self.all().into_iter().for_each(ChannelRef::observe);
    }

    /// What is told of messages, if anything is.
    pub(crate) fn observer(&self) -> Option<&ObserverHandle> {
        self.observer.get()
    }
}

impl ChannelRef {
    /// Tells the observer of both ends from now on. Nothing runs, or no process knows the channel yet.
    pub(super) fn observe(self) {
        if !self.is_inner() {
            self.tell_of_both_ends(told::OBSERVER);
        }
    }

    /// What `end` has done is about to become visible: tells the observer, if there is one.
    #[inline(always)]
    pub(super) fn tell_observer(self, end: End) {
        if self.side(end).tells(told::OBSERVER) {
            self.tell_of_messages(end);
        }
    }

    /// Tells what is in the messages of these numbers, which the sender has put into their slots.
    fn tell_contents(self, observer: &dyn Observer, numbers: Range<u64>) {
        let Some(sender) = self.owner(End::Sender) else { return };
        let mut number = self.before(numbers.start);
        let write = |message: Option<&[u8]>| {
            observer.writes(process(&sender), channel(&self), number, message);
            number += 1;
        };
        // SAFETY: they are about to be published, by the holder of the sender.
        unsafe { self.for_each_written(numbers, write) };
    }

    #[cold]
    fn tell_of_messages(self, end: End) {
        let (from, to) = (self.count(end), self.side(end).local.get());
        let messages = self.before(from)..self.before(to);
        if messages.is_empty() {
            return;
        }
        if let Some(ObserverHandle(observer)) = self.table().observer() {
            match end {
                End::Sender => {
                    if observer.wants_contents() {
                        self.tell_contents(&**observer, from..to);
                    }
                    observer.sent(channel(&self), messages);
                }
                End::Receiver => observer.received(channel(&self), messages),
            }
        }
    }
}
