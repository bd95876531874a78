//! A network as a graph: which processes are neighbours, and in which order they stand.

use kahn_engine::policy::Load;

/// The neighbours of each process: those at the other ends of its channels, first those it
/// sends to. A process is no neighbour of itself; one with two channels is listed twice.
pub(crate) fn neighbours(load: &Load) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); load.processes.len()];
    for channel in &load.channels {
        if channel.from != channel.to {
            neighbours[channel.from].push(channel.to);
        }
    }
    for channel in &load.channels {
        if channel.from != channel.to {
            neighbours[channel.to].push(channel.from);
        }
    }
    neighbours
}

/// All processes in the order of the graph: along the channels, depth first, beginning with
/// those that receive nothing, else with the first created. So a pipeline and a ring are
/// gone through from one neighbour to the next.
pub(crate) fn order(load: &Load) -> Vec<usize> {
    let neighbours = neighbours(load);
    let mut receives = vec![false; load.processes.len()];
    for channel in &load.channels {
        receives[channel.to] |= channel.from != channel.to;
    }
    let sources = (0..load.processes.len()).filter(|&process| !receives[process]);
    let mut seen = vec![false; load.processes.len()];
    let mut order = Vec::with_capacity(load.processes.len());
    for first in sources.chain(0..load.processes.len()) {
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

/// A network of `processes` that are not pinned, with channels of equal volume.
#[cfg(test)]
pub(crate) fn load_of(workers: usize, processes: usize, channels: &[(usize, usize)]) -> Load {
    use kahn_engine::policy::{ChannelLoad, ProcessLoad};
    let mut load = Load::new(workers);
    let names = (0..processes).map(|index| format!("p{index}").into());
    load.processes = names.map(ProcessLoad::new).collect();
    load.channels = channels.iter().map(|&(from, to)| ChannelLoad::new(from, to, 0)).collect();
    load
}

/// A ring of processes, in the order of creation.
#[cfg(test)]
pub(crate) fn ring(workers: usize, processes: usize) -> Load {
    let channels: Vec<_> = (0..processes).map(|from| (from, (from + 1) % processes)).collect();
    load_of(workers, processes, &channels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_and_a_pipeline_are_gone_through_from_neighbour_to_neighbour() {
        assert_eq!(order(&ring(2, 5)), [0, 1, 2, 3, 4]);
        // The source was created last.
        let pipeline = load_of(2, 4, &[(3, 2), (2, 0), (0, 1)]);
        assert_eq!(order(&pipeline), [3, 2, 0, 1]);
    }

    #[test]
    fn every_process_is_in_the_order_once_whatever_the_graph() {
        let strange = load_of(2, 6, &[(0, 0), (1, 2), (1, 2), (2, 1), (4, 3), (3, 4)]);
        let mut order = order(&strange);
        assert_eq!(order[..2], [0, 5], "those that receive from no other come first");
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }
}
