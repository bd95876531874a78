//! When NOTHING can go on: rings of waits, growth, explanation.
//!
//! A blocked process waits at exactly one end of one channel, so "waits for" is a function from
//! processes to processes, and looking for a deadlock is following it: a *walk*. If a walk comes
//! back to where it was, the processes on the way form a ring.
//!
//! # Why a ring that is found is real
//!
//! Only the peer may resume a process that is parked at a channel, so nothing outside a ring can
//! undo it: a real ring is *stable*, and may be found late, twice, by anyone. A wrong report can
//! only come from edges that were read at different times. So the ring is looked at twice, and
//! counts only if every word is the same both times. A word that shows PARKED with a count, and
//! shows them again, was not touched in between (counts never go back, see `channel::word`), so
//! between the two looks there was an instant at which all of them were parked together. Resolvers,
//! which may resume others, hold one lock.
//!
//! Two kinds of waits are not stable: a party may give up its own at any time, and threads do when the run ends.
//! Both may leave then, and with the last end a channel is recycled. So what is read of a channel that is to grow is
//! read while none is recycled, behind one more look.
//!
//! # Why every ring is found
//!
//! | what looks | when | where |
//! |---|---|---|
//! | a worker that has nothing to run | before it sleeps, and between naps | senders that parked lately, then channels in turn |
//! | a busy worker | every 1024 picks, on a budget | the same |
//! | a thread or a party that parks | at once | from where it parks |
//! | the last worker to sleep while threads or parties run | once, after a nap | everywhere |
//! | the last to park | no process is busy any more | everywhere |
//!
//! The turn comes to every channel again and again, and a ring that needs growth holds a parked
//! sender, so a stuck part is freed while another part runs for ever. When nothing runs, the look
//! everywhere sees the whole wait graph standing still.
//!
//! # What is done
//!
//! | ring | then |
//! |---|---|
//! | holds a full channel | the smallest of them grows by half (Parks 1995; Geilen and Basten 2003), but none inside a process |
//! | the same, and the budget is used up | the run ends, over budget |
//! | empty channels alone | its processes are dead, and so is what waits for them; sends to them are discarded |
//!
//! A verdict is given only when nothing can act any more; see [`kahn_engine`].
//!
//! The centralised form of the paper (Vrba 2009, section 4.4) keeps a map of all waits: it takes the
//! lock at every block and at every wake-up, follows the waits in the map at every block, and grows
//! by one. The process that closes a ring is the last of it to come into the map, so a ring is found
//! from there. It is there to show the difference.

mod explain;
mod look;
mod prune;
pub(crate) mod walk;

pub(crate) use explain::{explain, explain_each, is_told, remedy_of};
pub(crate) use look::{look, survey};
pub(crate) use prune::watch_root;

use crate::channel::closing::{mark_dead_end, wake_sender};
use crate::channel::events;
use crate::channel::language::mark;
use crate::channel::prune::note_over;
use crate::channel::raw::{ChannelRef, End, flag};
use crate::channel::table::{ChannelTable, Kept};
use kahn_engine::sync::{Mutex, Ordering::*, PlainAtomicU64};
use kahn_engine::{Kind, Origin, Reason, Scheduler, TaskRef};
use kahn_report::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use walk::{Edge, edge_of, ring_from, ring_through, still_holds};

/// When the runtime looks for rings of waits.
///
/// # Examples
///
/// ```
/// use kahn::{Detection, Network, Options};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..10_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// network.run_with(Options::new().detection(Detection::Central))?;
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// When there is time for it: costs nothing on the way of a message.
    #[default]
    Deferred,
    /// At every block, under one lock; channels grow by one. For comparison.
    Central,
    /// Never: a network that needs growth ends in a deadlock.
    Off,
}

/// What a look has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No ring, or none that anything can be done about.
    Nothing,
    /// A process can go on now.
    Freed,
    /// This channel had to grow and must not.
    OverBudget(Name),
}

/// Finds rings and does what is to be done about them. One per network.
#[derive(Debug)]
pub(crate) struct Resolver {
    detection: Detection,
    /// Held by the thread that resumes processes of others.
    lock: Mutex<State>,
    /// Processes of rings that lead through other ranks: none of them is pruned, and nothing follows from their
    /// death, until it is known that all ranks have noted it. Locked under `lock`.
    held: Mutex<BTreeSet<TaskRef>>,
    /// Walks so far; only a report reads it.
    walks: PlainAtomicU64,
}

