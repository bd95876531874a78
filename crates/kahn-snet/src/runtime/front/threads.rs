//! Roles, and threads that take them: a call that has emitted too much waits while others go on.
//!
//! There are as many *roles* as workers: a role is all that a worker has, its stack above all. A
//! thread with a role works. What a box emits goes on while the box runs; if no thread comes to it, its
//! role goes to another thread, which works the records off.
//!
//! | a thread             | its role is         | until                                                       |
//! |----------------------|---------------------|-------------------------------------------------------------|
//! | works                | its own             | a call on it has emitted something; or a call asks or waits, and it has nothing else to do, or many records wait for that call: that gets its role |
//! | calls, has emitted   | in its handoff slot | the call emits again or ends: *works*; or another thread is given the role: *away* (see `handoff`) |
//! | away                 | another's           | the call emits again or ends: *asks*                         |
//! | asks                 | another's           | what it had left in the slot is handed on, and a worker gives it its role: *works* |
//! | waits                | another's           | no backlog holds it up (see `backlog`), and a worker gives it its role: *works* |
//! | is in reserve        | none                | a role is given to it: *works*                                |
//!
//! A call waits before it begins, if a backlog holds it up, and calls of its role have emitted 512 records since one
//! was asked so. And it waits when it hands on what it emitted, if (a) no thread has come to where that is, or (b) a
//! backlog holds it up; and if it has emitted 512 records since it last waited, or the last a millisecond ago.
//!
//! So of what a call has emitted there are inside, at most: those 512, and as many of each role; what makes a backlog,
//! wherever there is one; and what workers have in their hands. And no call waits for ever:
//!
//! | what a call waits for                       | comes, because                                           |
//! |---------------------------------------------|----------------------------------------------------------|
//! | a worker with nothing else to do            | no records are read while a call waits, and each worker looks for calls before it sleeps |
//! | records at a mailbox                        | workers come to it; at one of a box, calls do, which are nearer to the output, and the order of these places is total |
//! | calls before it, and order slots before its own  | of those that wait, what comes first in a sequential run goes on |
//!
//! The last of these is by force, where orders cross each other: when all workers sleep and nothing
//! can be read, the call for the earliest record of the input, of several the one nearest to the output,
//! goes on in any case, unless what holds it up is a call that is away, or one that waits for such: that
//! will come.
//!
//! While a call is away, one more thread than there are workers may compute. There are at most
//! [`MOST_THREADS`] such threads; a call beyond them neither waits nor is away.

use std::collections::VecDeque;
use std::sync::Arc;

use super::backlog::{Backlog, Backlogs, position};
use super::emission::Origin;
use super::handoff::{Handoff, LOOK, Left, LeftOutputs, Since};
use super::order::Regions;
use super::role::{Counted, Handed, Role, Seat};
use super::shared::Shared;
use super::sleep::Idle;
use super::worker::Worker;
use crate::runtime::error::RunError;
use crate::runtime::steps::tickets::Tickets;
use kahn_engine::sync::Ordering::{Relaxed, SeqCst};
use kahn_engine::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, fence};

/// The stack of a worker; records are carried through nested replicas by recursion.
const STACK: usize = 64 << 20;
/// Threads beyond one for each role.
const MOST_THREADS: usize = 256;
/// How often nothing is found in the handoff slots until they are not looked at any more.
const VAIN: usize = 8;

/// Which calls a worker gives its role to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One that may go on, and that many records wait for.
    InBacklog,
    /// One that may go on.
    Any,
    /// One that may go on, or the first that is held up: nothing else can be done.
    Last,
}

/// What a call waits for, besides a worker that has nothing else to do.
#[derive(Debug)]
pub(super) enum Until {
    /// What it left in the handoff slot is handed on.
    HandedOn(Since),
    /// No backlog holds it up; with the order slots of its record.
    Room(Origin, Tickets),
}

