//! What a run can be watched by: what processes do and wait for, and their messages, while they happen.
//!
//! | told | by | when |
//! |---|---|---|
//! | a process runs, a process rests, and why | the thread that runs it | around the poll; and around each wait of a process that blocks its thread |
//! | a wait is over | the worker whose messages, or whose free slots, ended it | before the process is ready |
//! | a process is dropped | the thread that drops it | before its body is |
//! | what is in a message, if it has a written form and the observer asks for it | the sender's worker | before it is told that it was sent |
//! | what a process did that is joined to the outside, if the observer asks for it | the thread that runs it | with what follows, or when an end is closed or found closed |
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

use super::closing;
use super::language::{self, Kahn, Worker};
use super::process::{InNetwork, attribute};
use super::raw::{ChannelRef, End, told};
use super::slow_path::waiting_end;
use super::table::ChannelTable;
use kahn_engine::sync::Arc;
use kahn_engine::sync::system::clock;
use kahn_engine::{Pause, TaskRef};
use kahn_report::Ending;
use kahn_report::log::{Log, Wait, What};
use kahn_report::observe::{Act, Observer, Rest, Slice, Subject, Wants, WrittenForms};
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::{ptr, slice};

/// The observer of a run, and what it has said that it wants to know.
#[derive(Clone)]
pub(crate) struct ObserverHandle {
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) wants: Wants,
}

impl fmt::Debug for ObserverHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl ObserverHandle {
    pub(crate) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { wants: observer.wants(), observer }
    }
}

impl Kahn {
    /// Has this told of what it wants to know of processes. Said once, before there are workers.
    pub(crate) fn observe_by(&self, observer: &ObserverHandle) {
        if observer.wants.schedule {
            let _ = self.observer.set(observer.clone());
        }
        if observer.wants.acts {
            let _ = self.acts.set(observer.clone());
        }
    }
}

fn process(task: &TaskRef) -> Subject<'_> {
    task.subject()
}

/// What is told of the acts of this process, if anything is.
fn told_of_acts<'a>(task: TaskRef) -> Option<&'a dyn Observer> {
    if task.attributes() & attribute::JOINED == 0 {
        return None;
    }
    Some(&*language::of(task).acts.get()?.observer)
}

/// A process has ended, and its ends are closed.
pub(in crate::channel) fn tell_of_end(task: TaskRef, ending: &Ending) {
    let failure = match ending {
        Ending::Finished => None,
        Ending::Failed(failure) => Some(failure),
        _ => return,
    };
    if let Some(observer) = told_of_acts(task) {
        observer.acts(process(&task), Act::Ends { failure });
    }
}

/// A process was created while the network runs, and may create others.
pub(crate) fn tell_of_leave(task: TaskRef) {
    if task.creates()
        && let Some(observer) = told_of_acts(task)
    {
        observer.acts(process(&task), Act::MayCreate);
    }
}

/// After how many messages the process that runs here tells that its file has them, if it is to tell.
pub(crate) fn saves_each() -> Option<u64> {
    let (_, task) = Worker::running()?;
    told_of_acts(task)?.saves_each()
}

/// The process that runs here has so much of its file on the disk, or is about to make it.
pub(crate) fn tell_of_saving(part: &str, messages: u64, bytes: u64, file: Option<&File>) {
    let observer = |(_, task)| Some((task, told_of_acts(task)?));
    if let Some((task, observer)) = Worker::running().and_then(observer) {
        observer.acts(process(&task), Act::Saves { part, messages, bytes, file });
    }
}

/// Nothing can go on, and a process waits.
pub(crate) fn tell_of_wait(task: TaskRef) {
    if let Some(observer) = told_of_acts(task)
        && let Some((waits_at, end)) = waiting_end(task).filter(|(at, _)| !at.is_inner())
    {
        let act = Act::Waits { channel: channel(&waits_at), to_send: end == End::Sender };
        observer.acts(process(&task), act);
    }
}

fn channel(channel: &ChannelRef) -> Subject<'_> {
    channel.subject()
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

