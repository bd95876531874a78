//! What the links of a rank ask of the network there: whether it rests, what waits for what, and what is to be
//! done about it.
//!
//! Looks and what follows from them come while nothing moves on any rank: they are the steps of
//! [`deadlock`](crate::deadlock) for waits that lead across ranks, each done where the process is that waits.

use super::core::{Core, Verdict};
use super::cut::CutNetwork;
use crate::channel::language::Kahn;
use crate::channel::process::attribute;
use crate::channel::prune;
use crate::channel::raw::{ChannelRef, End};
use crate::deadlock::walk::{Edge, edge_of};
use crate::deadlock::{Found, is_dead, note_dead};
use kahn_engine::TaskRef;
use kahn_engine::sync::{Arc, AtomicBool, Ordering::*};
use kahn_report::observe::Subject;
use kahn_report::ranks::{Chain, CutEnd, Full, Lead, Local, Reason, Seen, Standing};
use kahn_report::{Identity, Portable as _};
use std::collections::BTreeMap;
use std::sync::Weak;

/// The network of this rank, while it runs; and whether it had ended before its processes, when it is gone.
#[derive(Debug)]
pub(super) struct HereLocal(Weak<Core>, Arc<AtomicBool>);

impl HereLocal {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        let has_verdict = core.cut.get().map(|cut| Arc::clone(&cut.has_verdict));
        Self(Arc::downgrade(core), has_verdict.unwrap_or_default())
    }
}

fn end_of(is_sender: bool) -> End {
    if is_sender { End::Sender } else { End::Receiver }
}

pub(super) fn is_link(task: TaskRef) -> bool {
    task.attributes() & attribute::LINK != 0
}

impl Local for HereLocal {
    fn rest(&self) -> Standing {
        let Some(core) = self.0.upgrade() else {
            let has_verdict = self.1.load(Acquire);
            return if has_verdict { Standing::Ended } else { Standing::Finished };
        };
        let Some(cut) = core.cut.get() else { return Standing::Runs };
        let scheduler = &core.scheduler;
        if scheduler.is_ending() {
            let is_cut_short =
                core.verdict.lock().is_some() || scheduler.refused_thread().is_some();
            return if is_cut_short { Standing::Ended } else { Standing::Finished };
        }
        if !scheduler.is_running() {
            return Standing::Runs;
        }
        if scheduler.language::<Kahn>().to_prune.has_any() {
            // A process that is parked is to be woken and pruned, when no worker is in an operation there.
            scheduler.look_again();
            return Standing::Runs;
        }
        // The rank itself is one of those that may be woken.
        match cut.waits.only_links_wait(scheduler, 1) {
            None => Standing::Runs,
            // After the activity: the worker that was the last to be busy has set it before.
            Some(_) if cut.settles.load(Acquire) => Standing::Runs,
            Some(true) => Standing::Rests,
            Some(false) => Standing::Waits,
        }
    }

    fn look(&self) -> Seen {
        let Some(core) = self.0.upgrade() else { return Seen::default() };
        let (Some(cut), true) = (core.cut.get(), core.scheduler.is_running()) else {
            return Seen::default();
        };
        // What was found dead across ranks, all of it. What goes on by that may have come to rest again before it is
        // asked whether anything is busy, and its messages be on their way.
        let is_freed = core.resolver().release(&core.scheduler, &core.channels);
        let found = core.resolver().look_everywhere(&core.scheduler, &core.channels, true);
        let is_pruned = core.resolver().wake_to_prune(&core.scheduler);
        let goes_on =
            is_freed || is_pruned || found == Found::Freed || core.scheduler.activity.is_busy();
        let over_budget = match found {
            Found::OverBudget(channel) if !goes_on => Some(channel),
            _ => None,
        };
        let leads =
            if goes_on { Vec::new() } else { core.beside_parties(|alive| leads(cut, alive)) };
        Seen { goes_on, over_budget, leads }
    }

    fn grow(&self, end: CutEnd) -> bool {
        let Some(core) = self.0.upgrade() else { return true };
        let Some(cut) = core.cut.get() else { return true };
        let way = core.beside_parties(|alive| owner_at(cut, alive, end).and_then(way_from));
        let Some((way, _)) = way else { return true };
        core.resolver().grow_smallest(&way, &core.scheduler, &core.channels)
    }

    fn is_dead(&self, end: CutEnd) {
        let Some(core) = self.0.upgrade() else { return };
        let Some(cut) = core.cut.get() else { return };
        core.beside_parties(|alive| {
            let way = owner_at(cut, alive, end).and_then(way_from);
            for edge in way.into_iter().flat_map(|(way, _)| way) {
                note_dead(edge.task);
            }
        });
    }

    fn chains(&self) -> Vec<Chain> {
        let Some(core) = self.0.upgrade() else { return Vec::new() };
        let chains = core.chains();
        chains.into_iter().map(|(chain, _)| chain).collect()
    }

    fn hold(&self, chains: &[Chain]) -> Vec<bool> {
        let Some(core) = self.0.upgrade() else { return vec![false; chains.len()] };
        core.resolver().hold(|held| {
            let stand = core.chains();
            let mut stands = |chain: &Chain| {
                let found = stand.iter().find(|(found, _)| found == chain);
                held.extend(found.into_iter().flat_map(|(_, waits)| waits).map(|wait| wait.task));
                found.is_some()
            };
            chains.iter().map(&mut stands).collect()
        })
    }

