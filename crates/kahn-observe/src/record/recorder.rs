//! The observer that records a run.

use super::carried::{AT_ONCE, Carried, Channels, EACH, digest};
use super::known::Known;
use super::{Act, Channel, Entry, Failed, Header, Input, Process, Topology, Writer};
use kahn_report::Failure;
use kahn_report::observe::{self, Graph, Observer, Subject, Wants, WrittenForms};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Records a run into a file: what the processes do that are joined to the outside (see
/// [`Act`](kahn_report::observe::Act)), and digests of what passes on channels with a written form.
///
/// The file is made when the run starts, and only if it can be replayed: each message that such a
/// process sends must have a written form, and it must create no processes. A channel *to* such a
/// process needs none, but then its messages are only counted.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options, Process};
/// use kahn_observe::record::{Header, Reader, Recorder};
/// use std::sync::Arc;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.rec");
/// let recorder = Arc::new(Recorder::new(&path, Header { program: "print".into(), ..Header::default() }));
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..3_u32);
/// network.process_with(Process::named("print").effects(), numbers, async |mut numbers| {
///     while let Some(number) = numbers.recv().await {
///         println!("{number}");
///     }
/// });
/// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
/// recorder.finish()?;
/// assert_eq!(Reader::open(&path)?.header().network.processes[1].name, "print");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    header: Header,
    /// Whether messages are recorded, and not digests of them.
    with_messages: bool,
    /// Once the run has started.
    started: OnceLock<Started>,
    /// Why nothing is written any more, though it could be.
    why_ended: Mutex<Option<String>>,
    is_stopped: AtomicBool,
    /// After how many messages files that are written are saved.
    saves_each: u64,
    /// What is known of files that are written, by process.
    files: Mutex<BTreeMap<u64, Summed>>,
    /// The recording behind which it goes on, until the run starts.
    goes_on: Mutex<Option<Behind>>,
}

/// A recording that goes on.
#[derive(Debug)]
pub(super) struct Behind {
    pub(super) file: Arc<Mutex<File>>,
    /// Behind so many bytes.
    pub(super) bytes: u64,
    pub(super) known: Known,
}

/// The first bytes of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Summed {
    pub(super) bytes: u64,
    pub(super) sum: Sha256,
}