/// The same as a log has it.
#[inline]
fn wait_at(end: Option<&(ChannelRef, End)>) -> Wait {
    let Some((waits_at, end)) = end.filter(|(channel, _)| !channel.is_inner()) else {
        return Wait::nowhere(What::UntilOtherwise);
    };
    let until = match end {
        End::Sender => What::UntilRoom,
        End::Receiver => What::UntilMessage,
    };
    let number = waits_at.before(waits_at.side(*end).local.get());
    Wait { until, channel: waits_at.as_ptr().addr(), number }
}

/// Where a process waits that rests, for a log.
#[inline]
pub(super) fn wait(task: TaskRef, pause: Pause) -> Wait {
    match pause {
        Pause::ToPark => wait_at(waiting_end(task).as_ref()),
        other => other.nowhere(),
    }
}

fn observer(worker: &Worker) -> Option<(&dyn Observer, Option<usize>)> {
    let ObserverHandle { observer, .. } = worker.language().observer.get()?;
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
        if let Some(log) = observer.observer.log() {
            let log = self.log.get_or_init(|| log);
            self.all().into_iter().for_each(|channel| channel.log_name(&**log));
            if log.keeps_messages() {
                self.all().into_iter().for_each(ChannelRef::observe);
            }
        }
        let wants = observer.wants;
        if (Wants { schedule: false, ..wants }) == Wants::NOTHING {
            return;
        }
        let _ = self.observer.set(observer);
        for channel in self.all() {
            channel.observe_for(wants);
            for end in [End::Sender, End::Receiver] {
                channel.owner(end).inspect(|owner| channel.observe_acts_of(end, *owner));
            }
        }
    }

    /// A channel is made; no process knows it yet.
    pub(super) fn tell_of_new(&self, channel: ChannelRef) {
        let log = self.log.get();
        if let Some(log) = log {
            channel.log_name(&**log);
        }
        if log.is_some_and(|log| log.keeps_messages()) {
            channel.observe();
        }
        if let Some(observer) = self.observer.get() {
            channel.observe_for(observer.wants);
        }
    }

    /// What is told of messages, if anything is.
    pub(crate) fn observer(&self) -> Option<&ObserverHandle> {
        self.observer.get()
    }
}