    fn grow_on(&self, chain: &Chain) -> bool {
        let Some(core) = self.0.upgrade() else { return true };
        core.resolver().grow_held(|| core.waits_on(chain), &core.scheduler, &core.channels)
    }

    fn is_dead_on(&self, chain: &Chain) {
        let Some(core) = self.0.upgrade() else { return };
        core.resolver().hold(|_| {
            for wait in core.waits_on(chain).into_iter().flatten() {
                note_dead(wait.task);
            }
        });
    }

    fn release(&self) {
        let Some(core) = self.0.upgrade() else { return };
        let _ = core.resolver().release(&core.scheduler, &core.channels);
        if core.scheduler.language::<Kahn>().to_prune.has_any() {
            core.scheduler.look_again();
        }
    }

    fn has_no_root(&self) -> bool {
        let roots = |core: Arc<Core>| core.scheduler.language::<Kahn>().to_prune.roots.are_none();
        self.0.upgrade().is_none_or(roots)
    }

    fn stays_without_root(&self) -> bool {
        let stays = |core: Arc<Core>| core.resolver().stays_without_root(&core.scheduler);
        self.0.upgrade().is_none_or(stays)
    }

    fn prune_all(&self) {
        if let Some(core) = self.0.upgrade() {
            prune::prune_all(&core.scheduler);
        }
    }

    fn waits(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let waits = self.0.upgrade().map(|core| core.waits()).unwrap_or_default();
        waits.write(&mut bytes);
        bytes
    }

    fn reader_left(&self, channel: usize) {
        let Some(core) = self.0.upgrade() else { return };
        let Some(link) = core.cut.get().and_then(|cut| cut.links.get(&channel).copied()) else {
            return;
        };
        let table = core.scheduler.table.lock();
        // It may have ended, and its header be that of another process.
        let is_there = table.lists(link.task) && link.task.info().identity == link.identity;
        drop(table);
        if is_there {
            prune::prune(link.task);
        }
    }

    fn end(&self, why: Reason) {
        let Some(core) = self.0.upgrade() else { return };
        match why {
            Reason::Stuck => core.nothing_goes_on(),
            Reason::OverBudget(channel) => {
                let explanation = core.explain();
                core.end_with(Verdict::OverBudget { channel, explanation });
            }
            Reason::Elsewhere => core.end_with(Verdict::Stopped),
        }
    }
}

/// The process here that has this end of a cut channel.
fn owner_at(
    cut: &CutNetwork,
    alive: &BTreeMap<Identity, ChannelRef>,
    at: CutEnd,
) -> Option<TaskRef> {
    let (identity, ..) = cut.channels.get(at.channel)?;
    let channel = alive.get(identity)?;
    let end = end_of(at.is_sender);
    let is_open = !channel.seen(end).is_closed();
    channel.owner(end).filter(|owner| is_open && !is_link(*owner))
}

/// Where the waits of the processes lead to that have ends of cut channels.
fn leads(cut: &CutNetwork, alive: &BTreeMap<Identity, ChannelRef>) -> Vec<(CutEnd, Lead)> {
    let numbers: BTreeMap<Identity, usize> =
        cut.links.keys().map(|&number| (cut.channels[number].0, number)).collect();
    let mut leads = Vec::new();
    for &channel in cut.links.keys() {
        for is_sender in [false, true] {
            let end = CutEnd { channel, is_sender };
            let Some(owner) = owner_at(cut, alive, end) else { continue };
            if is_dead(owner) {
                leads.push((end, Lead::Dead));
            } else if let Some((way, last)) = way_from(owner)
                && let Some(&channel) = numbers.get(&last.channel.label().identity)
            {
                let to = CutEnd { channel, is_sender: last.end == End::Sender };
                let smallest = way.iter().filter(|edge| edge.end == End::Sender).map(full).min();
                leads.push((end, Lead::To { end: to, smallest }));
            }
        }
    }
    leads
}

pub(super) fn full(edge: &Edge) -> Full {
    let label = edge.channel.label();
    Full {
        is_inner: edge.channel.is_inner(),
        capacity: edge.capacity(),
        channel: Subject::new(&label.name, label.identity).id,
    }
}

/// The waits from a process on to a link, and the last of them; none if they lead elsewhere, or come round.
fn way_from(start: TaskRef) -> Option<(Vec<Edge>, Edge)> {
    let (mut way, mut at) = (Vec::<Edge>::new(), start);
    let mut seen = std::collections::BTreeSet::new();
    while seen.insert(at) && !is_dead(at) {
        let edge = edge_of(at)?;
        way.push(edge);
        at = edge.peer()?;
        if is_link(at) {
            return Some((way, edge));
        }
    }
    None
}

impl Core {
    /// Looks at waits where nothing runs, with the channels that there are by their identities. A party outside may
    /// give up its wait and leave meanwhile: the tables are locked, so no header and no channel is recycled while it
    /// is read.
    fn beside_parties<T>(&self, look: impl FnOnce(&BTreeMap<Identity, ChannelRef>) -> T) -> T {
        let _table = self.scheduler.table.lock();
        let kept = self.channels.hold();
        let alive = kept.all().into_iter().map(|channel| (channel.label().identity, channel));
        look(&alive.collect())
    }

    /// Ends the run of this rank, for nothing can go on on any.
    fn nothing_goes_on(&self) {
        let explanation = self.explain();
        self.note_what_is_left();
        let is_normal = self.quiescence.load(Relaxed);
        self.end_with(if is_normal { Verdict::Quiescent } else { Verdict::Deadlock(explanation) });
    }
}
