//! Roles, and threads that take them: a call that has emitted too much waits while others go on.
//!
//! There are as many *roles* as workers: a role is all that a worker has, its deque above all. A
//! thread with a role works. What a box emits goes on while the box runs; if nobody comes to it,
//! the call waits on its thread, and its role goes to another thread, which works the records off.
//!
//! | a thread      | has a role | until                                                            |
//! |---------------|------------|------------------------------------------------------------------|
//! | works         | yes        | a call on it waits; or it finds nothing to do while a call waits |
//! | waits         | no         | a thread that finds nothing to do hands its role over            |
//! | is in reserve | no         | a call begins to wait, and hands its role over                   |
//!
//! So a call that waits is as the input: it goes on when a worker has nothing else to do, and no new
//! records are read before.
//!
//! | a call                                              | waits until                           |
//! |-----------------------------------------------------|---------------------------------------|
//! | of which [`MOST_AHEAD`] records, or those of a [`LONG`] time, lie where nobody has come to them, or of which many wait anywhere | a worker has nothing else to do, and nowhere many records wait |
//! | that comes behind others, in an order or among the calls of its box, and of which [`MOST_EARLY`] records wait for those | the same, and it comes first |
//!
//! When all sleep and nothing can be read, the first of those that wait goes on in any case: so
//! nobody waits for ever. Of several the first is that for the earliest record of the input.
//! There are at most [`MOST_THREADS`] such threads; a call beyond them does not wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crossbeam_deque::Worker as Deque;
use parking_lot::{Condvar, Mutex};

use super::frame::{Kind as LandingKind, Landing};
use super::order::{End, Regions, Tickets};
use super::shape::Rec;
use super::watch::now;
use super::worker::{FAIR, Task, Worker};
use super::{RunError, STACK, Shared};

/// Outputs of a call that are handed on together.
const CHUNK: usize = 64;
/// How long a call may take until the next record that it emits is handed on by itself.
const LONG: Duration = Duration::from_millis(1);
/// How many records a call may emit while others lie where nobody has come to them.
const MOST_AHEAD: usize = 512;
/// How many records a call may emit that wait for other calls.
const MOST_EARLY: usize = 4096;
/// Threads beyond one for each role.
const MOST_THREADS: usize = 256;

/// What a worker has, on whichever thread.
#[derive(Debug)]
pub(super) struct Role {
    /// Its number; none if a thread is without a role.
    pub(super) index: Option<usize>,
    pub(super) local: Deque<Task>,
    /// Landings that became ready, not yet in the deque.
    pub(super) ready: Vec<Task>,
    pub(super) outbox: Vec<(Arc<Landing>, VecDeque<Rec>)>,
    /// Whether the outbox is being emptied.
    pub(super) flushing: bool,
    /// Ends of places that the orders are not told of yet.
    pub(super) ends: Vec<End>,
    /// Empty queues with room.
    pub(super) emptied: Vec<VecDeque<Rec>>,
    /// How many records came to each operation.
    pub(super) counts: Vec<u64>,
    /// How many records waited for each when a batch was taken, at most.
    pub(super) waited: Vec<usize>,
    /// Searches until the bottom of the deque comes first.
    pub(super) until_bottom: usize,
    /// Whether the landing taken last was at the bottom.
    pub(super) from_bottom: bool,
    /// Where many records wait, and this worker has put more.
    pub(super) backlog: Option<Arc<Landing>>,
    pub(super) stolen: u64,
    pub(super) activations: u64,
}

impl Role {
    pub(super) fn new(index: Option<usize>, local: Deque<Task>, operations: usize) -> Self {
        Self {
            index,
            local,
            ready: Vec::new(),
            outbox: Vec::new(),
            flushing: false,
            ends: Vec::new(),
            emptied: Vec::new(),
            counts: vec![0; operations],
            waited: vec![0; operations],
            until_bottom: FAIR,
            from_bottom: false,
            backlog: None,
            stolen: 0,
            activations: 0,
        }
    }

    /// Takes the role away from a thread.
    fn leave(&mut self) -> Box<Self> {
        let nothing = Self::new(None, Deque::new_lifo(), self.counts.len());
        Box::new(std::mem::replace(self, nothing))
    }
}

/// What a thread gets that waits for a role.
#[derive(Debug)]
enum Handed {
    Nothing,
    Role(Box<Role>),
    /// The run is over.
    Over,
}

/// Where a thread gets a role.
#[derive(Debug)]
pub(super) struct Seat {
    handed: Mutex<Handed>,
    changed: Condvar,
}

impl Seat {
    fn new(handed: Handed) -> Arc<Self> {
        Arc::new(Self { handed: Mutex::new(handed), changed: Condvar::new() })
    }

    pub(super) fn with(role: Role) -> Arc<Self> {
        Self::new(Handed::Role(Box::new(role)))
    }

    fn hand(&self, handed: Handed) {
        *self.handed.lock() = handed;
        self.changed.notify_one();
    }