impl Summed {
    /// Sums up more of a file, up to so many bytes; `false` if it does not have them.
    pub(super) fn read_to(&mut self, mut file: &File, bytes: u64) -> io::Result<bool> {
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut block = vec![0; 1 << 16];
        while self.bytes < bytes {
            let most = usize::try_from(bytes - self.bytes).unwrap_or(usize::MAX).min(block.len());
            match file.read(&mut block[..most]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.sum.update(&block[..read]);
                    self.bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub(super) fn sha256(&self) -> [u8; 32] {
        self.sum.clone().finalize().into()
    }
}

#[derive(Debug)]
struct Started {
    writer: Writer,
    channels: Channels,
    /// The channels to recorded processes.
    to_recorded: BTreeSet<u64>,
    /// Those from them, in their order, if their messages are recorded: they need no digest.
    held: Vec<u64>,
    /// What another run has recorded that is done again.
    known: Option<Known>,
}

impl Recorder {
    /// Records a run into a new file. The recorder fills in which network it is, and its inputs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, Recorder};
    ///
    /// // Nothing is written before a run starts.
    /// let recorder = Recorder::new("run.rec", Header::default());
    /// assert!(!std::path::Path::new("run.rec").exists());
    /// # drop(recorder);
    /// ```
    pub fn new(path: impl Into<PathBuf>, header: Header) -> Self {
        Self {
            path: path.into(),
            header,
            with_messages: true,
            started: OnceLock::new(),
            why_ended: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
            saves_each: EACH,
            files: Mutex::default(),
            goes_on: Mutex::new(None),
        }
    }

    /// Goes on with a recording that another run has left.
    pub(super) fn behind(path: PathBuf, header: Header, behind: Behind) -> Self {
        Self { goes_on: Mutex::new(Some(behind)), ..Self::new(path, header) }
    }

    /// Has files that [`write_file`](https://docs.rs/kahn/latest/kahn/struct.Network.html#method.write_file) writes
    /// on the disk after each so many messages, in place of 65536, and says so in the recording: from there
    /// [`Resume`](super::Resume) goes on. It costs an `fsync` each time.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_observe::record::{Entry, Header, Reader, Recorder};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let [path, out] = ["run.rec", "out"].map(|name| folder.path().join(name));
    /// let recorder = Arc::new(Recorder::new(&path, Header::default()).saves_each(4));
    /// let mut network = Network::new();
    /// let lines = network.source("lines", (0..10).map(|n| format!("{n}\n")));
    /// network.write_file("write", lines, &out);
    /// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
    /// recorder.finish()?;
    ///
    /// let (mut reader, mut saved) = (Reader::open(&path)?, Vec::new());
    /// while let Some(entry) = reader.read()? {
    ///     if let Entry::Saved { messages, bytes, .. } = entry {
    ///         saved.push((messages, bytes));
    ///     }
    /// }
    /// assert_eq!(saved, [(0, 0), (4, 8), (8, 16)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    #[must_use]
    pub fn saves_each(mut self, messages: u64) -> Self {
        self.save_each(messages);
        self
    }

    pub(super) fn save_each(&mut self, messages: u64) {
        assert!(messages > 0, "files are saved after each message at most");
        self.saves_each = messages;
    }

    /// Says that the run was stopped, before the recording is [finished](Self::finish): it is not the whole run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options, Summary};
    /// use kahn_observe::record::{Header, Recorder, Replay};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let recorder = Arc::new(Recorder::new(&path, Header::default()));
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..);
    /// network.for_each("ignore", numbers, |_: u64| {});
    /// network.stop_handle().stop();
    /// let stopped = network.run_with(Options::new().observer(Arc::clone(&recorder))).unwrap_err();
    /// if stopped.report().is_some_and(|report| report.outcome == Summary::Stopped) {
    ///     recorder.stopped();
    /// }
    /// recorder.finish()?;
    /// assert_eq!(Replay::open(&path)?.ends_early().as_deref(), Some("the run was stopped"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stopped(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    /// What was summed up of a file with which a process goes on.
    pub(super) fn has_summed(&self, process: u64, file: Summed) {
        self.files.lock().insert(process, file);
    }

    /// A process has so much of its file on the disk, or is about to make it.
    fn save(&self, process: u64, part: &str, messages: u64, bytes: u64, file: Option<&File>) {
        let Some(file) = file else {
            let summed = Summed::default();
            let sha256 = summed.sha256();
            self.has_summed(process, summed);
            self.append(&Entry::Saved { process, part, messages, bytes, sha256 });
            // It is known of before it is there.
            if let Some(Started { writer, .. }) = self.started.get() {
                writer.flush();
            }
            return;
        };
        let mut summed = self.files.lock().remove(&process).unwrap_or_default();
        let is_whole = summed.read_to(file, bytes);
        let sha256 = summed.sha256();
        self.has_summed(process, summed);
        // What cannot be read is not told; the next that can is.
        if matches!(is_whole, Ok(true)) {
            self.append(&Entry::Saved { process, part, messages, bytes, sha256 });
        }
    }

    /// Records digests of messages in place of them: such a recording tells how far each process came, and
    /// cannot be run again. Any network can be recorded so.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_observe::record::{Header, ReadError, Recorder, Replay};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let recorder = Arc::new(Recorder::new(&path, Header::default()).without_messages());
    /// let mut network = Network::new();
    /// let (out, secrets) = network.channel::<String>("secrets");
    /// network.blocking("read", out, |mut out| out.send_blocking("swordfish".to_owned()));
    /// network.for_each("ignore", secrets, |_| {});
    /// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
    /// recorder.finish()?;
    /// assert!(matches!(Replay::open(&path), Err(ReadError::WithoutMessages)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_messages(mut self) -> Self {
        self.with_messages = false;
        self
    }

    /// Writes what is left when the run is over, and returns how many bytes the recording has.
    ///
    /// # Examples
    ///
    /// See [`Recorder`].
    ///
    /// ```
    /// use kahn_observe::record::{Header, Recorder};
    ///
    /// // No run has started: there is no file.
    /// assert_eq!(Recorder::new("run.rec", Header::default()).finish()?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if something could not be written: then the recording ends before it.
    pub fn finish(&self) -> io::Result<u64> {
        let Some(Started { writer, channels, to_recorded, .. }) = self.started.get() else {
            return Ok(0);
        };
        for (channel, carried) in channels.all() {
            if to_recorded.contains(&channel) {
                self.append_passed(channel, &carried);
            }
            self.append_carried(channel, &carried);
        }
        if self.is_stopped.load(Relaxed) {
            self.append(&Entry::Stopped);
        }
        self.append(&Entry::Ended);
        let bytes = writer.close()?;
        self.why_ended.lock().take().map_or(Ok(bytes), |why| Err(io::Error::other(why)))
    }

    /// What it wants to be told of.
    pub(super) const WANTS: Wants = Wants { acts: true, contents: true, ..Wants::NOTHING };

    /// Whether a run has begun, into whose file it writes.
    pub(super) fn has_started(&self) -> bool {
        self.started.get().is_some()
    }

    /// What another run has recorded, if this goes on with that.
    fn known(&self) -> Option<&Known> {
        self.started.get().and_then(|started| started.known.as_ref())
    }

    pub(super) fn append(&self, entry: &Entry<'_>) {
        if let Some(Started { writer, .. }) = self.started.get() {
            writer.append(entry);
        }
    }

    fn append_passed(&self, channel: u64, carried: &Carried) {
        let digests = carried.last();
        let first = carried.messages() - digests.len() as u64 / 8;
        let known = self.known().map_or(0, |known| known.passed(channel)).saturating_sub(first);
        let known = usize::try_from(known).unwrap_or(usize::MAX).saturating_mul(8);
        if let Some(digests) = digests.get(known..).filter(|digests| !digests.is_empty()) {
            let first = carried.messages() - digests.len() as u64 / 8;
            self.append(&Entry::Passed { channel, first, digests });
        }
    }

    /// Appends what of an act another run has not recorded.
    fn append_news(&self, process: u64, act: Act<'_>) {
        let news = match self.known() {
            Some(known) => known.news(process, act),
            None => Some(act),
        };
        if let Some(act) = news {
            self.append(&Entry::Acts { process, act });
        }
    }

    fn append_carried(&self, channel: u64, carried: &Carried) {
        let (messages, digest) = (carried.messages(), carried.digest());
        if self.known().is_some_and(|known| known.has_carried(channel, messages)) {
            return;
        }
        self.append(&Entry::Carried { channel, messages, digest });
    }

    /// Ends the recording: what follows could not be replayed.
    pub(super) fn end(&self, why: impl FnOnce() -> String) {
        if let Some(Started { writer, .. }) = self.started.get() {
            self.why_ended.lock().get_or_insert_with(why);
            writer.end();
        }
    }
}

impl Observer for Recorder {
    fn wants(&self) -> Wants {
        Self::WANTS
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        let problems = problems(graph);
        if self.with_messages && !problems.is_empty() {
            return Err(format!("the run cannot be recorded:\n  {}", problems.join("\n  ")));
        }
        let header = Header {
            network: Topology::of(graph),
            inputs: graph.inputs.iter().map(Input::of).collect(),
            ..self.header.clone()
        };
        let (writer, known) = match self.goes_on.lock().take() {
            Some(Behind { file, bytes, known }) => (Writer::behind(file, bytes), Some(known)),
            None => (Writer::create(&self.path, &header), None),
        };
        let writer = writer.map_err(|error| format!("{}: {error}", self.path.display()))?;
        let is_joined = |place: usize| graph.processes[place].is_joined;
        let edges = || graph.channels.iter();
        let to_recorded = edges().filter(|edge| is_joined(edge.to));
        let to_recorded = to_recorded.map(|edge| edge.channel.id).collect();
        let held = edges().filter(|edge| self.with_messages && is_joined(edge.from));
        let mut held: Vec<_> = held.map(|edge| edge.channel.id).collect();
        held.sort_unstable();
        let wired = edges().filter(|edge| edge.has_written_form);
        let channels = Channels::new(wired.map(|edge| edge.channel.id));
        let started = Started { writer, channels, to_recorded, held, known };
        if self.started.set(started).is_err() {
            return Err("a recorder records one run".to_owned());
        }
        self.append(&Entry::Begun { program: std::process::id() });
        Ok(())
    }

