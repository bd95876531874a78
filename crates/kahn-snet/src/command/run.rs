//! `kahn snet run`.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

use kahn::policy::PolicyChoice;
use kahn_policies::POLICIES;

use super::{Refusal, RunArguments, Seeing, Streams, program_of};
use crate::boxes::{Boxes, Rescued, set_apart};
use crate::command::arguments::RuntimeArgument;
use crate::plan::NetId;
use crate::program::Program;
use crate::record::{self, Format, ReadError, Record, RecordReader, WriteError};
use crate::runtime::{self, Failure, Handle, Observed, Options, RunError, Runtime, Sink, Source};

const DECLARATION: &[u8] = b"<?xml version=\"1.0\" ?>\n";
/// Bytes that are written together.
const MOST_BUFFERED: usize = 1 << 16;
/// The exit code of a run that was stopped, as after Ctrl-C.
const STOPPED: u8 = 130;
const TERMINATE: &[u8] = b"<record xmlns=\"snet-home.org\" type=\"terminate\" />\n";

/// Says which policies there are.
fn unknown(policy: &str) -> Refusal {
    let names: Vec<_> = POLICIES.iter().map(PolicyChoice::name).collect();
    let refusal = Refusal::input(format!("there is no policy `{policy}`"));
    refusal.help(format!("choose one of {}", names.join(", ")))
}

pub(super) fn run(
    arguments: &RunArguments,
    streams: &mut Streams<'_>,
    seeing: Option<Seeing<'_>>,
) -> Result<(), Refusal> {
    let program = program_of(&arguments.file, streams)?;
    let net = net_of(&program, arguments.net.as_deref())?;
    let runtime = match (arguments.runtime, &arguments.policy) {
        (RuntimeArgument::Network, None) => Runtime::Network { policy: None },
        (RuntimeArgument::Network, Some(name)) => {
            let Some(policy) = kahn_policies::named(name) else {
                return Err(unknown(name));
            };
            Runtime::Network { policy: Some(policy) }
        }
        (RuntimeArgument::Front, None) => Runtime::Front,
        (RuntimeArgument::Front, Some(_)) => {
            let message = "`--policy` says how processes are run, and `--runtime front` has none";
            return Err(Refusal::input(message).help("add `--runtime network`, or leave it out"));
        }
    };
    let boxes = boxes_of(&program, arguments)?;
    if !boxes.warnings().is_empty() {
        streams.tell(boxes.warnings());
    }
    let format = Format::from(arguments.format);
    let mut options = Options {
        runtime,
        concurrency: arguments.concurrency.clone(),
        trace: arguments.trace_records,
        strict: arguments.strict,
        box_limit: arguments.box_limit.map(Duration::from_secs_f64),
        leave_if_stuck: streams.descriptor.is_some(),
        ..Options::default()
    };
    if let Some(workers) = arguments.workers {
        options.workers = usize::from(workers);
    }
    let (name, input) = input_of(arguments, streams)?;
    let source = Input { reader: RecordReader::new(format, input), format };
    let mut output = std::mem::replace(&mut streams.output, Box::new(io::sink()));
    let mut descriptor = streams.descriptor;
    if let Some(apart) = descriptor.and_then(|descriptor| set_apart(descriptor).ok()) {
        descriptor = Some(apart.as_raw_fd());
        output = Box::new(apart);
    }
    let buffer = descriptor.and_then(Rescued::new);
    let buffer = buffer.map_or(Buffer::Plain(Vec::new()), Buffer::Rescued);
    let mut sink = Output { stream: output, buffer, line: Vec::new(), format };
    let mut result = Ok(());
    if format == Format::Xml {
        result = sink.append(DECLARATION);
    }
    let work = |options: &Options| -> Result<_, RunError> {
        result.map_err(not_written)?;
        let report = runtime::run(&program, net, &boxes, options, source, &mut sink)?;
        let end: &[u8] = if format == Format::Xml { TERMINATE } else { b"" };
        sink.append(end).and_then(|()| sink.write_out()).map_err(not_written)?;
        Ok(report)
    };
    let outcome = match seeing {
        None => Some(work(&options)),
        Some(Seeing { observer, during }) => {
            let handle = Handle::new();
            options.observer = observer.map(Observed);
            options.handle = Some(handle.clone());
            let mut outcome = None;
            let mut work = Some(work);
            during(&handle, &mut || {
                outcome = work.take().map(|work| work(&options));
                matches!(outcome, Some(Ok(_)))
            });
            outcome
        }
    };
    // It was not to begin.
    let Some(outcome) = outcome else { return Ok(()) };
    match outcome {
        Ok(report) => {
            for cell in &report.half_filled {
                streams.tell(&format!("warning: the input ended, and {cell}"));
            }
            if arguments.report {
                streams.tell(&report.to_string());
            }
            Ok(())
        }
        Err(error) => {
            // What was printed before the failure was right; what follows it is not printed.
            let _ = sink.write_out();
            refuse(&name, error)
        }
    }
}

