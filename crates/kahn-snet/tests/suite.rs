//! The suite of plain programs: what is accepted, with its types, its printed form and its plan, and
//! what is refused, with its messages; the slips of beginners have one each. One file a case;
//! snapshots lie beside them.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the harness wants these signatures"
)]

use std::path::Path;

use kahn_snet::Program;
use kahn_snet::{plan, syntax};

type Outcome = datatest_stable::Result<()>;

fn snapshot(path: &Path, text: &str) {
    let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
    let folder = std::path::absolute(path.parent().expect("a folder")).expect("a folder");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder.join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn read(path: &Path, source: &str) -> Program {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    Program::read(name, source)
}

fn accepted(path: &Path, source: String) -> Outcome {
    let program = read(path, &source);
    let messages = program.render(false);
    assert!(program.is_valid(), "{messages}");
    let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
    let code = name.split('_').next().filter(|code| code.starts_with('W')).unwrap_or_default();
    assert!(messages.contains(code), "no {code}: {messages}");
    if code.is_empty() && name != "everything" {
        assert_eq!(messages, "", "accepted without a word");
    }
    let types: String = program.signatures().iter().map(ToString::to_string).collect();
    let printed = syntax::format(&source).expect("it was accepted");
    assert_eq!(syntax::format(&printed).expect("still readable"), printed, "printed twice");
    let before = syntax::parse(&source).definitions;
    assert_eq!(syntax::parse(&printed).definitions, before, "printing changed the program");
    let net = program.net(None).expect("it was accepted");
    let plan = plan::dot(program.plan(), net);
    let text = format!("{messages}---- types\n{types}---- printed\n{printed}---- plan\n{plan}");
    snapshot(path, &text);
    Ok(())
}

fn refused(path: &Path, source: String) -> Outcome {
    let program = read(path, &source);
    assert!(!program.is_valid(), "accepted:\n{source}");
    let messages = program.render(false);
    let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
    let code = name.split('_').next().expect("a code");
    assert!(messages.contains(&format!("error[{code}]")), "no {code}: {messages}");
    snapshot(path, &messages);
    Ok(())
}

/// A slip that beginners make has one message, and that says what to write.
fn beginner(path: &Path, source: String) -> Outcome {
    let messages = read(path, &source).render(false);
    let one = messages.matches("error[").count() == 1 && !messages.contains("warning[");
    assert!(one, "more than one message:\n{messages}");
    assert!(messages.contains("= help: "), "no help:\n{messages}");
    refused(path, source)
}

datatest_stable::harness! {
    { test = accepted, root = "tests/suite/accepted", pattern = r"\.snet$" },
    { test = beginner, root = "tests/suite/beginners", pattern = r"\.snet$" },
    { test = refused, root = "tests/suite/refused", pattern = r"\.snet$" },
}
