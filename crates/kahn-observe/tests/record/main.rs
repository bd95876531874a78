//! The laws of a recording's file: what was appended is read, a cut file is read as far as it is whole, a
//! slow disk makes those wait that append, and a file that is none takes neither memory nor the reader down.

use kahn_observe::record::{
    Act, Channel, Cut, Entry, Failed, Header, Input, Process, ReadError, Reader, Topology, Writer,
};
use parking_lot::{Condvar, Mutex};
use proptest::prelude::*;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::thread;

/// What was written to a file, as it came.
fn contents(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().expect("a file that is open");
    file.read_to_end(&mut bytes).expect("a file that is open");
    bytes
}

fn header() -> Header {
    let process = |id, name: &str| Process { id, name: name.to_owned(), is_recorded: id == 1 };
    let lines = Channel { id: 1, name: "lines".to_owned(), from: 0, to: 1, is_wired: true };
    Header {
        program: "words".to_owned(),
        version: "1.2.3".to_owned(),
        arguments: vec!["run".to_owned(), "a b".to_owned()],
        seed: u64::MAX,
        network: Topology {
            processes: vec![process(1, "read"), process(2, "count")],
            channels: vec![lines],
        },
        inputs: vec![Input {
            path: "text".into(),
            bytes: 1 << 40,
            modified: Some(-1),
            sha256: [7; 32],
        }],
    }
}

/// An entry that owns what it says.
#[derive(Clone, Debug)]
struct Said(u8, u64, Option<u64>, Vec<u8>, String);

impl Said {
    fn entry(&self) -> Entry<'_> {
        let Self(kind, process, number, message, text) = self;
        let (process, channel) = (*process, process.rotate_left(7));
        let act = match kind {
            0 => Act::Sends { channel, message },
            1 => Act::Receives { channel, messages: number.unwrap_or_default() },
            2 => Act::SeesEnd { channel },
            3 => Act::Closes { channel },
            4 => Act::Departs { channel },
            5 => Act::Ends { failure: number.map(|number| failed(text, number)) },
            6 => Act::Waits { channel, to_send: number.is_some() },
            7 => return Entry::Passed { channel, first: process, digests: message },
            8 => return Entry::Carried { channel, messages: process, digest: process },
            _ => return Entry::Ended,
        };
        Entry::Acts { process, act }
    }
}

fn failed(text: &str, number: u64) -> Failed<'_> {
    let (panicked, at) = (number.is_multiple_of(2), number.is_multiple_of(3).then_some(text));
    Failed {
        message: text,
        panicked,
        at,
        input: number.is_multiple_of(5).then_some((text, number)),
    }
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    let one = (0_u8..10, any::<u64>(), any::<Option<u64>>(), bytes, ".{0,20}");
    let one = one
        .prop_map(|(kind, process, number, bytes, text)| Said(kind, process, number, bytes, text));
    prop::collection::vec(one, 0..20)
}

fn written(said: &[Said]) -> Vec<u8> {
    let disk = tempfile::tempfile().expect("a place for it");
    let output = disk.try_clone().expect("a file that is open");
    let writer = Writer::new(output, &header()).expect("written");
    assert!(said.iter().all(|said| writer.append(&said.entry())));
    let bytes = writer.finish().expect("written");
    let file = contents(disk);
    assert_eq!(bytes, file.len() as u64);
    file
}

/// How many entries are read, all of which must be those that were said; and where and why the file was cut.
fn read(file: &[u8], said: &[Said]) -> Result<(usize, Option<Cut>), ReadError> {
    let mut reader = Reader::new(file)?;
    assert_eq!(*reader.header(), header());
    let mut count = 0;
    while let Some(entry) = reader.read()? {
        assert_eq!(entry, said[count].entry());
        count += 1;
    }
    assert_eq!(reader.read()?, None, "it stays at its end");
    Ok((count, reader.cut().cloned()))
}

proptest! {
    #[test]
    fn what_is_appended_is_read(said in said()) {
        prop_assert_eq!(read(&written(&said), &said).expect("whole"), (said.len(), None));
    }

    #[test]
    fn a_cut_file_is_read_as_far_as_it_is_whole(said in said(), place in any::<prop::sample::Index>()) {
        let file = written(&said);
        let at = place.index(file.len());
        // Where each entry ends.
        let ends: Vec<_> = (0..=said.len()).map(|count| written(&said[..count]).len()).collect();
        let whole = ends.iter().rposition(|&end| end <= at);
        match (read(&file[..at], &said), whole) {
            (Ok((count, cut)), Some(whole)) => {
                prop_assert_eq!((count, cut.is_some()), (whole, at > ends[whole]));
                if let Some(cut) = cut {
                    prop_assert_eq!(cut.at, ends[whole] as u64);
                    // What is there is not taken for a whole one that is wrong in itself.
                    prop_assert!(cut.why.starts_with("it ends after "), "{}", cut);
                }
            }
            (Err(ReadError::NoRecording | ReadError::NoHeader(_)), None) => {}
            (read, whole) => prop_assert!(false, "{:?}, {:?} at {}", read, whole, at),
        }
    }

    #[test]
    fn a_changed_byte_ends_what_is_read_where_it_stands(
        said in said(),
        place in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let mut file = written(&said);
        let at = place.index(file.len());
        file[at] ^= 1 << bit;
        let ends: Vec<_> = (0..=said.len()).map(|count| written(&said[..count]).len()).collect();
        let whole = ends.iter().rposition(|&end| end <= at);
        match (read(&file, &said), whole) {
            (Ok((count, Some(_))), Some(whole)) => prop_assert_eq!(count, whole),
            (Err(ReadError::NoRecording | ReadError::NoHeader(_) | ReadError::Version(_)), None) => {}
            (read, whole) => prop_assert!(false, "{:?}, {:?} at {}", read, whole, at),
        }
    }
}

