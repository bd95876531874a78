//! Recordings that begin and end with a run: what the options `record` and `bundle` give it as an observer.

use super::{Bundle, Header, Recorder};
use kahn_report::Report;
use kahn_report::observe::{Act, Graph, Observer, Subject, Wants, WrittenForms};
use parking_lot::Mutex;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Records a run, and ends the recording when that is over.
pub(crate) struct Recording {
    recorder: Recorder,
    path: PathBuf,
}

impl Recording {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { recorder: Recorder::new(&path, Header::of_this_program()), path }
    }
}

/// Records a run into a folder, which stays if the run does not end well.
pub(crate) struct Bundling {
    folder: PathBuf,
    /// Once the run has started.
    recorder: OnceLock<Arc<Recorder>>,
    /// Until the run is over. One that is dropped then, or with a run that was refused, leaves nothing.
    bundle: Mutex<Option<Bundle>>,
}

impl Bundling {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, recorder: OnceLock::new(), bundle: Mutex::new(None) }
    }
}

/// What is said of a run whose processes may choose: it is told of no graph.
const NOT_RECORDED: &str = "nothing was recorded: only networks whose processes cannot choose are";

/// Both tell their recorder.
macro_rules! tell {
    ($self:ident => $recorder:expr) => {
        fn wants(&self) -> Wants {
            Recorder::WANTS
        }

        fn acts(&$self, process: Subject<'_>, act: Act<'_>) {
            if let Some(recorder) = $recorder {
                recorder.acts(process, act);
            }
        }

        fn writes(
            &$self,
            process: Subject<'_>,
            channel: Subject<'_>,
            messages: Range<u64>,
            written: Option<WrittenForms<'_>>,
        ) {
            if let Some(recorder) = $recorder {
                recorder.writes(process, channel, messages, written);
            }
        }
    };
}

impl Observer for Recording {
    tell!(self => Some(&self.recorder));

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        self.recorder.starts(graph)
    }

    fn reports(&self, _: &Report) -> Vec<String> {
        let path = self.path.display();
        if !self.recorder.has_started() {
            return vec![format!("{path}: {NOT_RECORDED}")];
        }
        // It is not what the run is for, which ends without it.
        let ended = self.recorder.finish();
        ended
            .err()
            .map(|error| format!("{path}: the recording ends early: {error}"))
            .into_iter()
            .collect()
    }
}

impl Observer for Bundling {
    tell!(self => self.recorder.get());

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        let bundle = Bundle::create_for_replay(&self.folder, Header::of_this_program())
            .map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let recorder = self.recorder.get_or_init(|| bundle.recorder());
        recorder.starts(graph)?;
        *self.bundle.lock() = Some(bundle);
        Ok(())
    }

    fn reports(&self, report: &Report) -> Vec<String> {
        let folder = self.folder.display();
        let Some(bundle) = self.bundle.lock().take() else {
            return vec![format!("{folder}: {NOT_RECORDED}")];
        };
        if report.is_success() {
            return Vec::new();
        }
        vec![match bundle.keep(&report.reason(), Some(report)) {
            Ok(()) => {
                format!("{folder} has what is needed to run this again: see {folder}/README.md")
            }
            Err(error) => format!("{folder} is not whole: {error}"),
        }]
    }
}
