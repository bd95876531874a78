//! `docs/frictions.md`: its code is code that is compiled and tested, its figures are counted, and what a job took
//! before does the same as what it takes now.

#[expect(unreachable_pub, reason = "the page shows what a library would have")]
mod before;
#[expect(unreachable_pub, reason = "the page shows what a library would have")]
mod now;

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use kahn::{Name, Network};
use std::cmp::Reverse;
use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The blocks of Rust of the page, each with the line before it.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut parts = page.split("```rust\n");
    let mut before = parts.next().unwrap_or_default();
    parts.fold(Vec::new(), |mut blocks, part| {
        let (code, after) = part.split_once("```").expect("each block has an end");
        blocks.push((before.trim_end().lines().next_back().unwrap_or_default(), code));
        before = after;
        blocks
    })
}

/// Lines of code, without `use` and blank ones.
fn lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("use ")).count()
}

#[test]
fn the_code_on_the_page_is_that_of_the_files_it_names() -> io::Result<()> {
    let page = fs::read_to_string(docs().join("frictions.md"))?;
    let blocks = blocks(&page);
    assert!(blocks.len() >= 14, "{}", blocks.len());
    for (label, code) in blocks {
        let link = label.split_once("](").and_then(|(_, link)| link.split_once(')'));
        let (file, _) = link.unwrap_or_else(|| panic!("`{label}` names no file"));
        let text = fs::read_to_string(docs().join(file))?;
        // From the beginning of a line to the end of one.
        assert!(format!("\n{text}").contains(&format!("\n{code}")), "{file} has not\n{code}");
        assert!(label.ends_with(&format!(", {} lines:", lines(code))), "{label} {}", lines(code));
    }
    Ok(())
}

#[test]
fn the_table_has_the_figures_of_the_blocks() -> io::Result<()> {
    let page = fs::read_to_string(docs().join("frictions.md"))?;
    for section in page.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap_or_default();
        let of = |word: &str| {
            let of_word = blocks(section).into_iter().filter(|(label, _)| label.starts_with(word));
            of_word.map(|(_, code)| lines(code)).sum::<usize>()
        };
        let (before, now) = (of("**Before**"), of("**Now**"));
        if before > 0 {
            let row = format!("| [{title}](#");
            let row = page.lines().find(|line| line.starts_with(&row));
            let row = row.unwrap_or_else(|| panic!("the table has no row for {title}"));
            assert!(row.ends_with(&format!("| {before} | {now} |")), "{row}: {before}, {now}");
        }
    }
    Ok(())
}

#[test]
fn an_error_keeps_its_cause() -> Result<(), Box<dyn Error>> {
    for sum in [before::sum, now::sum] {
        assert_eq!(sum(&["1", "2", "39"])?, Some(42));
        let error = sum(&["1", "two"]).expect_err("`two` is no number");
        assert!(error.downcast_ref::<ParseIntError>().is_some(), "{error}");
    }
    Ok(())
}

fn member(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(block)?;
    encoder.finish()
}

#[test]
fn the_compressor_of_before_compresses() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (from, to) = (folder.path().join("from"), folder.path().join("to.gz"));
    for length in [0, 1, 128 << 10, (5 << 17) + 17] {
        let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
        fs::write(&from, &bytes)?;
        before::compress(&from, &to)?;
        let mut again = Vec::new();
        MultiGzDecoder::new(&*fs::read(&to)?).read_to_end(&mut again)?;
        assert!(again == bytes, "{length} bytes");
    }
    Ok(())
}

#[test]
fn what_is_asked_for_most_is_the_same() -> Result<(), Box<dyn Error>> {
    let log = (0..500_u32).map(|n| format!("/{} x\n", n * n % 31)).collect::<Vec<_>>().concat();
    let path = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let before = before::most_asked_for(log.as_bytes(), path)?;
    assert_eq!(before, now::most_asked_for(log.as_bytes(), path)?);
    assert_eq!((before.len(), &before[0]), (10, &(33, Reverse("/1".to_owned()))));
    Ok(())
}