/// What the holder of the resolver's lock knows of processes.
#[derive(Debug, Default)]
struct State {
    /// Which process waits where, in the centralised form. It follows the waits here; the words are asked only
    /// whether a ring that it finds still holds.
    waits: BTreeMap<TaskRef, Edge>,
    /// Those that are to be pruned and may have to be woken for it.
    to_prune: Vec<prune::Marked>,
    /// Where in the table of processes the root stands that is watched.
    root: usize,
}

impl Resolver {
    pub(crate) fn new(detection: Detection) -> Self {
        Self {
            detection,
            lock: Mutex::new(State::default()),
            held: Mutex::new(BTreeSet::new()),
            walks: PlainAtomicU64::new(0),
        }
    }

    /// How often the waits were followed from a process on.
    pub(crate) fn walks(&self) -> u64 {
        self.walks.load(Relaxed)
    }

    /// Counts walks. The lock is held, so no other thread counts.
    fn count_walks(&self, more: usize) {
        self.walks.store(self.walks.load(Relaxed) + more as u64, Relaxed);
    }

    /// Looks at `recently_blocked` and then at some channels in turn, for about `budget` looks. Returns
    /// what it found and what it spent. What does so in passing gives way to others that look; what is
    /// about to sleep must not: they may have passed by what it leaves behind.
    pub(crate) fn probe(
        &self,
        scheduler: &Scheduler,
        table: &ChannelTable,
        recently_blocked: impl Iterator<Item = *const ()>,
        budget: usize,
        in_passing: bool,
    ) -> (Found, usize) {
        let guard = if in_passing { self.lock.try_lock() } else { Some(self.lock.lock()) };
        let Some(_guard) = guard else { return (Found::Nothing, 0) };
        let parked = recently_blocked.filter_map(|sender| {
            // SAFETY: noted from a `waits_at` of this network.
            let waiting = unsafe { ChannelRef::from_waiting(sender.cast_mut()) };
            waiting.and_then(|(channel, end)| (end == End::Sender).then_some(channel))
        });
        let in_turn = iter::once_with(|| table.next_few(budget / 4)).flatten();
        let (mut result, mut spent) = (Found::Nothing, 0);
        // Not only to the first ring: where one needs growth, others do, and a worker that has nothing to run
        // has searched for longer than all of them take.
        for channel in parked.chain(in_turn) {
            spent += 1;
            let found = self.look_at(channel, scheduler, table, &mut spent);
            if result != Found::Freed && found != Found::Nothing {
                result = found;
            }
            if spent > budget {
                break;
            }
        }
        (result, spent)
    }

    /// Looks for a ring behind a process that has just parked and that no worker runs.
    pub(crate) fn look_from(&self, task: TaskRef, scheduler: &Scheduler, table: &ChannelTable) {
        let _guard = self.lock.lock();
        self.count_walks(1);
        if let Some(ring) = ring_from(task, table.is_fixed(), &mut 0) {
            // Over budget: that is said when nothing else can run.
            let _ = self.resolve(&ring, scheduler, table, false);
        }
    }

    /// Looks for a ring behind the sender of this channel, if that is parked.
    fn look_at(
        &self,
        channel: ChannelRef,
        scheduler: &Scheduler,
        table: &ChannelTable,
        spent: &mut usize,
    ) -> Found {
        if !channel.seen(End::Receiver).is_parked() {
            return Found::Nothing;
        }
        let Some(sender) = channel.owner(End::Sender) else { return Found::Nothing };
        self.count_walks(1);
        match ring_from(sender, table.is_fixed(), spent) {
            Some(ring) => self.resolve(&ring, scheduler, table, false),
            None => Found::Nothing,
        }
    }

    /// Looks everywhere; for when no process is busy. If the processes stand still for certain, it also
    /// finds what waits for the dead.
    pub(crate) fn look_everywhere(
        &self,
        scheduler: &Scheduler,
        table: &ChannelTable,
        stand_still: bool,
    ) -> Found {
        let _guard = self.lock.lock();
        let processes = scheduler.table.lock().all();
        let mut result = Found::Nothing;
        self.count_walks(processes.len());
        for ring in walk::all_rings(&processes) {
            if !still_holds(&ring) {
                continue;
            }
            match self.resolve(&ring, scheduler, table, stand_still) {
                Found::Freed => result = Found::Freed,
                // A process that goes on may give back what is missing.
                over @ Found::OverBudget(_) if result == Found::Nothing => result = over,
                Found::Nothing | Found::OverBudget(_) => {}
            }
        }
        if stand_still {
            let freed =
                self.propagate_end(&processes, scheduler, table) | wake_late(scheduler, table);
            result = if freed { Found::Freed } else { result };
        }
        result
    }

