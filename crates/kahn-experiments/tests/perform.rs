//! Experiments from end to end: measured, interrupted, gone on with, written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kahn_apps::Failure;
use kahn_experiments::{
    Axis, Bench, Claim, EXPERIMENTS, Experiment, Measured, Order, Outcome, Panel, Paper, Pick,
    Plan, Point, Refused, Series, Size, Study, View, Watcher, judge, perform,
};

static PAPER: Paper = Paper { short: "Nobody (2009)", full: "Nobody: On nothing. 2009." };

static STUDY: Study = Study { name: "toy", rounds: 9, points, measure };

static TOY: Experiment = Experiment {
    name: "toy",
    summary: "a toy",
    paper: &PAPER,
    place: "figure 1",
    found: "Twice the size takes twice the time.",
    method: "Nothing is measured.",
    studies: &[&STUDY],
    panels: |view| {
        let panel = Panel::new("toy", Axis::logarithmic("size"), Axis::linear("seconds"));
        vec![panel.and(Series::line("here", &view.rows(&STUDY).curve("size", "seconds")))]
    },
    claims,
};

fn points(plan: &Plan) -> Vec<Point> {
    Point::new().each("size", plan.size.of(vec![1_usize, 2, 4], vec![1], vec![1]))
}

/// Takes as long as it is large; 4 is more than the machine has.
fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let size = point.number("size");
    if point.count("size") == 4 {
        return Ok(Outcome::Refused(Refused {
            what: "four of them".to_owned(),
            limit: "RLIMIT_TOYS".to_owned(),
            value: "3".to_owned(),
        }));
    }
    if bench.inputs.join("broken").exists() {
        return Err(Failure::input("the toy is broken"));
    }
    #[cfg(target_os = "linux")]
    if bench.inputs.join("bound").exists() {
        let mut one = rustix::thread::CpuSet::new();
        one.set(rustix::thread::sched_getcpu());
        rustix::thread::sched_setaffinity(None, &one).expect("it runs there");
    }
    Ok(Outcome::Measured(Measured::seconds(size)))
}

fn claims(_view: &View) -> Vec<Claim> {
    let of = |size: usize| Pick::of(&STUDY, "seconds").with("size", size);
    vec![Claim::advantage("half the size takes half the time", 2.0).between(of(1), of(2))]
}

/// Remembers what was told.
#[derive(Default)]
struct Told {
    began: Vec<(usize, usize)>,
    measured: usize,
    written: Vec<PathBuf>,
    notes: Vec<String>,
}

impl Watcher for Told {
    fn begin(&mut self, _study: &str, there: usize, total: usize) {
        self.began.push((there, total));
    }

    fn measuring(&mut self, _what: &str) {}

    fn measured(&mut self) {
        self.measured += 1;
    }

    fn written(&mut self, page: &Path) {
        self.written.push(page.to_owned());
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

fn order(out: &Path, measure: bool) -> Order {
    let (experiments, out) = (vec![&TOY], out.to_owned());
    Order {
        experiments,
        size: Size::Quick,
        out,
        rounds: None,
        seed: 1,
        peers: BTreeMap::new(),
        source: String::new(),
        measure,
    }
}

fn carry_out(out: &Path) -> Told {
    let mut told = Told::default();
    perform(&order(out, true), &mut told).expect("the toy works");
    told
}

fn lines(out: &Path) -> PathBuf {
    out.join("measurements/quick/toy.jsonl")
}

#[test]
fn an_experiment_writes_figures_pictures_and_a_page_with_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let told = carry_out(folder.path());
    assert_eq!((told.began, told.measured), (vec![(0, 9)], 9));
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let text = |name: &str| String::from_utf8(read(name)).unwrap();

    let page = text("toy.md");
    for part in [
        "After Nobody (2009), figure 1. Size: **quick**",
        "| half the size takes half the time | 2.00 times |",
        "| **cannot tell** |",
        "| size 4 | four of them (RLIMIT_TOYS is 3) |",
        "| 2 | 2.00 |",
        "the median of 3 rounds, with its interval of 99 %",
        " cores",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // What takes microseconds is quiet or not as the ticks of the system's clock fall, and other tests run beside.
    let reasons = ["2.00 times, of 3 rounds, 8 needed", " of 3 rounds were not quiet: "];
    assert!(reasons.iter().any(|reason| page.contains(reason)), "{page}");
    let csv = text("toy.csv");
    assert!(csv.starts_with("study,size,rounds,refused,"), "{csv}");
    assert!(csv.contains("\ntoy,2,3,,"), "{csv}");
    assert!(csv.contains("\ntoy,4,0,four of them (RLIMIT_TOYS is 3),"), "{csv}");
    assert!(text("toy.svg").contains("<svg"));
    assert!(read("toy.png").starts_with(b"\x89PNG"));
}

/// As a network did that left its caller's thread pinned: all that was measured after it ran on one core.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_kept_that_was_measured_on_other_cores() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = folder.path().join("measurements/inputs");
    fs::create_dir_all(&inputs).unwrap();
    fs::write(inputs.join("bound"), "").unwrap();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let carry_out = || perform(&order(folder.path(), true), &mut Told::default());
    // On a thread of its own, which stays bound.
    let result = std::thread::scope(|scope| scope.spawn(carry_out).join().expect("it returns"));
    if cores == 1 {
        return result.unwrap();
    }
    let text = result.unwrap_err().to_string();
    assert!(text.contains(&format!("this program had {cores} cores, and has 1 now")), "{text}");
    assert!(!lines(folder.path()).exists());
}

#[test]
fn with_nine_rounds_there_is_a_verdict_and_the_summary_has_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let order = Order { rounds: Some(9), ..order(folder.path(), true) };
    perform(&order, &mut Told::default()).unwrap();
    // Whether something else ran meanwhile is not what is tested here.
    let text = fs::read_to_string(lines(folder.path())).unwrap();
    let quiet: Vec<_> = text.lines().map(hushed).collect();
    assert_eq!(quiet.len(), 1 + 27);
    fs::write(lines(folder.path()), quiet.join("\n") + "\n").unwrap();
    perform(&Order { measure: false, ..order }, &mut Told::default()).unwrap();
    let summary = fs::read_to_string(folder.path().join("summary.md")).unwrap();
    let row = "| `toy` | half the size takes half the time | 2.00 times | 2.00 times, 2.00 to 2.00 \
               (1.00 against 2.00) | reproduced |";
    assert!(summary.contains(row), "{summary}");
    assert!(summary.contains("\n1 promises: 1 reproduced.\n"), "{summary}");
    assert!(summary.contains("| rounds | 9, each in an order drawn from a seed |"), "{summary}");
}