/// A call that waits, or asks for a role.
#[derive(Debug)]
struct Waiting {
    seat: Arc<Seat>,
    /// The number of its record, and how many calls have waited before.
    rank: (u32, u64),
    until: Until,
}

/// A call that is away.
#[derive(Debug)]
struct Away {
    since: Since,
    origin: Origin,
    /// Slots in the orders that its record is in.
    within: Tickets,
    handed_on: bool,
}

/// What the thread that starts the others is told.
#[derive(Debug)]
pub(super) enum News {
    /// A thread is wanted for a role.
    Wanted(Arc<Seat>),
    /// The worker of a role has ended, by a panic if there are no counts.
    Ended(Option<Counted>),
    /// It is time to look at the handoff slots.
    Look,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    waits: u64,
    /// Those that are away, or were and ask for a role.
    away: Vec<Away>,
    reserve: Vec<Arc<Seat>>,
    threads: usize,
    news: VecDeque<News>,
    over: bool,
}

impl State {
    /// The call that goes on.
    fn next(&self, backlogs: &[Backlog], regions: &Regions, wanted: Wanted) -> Option<usize> {
        let is_wanted = |origin: &Origin, tickets: &Tickets| {
            wanted != Wanted::InBacklog || backlogs.iter().any(|it| it.waits_for(origin, tickets))
        };
        let may = |one: &Waiting| match &one.until {
            Until::HandedOn(since) => {
                let away = self.away.iter().find(|away| away.since == *since);
                away.is_some_and(|it| it.handed_on && is_wanted(&it.origin, &it.within))
            }
            Until::Room(origin, tickets) => {
                is_wanted(origin, tickets)
                    && !backlogs.iter().any(|it| it.holds_up(origin, tickets, regions))
            }
        };
        let all = self.waiting.iter().enumerate();
        let first = all.filter(|(_, one)| may(one)).min_by_key(|(_, one)| one.rank);
        let first = first.map(|(index, _)| index);
        if wanted == Wanted::Last { first.or_else(|| self.last(backlogs, regions)) } else { first }
    }

    /// Of the calls that are held up the one that goes on all the same: for the earliest record, nearest to
    /// the output, and not held up by what a call that is away will change, be it by way of others.
    fn last(&self, backlogs: &[Backlog], regions: &Regions) -> Option<usize> {
        let rooms = self.waiting.iter().enumerate().filter_map(|(index, one)| match &one.until {
            Until::Room(origin, tickets) => Some((index, one.rank, origin, tickets)),
            Until::HandedOn(_) => None,
        });
        let mut left: Vec<_> = rooms.collect();
        let mut come: Vec<(&Origin, &Tickets)> =
            self.away.iter().map(|away| (&away.origin, &away.within)).collect();
        // Each call that will come lets those come that wait for it.
        while let Some((coming, within)) = come.pop() {
            let of_it: Vec<&Backlog> =
                backlogs.iter().filter(|it| it.waits_for(coming, within)).collect();
            left.retain(|(_, _, origin, tickets)| {
                let comes = of_it.iter().any(|it| it.holds_up(origin, tickets, regions));
                if comes {
                    come.push((origin, tickets));
                }
                !comes
            });
        }
        let place = |origin: &Origin| position(&origin.frame, origin.op);
        left.into_iter()
            .min_by_key(|(_, rank, origin, _)| (rank.0, place(origin), rank.1))
            .map(|(index, ..)| index)
    }

    /// Has a call wait; returns where it gets a role.
    fn waits(&mut self, number: u32, until: Until) -> Arc<Seat> {
        let seat = Seat::new(if self.over { Handed::Over } else { Handed::Nothing });
        let rank = (number, self.waits);
        self.waits += 1;
        self.waiting.push(Waiting { seat: Arc::clone(&seat), rank, until });
        seat
    }
}

