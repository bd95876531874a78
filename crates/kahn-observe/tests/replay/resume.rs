//! A run that was cut short goes on from any beginning of its recording, to the bytes of one that was not, and touches
//! nothing but what is its own.

use super::reported;
use kahn::{BoxError, Channel, Network, Options, Process, Report, RunError};
use kahn_observe::record::{Act, Entry, Header, ReadError, Reader, Recorder, Replay, Resume};
use parking_lot::Mutex;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A channel of texts with a written form.
fn texts(name: &str) -> Channel<String> {
    Channel::named(name).wire_with(
        |text: &String, into| into.extend(text.as_bytes()),
        |bytes| Ok::<_, BoxError>(String::from_utf8(bytes.to_vec())?),
    )
}

const LINES: usize = 40;

/// What the source reads.
fn input() -> String {
    let line = |n: usize| format!("line {n} of {}\n", "x".repeat(n * 7 % 11));
    (0..LINES).map(line).collect()
}

/// What `build` writes into the file.
fn expected() -> String {
    let mut sum = 0;
    let lines = input();
    let numbered = lines.lines().map(|line| {
        sum += line.len();
        format!("{sum} {line}\n")
    });
    numbered.collect()
}

/// Reads lines, gives them sums that go round in a cycle, and writes them to `out`.
fn build<'env>(network: &mut Network<'env>, input: &'env str, out: &Path) {
    let lines = network.lines(texts("lines"), input.as_bytes());
    let (back_out, back) = network.channel_with(Channel::named("back").initial([0_usize]));
    let (summed_out, summed) = network.channel_with(texts("summed"));
    let ports = (lines, back, summed_out, back_out);
    network.process("add", ports, async |(mut lines, mut back, mut summed, mut round)| {
        while let (Some(line), Some(sum)) = (lines.recv().await, back.recv().await) {
            let sum = sum + line.len();
            summed.send(format!("{sum} {line}\n")).await;
            round.send(sum).await;
        }
    });
    network.write_file("write", summed, out);
}

/// A folder with what a run has left that wrote `out` and was killed.
struct Killed {
    folder: tempfile::TempDir,
}

impl Killed {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// All that is in it.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("it is there");
        let names = entries.map(|entry| entry.expect("it is read").file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().expect("text")).collect();
        names.sort();
        names
    }

    /// Leaves the beginning of a recording, and beside `out` what is there then: more than was saved.
    fn leave(&self, recording: &[u8]) {
        for name in self.names() {
            fs::remove_file(self.path(&name)).expect("it is removed");
        }
        fs::write(self.path("run.rec"), recording).expect("it is written");
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(self.path("run.rec"), mode).expect("it is set");
        if let Some(Last { part, bytes, .. }) = last(recording) {
            let mut left = expected().as_bytes()[..bytes].to_vec();
            left.extend([b'?'; 5000]);
            fs::write(self.path(&part), left).expect("it is written");
        }
    }

    /// Goes on; returns the report, what is told before, and what differs.
    fn resume(&self, input: &str) -> Result<(Report, Vec<String>, Option<String>), String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&lines);
        let resume = Resume::open(self.path("run.rec")).map_err(|error| error.to_string())?;
        let resume = resume.saves_each(3);
        let resume = resume.tells(move |line| told.lock().push(line.to_owned()));
        let resume = Arc::new(resume);
        let mut network = Network::new();
        network.replay(Arc::clone(&resume) as _);
        build(&mut network, input, &self.path("out"));
        let handle = network.stop_handle();
        resume.when_different(move || handle.stop());
        let options = Options::new().workers(2).observer(Arc::clone(&resume));
        let report = match network.run_with(options) {
            Err(RunError::Refused(why)) => return Err(why),
            other => reported(other),
        };
        let difference = resume.difference();
        assert_eq!(resume.finish().is_err(), difference.is_some());
        let lines = lines.lock().clone();
        Ok((report, lines, difference))
    }

    fn recording(&self) -> Vec<u8> {
        fs::read(self.path("run.rec")).expect("it is there")
    }

    fn out(&self) -> Option<String> {
        fs::read_to_string(self.path("out")).ok()
    }
}

/// What a recording says last of a file.
struct Last {
    part: String,
    messages: u64,
    bytes: usize,
}

fn last(recording: &[u8]) -> Option<Last> {
    let mut reader = Reader::new(recording).ok()?;
    let mut last = None;
    while let Some(entry) = reader.read().expect("it is memory") {
        if let Entry::Saved { part, messages, bytes, .. } = entry {
            let bytes = usize::try_from(bytes).expect("it is small");
            last = Some(Last { part: part.to_owned(), messages, bytes });
        }
    }
    last
}