/// A line as if nothing else had run.
fn hushed(line: &str) -> String {
    let mut line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    if let Some(measured) = line.get_mut("measured") {
        measured["load of others"] = 0.0.into();
        measured["steal time"] = 0.0.into();
    }
    line.to_string()
}

#[test]
fn each_round_has_an_order_of_its_own_and_the_same_for_the_same_seed() {
    let orders = |seed| {
        let folder = tempfile::tempdir().unwrap();
        let order = Order { rounds: Some(9), seed, ..order(folder.path(), true) };
        perform(&order, &mut Told::default()).unwrap();
        let text = fs::read_to_string(lines(folder.path())).unwrap();
        let points = text.lines().skip(1).map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["point"].to_string()
        });
        points.collect::<Vec<_>>()
    };
    let one = orders(1);
    assert_eq!(one, orders(1));
    assert_ne!(one, orders(2));
    assert!(one.chunks(3).any(|round| round != &one[..3]));
}

#[test]
fn what_is_judged_is_told_by_file_and_line_if_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = judge(folder.path()).unwrap_err();
    assert!(
        nothing.to_string().ends_with("there are no measurements of any experiment"),
        "{nothing}"
    );
    fs::write(folder.path().join("ring.jsonl"), "{}\n").unwrap();
    let wrong = judge(folder.path()).unwrap_err().to_string();
    assert!(wrong.contains("ring.jsonl: line 1: expected study, size"), "{wrong}");
}

/// The tables in the tree are what the command says of the raw data in the tree, and of nothing else.
#[test]
fn the_evaluations_in_the_tree_are_written_from_the_raw_data_in_the_tree() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (data, table) in
        [("evaluation/run", "docs/evaluation.md"), ("evaluation/paper", "docs/evaluation-paper.md")]
    {
        let folder = tree.join(data);
        if !folder.exists() {
            // A package that was published has no tree around it.
            assert!(!tree.join(".ci").exists(), "{data} is missing");
            continue;
        }
        let written = fs::read_to_string(tree.join(table)).unwrap();
        let evaluation = judge(&folder).unwrap().to_string();
        assert!(
            written == evaluation,
            "{table} is not what `kahn experiment judge {data}` writes: write it anew"
        );
    }
}

/// The row of a promise.
fn row<'text>(text: &'text str, promise: &str) -> &'text str {
    text.lines().find(|line| line.contains(promise)).unwrap_or_else(|| panic!("{promise}\n{text}"))
}

