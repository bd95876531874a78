//! StreamIt's programs print the bytes of their sequential twins, however they are run.

use kahn::Options;
use kahn_apps::{App, Program, Variant, run};
use kahn_policies::POLICIES;
use std::fmt::Write;
use tempfile::TempDir;

fn program(app: &str, arguments: &[&str], parts: usize) -> Box<dyn Program> {
    let app = App::named(app).expect("the program is in the table");
    app.prepare_from(arguments, Some(parts), 1).expect("the arguments are right")
}

/// What a program writes in one of its forms.
fn bytes(program: &dyn Program, variant: Variant, options: Options) -> Vec<u8> {
    let ran = run(program, variant, options, |_| {}).expect("the run finishes");
    let mut bytes = Vec::new();
    (ran.answer.lines)(&mut bytes).expect("memory takes it");
    for (_, lines) in &ran.answer.files {
        lines(&mut bytes).expect("memory takes it");
    }
    bytes
}

/// Runs the network under every policy, with workers and capacities by turns, and gives what the
/// sequential form writes, which must be the same.
fn check(app: &str, arguments: &[&str], parts: usize) -> Vec<u8> {
    let program = program(app, arguments, parts);
    let expected = bytes(&*program, Variant::Sequential, Options::new());
    for (turn, policy) in POLICIES.iter().enumerate() {
        for capacity in [1, 2, 64] {
            let workers = [1, 2, 3, 8][(turn + capacity as usize) % 4];
            let options = Options::new().policy(policy.clone()).workers(workers).capacity(capacity);
            let found = bytes(&*program, Variant::Network, options.seed(turn as u64));
            let policy = policy.name();
            assert!(
                found == expected,
                "{app} {arguments:?}: {policy}, {workers} workers, capacity {capacity}"
            );
        }
    }
    expected
}

/// A file of a folder that goes with the test.
fn file(folder: &TempDir, content: &[u8]) -> String {
    let path = folder.path().join("input");
    std::fs::write(&path, content).expect("a file can be written");
    path.to_str().expect("a path of this test is text").to_owned()
}

fn samples(samples: impl IntoIterator<Item = f32>) -> Vec<u8> {
    samples.into_iter().flat_map(f32::to_le_bytes).collect()
}

#[test]
fn a_radio_sounds_the_same_in_every_way() {
    check("fm-radio", &["--samples", "500"], 1);
    check("fm-radio", &["--samples", "300", "--bands", "3", "--taps", "8", "--rate", "100000"], 1);
    for few in ["0", "63", "64", "70"] {
        let line = check("fm-radio", &["--samples", few], 1);
        assert!(line.starts_with(b"0 samples"), "{}", String::from_utf8_lossy(&line));
    }
    let folder = tempfile::tempdir().unwrap();
    // What is no number is none afterwards, too.
    let strange = [1.0, -0.0, f32::MAX, f32::MIN_POSITIVE / 4.0, f32::INFINITY, f32::NAN, 3.0];
    let path = file(&folder, &samples(strange.into_iter().cycle().take(400)));
    let sound = check("fm-radio", &[&path, "--taps", "5"], 1);
    assert_eq!(sound.len(), 4 * ((400 - 5) / 5 + 1 - 1 - 4));
}

#[test]
fn a_signal_comes_out_of_a_filter_bank_in_every_way() {
    for (bands, count) in [("1", "50"), ("3", "100"), ("8", "300"), ("8", "31"), ("8", "0")] {
        check("filter-bank", &["--bands", bands, "--samples", count], 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let signal: Vec<f32> = (0..200_u8).map(|n| f32::from(n % 17) - 8.0).collect();
    let path = file(&folder, &samples(signal.iter().copied()));
    let found = check("filter-bank", &[&path, "--bands", "4"], 1);
    let (found, _) = found.as_chunks();
    assert_eq!(found.len(), 200 - 15);
    for (found, sample) in found.iter().zip(signal) {
        assert!((f32::from_le_bytes(*found) - sample).abs() < 1e-4);
    }
}

#[test]
fn transforms_are_the_same_in_every_way_and_with_any_number_of_kernels() {
    for size in ["2", "4", "64"] {
        let lines =
            [1, 2, 3, 7].map(|parts| check("fft", &["--size", size, "--transforms", "9"], parts));
        assert!(lines.iter().all(|line| *line == lines[0]));
    }
    check("fft", &["--transforms", "0"], 2);
    let folder = tempfile::tempdir().unwrap();
    // An impulse in each of two blocks of four, of which the last is not full: constant spectra.
    let path = file(&folder, &samples([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]));
    let found = check("fft", &[&path, "--size", "4"], 2);
    assert_eq!(found, samples([1.0, 0.0].repeat(4).into_iter().chain([0.0, 2.0].repeat(4))));
}

#[test]
fn numbers_are_sorted_in_every_way() {
    for (keys, blocks) in [("2", "5"), ("4", "9"), ("8", "12"), ("32", "2"), ("8", "0")] {
        check("bitonic-sort", &["--keys", keys, "--blocks", blocks], 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut numbers: Vec<i64> =
        (0..27).map(|n| n * n * n % 31 - 15).chain([i64::MAX, i64::MIN]).collect();
    let lines = |numbers: &[i64]| {
        numbers.iter().fold(String::new(), |mut text, number| {
            writeln!(text, "{number}").expect("memory takes it");
            text
        })
    };
    let path = file(&folder, lines(&numbers).as_bytes());
    let found = check("bitonic-sort", &[&path, "--keys", "32"], 1);
    numbers.sort_unstable();
    assert_eq!(String::from_utf8_lossy(&found), lines(&numbers));
}

#[test]
fn des_is_the_same_in_every_way() {
    check("des", &["--blocks", "2"], 1);
    check("des", &["--blocks", "0"], 1);
    for length in [0, 8] {
        let folder = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (1..=length).collect();
        let key = ["--key", "0123456789abcdef"];
        let path = file(&folder, &text);
        let encrypted = check("des", &[&*path, key[0], key[1]], 1);
        assert_eq!(encrypted.len(), usize::from(length) / 8 * 8 + 8);
        let path = file(&folder, &encrypted);
        assert_eq!(check("des", &[&*path, key[0], key[1], "--decrypt"], 1), text);
    }
}
