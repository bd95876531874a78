//! What a run did.

use std::fmt;

use crate::runtime::steps::graph::{Graph, OpId};

/// How many records came to a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentCount {
    /// The component.
    pub name: String,
    /// The records that came to it.
    pub records: u64,
    /// How many instances of it were alive at the end; with processes, how many there were.
    pub instances: u64,
    /// How many of them waited before one instance when a worker came to it, at most; where
    /// records are put down, which is before boxes and replicas of a star, and in feedbacks. With
    /// processes, in the stream of one of those that [`kahn::Report::channels`] lists.
    pub waited: usize,
}

impl ComponentCount {
    /// Those that records came to, in the order of the program; `counted` tells of each operation how many
    /// records came, how many instances there were, and how many waited.
    pub(super) fn all_of(graph: &Graph, counted: impl Fn(OpId) -> (u64, u64, usize)) -> Vec<Self> {
        let of_op = |index: usize| {
            let op = &graph.ops[index];
            let (records, instances, waited) = counted(OpId(index));
            let is_told = records > 0 && !op.kind.is_silent();
            is_told.then(|| Self { name: op.name.clone(), records, instances, waited })
        };
        // What is nearest to the output is built first.
        (0..graph.ops.len()).rev().filter_map(of_op).collect()
    }
}

/// What a run did, by component and by worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Records read.
    pub read: u64,
    /// Records written.
    pub written: u64,
    /// Records at each component that any came to, in the order of the program.
    pub components: Vec<ComponentCount>,
    /// How often each worker took up a mailbox.
    pub activations: Vec<u64>,
    /// How many of those it took from another worker.
    pub stolen: Vec<u64>,
    /// Instances alive at the end: replicas and bodies, and the program itself; with processes,
    /// how many processes there were for components.
    pub instances: usize,
    /// The synchro-cells that still waited, each with what waited in it.
    pub half_filled: Vec<String>,
    /// Whether combinators took part that keep no order: then the order of records, and with it
    /// what synchro-cells join, may depend on the schedule, as with processes that
    /// [choose](kahn::Report::chooses).
    pub chooses: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records read {}, written {}", self.read, self.written)?;
        writeln!(f, "{:>12} {:>10} {:>10}", "records", "instances", "waited")?;
        for ComponentCount { name, records, instances, waited } in &self.components {
            writeln!(f, "{records:>12} {instances:>10} {waited:>10}  {name}")?;
        }
        writeln!(f, "instances: {}", self.instances)?;
        if self.chooses {
            let may = "the order of records, and what cells join, may depend on the schedule";
            writeln!(f, "combinators that keep no order took part: {may}")?;
        }
        for (index, (all, stolen)) in self.activations.iter().zip(&self.stolen).enumerate() {
            writeln!(f, "worker {index}: {all} activations, {stolen} of them stolen")?;
        }
        Ok(())
    }
}
