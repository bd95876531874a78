//! The program `kgz`: arguments, files, messages.
//!
//! | file | what |
//! |---|---|
//! | `arguments` | what was asked for |
//! | `names` | what the output of a file is called |
//! | `input`, `output` | files: what may be read, and how a complete file takes its place |
//! | `recording` | what is kept of a run, and doing it again; `unrecorded` is a program without that |
//! | `work` | compressing, decompressing, testing, listing one file |
//! | `messages` | what is told, and the exit code that follows |

mod arguments;
mod input;
mod messages;
mod names;
mod output;
#[cfg(feature = "record")]
mod recording;
#[cfg(not(feature = "record"))]
#[path = "unrecorded.rs"]
mod recording;
mod work;

use arguments::{Arguments, Asked};
use messages::Messages;
use recording::Outside;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the program with these arguments, and returns its exit code: 0 if all went well, 1 for an
/// error, 2 for a warning.
///
/// # Examples
///
/// ```
/// use std::process::ExitCode;
///
/// assert_eq!(kgz::command::main(["--level".into(), "99".into()]), ExitCode::from(1));
/// ```
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let typed: Vec<_> = arguments.into_iter().collect();
    if let Some(code) = recording::replay(&typed) {
        return code;
    }
    let arguments = match arguments::parse(typed.iter().cloned()) {
        Ok(Asked::Help) => return messages::print(arguments::HELP),
        Ok(Asked::Version) => return messages::print(arguments::VERSION),
        Ok(Asked::Work(arguments)) => arguments,
        Err(error) => return messages::usage(&error),
    };
    let mut outside = match Outside::of(&arguments, &typed) {
        Ok(outside) => outside,
        Err(error) => return messages::usage(&error),
    };
    let mut messages = Messages::new(arguments.quiet);
    output::remove_if_interrupted();
    if arguments.files.is_empty() {
        work::standard(&arguments, std::mem::take(&mut outside), &mut messages);
    }
    for file in &arguments.files {
        if file.as_os_str() == "-" {
            work::standard(&arguments, std::mem::take(&mut outside), &mut messages);
        } else {
            one(file, &arguments, &mut outside, &mut messages);
        }
    }
    work::list_totals(&mut messages);
    messages.exit_code()
}

/// Works on a file, or on those of a folder. What is recorded is one file at most.
fn one(path: &Path, arguments: &Arguments, outside: &mut Outside, messages: &mut Messages) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return work::file(path, arguments, std::mem::take(outside), messages);
    }
    if !arguments.recursive {
        return messages.warn(path, "is a folder; left alone (`-r` goes into folders)");
    }
    match entries(path) {
        Ok(entries) => entries.iter().for_each(|entry| one(entry, arguments, outside, messages)),
        Err(error) => messages.error(path, &error),
    }
}

/// What a folder holds, in the order of names.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}
