//! Other tools read what is written, and what they write is read. Those that are not installed are skipped
//! with a line.

mod common;

use common::{Draw, text};
use kgz::{Compress, Decompress, Format};
use std::io::Write;
use std::process::{Command, Stdio};

/// A tool: how it decompresses and how it compresses, from standard input to standard output.
struct Tool {
    name: &'static str,
    formats: &'static [Format],
    decompress: &'static [&'static str],
    compress: &'static [&'static str],
}

const TOOLS: [Tool; 5] = [
    Tool {
        name: "gzip",
        formats: &[Format::Bgzf, Format::Gzip],
        decompress: &["-dc"],
        compress: &["-c"],
    },
    Tool {
        name: "pigz",
        formats: &[Format::Bgzf, Format::Gzip],
        decompress: &["-dc"],
        compress: &["-c", "-p2"],
    },
    Tool { name: "bgzip", formats: &[Format::Bgzf], decompress: &["-dc"], compress: &["-c"] },
    Tool { name: "zstd", formats: &[Format::Zstd], decompress: &["-dcq"], compress: &["-cq"] },
    Tool {
        name: "python3",
        formats: &[Format::Bgzf, Format::Gzip],
        decompress: &[
            "-c",
            "import sys,gzip;sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))",
        ],
        compress: &[
            "-c",
            "import sys,gzip;sys.stdout.buffer.write(gzip.compress(sys.stdin.buffer.read()))",
        ],
    },
];

/// Runs a tool; `None` if it is not installed.
fn run(name: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("it has a standard input");
    let input = input.to_vec();
    #[expect(clippy::disallowed_methods, reason = "a tool is fed while it writes")]
    let feed = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the tool ends");
    feed.join().expect("it writes").expect("the tool reads all");
    assert!(output.status.success(), "{name} {arguments:?}: {}", output.status);
    Some(output.stdout)
}

/// How many files are tried with each tool: a thousand if `KGZ_ALL` asks for all.
fn files() -> u64 {
    if std::env::var_os("KGZ_ALL").is_some() { 1000 } else { 24 }
}

#[test]
fn other_tools_read_what_is_written_and_the_reverse() {
    for tool in &TOOLS {
        if run(tool.name, tool.compress, b"").is_none() {
            println!("skipped: {} is not installed", tool.name);
            continue;
        }
        let mut draw = Draw::new(23);
        for seed in 0..files() {
            let length = draw.below(200_000);
            let text = text(seed, length);
            let format = tool.formats[draw.below(tool.formats.len())];
            let level = draw.level(12);
            let mut packed = Vec::new();
            let settings = Compress::new().format(format).level(level);
            kgz::compress(&text[..], &mut packed, &settings).expect("memory is read and written");
            let read = run(tool.name, tool.decompress, &packed).expect("it was there before");
            assert!(read == text, "{} reads file {seed}, {settings:?}", tool.name);
            let written = run(tool.name, tool.compress, &text).expect("it was there before");
            let mut again = Vec::new();
            kgz::decompress(&written[..], &mut again, &Decompress::new())
                .expect("what it writes is right");
            assert!(again == text, "file {seed} of {}", tool.name);
        }
    }
}
