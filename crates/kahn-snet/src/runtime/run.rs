//! A run: what both runtimes need, and which of them it is.

use crate::boxes::Boxes;
use crate::plan::NetId;
use crate::program::Program;
use crate::runtime::error::RunError;
use crate::runtime::front;
use crate::runtime::network;
use crate::runtime::options::{Options, Runtime};
use crate::runtime::report::Report;
use crate::runtime::steps::answers::{Answers, Facts};
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::graph::{self, Joining};
use crate::runtime::steps::shape::Shapes;
use crate::runtime::steps::watch::Watch;
use crate::runtime::streams::{Sink, Source};

/// Runs a net over `source`, record by record, into `sink`.
///
/// # Errors
/// Returns why the run could not begin or ended early; what was written until then stays.
///
/// # Examples
///
/// ```
/// use kahn_snet::boxes::Boxes;
/// use kahn_snet::record::Record;
/// use kahn_snet::runtime::{Options, Ready, run};
/// use kahn_snet::Program;
///
/// let program = Program::read("main.snet", "net main connect [{<n>} -> {<n=n * n>}];");
/// let input = (1..4).map(|n| Record::new().tag("n", n));
/// let mut output: Vec<Record> = Vec::new();
/// let net = program.net(None).unwrap();
/// run(&program, net, &Boxes::of(&program), &Options::default(), Ready(input), &mut output)?;
/// let squares: Vec<i64> = output.iter().map(|record| record.tags["n"]).collect();
/// assert_eq!(squares, [1, 4, 9]);
/// # Ok::<(), kahn_snet::runtime::RunError>(())
/// ```
pub fn run(
    program: &Program,
    net: NetId,
    boxes: &Boxes,
    options: &Options,
    source: impl Source,
    sink: &mut dyn Sink,
) -> Result<Report, RunError> {
    if !program.is_valid() {
        return Err(RunError::Invalid);
    }
    let functions = boxes.functions()?;
    let shapes = Shapes::default();
    let streams = match options.runtime {
        Runtime::Front => Joining::Carried,
        Runtime::Network { .. } => Joining::Everywhere,
    };
    let graph = graph::build(program.plan(), net, &shapes, options.trace, streams)?;
    let answers = Answers::default();
    let watch = options.box_limit.map(|limit| Watch::new(limit, options.leave_if_stuck));
    let facts = Facts {
        graph: &graph,
        plan: program.plan(),
        shapes: &shapes,
        answers: &answers,
        watch: watch.as_ref(),
    };
    let mut report = match &options.runtime {
        Runtime::Front => front::run(facts, program, functions, options, source, sink),
        Runtime::Network { policy } => {
            network::run(facts, functions, options, policy.as_ref(), source, sink)
        }
    }?;
    report.half_filled.sort();
    if options.strict && !report.half_filled.is_empty() {
        let cells = report.half_filled;
        return Err(RunError::Failed(Box::new(Failure::HalfFilled { cells })));
    }
    Ok(report)
}