#[test]
fn entries_of_several_threads_are_whole_and_in_each_threads_order() {
    let disk = tempfile::tempfile().expect("a place for it");
    let output = disk.try_clone().expect("a file that is open");
    let writer = Writer::new(output, &header()).expect("written");
    thread::scope(|scope| {
        for process in 0..4_u64 {
            let writer = &writer;
            scope.spawn(move || {
                for number in 0..20_000_u64 {
                    let message = &number.to_le_bytes();
                    let act = Act::Sends { channel: process, message };
                    assert!(writer.append(&Entry::Acts { process, act }));
                }
            });
        }
    });
    writer.finish().expect("written");
    let file = contents(disk);
    let mut reader = Reader::new(&file[..]).expect("a recording");
    let mut next = [0_u64; 4];
    while let Some(entry) = reader.read().expect("memory is read") {
        let Entry::Acts { process, act: Act::Sends { message, .. } } = entry else {
            panic!("{entry:?}")
        };
        let next = &mut next[usize::try_from(process).expect("a number below 4")];
        assert_eq!(message, next.to_le_bytes());
        *next += 1;
    }
    assert_eq!((next, reader.cut()), ([20_000; 4], None));
}

/// A disk that stands still until it is told to go on, and then is full.
#[derive(Clone, Debug, Default)]
struct Stuck(Arc<(Mutex<(u64, bool)>, Condvar)>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (state, changed) = &*self.0;
        let mut state = state.lock();
        state.0 += 1;
        changed.notify_all();
        if state.0 == 1 {
            // The header.
            return Ok(bytes.len());
        }
        changed.wait_while(&mut state, |(_, goes_on)| !*goes_on);
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_disk_makes_wait_and_a_full_one_ends_the_recording_alone() {
    let disk = Stuck::default();
    let writer = Writer::new(disk.clone(), &header()).expect("the header is written");
    let message = vec![0; 1 << 18];
    let act = Act::Sends { channel: 0, message: &message };
    let entry = Entry::Acts { process: 0, act };
    let appended = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while writer.append(&entry) {
                *appended.lock() += 1;
            }
        });
        let (state, changed) = &*disk.0;
        let mut state = state.lock();
        changed.wait_while(&mut state, |(writes, _)| *writes < 2);
        // The thread is in the disk: no more is taken than two buffers, and one entry beyond each.
        assert!(*appended.lock() <= 10, "{}", appended.lock());
        state.1 = true;
        changed.notify_all();
    });
    assert!(*appended.lock() <= 10, "{}", appended.lock());
    assert!(!writer.append(&Entry::Ended), "nothing is kept any more");
    let error = writer.finish().expect_err("the disk is full");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_length_is_not_believed() {
    let mut file = written(&[]);
    let whole = file.len();
    // 200 MB are said to come; and, in a record that is whole, a message of 2^60 bytes.
    file.extend(200_000_000_u32.to_le_bytes());
    file.extend([0; 4]);
    let mut reader = Reader::new(&file[..]).expect("a header");
    assert_eq!(reader.read().expect("memory is read"), None);
    let cut = reader.cut().expect("it is not whole");
    assert_eq!((cut.at, cut.why.as_str()), (whole as u64, "it ends after 0 bytes of 200000000"));

    let content = [0, 3, 0, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    let mut file = written(&[]);
    let length = u32::try_from(content.len()).expect("short").to_le_bytes();
    let mut crc = crc32fast::Hasher::new();
    crc.update(&length);
    crc.update(&content);
    file.extend(length);
    file.extend(crc.finalize().to_le_bytes());
    file.extend(content);
    let mut reader = Reader::new(&file[..]).expect("a header");
    assert_eq!(reader.read().expect("memory is read"), None);
    assert_eq!(reader.cut().map(|cut| cut.at), Some(whole as u64));
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_a_recording_and_no_link_is_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempfile::tempdir().expect("a folder");
    let (path, link) = (folder.path().join("run.rec"), folder.path().join("link"));
    symlink(&path, &link).expect("a link");
    let error = Writer::create(&link, &header()).expect_err("a link is not followed");
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert!(!path.exists());
    Writer::create(&path, &header()).expect("made").finish().expect("written");
    let mode = path.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
