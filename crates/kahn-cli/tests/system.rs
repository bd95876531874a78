//! How the command gets on with what is around it: pipes, full disks, Ctrl-C.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::process::{Command, Output, Stdio};
use std::thread;

fn kahn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kahn"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn several_that_mpi_has_started_are_refused_before_one_writes() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let run = |size: &str, name: &str| {
        let mut run = kahn(&["run", "hamming", "3", "--report-json"]);
        run.arg(&report).env(name, size).output().unwrap()
    };
    for name in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] {
        let output = run("2", name);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        let told = text(&output.stderr);
        assert!(told.starts_with("kahn: error: started 2 times by MPI, of which"), "{told}");
        assert!(told.contains("\nhelp: start it once, without mpirun"), "{told}");
        assert!(!report.exists());
    }
    // One alone does all of it, as it should.
    assert_eq!(text(&run("1", "PMI_SIZE").stdout), "1\n2\n3\n");
    assert!(report.exists());
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    // More output than a pipe holds, so that the command must notice.
    let mut run = kahn(&["run", "hamming", "20000"]).spawn().unwrap();
    drop(run.stdout.take());
    let Output { status, stderr, .. } = run.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(0));
    // That a channel had to grow is all that there is to tell.
    let told = text(&stderr);
    assert!(told.lines().all(|line| line.contains("had to grow")), "{told}");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = kahn(&["run", "sieve", "100"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.starts_with("kahn: error: cannot write standard output: "), "{message}");
}

#[test]
fn what_is_read_from_a_pipe_is_counted_too() {
    let content = b"to be or not to be ".repeat(10_000);
    for name in ["-", "/dev/stdin"] {
        let output = fed(&["run", "wordcount", name], content.clone());
        assert_eq!(text(&output.stdout), "BE\t20000\nTO\t20000\nNOT\t10000\nOR\t10000\n");
    }
    // Read once, whatever is done with it.
    let output = fed(&["verify", "wordcount", "-", "--parts", "2"], b"to be".to_vec());
    assert!(text(&output.stdout).starts_with("wordcount: equal under"));
    let output = fed(&["verify", "wordcount", "-", "--parts", "1,2"], b"to be".to_vec());
    assert!(text(&output.stdout).starts_with("wordcount with 1 and 2 parts: equal under"));
    let key = ["--key", "00112233445566778899aabbccddeeff"];
    let encrypted = fed(&[&["run", "aes", "-"], &key[..]].concat(), content.clone());
    let back = fed(&[&["run", "aes", "-", "--decrypt"], &key[..]].concat(), encrypted.stdout);
    assert!(back.stdout == content);
}

/// Runs the command with this on its standard input.
fn fed(arguments: &[&str], content: Vec<u8>) -> Output {
    let mut run = kahn(arguments).stdin(Stdio::piped()).spawn().expect("the system does it");
    let mut input = run.stdin.take().expect("the system does it");
    let writer = thread::Builder::new()
        .spawn(move || std::io::Write::write_all(&mut input, &content))
        .expect("the system does it");
    let output = run.wait_with_output().expect("the system does it");
    writer.join().expect("the system does it").expect("the system does it");
    output
}

#[test]
fn a_file_is_encrypted_and_decrypted_in_its_place_or_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let file = path.to_str().unwrap();
    let content = b"to be or not to be".repeat(10_000);
    fs::write(&path, &content).unwrap();
    let aes = |key: &str, more: &[&str]| {
        let arguments = [&["run", "aes", file, "--key", &key.repeat(32), "-o", file], more];
        let Output { status, stdout, stderr } = kahn(&arguments.concat()).output().unwrap();
        assert_eq!(text(&stdout), "");
        (status.code(), text(&stderr))
    };
    assert_eq!(aes("a", &[]), (Some(0), String::new()));
    let encrypted = fs::read(&path).unwrap();
    assert_eq!(encrypted.len(), (180_000 / 16 + 1) * 16);
    let (code, message) = aes("b", &["--decrypt"]);
    assert!(message.contains("does not end with padding when decrypted"), "{message}");
    assert_eq!((code, fs::read(&path).unwrap() == encrypted), (Some(2), true));
    assert_eq!(aes("a", &["--decrypt"]), (Some(0), String::new()));
    assert!(fs::read(&path).unwrap() == content);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

/// Starts the command, and presses Ctrl-C as soon as the command catches it.
fn interrupted(arguments: &[&str]) -> Output {
    let run = kahn(arguments).spawn().expect("the system does it");
    let id = run.id().to_string();
    let catches_interrupt = || {
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the system does it");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.expect("the system does it").trim(), 16)
            .expect("the system does it");
        caught & 1 << 1 != 0
    };
    while !catches_interrupt() {
        thread::yield_now();
    }
    assert!(
        Command::new("kill").args(["-INT", &id]).status().expect("the system does it").success()
    );
    run.wait_with_output().expect("the system does it")
}