    /// The centralised form: a process has parked.
    pub(crate) fn parked(&self, task: TaskRef, scheduler: &Scheduler, table: &ChannelTable) {
        let mut state = self.lock.lock();
        let Some(edge) = edge_of(task) else { return };
        state.waits.insert(task, edge);
        self.count_walks(1);
        if let Some(ring) = ring_through(task, &state.waits) {
            // Over budget: that is said when nothing else can run.
            let _ = self.resolve(&ring, scheduler, table, false);
            // A process that goes on waits no more.
            for edge in ring.iter().filter(|edge| edge_of(edge.task) != Some(**edge)) {
                state.waits.remove(&edge.task);
            }
        }
    }

    /// The centralised form: a process was woken.
    pub(crate) fn woken(&self, task: TaskRef) {
        self.lock.lock().waits.remove(&task);
    }

    /// Does what is to be done about a ring that was found to be real. The lock is held.
    fn resolve(
        &self,
        ring: &[Edge],
        scheduler: &Scheduler,
        table: &ChannelTable,
        stand_still: bool,
    ) -> Found {
        if ring.iter().all(|edge| edge.end == End::Receiver) {
            let dead: Vec<TaskRef> = ring.iter().map(|edge| edge.task).collect();
            if !stand_still && dead.iter().any(|task| task.kind() == Kind::Outside) {
                // A party may still change its mind.
                return Found::Nothing;
            }
            return self.declare_dead(&dead, scheduler, table);
        }
        if self.detection == Detection::Off {
            return Found::Nothing;
        }
        self.grow(ring, scheduler, table)
    }

    /// Has the smallest full channel of these waits grow, and its sender go on; nothing, if one of them is over. The
    /// lock is held.
    fn grow(&self, waits: &[Edge], scheduler: &Scheduler, table: &ChannelTable) -> Found {
        // Not all waits are stable: a party may give up its own, and a thread when the run ends. Both note that
        // before they give up the end, so while no channel is recycled those of these waits are there.
        let kept = table.hold();
        if !still_holds(waits) {
            return Found::Nothing;
        }
        let Some(full) = smallest_full(waits) else { return Found::Nothing };
        if !self.ask_to_grow(full, table, &kept) {
            return Found::OverBudget(full.channel.name().clone());
        }
        // While the channel is the same: its word may show the wait of another process when it is recycled.
        let is_taken_out = full.channel.word(End::Receiver).unpark(full.seen);
        drop(kept);
        if is_taken_out {
            // SAFETY: taken out of its wait, which one thread can do.
            let ready = unsafe { full.task.claim() };
            scheduler.make_ready(Origin::Outside, ready, Reason::Woken);
        }
        Found::Freed
    }

    /// Lets the smallest full channel grow among these waits, which are part of a ring that leads through other
    /// ranks; `false` if the budget does not allow it. Nothing moves.
    pub(crate) fn grow_smallest(
        &self,
        waits: &[Edge],
        scheduler: &Scheduler,
        table: &ChannelTable,
    ) -> bool {
        let _guard = self.lock.lock();
        !matches!(self.grow(waits, scheduler, table), Found::OverBudget(_))
    }

    /// Holds processes of chains of waits: `find` adds them, under the lock.
    pub(crate) fn hold<T>(&self, find: impl FnOnce(&mut BTreeSet<TaskRef>) -> T) -> T {
        let _guard = self.lock.lock();
        find(&mut self.held.lock())
    }

    /// As [`grow_smallest`](Self::grow_smallest), among waits that `find` returns under the lock, of processes that
    /// are held, as are the others of the ring: it stands still, whatever runs beside it.
    pub(crate) fn grow_held(
        &self,
        find: impl FnOnce() -> Option<Vec<Edge>>,
        scheduler: &Scheduler,
        table: &ChannelTable,
    ) -> bool {
        let _guard = self.lock.lock();
        if self.detection == Detection::Off {
            return true;
        }
        let waits = find().unwrap_or_default();
        !matches!(self.grow(&waits, scheduler, table), Found::OverBudget(_))
    }

    /// Holds no process any more; marks the channels to processes that are dead as dead ends, also to those that were
    /// found dead by other ranks. `true` if a process can go on.
    pub(crate) fn release(&self, scheduler: &Scheduler, table: &ChannelTable) -> bool {
        let _guard = self.lock.lock();
        self.held.lock().clear();
        self.mark_dead_ends(scheduler, table) == Found::Freed
    }