    /// Waits for a role; there is none once the run is over.
    pub(super) fn take(&self) -> Option<Box<Role>> {
        let mut handed = self.handed.lock();
        loop {
            match std::mem::replace(&mut *handed, Handed::Nothing) {
                Handed::Nothing => self.changed.wait(&mut handed),
                Handed::Role(role) => return Some(role),
                Handed::Over => return None,
            }
        }
    }
}

/// A call that waits.
#[derive(Debug)]
struct Waiting {
    seat: Arc<Seat>,
    /// The number of its record, and how many calls have waited before.
    rank: (u32, u64),
    /// What it comes behind, if it waits until it comes first.
    behind: Option<Behind>,
}

/// What a call may come behind: in the orders around, and among the calls of its box.
#[derive(Debug, Clone)]
pub(super) struct Behind {
    pub(super) tickets: Tickets,
    pub(super) call: Option<(Arc<Landing>, u64)>,
}

impl Behind {
    fn is_first(&self, regions: &Regions) -> bool {
        let in_turn = match &self.call {
            None => true,
            Some((landing, number)) => match &landing.kind {
                LandingKind::Box(Some(turn)) => turn.collector.is_turn_of(*number),
                _ => true,
            },
        };
        in_turn && self.tickets.are_first(regions)
    }
}

/// What the thread that starts the others is told.
#[derive(Debug)]
pub(super) enum News {
    /// A thread is wanted for a role.
    Wanted(Arc<Seat>),
    /// The worker of a role has ended, by a panic if there are no counts.
    Ended(Option<Counted>),
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    waits: u64,
    reserve: Vec<Arc<Seat>>,
    threads: usize,
    news: VecDeque<News>,
    over: bool,
}

/// The threads of a run, as far as they have no role.
#[derive(Debug, Default)]
pub(super) struct Crew {
    state: Mutex<State>,
    told: Condvar,
    /// How many calls wait.
    waiting: AtomicUsize,
    /// How many calls have handed on what they emitted; for as long, backlogs are noted.
    long: AtomicUsize,
    backlogs: Mutex<Vec<Arc<Landing>>>,
}