#[test]
fn ctrl_c_ends_the_command_with_130_and_no_result() {
    for (verb, ranks) in [("run", ""), ("verify", ""), ("run", "3"), ("verify", "2,3")] {
        let mut typed = vec![verb, "sieve", "4000000000"];
        if !ranks.is_empty() {
            typed.extend(["--ranks", ranks]);
        }
        let output = interrupted(&typed);
        let told = (output.status.code(), text(&output.stdout));
        assert_eq!(told, (Some(130), String::new()), "{typed:?}: {}", text(&output.stderr));
    }
}

#[test]
fn files_asked_for_are_written_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("kahn-test-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [report, groups, picture] =
        ["report.json", "groups", "kmeans.svg"].map(|name| folder.join(name));
    let points = ["--random", "50", "--groups", "3", "--parts", "2"];

    let mut run = kahn(&["run", "kmeans", "--report"]);
    let output = run.args(points).arg("--report-json").arg(&report).arg("--assignments");
    let output = output.arg(&groups).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 3);
    assert!(text(&output.stderr).starts_with("kmeans, network, rounds: "));
    assert_eq!(fs::read_to_string(&groups).unwrap().lines().count(), 50);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!((&report["app"], &report["outcome"]), (&"kmeans".into(), &"finished".into()));
    assert!(report["rounds"].is_u64() && report["channels"].is_array());

    let output = kahn(&["graph", "kmeans"]).args(points).arg("--svg").arg(&picture).output();
    // The picture goes where it is asked to go, and nothing else goes anywhere.
    let output = output.unwrap();
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    let drawn = fs::read_to_string(&picture).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));

    let after = kahn(&["run", "kmeans"]).args(points).arg("--svg").arg(&picture).output();
    assert_eq!(after.unwrap().status.code(), Some(0));
    let drawn = fs::read_to_string(&picture).unwrap();
    assert!(
        drawn.contains("colour: share of the processors' time") && drawn.contains(" B<"),
        "{drawn}"
    );

    // Refused: not even an empty file is left.
    let refused = folder.join("refused.svg");
    let mut graph = kahn(&["graph", "wordcount", "missing.txt", "--svg"]);
    assert_eq!(graph.arg(&refused).output().unwrap().status.code(), Some(2));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_manual_has_a_page_for_each_subcommand_and_program() {
    let folder = tempfile::tempdir().unwrap();
    // As on a machine that has no pages of its user's own yet.
    let folder = folder.path().join("man/man1");
    let output = kahn(&["man"]).arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut pages: Vec<_> = fs::read_dir(&folder).unwrap().map(|page| page.unwrap()).collect();
    pages.sort_by_key(fs::DirEntry::file_name);
    assert!(text(&output.stderr).starts_with(&format!("kahn: wrote {} pages", pages.len())));
    let names: Vec<_> = pages.iter().map(|page| page.file_name().into_string().unwrap()).collect();
    let programs = text(&kahn(&["list"]).output().unwrap().stdout);
    let programs = programs.lines().filter(|line| line.contains(" app "));
    let programs: Vec<_> = programs.filter_map(|line| line.split(' ').next()).collect();
    assert!(programs.len() >= 10, "{programs:?}");
    for name in programs.into_iter().map(|program| format!("run-{program}")) {
        assert!(names.contains(&format!("kahn-{name}.1")), "{name}");
    }
    assert!(names.iter().any(|name| name == "kahn-graph-kmeans.1"), "{names:?}");
    for (page, name) in pages.iter().zip(&names) {
        // Before the title, the quotation marks that the writer defines.
        let content = fs::read_to_string(page.path()).unwrap();
        let first =
            content.lines().find(|line| !line.starts_with(".ie") && !line.starts_with(".el"));
        let title = format!(".TH {} 1 ", name.strip_suffix(".1").unwrap());
        assert!(first.is_some_and(|line| line.starts_with(&title)), "{name}: {first:?}");
        assert!(content.contains("\n.SH NAME\n") && content.contains("\n.SH SYNOPSIS\n"), "{name}");
    }
    // A file is no folder, and stays as it is.
    let refused = kahn(&["man"]).arg(folder.join("kahn.1")).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("help: name a folder"), "{}", text(&refused.stderr));
}