    fn acts(&self, process: Subject<'_>, act: observe::Act<'_>) {
        use observe::Act::*;
        let input: (String, u64);
        let act = match act {
            Sends { channel, messages, written } if !self.with_messages => {
                let mut written = written.into_iter().flatten();
                for _ in messages {
                    let digest = written.next().map_or(0, digest);
                    let act = Act::Sent { channel: channel.id, digest };
                    self.append(&Entry::Acts { process: process.id, act });
                }
                return;
            }
            Sends { channel, written: Some(written), .. } => {
                match self.started.get() {
                    Some(Started { writer, known: None, .. }) => {
                        writer.append_messages(process.id, channel.id, written);
                    }
                    Some(_) => written.into_iter().for_each(|message| {
                        self.append_news(process.id, Act::Sends { channel: channel.id, message });
                    }),
                    None => {}
                }
                return;
            }
            Sends { channel, messages, written: None } => {
                return self.end(|| {
                    let (process, channel) = (process.name, channel.name);
                    let number = messages.start + 1;
                    format!(
                        "message {number} of channel `{channel}`, from `{process}`, has no written form: the \
                         recording ends before it"
                    )
                });
            }
            Receives { channel, messages } => {
                Act::Receives { channel: channel.id, messages: messages.end - messages.start }
            }
            SeesEnd { channel } => Act::SeesEnd { channel: channel.id },
            Closes { channel } => Act::Closes { channel: channel.id },
            Departs { channel } => Act::Departs { channel: channel.id },
            Ends { failure: None } => Act::Ends { failure: None },
            Ends { failure: Some(Failure { message, panicked, at, input: of, .. }) } => {
                let of = match of {
                    Some(of) => {
                        input = (of.channel.to_string(), of.number);
                        Some((input.0.as_str(), input.1))
                    }
                    None => None,
                };
                let (panicked, at) = (*panicked, at.as_deref());
                Act::Ends { failure: Some(Failed { message, panicked, at, input: of }) }
            }
            MayCreate if self.with_messages => {
                return self.end(|| creates_what(process) + ": the recording ends before it");
            }
            Waits { channel, to_send } => Act::Waits { channel: channel.id, to_send },
            Saves { part, messages, bytes, file } => {
                return self.save(process.id, part, messages, bytes, file);
            }
            _ => return,
        };
        self.append_news(process.id, act);
    }

