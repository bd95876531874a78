//! Running a program in every way, and what the reference says of it.

use kahn_snet::boxes::{Boxes, Emitter, Tag};
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, Runtime, run};
use kahn_snet::{Program, syntax};

use super::reference::{self, Instance, Outcome};

/// Every way to run a program: the runtime, and how many workers.
pub(crate) fn ways() -> impl Iterator<Item = (Runtime, usize)> {
    let network = Runtime::Network { policy: None };
    let runtimes = [Runtime::Front, network];
    runtimes.into_iter().flat_map(|runtime| [1, 2, 8].map(|workers| (runtime.clone(), workers)))
}

/// The boxes of the programs; they take their time, each call another.
fn boxes(program: &Program) -> Boxes {
    let mut boxes = Boxes::of(program);
    for name in ["linger", "parts", "picky"] {
        let call = move |n: Tag, out: &mut Emitter<'_>| {
            let (numbers, failed) = reference::emitted(name, n.0);
            for number in numbers {
                (0..number.rem_euclid(5) * 3).for_each(|_| std::thread::yield_now());
                out.emit(1, (Tag(number),))?;
            }
            if failed { Err("it is picky".into()) } else { Ok(()) }
        };
        // Programs that are written out here have none.
        let _ = boxes.add(name, call);
    }
    let begin = |out: &mut Emitter<'_>| {
        reference::BEGINNING.into_iter().try_for_each(|(n, k)| out.emit(1, (Tag(n), Tag(k))))
    };
    let _ = boxes.add("begin", begin);
    boxes
}

/// What a run gives that is run in this way, and whether it fails.
pub(crate) fn outcome(
    program: &Program,
    input: &[Record],
    (runtime, workers): (Runtime, usize),
) -> Outcome {
    let net = program.net(None).expect("a net");
    let options = Options { workers, runtime, ..Options::default() };
    let mut records = Vec::new();
    let source = Ready(input.iter().cloned());
    let ran = run(program, net, &boxes(program), &options, source, &mut records);
    Outcome { records, failed: ran.is_err() }
}

/// What the reference gives; none if it is too much.
pub(crate) fn expected(source: &str, input: &[Record]) -> Option<Outcome> {
    let parsed = syntax::parse(source);
    let mut instance = Instance::of_program(&parsed.definitions);
    let mut output = instance.start();
    for record in input {
        if output.failed {
            break;
        }
        if record.tags.contains_key("foreign") {
            output.failed = true;
            break;
        }
        let next = instance.feed(record.clone());
        output.records.extend(next.records);
        output.failed = next.failed;
        if output.records.len() > 4000 {
            return None;
        }
    }
    Some(output)
}
