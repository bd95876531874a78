//! The table of channels: what exists, what is left of what ended, and the byte budget.

use super::capacities::Capacities;
use super::closing;
use super::counts::ChannelCounts;
use super::endings::LastSender;
use super::hold::Hold;
use super::language::mark;
use super::observer::ObserverHandle;
use super::raw::{ChannelRef, End, Label, ROOMY, RawChannel, RoomyChannel, flag};
use super::ring::{MOST_SLOTS, MessageType};
use super::weight::Weighing;
use super::wire::Wire;
use crate::channel::digest::{DigestFn, Digests, History};
use kahn_engine::memory::BlockPool;
use kahn_engine::sync::{
    Access, Arc, AtomicBool, AtomicU64, BiasedGuard, BiasedLock, Ordering::*, PlainAtomicU64,
    PlainAtomicUsize,
};
use kahn_engine::{Scheduler, TaskRef};
use kahn_report::{Identity, MisuseKind, Name};
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// What is kept of a channel for the report.
#[derive(Clone, Debug)]
pub(crate) struct ChannelRecord {
    pub(crate) identity: Identity,
    pub(crate) name: Name,
    pub(crate) from: Option<Name>,
    pub(crate) to: Option<Name>,
    pub(crate) type_name: &'static str,
    pub(crate) message_size: usize,
    pub(crate) capacity: u32,
    /// The capacity that it began with.
    pub(crate) began_with: u32,
    /// What its messages owned together, as far as they were weighed; `None` if that is unknown.
    pub(crate) weight: Option<u64>,
    pub(crate) counts: ChannelCounts,
    pub(crate) history: Option<History>,
    /// The receiver's process could be pruned or was dead at the end: its history may be cut.
    pub(crate) is_cut: bool,
}

/// What a channel has carried. The processes may have ended, and are to be compared only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Volume {
    pub(crate) identity: Identity,
    pub(crate) from: Option<TaskRef>,
    pub(crate) to: Option<TaskRef>,
    pub(crate) bytes: u64,
}

/// How a channel is to be made.
pub(crate) struct Plan {
    pub(crate) label: Label,
    pub(crate) types: &'static MessageType,
    pub(crate) capacity: u32,
    pub(crate) initial: u32,
    pub(crate) recorded: Option<History>,
    pub(crate) weighing: Weighing,
    /// The written form of its messages.
    pub(crate) wire: Option<Wire>,
    /// It joins the parts of one process.
    pub(crate) is_inner: bool,
}

#[derive(Debug, Default)]
struct Inner {
    /// Roomy channels are larger, so a block is recycled for the same kind.
    pool: BlockPool,
    ended: Vec<ChannelRecord>,
    folded: (u64, ChannelCounts),
    last_senders: Vec<LastSender>,
    /// By the address of a channel: the receiver's count when that end changed hands last, if any
    /// message had been received by then.
    handed_on_at: BTreeMap<usize, u64>,
    fixed: u32,
    created: u64,
    /// Channels ever made that join the parts of one process: they are not among the created.
    within: u64,
}

impl Inner {
    /// Everything that exists, the same order in every run that creates the same.
    fn all(&self) -> impl Iterator<Item = ChannelRef> {
        // SAFETY: the pool's blocks are channels, written before the table was unlocked.
        self.pool.in_use().map(|block| unsafe { ChannelRef::new(block.cast()) })
    }

    /// The receiver's count when that end was handed on, if it is known.
    fn handed_on_at(&self, channel: ChannelRef) -> Option<u64> {
        let is_noted = channel.was_handed_on_within();
        is_noted.then(|| self.handed_on_at.get(&channel.as_ptr().addr()).copied()).flatten()
    }
}

/// All channels of one network.
#[derive(Debug)]
pub(crate) struct ChannelTable {
    inner: BiasedLock<Inner>,
    /// Bytes of slots, as the budget counts them; changed under the lock of `inner`.
    used: AtomicU64,
    /// The most that it ever was.
    most_used: PlainAtomicU64,
    budget: AtomicU64,
    /// What the run's options say of capacities.
    capacities: OnceLock<Capacities>,
    /// Whether channels record by themselves.
    record_all: AtomicBool,
    /// Whether it is not counted what happens.
    is_uncounted: AtomicBool,
    /// What is recorded without being asked, by the type of message; set if runs are compared.
    digests: OnceLock<Arc<Digests>>,
    /// Is told of messages and polls; is told where channels stand, if what happens is written down.
    pub(super) observer: OnceLock<ObserverHandle>,
    /// Which process is held before one of its receives, if one is.
    pub(super) held: OnceLock<Hold>,
    pub(super) log: OnceLock<Arc<dyn kahn_report::log::Log>>,
    /// Channels that are listed when they end, promised when their first end closes; and how many
    /// there may be.
    listed: PlainAtomicUsize,
    limit: PlainAtomicUsize,
    /// Open ends that have no owner any more, or that keep the memory themselves.
    gone: AtomicU64,
    /// Whether the graph is as it was when the run started.
    is_fixed: AtomicBool,
}

