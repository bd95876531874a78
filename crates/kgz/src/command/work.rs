//! Compressing, decompressing, testing, listing one file.

use super::arguments::{Arguments, Task};
use super::input::{self, Input};
use super::messages::Messages;
use super::names;
use super::output::{self, Output};
use super::recording::Outside;
use crate::error::{Bytes, Error};
use crate::format::{Parsed, gzip};
use crate::index::Index;
use crate::network::{Part, Run, compress_telling, decompress_telling};
use crate::settings::{Compress, Format};
use crate::{Packed, Unpacked};
use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Instant, UNIX_EPOCH};

/// What standard input and output are called in messages.
pub(super) const STANDARD: &str = "(standard input)";

/// Why one file came to nothing.
enum Trouble {
    /// It is left alone: a warning.
    LeftAlone(String),
    /// An error.
    Failed(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<input::Refused> for Trouble {
    fn from(refused: input::Refused) -> Self {
        match refused {
            input::Refused::LeftAlone(text) => Self::LeftAlone(text),
            input::Refused::Failed(error) => error.into(),
        }
    }
}

/// Works on standard input.
pub(super) fn standard(arguments: &Arguments, outside: Outside, messages: &mut Messages) {
    let path = Path::new(STANDARD);
    recorded(path, arguments, outside, messages, |run, messages| {
        let output = begin(arguments.output.as_deref(), arguments)?;
        refuse_terminal(arguments)?;
        let has_ended = Arc::clone(&run.has_no_input);
        let source = Ending { input: io::stdin(), has_ended };
        from_its_begin(path, source, output, run, arguments, messages)
    });
}

/// Works on what is recorded of an input, without that and without an output.
#[cfg(feature = "record")]
pub(super) fn again(path: &Path, arguments: &Arguments, outside: Outside, messages: &mut Messages) {
    recorded(path, arguments, outside, messages, |run, messages| {
        from_its_begin(path, io::empty(), Output::Nowhere, run, arguments, messages)
    });
}

/// Works on one input, and ends the recording of it, if there is one, before it tells what came of it.
fn recorded(
    path: &Path,
    arguments: &Arguments,
    outside: Outside,
    messages: &mut Messages,
    work: impl FnOnce(Run, &mut Messages) -> Result<(), Trouble>,
) {
    let done = work(outside.run(arguments.parts()), messages);
    let failure = match &done {
        Err(Trouble::LeftAlone(text) | Trouble::Failed(text)) => Some(text.as_str()),
        Ok(()) if messages.has_failed() => Some("blocks were left out"),
        Ok(()) => None,
    };
    let failure = failure.map(|text| format!("{}: {text}", path.display()));
    if outside.end(failure.as_deref(), messages) {
        tell(path, done, messages);
    }
}

/// An input, which tells when there is nothing more of it.
struct Ending<R> {
    input: R,
    has_ended: Arc<AtomicBool>,
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer);
        let goes_on = match &read {
            Ok(count) => *count > 0 || buffer.is_empty(),
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        };
        if !goes_on {
            // Pairs with the load in `finished`, whose outcome may rest on this.
            self.has_ended.store(true, Release);
        }
        read
    }
}

fn refuse_terminal(arguments: &Arguments) -> Result<(), Trouble> {
    if arguments.task != Task::Compress && io::stdin().is_terminal() && !arguments.force {
        let text = "compressed data is not read from a terminal (`kgz --help` lists the options)";
        return Err(Trouble::Failed(text.to_owned()));
    }
    Ok(())
}

/// Works on an input that is not a file with its own output, and is read from its begin.
fn from_its_begin(
    path: &Path,
    source: impl Read + Send + 'static,
    output: Output,
    run: Run,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let part = match &arguments.task {
        Task::Compress => return pack(path, source, output, None, run, arguments, messages),
        Task::Range(wanted) => Part { offset: 0, wanted: wanted.clone() },
        Task::Decompress | Task::Test | Task::List => Part::ALL,
    };
    unpack(path, Job { source, part, run }, output, None, arguments, messages)
}

