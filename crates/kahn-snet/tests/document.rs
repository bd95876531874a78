//! The language reference: every example in it is what it claims to be.

use std::path::PathBuf;

use kahn_snet::Program;
use kahn_snet::boxes::Boxes;
use kahn_snet::diagnostics::catalogue::CODES;
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, Runtime, run};

/// An example: the words behind `snet`, its text, and the line it begins on.
struct Example {
    words: String,
    text: String,
    line: usize,
}

fn examples() -> Vec<Example> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "snet.md"].iter().collect();
    let document = std::fs::read_to_string(path).expect("the document");
    let mut examples = Vec::new();
    let mut open: Option<Example> = None;
    for (index, line) in document.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) => {
                let words = words.to_owned();
                open = Some(Example { words, text: String::new(), line: index + 1 });
            }
            (Some(_), Some(_)) => examples.extend(open.take()),
            (Some(example), None) => {
                example.text.push_str(line);
                example.text.push('\n');
            }
            (None, None) => {}
        }
    }
    examples.retain(|example| example.words.starts_with("snet"));
    examples
}

#[test]
fn every_example_is_accepted_or_refused_as_the_document_says() {
    for Example { words, text, line } in examples() {
        let program = Program::read(format!("docs/snet.md:{line}"), text);
        let messages = program.render(false);
        match words.strip_prefix("snet ") {
            None | Some("run") => assert_eq!(messages, "", "line {line}"),
            Some(code) => {
                assert!(messages.contains(&format!("[{code}]")), "line {line}: {messages}");
                assert_eq!(program.is_valid(), code.starts_with('W'), "line {line}: {messages}");
            }
        }
    }
}

#[test]
fn every_diagnostic_has_an_example() {
    let examples = examples();
    for code in CODES {
        let wanted = format!("snet {}", code.id());
        let found = examples.iter().any(|example| example.words == wanted);
        // Too many types take a long program to make.
        assert!(found || code.id() == "E036", "no example of {} {}", code.id(), code.title());
    }
}

#[test]
fn every_program_of_the_document_runs_as_it_says() {
    for Example { words, text, line } in examples() {
        if words != "snet run" {
            continue;
        }
        let records = |mark: &str| -> Vec<Record> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
            lines.map(|record| record.parse().expect("a record")).collect()
        };
        let program = Program::read("main.snet", text.clone());
        let net = program.net(None).expect("a net");
        let sorted = |records: &[Record]| {
            let mut lines: Vec<String> = records.iter().map(ToString::to_string).collect();
            lines.sort();
            lines
        };
        for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
            let mut output = Vec::new();
            let (boxes, options) = (Boxes::of(&program), Options { runtime, ..Options::default() });
            let input = Ready(records("// > ").into_iter());
            let report = run(&program, net, &boxes, &options, input, &mut output).expect("it runs");
            assert_eq!(sorted(&output), sorted(&records("// < ")), "line {line}, {options:?}");
            let waiting = text.lines().find_map(|line| line.strip_prefix("// waiting "));
            let waiting = waiting.map_or(0, |count| count.parse().expect("a number"));
            assert_eq!(report.half_filled.len(), waiting, "line {line}, {options:?}");
        }
    }
}
