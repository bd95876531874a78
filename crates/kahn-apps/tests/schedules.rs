//! A network prints the bytes of its sequential twin, however it is run.

use kahn::Options;
use kahn_apps::{App, Program, Variant, run};
use kahn_policies::POLICIES;
use proptest::prelude::*;

/// Ways to run a network: every policy, with numbers of workers and capacities drawn by `pick`.
fn ways(pick: usize) -> impl Iterator<Item = (String, Options)> {
    POLICIES.iter().enumerate().map(move |(turn, policy)| {
        let workers = [1, 2, 3, 8][(pick + turn) % 4];
        let capacity = [1, 2, 64][(pick / 4 + turn) % 3];
        let seed = pick as u64;
        let options = Options::new().policy(policy.clone()).workers(workers).capacity(capacity);
        let way = format!("{}, {workers} workers, capacity {capacity}", policy.name());
        (way, options.seed(seed))
    })
}

fn program(app: &str, arguments: &[&str], parts: usize) -> Box<dyn Program> {
    let app = App::named(app).expect("the program is in the table");
    app.prepare_from(arguments, Some(parts), 1).expect("the arguments are right")
}

/// All that a run gives: lines, files, notes.
fn bytes(program: &dyn Program, variant: Variant, options: Options) -> String {
    let ran = run(program, variant, options, |_| {}).expect("the run finishes");
    let mut text = format!("{:?}\n", ran.answer.notes).into_bytes();
    (ran.answer.lines)(&mut text).expect("memory takes it");
    for (path, lines) in &ran.answer.files {
        text.extend_from_slice(path.as_os_str().as_encoded_bytes());
        lines(&mut text).expect("memory takes it");
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Runs every form that is a network in every way and compares with the sequential form.
fn check(app: &str, arguments: &[&str], parts: usize, pick: usize) {
    let program = program(app, arguments, parts);
    let expected = bytes(&*program, Variant::Sequential, Options::new());
    let variants = App::named(app).expect("the program is in the table").variants;
    for variant in variants.iter().filter(|variant| variant.is_network()) {
        for (way, options) in ways(pick) {
            let found = bytes(&*program, *variant, options);
            let name = variant.name();
            assert!(found == expected, "{app} {name} {arguments:?}: {parts} parts with {way}");
        }
    }
}

fn path_in(folder: &tempfile::TempDir, name: &str, content: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file can be written");
    path.to_str().expect("a path of this test is text").to_owned()
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![6 => b'a'..=b'c', 2 => Just(b' '), 1 => any::<u8>()];
    prop::collection::vec(byte, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn wordcount_is_its_sequential_form(
        texts in prop::collection::vec(any_text(), 1..4),
        parts in 1usize..6,
        pick in 0usize..12,
    ) {
        let folder = tempfile::tempdir()?;
        let names = ["one", "two", "three"];
        let paths: Vec<_> =
            texts.iter().zip(names).map(|(text, name)| path_in(&folder, name, text)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        check("wordcount", &paths, parts, pick);
        for options in [&["--combine"][..], &["--one-by-one"], &["--combine", "--one-by-one"]] {
            let typed: Vec<_> = paths.iter().chain(options).copied().collect();
            check("wordcount", &typed, parts, pick);
        }
    }

    #[test]
    fn kmeans_is_its_sequential_form(
        rows in prop::collection::vec((-9i32..9, -9i32..9), 1..60),
        groups in 1usize..6,
        fraction in 0usize..3,
        parts in 1usize..6,
        pick in 0usize..12,
    ) {
        let folder = tempfile::tempdir()?;
        let fraction = ["", ".1", ".7e-3"][fraction];
        let text = lines(rows.iter().map(|(x, y)| format!("{x}{fraction},{y}")));
        let points = path_in(&folder, "points.csv", text.as_bytes());
        let groups = groups.min(rows.len()).to_string();
        let groups_file = folder.path().join("groups");
        let groups_file = groups_file.to_str().expect("a path of this test is text");
        let mut arguments = vec![&*points, "--groups", &groups, "--assignments", groups_file];
        // Means that are cut off may go round in circles for ever; real ones may not.
        arguments.extend(["--epsilon", "1e-9"]);
        check("kmeans", &arguments, parts, pick);
    }
}

#[test]
fn a_text_of_many_chunks_is_counted_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let huge_word = vec![b'x'; 600_000];
    let mut text = b"The word that follows fills more than two chunks: ".repeat(20_000);
    text.extend_from_slice(&huge_word);
    text.extend_from_slice(&b" and so on".repeat(50_000));
    let path = path_in(&folder, "text", &text);
    for (parts, pick) in [(1, 0), (3, 5), (8, 10)] {
        check("wordcount", &[&path, &path], parts, pick);
    }
}

#[test]
fn the_output_of_kmeans_does_not_depend_on_the_number_of_parts() {
    let arguments = ["--random", "2000", "--groups", "7"];
    let all: Vec<_> = [1, 2, 3, 8, 300]
        .iter()
        .flat_map(|&parts| {
            let program = program("kmeans", &arguments, parts);
            [Variant::Network, Variant::MapReduce]
                .map(|variant| bytes(&*program, variant, Options::new()))
        })
        .collect();
    assert!(all.iter().all(|text| *text == all[0]));
}

#[test]
fn integer_kmeans_is_its_sequential_form() {
    for pick in 0..4 {
        let arguments = ["--random", "1000", "--groups", "20", "--arithmetic", "integer"];
        check("kmeans", &arguments, pick + 1, pick);
    }
}

#[test]
fn the_sieve_grows_to_one_process_a_prime_in_every_way() {
    for (limit, pick) in [("0", 0), ("2", 1), ("500", 2), ("500", 7)] {
        check("sieve", &[limit], 1, pick);
    }
}

#[test]
fn hamming_numbers_come_out_in_every_way() {
    for (count, pick) in [("0", 0), ("1", 1), ("700", 2), ("700", 7), ("700", 10)] {
        check("hamming", &[count], 1, pick);
    }
}

#[test]
fn hamming_to_the_last_number_that_fits_overflows_nowhere() {
    check("hamming", &["100526"], 1, 3);
}

#[test]
fn a_ring_with_more_tokens_than_room_comes_home_in_every_way() {
    for (processes, tokens, cycles) in [(1, 1, 3), (1, 5, 2), (16, 1, 5), (16, 16, 5), (3, 70, 2)] {
        let numbers = [processes, tokens, cycles].map(|number: u32| number.to_string());
        let [processes, tokens, cycles] = numbers.each_ref();
        let arguments = ["--processes", processes, "--tokens", tokens, "--cycles", cycles];
        for pick in [0, 6, 11] {
            check("ring", &arguments, 1, pick);
        }
    }
}

#[test]
fn tasks_are_handed_out_and_awaited_in_every_way() {
    for work in [["--iterations", "50"], ["--work", "200ns"]] {
        let arguments = ["--processes", "5", "--rounds", "30", work[0], work[1]];
        check("scatter-gather", &arguments, 1, 4);
    }
}

#[test]
fn messages_of_every_kind_pass_a_pipeline_in_every_way() {
    for (pick, size) in [&["8"][..], &["64"], &["2048"], &["24", "--boxed"]].iter().enumerate() {
        let shape = ["--stages", "6", "--messages", "150", "--iterations", "20", "--bytes"];
        check("pipeline", &[&shape[..], size].concat(), 1, 3 * pick);
    }
    check("pipeline", &["--stages", "0", "--messages", "3", "--work", "0ns"], 1, 5);
}

#[test]
fn work_arrives_through_random_networks_with_and_without_cycles_in_every_way() {
    for (pick, back_edges) in ["0", "1", "3", "6"].iter().enumerate() {
        let shape = ["--layers", "12", "--width", "5", "--messages", "40", "--iterations", "60"];
        check("random", &[&shape[..], &["--back-edges", back_edges]].concat(), 1, 3 * pick);
    }
    check("random", &["--messages", "70"], 1, 2);
}

#[test]
fn a_block_is_encrypted_in_every_way() {
    for (pick, mode) in ["ecb", "ctr"].iter().enumerate() {
        let arguments = ["--size", "4000", "--passes", "3", "--mode", mode];
        for parts in [1, 3, 300] {
            check("aes", &arguments, parts, 5 * pick + parts);
        }
    }
    check("aes", &["--size", "0"], 2, 0);
}

#[test]
fn files_of_every_length_are_encrypted_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    // Around a block and around the chunks that the network has; see `aes/file.rs`.
    for (pick, length) in [0, 1, 15, 16, 65_535, 65_536, 200_000].into_iter().enumerate() {
        let text: Vec<u8> = (0..=250).cycle().take(length).collect();
        let path = path_in(&folder, "text", &text);
        let key = ["--key", "00112233445566778899aabbccddeeff"];
        for mode in [&["--mode", "ecb"][..], &["--mode", "ctr", "--iv", &"f".repeat(32)]] {
            let arguments = [&[&*path], &key[..], mode].concat();
            check("aes", &arguments, 3, pick);
            let there = program("aes", &arguments, 1);
            let mut encrypted = Vec::new();
            (there.sequential().unwrap().lines)(&mut encrypted).unwrap();
            let encrypted = path_in(&folder, "encrypted", &encrypted);
            let arguments = [&[&*encrypted, "--decrypt"], &key[..], mode].concat();
            check("aes", &arguments, 2, pick);
            let back = program("aes", &arguments, 1);
            let mut decrypted = Vec::new();
            (back.sequential().unwrap().lines)(&mut decrypted).unwrap();
            assert!(decrypted == text, "{length} bytes, {mode:?}");
        }
    }
}

#[test]
fn frames_are_coded_in_every_way_with_any_number_of_workers() {
    for (pick, parts) in [1, 2, 7].into_iter().enumerate() {
        check("h264-graph", &["--frames", "8", "--iterations", "20000"], parts, 4 * pick);
    }
    check("h264-graph", &["--frames", "0"], 2, 3);
}

/// Lloyd's algorithm read out of a book, in plain floats.
fn kmeans_by_the_book(points: &[[f64; 2]], groups: usize) -> Vec<[f64; 2]> {
    let mut means = points[..groups].to_vec();
    let mut assigned = vec![usize::MAX; points.len()];
    loop {
        let square = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
        let nearest = |point: [f64; 2]| {
            let by_distance = |a: &usize, b: &usize| {
                square(point, means[*a]).total_cmp(&square(point, means[*b]))
            };
            (0..groups).min_by(by_distance).expect("there is a group")
        };
        let now: Vec<usize> = points.iter().map(|point| nearest(*point)).collect();
        if now == assigned {
            return means;
        }
        assigned = now;
        for (group, mean) in means.iter_mut().enumerate() {
            let members =
                || points.iter().zip(&assigned).filter(|(_, in_group)| **in_group == group);
            let count = u32::try_from(members().count()).expect("few points");
            if count > 0 {
                *mean = [0, 1].map(|axis| {
                    members().map(|(point, _)| point[axis]).sum::<f64>() / f64::from(count)
                });
            }
        }
    }
}

proptest! {
    #[test]
    fn kmeans_agrees_with_the_book_on_whole_numbers(
        rows in prop::collection::vec((0i32..50, 0i32..50), 1..40),
        groups in 1usize..5,
    ) {
        // With whole numbers all sums are exact in plain floats too.
        let folder = tempfile::tempdir()?;
        let text = lines(rows.iter().map(|(x, y)| format!("{x},{y}")));
        let path = path_in(&folder, "points.csv", text.as_bytes());
        let points: Vec<_> =
            rows.iter().map(|&(x, y)| [f64::from(x), f64::from(y)]).collect();
        let groups = groups.min(rows.len());
        let means = kmeans_by_the_book(&points, groups);
        let expected = lines(means.iter().map(|[x, y]| format!("{x},{y}")));
        let program = program("kmeans", &[&path, "--groups", &groups.to_string()], 1);
        let mut found = Vec::new();
        (program.sequential().expect("it ends").lines)(&mut found)?;
        prop_assert_eq!(String::from_utf8(found)?, expected);
    }
}

/// Seed 1, computed by another program from the documentation of the generator.
#[test]
fn random_points_are_those_of_the_documented_generator() {
    // One point, and one mean: the round puts the mean on the point.
    let program = program("kmeans", &["--random", "1", "--groups", "1"], 1);
    let mut found = Vec::new();
    (program.sequential().unwrap().lines)(&mut found).unwrap();
    assert_eq!(String::from_utf8(found).unwrap(), "566,745,971\n");
}
