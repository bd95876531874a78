//! `--live`: what a run does while it does it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use kahn::StopHandle;
use kahn_observe::sample::Watch;

use crate::{Failure, messages};

/// How often a line is written.
const EVERY: Duration = Duration::from_millis(200);

/// What is typed to see a run while it goes on.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LiveArguments {
    /// Shows on standard error, while it runs, what each process does and waits for
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "screen")]
    live: Option<LiveForm>,
}

/// How it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LiveForm {
    /// For a person, at a terminal
    Screen,
    /// For a script: an object a line, five a second
    Json,
}

impl LiveArguments {
    /// The options that show a run, and whether each was typed.
    pub(crate) fn typed(&self) -> [(&'static str, bool); 1] {
        [("--live", self.live.is_some())]
    }

    /// Starts to show a run, which is to begin.
    pub(crate) fn start(&self, handle: &StopHandle) -> Result<Live, Failure> {
        let watch = match self.live {
            None => None,
            Some(LiveForm::Json) => Some(lines(handle)?),
            Some(LiveForm::Screen) => return Err(without_screen()),
        };
        Ok(Live { watch })
    }
}

fn without_screen() -> Failure {
    Failure::input("this command was built without what `--live` shows on a terminal")
        .with_help("`--live=json` writes lines; the feature `live` of the command has both")
}

/// Writes a view a line.
fn lines(handle: &StopHandle) -> Result<Watch, Failure> {
    let watch = Watch::start(handle.clone(), EVERY, |view| match serde_json::to_string(&view) {
        Ok(line) => messages::say(line),
        Err(error) => messages::note(format_args!("a view cannot be written: {error}")),
    });
    watch.map_err(|error| Failure::Run { error: error.into(), report: None })
}

/// A run that is shown while this lives.
pub(crate) struct Live {
    watch: Option<Watch>,
}

impl Live {
    /// Whether no other progress is to be shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.watch.is_some()
    }
}
