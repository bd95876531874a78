//! A run as it is seen from outside: what its processes are called, and what they do.

use std::collections::BTreeMap;
use std::ops::Range;

use kahn::StopHandle;
use kahn_report::Explanation;
use kahn_report::observe::{Doing, Look, Sampled, Survey};

use crate::runtime::steps::graph::{Graph, OpId};

/// What stands before the replicas in which a process lies. It is in no name of an operation, for names in
/// programs have no blanks.
const PLACE: &str = " at ";

/// The names of operations, each of which is that of one.
pub(super) struct Names {
    names: Vec<String>,
    ops: BTreeMap<String, OpId>,
}

impl Names {
    /// Those of a program: what a component is called in messages, and a number if there are several such.
    pub(super) fn new(graph: &Graph) -> Self {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut names = vec![String::new(); graph.ops.len()];
        // What is nearest to the output is built first.
        for (index, op) in graph.ops.iter().enumerate().rev() {
            let number = seen.entry(&op.name).or_default();
            *number += 1;
            names[index] = match number {
                1 => op.name.clone(),
                number => format!("{} ({number})", op.name),
            };
        }
        let ops = names.iter().enumerate().map(|(index, name)| (name.clone(), OpId(index)));
        Self { ops: ops.collect(), names }
    }

    pub(super) fn of(&self, op: OpId) -> &str {
        &self.names[op.0]
    }

    /// The operation of a process, or of the stream that it reads, in whichever replica.
    pub(super) fn op_of(&self, name: &str) -> Option<OpId> {
        let name = name.split_once(PLACE).map_or(name, |(name, _)| name);
        self.ops.get(name).copied()
    }
}

/// Looks into the network that runs a program.
pub(super) struct SeenNetwork(pub(super) StopHandle);

impl Sampled for SeenNetwork {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        self.0.look(places, found);
        // Where streams meet there is no channel; what waits there waits for records of other components.
        for (_, doing) in &mut found.processes {
            if *doing == Doing::WaitsOutside {
                *doing = Doing::WaitsForMessage;
            }
        }
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        self.0.survey(processes, channels)
    }

    fn explain(&self) -> Explanation {
        self.0.explain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use crate::runtime::steps::graph::{Joining, build};
    use crate::runtime::steps::shape::Shapes;

    #[test]
    fn each_operation_is_found_by_its_name_in_whichever_replica() {
        let source = "net main connect ([{<n>} -> {<n>}] .. [{<n>} -> {<n>}]) !! <n> | [];";
        let program = Program::read("main.snet", source);
        let net = program.net(None).expect("a net");
        let shapes = Shapes::default();
        let graph = build(program.plan(), net, &shapes, false, Joining::Everywhere).expect("small");
        let names = Names::new(&graph);
        for op in 0..graph.ops.len() {
            let name = names.of(OpId(op));
            assert_eq!(names.op_of(name).map(|op| op.0), Some(op), "{name}");
            let replica = format!("{name} at <n> = -3, stage 2");
            assert_eq!(names.op_of(&replica).map(|op| op.0), Some(op), "{name}");
        }
        let filters: Vec<_> = names.names.iter().filter(|name| name.contains("filter")).collect();
        assert_eq!(filters[1], "filter [{<n>} -> …] in net `main`", "the first of the program");
        assert_eq!(filters[0], "filter [{<n>} -> …] in net `main` (2)");
    }
}