/// The threads of a run, as far as they have no role.
#[derive(Debug)]
pub(super) struct Threads {
    state: Mutex<State>,
    told: Condvar,
    /// How many calls wait or ask.
    waiting: AtomicUsize,
    /// How many calls are away, and do not ask yet.
    away: AtomicUsize,
    pub(super) backlogs: Backlogs,
    handoffs: Box<[Handoff]>,
    /// Whether no thread looks at the handoff slots.
    unattended: AtomicBool,
}

impl Threads {
    pub(super) fn new(roles: usize) -> Self {
        Self {
            state: Mutex::default(),
            told: Condvar::new(),
            waiting: AtomicUsize::new(0),
            away: AtomicUsize::new(0),
            backlogs: Backlogs::default(),
            handoffs: (0..roles).map(|_| Handoff::default()).collect(),
            unattended: AtomicBool::new(true),
        }
    }

    /// Whether a call waits or asks for a role.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.load(SeqCst) > 0
    }

    /// Whether a call is away.
    pub(super) fn has_away(&self) -> bool {
        self.away.load(SeqCst) > 0
    }

    /// Whether no records should be read: there are too many, of a call that is on its way.
    pub(super) fn holds_input(&self, regions: &Regions) -> bool {
        self.backlogs.are_noted() && (self.has_waiting() || !self.backlogs.left(regions).is_empty())
    }

    /// Has a call wait, whose role goes to another thread; returns the role that it goes on with.
    /// Gives its own back at once if there is no thread for it.
    pub(super) fn wait(&self, role: Box<Role>, number: u32, until: Until) -> Option<Box<Role>> {
        let mut state = self.state.lock();
        let another = state.reserve.pop();
        if another.is_none() && state.threads == MOST_THREADS {
            return Some(role);
        }
        let seat = state.waits(number, until);
        self.waiting.fetch_add(1, SeqCst);
        if let Some(another) = another {
            drop(state);
            another.hand(Handed::Role(role));
        } else {
            state.threads += 1;
            state.news.push_back(News::Wanted(Seat::with(role)));
            drop(state);
            self.told.notify_one();
        }
        self.attend();
        seat.take()
    }

    /// Puts the role of a call in its handoff slot; returns how often that was done there.
    pub(super) fn leave(&self, handoff: usize, left: Left) -> u64 {
        let times = self.handoffs[handoff].put(left);
        self.attend();
        times
    }

    /// Takes back what a call has put in its handoff slot, if it is still there.
    pub(super) fn take_back(&self, since: Since) -> Option<Left> {
        self.handoffs[since.handoff].take_back(since.times)
    }

    /// Has a call wait that was away; returns the role that it goes on with, and where it comes from.
    pub(super) fn ask(
        &self,
        since: Since,
        number: u32,
        idle: &Idle,
    ) -> (Option<Box<Role>>, Option<Origin>) {
        let mut state = self.state.lock();
        let seat = state.waits(number, Until::HandedOn(since));
        // In this order, so that a thread that sees none away sees the one that waits.
        self.waiting.fetch_add(1, SeqCst);
        self.away.fetch_sub(1, SeqCst);
        drop(state);
        idle.settle();
        self.attend();
        let role = seat.take();
        let mut state = self.state.lock();
        let away = state.away.iter().position(|away| away.since == since);
        let origin = away.map(|index| state.away.swap_remove(index).origin);
        drop(state);
        self.backlogs.end();
        (role, origin)
    }

    /// Says that what a call had left in its handoff slot is handed on.
    pub(super) fn is_handed_on(&self, since: Since) {
        let mut state = self.state.lock();
        if let Some(away) = state.away.iter_mut().find(|away| away.since == since) {
            away.handed_on = true;
        }
    }

    /// Sees to it that the handoff slots are looked at.
    fn attend(&self) {
        // Pairs with the fence in `stop_looking`: either we see that no thread looks, or it sees what was done.
        fence(SeqCst);
        if self.unattended.load(Relaxed) && self.unattended.swap(false, SeqCst) {
            self.tell(News::Look);
        }
    }

    fn is_anything_there(&self) -> bool {
        self.has_waiting()
            || self.has_away()
            || self.handoffs.iter().any(|it| it.wanted().is_some())
    }

    /// Stops looking at the handoff slots until one is filled.
    pub(super) fn stop_looking(&self) {
        self.unattended.store(true, SeqCst);
        fence(SeqCst); // pairs with that in `attend`
        if self.is_anything_there() {
            self.unattended.store(false, SeqCst);
        }
    }

    /// Gives roles that have been in their handoff slots since the last look to threads in reserve; returns
    /// how many threads are wanted for more.
    pub(super) fn look(&self, seen: &mut [Option<u64>], idle: &Idle) -> usize {
        let mut wanted = 0;
        for (index, seen) in seen.iter_mut().enumerate() {
            let handoff = &self.handoffs[index];
            let now = handoff.wanted();
            let Some(times) = now.filter(|_| std::mem::replace(seen, now) == now) else {
                *seen = now;
                continue;
            };
            let mut state = self.state.lock();
            let Some(another) = state.reserve.pop() else {
                let more = state.threads < MOST_THREADS;
                state.threads += usize::from(more);
                wanted += usize::from(more);
                continue;
            };
            let Some(Left { mut role, outputs, origin, within }) = handoff.take_away(times) else {
                state.reserve.push(another);
                continue;
            };
            let since = Since { handoff: index, times };
            let first = || outputs.first().map(|out| out.tickets.clone());
            let within = within.or_else(first).unwrap_or_default();
            state.away.push(Away { since, origin: origin.clone(), within, handed_on: false });
            self.away.fetch_add(1, SeqCst);
            idle.expect();
            self.backlogs.begin();
            drop(state);
            role.emitted = Some(LeftOutputs { outputs, origin, since });
            another.hand(Handed::Role(role));
        }
        wanted
    }

    /// Whether a call may go on.
    pub(super) fn has_next(&self, regions: &Regions, wanted: Wanted) -> bool {
        if !self.has_waiting() {
            return false;
        }
        let backlogs = self.backlogs.left(regions);
        self.state.lock().next(&backlogs, regions, wanted).is_some()
    }

    /// Takes the call that goes on.
    pub(super) fn next(&self, regions: &Regions, wanted: Wanted) -> Option<Arc<Seat>> {
        let backlogs = self.backlogs.left(regions);
        if backlogs.is_empty() && wanted == Wanted::InBacklog {
            return None;
        }
        let mut state = self.state.lock();
        let index = state.next(&backlogs, regions, wanted)?;
        self.waiting.fetch_sub(1, SeqCst);
        Some(state.waiting.swap_remove(index).seat)
    }

    /// Waits in reserve for a role.
    pub(super) fn rest(&self) -> Option<Box<Role>> {
        let mut state = self.state.lock();
        if state.over {
            return None;
        }
        let seat = Seat::new(Handed::Nothing);
        state.reserve.push(Arc::clone(&seat));
        drop(state);
        seat.take()
    }

    /// Tells the thread that starts the others.
    pub(super) fn tell(&self, news: News) {
        self.state.lock().news.push_back(news);
        self.told.notify_one();
    }

    /// Waits until there is something to tell, or it is time to look at the handoff slots.
    pub(super) fn news(&self) -> News {
        let mut state = self.state.lock();
        loop {
            if let Some(news) = state.news.pop_front() {
                return news;
            }
            if self.unattended.load(SeqCst) {
                self.told.wait(&mut state);
            } else if self.told.wait_for(&mut state, LOOK).timed_out() {
                return News::Look;
            }
        }
    }

    /// Gives a role, for which there is no thread, to a call that waits; tells whether there is one.
    pub(super) fn give_back(&self, role: Box<Role>, regions: &Regions) -> bool {
        let next = self.next(regions, Wanted::Last);
        next.map(|seat| seat.hand(Handed::Role(role))).is_some()
    }

    /// Lets the threads end that have no role.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.over = true;
        let waiting = std::mem::take(&mut state.waiting).into_iter().map(|one| one.seat);
        let reserve = std::mem::take(&mut state.reserve);
        waiting.chain(reserve).for_each(|seat| seat.hand(Handed::Over));
    }
}