/// The recording of a whole run.
fn recorded() -> Vec<u8> {
    let killed = Killed::new();
    let (path, input) = (killed.path("run.rec"), input());
    let recorder = Arc::new(Recorder::new(&path, Header::default()).saves_each(3));
    let mut network = Network::new();
    build(&mut network, &input, &killed.path("out"));
    let report = network.run_with(Options::new().workers(2).observer(Arc::clone(&recorder)));
    assert!(report.is_ok(), "{report:?}");
    recorder.finish().expect("the disk has room");
    assert_eq!(killed.out(), Some(expected()));
    assert_eq!(killed.names(), ["out", "run.rec"]);
    killed.recording()
}

/// The first byte behind the header.
fn behind_header(recording: &[u8]) -> usize {
    let length = u32::from_le_bytes(recording[8..12].try_into().expect("four bytes"));
    16 + length as usize
}

/// It is a recording of the whole run, which does the same again.
fn assert_whole(killed: &Killed, input: &str) {
    let replay = Arc::new(Replay::open(killed.path("run.rec")).expect("a recording"));
    assert_eq!(replay.ends_early(), None);
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    build(&mut network, input, &killed.path("not written"));
    let report = reported(network.run_with(Options::new().observer(Arc::clone(&replay))));
    assert_eq!((report.is_success(), replay.difference()), (true, None), "{report}");
}

#[test]
fn every_beginning_of_a_recording_goes_on_to_the_same_bytes() {
    let (recording, input, killed) = (recorded(), input(), Killed::new());
    let mut went_on = 0;
    for length in (behind_header(&recording)..=recording.len()).step_by(17) {
        let beginning = &recording[..length];
        killed.leave(beginning);
        let (report, told, difference) = killed.resume(&input).expect("it goes on");
        assert_eq!((report.is_success(), difference), (true, None), "{length}: {report}");
        if let Some(Last { messages, .. }) = last(beginning) {
            let line = format!("`write` goes on with its file behind message {messages}");
            went_on += usize::from(told.contains(&line));
        }
        let has_ended = told.is_empty();
        // One that had ended is not written again, and what is beside it is not its own any more.
        if !has_ended {
            assert_eq!(killed.out(), Some(expected()), "{length}: {told:?}");
            assert_eq!(killed.names(), ["out", "run.rec"], "{length}");
        }
        assert_whole(&killed, &input);
    }
    assert!(went_on > 20, "{went_on}");
}

#[test]
fn what_goes_on_may_be_cut_short_again() {
    let (mut recording, input, killed) = (recorded(), input(), Killed::new());
    // Cut at a third of what is new each time.
    let mut kept = behind_header(&recording);
    for time in 0..12 {
        kept += (recording.len() - kept) / 3;
        killed.leave(&recording[..kept]);
        let (report, _, difference) = killed.resume(&input).expect("it goes on");
        assert_eq!((report.is_success(), difference), (true, None), "{time}: {report}");
        let went_on = killed.recording();
        let whole = Reader::new(&recording[..kept]).map(|mut reader| {
            while reader.read().expect("it is memory").is_some() {}
            reader.cut().map_or(kept, |cut| usize::try_from(cut.at).expect("it is small"))
        });
        let whole = whole.expect("a recording");
        assert_eq!(went_on[..whole], recording[..whole], "{time}: what was recorded stays");
        recording = went_on;
        assert_whole(&killed, &input);
    }
}

/// The beginning of a recording up to its last entry that says how much of the file is on the disk, of so many
/// messages at least.
fn saved(recording: &[u8], least: u64) -> &[u8] {
    let of = |length: &usize| last(&recording[..*length]).is_some_and(|l| l.messages >= least);
    let length = (behind_header(recording)..recording.len()).find(of).expect("it was saved");
    &recording[..length]
}

#[test]
fn only_a_file_of_its_own_is_cut() {
    let (recording, input, killed) = (recorded(), input(), Killed::new());
    let beginning = saved(&recording, 12);
    let Some(Last { part, bytes, .. }) = last(beginning) else { panic!("it was saved") };
    let is_mine =
        "it is mine, whatever a recording says of it, and as long as what was saved or longer";
    let mine = is_mine.repeat(1 + bytes / is_mine.len());
    let of_others = |leave: &dyn Fn(&Path, &Path)| {
        killed.leave(beginning);
        let (part, precious) = (killed.path(&part), killed.path("precious"));
        leave(&part, &precious);
        let (report, told, _) = killed.resume(&input).expect("it goes on");
        assert!(report.is_success(), "{report}");
        assert_eq!(killed.out(), Some(expected()));
        let told = told.into_iter().find(|line| line.contains("`write` writes its file"));
        told.expect("it is told")
    };
    let content = |name: &str| fs::read_to_string(killed.path(name)).expect("it is there");

    let told = of_others(&|part, _| fs::write(part, &mine).expect("it is written"));
    assert!(told.ends_with("from the beginning: what is left beside it is not what was saved"));
    assert_eq!(content(&part), mine);

    let told = of_others(&|part, _| fs::remove_file(part).expect("it is there"));
    assert!(told.contains("o such file"), "{told}");

    let told = of_others(&|part, precious| {
        fs::rename(part, precious).expect("it is renamed");
        symlink(precious, part).expect("it is made");
    });
    assert!(told.ends_with("the file beside it is no plain file"), "{told}");
    assert!(content("precious").ends_with("???"));

    let told = of_others(&|part, precious| fs::hard_link(part, precious).expect("it is made"));
    assert!(told.ends_with("the file beside it has another name as well"), "{told}");
    assert!(content("precious").ends_with("???"));
}

