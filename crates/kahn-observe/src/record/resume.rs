//! A run that was cut short, gone on with: the processes that are joined to the outside and have ended do again what is
//! recorded, all others run again from their beginning, and what they do that is new is recorded behind it.
//!
//! | a process that is joined to the outside | is | and what it does outside |
//! |---|---|---|
//! | has ended in the recording | stood in for, as in a replay | is not done again |
//! | has not, and writes a file by `write_file` | run | is kept up to what was saved last, and goes on from there |
//! | has not, and sends | run: it must send again what is recorded, and more | is done again |
//! | has not, and only receives | run | is done again from its beginning |
//! | has not, and is a party outside of the network | – the run is refused | |
//! | is not in the recording, for it had done nothing yet | run, or refused, as one that has not ended | |
//!
//! *The final bytes are those of an uninterrupted run*, if what is run again sends what it sent: what a process
//! receives is the same in both runs up to any message, by induction over the messages as for a replay; and the
//! files grow by it alone. Where a process sends another message, the recording takes nothing more
//! *before* that can be received, so no file is saved that depends on it, and the run is stopped.
//!
//! *It may be cut short again, any number of times*: the recording is only appended to. Its last record, if that is
//! not whole, is cut off; acts that it has are not recorded twice ([`Known`]). A file was saved before the recording
//! says so, and all acts that its messages depend on were recorded before: told earlier, they stand before it. So every
//! beginning of the recording is one of a run that may go on.
//!
//! *A recording is not trusted.* It must be a plain file of this user that no other can read or write. Of a file that is
//! to be cut it says a name, which the sink knows to be one of its own beside the target (`kahn`, `LeftBeside`), and a
//! digest: it is cut only if it is a plain file of this user, no link, and begins with bytes of that digest. All is
//! looked at before the run; nothing is cut, and the recording not touched, if it is refused.

use super::carried::{EACH, digest};
use super::known::Known;
use super::recorder::{Behind, Recorder, Summed};
use super::write::lock;
use super::{Act, Entry, Header, ReadError, Replay};

use kahn_report::observe::{
    self, Graph, Observer, Saved, Script, Step, Subject, Wants, WrittenForms,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What is done when histories part.
type Stop = Box<dyn FnOnce() + Send>;

/// What is told before anything runs.
type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// A recording of a run that was cut short, and which goes on.
///
/// It is the script of the network and the observer of its run, which is recorded behind what is there.
///
/// # Examples
///
/// A run writes a file, and is killed before its end:
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::record::{Entry, Header, Reader, Recorder, Resume, Writer};
/// use std::path::Path;
/// use std::sync::Arc;
///
/// # let folder = tempfile::tempdir()?;
/// # let [whole, path, out] = ["whole.rec", "run.rec", "out"].map(|name| folder.path().join(name));
/// fn build(network: &mut Network<'_>, out: &Path) {
///     let lines = network.source("lines", (0..1000).map(|n| format!("{n}\n")));
///     network.write_file("write", lines, out);
/// }
///
/// let recorder = Arc::new(Recorder::new(&whole, Header::default()).saves_each(100));
/// let mut network = Network::new();
/// build(&mut network, &out);
/// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
/// recorder.finish()?;
/// let bytes = std::fs::read(&out)?;
///
/// // Its recording goes as far as 500 messages. (What is beside the file is gone, so that is written anew.)
/// let mut reader = Reader::open(&whole)?;
/// let writer = Writer::create(&path, &reader.header().clone())?;
/// while let Some(entry) = reader.read()? {
///     writer.append(&entry);
///     if matches!(entry, Entry::Saved { messages: 500, .. }) {
///         break;
///     }
/// }
/// writer.finish()?;
/// std::fs::remove_file(&out)?;
///
/// let resume = Arc::new(Resume::open(&path)?.saves_each(100));
/// let mut network = Network::new();
/// network.replay(Arc::clone(&resume) as _);
/// build(&mut network, &out);
/// network.run_with(Options::new().observer(Arc::clone(&resume)))?;
/// resume.finish()?;
/// assert_eq!((resume.difference(), std::fs::read(&out)?), (None, bytes));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Resume {
    replay: Replay,
    recorder: Arc<Recorder>,
    /// Which processes the recording has to their end.
    ended: BTreeSet<u64>,
    /// What is known of files, by process.
    saved: BTreeMap<u64, ToGoOn>,
    again: Mutex<Again>,
    stop: Arc<Mutex<Option<Stop>>>,
    tell: Option<Tell>,
    saves_each: u64,
    programs: Vec<u32>,
}

/// What a recording says of a file.
#[derive(Clone, Debug)]
struct ToGoOn {
    saved: Saved,
    sha256: [u8; 32],
}

/// Which processes are run again.
#[derive(Debug, Default)]
struct Again {
    run: BTreeSet<u64>,
    /// Those that write a file, or why they do not go on with it.
    files: BTreeMap<u64, Result<(), String>>,
}

