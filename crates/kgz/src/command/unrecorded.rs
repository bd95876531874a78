//! The program without the feature `record`: nothing is recorded or replayed.

use super::arguments::{Arguments, Kept};
use super::messages::{self, Messages};
use crate::network::Run;
use kahn::Options;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

const BUILT_WITHOUT: &str = "this kgz was built without recordings: its feature `record` has them";

/// Where what comes from outside comes from: there.
#[derive(Default)]
pub(super) struct Outside;

impl Outside {
    pub(super) fn of(arguments: &Arguments, _: &[OsString]) -> Result<Self, String> {
        match &arguments.kept {
            None => Ok(Self),
            Some(Kept::File(path) | Kept::Folder(path)) => {
                Err(format!("`{}` cannot be made: {BUILT_WITHOUT}", path.display()))
            }
        }
    }

    #[expect(clippy::unused_self, reason = "with recordings it is asked")]
    pub(super) fn run(&self, parts: usize) -> Run {
        Run::new(Options::new().workers(parts))
    }

    #[expect(clippy::unused_self, reason = "with recordings it is asked")]
    pub(super) fn end(self, _: Option<&str>, _: &mut Messages) -> bool {
        true
    }
}

pub(super) fn replay(typed: &[OsString]) -> Option<ExitCode> {
    let is_asked = typed.first().is_some_and(|verb| verb == OsStr::new("replay"));
    is_asked.then(|| messages::usage(&BUILT_WITHOUT))
}
