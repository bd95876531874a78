//! Sources give what the standard library gives; a file that is written is there whole or not at all.

use super::each_way;
use kahn::process::WholeFile;
use kahn::{Network, process};
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use tempfile::tempdir;

/// Gives bytes a few at a time, as a connection does.
struct Slowly(Vec<u8>, usize);

impl Read for Slowly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let given = buffer.len().min(3).min(self.0.len() - self.1);
        buffer[..given].copy_from_slice(&self.0[self.1..self.1 + given]);
        self.1 += given;
        Ok(given)
    }
}

fn texts() -> [String; 5] {
    ["", "one", "one\ntwo\r\n\nthree", "\n\n", &"a long line ".repeat(20_000)].map(str::to_owned)
}

#[test]
fn lines_blocks_and_records_are_those_of_the_reader() {
    for text in texts() {
        each_way(|mut network, options| {
            let slowly = || Slowly(text.clone().into_bytes(), 0);
            let lines = network.lines("lines", slowly());
            let lines = network.collect("all lines", lines);
            let blocks = network.blocks("blocks", slowly(), 7);
            let blocks = network.collect("all blocks", blocks);
            let records = network.records("records", slowly(), b'e');
            let records = network.collect("all records", records);
            network.run_with(options).expect("they are read");
            let expected = text.as_bytes().lines().map(|line| line.expect("a text"));
            assert_eq!(lines.take(), Some(expected.collect()));
            let expected = text.as_bytes().chunks(7).map(<[u8]>::to_vec);
            assert_eq!(blocks.take(), Some(expected.collect()));
            let expected =
                BufRead::split(text.as_bytes(), b'e').map(|record| record.expect("bytes"));
            assert_eq!(records.take(), Some(expected.collect()));
        });
    }
}

#[test]
fn a_line_that_is_no_text_is_a_failure_that_tells_which() {
    let mut network = Network::new();
    let lines = network.lines("lines", &b"one\ntwo\n\xff\n"[..]);
    let count = network.fold("count", lines, 0, |count, _| count + 1);
    let error = network.run().expect_err("the third is no text");
    assert!(error.to_string().contains("process `lines` failed: line 3: "), "{error}");
    assert!(error.downcast_ref::<io::Error>().is_some());
    assert_eq!(count.take(), None);
}

#[test]
fn a_folder_is_listed_in_the_order_of_names() -> io::Result<()> {
    let folder = tempdir()?;
    let names = ["b", "a/2", "a/10", "c/d/e", "a.txt", "z"];
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it stands in a folder"))?;
        fs::write(path, name)?;
    }
    fs::create_dir(folder.path().join("empty"))?;
    each_way(|mut network, options| {
        let files = network.folder("files", folder.path());
        let all = network.collect("all", files);
        network.run_with(options).expect("it is listed");
        let expected = ["a/10", "a/2", "a.txt", "b", "c/d/e", "z"];
        assert_eq!(all.take(), Some(expected.map(|name| folder.path().join(name)).to_vec()));
    });
    Ok(())
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_whole() -> io::Result<()> {
    let folder = tempdir()?;
    let target = folder.path().join("target");
    for text in texts() {
        each_way(|mut network, options| {
            let blocks = network.blocks("blocks", Slowly(text.clone().into_bytes(), 0), 1000);
            network.write_file("write", blocks, &target);
            network.run_with(options).expect("it is written");
            assert_eq!(fs::read(&target).expect("it is there"), text.as_bytes());
            assert_eq!(
                names(folder.path()),
                std::slice::from_ref(&target),
                "nothing is left beside it"
            );
        });
    }
    Ok(())
}

#[test]
fn if_anything_fails_or_the_run_is_stopped_the_file_is_as_it_was() -> io::Result<()> {
    let folder = tempdir()?;
    let target = folder.path().join("target");
    for was_there in [false, true] {
        if was_there {
            fs::write(&target, "as it was")?;
        }
        for stops in [false, true] {
            each_way(|mut network, options| {
                let stop = network.stop_handle();
                let (out, words) = network.channel("words");
                network.process("words", out, async move |mut out| {
                    for n in 0..1000 {
                        out.send("word ").await;
                        if stops && n == 500 {
                            stop.stop();
                        }
                    }
                    Err::<(), _>("no more words")
                });
                network.write_file("write", words, &target);
                network.run_with(options).expect_err("it fails, or is stopped");
                let left = if was_there { vec![target.clone()] } else { Vec::new() };
                assert_eq!(names(folder.path()), left);
                if was_there {
                    assert_eq!(fs::read(&target).expect("it is there"), b"as it was");
                }
            });
        }
    }
    Ok(())
}

