//! Chains of waits on one rank, from link to link, while the network runs.
//!
//! A ring of waits that leads through several ranks is made of such chains, and what lies between them. A rank sees
//! its own: from a link that is parked, for the process here does not take or give, over processes that are parked,
//! to one that is parked at another link. Whether the wait goes on from that link to its peer on another rank is
//! known by what has gone over the channel (`kahn_net`, `chase`).
//!
//! As for a ring on one rank (`deadlock`), a chain that is seen twice with the same words stood from the first time
//! to the second. The tables are locked, so no header and no channel is recycled while it is read.

use super::core::Core;
use super::local::{full, is_link};
use crate::channel::raw::End;
use crate::deadlock::is_dead;
use crate::deadlock::walk::{Edge, edge_of};
use kahn_engine::TaskRef;
use kahn_engine::sync::{Ordering::*, fence};
use kahn_report::ranks::{Chain, ChainWait, CutEnd};
use std::collections::{BTreeMap, BTreeSet};

impl Core {
    /// The chains that lead from link to link, each with the waits of its processes, the links not among them.
    pub(super) fn chains(&self) -> Vec<(Chain, Vec<Edge>)> {
        let Some(cut) = self.cut.get().filter(|_| self.scheduler.is_running()) else {
            return Vec::new();
        };
        fence(SeqCst);
        let table = self.scheduler.table.lock();
        let _kept = self.channels.hold();
        // One that has ended is not there, and its header may be that of another process.
        let links = cut.links.iter().filter(|(_, link)| {
            table.lists(link.task) && link.task.info().identity == link.identity
        });
        let links: BTreeMap<TaskRef, usize> =
            links.map(|(channel, link)| (link.task, *channel)).collect();
        let chain = |(&link, &channel): (&TaskRef, &usize)| {
            let waits = waits_from(link)?;
            let (first, last) = (waits.first()?, waits.last()?);
            // A link waits at the end that is not the process's.
            let from = CutEnd { channel, is_sender: first.end == End::Receiver };
            let to =
                CutEnd { channel: *links.get(&last.peer()?)?, is_sender: last.end == End::Sender };
            let wait = |edge: &Edge| ChainWait {
                process: edge.task.as_ptr().addr(),
                channel: edge.channel.as_ptr().addr(),
                count: edge.seen.count(),
            };
            let of_processes = waits[1..].to_vec();
            let smallest = of_processes.iter().filter(|edge| edge.end == End::Sender).map(full);
            let chain = Chain {
                from,
                to,
                smallest: smallest.min(),
                waits: waits.iter().map(wait).collect(),
            };
            Some((chain, of_processes))
        };
        links.iter().filter_map(chain).collect()
    }

    /// The waits of the processes of a chain, if it stands.
    pub(super) fn waits_on(&self, chain: &Chain) -> Option<Vec<Edge>> {
        let found = self.chains().into_iter().find(|(found, _)| found == chain);
        found.map(|(_, waits)| waits)
    }
}

/// The waits from a link on to the next, its own first; none if it is not parked, or if they lead elsewhere.
fn waits_from(link: TaskRef) -> Option<Vec<Edge>> {
    let (mut waits, mut at, mut seen) = (Vec::new(), link, BTreeSet::new());
    while seen.insert(at) && !is_dead(at) {
        let edge = edge_of(at)?;
        waits.push(edge);
        at = edge.peer()?;
        if is_link(at) {
            return Some(waits);
        }
    }
    None
}
