//! Pages of `docs` that tell people what to type, and the programs that they show.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// The text of a page.
pub(crate) fn page(name: &str) -> String {
    let page = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(page).expect("it is there")
}

/// The blocks of a page that are written in this language.
pub(crate) fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Has a shell do this, which finds the programs by the names that the page gives them.
pub(crate) fn typed(line: &str, programs: &Path, folder: &Path) -> Output {
    let path = [programs.as_os_str(), ":".as_ref(), &env::var_os("PATH").unwrap_or_default()];
    let path: OsString = path.into_iter().collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    shell.env_remove("RUST_BACKTRACE").output().expect("there is a shell")
}

/// What a program has written.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Each block of Rust stands in the example as well, but for white space.
pub(crate) fn is_of_the_example(page: &str, example: &str) {
    let blocks = blocks(page, "rust");
    assert!(!blocks.is_empty());
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for block in blocks {
        assert!(squeezed(example).contains(&squeezed(block)), "{block}");
    }
}
