//! What the options of a run get from here: files that are written while it runs, and when it is over.

use crate::record::{Bundling, Recording};
use crate::trace::{Level, Trace};
use kahn_report::Report;
use kahn_report::log::Log;
use kahn_report::observe::{Observable, Observer, Sampled, Tick, Wants};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

/// Has a run recorded or traced into a file, by its options.
///
/// A file that cannot be made refuses the run before it begins. What hinders it later is a
/// [warning](kahn_report::Report::warnings) of the report, and the run goes on.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::Observe as _;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = |name| folder.path().join(name);
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// network.run_with(Options::new().record(path("run.rec")).trace(path("run.pftrace")))?;
/// assert_eq!(sum.take(), Some(4950));
/// assert!(path("run.rec").is_file() && path("run.pftrace").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observe: Observable {
    /// Records what comes from outside into this new file, for the same run to be done again; see
    /// [`record`](crate::record).
    ///
    /// The run is refused if it could not be replayed, with the reasons.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network, Options};
    /// use kahn_observe::Observe as _;
    /// use kahn_observe::record::Replay;
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// /// Shouts what it reads.
    /// fn build(network: &mut Network<'_>) -> kahn::process::Output<Vec<String>> {
    ///     let lines = Channel::<String>::named("lines").wire_with(
    ///         |line, bytes| bytes.extend_from_slice(line.as_bytes()),
    ///         |bytes| Ok(String::from_utf8(bytes.to_vec())?),
    ///     );
    ///     let (out, lines) = network.channel_with(lines);
    ///     network.blocking("read", out, |mut out| out.send_blocking("to be".to_owned()));
    ///     let loud = network.map("shout", lines, |line| line.to_uppercase());
    ///     network.collect("all", loud)
    /// }
    ///
    /// let mut network = Network::new();
    /// build(&mut network);
    /// network.run_with(Options::new().record(&path))?;
    ///
    /// let replay = Arc::new(Replay::open(&path)?);
    /// let mut network = Network::new();
    /// network.replay(replay.clone());
    /// let all = build(&mut network);
    /// network.run_with(Options::new().observer(replay))?;
    /// assert_eq!(all.take(), Some(vec!["TO BE".to_owned()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    fn record(self, file: impl Into<PathBuf>) -> Self {
        self.observed_by(Arc::new(Recording::new(file.into())))
    }

    /// Records the run into this new folder, and leaves there what is needed to look into it if it does not end well:
    /// the recording, the report, the explanation, how to run it again. A run that ends well leaves nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_observe::Observe as _;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let crash = folder.path().join("crash");
    /// let run = |luck: bool| {
    ///     let mut network = Network::new();
    ///     network.process("try", (), async move |()| luck.then_some(()).ok_or("no luck"));
    ///     network.run_with(Options::new().bundle(&crash))
    /// };
    /// run(true)?;
    /// assert!(!crash.exists());
    /// let error = run(false).expect_err("it fails");
    /// assert!(std::fs::read_to_string(crash.join("explanation.txt"))?.contains("no luck"));
    /// assert!(error.report().is_some_and(|report| report.warnings[0].contains("README.md")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    fn bundle(self, folder: impl Into<PathBuf>) -> Self {
        self.observed_by(Arc::new(Bundling::new(folder.into())))
    }

    /// Writes into this file what processes did last and what they waited for, to be opened in Perfetto's viewer; see
    /// [`trace`](crate::trace). A file of this name is written over.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    /// use kahn_observe::Observe as _;
    /// use kahn_observe::trace::Timeline;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.pftrace");
    /// csp::run(csp::Options::new().trace(&path), async |_scope| ())?;
    /// let timeline = Timeline::read(&std::fs::read(&path)?)?;
    /// assert!(timeline.summary().to_string().contains("main"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    fn trace(self, file: impl Into<PathBuf>) -> Self {
        let (trace, file) = (Trace::new(Level::Schedule), file.into());
        self.observed_by(Arc::new(Tracing { trace, path: file, file: Mutex::new(None) }))
    }
}

impl<O: Observable> Observe for O {}

/// Traces a run, and writes the trace when that is over.
struct Tracing {
    trace: Trace,
    path: PathBuf,
    /// Once the run has started.
    file: Mutex<Option<File>>,
}

impl Tracing {
    fn write(&self) -> io::Result<()> {
        let file = self.file.lock().take().map_or_else(|| File::create(&self.path), Ok)?;
        let mut out = BufWriter::new(file);
        self.trace.timeline().write(&mut out)?;
        out.flush()
    }
}

impl Observer for Tracing {
    fn wants(&self) -> Wants {
        self.trace.wants()
    }

    fn log(&self) -> Option<Arc<dyn Log>> {
        self.trace.log()
    }

    fn begins(&self, _: &Arc<dyn Sampled>, _: &Arc<dyn Fn() + Send + Sync>) -> Result<(), String> {
        let file = File::create(&self.path);
        *self.file.lock() =
            Some(file.map_err(|error| format!("{}: {error}", self.path.display()))?);
        Ok(())
    }

    fn ends(&self, tick: Tick) {
        self.trace.ends(tick);
    }

    fn reports(&self, _: &Report) -> Vec<String> {
        let error = self.write().err();
        let path = self.path.display();
        error.map(|error| format!("{path}: the trace is not whole: {error}")).into_iter().collect()
    }
}