impl fmt::Debug for Resume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resume").field("replay", &self.replay).finish_non_exhaustive()
    }
}

impl Resume {
    /// Opens a recording, which no run may be writing.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{ReadError, Resume};
    ///
    /// assert!(matches!(Resume::open("no such file"), Err(ReadError::Io(_))));
    /// ```
    ///
    /// # Errors
    /// Fails if it is no recording, one without messages, or not one of this user alone; if it cannot be read and
    /// written, and if a run writes it that goes on.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let file = own_file(path)?;
        lock(&file)?;
        let file = Arc::new(Mutex::new(file));
        let (mut known, mut saved) = (Known::default(), BTreeMap::new());
        let mut sent: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
        let mut programs = Vec::new();
        let (mut replay, bytes) = Replay::read(Arc::clone(&file), |_, entry| {
            known.add(entry);
            match *entry {
                Entry::Saved { process, part, messages, bytes, sha256 } => {
                    let saved_now = Saved { part: part.to_owned(), messages, bytes };
                    saved.insert(process, ToGoOn { saved: saved_now, sha256 });
                }
                Entry::Acts { process, act: Act::Sends { channel, message } } => {
                    sent.entry((process, channel)).or_default().push(digest(message));
                }
                Entry::Begun { program } => programs.push(program),
                _ => {}
            }
        })?;
        for ((process, channel), digests) in sent {
            if !known.has_ended(process) {
                replay.compare(channel, digests);
            }
        }
        let ended = known.all_ended().collect();
        let header = replay.header().clone();
        let behind = Behind { file, bytes, known };
        let recorder = Arc::new(Recorder::behind(path.to_owned(), header, behind));
        let stop: Arc<Mutex<Option<Stop>>> = Arc::default();
        let (of_replay, ends) = (Arc::clone(&stop), Arc::clone(&recorder));
        replay.when_different(move || {
            // First, and before the message can be received: nothing is kept that depends on it.
            ends.end(|| "this is not the run that was recorded".to_owned());
            if let Some(stop) = of_replay.lock().take() {
                stop();
            }
        });
        let again = Mutex::default();
        let (tell, saves_each) = (None, EACH);
        Ok(Self { replay, recorder, ended, saved, again, stop, tell, saves_each, programs })
    }

    /// Has files on the disk after each so many messages, as [`Recorder::saves_each`] does.
    ///
    /// # Examples
    ///
    /// See [`Resume`].
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// let resume = Resume::open("run.rec")?.saves_each(1000);
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn saves_each(mut self, messages: u64) -> Self {
        assert!(messages > 0, "files are saved after each message at most");
        self.saves_each = messages;
        self
    }

    /// Calls this before anything runs with a line for each process that does something again from its beginning, and
    /// for each file that goes on.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// let resume = Resume::open("run.rec")?.tells(|line| println!("{line}"));
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    #[must_use]
    pub fn tells(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// Calls this when the network does something else than it did: it may stop the run. The recording has ended then.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// # let resume = Resume::open("run.rec")?;
    /// # let network = kahn::Network::new();
    /// let handle = network.stop_handle();
    /// resume.when_different(move || handle.stop());
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn when_different(&self, stop: impl FnOnce() + Send + 'static) {
        *self.stop.lock() = Some(Box::new(stop));
    }

    /// Returns the first difference from the recorded run, if one was found.
    ///
    /// # Examples
    ///
    /// See [`Resume`].
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// assert_eq!(Resume::open("run.rec")?.difference(), None);
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn difference(&self) -> Option<String> {
        self.replay.difference()
    }

    /// Returns what the recording begins with.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// assert_eq!(Resume::open("run.rec")?.header().program, "words");
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn header(&self) -> &Header {
        self.replay.header()
    }

    /// Returns why the recording does not go on to the end of the run, if it does not.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// assert!(Resume::open("run.rec")?.ends_early().is_some());
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn ends_early(&self) -> Option<String> {
        self.replay.ends_early()
    }

    /// Returns the numbers that the system had for the programs that ran it so far, which are gone.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// for program in Resume::open("run.rec")?.programs() {
    ///     kahn::process::WholeFile::remove_left("answer.txt", *program);
    /// }
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn programs(&self) -> &[u32] {
        &self.programs
    }

    /// Says that the run was stopped, as [`Recorder::stopped`] does.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// let resume = Resume::open("run.rec")?;
    /// resume.stopped();
    /// resume.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stopped(&self) {
        self.recorder.stopped();
    }

    /// Writes what is left when the run is over, as [`Recorder::finish`] does.
    ///
    /// # Examples
    ///
    /// See [`Resume`].
    ///
    /// ```no_run
    /// # use kahn_observe::record::Resume;
    /// let bytes = Resume::open("run.rec")?.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if something could not be written, and if the run parted from the recorded one.
    pub fn finish(&self) -> io::Result<u64> {
        self.recorder.finish()
    }

    /// What is to be said of a process that acts outside, or why the run cannot go on.
    fn said_of(&self, graph: &Graph<'_>, place: usize) -> Result<Option<String>, String> {
        let vertex = &graph.processes[place];
        let (id, name) = (vertex.process.id, vertex.process.name);
        if !vertex.is_joined || self.ended.contains(&id) {
            return Ok(None);
        }
        let again = self.again.lock();
        if !again.run.contains(&id) {
            return Err(format!(
                "`{name}` is outside of the network, and the recording does not have all that it did"
            ));
        }
        let sends = graph.channels.iter().any(|edge| edge.from == place);
        Ok(Some(match again.files.get(&id) {
            _ if sends => format!(
                "`{name}` begins again, and must send what it sent: it reads its input from the beginning"
            ),
            Some(Ok(())) => {
                let messages = self.saved.get(&id).map_or(0, |file| file.saved.messages);
                format!("`{name}` goes on with its file behind message {messages}")
            }
            Some(Err(why)) => format!("`{name}` writes its file from the beginning: {why}"),
            None => format!(
                "`{name}` does all again from the beginning: what it does cannot be taken back"
            ),
        }))
    }
}

