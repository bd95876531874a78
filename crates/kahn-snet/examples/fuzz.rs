//! Fuzzes what reads and what runs: the lexer, the parser, the checks behind it, the formatter, the
//! readers of records, and programs that are found to be right. Builds on stable, and needs nothing.
//!
//! ```text
//! cargo run --release -p kahn-snet --example fuzz -- 900 1 2 3    so many seconds, from these seeds
//! afl-fuzz … target/release/examples/fuzz                         one text, from standard input
//! target/release/examples/fuzz run                                one program, read and run
//! ```
//!
//! Texts are those of the test suite, cut up, joined and changed at random, by bytes and by tokens.
//! Nothing may panic; no text takes more than two seconds or a gigabyte; what is printed is read as
//! what it was. What is right is run in a process of its own, which has the same limits. A program
//! with a star or a feedback may go on for ever by its own doing: then it is stopped, and must have
//! been at work. `ci/fuzz.sh` is the short form.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a tool that watches the time, and tells a person"
)]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kahn_snet::boxes::Boxes;
use kahn_snet::record::{Format, Record, RecordReader};
use kahn_snet::runtime::{Options, Ready, Runtime, run};
use kahn_snet::{Program, syntax};
use parking_lot::Mutex;

/// Longer texts only take longer.
const MOST_BYTES: usize = 4000;
const MOST_TIME: Duration = Duration::from_secs(2);
const MOST_KILOBYTES: u64 = 1_000_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let Some((seconds, seeds)) = numbers.split_first().filter(|(_, seeds)| !seeds.is_empty())
    else {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).expect("standard input is readable");
        let program = check(&bytes);
        if words.first().is_some_and(|word| word == "run") && program.is_valid() {
            perform(&program);
        }
        return ExitCode::SUCCESS;
    };
    let now = Arc::new(Mutex::new((Instant::now(), Vec::new())));
    let watched = Arc::clone(&now);
    std::thread::spawn(move || watch(&watched));
    let mut counts = Counts::default();
    let texts = texts();
    let end = Instant::now() + Duration::from_secs(*seconds);
    for (index, seed) in seeds.iter().enumerate() {
        let left = u32::try_from(seeds.len() - index).unwrap_or(1);
        let until = Instant::now() + end.saturating_duration_since(Instant::now()) / left;
        let mut random = Random(*seed);
        while Instant::now() < until {
            let text = made(&texts, &mut random);
            *now.lock() = (Instant::now(), text.clone());
            let program = check(&text);
            counts.texts += 1;
            counts.slowest = counts.slowest.max(since(&now));
            if !program.is_valid() || program.plan().boxes().next().is_some() {
                continue;
            }
            // The process has limits of its own.
            now.lock().1.clear();
            if !counts.run(&text, &program) {
                eprintln!("seed {seed}:\n{}", String::from_utf8_lossy(&text));
                return ExitCode::FAILURE;
            }
        }
    }
    let peak = peak_kilobytes();
    println!(
        "{} texts, the slowest {:?}; {} programs run, {} of them failed as they should, {} went on \
         without end by a star or feedback; at most {peak} kB",
        counts.texts, counts.slowest, counts.run, counts.failed, counts.endless
    );
    if peak > MOST_KILOBYTES { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[derive(Default)]
struct Counts {
    texts: u64,
    slowest: Duration,
    run: u64,
    failed: u64,
    endless: u64,
}

impl Counts {
    /// Runs a program in a process of its own; returns whether all was well.
    fn run(&mut self, text: &[u8], program: &Program) -> bool {
        let this = std::env::current_exe().expect("this program");
        let limited = format!("ulimit -v {}; exec \"$0\" run", 2 * MOST_KILOBYTES);
        let mut child = Command::new("sh")
            .args(["-c", &limited])
            .arg(this)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let given = child.stdin.take().map(|mut input| input.write_all(text));
        assert!(given.is_some_and(|given| given.is_ok()), "the text was not read");
        self.run += 1;
        let begin = Instant::now();
        let stopped = loop {
            match child.try_wait().expect("a child") {
                Some(status) if status.success() => return true,
                Some(_) => break false,
                None if begin.elapsed() > MOST_TIME => break true,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let worked = stopped && works(child.id());
        let _ = child.kill();
        let output = child.wait_with_output().expect("a child");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let out_of_memory = words.contains("memory allocation") || words.contains("no thread");
        // Stars and feedbacks are drawn as such.
        let net = program.net(None).expect("a net");
        let drawn = kahn_snet::plan::dot(program.plan(), net);
        let loops = drawn.contains("shape=house") || drawn.contains('*') || drawn.contains('\\');
        if loops && (worked || out_of_memory) {
            self.endless += 1;
            return true;
        }
        if !stopped && words.contains("a failure of the program") && !words.contains("panicked") {
            self.failed += 1;
            return true;
        }
        eprintln!("stopped {stopped}, at work {worked}, {}: {words}", output.status);
        false
    }
}

/// Whether a process used time of a core, or waits for one: the machine may have much else to do.
fn works(id: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let mut states =
        threads.filter_map(|one| std::fs::read_to_string(one.path().join("stat")).ok());
    if states.any(|text| text.rsplit(')').next().is_some_and(|rest| rest.starts_with(" R"))) {
        return true;
    }
    let Ok(text) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return true };
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    // Hundredths of a second, of the process and of the system for it.
    ticks(12).zip(ticks(13)).is_none_or(|(own, system)| own + system > 20)
}

fn since(now: &Mutex<(Instant, Vec<u8>)>) -> Duration {
    now.lock().0.elapsed()
}

/// Ends the process if one text takes too long.
fn watch(now: &Mutex<(Instant, Vec<u8>)>) {
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let (begin, text) = now.lock().clone();
        // What runs cannot be stopped: the process ends.
        if !text.is_empty() && begin.elapsed() > MOST_TIME {
            eprintln!("more than {MOST_TIME:?} for\n{}", String::from_utf8_lossy(&text));
            std::process::exit(1);
        }
    }
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Reads bytes as everything that they could be.
fn check(bytes: &[u8]) -> Program {
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
        let twice = syntax::format(&printed).expect("what was printed is read");
        assert_eq!(twice, printed, "printed twice\n{text}");
    }
    program
}

/// Runs a program over records of the types that it takes, in both runtimes.
fn perform(program: &Program) {
    let net = program.net(None).expect("a net");
    let signature = program.signatures().last().expect("a net");
    let inputs = signature.maps.iter().filter_map(|map| map.input.as_ref());
    let records: Vec<Record> = inputs
        .flat_map(|input| {
            (0..4).map(move |n| {
                let words: Vec<String> =
                    input.0.iter().map(|label| label.name.to_string()).collect();
                input.0.iter().zip(words).fold(Record::new(), |record, (label, name)| {
                    match label.to_string().as_bytes() {
                        [b'<', b'#', ..] => record.btag(&name, n),
                        [b'<', ..] => record.tag(&name, n),
                        _ => record.field(&name, n),
                    }
                })
            })
        })
        .collect();
    let mut failed = 0;
    for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
        let options = Options { runtime, workers: 2, ..Options::default() };
        let input = Ready(records.clone().into_iter());
        let mut output: Vec<Record> = Vec::new();
        if let Err(error) = run(program, net, &Boxes::of(program), &options, input, &mut output) {
            eprintln!("a failure of the program: {error}");
            failed += 1;
        }
    }
    if failed > 0 {
        std::process::exit(3);
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

fn made(texts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if random.below(2) == 0 { changed_bytes(texts, random) } else { changed_tokens(texts, random) }
}

/// Joins pieces of texts, and changes some bytes.
fn changed_bytes(texts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
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

/// Changes, doubles, drops and exchanges a few tokens of a text: much of that is still a program.
fn changed_tokens(texts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let tokens_of = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        let code: String =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let mut tokens: Vec<String> = Vec::new();
        for one in code.chars() {
            let word = one.is_alphanumeric() || one == '_';
            let mark = "|*!\\.=-><&".contains(one);
            let joins = |last: &&mut String| {
                last.chars().next_back().is_some_and(|before| {
                    (word && (before.is_alphanumeric() || before == '_'))
                        || (mark && before == one && last.len() < 3 && one != '<' && one != '>')
                        || (one == '>' && before == '-')
                        || (one == ']' && before == '|')
                        || (one == '|' && before == '[')
                        || (one == '=' && "<>!".contains(before))
                })
            };
            match tokens.last_mut().filter(joins) {
                Some(last) => last.push(one),
                None => tokens.push(one.to_string()),
            }
        }
        tokens
    };
    let mut tokens = tokens_of(&texts[2 + random.below(texts.len() - 2)]);
    let other = tokens_of(&texts[2 + random.below(texts.len() - 2)]);
    for _ in 0..random.below(4) {
        if tokens.is_empty() || other.is_empty() {
            break;
        }
        let at = random.below(tokens.len());
        let end = (at + 1 + random.below(12)).min(tokens.len());
        match random.below(6) {
            0 => tokens[at].clone_from(&other[random.below(other.len())]),
            1 => drop(tokens.drain(at..end)),
            2 => {
                let copy = tokens[at..end].to_vec();
                tokens.splice(at..at, copy);
            }
            3 => {
                let from = random.below(other.len());
                let to = (from + 1 + random.below(20)).min(other.len());
                tokens.splice(at..end, other[from..to].iter().cloned());
            }
            4 => {
                let with = random.below(tokens.len());
                tokens.swap(at, with);
            }
            _ => {
                let double = tokens[at].repeat(2);
                if ["|", "*", "!", "\\"].contains(&tokens[at].as_str()) {
                    tokens[at] = double;
                }
            }
        }
    }
    let mut bytes = tokens.concat().into_bytes();
    bytes.truncate(MOST_BYTES);
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
