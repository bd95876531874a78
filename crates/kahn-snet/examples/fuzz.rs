//! Fuzzes what reads: the lexer, the parser, the checks behind it, the formatter, and the readers of
//! records. Builds on stable, and needs nothing.
//!
//! ```text
//! cargo run --release -p kahn-snet --example fuzz -- 100000 7     so many texts, from this seed
//! afl-fuzz … target/release/examples/fuzz                         one text, from standard input
//! ```
//!
//! Texts are those of the test suite, cut up, joined and changed at random. Nothing may panic, a text
//! takes a bounded time and bounded memory, and what is printed is read as what it was. The same is
//! tested with other texts in `tests/laws`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use kahn_snet::record::{Format, RecordReader};
use kahn_snet::{Program, syntax};

/// Longer texts only take longer.
const MOST_BYTES: usize = 4000;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [count, seed] = numbers[..] else {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).expect("standard input is readable");
        check(&bytes);
        return;
    };
    let mut random = Random(seed);
    let texts = texts();
    for _ in 0..count {
        check(&made(&texts, &mut random));
    }
}

/// Reads bytes as everything that they could be.
fn check(bytes: &[u8]) {
    for format in [Format::Json, Format::Xml] {
        for record in RecordReader::new(format, bytes) {
            if record.is_err() {
                break;
            }
        }
    }
    let text = String::from_utf8_lossy(bytes);
    let program = Program::read("main.snet", text.clone());
    let _ = program.render(false);
    if let Ok(printed) = syntax::format(&text) {
        let again = syntax::parse(&printed).definitions;
        assert_eq!(again, syntax::parse(&text).definitions, "printing has changed\n{text}");
    }
}

/// The programs of the test suite, and records.
fn texts() -> Vec<Vec<u8>> {
    let suite: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "suite"].iter().collect();
    let mut texts = vec![
        br#"{"fields":{"a":[1,2.5,"x",null,{"b":{"$bytes":"AAEC"}}]},"tags":{"n":-3}}"#.to_vec(),
        b"<?xml version=\"1.0\" ?>\n<record xmlns=\"snet-home.org\" type=\"data\" mode=\"textual\" \
          interface=\"C4SNet\"><field label=\"a\">(double[2])1,2</field><tag label=\"t\">7</tag>\
          </record>\n<record type=\"terminate\" />"
            .to_vec(),
    ];
    for folder in ["accepted", "beginners", "refused", "run"] {
        texts.extend(files(&suite.join(folder)).iter().filter_map(|path| std::fs::read(path).ok()));
    }
    texts
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the test suite is there");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "snet"));
    paths.sort();
    paths
}

/// Joins pieces of texts, and changes some bytes.
fn made(texts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(3) {
        let text = &texts[random.below(texts.len())];
        let from = random.below(text.len() + 1);
        let to = from + random.below(text.len() - from + 1);
        bytes.extend_from_slice(if random.below(4) == 0 { text } else { &text[from..to] });
    }
    bytes.truncate(MOST_BYTES);
    for _ in 0..random.below(8) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[at] = u8::try_from(random.below(256)).unwrap_or(0),
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b"{}[]()<>|*!\\.;,=-\"0"[random.below(19)]),
        }
    }
    bytes
}

/// `SplitMix64` (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = z ^ (z >> 31);
        usize::try_from(number % bound.max(1) as u64).unwrap_or(0)
    }
}