#[test]
fn colours_are_there_where_asked_for_and_not_with_no_color() {
    let with = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = kahn(arguments);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    // Help goes to standard output, an error of ours and one of the parser to standard error.
    for line in [&["run", "--help"][..], &["run", "nosuch"], &["run", "sieve", "abc"]] {
        let plain = with(line, &[]);
        let coloured = with(line, &[("CLICOLOR_FORCE", "1")]);
        let has_colour =
            |(out, err): &(String, String)| out.contains('\u{1b}') || err.contains('\u{1b}');
        assert!(!has_colour(&plain), "{line:?}: {plain:?}");
        assert!(has_colour(&coloured), "{line:?}: {coloured:?}");
        assert_eq!(with(line, &[("NO_COLOR", "1")]), plain);
        // `script` is a terminal for what it starts.
        let terminal = |variables: &[(&str, &str)]| {
            let typed = format!("{} {}", env!("CARGO_BIN_EXE_kahn"), line.join(" "));
            let mut script = Command::new("script");
            script.args(["--quiet", "--command", &typed, "/dev/null"]).stdin(Stdio::null());
            for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
                script.env_remove(name);
            }
            let output = script.env("TERM", "xterm").envs(variables.iter().copied()).output();
            text(&output.unwrap().stdout)
        };
        assert!(terminal(&[]).contains('\u{1b}'), "{line:?}");
        let plain = terminal(&[("NO_COLOR", "1")]);
        assert!(!plain.is_empty() && !plain.contains('\u{1b}'), "{line:?}: {plain}");
    }
}

#[test]
fn a_run_is_traced_and_traces_are_summed_up_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let files = ["a", "b"].map(|name| folder.join(format!("{name}.perfetto-trace")));
    for (file, level) in files.iter().zip(["schedule", "messages"]) {
        let mut run = kahn(&["run", "sieve", "100", "--workers", "2", "--trace-level", level]);
        let output = run.arg("--trace").arg(file).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).lines().count(), 25, "the result, and nothing else");
        assert_eq!(text(&output.stderr), "");
    }
    let summary = kahn(&["trace", "summary"]).arg(&files[1]).output().unwrap();
    let told = text(&summary.stdout);
    assert!(told.contains("\n  sieve ") && told.contains("most messages"), "{told}");
    let compared = kahn(&["trace", "diff"]).args(&files).output().unwrap();
    assert!(text(&compared.stdout).contains("first difference: "), "{}", text(&compared.stdout));

    // Nothing is half done: what is wrong is told before anything runs.
    let missing = folder.join("missing/a");
    let refused = kahn(&["run", "sieve", "100", "--trace"]).arg(&missing).output().unwrap();
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), String::new()));
    assert!(text(&refused.stderr).contains("there is no directory"), "{}", text(&refused.stderr));
    let refused = kahn(&["run", "sieve", "100", "--trace-events", "5"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no effect without a trace"));
    for bytes in [&b"text"[..], &fs::read(&files[0]).unwrap()[..9000]] {
        fs::write(folder.join("damaged"), bytes).unwrap();
        let refused = kahn(&["trace", "summary"]).arg(folder.join("damaged")).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("damaged: it "), "{}", text(&refused.stderr));
    }
}

#[test]
fn a_run_that_fails_leaves_what_happened_last() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    let line = ["run", "hamming", "300", "--capacity", "1", "--policy", "sequential"];
    let recorded = |more: &[&str]| {
        kahn(&line).args(more).arg("--trace-on-failure").arg(&traces).output().unwrap()
    };
    assert!(recorded(&[]).status.success());
    assert_eq!(fs::read_dir(&traces).unwrap().count(), 0, "a run that ends well leaves nothing");
    for number in 1..3 {
        let failed = recorded(&["--detection", "off"]);
        assert_eq!(failed.status.code(), Some(1));
        let name = format!("hamming-{number}.perfetto-trace");
        assert!(text(&failed.stderr).contains(&name), "{}", text(&failed.stderr));
        let summary = kahn(&["trace", "summary"]).arg(traces.join(&name)).output().unwrap();
        // Where it got stuck: the report says so as well.
        let told = text(&summary.stdout);
        assert!(told.contains("times 5  for room in by 5"), "{told}");
    }
}

#[test]
#[cfg(feature = "full")]
fn processes_that_communicate_are_traced_and_those_that_nothing_schedules_are_not() {
    let output = kahn(&["run", "commstime", "--cycles", "100", "--trace-summary"]).output();
    let output = output.unwrap();
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("for partners") && told.contains("for a partner at "), "{told}");
    let line = ["run", "sieve", "100", "--variant", "sequential", "--trace-summary"];
    let refused = kahn(&line).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--trace-summary has no effect"));
}