    fn saves_each(&self) -> Option<u64> {
        self.with_messages.then_some(self.saves_each)
    }

    fn writes(
        &self,
        _: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        let Some(Started { channels, to_recorded, held, .. }) = self.started.get() else { return };
        let channel = channel.id;
        if held.binary_search(&channel).is_ok() {
            return;
        }
        let is_kept = to_recorded.contains(&channel);
        let mut written = written.into_iter().flatten();
        let mut left = messages.end - messages.start;
        channels.with(channel, |carried| {
            while left > 0 {
                let room = AT_ONCE - carried.last().len() / 8;
                let count = left.min(EACH - carried.messages() % EACH).min(room as u64);
                left -= count;
                // Told of its sender, if that is recorded; else it is a message that cannot be compared.
                carried.add((0..count).map(|_| written.next().map_or(0, digest)));
                if carried.last().len() == AT_ONCE * 8 {
                    if is_kept {
                        self.append_passed(channel, carried);
                    }
                    carried.forget_last();
                }
                if carried.messages() % EACH == 0 {
                    self.append_carried(channel, carried);
                }
            }
        });
    }
}

/// Why a run of this network cannot be recorded.
fn problems(graph: &Graph<'_>) -> Vec<String> {
    let sends = graph.channels.iter().filter_map(|edge| {
        let from = &graph.processes[edge.from];
        let (process, channel) = (from.process.name, edge.channel.name);
        (from.is_joined && !edge.has_written_form).then(|| {
            format!(
                "`{process}` sends on channel `{channel}`, whose messages have no written form: give it one \
                 by `Channel::wire`"
            )
        })
    });
    let creates = graph.processes.iter().filter(|vertex| vertex.is_joined && vertex.creates);
    sends.chain(creates.map(|vertex| creates_what(vertex.process))).collect()
}

fn creates_what(process: Subject<'_>) -> String {
    format!("`{}` creates processes, and would not be run in a replay", process.name)
}

impl Topology {
    /// What is kept of a network.
    pub(super) fn of(graph: &Graph<'_>) -> Self {
        let place = |place| u32::try_from(place).unwrap_or(u32::MAX);
        let processes = graph.processes.iter().map(|vertex| Process {
            id: vertex.process.id,
            name: vertex.process.name.to_string(),
            is_recorded: vertex.is_joined,
        });
        let channels = graph.channels.iter().map(|edge| Channel {
            id: edge.channel.id,
            name: edge.channel.name.to_string(),
            from: place(edge.from),
            to: place(edge.to),
            is_wired: edge.has_written_form,
        });
        Self { processes: processes.collect(), channels: channels.collect() }
    }
}