impl Crew {
    /// Whether a call waits.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.load(SeqCst) > 0
    }

    /// Whether no records should be read: there are too many, of a call that is on its way.
    pub(super) fn holds_input(&self) -> bool {
        self.long.load(SeqCst) > 0 && (self.has_waiting() || self.has_backlogs())
    }

    /// Notes that many records wait at a landing.
    pub(super) fn note_backlog(&self, landing: &Arc<Landing>) {
        if self.long.load(SeqCst) == 0 {
            return;
        }
        let mut backlogs = self.backlogs.lock();
        if !backlogs.iter().any(|known| Arc::ptr_eq(known, landing)) {
            backlogs.push(Arc::clone(landing));
        }
    }

    fn has_backlogs(&self) -> bool {
        let mut backlogs = self.backlogs.lock();
        backlogs.retain(|landing| landing.waiting.is_crowded());
        !backlogs.is_empty()
    }

    /// Has a call wait, whose role goes to another thread; returns the role that it goes on with.
    /// Gives its own back at once if there is no thread for it.
    fn wait(&self, role: Box<Role>, number: u32, behind: Option<Behind>) -> Option<Box<Role>> {
        let mut state = self.state.lock();
        let another = state.reserve.pop();
        if another.is_none() && state.threads == MOST_THREADS {
            return Some(role);
        }
        let seat = Seat::new(if state.over { Handed::Over } else { Handed::Nothing });
        let rank = (number, state.waits);
        state.waits += 1;
        state.waiting.push(Waiting { seat: Arc::clone(&seat), rank, behind });
        self.waiting.fetch_add(1, SeqCst);
        if let Some(another) = another {
            drop(state);
            another.hand(Handed::Role(role));
        } else {
            state.threads += 1;
            state.news.push_back(News::Wanted(Seat::new(Handed::Role(role))));
            drop(state);
            self.told.notify_one();
        }
        seat.take()
    }

    /// Takes the call that goes on: one that may, or the first of all if there is nothing else to do.
    fn next(&self, regions: &Regions, nothing_else: bool) -> Option<Arc<Seat>> {
        if !nothing_else && self.has_backlogs() {
            return None;
        }
        let mut state = self.state.lock();
        let waits = |one: &Waiting| one.behind.as_ref().is_some_and(|it| !it.is_first(regions));
        let all = state.waiting.iter().enumerate();
        let first = all.map(|(index, one)| (waits(one), one.rank, index)).min();
        let (waits, _, index) = first?;
        if waits && !nothing_else {
            return None;
        }
        self.waiting.fetch_sub(1, SeqCst);
        Some(state.waiting.swap_remove(index).seat)
    }

    /// Waits in reserve for a role.
    fn rest(&self) -> Option<Box<Role>> {
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

    /// Waits until there is something to tell.
    pub(super) fn news(&self) -> News {
        let mut state = self.state.lock();
        loop {
            match state.news.pop_front() {
                Some(news) => return news,
                None => self.told.wait(&mut state),
            }
        }
    }

    /// Gives a role, for which there is no thread, to a call that waits; tells whether there is one.
    pub(super) fn give_back(&self, role: Box<Role>, regions: &Regions) -> bool {
        let next = self.next(regions, true);
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

/// What a call has emitted.
#[derive(Debug, Default)]
pub(super) struct Emission {
    /// What has not been handed on.
    pub(super) outputs: Vec<Rec>,
    /// How many were emitted since the call has waited.
    ahead: usize,
    /// When something was handed on, or the first was emitted.
    last: Option<Instant>,
    /// Whether the crew knows of it.
    long: bool,
}

impl Emission {
    /// Takes a record; tells whether it is time to hand on.
    pub(super) fn take(&mut self, rec: Rec) -> bool {
        self.outputs.push(rec);
        self.ahead += 1;
        self.outputs.len() >= CHUNK || self.last.get_or_insert_with(now).elapsed() >= LONG
    }
}

impl Worker<'_, '_> {
    /// Lets what was carried on go to others while the call runs that emitted it; the call waits here
    /// if it is far ahead of them.
    pub(super) fn hand_on(&mut self, emission: &mut Emission, number: u32, behind: &Behind) {
        if self.role.flushing || self.shared.idle.is_stopped() {
            return;
        }
        let crew = &self.shared.crew;
        if !std::mem::replace(&mut emission.long, true) {
            crew.long.fetch_add(1, SeqCst);
        }
        self.flush();
        self.publish();
        self.shared.idle.wake();
        let at = now();
        let was_long = emission.last.is_none_or(|last| at.duration_since(last) >= LONG);
        emission.last = Some(at);
        let is_ahead = (was_long || emission.ahead >= MOST_AHEAD)
            && (!self.role.local.is_empty() || crew.has_backlogs());
        let is_early = emission.ahead >= MOST_EARLY && !behind.is_first(self.facts.regions);
        if is_ahead || is_early {
            self.facts.rests(true);
            let role = self.role.leave();
            let role = crew.wait(role, number, is_early.then(|| behind.clone()));
            if let Some(role) = role {
                self.role = *role;
            }
            self.facts.rests(false);
            emission.ahead = 0;
            emission.last = Some(now());
        }
    }

    /// Ends what the crew knows of a call.
    pub(super) fn emitted(&self, emission: &Emission) {
        if emission.long {
            self.shared.crew.long.fetch_sub(1, SeqCst);
        }
    }

    /// Hands the role to a call that may go on, and waits for another; tells whether there was one.
    pub(super) fn hand_over(&mut self, nothing_else: bool) -> bool {
        let Some(seat) = self.shared.crew.next(self.facts.regions, nothing_else) else {
            return false;
        };
        seat.hand(Handed::Role(self.role.leave()));
        let role = self.shared.crew.rest();
        if let Some(role) = role {
            self.role = *role;
        }
        true
    }
}

/// Runs the workers to the end; returns what each of them counted.
pub(super) fn work(shared: &Shared<'_>, roles: Vec<Role>) -> Result<Vec<Counted>, RunError> {
    std::thread::scope(|scope| {
        let start = |name: String, seat: &Arc<Seat>, begins| {
            let (seat, builder) = (Arc::clone(seat), std::thread::Builder::new().name(name));
            let body = move || work_as(shared, &seat, begins);
            builder.stack_size(STACK).spawn_scoped(scope, body)
        };
        let (mut threads, mut first_error) = (Vec::new(), None);
        for (index, role) in roles.into_iter().enumerate() {
            match start(format!("snet {index}"), &Seat::with(role), index == 0) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.idle.halt();
                    first_error = Some(RunError::Thread(error));
                    break;
                }
            }
        }
        let (mut totals, mut working) = (Vec::new(), threads.len());
        while working > 0 {
            match shared.crew.news() {
                News::Ended(counted) => {
                    totals.extend(counted);
                    working -= 1;
                }
                News::Wanted(seat) => match start("snet in place".to_owned(), &seat, false) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        if let Some(role) = seat.take()
                            && !shared.crew.give_back(role, shared.facts.regions)
                        {
                            shared.idle.halt();
                            first_error = Some(RunError::Thread(error));
                            working -= 1;
                        }
                    }
                },
            }
        }
        shared.crew.close();
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
fn work_as(shared: &Shared<'_>, seat: &Seat, begins: bool) {
    let _guard = HaltOnPanic(shared);
    let Some(role) = seat.take() else { return };
    let mut worker = Worker::new(shared, *role);
    if begins {
        worker.start();
        shared.idle.open_input();
    }
    worker.run();
    let role = worker.role;
    if role.index.is_some() {
        let Role { counts, waited, activations, stolen, .. } = role;
        shared.crew.tell(News::Ended(Some(Counted { counts, waited, activations, stolen })));
    }
}

/// Ends the run if a worker panics, lest the others wait for it.
struct HaltOnPanic<'a, 'r>(&'a Shared<'r>);

impl Drop for HaltOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.idle.halt();
            self.0.crew.tell(News::Ended(None));
        }
    }
}

/// What a worker counted.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) counts: Vec<u64>,
    pub(super) waited: Vec<usize>,
    pub(super) activations: u64,
    pub(super) stolen: u64,
}