fn write(words: &'static [&'static str], target: &Path) -> Result<(), kahn::RunError> {
    let mut network = Network::new();
    let words = network.source("words", words);
    network.write_file("write", words, target);
    network.run().map(drop)
}

#[test]
fn what_cannot_be_written_is_a_failure_that_names_it() {
    let error = write(&["a"], Path::new("there/is/none")).expect_err("no such folder");
    let text = error.to_string();
    assert!(
        text.contains(
            "process `write` failed: cannot write `there/is/none`: no file can be made beside it: "
        ),
        "{text}"
    );
    let mut network = Network::new();
    let lines = network.lines("lines", process::open("no such file"));
    network.for_each("ignore", lines, |_| {});
    let error = network.run().expect_err("no such file");
    assert_eq!(
        error.downcast_ref::<io::Error>().map(io::Error::kind),
        Some(io::ErrorKind::NotFound)
    );
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_mode_and_a_link_stays_one() -> Result<(), Box<dyn std::error::Error>> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempdir()?;
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "before")?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640))?;
    write(&["af", "ter"], &target)?;
    assert_eq!(fs::metadata(&target)?.permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::read(&target)?, b"after");
    symlink(&target, &link)?;
    write(&["by", " link"], &link)?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    assert_eq!(fs::read(&target)?, b"by link");
    write(&["gone"], Path::new("/dev/null"))?;
    assert!(!fs::symlink_metadata("/dev/null")?.is_file(), "a device stays one");
    Ok(())
}

#[cfg(unix)]
#[test]
fn outside_a_network_a_file_is_whole_or_as_it_was_too() -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempdir()?;
    let [target, link, made] = ["target", "link", "made"].map(|name| folder.path().join(name));
    // Given up half way: nothing is there, neither is it beside.
    let mut file = WholeFile::create(&target)?;
    file.write_all(b"half")?;
    assert_eq!(names(folder.path()).len(), 1);
    drop(file);
    assert!(names(folder.path()).is_empty());
    // Nothing that only its owner may read can be read by others on the way.
    fs::write(&target, "secret")?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600))?;
    let mut file = WholeFile::create(&target)?;
    file.write_all(b"half")?;
    for path in names(folder.path()) {
        assert_eq!(fs::metadata(path)?.permissions().mode() & 0o7777, 0o600);
    }
    drop(file);
    assert_eq!(fs::read(&target)?, b"secret");
    // A link that leads nowhere makes what it leads to, and stays one when it is given up.
    symlink(&made, &link)?;
    drop(WholeFile::create(&link)?);
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    let mut file = WholeFile::create(&link)?;
    file.write_all(b"whole")?;
    file.finish()?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    assert_eq!(fs::read(&made)?, b"whole");
    assert_eq!(names(folder.path()), [link, made, target]);
    assert!(WholeFile::create(folder.path()).is_err(), "a folder is no file");
    assert!(WholeFile::create("").is_err(), "it has no name");
    Ok(())
}

/// The name under which this process first writes beside a target.
fn beside(target: &Path, number: u32) -> PathBuf {
    let name = target.file_name().and_then(|name| name.to_str()).expect("a name of this test");
    target.with_file_name(format!(".{name}.{}-{number}.part", std::process::id()))
}

#[cfg(unix)]
#[test]
fn what_stands_where_it_would_write_beside_is_left_alone() -> Result<(), Box<dyn std::error::Error>>
{
    let folder = tempdir()?;
    let (target, victim) = (folder.path().join("target"), folder.path().join("victim"));
    fs::write(&victim, "of another")?;
    // Planted: a link that leads to another file, one that leads nowhere, and a file.
    std::os::unix::fs::symlink(&victim, beside(&target, 0))?;
    std::os::unix::fs::symlink(folder.path().join("nowhere"), beside(&target, 1))?;
    fs::write(beside(&target, 2), "a file")?;
    write(&["whole"], &target)?;
    assert_eq!(fs::read(&target)?, b"whole");
    assert!(fs::symlink_metadata(&target)?.is_file());
    assert_eq!(fs::read(&victim)?, b"of another");
    assert!(!folder.path().join("nowhere").exists());
    assert_eq!(fs::read(beside(&target, 2))?, b"a file");
    assert!(fs::symlink_metadata(beside(&target, 0))?.is_symlink());
    Ok(())
}
