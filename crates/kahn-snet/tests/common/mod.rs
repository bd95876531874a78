//! What tests of running programs share.

use kahn_snet::Program;
use kahn_snet::record::Record;

/// A program without errors.
pub(crate) fn program(source: &str) -> Program {
    let program = Program::read("main.snet", source);
    assert!(program.is_valid(), "{}", program.render(false));
    program
}

/// Records with the tag `n`, from 0.
pub(crate) fn numbers(count: i64) -> impl Iterator<Item = Record> + Send {
    (0..count).map(|n| Record::new().tag("n", n))
}