/// Works on a file.
pub(super) fn file(path: &Path, arguments: &Arguments, outside: Outside, messages: &mut Messages) {
    recorded(path, arguments, outside, messages, |run, messages| {
        if arguments.kept.is_some() {
            // What is read of a file comes at once: the end of the run is waited for, and so its report is there.
            run.has_no_input.store(true, Release);
        }
        match arguments.task {
            Task::Compress => pack_file(path, run, arguments, messages),
            Task::Decompress => unpack_file(path, run, arguments, messages),
            Task::Test | Task::List => {
                let is_removed_later = false;
                let input = input::open(path, true, is_removed_later)?;
                let like = input.found.clone();
                let job = Job { source: input.file, part: Part::ALL, run };
                unpack(path, job, Output::Nowhere, Some(&like), arguments, messages)
            }
            Task::Range(ref wanted) => unpack_range(path, wanted, run, arguments, messages),
        }
    });
}

fn tell(path: &Path, done: Result<(), Trouble>, messages: &mut Messages) {
    match done {
        Ok(()) => {}
        Err(Trouble::LeftAlone(text)) => messages.warn(path, text),
        Err(Trouble::Failed(text)) => messages.error(path, &text),
    }
}

/// Where output goes that has no file of its own.
fn begin(path: Option<&Path>, arguments: &Arguments) -> Result<Output, Trouble> {
    let output = match (path, &arguments.task) {
        (_, Task::Test | Task::List) => Output::Nowhere,
        (None, _) => Output::Standard,
        (Some(path), _) => begin_file(path, arguments)?,
    };
    if arguments.task == Task::Compress && output.is_terminal() && !arguments.force {
        let text = "compressed data is not written to a terminal (`-f` does it)";
        return Err(Trouble::Failed(text.to_owned()));
    }
    Ok(output)
}

fn begin_file(path: &Path, arguments: &Arguments) -> Result<Output, Trouble> {
    Output::begin(path, arguments.force).map_err(|refused| refused_output(path, refused))
}

fn refused_output(path: &Path, refused: output::Refused) -> Trouble {
    match refused {
        output::Refused::Exists => Trouble::LeftAlone(format!(
            "{} exists; nothing was done (`-f` replaces it)",
            path.display()
        )),
        output::Refused::Failed(error) => Trouble::Failed(format!("{}: {error}", path.display())),
    }
}

fn pack_file(
    path: &Path,
    run: Run,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let own = arguments.output.is_none() && !arguments.to_stdout;
    let is_removed_later = own && !arguments.keep;
    let input = input::open(path, arguments.force || !own, is_removed_later)?;
    let target = if own {
        let name = names::compressed(path, arguments);
        Some(name.ok_or_else(|| {
            Trouble::LeftAlone("has the suffix of a compressed file; left alone".to_owned())
        })?)
    } else {
        arguments.output.clone()
    };
    let output = begin(target.as_deref(), arguments)?;
    let source = input.file.try_clone()?;
    let file = Some((&input, target.as_deref()));
    pack(path, source, output, file, run, arguments, messages)?;
    if is_removed_later {
        remove(&input, messages);
    }
    Ok(())
}

fn remove(input: &Input, messages: &mut Messages) {
    match input.remove() {
        Ok(true) => {}
        Ok(false) => {
            messages.warn(&input.path, "was replaced by another file meanwhile; it is kept");
        }
        Err(error) => messages.warn(&input.path, format_args!("could not be removed: {error}")),
    }
}

