//! A network on several ranks prints the bytes of its sequential twin, and processes run on all of them.

use kahn::Options;
use kahn_apps::{APPS, Answer, App, Compare, build};
use kahn_net::Sim;
use std::fmt::Write;

/// A program, what is typed after it, and into how many parts its work is split.
type Run<'a> = (&'a str, &'a [&'a str], usize);

/// All that a run gives: lines, files, notes that do not tell how it ran.
fn bytes(answer: &Answer<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    (answer.lines)(&mut text).expect("memory takes it");
    for (path, lines) in &answer.files {
        text.extend_from_slice(path.as_os_str().as_encoded_bytes());
        lines(&mut text).expect("memory takes it");
    }
    text
}

/// Runs every form that is a network on one, two and three ranks, with channels that hold one message.
fn check(&(app, arguments, parts): &Run<'_>) {
    let app = App::named(app).expect("the program is in the table");
    let parts = (app.default_parts > 1).then_some(parts);
    let program = app.prepare_from(arguments, parts, 1).expect("the arguments are right");
    let expected = bytes(&program.sequential().expect("it is computed"));
    for variant in app.variants.iter().filter(|variant| variant.is_network()) {
        if build(&*program, *variant, &mut kahn::Network::new(), Compare::Written).is_err() {
            // The words of Unicode are no MapReduce job.
            continue;
        }
        for ranks in [1, 2, 3] {
            let way = format!("{} {} {arguments:?} on {ranks} ranks", app.name, variant.name());
            let ran = Sim::new(ranks).seed(ranks as u64).run(
                &Options::new().workers(1).capacity(1),
                |network| {
                    build(&*program, *variant, network, Compare::Written).expect("it is built")
                },
            );
            let ran = ran.unwrap_or_else(|error| panic!("{way}: {error}"));
            let answer = (ran.result)().unwrap_or_else(|| panic!("{way}: there is no result"));
            assert!(bytes(&answer) == expected, "{way}: another output");
            let cut = ran.table.cut().count();
            assert!(cut > 0 || ranks == 1, "{way}: nothing goes from rank to rank");
        }
    }
}

fn path_in(folder: &tempfile::TempDir, name: &str, content: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file can be written");
    path.to_str().expect("a path of this test is text").to_owned()
}

#[test]
fn every_network_prints_on_ranks_what_its_sequential_form_prints() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let words = b"to be or not to be: antidisestablishmentarianism, AntiDisestablishmentarianISM "
        .repeat(9);
    let text = path_in(&folder, "text", &words);
    let (empty, more) =
        (path_in(&folder, "empty", b""), path_in(&folder, "more", b"or NOT \xc3\xa9t\xc3\xa9"));
    let mut points = String::new();
    for n in 0..40 {
        writeln!(points, "{}.5,{}", n * 7 % 11, n % 5).expect("memory takes it");
    }
    let points = path_in(&folder, "points.csv", points.as_bytes());
    let groups = folder.path().join("groups");
    let groups = groups.to_str().expect("a path of this test is text");
    let key = "000102030405060708090a0b0c0d0e0f";
    let runs: &[Run<'_>] = &[
        ("wordcount", &[&text, &empty, &more], 3),
        ("wordcount", &[&text, &more, "--combine"], 2),
        ("wordcount", &[&text, &more, "--words", "unicode"], 3),
        ("kmeans", &[&points, "--groups", "3", "--assignments", groups], 3),
        ("kmeans", &["--random", "60", "--groups", "4", "--arithmetic", "integer"], 2),
        ("sieve", &["40"], 1),
        ("hamming", &["30"], 1),
        ("ring", &["--processes", "5", "--cycles", "3"], 1),
        ("scatter-gather", &["--processes", "3", "--rounds", "5", "--iterations", "3"], 1),
        ("pipeline", &["--stages", "3", "--messages", "20", "--iterations", "3"], 1),
        ("pipeline", &["--stages", "2", "--messages", "9", "--bytes", "1024"], 1),
        ("pipeline", &["--stages", "2", "--messages", "9", "--bytes", "24", "--boxed"], 1),
        (
            "random",
            &[
                "--layers",
                "4",
                "--width",
                "3",
                "--back-edges",
                "2",
                "--messages",
                "5",
                "--iterations",
                "3",
            ],
            1,
        ),
        ("aes", &[&text, "--key", key], 3),
        ("aes", &["--size", "4096"], 3),
        ("h264-graph", &["--frames", "3", "--iterations", "10"], 2),
        #[cfg(feature = "streamit")]
        ("fft", &["--size", "8", "--transforms", "3"], 1),
        #[cfg(feature = "streamit")]
        ("filter-bank", &["--samples", "20", "--bands", "2"], 1),
        #[cfg(feature = "streamit")]
        ("fm-radio", &["--samples", "120", "--bands", "2", "--taps", "8"], 1),
        #[cfg(feature = "streamit")]
        ("bitonic-sort", &["--keys", "4", "--blocks", "3"], 1),
        #[cfg(feature = "streamit")]
        ("des", &["--blocks", "1"], 1),
    ];
    for app in APPS.iter().filter(|app| app.variants.iter().any(|one| one.is_network())) {
        assert!(runs.iter().any(|run| run.0 == app.name), "{} is not tried on ranks", app.name);
    }
    runs.iter().for_each(check);
}