#[test]
fn the_service_of_before_answers_each_thread() {
    let (network, requests) = before::service();
    thread::scope(|scope| {
        for word in ["stressed", "drawer", "live"] {
            let requests = requests.clone();
            scope.spawn(move || {
                let expected: String = word.chars().rev().chain(['\n']).collect();
                for _ in 0..20 {
                    assert_eq!(requests.ask(word.to_owned()).expect("it runs"), expected);
                }
            });
        }
        drop(requests);
        network.run().expect("it ends when none asks any more");
    });
}

#[test]
fn lines_are_numbered_and_a_bad_one_leaves_no_file() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let (from, to) = (folder.path().join("from.txt"), folder.path().join("to.txt"));
    fs::write(&from, b"one\n\xff\xff\n")?;
    let error = now::number_lines(&from, &to).expect_err("the second line is not text");
    assert!(error.to_string().contains("process `read` failed"), "{error}");
    assert_eq!(fs::read_dir(&folder)?.count(), 1);
    fs::write(&from, "one\ntwo\n")?;
    now::number_lines(&from, &to).expect("both files can be opened");
    assert_eq!(fs::read_to_string(&to)?, "   1  one\n   2  two\n");
    Ok(())
}

#[test]
fn a_part_that_is_built_twice_has_the_same_names_and_capacities() {
    let names = |part: &str, scoped: bool| {
        let mut network = Network::new();
        let numbers = network.source("numbers", 0..8);
        let squares = if scoped {
            now::squares_of_odd(&mut network.scope(part), numbers)
        } else {
            before::squares_of_odd(&mut network, part, numbers)
        };
        let all = network.collect("all", squares);
        let report = network.run().expect("it ends");
        assert_eq!(all.take(), Some(vec![1, 9, 25, 49]));
        let channels = report.channels.iter();
        channels.map(|channel| (channel.name.clone(), channel.capacity)).collect::<Vec<_>>()
    };
    for part in ["left", "right"] {
        let names_now = names(part, true);
        assert_eq!(names(part, false), names_now);
        assert!(names_now.contains(&(Name::from(format!("{part}/odd")), 2)), "{names_now:?}");
    }
}

/// Item 0 is slow: it ends only when others have, and sees that the rest has not.
#[test]
fn behind_a_slow_item_a_farm_computes_all_of_its_window() {
    let ended: Vec<_> = (0..12).map(|_| AtomicUsize::new(0)).collect();
    let has_ended = |item: usize| ended[item].load(Ordering::Acquire) == 1;
    let all_of = |slow: &[usize]| slow.iter().all(|&item| has_ended(item));
    let compute = |items: &'static [usize], never: &'static [usize]| {
        let (all_of, ended) = (&all_of, &ended);
        move |item: usize| {
            while item == 0 && !all_of(items) {
                thread::yield_now();
            }
            if item == 0 {
                assert!(never.iter().all(|&item| ended[item].load(Ordering::Acquire) == 0));
            }
            ended[item].store(1, Ordering::Release);
            item
        }
    };
    let expected = Some((0..12).collect::<Vec<_>>());

    // In turn: every second item stands behind the slow one.
    let mut network = Network::new();
    let items = network.source("items", 0..12);
    let results = before::in_turn(&mut network, items, compute(&[1, 3, 5], &[2, 4, 6, 8, 10]));
    let all = network.collect("all", results);
    network.run_with(kahn::Options::new().workers(2)).expect("it ends");
    assert_eq!(all.take(), expected);

    for item in &ended {
        item.store(0, Ordering::Release);
    }
    let mut network = Network::new();
    let items = network.source("items", 0..12);
    let rest = compute(&[1, 2, 3, 4, 5, 6, 7], &[8, 9, 10, 11]);
    let results = now::by_whichever_is_free(&mut network, items, rest);
    let all = network.collect("all", results);
    network.run_with(kahn::Options::new().workers(2)).expect("it ends");
    assert_eq!(all.take(), expected);
}