/// Each line of `docs/trace.md` that is to be typed.
#[test]
fn what_the_page_about_traces_shows_can_be_typed() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/trace.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let needs_all = |line: &str| ["kahn run commstime", "kahn snet"].map(|l| line.starts_with(l));
    let is_here = |line: &&str| cfg!(feature = "full") || needs_all(line) == [false; 2];
    let lines: Vec<_> = blocks.flat_map(str::lines).filter(is_here).collect();
    assert!(lines.len() > 6, "{lines:?}");
    let folder = tempfile::tempdir().unwrap();
    // What the lines name: files of this tree, a text and records.
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates");
    std::os::unix::fs::symlink(tree, folder.path().join("crates")).unwrap();
    fs::write(folder.path().join("poem.txt"), "a rose is a rose\n").unwrap();
    fs::write(folder.path().join("records.json"), "{\"tags\":{\"n\":9}}\n").unwrap();
    for line in lines {
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!(words[0], "kahn");
        let output = kahn(&words[1..]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        if words[2] == "diff" {
            let told = text(&output.stdout);
            assert!(
                told.contains("first difference: ") && told.contains("waits for room"),
                "{told}"
            );
        }
    }
}

/// The lines of reports, as `docs/frictions.md` has them.
#[test]
fn reports_have_as_many_lines_as_the_page_says() {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = fs::read_to_string(format!("{tree}/docs/frictions.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for (report, around) in [
        ("--report=full", ["as `--report=full` has: ", " lines with two workers."]),
        ("--report", ["numbers alone are one row: ", " lines."]),
    ] {
        let run = ["run", "wordcount", "README.md", "--workers", "2", report];
        let output = kahn(&run).current_dir(tree).output().unwrap();
        assert!(output.status.success());
        let lines = text(&output.stderr).lines().count();
        let told = format!("{}{lines}{}", around[0], around[1]);
        assert!(page.contains(&told), "{report}: {lines} lines");
    }
}

#[test]
fn every_network_of_the_list_is_recorded_and_run_again_with_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let poem = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/data/poem.txt");
    let list = kahn(&["list"]).output().unwrap();
    let list = text(&list.stdout);
    let networks = list.lines().filter(|line| {
        let (_, variants) = line.rsplit_once('(').unwrap_or_default();
        line.split_whitespace().nth(1) == Some("app") && variants.contains("network")
    });
    let names = networks.filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    for name in names {
        let arguments: &[&str] = match name {
            "wordcount" => &[poem],
            "kmeans" => &["--random", "100", "--groups", "3"],
            "sieve" | "hamming" => &["50"],
            "proxy" => &["127.0.0.1:0", "127.0.0.1:1"],
            "aes" => &["--size", "4K", "--passes", "2"],
            _ => &[],
        };
        let file = folder.path().join(name);
        let file = file.to_str().unwrap();
        let run = [&["run", name], arguments, &["--workers", "8", "--record", file]].concat();
        let recorded = kahn(&run).output().unwrap();
        let told = text(&recorded.stderr);
        if told.contains("its processes choose") {
            assert!(recorded.status.code() == Some(2) && !fs::exists(file).unwrap(), "{told}");
            continue;
        }
        assert_eq!(recorded.status.code(), Some(0), "{name}: {told}");
        for workers in ["1", "3"] {
            let again = kahn(&["replay", file, "--workers", workers]).output().unwrap();
            assert_eq!(again.status.code(), Some(0), "{name}: {}", text(&again.stderr));
            assert_eq!(text(&again.stdout), text(&recorded.stdout), "{name}");
        }
        count += 1;
    }
    assert!(count >= 10, "{list}");
}

#[test]
#[cfg(unix)]
fn no_bundle_is_left_by_ctrl_c_while_the_input_is_read() {
    use std::io::Write as _;

    let folder = tempfile::tempdir().unwrap();
    let crash = folder.path().join("crash");
    let mut run = kahn(&["run", "wordcount", "-", "--bundle"]);
    let run = run.arg(&crash).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().unwrap();
    let mut input = run.stdin.take().unwrap();
    // More than a pipe holds: most of it has been read.
    input.write_all(&vec![b' '; 1 << 20]).unwrap();
    let interrupt = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = run.wait_with_output().unwrap();
    drop(input);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(!crash.exists());
}

#[test]
fn what_is_no_network_is_not_recorded_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.rec");
    for (line, why) in [
        ("sieve 10 --variant sequential", "it is no network"),
        ("ring --variant threads", "it is no network"),
    ] {
        let mut run = kahn(&["run"]);
        let output = run.args(line.split(' ')).arg("--record").arg(&file).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        assert!(told.contains("cannot be recorded") && told.contains(why), "{line}: {told}");
        assert!(!file.exists());
    }
}