    /// Asks the parked sender of a full channel to grow it, if the budget has the bytes. The lock is
    /// held.
    fn ask_to_grow(&self, full: &Edge, table: &ChannelTable, kept: &Kept<'_>) -> bool {
        let (channel, capacity) = (full.channel, full.capacity());
        let cold = &channel.cold;
        // Relaxed: handed over with the process when its PARKED bit is cleared.
        if cold.asked.load(Relaxed) > capacity {
            // A party that gave up its wait before it was told.
            return true;
        }
        let slots = cold.slots.load(Relaxed);
        let mut more = slots - capacity;
        if more == 0 {
            more = table.reserve(kept, channel, slots / 2);
            cold.slots.store(slots + more, Relaxed);
        }
        if more == 0 {
            return false;
        }
        let step = if self.detection == Detection::Central { 1 } else { more };
        cold.asked.store(capacity + step, Relaxed);
        let growths = channel.growths();
        growths.store(growths.load(Relaxed) + 1, Relaxed);
        events::growth(channel.name(), capacity + step);
        true
    }

    /// Propagates the end of dead processes to their dependents, which wait for them, and finds which
    /// need not wait for them. The lock is held, and the
    /// processes stand still, parties as well: those that wait cannot go on by themselves. `true` if one
    /// can go on.
    fn propagate_end(
        &self,
        processes: &[TaskRef],
        scheduler: &Scheduler,
        table: &ChannelTable,
    ) -> bool {
        let mut dependents: BTreeMap<usize, Vec<TaskRef>> = BTreeMap::new();
        for &task in processes {
            if task.has_ended() || is_dead(task) {
                continue;
            }
            let receives = edge_of(task).filter(|edge| edge.end == End::Receiver);
            if let Some(sender) = receives.and_then(|edge| edge.peer()) {
                dependents.entry(sender.as_ptr().addr()).or_default().push(task);
            }
        }
        let mut known: Vec<TaskRef> =
            processes.iter().copied().filter(|task| is_dead(*task)).collect();
        let mut found = Vec::new();
        while let Some(dead) = known.pop() {
            let waiting = dependents.remove(&dead.as_ptr().addr()).unwrap_or_default();
            known.extend(&waiting);
            found.extend(waiting);
        }
        self.declare_dead(&found, scheduler, table) == Found::Freed
    }

    /// Marks processes as dead, and the channels to them as dead ends.
    fn declare_dead(&self, dead: &[TaskRef], scheduler: &Scheduler, table: &ChannelTable) -> Found {
        let mut any = false;
        for &task in dead {
            any |= note_dead(task);
        }
        if any { self.mark_dead_ends(scheduler, table) } else { Found::Nothing }
    }

    /// Marks the channels to dead processes as dead ends, but to those that are held. The lock is held.
    fn mark_dead_ends(&self, scheduler: &Scheduler, table: &ChannelTable) -> Found {
        let (mut freed, held) = (Found::Nothing, self.held.lock());
        let is_dead = |task: TaskRef| is_dead(task) && !held.contains(&task);
        for channel in table.all() {
            let is_new = !channel.has_flag(flag::DEAD_END);
            if is_new && channel.owner(End::Receiver).is_some_and(is_dead) {
                if channel.seen(End::Receiver).is_parked() {
                    freed = Found::Freed;
                }
                mark_dead_end(channel, scheduler);
            }
        }
        freed
    }
}

/// Which of these waits is at the full channel that is to grow, if one is. No channel is recycled meanwhile.
fn smallest_full(waits: &[Edge]) -> Option<&Edge> {
    waits.iter().filter(|edge| edge.end == End::Sender).min_by_key(|edge| {
        // What joins the parts of a process does not grow: the part that reads it waits in
        // this ring as well, at another full channel.
        (edge.channel.is_inner(), edge.capacity(), edge.channel.label().identity)
    })
}

/// Wakes senders that parked at a dead process while that was being found dead: they looked at the
/// channel before it was marked, and parked after. The lock is held. `true` if there are any.
fn wake_late(scheduler: &Scheduler, table: &ChannelTable) -> bool {
    let mut any = false;
    for channel in table.all() {
        any |= channel.has_flag(flag::DEAD_END) && wake_sender(channel, scheduler);
    }
    any
}

/// Notes that a process waits for good; `true` if that is new.
pub(crate) fn note_dead(task: TaskRef) -> bool {
    let is_new = task.marks.fetch_or(mark::DEAD, AcqRel) & mark::DEAD == 0;
    if is_new {
        note_over(task);
    }
    is_new
}

pub(crate) fn is_dead(task: TaskRef) -> bool {
    task.marks.load(Acquire) & mark::DEAD != 0
}
