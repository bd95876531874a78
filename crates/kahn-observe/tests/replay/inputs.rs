//! A recording names the files that a network depends on, and is not replayed with others; messages that are parts of
//! them are recorded as such.

use super::{everywhere, record, replay, reported};
use kahn::process::Output;
use kahn::{Channel, Network, Options, Process, RunError};
use kahn_observe::record::{Act, Entry, Header, Reader, Recorder, Replay};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

static TEXT: &str = "to be or not to be, that is the question";

/// What `sha256sum` says of [`TEXT`].
const SHA256: &str = "fe7930e10be3c408c225ce4079502af56055bfaf285a5be6c8902e29ea0b9017";

/// A device cuts a text into words; they are counted, and printed with effects.
fn words<'env>(
    network: &mut Network<'env>,
    text: &'env str,
    path: &Path,
) -> Output<Vec<&'env str>> {
    network.input(path, text.as_bytes());
    let (out, words) = network.channel_with(Channel::named("words").wire_within(text));
    network.blocking("cut", out, move |mut out| {
        text.split(' ').for_each(|word| out.send_blocking(word));
    });
    let mut both = network.tee("both", words, 2).into_iter();
    let printed = both.next().expect("there are two");
    network.process_with(Process::named("print").effects(), printed, async |mut words| {
        while words.recv().await.is_some() {}
    });
    network.collect("all", both.next().expect("there are two"))
}

struct Recorded {
    _folder: tempfile::TempDir,
    /// The recording.
    path: PathBuf,
    /// The text.
    text: PathBuf,
}

fn recorded() -> Recorded {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, text) = (folder.path().join("run.rec"), folder.path().join("text"));
    fs::write(&text, TEXT).expect("it is written");
    let mut network = Network::new();
    let all = words(&mut network, TEXT, &text);
    let report = record(&path, network, Options::new().workers(2));
    assert!(report.is_success(), "{report}");
    assert_eq!(all.take(), Some(TEXT.split(' ').collect::<Vec<_>>()));
    Recorded { _folder: folder, path, text }
}

#[test]
fn a_recording_names_its_inputs_and_messages_by_their_places_there() {
    let Recorded { path, text, .. } = &recorded();
    let mut reader = Reader::open(path).unwrap();
    let [input] = &reader.header().inputs[..] else { panic!("{:?}", reader.header()) };
    assert_eq!((&input.path, input.bytes), (text, TEXT.len() as u64));
    assert_eq!(input.sha256.map(|byte| format!("{byte:02x}")).concat(), SHA256);
    let changed = fs::metadata(text).unwrap().modified().unwrap();
    let changed = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(input.modified, Some(changed.cast_signed()));
    let mut sent = Vec::new();
    while let Some(entry) = reader.read().unwrap() {
        if let Entry::Acts { act: Act::Sends { message, .. }, .. } = entry {
            let number = |at: usize| u64::from_le_bytes(message[at..][..8].try_into().unwrap());
            let [from, length] = [number(0), number(8)].map(|n| usize::try_from(n).unwrap());
            assert_eq!(message.len(), 16);
            sent.push(&TEXT[from..][..length]);
        }
    }
    assert_eq!(sent, TEXT.split(' ').collect::<Vec<_>>());
    let file = fs::read(path).unwrap();
    assert!(!file.windows(8).any(|part| part == b"question"), "it is not in the recording");
}

#[test]
fn the_same_input_elsewhere_is_read_again() {
    let Recorded { path, .. } = &recorded();
    // Another place in the memory, and another path.
    let text = format!(" {TEXT}");
    everywhere(|options, schedule| {
        let (all, report, difference) =
            replay(path, options, |network| words(network, &text[1..], Path::new("elsewhere")));
        assert_eq!((report.is_success(), difference), (true, None), "{schedule}");
        assert_eq!(all.take().unwrap(), TEXT.split(' ').collect::<Vec<_>>(), "{schedule}");
    });
}

/// How a replay with another input is refused.
fn refused(path: &Path, build: impl FnOnce(&mut Network<'_>)) -> String {
    let replay = Arc::new(Replay::open(path).expect("a recording"));
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    build(&mut network);
    match network.run_with(Options::new().observer(replay)) {
        Err(RunError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_input_is_refused_and_named() {
    let Recorded { path, text, .. } = &recorded();
    let what = |why: String| why.replace(&text.display().to_string(), "text");
    let before = "the run that was recorded had another input:";
    let longer = TEXT.to_owned() + "!";
    let why = refused(path, |network| drop(words(network, Box::leak(longer.into()), text)));
    assert_eq!(what(why), format!("{before} `text` has 41 bytes and had 40"));
    let other = TEXT.replace("that", "this");
    let why = what(refused(path, |network| drop(words(network, Box::leak(other.into()), text))));
    let other = format!("{before} `text` has another content: its SHA-256 is ");
    assert!(why.starts_with(&other) && why.ends_with(&format!(" and was {SHA256}")), "{why}");
    let why = refused(path, |_| {});
    assert_eq!(what(why), format!("{before} it read `text` as well"));
    let why = refused(path, |network| {
        words(network, TEXT, text);
        network.input("more", b"");
    });
    assert_eq!(why, format!("{before} it did not read `more`"));
}

#[test]
fn a_message_that_is_no_part_of_the_input_ends_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    let (out, words) = network.channel_with(Channel::named("words").wire_within(TEXT));
    network.blocking("cut", out, |mut out| {
        for word in ["", &TEXT[..2], "elsewhere"] {
            out.send_blocking(word);
        }
    });
    let all = network.collect("all", words);
    let recorder = Arc::new(Recorder::new(&path, Header::default()));
    let report = reported(network.run_with(Options::new().observer(Arc::clone(&recorder))));
    assert!(report.is_success(), "the run goes on: {report}");
    assert_eq!(all.take().unwrap(), ["", "to", "elsewhere"]);
    let why = recorder.finish().unwrap_err().to_string();
    assert!(
        why.starts_with("message 3 of channel `words`, from `cut`, has no written form"),
        "{why}"
    );
}
