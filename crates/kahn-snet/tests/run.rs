//! Programs that run: `// >` is a record that goes in, `// <` one that comes out, in any order
//! unless the file says `// ordered`; `// waiting n` counts the synchro-cells left half filled.

#![expect(clippy::needless_pass_by_value, reason = "the harness wants these signatures")]

use std::path::Path;

use kahn::policy::{SEEDED, THREADS};
use kahn_snet::Program;
use kahn_snet::boxes::Boxes;
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, Runtime, run};

fn records(source: &str, mark: &str) -> Vec<Record> {
    let lines = source.lines().filter_map(|line| line.strip_prefix(mark));
    lines.map(|line| line.parse().unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn runs(path: &Path, source: String) -> datatest_stable::Result<()> {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let program = Program::read(name, source.clone());
    assert!(program.is_valid(), "{}", program.render(false));
    let net = program.net(None).expect("a net");
    let ordered = source.lines().any(|line| line == "// ordered");
    let show = |records: &[Record]| {
        let mut lines: Vec<String> = records.iter().map(ToString::to_string).collect();
        if !ordered {
            lines.sort();
        }
        lines
    };
    let wanted = show(&records(&source, "// < "));
    let waiting = source.lines().find_map(|line| line.strip_prefix("// waiting "));
    let waiting: usize = waiting.map_or(0, |count| count.parse().expect("a number"));
    let network = |policy| Runtime::Network { policy: Some(policy) };
    let runtimes =
        [Runtime::Front, Runtime::Network { policy: None }, network(THREADS), network(SEEDED)];
    for runtime in runtimes {
        for workers in [1, 2, 8] {
            let options = Options { workers, runtime: runtime.clone(), ..Options::default() };
            let input = Ready(records(&source, "// > ").into_iter());
            let mut output = Vec::new();
            let boxes = Boxes::of(&program);
            let report = run(&program, net, &boxes, &options, input, &mut output)?;
            assert_eq!(show(&output), wanted, "{workers} workers, {runtime:?}");
            assert_eq!(report.half_filled.len(), waiting, "{:?}", report.half_filled);
        }
    }
    Ok(())
}

datatest_stable::harness! {
    { test = runs, root = "tests/suite/run", pattern = r"\.snet$" },
}