/// Compresses an input, which may be a file with a target, into an output.
fn pack(
    path: &Path,
    source: impl Read + Send + 'static,
    output: Output,
    file: Option<(&Input, Option<&Path>)>,
    run: Run,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let begun = now();
    let settings = settings(file.map(|(input, _)| input), arguments);
    let writer = output.writer()?;
    let for_thread = settings.clone();
    let (tell, outcome) = mpsc::channel();
    let has_no_input = Arc::clone(&run.has_no_input);
    let worker = on_a_thread(move || {
        let writer = io::BufWriter::with_capacity(1 << 17, writer);
        compress_telling(source, writer, &for_thread, run, tell);
    });
    let packed = finished(worker, &has_no_input, &outcome)?;
    let target = file.and_then(|(_, target)| target);
    commit(output, file.map(|(input, _)| &input.found), None, target)?;
    if let (true, Format::Bgzf, Some(target)) =
        (arguments.index, arguments.format, target.or(arguments.output.as_deref()))
    {
        write_index(target, &packed.index, arguments)?;
    }
    if arguments.verbose {
        let memory = megabytes(settings.memory());
        let text = format!(
            "{} became {}, {} saved; memory for blocks: at most {memory}",
            Bytes(packed.read),
            Bytes(packed.written),
            percent(packed.read, packed.written)
        );
        messages.note(path, text);
    }
    if arguments.stats {
        stats(path, "compress", &Figures::of(&packed, begun, settings.memory()), messages);
    }
    Ok(())
}

/// The settings for a file: its name and time, if they are wanted.
fn settings(input: Option<&Input>, arguments: &Arguments) -> Compress {
    let settings = arguments.compress.clone();
    if !arguments.name {
        return settings;
    }
    let Some(input) = input else { return settings };
    let name = input.path.file_name().unwrap_or_default();
    let modified =
        input.found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let seconds = modified.and_then(|since| u32::try_from(since.as_secs()).ok()).unwrap_or(0);
    settings.name(std::os::unix::ffi::OsStrExt::as_bytes(name), seconds)
}

fn write_index(target: &Path, index: &Index, arguments: &Arguments) -> Result<(), Trouble> {
    let mut path = target.as_os_str().to_owned();
    path.push(".gzi");
    let path = PathBuf::from(path);
    let output = begin_file(&path, arguments)?;
    index.write_gzi(io::BufWriter::new(output.writer()?))?;
    commit(output, None, None, Some(&path))
}

fn unpack_file(
    path: &Path,
    run: Run,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let own = arguments.output.is_none() && !arguments.to_stdout;
    let is_removed_later = own && !arguments.keep;
    let found = find_compressed(path, arguments);
    let path = found.as_path();
    let mut input = input::open(path, arguments.force || !own, is_removed_later)?;
    let mut modified = None;
    let target = if own {
        let named = if arguments.name { told_name(&mut input)? } else { None };
        let name = named.map(|(name, time)| {
            modified = Some(time);
            names::told(path, &name)
        });
        let name = name.flatten().or_else(|| names::decompressed(path, arguments));
        Some(name.ok_or_else(|| {
            Trouble::LeftAlone("has no suffix of a compressed file; left alone".to_owned())
        })?)
    } else {
        arguments.output.clone()
    };
    let output = begin(target.as_deref(), arguments)?;
    let source = input.file.try_clone()?;
    let like = Like { found: &input.found, modified, target: target.as_deref() };
    let job = Job { source, part: Part::ALL, run };
    unpack_as(path, job, output, Some(&like), arguments, messages)?;
    if is_removed_later {
        remove(&input, messages);
    }
    Ok(())
}

/// The file of this name, or, if there is none, the one with the suffix behind it. What is recorded is told by the
/// name that was typed.
fn find_compressed(path: &Path, arguments: &Arguments) -> PathBuf {
    if arguments.kept.is_some() || fs::symlink_metadata(path).is_ok() {
        return path.to_owned();
    }
    let mut longer = path.as_os_str().to_owned();
    longer.push(&arguments.suffix);
    if fs::symlink_metadata(&longer).is_ok() { longer.into() } else { path.to_owned() }
}

