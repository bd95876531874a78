//! What a policy may know of a network before it places its processes: which talk to which and how
//! much, and which compute.

use kahn_report::Name;

/// A network as a graph: processes with the work they do, channels with the volume they carry.
///
/// Only processes that are queued are in it: those with threads of their own belong to no worker.
/// Before the start nothing has been measured, and all work and all volumes are zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Load {
    /// The number of workers.
    pub workers: usize,
    /// The processes; before the start in the order of their creation.
    pub processes: Vec<ProcessLoad>,
    /// The channels between two of them.
    pub channels: Vec<ChannelLoad>,
}

/// A process in a [`Load`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessLoad {
    /// Its name.
    pub name: Name,
    /// The worker that its program pinned it to.
    pub pinned: Option<usize>,
    /// The worker that it belongs to now.
    pub worker: Option<usize>,
    /// The CPU time it took of late, in a unit that is the same for all.
    pub work: u64,
}

/// A channel in a [`Load`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelLoad {
    /// The process that sends, by its place in [`Load::processes`].
    pub from: usize,
    /// The process that receives.
    pub to: usize,
    /// Bytes in slots that it carried of late.
    pub volume: u64,
}

impl ProcessLoad {
    /// Makes what is known of a process that belongs to no worker and has done no work.
    #[must_use]
    pub fn new(name: Name) -> Self {
        Self { name, pinned: None, worker: None, work: 0 }
    }
}

impl ChannelLoad {
    /// Makes what is known of a channel between two processes, by their places.
    #[must_use]
    pub fn new(from: usize, to: usize, volume: u64) -> Self {
        Self { from, to, volume }
    }
}

impl Load {
    /// Makes the load of so many workers, without any process.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self { workers, ..Self::default() }
    }

    /// The neighbours of each process: those at the other ends of its channels, first those it
    /// sends to. A process is no neighbour of itself; one with two channels is listed twice.
    pub(super) fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.processes.len()];
        for channel in &self.channels {
            if channel.from != channel.to {
                neighbours[channel.from].push(channel.to);
            }
        }
        for channel in &self.channels {
            if channel.from != channel.to {
                neighbours[channel.to].push(channel.from);
            }
        }
        neighbours
    }

    /// All processes in the order of the graph: along the channels, depth first, beginning with
    /// those that receive from nobody, else with the first created. So a pipeline and a ring are
    /// gone through from one neighbour to the next.
    pub(super) fn graph_order(&self) -> Vec<usize> {
        let neighbours = self.neighbours();
        let mut receives = vec![false; self.processes.len()];
        for channel in &self.channels {
            receives[channel.to] |= channel.from != channel.to;
        }
        let sources = (0..self.processes.len()).filter(|&process| !receives[process]);
        let mut seen = vec![false; self.processes.len()];
        let mut order = Vec::with_capacity(self.processes.len());
        for first in sources.chain(0..self.processes.len()) {
            let mut stack = vec![first];
            while let Some(process) = stack.pop() {
                if !std::mem::replace(&mut seen[process], true) {
                    order.push(process);
                    stack.extend(neighbours[process].iter().rev().filter(|&&other| !seen[other]));
                }
            }
        }
        order
    }
}

#[cfg(test)]
impl Load {
    /// A network of `processes` that are not pinned, with channels of equal volume.
    pub(super) fn of(workers: usize, processes: usize, channels: &[(usize, usize)]) -> Self {
        let process = |index: usize| ProcessLoad {
            name: format!("p{index}").into(),
            pinned: None,
            worker: None,
            work: 0,
        };
        Self {
            workers,
            processes: (0..processes).map(process).collect(),
            channels: channels
                .iter()
                .map(|&(from, to)| ChannelLoad { from, to, volume: 0 })
                .collect(),
        }
    }

    /// A ring of processes, in the order of creation.
    pub(super) fn ring(workers: usize, processes: usize) -> Self {
        let channels: Vec<_> = (0..processes).map(|from| (from, (from + 1) % processes)).collect();
        Self::of(workers, processes, &channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_and_a_pipeline_are_gone_through_from_neighbour_to_neighbour() {
        assert_eq!(Load::ring(2, 5).graph_order(), [0, 1, 2, 3, 4]);
        // The source was created last.
        let pipeline = Load::of(2, 4, &[(3, 2), (2, 0), (0, 1)]);
        assert_eq!(pipeline.graph_order(), [3, 2, 0, 1]);
    }

    #[test]
    fn every_process_is_in_the_order_once_whatever_the_graph() {
        let strange = Load::of(2, 6, &[(0, 0), (1, 2), (1, 2), (2, 1), (4, 3), (3, 4)]);
        let mut order = strange.graph_order();
        assert_eq!(order[..2], [0, 5], "those that receive from nobody else come first");
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }
}