/// Raw data of another program, by hand: KPN-FLEX takes one second, KPN-MR five. If the names of the
/// two change places, so do the verdicts.
#[test]
fn anybodys_raw_data_are_judged_and_rows_that_change_places_turn_the_verdict() {
    let data = |flex: f64, mr: f64| {
        let machine = serde_json::json!({
            "processor": "theirs", "cores": 2, "memory": 1, "system": "s", "kahn": "0",
            "compiler": "c, release build", "program": "p"
        });
        let owner = serde_json::json!({
            "study": "wordcount", "size": "default", "rounds": 9, "seed": 7, "machine": machine
        });
        let mut text = format!("{owner}\n{{\"file\":\"a.txt\",\"sha256\":\"12\"}}\n");
        for round in 0..9_u8 {
            for (form, seconds) in [("KPN-FLEX", flex), ("KPN-MR", mr)] {
                let point = serde_json::json!([
                    ["MB", 10.0],
                    ["vocabulary", 260_000.0],
                    ["cpus", 1.0],
                    ["workers", 8.0],
                    ["form", form]
                ]);
                let seconds = seconds + 0.01 * f64::from(round);
                let measured = serde_json::json!({
                    "seconds": seconds, "seconds in all": seconds, "load of others": 0.01,
                    "steal time": 0.0
                });
                let line =
                    serde_json::json!({"point": point, "round": round, "measured": measured});
                text.push_str(&line.to_string());
                text.push('\n');
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wordcount.jsonl"), text).unwrap();
        judge(folder.path()).unwrap().to_string()
    };
    let promise = "10 MB, 1 CPU: KPN-FLEX is faster than KPN-MR";
    let (ours, theirs) = (data(1.0, 5.0), data(5.0, 1.0));
    let better = "| 3.41 times | 4.85 times, 4.70 to 5.00 (1.04 against 5.04) | better |";
    assert!(row(&ours, promise).ends_with(better), "{}", row(&ours, promise));
    assert!(row(&theirs, promise).ends_with("| worse |"), "{}", row(&theirs, promise));
    assert!(ours.contains("| `a.txt` | SHA-256 12 |"), "{ours}");
    assert!(ours.contains("theirs, 2 cores"), "{ours}");
    assert!(row(&ours, "50 MB, 1 CPU").contains("not measured: seconds of wordcount"), "{ours}");
}

#[test]
fn what_is_on_disk_is_not_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    carry_out(folder.path());
    let whole = fs::read_to_string(lines(folder.path())).unwrap();
    assert_eq!(whole.lines().count(), 10);

    // As if it had been ended in the middle of the fifth measurement.
    let half: String = whole.split_inclusive('\n').take(5).collect();
    fs::write(lines(folder.path()), format!("{half}{{\"point\":[[\"si")).unwrap();
    let told = carry_out(folder.path());
    assert_eq!((told.began, told.measured), (vec![(4, 9)], 5));
    let again = fs::read_to_string(lines(folder.path())).unwrap();
    assert!(again.starts_with(&half));
    assert_eq!(again.lines().count(), 10);

    assert_eq!(carry_out(folder.path()).measured, 0);
}

#[test]
fn measurements_of_another_version_are_put_aside_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    carry_out(folder.path());
    let whole = fs::read_to_string(lines(folder.path())).unwrap();
    let other = whole.replacen("\"kahn\":\"", "\"kahn\":\"0.0.0-", 1);
    fs::write(lines(folder.path()), &other).unwrap();

    // Pages can still be written from them, and name the version.
    perform(&order(folder.path(), false), &mut Told::default()).unwrap();
    let page = fs::read_to_string(folder.path().join("toy.md")).unwrap();
    assert!(page.contains("kahn 0.0.0-"), "{page}");

    let told = carry_out(folder.path());
    assert_eq!((told.began, told.measured), (vec![(0, 9)], 9));
    // A test is no build for measurements, and what it measures is told so.
    let is_told = if cfg!(debug_assertions) {
        "A development build"
    } else {
        "The program was not built with `--profile dist`"
    };
    assert!(told.notes[0].starts_with(is_told), "{:?}", told.notes);
    assert!(told.notes[1].starts_with("toy: measured before"), "{:?}", told.notes);
    let aside = lines(folder.path()).with_extension("jsonl.old");
    assert_eq!(fs::read_to_string(aside).unwrap(), other);
}

#[test]
fn an_experiment_that_fails_keeps_what_it_has_measured() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("measurements/inputs/broken");
    fs::create_dir_all(broken.parent().unwrap()).unwrap();
    fs::write(&broken, "").unwrap();
    let failed = perform(&order(folder.path(), true), &mut Told::default()).unwrap_err();
    assert_eq!(failed.to_string(), "the toy is broken");
    fs::remove_file(broken).unwrap();
    assert_eq!(carry_out(folder.path()).measured, 9);
}

#[test]
fn a_folder_that_cannot_be_one_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let failed = perform(&order(file.path(), true), &mut Told::default()).unwrap_err();
    assert!(matches!(failed, Failure::Input { .. }), "{failed}");
}

#[test]
fn every_experiment_has_a_name_of_its_own_and_can_be_written_before_it_is_measured() {
    let mut names: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), EXPERIMENTS.len());
    for experiment in EXPERIMENTS {
        assert!(!experiment.name.contains(' ') && !experiment.summary.is_empty());
        for size in [Size::Quick, Size::Default, Size::Paper] {
            for cores in [1, 2, 8] {
                for study in experiment.studies {
                    let points = (study.points)(&Plan { size, cores });
                    assert!(!points.is_empty(), "{}", experiment.name);
                    let mut keys: Vec<_> = points.iter().map(Point::key).collect();
                    keys.sort_unstable();
                    keys.dedup();
                    assert_eq!(keys.len(), points.len(), "{}: a point twice", experiment.name);
                }
            }
        }
    }
}