/// The name and the time that the header of a gzip file tells.
fn told_name(input: &mut Input) -> io::Result<Option<(Vec<u8>, u32)>> {
    let mut bytes = Vec::new();
    input.file.by_ref().take(64 << 10).read_to_end(&mut bytes)?;
    input.file.seek(SeekFrom::Start(0))?;
    Ok(match gzip::parse(&bytes) {
        Parsed::Whole(header) => Some((bytes[header.name].to_vec(), header.modified)),
        Parsed::Needs(_) | Parsed::Wrong(_) => None,
    })
}

fn unpack_range(
    path: &Path,
    wanted: &Range<u64>,
    run: Run,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let mut input = input::open(path, true, false)?;
    let index = if arguments.kept.is_some() {
        // A recording is one of all that comes before, as that of standard input.
        None
    } else {
        match read_index(&input)? {
            Some(index) => Some(index),
            None => Index::scan(io::BufReader::new(&mut input.file))?,
        }
    };
    // Without an index, what comes before is decompressed and left out.
    let begin_at = index.map(|index| index.find(wanted.start)).unwrap_or_default();
    input.file.seek(SeekFrom::Start(begin_at.packed))?;
    let shifted = |at: u64| if at == u64::MAX { at } else { at - begin_at.plain };
    let part = Part { offset: begin_at.packed, wanted: shifted(wanted.start)..shifted(wanted.end) };
    let output = begin(arguments.output.as_deref(), arguments)?;
    let job = Job { source: input.file, part, run };
    unpack(path, job, output, None, arguments, messages)
}

/// The `.gzi` file beside a file, if there is one that was written after it. An older one may be that of
/// another file which had the same name; what it says is then found anew.
fn read_index(input: &Input) -> Result<Option<Index>, Trouble> {
    let mut beside = input.path.as_os_str().to_owned();
    beside.push(".gzi");
    let file = match File::open(&beside) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let written = file.metadata()?;
    if (written.mtime(), written.mtime_nsec()) < (input.found.ctime(), input.found.ctime_nsec()) {
        return Ok(None);
    }
    let index = Index::read_gzi(io::BufReader::new(file));
    let wrong = |error| Trouble::Failed(format!("{}: {error}", Path::new(&beside).display()));
    index.map(Some).map_err(wrong)
}

/// What is decompressed, which part of it, and how.
struct Job<R> {
    source: R,
    part: Part,
    run: Run,
}

fn unpack(
    path: &Path,
    job: Job<impl Read + Send + 'static>,
    output: Output,
    found: Option<&Metadata>,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let like = found.map(|found| Like { found, modified: None, target: None });
    unpack_as(path, job, output, like.as_ref(), arguments, messages)
}

/// The file that output is made from, and what it is to become.
struct Like<'a> {
    found: &'a Metadata,
    modified: Option<u32>,
    target: Option<&'a Path>,
}

fn unpack_as(
    path: &Path,
    Job { source, part, run }: Job<impl Read + Send + 'static>,
    output: Output,
    like: Option<&Like<'_>>,
    arguments: &Arguments,
    messages: &mut Messages,
) -> Result<(), Trouble> {
    let begun = now();
    let writer = output.writer()?;
    let for_thread = arguments.decompress.clone();
    let (tell, outcome) = mpsc::channel();
    let has_no_input = Arc::clone(&run.has_no_input);
    let worker = on_a_thread(move || {
        let writer = io::BufWriter::with_capacity(1 << 17, writer);
        decompress_telling(source, writer, &for_thread, part, run, tell);
    });
    let unpacked = finished(worker, &has_no_input, &outcome)?;
    let found = like.map(|like| like.found);
    if arguments.task == Task::List {
        let packed = found.map_or(unpacked.read, Metadata::len);
        let saved = percent(unpacked.written, packed);
        messages.list(packed, unpacked.written, &saved, path);
    }
    let modified = like.and_then(|like| like.modified);
    let target = like.and_then(|like| like.target);
    commit(output, found, modified, target.or(arguments.output.as_deref()))?;
    if arguments.verbose && arguments.task != Task::List {
        let verb = if arguments.task == Task::Test { "is right" } else { "written" };
        messages.note(path, format_args!("{} {verb}", Bytes(unpacked.written)));
    }
    if arguments.stats {
        stats(path, "decompress", &Figures::of_unpacked(&unpacked, begun), messages);
    }
    damage(path, &unpacked, messages);
    Ok(())
}