impl Worker<'_, '_> {
    /// Hands the role to a call that may go on, and waits for another; tells whether there was one.
    pub(super) fn hand_over(&mut self, wanted: Wanted) -> bool {
        let Some(seat) = self.shared.threads.next(&self.shared.regions, wanted) else {
            return false;
        };
        seat.hand(Handed::Role(self.without_role()));
        let role = self.shared.threads.rest();
        self.with_role(role);
        true
    }
}

/// Runs the workers to the end; returns what each of them counted.
pub(super) fn work(shared: &Shared<'_>, roles: Vec<Role>) -> Result<Vec<Counted>, RunError> {
    let control = &shared.threads;
    std::thread::scope(|scope| {
        // In reserve, if it gets no seat.
        let start = |name: String, seat: Option<Arc<Seat>>, begins| {
            let body = move || work_as(shared, seat, begins);
            let builder = std::thread::Builder::new().name(name);
            builder.stack_size(STACK).spawn_scoped(scope, body)
        };
        let in_place = |seat| start("snet in place".to_owned(), seat, false);
        let (mut threads, mut first_error) = (Vec::new(), None);
        let mut working = 0;
        for (index, role) in roles.into_iter().enumerate() {
            match start(format!("snet {index}"), Some(Seat::with(Box::new(role))), index == 0) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.idle.end();
                    first_error = Some(RunError::Thread(error));
                    break;
                }
            }
            working += 1;
        }
        let (mut totals, mut seen, mut in_vain) = (Vec::new(), vec![None; working], 0);
        while working > 0 {
            match control.news() {
                News::Ended(counted) => {
                    totals.extend(counted);
                    working -= 1;
                }
                News::Wanted(seat) => match in_place(Some(Arc::clone(&seat))) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        if let Some(role) = seat.take()
                            && !control.give_back(role, &shared.regions)
                        {
                            shared.idle.end();
                            first_error = Some(RunError::Thread(error));
                            working -= 1;
                        }
                    }
                },
                News::Look => {
                    let wanted = control.look(&mut seen, &shared.idle);
                    threads.extend((0..wanted).filter_map(|_| in_place(None).ok()));
                    shared.wake_for_calls();
                    in_vain = if control.is_anything_there() { 0 } else { in_vain + 1 };
                    if in_vain == VAIN {
                        in_vain = 0;
                        control.stop_looking();
                    }
                }
            }
        }
        control.close();
        // Joined one by one: thread sanitizer sees that, but not the end of the scope.
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        first_error.map_or(Ok(totals), Err)
    })
}

/// Runs a worker on this thread, in one role after the other, to the end.
fn work_as(shared: &Shared<'_>, seat: Option<Arc<Seat>>, begins: bool) {
    let _guard = HaltOnPanic(shared);
    let role = match seat {
        Some(seat) => seat.take(),
        None => shared.threads.rest(),
    };
    let Some(role) = role else { return };
    let mut worker = Worker::new(shared, role);
    if begins {
        worker.start();
        shared.open_input();
    }
    worker.run();
    let role = worker.role;
    if role.index.is_some() {
        let Role { counts, waited, activations, stolen, .. } = *role;
        shared.threads.tell(News::Ended(Some(Counted { counts, waited, activations, stolen })));
    }
}

/// Ends the run if a worker panics, lest the others wait for it.
struct HaltOnPanic<'a, 'r>(&'a Shared<'r>);

impl Drop for HaltOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.idle.end();
            self.0.threads.tell(News::Ended(None));
        }
    }
}