#[test]
fn a_name_that_is_none_of_its_own_is_not_opened() {
    let (recording, input, killed) = (recorded(), input(), Killed::new());
    let beginning = saved(&recording, 12);
    for name in ["precious", "../precious", "run.rec", ".other.1-0.part", ".out.1-0.part/x"] {
        killed.leave(beginning);
        let path = killed.path("crafted.rec");
        let mut reader = Reader::new(beginning).expect("a recording");
        let header = reader.header().clone();
        let writer = kahn_observe::record::Writer::create(&path, &header).expect("it is made");
        while let Some(entry) = reader.read().expect("it is memory") {
            writer.append(&match entry {
                Entry::Saved { process, messages, bytes, sha256, .. } => {
                    Entry::Saved { process, part: name, messages, bytes, sha256 }
                }
                other => other,
            });
        }
        writer.finish().expect("it is written");
        // What it names has the bytes that it says.
        let Some(Last { part, .. }) = last(beginning) else { panic!("it was saved") };
        fs::rename(killed.path(&part), killed.path("precious")).expect("it is renamed");
        fs::rename(path, killed.path("run.rec")).expect("it is renamed");
        let (report, told, difference) = killed.resume(&input).expect("it goes on");
        assert_eq!(difference, None, "{name}: {told:?}");
        assert!(report.is_success(), "{name}: {report}");
        let told =
            told.iter().find(|line| line.contains("`write` writes its file from the beginning"));
        assert!(told.is_some_and(|line| line.ends_with("is called otherwise")), "{told:?}");
        let precious = fs::read_to_string(killed.path("precious")).expect("it is there");
        assert!(precious.ends_with("???"), "{name}");
        assert_eq!(killed.out(), Some(expected()));
    }
}

