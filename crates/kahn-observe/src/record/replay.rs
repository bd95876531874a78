//! A recording as a script: what each process does again, and whether the network does the same.

use super::carried::{Carried, Channels, digest};
use super::until::{Left, Until};
use super::{Act, Cut, Entry, FRAME, Failed, Header, Input, MOST, ReadError, Reader, Topology};
use kahn_report::observe::{Contents, Graph, Observer, Script, Step, Subject, Wants, WrittenForms};
use kahn_report::{AtMessage, Failure};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::iter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// So many bytes of a recording are read at once.
const BLOCK: u64 = 1 << 16;

/// What is done when histories part.
type Stop = Box<dyn FnOnce() + Send>;

/// A recording whose network is to do the same again.
///
/// It is the script of a network, and the observer of its run: it refuses another network, and tells of the
/// first message that is another than in the recorded run. Channels from recorded processes have what was
/// recorded. Of those to recorded processes each message is compared; of others with a written form,
/// all up to each 65536th together, and in the end.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Network, Options};
/// use kahn_observe::record::{Header, Recorder, Replay};
/// use std::sync::Arc;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.rec");
/// /// Adds up what a client sends; it gets what it sends by.
/// fn sum(network: &mut Network<'_>) -> (kahn::OutsideSender<u8>, kahn::process::Output<u64>) {
///     let bytes = Channel::named("bytes").wire_with(
///         |byte: &u8, into| into.push(*byte),
///         |bytes| bytes.first().copied().ok_or("it is empty".into()),
///     );
///     let (out, bytes) = network.channel_with(bytes);
///     let out = network.outside("client", out);
///     (out, network.fold("sum", bytes, 0, |sum, byte| sum + u64::from(byte)))
/// }
///
/// let recorder = Arc::new(Recorder::new(&path, Header::default()));
/// let mut network = Network::new();
/// let (mut out, total) = sum(&mut network);
/// let client = std::thread::spawn(move || [40, 2].map(|byte| out.send_blocking(byte)));
/// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
/// recorder.finish()?;
/// # let _ = client.join();
/// assert_eq!(total.take(), Some(42));
///
/// let replay = Arc::new(Replay::open(&path)?);
/// let mut network = Network::new();
/// network.replay(Arc::clone(&replay) as _);
/// let (mut out, total) = sum(&mut network);
/// assert!(out.send_blocking(7).is_err(), "there is no client");
/// network.run_with(Options::new().observer(Arc::clone(&replay)))?;
/// assert_eq!((total.take(), replay.difference()), (Some(42), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replay {
    header: Header,
    cut: Option<Cut>,
    end: End,
    acts_again: bool,
    until: Option<Until>,
    file: Arc<Mutex<File>>,
    processes: BTreeMap<u64, Mutex<Cursor>>,
    /// The digests of messages to recorded processes.
    passed: BTreeMap<u64, Vec<u64>>,
    /// After how many messages a channel had which digest.
    carried: BTreeMap<u64, Vec<(u64, u64)>>,
    channels: Channels,
    parted: Mutex<Parted>,
}

#[derive(Default)]
struct Parted {
    what: Option<String>,
    stop: Option<Stop>,
}

/// How the recorded run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// That is not known: it was killed, or the disk was full.
    Cut,
    Stopped,
    Ended,
}

/// Where the acts of a process stand, and how many it has done.
#[derive(Default)]
struct Cursor {
    records: Vec<u64>,
    done: usize,
    /// A part of the file, and where it begins.
    block: Vec<u8>,
    at: u64,
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Replay {
    /// Reads a recording as far as it is whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Replay, ReadError};
    ///
    /// assert!(matches!(Replay::open("no such file"), Err(ReadError::Io(_))));
    /// ```
    ///
    /// # Errors
    /// Fails if it is no recording, or cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::read(Arc::new(Mutex::new(File::open(path)?)), |_, _| {}).map(|(replay, _)| replay)
    }

