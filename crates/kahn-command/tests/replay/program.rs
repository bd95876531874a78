//! The program that is recorded: numbers from standard input are added up.

use flate2::read::GzDecoder;
use kahn::{BoxError, Channel, Network, Process, Receiver};
use kahn_command::Answer;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

/// Adds up the numbers of standard input; a sum that is a multiple of 1009 fails.
#[derive(clap::Args)]
struct Arguments {
    /// Gives the numbers no written form
    #[arg(long)]
    bare: bool,

    /// Decompresses standard input instead, and counts its bytes
    #[arg(long)]
    gzip: bool,

    /// Writes the sums into this file while the network runs
    #[arg(long)]
    sink: Option<PathBuf>,

    /// Writes the last sum into this file after the run
    #[arg(long)]
    file: Option<PathBuf>,
}

/// A channel of numbers with a written form.
fn numbers(name: &str) -> Channel<u64> {
    Channel::named(name).wire_with(
        |number, into| into.extend(number.to_le_bytes()),
        |bytes| Ok::<_, BoxError>(u64::from_le_bytes(bytes.try_into()?)),
    )
}

/// What is other in this run than in that which was recorded: the program has changed since.
pub(crate) const CHANGED: &str = "KAHN_TEST_CHANGED";

fn build<'env>(arguments: &'env Arguments, network: &mut Network<'env>) -> Answer<'env> {
    #[expect(clippy::disallowed_methods, reason = "the test says so, and no recording does")]
    let changed = std::env::var(CHANGED).unwrap_or_default();
    let read = if arguments.bare { Channel::named("read") } else { numbers("read") };
    let (out, read) = network.channel_with(read);
    network.blocking("lines", out, |mut out| {
        for line in io::stdin().lines() {
            let line = line.map_err(|error| error.to_string())?;
            out.send_blocking(line.parse().map_err(|_| format!("`{line}` is no number"))?);
        }
        Ok::<(), String>(())
    });
    let (out, sums) = network.channel_with(numbers("sums"));
    let is_other = changed == "sum";
    network.process("add", (read, out), async move |(mut read, mut out)| {
        let (mut sum, mut number) = (0, 0);
        while let Some(n) = read.recv().await {
            (sum, number) = (sum + n, number + 1);
            if number == 700 && is_other {
                sum += 1;
            }
            assert!(sum % 1009 != 0, "the sum is {sum}");
            out.send(sum).await;
        }
    });
    let (out, kept) = network.channel_with(numbers("kept"));
    network.process_with(
        Process::named("note").effects(),
        (sums, out),
        async |(mut sums, mut kept)| {
            let mut count = 0;
            while let Some(sum) = sums.recv().await {
                count += 1;
                if count % 100 == 0 {
                    kahn_command::note(format_args!("{count} numbers"));
                }
                kept.send(sum).await;
            }
        },
    );
    let name = if changed == "name" { "last" } else { "the last" };
    let mut copies = network.tee("copy", kept, 1 + usize::from(arguments.sink.is_some()));
    let kept = copies.pop().expect("there is one");
    if let (Some(sink), Some(copy)) = (&arguments.sink, copies.pop()) {
        let texts = network.map("text", copy, |sum| format!("{sum}\n"));
        network.write_file("sink", texts, sink);
    }
    let last = network.fold(name, kept, 0, |_, sum| sum);
    match &arguments.file {
        Some(file) => Answer::from(last).file(file, |out| writeln!(out, "done")),
        None => Answer::from(last),
    }
}

/// The bytes of a channel, one after the other.
struct Bytes {
    chunks: Receiver<Vec<u8>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.chunk.read(into)? {
                0 => match self.chunks.recv_blocking() {
                    Some(chunk) => self.chunk = io::Cursor::new(chunk),
                    None => return Ok(0),
                },
                count => return Ok(count),
            }
        }
    }
}

fn decompress<'env>(network: &mut Network<'env>) -> Answer<'env> {
    let (out, chunks) = network.channel_with(Channel::named("chunks").wire());
    network.blocking("read", out, |mut out| {
        loop {
            let mut chunk = Vec::new();
            match io::stdin().take(500).read_to_end(&mut chunk)? {
                0 => return Ok::<(), io::Error>(()),
                _ => out.send_blocking(chunk),
            }
        }
    });
    let (out, texts) = network.channel("texts");
    network.blocking("unpack", (chunks, out), |(chunks, mut out)| {
        let bytes = Bytes { chunks, chunk: io::Cursor::default() };
        let mut decoder = GzDecoder::new(bytes);
        loop {
            let mut text = Vec::new();
            match decoder.by_ref().take(900).read_to_end(&mut text)? {
                0 => return Ok::<(), io::Error>(()),
                _ => out.send_blocking(text),
            }
        }
    });
    network.fold("bytes", texts, 0, |sum, text: Vec<u8>| sum + text.len()).into()
}

pub(crate) fn program() -> ExitCode {
    kahn_command::main(|arguments: &Arguments, network| {
        Ok(if arguments.gzip { decompress(network) } else { build(arguments, network) })
    })
}