/// Tells of blocks that were left out, and of what stands behind the last one.
fn damage(path: &Path, unpacked: &Unpacked, messages: &mut Messages) {
    if let Some(at) = unpacked.garbage {
        messages
            .warn(path, format_args!("what follows the compressed data at byte {at} is ignored"));
    }
    for error in &unpacked.damaged {
        messages.error(path, &format_args!("left out: {error}"));
    }
}

/// The time, which goes into figures alone.
#[expect(clippy::disallowed_methods, reason = "how long it took is told, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

/// Runs a network on a thread of its own, which may stay behind in a call of the system.
#[expect(clippy::disallowed_methods, reason = "it calls `run`, which starts all other threads")]
fn on_a_thread(work: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(work)
}

/// Waits for the outcome; not for the thread, which may wait for input for ever, unless there is none.
fn finished<T>(
    worker: thread::JoinHandle<()>,
    has_no_input: &AtomicBool,
    outcome: &mpsc::Receiver<Result<T, Error>>,
) -> Result<T, Trouble> {
    let outcome =
        outcome.recv().unwrap_or_else(|_| Err(Error::Run("the network ended early".to_owned())));
    if outcome.is_ok() || has_no_input.load(Acquire) {
        // All is written. What a panic of it would say has been said.
        let _ = worker.join();
    }
    Ok(outcome?)
}

fn commit(
    output: Output,
    found: Option<&Metadata>,
    modified: Option<u32>,
    target: Option<&Path>,
) -> Result<(), Trouble> {
    let path = target.unwrap_or(Path::new("(output)")).to_owned();
    output.commit(found, modified).map_err(|refused| refused_output(&path, refused))
}

/// Lists the sums of all files, if there were several.
pub(super) fn list_totals(messages: &mut Messages) {
    if let Some((packed, plain)) = messages.totals() {
        messages.list(packed, plain, &percent(plain, packed), Path::new("(all)"));
    }
}

fn percent(whole: u64, left: u64) -> String {
    if whole == 0 {
        return "0.0 %".to_owned();
    }
    // Precise enough for a percentage with one digit.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let saved = 100.0 * (1.0 - left as f64 / whole as f64);
    format!("{saved:.1} %")
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}

/// The figures of one file.
struct Figures {
    read: u64,
    written: u64,
    blocks: Option<u64>,
    memory: Option<u64>,
    seconds: f64,
}

impl Figures {
    fn of(packed: &Packed, begun: Instant, memory: u64) -> Self {
        Self {
            read: packed.read,
            written: packed.written,
            blocks: Some(packed.blocks),
            memory: Some(memory),
            seconds: begun.elapsed().as_secs_f64(),
        }
    }

    fn of_unpacked(unpacked: &Unpacked, begun: Instant) -> Self {
        Self {
            read: unpacked.read,
            written: unpacked.written,
            blocks: None,
            memory: None,
            seconds: begun.elapsed().as_secs_f64(),
        }
    }
}

fn stats(path: &Path, task: &str, figures: &Figures, messages: &mut Messages) {
    let json = serde_json::json!({
        "file": path.to_string_lossy(),
        "task": task,
        "bytes_read": figures.read,
        "bytes_written": figures.written,
        "blocks": figures.blocks,
        "memory_at_most": figures.memory,
        "seconds": figures.seconds,
    });
    messages.raw(json);
}