    /// Reads a recording, and returns how many bytes of it are whole. `each` is told every entry.
    pub(super) fn read(
        file: Arc<Mutex<File>>,
        mut each: impl FnMut(&Header, &Entry<'_>),
    ) -> Result<(Self, u64), ReadError> {
        let mut reader = Reader::new(io::BufReader::new(file.lock().try_clone()?))?;
        let header = reader.header().clone();
        let mut processes: BTreeMap<_, Cursor> = BTreeMap::new();
        let (mut passed, mut carried) =
            (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        let mut end = End::Cut;
        loop {
            let at = reader.at();
            let Some(entry) = reader.read()? else { break };
            each(&header, &entry);
            // What comes behind an end is of a run that went on.
            end = match (entry, end) {
                (Entry::Stopped, _) | (Entry::Ended, End::Stopped) => End::Stopped,
                (Entry::Ended, _) => End::Ended,
                _ => End::Cut,
            };
            match entry {
                Entry::Acts { act: Act::Sent { .. }, .. } => {
                    return Err(ReadError::WithoutMessages);
                }
                Entry::Acts { process, .. } => {
                    processes.entry(process).or_default().records.push(at);
                }
                Entry::Passed { channel, first, digests } => {
                    let known = passed.entry(channel).or_default();
                    // Of one sender, in order. What is not so is not compared.
                    if known.len() as u64 == first {
                        let each = digests.as_chunks::<8>().0;
                        known.extend(each.iter().map(|bytes| u64::from_le_bytes(*bytes)));
                    }
                }
                Entry::Carried { channel, messages, digest } => {
                    carried.entry(channel).or_default().push((messages, digest));
                }
                Entry::Ended | Entry::Stopped | Entry::Saved { .. } | Entry::Begun { .. } => {}
            }
        }
        let channels = header.network.channels.iter();
        let wired = channels.filter(|channel| channel.is_wired).map(|channel| channel.id);
        let wired: Vec<_> = wired.collect();
        let replay = Self {
            header,
            cut: reader.cut().cloned(),
            end,
            acts_again: false,
            until: None,
            file,
            processes: processes.into_iter().map(|(id, one)| (id, Mutex::new(one))).collect(),
            passed,
            carried,
            channels: Channels::new(wired.into_iter()),
            parted: Mutex::default(),
        };
        Ok((replay, reader.at()))
    }

    /// Compares the messages of a channel with these digests.
    pub(super) fn compare(&mut self, channel: u64, digests: Vec<u64>) {
        self.passed.insert(channel, digests);
    }

    /// Has processes with declared effects that send nothing act again: they are run.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Replay;
    /// let replay = Replay::open("run.rec")?.with_effects(true);
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    #[must_use]
    pub fn with_effects(mut self, act: bool) -> Self {
        self.acts_again = act;
        self
    }

    /// Has the process of this name held before one of its receives, for good; its first is number 1. All
    /// others go on until nothing can any more, and no channel grows because that process receives nothing.
    /// Then the run ends in a deadlock, whose explanation is the same in every replay, and so is what is
    /// [left](Self::left).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Channel, Network, Options};
    /// use kahn_observe::record::{Header, Recorder, Replay};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// fn build(network: &mut Network<'_>) {
    ///     let bytes = Channel::named("bytes").wire_with(
    ///         |byte: &u8, into| into.push(*byte),
    ///         |bytes| bytes.first().copied().ok_or("it is empty".into()),
    ///     );
    ///     let (out, bytes) = network.channel_with(bytes);
    ///     network.blocking("read", out, |mut out| (0..3).for_each(|byte| out.send_blocking(byte)));
    ///     network.for_each("ignore", bytes, |_| {});
    /// }
    ///
    /// let recorder = Arc::new(Recorder::new(&path, Header::default()));
    /// let mut network = Network::new();
    /// build(&mut network);
    /// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
    /// recorder.finish()?;
    ///
    /// let replay = Arc::new(Replay::open(&path)?.until("ignore", 3));
    /// let mut network = Network::new();
    /// network.replay(Arc::clone(&replay) as _);
    /// build(&mut network);
    /// let error = network.run_with(Options::new().observer(Arc::clone(&replay))).unwrap_err();
    /// let is = "`ignore` is held before it receives message 3 from `bytes`";
    /// assert!(error.to_string().contains(is), "{error}");
    /// assert_eq!(replay.left()[0].written, [Some(vec![2])]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(mut self, process: impl Into<String>, receive: u64) -> Self {
        self.until = Some(Until::new(process.into(), receive));
        self
    }

    /// Returns what stood in the channels that have a written form, in which something did, when nothing could go on
    /// in a run [until](Self::until) a receive.
    ///
    /// # Examples
    ///
    /// See [`until`](Self::until).
    ///
    /// ```no_run
    /// # use kahn_observe::record::Replay;
    /// let replay = Replay::open("run.rec")?;
    /// assert!(replay.left().is_empty(), "it has not run");
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn left(&self) -> Vec<Left> {
        self.until.as_ref().map_or_else(Vec::new, |until| until.left(&self.header.network))
    }

    /// Calls this when the network does something else than it did: it may stop the run.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Replay;
    /// # let replay = Replay::open("run.rec")?;
    /// # let network = kahn::Network::new();
    /// let handle = network.stop_handle();
    /// replay.when_different(move || handle.stop());
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn when_different(&self, stop: impl FnOnce() + Send + 'static) {
        self.parted.lock().stop = Some(Box::new(stop));
    }

    /// Returns the first difference from the recorded run, if one was found.
    ///
    /// # Examples
    ///
    /// See [`Replay`].
    ///
    /// ```
    /// use kahn::{Network, Options, Process};
    /// use kahn_observe::record::{Header, Recorder, Replay};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// fn build(network: &mut Network<'_>, count: u32) {
    ///     let numbers = network.source("numbers", 0..count);
    ///     network.process_with(Process::named("print").effects(), numbers, async |mut numbers| {
    ///         while let Some(number) = numbers.recv().await {
    ///             println!("{number}");
    ///         }
    ///     });
    /// }
    ///
    /// let recorder = Arc::new(Recorder::new(&path, Header::default()));
    /// let mut network = Network::new();
    /// build(&mut network, 3);
    /// network.run_with(Options::new().observer(Arc::clone(&recorder)))?;
    /// recorder.finish()?;
    ///
    /// let replay = Arc::new(Replay::open(&path)?);
    /// let mut network = Network::new();
    /// network.replay(Arc::clone(&replay) as _);
    /// build(&mut network, 2);
    /// let _ = network.run_with(Options::new().observer(Arc::clone(&replay)));
    /// assert!(replay.difference().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn difference(&self) -> Option<String> {
        self.parted.lock().what.clone()
    }