impl ChannelTable {
    pub(crate) fn new() -> Self {
        Self {
            inner: BiasedLock::new(Inner::default()),
            used: AtomicU64::new(0),
            most_used: PlainAtomicU64::new(0),
            budget: AtomicU64::new(u64::MAX),
            capacities: OnceLock::new(),
            record_all: AtomicBool::new(false),
            is_uncounted: AtomicBool::new(false),
            digests: OnceLock::new(),
            observer: OnceLock::new(),
            held: OnceLock::new(),
            log: OnceLock::new(),
            listed: PlainAtomicUsize::new(0),
            limit: PlainAtomicUsize::new(usize::MAX),
            gone: AtomicU64::new(0),
            is_fixed: AtomicBool::new(true),
        }
    }

    /// The bytes that the budget counts for so many slots.
    pub(crate) fn bytes(capacity: u64, size: usize) -> u64 {
        capacity.saturating_mul(size.max(1) as u64)
    }

    /// The identity of the next channel that is created before the run.
    pub(crate) fn next_fixed(&self) -> Identity {
        let mut inner = self.inner.lock();
        inner.fixed += 1;
        Identity::fixed(inner.fixed - 1)
    }

    /// Makes a channel; no process knows it yet.
    pub(crate) fn make(&self, plan: Plan, access: Access) -> ChannelRef {
        let capacities = self.capacities.get().copied().filter(|_| !plan.is_inner);
        let wanted = capacities.unwrap_or_default().of(plan.capacity);
        let capacity = wanted.max(plan.initial).clamp(1, MOST_SLOTS);
        let weigh = match plan.weighing {
            Weighing::By(weigh) => Some(weigh),
            Weighing::Size | Weighing::Unknown => None,
        };
        let mut inner = self.inner.lock_as(access);
        let is_roomy =
            capacity >= ROOMY || plan.recorded.is_some() || weigh.is_some() || plan.wire.is_some();
        let size = if is_roomy { size_of::<RoomyChannel>() } else { size_of::<RawChannel>() };
        let block = inner.pool.take(size, ptr::from_ref(self).cast());
        // SAFETY: the pool gives whole blocks, and recycles them for the same size only.
        let channel = unsafe {
            ChannelRef::place(block.start, block.recycled, is_roomy, plan.types, plan.label)
        };
        channel.cold.set_capacity(capacity);
        channel.weigh_by(weigh);
        channel.write_by(plan.wire);
        channel.set_inner(plan.is_inner);
        self.tell_of_new(channel);
        if matches!(plan.weighing, Weighing::Unknown) {
            channel.set_flag(flag::WEIGHT_UNKNOWN);
        }
        if capacity == 1 && plan.types.is_small {
            // Its slot is there already.
            channel.set_up(channel.sender.local.get());
        }
        if let Some(history) = plan.recorded {
            channel.record_in(history);
        }
        if plan.is_inner {
            inner.within += 1;
        } else {
            inner.created += 1;
        }
        self.use_bytes(&inner, Self::bytes(capacity.into(), plan.types.size));
        channel
    }

    /// Changes the capacity of a channel that has not been used; for the run's options.
    pub(crate) fn resize_unused(&self, channel: ChannelRef, capacity: u32) {
        // Initial messages raise the capacity.
        let capacity = capacity.max(channel.initial()).min(MOST_SLOTS);
        let types = channel.types.get();
        let before = channel.cold.capacity.load(Relaxed);
        if before == capacity {
            return;
        }
        self.give_back(before.into(), types.size);
        self.use_bytes(&self.inner.lock(), Self::bytes(capacity.into(), types.size));
        channel.resize(capacity);
    }

    /// Sets what the run's options say.
    pub(crate) fn configure(
        &self,
        budget: u64,
        capacities: Capacities,
        limit: usize,
        record: bool,
    ) {
        self.budget.store(budget, Relaxed);
        self.record_all.store(record, Relaxed);
        if !record {
            for channel in self.all() {
                // SAFETY: no process receives before the run.
                drop(unsafe { channel.take_history() });
            }
        }
        let _ = self.capacities.set(capacities);
        for channel in self.all().into_iter().filter(|channel| !channel.is_inner()) {
            let own = channel.cold.capacity.load(Relaxed);
            self.resize_unused(channel, capacities.of(own));
        }
        self.most_used.store(self.used.load(Relaxed), Relaxed);
        self.limit.store(limit, Relaxed);
    }

