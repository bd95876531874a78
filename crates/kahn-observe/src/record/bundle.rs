//! What is needed to look into a run that failed, in a folder: `README.md`, `run.rec`, and at the end
//! `report.json` and `explanation.txt`.
//!
//! The first two are there from the beginning, so a run that is killed leaves them.

use super::{Header, Recorder};
use kahn_report::Report;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const README: &str = "README.md";
const RECORDING: &str = "run.rec";
const REPORT: &str = "report.json";
const EXPLANATION: &str = "explanation.txt";

/// A folder with a recording of a run, for the case that it fails: it is removed when this is dropped,
/// unless it is [kept](Self::keep).
///
/// It is a new folder, which its owner alone may read. It holds what passed through the program, or digests
/// of that (see [`without_messages`](Self::create_without_messages)), and its arguments.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::record::{Bundle, Header};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("crash");
/// let run = |fails: bool| {
///     let header = Header { program: "count".into(), ..Header::default() };
///     let bundle = Bundle::create(&path, header, "count replay")?;
///     let mut network = Network::new();
///     let numbers = network.source("numbers", 0..10);
///     network.for_each("count", numbers, move |number| assert!(!fails || number < 7));
///     let ran = network.run_with(Options::new().observer(bundle.recorder()));
///     match ran {
///         Ok(_) => Ok(()),
///         Err(error) => bundle.keep(&error.to_string(), error.report()),
///     }
/// };
/// run(false)?;
/// assert!(!path.exists());
/// run(true)?;
/// assert!(std::fs::read_to_string(path.join("explanation.txt"))?.contains("`count`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Bundle {
    folder: PathBuf,
    recorder: Arc<Recorder>,
    is_kept: bool,
}

impl Bundle {
    /// Makes the folder, and says in it how the recording is run again: by `command` and the name of the
    /// recording.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Bundle, Header};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crash");
    /// let bundle = Bundle::create(&path, Header::default(), "words replay")?;
    /// assert!(std::fs::read_to_string(path.join("README.md"))?.contains("words replay run.rec"));
    /// // Never over another.
    /// assert!(Bundle::create(&path, Header::default(), "words replay").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is something of this name, and if it cannot be written.
    pub fn create(folder: impl AsRef<Path>, header: Header, command: &str) -> io::Result<Self> {
        let again = Again::Command(command);
        Self::new(folder.as_ref(), header, again)
    }

    /// The same for a program that has no such command.
    pub(super) fn create_for_replay(folder: &Path, header: Header) -> io::Result<Self> {
        Self::new(folder, header, Again::Replay)
    }

    /// Makes the folder for a recording of digests and counts, which cannot be run again; see
    /// [`Recorder::without_messages`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Bundle, Header};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crash");
    /// let bundle = Bundle::create_without_messages(&path, Header::default())?;
    /// drop(bundle);
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn create_without_messages(folder: impl AsRef<Path>, header: Header) -> io::Result<Self> {
        Self::new(folder.as_ref(), header, Again::Never)
    }

    fn new(folder: &Path, header: Header, again: Again<'_>) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        let text = readme(&header, again);
        let recorder = Recorder::new(folder.join(RECORDING), header);
        let recorder = match again {
            Again::Command(_) | Again::Replay => recorder,
            Again::Never => recorder.without_messages(),
        };
        let (folder, recorder) = (folder.to_owned(), Arc::new(recorder));
        let bundle = Self { folder, recorder, is_kept: false };
        bundle.write(README, &text)?;
        Ok(bundle)
    }

    /// Has files on the disk after each so many messages, as [`Recorder::saves_each`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Bundle, Header};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crash");
    /// let bundle = Bundle::create(&path, Header::default(), "words replay")?.saves_each(1000);
    /// # drop(bundle);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0, or if the run has started.
    #[must_use]
    pub fn saves_each(mut self, messages: u64) -> Self {
        let recorder = Arc::get_mut(&mut self.recorder).expect("no run has it yet");
        recorder.save_each(messages);
        self
    }

    /// Returns the observer that records the run.
    ///
    /// # Examples
    ///
    /// See [`Bundle`].
    ///
    /// ```
    /// # use kahn_observe::record::{Bundle, Header};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crash");
    /// let bundle = Bundle::create(&path, Header::default(), "words replay")?;
    /// let options = kahn::Options::new().observer(bundle.recorder());
    /// # drop(options);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn recorder(&self) -> Arc<Recorder> {
        Arc::clone(&self.recorder)
    }

    /// Keeps the folder, and writes into it why the run failed and what it cost.
    ///
    /// # Examples
    ///
    /// See [`Bundle`].
    ///
    /// ```
    /// # use kahn_observe::record::{Bundle, Header};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("crash");
    /// let bundle = Bundle::create(&path, Header::default(), "words replay")?;
    /// bundle.keep("it was stopped", None)?;
    /// assert_eq!(std::fs::read_to_string(path.join("explanation.txt"))?, "it was stopped\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if something cannot be written. The folder is kept all the same.
    pub fn keep(mut self, error: &str, report: Option<&Report>) -> io::Result<()> {
        self.is_kept = true;
        let recorded = self.recorder.finish();
        self.write(EXPLANATION, &format!("{}\n", error.trim_end()))?;
        if let Some(report) = report {
            self.write(REPORT, &report.to_json())?;
        }
        recorded.map(drop)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.folder.join(name))?.write_all(text.as_bytes())
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // What is not written is not missed, and of what another program has put there nothing is removed.
        let _ = self.recorder.finish();
        for name in [README, RECORDING] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// How a recording is run again.
#[derive(Clone, Copy)]
enum Again<'a> {
    /// By this command, in the folder.
    Command(&'a str),
    /// By the program, if it is written so.
    Replay,
    /// Not at all: it has no messages.
    Never,
}

/// What a person needs to know of the folder.
fn readme(header: &Header, again: Again<'_>) -> String {
    let Header { program, version, arguments, seed, .. } = header;
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let observe = env!("CARGO_PKG_VERSION");
    let private = "It holds the data that passed through the program: give it to those alone who may see that.";
    let again = match again {
        Again::Command(command) => format!(
            "`{RECORDING}` holds what came from outside. In this folder,\n\n    {command} {RECORDING}\n\n\
             runs the same again, on any number of workers and any machine: the same messages, the same failure.\n\
             {private}"
        ),
        Again::Replay => format!(
            "`{RECORDING}` holds what came from outside. In the program, before the network has processes,\n\n    \
             let replay = Arc::new(kahn_observe::record::Replay::open(\"{RECORDING}\")?);\n    \
             network.replay(replay.clone());\n    \
             // …\n    \
             network.run_with(Options::new().observer(replay))\n\n\
             runs the same again, on any number of workers and any machine: the same messages, the same failure.\n\
             {private}"
        ),
        Again::Never => format!(
            "`{RECORDING}` holds what came from outside as digests and counts, so it cannot be run again.\n\
             A short message can be guessed from its digest; texts of failures, and arguments, are as they are."
        ),
    };
    let arguments: Vec<_> = arguments.iter().map(|argument| format!("{argument:?}")).collect();
    format!(
        "# A run of `{program}` that did not end well\n\n{again}\n\n\
         | | |\n|---|---|\n\
         | program | {program} {version} |\n\
         | arguments | {} |\n\
         | seed | {seed} |\n\
         | recorded by | kahn-observe {observe}, on {os} {arch} |\n\n\
         `{EXPLANATION}` tells why the run failed and what waited for what, `{REPORT}` what it cost. A run that\n\
         was killed has neither, and one that was not waited for to its end has no report.\n",
        arguments.join(" ")
    )
}