    /// Returns what the recording begins with.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Replay;
    /// assert_eq!(Replay::open("run.rec")?.header().program, "words");
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns why the recording does not go on to the end of the run, if it does not.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use kahn_observe::record::Replay;
    /// assert_eq!(Replay::open("run.rec")?.ends_early(), None);
    /// # Ok::<(), kahn_observe::record::ReadError>(())
    /// ```
    pub fn ends_early(&self) -> Option<String> {
        match (&self.cut, self.end) {
            (_, End::Stopped) => Some("the run was stopped".to_owned()),
            (Some(cut), _) => Some(cut.to_string()),
            (None, End::Ended) => None,
            (None, End::Cut) => Some("it does not say that the run has ended".to_owned()),
        }
    }

    fn part(&self, what: impl FnOnce() -> String) {
        let mut parted = self.parted.lock();
        if parted.what.is_none() {
            parted.what = Some(what());
        }
        let stop = parted.stop.take();
        drop(parted);
        // Not under the lock: it is the user's.
        if let Some(stop) = stop {
            stop();
        }
    }
}

/// Which message is another than the recorded one.
enum Differs {
    It,
    ItOrBefore,
}

impl Replay {
    /// Compares the next message of a channel, by its digest, with what was recorded.
    fn differs(&self, channel: u64, carried: &mut Carried, digest: u64) -> Option<Differs> {
        let at = usize::try_from(carried.messages()).ok();
        carried.add(iter::once(digest));
        carried.forget_last_if_many();
        let of_message = self.passed.get(&channel).zip(at).and_then(|(known, at)| known.get(at));
        if of_message.is_some_and(|known| *known != digest) {
            return Some(Differs::It);
        }
        let sums = self.carried.get(&channel).map_or(&[][..], Vec::as_slice);
        let sum = sums.binary_search_by_key(&carried.messages(), |(messages, _)| *messages).ok();
        let sum = sum.and_then(|at| sums.get(at));
        sum.is_some_and(|(_, digest)| *digest != carried.digest()).then_some(Differs::ItOrBefore)
    }
}