    /// Says that it is not counted what happens.
    pub(crate) fn leave_uncounted(&self) {
        self.is_uncounted.store(true, Relaxed);
    }

    /// Whether it is counted what happens.
    pub(super) fn counts(&self) -> bool {
        // Relaxed: said before anything ran.
        !self.is_uncounted.load(Relaxed)
    }

    /// Whether one more channel that ends is listed in the report.
    pub(super) fn promise_to_list(&self) -> bool {
        // Relaxed: only counted, and the limit was set before anything ran. The look spares most of a
        // million channels the step.
        let limit = self.limit.load(Relaxed);
        self.listed.load(Relaxed) < limit && self.listed.fetch_add(1, Relaxed) < limit
    }

    /// Records what these digests are for, from the first channel on.
    pub(crate) fn record_by(&self, digests: &Arc<Digests>) {
        // Said once, before there is a channel.
        let _ = self.digests.set(Arc::clone(digests));
    }

    /// The digest of a type of message, if runs are compared and it has one.
    pub(crate) fn digest_of<T>(&self) -> Option<DigestFn> {
        self.digests.get()?.find::<T>()
    }

    pub(crate) fn records_all(&self) -> bool {
        self.record_all.load(Relaxed)
    }

    /// The most bytes that ever were in use at a time.
    pub(crate) fn most_used(&self) -> u64 {
        self.most_used.load(Relaxed)
    }

    /// Bytes of slots in use and of what messages own, and the most there may be.
    pub(crate) fn usage(&self) -> (u64, u64) {
        (self.used.load(Relaxed), self.budget.load(Relaxed))
    }

    /// Takes the bytes of so many further slots of a channel from the budget, or of half as many and
    /// so on, but of one at least; how many there are, none if the budget does not allow it.
    pub(crate) fn reserve(&self, kept: &Kept<'_>, channel: ChannelRef, most: u32) -> u32 {
        let size = channel.types.get().size;
        let left = MOST_SLOTS - channel.cold.slots.load(Relaxed);
        let inner = &kept.0;
        let held = channel.weight_held();
        self.count_held(inner, channel, held);
        self.count_within(inner);
        // The channel is full: each of its messages weighs so much.
        let own = held / u64::from(channel.cold.capacity.load(Relaxed));
        let each = size.saturating_add(usize::try_from(own).unwrap_or(usize::MAX));
        if self.usage().0.saturating_add(Self::bytes(most.into(), each)) > self.usage().1 {
            self.count_again(inner);
        }
        let (used, budget) = self.usage();
        let is_within = |more, each| used.saturating_add(Self::bytes(more, each)) <= budget;
        let mut more = most.max(1).min(left);
        // One is as good as none for what it will weigh.
        while more > 1 && !is_within(more.into(), each) || more == 1 && !is_within(1, size) {
            more /= 2;
        }
        self.use_bytes(inner, Self::bytes(more.into(), size));
        more
    }

    /// Whether the channels take more than the budget has.
    pub(crate) fn is_over(&self) -> bool {
        let is_over = || self.usage().0 > self.usage().1;
        if is_over() {
            self.count_again(&self.inner.lock());
        }
        is_over()
    }

    /// Forgets what channels held when they grew and what is gone since.
    fn count_again(&self, locked: &Inner) {
        for channel in locked.all() {
            let counted = channel.scales(End::Sender).map_or(0, |s| s.counted.load(Relaxed));
            self.count_held(locked, channel, counted.min(channel.weight_held()));
        }
    }

    /// Counts what the messages weigh that are inside processes of several parts. Those channels never
    /// grow, so it is not counted there.
    fn count_within(&self, locked: &Inner) {
        if locked.within > 0 {
            for channel in locked.all().filter(|channel| channel.is_inner()) {
                self.count_held(locked, channel, channel.weight_held());
            }
        }
    }

    /// Counts what the messages in a channel weigh now, instead of what was counted of it before.
    fn count_held(&self, locked: &Inner, channel: ChannelRef, held: u64) {
        if let Some(scales) = channel.scales(End::Sender) {
            let before = scales.counted.swap(held, Relaxed);
            self.unuse_bytes(locked, before);
            self.use_bytes(locked, held);
        }
    }

