//! Experiments from end to end: measured, interrupted, gone on with, written.

use std::fs;
use std::path::{Path, PathBuf};

use kahn_apps::Failure;
use kahn_experiments::{
    Axis, Bench, Claim, EXPERIMENTS, Experiment, Measured, Order, Outcome, Panel, Paper, Plan,
    Point, Refused, Series, Size, Statistic, Study, Verdict, View, Watcher, perform,
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
    statistic: Statistic::Median,
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
    Ok(Outcome::Measured(Measured::seconds(size)))
}

fn claims(view: &View) -> Vec<Claim> {
    let curve = view.rows(&STUDY).curve("size", "seconds");
    let ratio = curve.at(2.0).zip(curve.at(1.0)).map(|(two, one)| two / one);
    vec![Claim::judge("twice the time", ratio, |ratio| {
        (format!("{ratio} times"), Verdict::at_most(ratio, 2.0, 1.5))
    })]
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
    Order { experiments: vec![&TOY], size: Size::Quick, out: out.to_owned(), measure }
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
        "| twice the time | 2 times | **reproduced** |  |",
        "| size 4 | four of them (RLIMIT_TOYS is 3) |",
        "| 2 | 2.00 |",
        "median of 3 rounds",
        " cores",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let csv = text("toy.csv");
    assert!(csv.starts_with("study,size,rounds,refused,"), "{csv}");
    assert!(csv.contains("\ntoy,2,3,,"), "{csv}");
    assert!(csv.contains("\ntoy,4,0,four of them (RLIMIT_TOYS is 3),"), "{csv}");
    assert!(text("toy.svg").contains("<svg"));
    assert!(read("toy.png").starts_with(b"\x89PNG"));
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
    assert!(told.notes[0].starts_with("toy: measured before"), "{:?}", told.notes);
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