fn not_written(error: io::Error) -> RunError {
    RunError::Failed(Box::new(Failure::Output(error.into())))
}

fn refuse(input: &str, error: RunError) -> Result<(), Refusal> {
    let RunError::Failed(failure) = error else {
        return Err(Refusal::input(error.to_string()));
    };
    match *failure {
        Failure::Input(error) => Err(Refusal::input(format!("{input}: {error}"))),
        foreign @ Failure::Foreign { .. } => Err(Refusal::input(format!("{input}: {foreign}"))),
        Failure::Output(WriteError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(())
        }
        Failure::Output(error) => Err(Refusal::run(format!("cannot write the result: {error}"))),
        Failure::Stopped => Err(Refusal { code: STOPPED, message: String::new() }),
        other => Err(Refusal::run(other.to_string())),
    }
}

/// The net to work on.
pub(super) fn net_of(program: &Program, name: Option<&str>) -> Result<NetId, Refusal> {
    program.net(name).ok_or_else(|| {
        let known: Vec<&str> = program.plan().net_names().collect();
        let name = name.unwrap_or_default();
        let message = format!("{} has no net `{name}`", program.name());
        let refusal = Refusal::input(message);
        match crate::diagnostics::closest(name, known.iter().copied()) {
            Some(close) => refusal.help(format!("did you mean `{close}`?")),
            None => refusal.help(format!("it has {}", known.join(", "))),
        }
    })
}

fn boxes_of(program: &Program, arguments: &RunArguments) -> Result<Boxes, Refusal> {
    let mut boxes = Boxes::of(program);
    boxes.add_c_files(&arguments.boxes).map_err(|error| Refusal::input(error.to_string()))?;
    if let Some(missing) = boxes.missing().next() {
        let message = format!("no function for box `{}`", missing.path);
        let help = if arguments.boxes.is_empty() {
            "give the library or C file that has it with `--boxes FILE`".to_owned()
        } else {
            let name = missing.metadata("boxname").unwrap_or(&missing.name);
            format!("none of the files given with `--boxes` has a function `{name}`")
        };
        return Err(Refusal::input(message).help(help));
    }
    Ok(boxes)
}

type Lines<'a> = BufReader<Box<dyn io::Read + Send + 'a>>;

fn input_of<'a>(
    arguments: &RunArguments,
    streams: &mut Streams<'a>,
) -> Result<(String, Lines<'a>), Refusal> {
    let (name, input): (String, Box<dyn io::Read + Send + 'a>) = match &arguments.input {
        None => {
            let input = std::mem::replace(&mut streams.input, Box::new(io::empty()));
            ("standard input".to_owned(), Box::new(input))
        }
        Some(path) => {
            let name = path.display().to_string();
            let file = File::open(path)
                .map_err(|error| Refusal::input(format!("cannot read {name}: {error}")))?;
            (name, Box::new(file))
        }
    };
    Ok((name, BufReader::with_capacity(1 << 16, input)))
}

/// Records from a stream.
struct Input<'a> {
    reader: RecordReader<Lines<'a>>,
    format: Format,
}

impl Source for Input<'_> {
    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.reader.next()
    }

    fn is_ready(&self) -> bool {
        match (&self.reader, self.format) {
            (RecordReader::Json(reader), Format::Json) => reader.has_line(),
            _ => false,
        }
    }
}

/// The bytes that are still to be written.
enum Buffer {
    Plain(Vec<u8>),
    /// Written even if a box ends the process.
    Rescued(Rescued),
}

impl Buffer {
    fn change<T>(&mut self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        match self {
            Self::Plain(bytes) => change(bytes),
            Self::Rescued(rescued) => rescued.change(change),
        }
    }
}

/// Records to a stream.
struct Output<'a> {
    stream: Box<dyn Write + Send + 'a>,
    /// Whole records only.
    buffer: Buffer,
    line: Vec<u8>,
    format: Format,
}

impl Output<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.buffer.change(|buffer| {
            buffer.extend_from_slice(bytes);
            buffer.len()
        });
        if length < MOST_BUFFERED { Ok(()) } else { self.write_out() }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let stream = &mut self.stream;
        // The buffer is emptied first: what fails to be written is not tried again.
        let bytes = self.buffer.change(std::mem::take);
        stream.write_all(&bytes)?;
        stream.flush()
    }
}

impl Sink for Output<'_> {
    fn write(&mut self, record: Record) -> Result<(), WriteError> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let appended = record::append(self.format, &record, &mut line)
            .and_then(|()| self.append(&line).map_err(WriteError::Output));
        self.line = line;
        appended
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.write_out()?)
    }
}
