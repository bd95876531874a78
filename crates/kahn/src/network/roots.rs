//! Whether loops that nothing reads are pruned in a network, and the root that is watched first for it.
//!
//! What a root is, and how it is found out that none is left: `channel::prune`.

use super::core::Core;
use crate::channel::process::is_root;
use crate::channel::raw::End;
use crate::deadlock::watch_root;
use crate::graph::leads_from_loops;
use kahn_engine::TaskRef;

impl Core {
    /// Whether the network has a loop, and a path leads to a root from each of its processes. Nothing has run yet, and
    /// all processes are there, of all ranks.
    ///
    /// A process without such a path, say one of a ring that nothing else ever reads, runs for its own sake: so it does
    /// in each network, and no loop is pruned if there is one.
    pub(super) fn prunes_loops(&self) -> bool {
        // Parts of one process are one vertex.
        let place = |task: TaskRef| task.info().identity.ancestor();
        let channels = self.channels.all();
        let ends = channels.iter().filter(|channel| !channel.is_inner()).filter_map(|channel| {
            Some((place(channel.owner(End::Sender)?), place(channel.owner(End::Receiver)?)))
        });
        // Mostly a network is written down from its sources on: then there is no loop.
        if ends.clone().all(|(from, to)| from < to) {
            return false;
        }
        let edges: Vec<_> = ends.collect();
        let processes = self.scheduler.table.lock().all();
        let vertices = processes.iter().map(|task| place(*task) + 1).max().unwrap_or(0);
        // An identity that no process has is no reason.
        let mut roots = vec![None; vertices];
        for task in processes {
            let root = roots[place(task)].get_or_insert(false);
            *root |= is_root(task.info().identity, task.attributes());
        }
        let roots: Vec<bool> = roots.into_iter().map(|root| root.unwrap_or(true)).collect();
        leads_from_loops(&edges, &roots)
    }

    /// Watches the first root.
    pub(crate) fn watch_root(&self) {
        watch_root(&mut 0, &self.scheduler);
    }
}