    /// Gives the bytes of slots back to the budget.
    pub(crate) fn give_back(&self, capacity: u64, size: usize) {
        self.unuse_bytes(&self.inner.lock(), Self::bytes(capacity, size));
    }

    fn use_bytes(&self, _locked: &Inner, bytes: u64) {
        let used = self.used.load(Relaxed).wrapping_add(bytes);
        self.used.store(used, Relaxed);
        if used > self.most_used.load(Relaxed) {
            self.most_used.store(used, Relaxed);
        }
    }

    fn unuse_bytes(&self, _locked: &Inner, bytes: u64) {
        self.used.store(self.used.load(Relaxed).wrapping_sub(bytes), Relaxed);
    }

    /// Everything that exists, the same order in every run that creates the same.
    pub(crate) fn all(&self) -> Vec<ChannelRef> {
        self.inner.lock().all().collect()
    }

    /// What was received on each channel that is open, in bytes of slots.
    pub(crate) fn volumes(&self) -> Vec<Volume> {
        // No channel that is alive is recycled while the table is locked.
        let inner = self.inner.lock();
        let volumes = inner.all().map(|channel| Volume {
            identity: channel.label().identity,
            from: channel.owner(End::Sender),
            to: channel.owner(End::Receiver),
            bytes: Self::bytes(channel.messages(End::Receiver), channel.types.get().size),
        });
        volumes.collect()
    }

    /// The next few channels after those of the last call, round and round.
    pub(crate) fn next_few(&self, count: usize) -> Vec<ChannelRef> {
        let few = self.inner.lock().pool.next_few(count);
        // SAFETY: as in `Inner::all`.
        few.into_iter().map(|block| unsafe { ChannelRef::new(block.cast()) }).collect()
    }

    /// Keeps channels from being made and recycled while the result lives.
    pub(crate) fn hold(&self) -> Kept<'_> {
        Kept(self.inner.lock())
    }

    /// Messages received on channels that are open.
    pub(crate) fn received(&self) -> u64 {
        self.inner.lock().all().map(|channel| channel.messages(End::Receiver)).sum()
    }

    /// Channels ever made.
    pub(crate) fn created(&self) -> u64 {
        self.inner.lock().created
    }

    /// The graph changes while the network runs: bridges are no longer known.
    pub(crate) fn graph_changes(&self) {
        self.is_fixed.store(false, Release);
    }

    pub(crate) fn is_fixed(&self) -> bool {
        self.is_fixed.load(Acquire)
    }

    /// A party has the end, and keeps the memory itself as long as it does.
    pub(super) fn end_kept(&self) {
        self.end_gone();
    }

    /// A party gives the end up, which closes.
    pub(super) fn kept_end_closes(&self) {
        self.gone.fetch_sub(1, Release);
    }

    /// An end was dropped, and will not be closed.
    pub(crate) fn end_gone(&self) {
        self.gone.fetch_add(1, Release);
    }

    /// How many ends still have an owner; memory may go only when there are none. No channel is
    /// made any more. One end too many, while a party gives one up, does no harm: the memory stays.
    pub(crate) fn ends_left(&self) -> u64 {
        let is_open = |end: &(ChannelRef, End)| !end.0.seen(end.1).is_closed();
        let channels = self.all().into_iter();
        let ends =
            channels.flat_map(|channel| [End::Sender, End::Receiver].map(|end| (channel, end)));
        let open = ends.filter(is_open).count() as u64;
        open.saturating_sub(self.gone.load(Acquire))
    }

    /// An end was dropped by a thread that does not hold its process.
    pub(super) fn dropped_elsewhere(channel: ChannelRef, owner: TaskRef) {
        let scheduler = Scheduler::of(owner);
        if scheduler.is_running() && !owner.has_ended() {
            super::slow_path::report(
                owner,
                MisuseKind::DroppedElsewhere { channel: channel.name().clone() },
            );
        }
    }

    /// The holder of a receiver that has received messages hands it on.
    pub(super) fn note_handed_on(&self, channel: ChannelRef) {
        let (address, count) = (channel.as_ptr().addr(), channel.receiver.local.get());
        self.inner.lock().handed_on_at.insert(address, count);
    }

    /// Takes a channel off the table, keeps its record and recycles its memory. `bytes` go back to
    /// the budget; the channel had `began_with` slots before it grew.
    pub(super) fn retire(&self, channel: ChannelRef, bytes: u64, began_with: u32, access: Access) {
        let mut inner = self.inner.lock_as(access);
        self.unuse_bytes(&inner, bytes);
        if channel.has_flag(flag::LISTED | flag::FAILED) {
            let last = channel.last_sender(inner.handed_on_at(channel));
            inner.last_senders.extend(last);
        }
        if channel.was_handed_on_within() {
            inner.handed_on_at.remove(&channel.as_ptr().addr());
        }
        if channel.is_inner() {
            // What there is to tell of it is told of its process.
        } else if channel.has_flag(flag::LISTED) {
            inner.ended.push(ChannelRecord { began_with, ..channel.record(true) });
        } else {
            inner.folded.0 += 1;
            inner.folded.1.add(&channel.counts());
        }
        // SAFETY: both ends are closed: nothing records any more.
        drop(unsafe { channel.take_history() });
        channel.cold.clear();
        // SAFETY: taken by `make`; both ends are closed.
        unsafe { inner.pool.give(channel.non_null().cast()) };
    }

    /// Takes the records of all listed channels, in the order of their identities, and the sums of the
    /// others.
    pub(crate) fn take_records(&self) -> (Vec<ChannelRecord>, (u64, ChannelCounts)) {
        let mut inner = self.inner.lock();
        let mut records = mem::take(&mut inner.ended);
        let alive = inner.all().filter(|channel| !channel.is_inner());
        records.extend(alive.map(|channel| channel.record(false)));
        records.sort_by_cached_key(|record| record.identity);
        (records, inner.folded)
    }

    /// Which processes could see how others ended. Nothing runs any more.
    pub(crate) fn last_senders(&self) -> Vec<LastSender> {
        let inner = self.inner.lock();
        let last = |channel: ChannelRef| channel.last_sender(inner.handed_on_at(channel));
        let alive = inner.all().filter_map(last);
        inner.last_senders.iter().copied().chain(alive).collect()
    }

    /// Drops all messages that are left when a run has ended and no process runs any more.
    pub(crate) fn drop_messages(&self) {
        for channel in self.all() {
            if !channel.may_lend() {
                let bytes = closing::drop_messages(channel);
                self.unuse_bytes(&self.inner.lock(), bytes);
            }
        }
    }
}

