//! The observer that records a run.

use super::carried::{AT_ONCE, Carried, Channels, EACH, digest};
use super::{Act, Channel, Entry, Failed, Header, Input, Process, Topology, Writer};
use kahn_report::Failure;
use kahn_report::observe::{self, Graph, Observer, Subject, Wants, WrittenForms};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

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
}

#[derive(Debug)]
struct Started {
    writer: Writer,
    channels: Channels,
    /// The channels to recorded processes.
    to_recorded: BTreeSet<u64>,
    /// Those from them, in their order, if their messages are recorded: they need no digest.
    held: Vec<u64>,
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
        let (started, why_ended) = (OnceLock::new(), Mutex::new(None));
        Self { path: path.into(), header, with_messages: true, started, why_ended }
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

    fn append(&self, entry: &Entry<'_>) {
        if let Some(Started { writer, .. }) = self.started.get() {
            writer.append(entry);
        }
    }

    fn append_passed(&self, channel: u64, carried: &Carried) {
        let digests = carried.last();
        if !digests.is_empty() {
            let first = carried.messages() - digests.len() as u64 / 8;
            self.append(&Entry::Passed { channel, first, digests });
        }
    }

    fn append_carried(&self, channel: u64, carried: &Carried) {
        let (messages, digest) = (carried.messages(), carried.digest());
        self.append(&Entry::Carried { channel, messages, digest });
    }

    /// Ends the recording: what follows could not be replayed.
    fn end(&self, why: impl FnOnce() -> String) {
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
        let writer = Writer::create(&self.path, &header)
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let is_joined = |place: usize| graph.processes[place].is_joined;
        let edges = || graph.channels.iter();
        let to_recorded = edges().filter(|edge| is_joined(edge.to));
        let to_recorded = to_recorded.map(|edge| edge.channel.id).collect();
        let held = edges().filter(|edge| self.with_messages && is_joined(edge.from));
        let mut held: Vec<_> = held.map(|edge| edge.channel.id).collect();
        held.sort_unstable();
        let wired = edges().filter(|edge| edge.has_written_form);
        let channels = Channels::new(wired.map(|edge| edge.channel.id));
        let started = Started { writer, channels, to_recorded, held };
        match self.started.set(started) {
            Ok(()) => Ok(()),
            Err(_) => Err("a recorder records one run".to_owned()),
        }
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
                if let Some(Started { writer, .. }) = self.started.get() {
                    writer.append_messages(process.id, channel.id, written);
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
            _ => return,
        };
        self.append(&Entry::Acts { process: process.id, act });
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