impl Cursor {
    /// The content of the record at `at`, which was whole.
    fn content<'a>(&'a mut self, file: &Mutex<File>, at: u64) -> io::Result<&'a [u8]> {
        let frame = self.bytes(file, at, FRAME)?;
        let length = frame.first_chunk().map_or(0, |length| u32::from_le_bytes(*length)) as usize;
        if length > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.bytes(file, at + FRAME as u64, length)
    }

    fn bytes(&mut self, file: &Mutex<File>, at: u64, count: usize) -> io::Result<&[u8]> {
        let end = at + count as u64;
        if at < self.at || end > self.at + self.block.len() as u64 {
            self.block.clear();
            self.at = at;
            let mut file = file.lock();
            file.seek(SeekFrom::Start(at))?;
            // Memory is taken as bytes come.
            (&mut *file).take(BLOCK.max(count as u64)).read_to_end(&mut self.block)?;
        }
        let from = usize::try_from(at - self.at).map_err(io::Error::other)?;
        self.block.get(from..from + count).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Script for Replay {
    fn next(&self, process: u64, message: &mut Vec<u8>) -> Option<Step> {
        let mut cursor = self.processes.get(&process)?.lock();
        let at = *cursor.records.get(cursor.done)?;
        cursor.done += 1;
        let entry = cursor.content(&self.file, at).map_err(|error| error.to_string());
        let entry = entry.and_then(|content| {
            postcard::from_bytes::<Entry<'_>>(content).map_err(|error| error.to_string())
        });
        match entry {
            Ok(Entry::Acts { act, .. }) => step(act, message),
            Ok(_) => None,
            Err(error) => {
                drop(cursor);
                self.part(|| format!("the recording changed while it was read: {error}"));
                None
            }
        }
    }

    fn parts(&self, what: String) {
        self.part(|| what);
    }

    fn holds(&self, process: Subject<'_>) -> Option<u64> {
        self.until.as_ref()?.holds(process)
    }

    fn acts_again(&self) -> bool {
        self.acts_again
    }
}

/// In what the inputs of a network differ first from those of the recorded one.
fn other_input(now: &[Contents<'_>], then: &[Input]) -> Option<String> {
    (0..now.len().max(then.len())).find_map(|at| match (now.get(at), then.get(at)) {
        (Some(now), Some(then)) => then.difference(now),
        (Some(now), None) => Some(format!("it did not read `{}`", now.path.display())),
        (None, then) => then.map(|then| format!("it read `{}` as well", then.path.display())),
    })
}

/// What is to be done again; nothing that is known, of a message that is not.
fn step(act: Act<'_>, into: &mut Vec<u8>) -> Option<Step> {
    Some(match act {
        Act::Sends { channel, message } => {
            into.extend_from_slice(message);
            Step::Sends { channel }
        }
        Act::Receives { channel, messages } => Step::Receives { channel, messages },
        Act::SeesEnd { channel } => Step::SeesEnd { channel },
        Act::Closes { channel } => Step::Closes { channel },
        Act::Departs { channel } => Step::Departs { channel },
        Act::Ends { failure } => Step::Ends { failure: failure.map(failure_of) },
        Act::Waits { channel, to_send } => Step::Waits { channel, to_send },
        Act::Sent { .. } => return None,
    })
}

fn failure_of(failed: Failed<'_>) -> Failure {
    let Failed { message, panicked, at, input } = failed;
    let mut failure = if panicked {
        Failure::panic(message.to_owned(), at.map(str::to_owned))
    } else {
        Failure::of(message.into())
    };
    failure.input = input.map(|(channel, number)| AtMessage { channel: channel.into(), number });
    failure
}

impl Observer for Replay {
    fn wants(&self) -> Wants {
        Wants { acts: true, contents: true, ..Wants::NOTHING }
    }

    fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
        // First: what a network is may depend on them.
        if let Some(difference) = other_input(&graph.inputs, &self.header.inputs) {
            return Err(format!("the run that was recorded had another input: {difference}"));
        }
        let mut here = Topology::of(graph);
        for (here, there) in here.channels.iter_mut().zip(&self.header.network.channels) {
            // It may have one now, to go to another rank.
            here.is_wired &= there.is_wired;
        }
        match here.difference(&self.header.network) {
            None => self.until.as_ref().map_or(Ok(()), |until| until.find(graph)),
            Some(difference) => Err(format!(
                "this is another network than the recorded one: {difference} (in the recording)"
            )),
        }
    }

    fn left(&self, channel: Subject<'_>, number: u64, message: Option<&[u8]>) {
        if let Some(until) = &self.until {
            until.add(channel, number, message);
        }
    }

    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        messages: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        let mut written = written.into_iter().flatten();
        let first = self.channels.with(channel.id, |carried| {
            messages.fold(None, |first, number| {
                let digest = written.next().map_or(0, digest);
                let differs = self.differs(channel.id, carried, digest);
                first.or_else(|| differs.map(|what| (number + 1, what)))
            })
        });
        let (process, channel) = (process.name, channel.name);
        match first {
            None => {}
            Some((last, Differs::It)) => self.part(|| {
                format!("message {last} of channel `{channel}`, from `{process}`, differs")
            }),
            Some((last, Differs::ItOrBefore)) => self.part(|| {
                format!(
                    "some message up to {last} of channel `{channel}`, from `{process}`, differs"
                )
            }),
        }
    }
}