/// Channels of which none is made or recycled meanwhile.
pub(crate) struct Kept<'a>(BiasedGuard<'a, Inner>);

impl Kept<'_> {
    /// Everything that exists, the same order in every run that creates the same.
    pub(crate) fn all(&self) -> Vec<ChannelRef> {
        self.0.all().collect()
    }

    /// Those at these places of the table, and how many places are taken.
    pub(crate) fn part(&self, places: Range<usize>) -> (impl Iterator<Item = ChannelRef>, usize) {
        // SAFETY: as in `Inner::all`.
        let part = self.0.pool.part(places).map(|block| unsafe { ChannelRef::new(block.cast()) });
        (part, self.0.pool.len())
    }
}

impl Drop for ChannelTable {
    fn drop(&mut self) {
        self.drop_messages();
        for channel in self.all() {
            // SAFETY: the table is the last that knows of it.
            unsafe { channel.drop_in_place() };
        }
    }
}

impl ChannelRef {
    /// The table it belongs to.
    pub(crate) fn table<'a>(self) -> &'a ChannelTable {
        // SAFETY: channels stand in blocks of the pool of a table, which is alive.
        let table = unsafe { BlockPool::owner_of(self.0.cast()) }.cast::<ChannelTable>();
        // SAFETY: as above.
        unsafe { &*table }
    }

    /// Whether the receiver can be pruned, or is dead: its history may be cut.
    fn is_cut(self) -> bool {
        self.owner(End::Receiver)
            .is_some_and(|task| task.marks.load(Acquire) & (mark::PRUNE | mark::DEAD) != 0)
    }

    /// What is to be told about it; `take`: its history goes along.
    pub(crate) fn record(self, take: bool) -> ChannelRecord {
        let label = self.label();
        let name_of = |end| self.owner(end).map(|task| task.info().name.clone());
        let types = self.types.get();
        let history = if take {
            // SAFETY: both ends are closed: nothing records any more.
            unsafe { self.take_history() }.map(|history| *history)
        } else {
            None
        };
        ChannelRecord {
            identity: label.identity,
            name: label.name.clone(),
            from: name_of(End::Sender),
            to: name_of(End::Receiver),
            type_name: (types.name)(),
            message_size: types.size,
            capacity: self.cold.capacity.load(Relaxed),
            began_with: self.began_with(),
            weight: (!self.has_flag(flag::WEIGHT_UNKNOWN)).then(|| self.weight(End::Sender)),
            counts: self.counts(),
            history,
            is_cut: self.is_cut(),
        }
    }
}