#[test]
fn a_recording_that_others_may_write_is_refused() {
    let (recording, input, killed) = (recorded(), input(), Killed::new());
    killed.leave(saved(&recording, 12));
    let before = killed.names();
    let path = killed.path("run.rec");
    let refused = |killed: &Killed| killed.resume(&input).expect_err("it is refused");
    for mode in [0o644, 0o660, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is set");
        assert!(refused(&killed).contains("it is not of this user alone (mode 0600"), "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is set");
    let elsewhere = killed.path("elsewhere");
    fs::rename(&path, &elsewhere).expect("it is renamed");
    symlink(&elsewhere, &path).expect("it is made");
    assert!(refused(&killed).contains("it is a link"));
    fs::remove_file(&path).expect("it is there");
    fs::rename(&elsewhere, &path).expect("it is renamed");
    // A run that goes on has it.
    let goes_on = Resume::open(&path).expect("a recording");
    assert!(refused(&killed).contains("a run that goes on writes this recording"));
    drop(goes_on);
    assert_eq!(killed.names(), before);
    assert!(killed.resume(&input).is_ok());
}

#[test]
fn another_input_changes_nothing() {
    let (recording, killed) = (recorded(), Killed::new());
    let beginning = saved(&recording, 12);
    killed.leave(beginning);
    let Some(Last { part, .. }) = last(beginning) else { panic!("it was saved") };
    let left = fs::read(killed.path(&part)).expect("it is there");
    let input = input();
    let mut network = Network::new();
    let resume = Arc::new(Resume::open(killed.path("run.rec")).expect("a recording"));
    network.replay(Arc::clone(&resume) as _);
    network.input("more", b"");
    build(&mut network, &input, &killed.path("out"));
    let refused = network.run_with(Options::new().observer(resume)).expect_err("it is refused");
    assert!(refused.to_string().contains("it did not read `more`"), "{refused}");
    assert_eq!(
        (killed.recording(), fs::read(killed.path(&part)).ok()),
        (beginning.to_vec(), Some(left))
    );
    assert_eq!(killed.out(), None);
}

/// The beginning of a recording in which `lines` has sent so many messages, and has not ended.
fn sent(recording: &[u8], messages: usize) -> &[u8] {
    let mut reader = Reader::new(recording).expect("a recording");
    let (mut sent, mut length) = (0, behind_header(recording));
    while sent < messages {
        let entry = reader.read().expect("it is memory").expect("it was sent");
        sent += usize::from(matches!(entry, Entry::Acts { act: Act::Sends { .. }, .. }));
        let content = u32::from_le_bytes(recording[length..][..4].try_into().expect("four"));
        length += 8 + content as usize;
    }
    &recording[..length]
}

#[test]
fn a_source_that_sends_something_else_stops_the_run_and_is_not_kept() {
    let (recording, input, killed) = (recorded(), input(), Killed::new());
    for (from, to, message) in [("line 0 ", "line 9 ", 1), ("line 7 ", "line 8 ", 8)] {
        killed.leave(sent(&recording, 20));
        let (report, _, difference) = killed.resume(&input.replace(from, to)).expect("it begins");
        assert!(!report.is_success());
        let what = format!("message {message} of channel `lines`, from `lines`, differs");
        assert_eq!(difference, Some(what));
        assert_eq!(killed.out(), None);
        let kept = last(&killed.recording()).map_or(0, |last| last.messages);
        assert!(kept < message, "{kept} messages");
        // With the right one it goes on.
        let (report, _, difference) = killed.resume(&input).expect("it goes on");
        assert_eq!((report.is_success(), difference), (true, None));
        assert_eq!(killed.out(), Some(expected()));
        assert_whole(&killed, &input);
    }
}

#[test]
fn what_cannot_go_on_is_named_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.rec");
    let written = Arc::new(Mutex::new(Vec::new()));
    let build = |network: &mut Network<'static>, with_client: bool| {
        let input = Box::leak(input().into_boxed_str());
        let lines = network.lines(texts("lines"), input.as_bytes());
        let (out, kept) = network.channel_with(texts("kept"));
        let keep = Process::named("keep").effects();
        network.process_with(keep, (lines, out), async |(mut lines, mut kept)| {
            while let Some(line) = lines.recv().await {
                kept.send(line).await;
            }
        });
        let print = Process::named("print").effects();
        let written = Arc::clone(&written);
        network.process_with(print, kept, async move |mut kept| {
            while let Some(line) = kept.recv().await {
                written.lock().push(line);
            }
        });
        with_client.then(|| {
            let (out, asks) = network.channel_with(texts("asks"));
            network.for_each("answer", asks, |_| {});
            network.outside("client", out)
        })
    };
    for with_client in [false, true] {
        let recorder = Arc::new(Recorder::new(&path, Header::default()));
        let mut network = Network::new();
        drop(build(&mut network, with_client));
        reported(network.run_with(Options::new().observer(Arc::clone(&recorder))));
        drop(recorder);
        // Its beginning: nothing has ended.
        let bytes = fs::read(&path).expect("it is there");
        fs::write(&path, &bytes[..behind_header(&bytes)]).expect("it is written");
        written.lock().clear();
        let told = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&told);
        let tell = move |line: &str| lines.lock().push(line.to_owned());
        let resume = Arc::new(Resume::open(&path).expect("a recording").tells(tell));
        let mut network = Network::new();
        network.replay(Arc::clone(&resume) as _);
        drop(build(&mut network, with_client));
        let ran = network.run_with(Options::new().observer(Arc::clone(&resume)));
        let told = told.lock().join("\n");
        let written = written.lock().len();
        if with_client {
            let Err(RunError::Refused(why)) = ran else { panic!("{ran:?}") };
            assert!(why.contains("`client` is outside of the network"), "{why}");
            assert_eq!((told.as_str(), written), ("", 0));
        } else {
            assert!(ran.is_ok(), "{ran:?}");
            assert!(told.contains("`lines` begins again, and must send what it sent"), "{told}");
            assert!(told.contains("`keep` begins again"), "{told}");
            assert!(told.contains("`print` does all again from the beginning"), "{told}");
            assert_eq!(written, LINES);
        }
        drop(resume);
        fs::remove_file(&path).expect("it is there");
    }
}

#[test]
fn a_recording_of_the_version_before_is_refused() {
    let killed = Killed::new();
    let mut recording = recorded();
    recording[7] = 1;
    fs::write(killed.path("run.rec"), &recording).expect("it is written");
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(killed.path("run.rec"), mode).expect("it is set");
    let refused = Resume::open(killed.path("run.rec")).expect_err("of another version");
    assert!(matches!(refused, ReadError::Version(1)));
    let why = "this is a recording in version 1 of the format: this program reads version 2";
    assert_eq!(refused.to_string(), why);
}