impl ChannelRef {
    /// What observers are told that it is.
    pub(crate) fn subject(&self) -> Subject<'_> {
        let label = self.label();
        Subject::new(&label.name, label.identity)
    }

    /// Tells a log which channel this is.
    pub(super) fn log_name(self, log: &dyn Log) {
        log.channel(self.as_ptr().addr(), clock::ticks(), channel(&self));
    }

    /// Tells of both ends from now on. Nothing runs, or no process knows the channel yet.
    fn observe(self) {
        if !self.is_inner() {
            self.tell_of_both_ends(told::OBSERVER);
        }
    }

    /// The same, of those ends at which something is wanted whichever process has them. The others pay nothing.
    fn observe_for(self, wants: Wants) {
        if wants.messages {
            self.observe();
        } else if wants.contents && self.is_wired() && !self.is_inner() {
            self.sender.tell(told::OBSERVER);
        }
    }

    /// A process gets this end: tells of it from now on if that is joined to the outside, and its acts are wanted.
    #[inline]
    pub(super) fn observe_acts_of(self, end: End, owner: TaskRef) {
        if owner.attributes() & attribute::JOINED != 0
            && self.table().observer().is_some_and(|observer| observer.wants.acts)
            && !self.is_inner()
        {
            self.side(end).tell(told::OBSERVER);
        }
    }

    /// What `end` has done is about to become visible: tells the observer, if there is one.
    #[inline(always)]
    pub(super) fn tell_observer(self, end: End, worker: &Worker) {
        if self.side(end).tells(told::OBSERVER) {
            self.tell_of_messages(end, worker);
        }
    }

    /// Tells what is in the messages of these numbers, which the sender has put into their slots, and that
    /// it sends them.
    fn tell_contents(self, handle: &ObserverHandle, numbers: Range<u64>, worker: &Worker) {
        let Some(sender) = self.owner(End::Sender) else { return };
        let (contents, acts) = (handle.wants.contents, told_of_acts(sender));
        if !contents && acts.is_none() {
            return;
        }
        let (sender, channel) = (process(&sender), channel(&self));
        let tell = |messages: Range<u64>, written: Option<WrittenForms<'_>>| {
            let messages = self.before(messages.start)..self.before(messages.end);
            if contents {
                handle.observer.writes(sender, channel, messages.clone(), written.clone());
            }
            if let Some(observer) = acts {
                observer.acts(sender, Act::Sends { channel, messages, written });
            }
        };
        // SAFETY: they are about to be published, by the holder of the sender.
        if !unsafe { self.write_each(numbers.clone(), &worker.of.writing, &tell) } && acts.is_some()
        {
            tell(numbers, None);
        }
    }

    /// A message is discarded, for its reader has left. It is told all the same if its sender is joined to the
    /// outside: in another run of the same, a reader that may be pruned may read it.
    #[cold]
    #[inline(never)]
    pub(super) fn discards<T>(self, message: &T) {
        if self.sender.tells(told::OBSERVER)
            && let Some(sender) = self.owner(End::Sender)
            && closing::goes_on(sender)
            && told_of_acts(sender).is_some()
        {
            // SAFETY: the channel is for messages of this type.
            let written = unsafe { self.written(ptr::from_ref(message).cast()) };
            self.discards_written(written.as_deref());
        }
    }

    /// Tells the observer of a message that is left in the channel, if it is to be told.
    ///
    /// # Safety
    /// It stands in this slot, and the channel is not in use.
    pub(super) unsafe fn tell_what_is_left(self, number: u64, slot: *mut u8) {
        let table = self.table();
        if self.is_wired()
            && table.tells_of_left(self)
            && let Some(ObserverHandle { observer, wants }) = table.observer()
            && wants.contents
        {
            // SAFETY: said by the caller.
            let message = unsafe { self.written(slot.cast_const().cast()) };
            observer.left(self.subject(), self.before(number), message.as_deref());
        }
    }

    /// The same of a message that is written already.
    pub(super) fn discards_written(self, message: Option<&[u8]>) {
        let number = self.before(self.sender.local.get());
        let end = message.map_or(0, <[u8]>::len);
        self.tell_of_act(End::Sender, |channel| Act::Sends {
            channel,
            messages: number..number + 1,
            written: message.map(|message| WrittenForms::new(message, slice::from_ref(&end))),
        });
    }

    /// The owner of `end` does something there, which is told if it is joined to the outside.
    pub(super) fn tell_of_act<'a>(&'a self, end: End, act: impl FnOnce(Subject<'a>) -> Act<'a>) {
        if self.side(end).tells(told::OBSERVER)
            && let Some(owner) = self.owner(end)
            && let Some(observer) = told_of_acts(owner)
        {
            observer.acts(process(&owner), act(channel(self)));
        }
    }

    #[cold]
    fn tell_of_messages(self, end: End, worker: &Worker) {
        let (from, to) = (self.count(end), self.side(end).local.get());
        let messages = self.before(from)..self.before(to);
        if messages.is_empty() {
            return;
        }
        if let Some(ring) = worker.ring().filter(|ring| ring.keeps_messages()) {
            let what = if end == End::Sender { What::Sent } else { What::Received };
            let count = messages.end - messages.start;
            ring.messages(what, self.as_ptr().addr(), messages.start, count, clock::ticks);
        }
        let Some(handle) = self.table().observer() else { return };
        let is_wanted = handle.wants.messages;
        match end {
            End::Sender => {
                self.tell_contents(handle, from..to, worker);
                if is_wanted {
                    handle.observer.sent(channel(&self), messages);
                }
            }
            End::Receiver => {
                if is_wanted {
                    handle.observer.received(channel(&self), messages.clone());
                }
                self.tell_of_act(end, |channel| Act::Receives { channel, messages });
            }
        }
    }
}
