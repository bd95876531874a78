//! The program itself, as the tests run it.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Begins to run the program in a folder.
pub(crate) fn begun(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgz"));
    command.args(arguments).current_dir(folder).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs")
}

/// Runs the program in a folder, with this on its standard input.
pub(crate) fn fed(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = begun(folder, arguments);
    let mut stdin = child.stdin.take().expect("it has a standard input");
    let input = input.to_vec();
    #[expect(clippy::disallowed_methods, reason = "the program is fed while it writes")]
    let feed = std::thread::spawn(move || {
        // The program may end before it has read all.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the program ends");
    feed.join().expect("it writes");
    output
}

/// Its exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

/// What it told on standard error.
pub(crate) fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