impl Script for Resume {
    fn next(&self, process: u64, message: &mut Vec<u8>) -> Option<Step> {
        self.replay.next(process, message)
    }

    fn parts(&self, what: String) {
        self.replay.parts(what);
    }

    fn is_run(&self, process: Subject<'_>) -> bool {
        let is_run = !self.ended.contains(&process.id);
        if is_run {
            self.again.lock().run.insert(process.id);
        }
        is_run
    }

    fn saved(&self, process: Subject<'_>) -> Option<Saved> {
        let to_go_on = self.saved.get(&process.id).filter(|_| !self.ended.contains(&process.id));
        to_go_on.map(|file| file.saved.clone())
    }

    fn goes_on(&self, process: Subject<'_>, part: io::Result<&File>) -> bool {
        let Some(to_go_on) = self.saved.get(&process.id) else { return false };
        let summed = part.map_err(|error| error.to_string()).and_then(|file| to_go_on.sum(file));
        let goes_on = summed.is_ok();
        let told = summed.map(|summed| self.recorder.has_summed(process.id, summed));
        self.again.lock().files.insert(process.id, told);
        goes_on
    }
}

impl ToGoOn {
    /// Sums up the file as far as it was saved, if it is what was saved.
    fn sum(&self, file: &File) -> Result<Summed, String> {
        let facts = file.metadata().map_err(|error| error.to_string())?;
        if !is_own(&facts) {
            return Err("what is left beside it is another user's".to_owned());
        }
        let mut summed = Summed::default();
        let is_whole = summed.read_to(file, self.saved.bytes).map_err(|error| error.to_string())?;
        if is_whole && summed.sha256() == self.sha256 {
            Ok(summed)
        } else {
            Err("what is left beside it is not what was saved".to_owned())
        }
    }
}

impl Observer for Resume {
    fn wants(&self) -> Wants {
        Recorder::WANTS
    }

    fn saves_each(&self) -> Option<u64> {
        Some(self.saves_each)
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        self.replay.starts(graph)?;
        let (mut lines, mut problems) = (Vec::new(), Vec::new());
        for place in 0..graph.processes.len() {
            match self.said_of(graph, place) {
                Ok(line) => lines.extend(line),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(format!("the run cannot go on:\n  {}", problems.join("\n  ")));
        }
        if let Some(tell) = &self.tell {
            for line in &lines {
                tell(line);
            }
        }
        self.recorder.starts(graph)
    }

    fn acts(&self, process: Subject<'_>, act: observe::Act<'_>) {
        self.recorder.acts(process, act);
    }

    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        self.replay.writes(process, channel, messages.clone(), written.clone());
        self.recorder.writes(process, channel, messages, written);
    }
}

/// Opens a recording to go on with: a plain file, which nobody else may read or write.
#[cfg(unix)]
fn own_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

    let mut options = File::options();
    let no_link = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.read(true).write(true).custom_flags(no_link.bits().cast_signed());
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => not_own("it is a link"),
        _ => error,
    })?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(not_own("it is no plain file"));
    }
    if !is_own(&facts) || facts.mode() & 0o077 != 0 || facts.nlink() != 1 {
        return Err(not_own("it is not of this user alone (mode 0600, one name)"));
    }
    Ok(file)
}

#[cfg(not(unix))]
fn own_file(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

#[cfg(unix)]
fn not_own(why: &str) -> io::Error {
    let what =
        format!("{why}: a recording says which files are written, so only one's own goes on");
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

/// Whether it is a plain file of this user.
#[cfg(unix)]
fn is_own(facts: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    facts.is_file() && facts.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(facts: &std::fs::Metadata) -> bool {
    facts.is_file()
}
