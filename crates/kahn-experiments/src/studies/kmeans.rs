//! k-means: a tailored network against MapReduce; and both programs against Phoenix.

use kahn_apps::{Failure, Variant};

use super::options::options;
use super::program::Job;
use super::words;
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Paper, Plan, Size, Study};
use crate::papers::{FLEXIBLE, NORNIR};
use crate::peers::PHOENIX;
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Rows, Spot};
use crate::side::{Pick, Side};
use crate::{Bench, View};

static STUDY: Study = Study { name: "kmeans", rounds: 10, points, measure };

/// The problems: name, points, groups.
const PROBLEMS: [(&str, usize, usize); 3] =
    [("A", 100_000, 100), ("B", 200_000, 50), ("C", 200_000, 100)];

/// The part of the points that is taken.
fn part(plan: &Plan) -> usize {
    plan.size.of(10, 1, 1)
}

fn points(plan: &Plan) -> Vec<Point> {
    let part = part(plan);
    let mut all = Vec::new();
    for (name, points, groups) in PROBLEMS {
        for cpus in plan.cpus() {
            let point = Point::new().and("problem", name).and("points", points / part);
            let point = point.and("groups", groups).and("cpus", cpus);
            all.extend(point.each("form", [words::FORMS[0], words::FORMS[1], PHOENIX.name]));
        }
    }
    all
}

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let [points, groups] = ["points", "groups"].map(|name| point.count(name));
    let outcome = if point.text("form") == PHOENIX.name {
        let [points, groups] = [points, groups].map(|count| count.to_string());
        PHOENIX.measure("kmeans", &[&points, &groups], point.count("cpus"), bench)?
    } else {
        let variant = match point.text("form") {
            "KPN-MR" => Variant::MapReduce,
            _ => Variant::Network,
        };
        let name = |what| format!("glibc-{points}-{groups}-{what}.csv");
        let from = bench.input(&name("points"), &|out| write_random(0, points, out))?;
        let means = bench.input(&name("means"), &|out| write_random(3 * points, groups, out))?;
        let [from, means] = [from, means].map(|path| path.to_string_lossy().into_owned());
        let groups = groups.to_string();
        let arguments = [&*from, "--means", &means, "--groups", &groups, "--arithmetic", "integer"];
        // As many workers as threads, as in the paper.
        let parts = Some(point.count("cpus"));
        let job = Job { app: "kmeans", arguments: &arguments, parts, variant };
        job.measure(options(point), |_, measured| measured)?
    };
    Ok(match outcome {
        Outcome::Measured(measured) => {
            // The programs of Phoenix make the same points, and so the same rounds.
            let rounds = measured.0.get("rounds").copied().or_else(|| rounds(point));
            match rounds {
                Some(rounds) => {
                    let each = measured.0["seconds"] / rounds;
                    Outcome::Measured(measured.and(EACH, each))
                }
                None => Outcome::Measured(measured),
            }
        }
        refused @ Outcome::Refused(_) => refused,
    })
}

/// The seconds of a round: what is compared, for the numbers of rounds depend on the points.
const EACH: &str = "seconds per round";

/// The rounds of a problem in the paper's size, on the points of `rand`.
fn rounds(point: &Point) -> Option<f64> {
    let known = PROBLEMS.iter().zip([98.0, 141.0, 140.0]);
    let same = |problem: &(&str, usize, usize)| {
        (problem.1, problem.2) == (point.count("points"), point.count("groups"))
    };
    known.into_iter().find(|(problem, _)| same(problem)).map(|(_, rounds)| rounds)
}

/// Writes points of three coordinates: those that C programs get from glibc's `rand() % 1000`
/// without a seed, behind the first `skipped` numbers.
fn write_random(
    skipped: usize,
    points: usize,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let mut numbers = glibc_rand().skip(skipped).map(|number| number % 1000);
    for _ in 0..points {
        let mut next = || numbers.next().unwrap_or_default();
        let (x, y, z) = (next(), next(), next());
        writeln!(out, "{x},{y},{z}")?;
    }
    Ok(())
}

/// The numbers of glibc's `rand` with the seed 1: each is the sum of those 3 and 31 places before,
/// without its lowest bit; the first 31 are made by another generator, and the next 310 are dropped.
fn glibc_rand() -> impl Iterator<Item = u32> {
    let mut state = [0_u32; 31];
    let mut seed = 1_u64;
    for place in &mut state {
        *place = u32::try_from(seed).unwrap_or_default();
        seed = seed * 16_807 % 2_147_483_647;
    }
    let mut at = 3;
    let next = move || {
        let sum = state[at].wrapping_add(state[(at + 28) % 31]);
        state[at] = sum;
        at = (at + 1) % 31;
        Some(sum >> 1)
    };
    std::iter::from_fn(next).skip(310)
}

fn rows(view: &View, problem: &str, form: &str) -> Rows {
    view.rows(&STUDY).with("problem", problem).with("form", form)
}

fn curve(view: &View, problem: &str, form: &str) -> Curve {
    rows(view, problem, form).curve("cpus", EACH)
}

const FOUND: &str = "\
KPN-FLEX is about 1.2 times faster than KPN-MR with 100 groups and 1.4 times with 50; both scale \
almost perfectly.";

const METHOD: &str = "\
Integer points in [0, 1000)^3 and starting means, all from glibc's `rand` with the seed 1, as the \
papers' program draws them, until no point changes its group: 98, 141 and 140 rounds, of which the last \
only confirms. As many worker processes as CPUs. In KPN-MR a process iterates one MapReduce job within \
one network. Compared is the time of a round.";

/// The rounds of the papers' programs.
const PAPER_ROUNDS: [(&str, f64); 3] = [("A", 97.0), ("B", 140.0), ("C", 139.0)];

const PAPER: [(&str, usize, f64, f64, f64); 12] = [
    ("A", 1, 13.37, 11.45, 1.17),
    ("A", 2, 6.82, 5.79, 1.18),
    ("A", 4, 3.49, 2.93, 1.19),
    ("A", 8, 1.83, 1.51, 1.21),
    ("B", 1, 22.64, 16.74, 1.35),
    ("B", 2, 11.80, 8.44, 1.40),
    ("B", 4, 6.07, 4.35, 1.40),
    ("B", 8, 3.20, 2.24, 1.43),
    ("C", 1, 38.68, 32.83, 1.18),
    ("C", 2, 19.84, 16.39, 1.21),
    ("C", 4, 10.11, 8.35, 1.21),
    ("C", 8, 5.19, 4.26, 1.22),
];

/// The times by the number of CPUs.
pub(super) static FIGURE_9: Experiment = Experiment {
    name: "mapreduce-fig-9",
    summary: "k-means, KPN-FLEX and KPN-MR: time by the number of CPUs",
    paper: &FLEXIBLE,
    place: "section 6.3, figure 9",
    found: FOUND,
    method: METHOD,
    studies: &[&STUDY],
    panels: |view| {
        let part = part(&view.plan);
        let panels = PROBLEMS.map(|(problem, points, groups)| {
            let points = points / part;
            let title = format!("{problem}: {points} points, {groups} groups");
            let panel =
                Panel::new(title, Axis::linear("CPUs").to(8.0), Axis::logarithmic("ms a round"));
            let panel = words::FORMS.iter().fold(panel, |panel, form| {
                let each = curve(view, problem, form).map(|seconds| seconds * 1e3);
                panel.and(Series::line(*form, &each))
            });
            let rounds =
                PAPER_ROUNDS.iter().find(|line| line.0 == problem).map_or(1.0, |line| line.1);
            let paper = |seconds: fn(&(&str, usize, f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
                let lines = PAPER.iter().filter(|line| line.0 == problem);
                lines.map(|line| (float(line.1), seconds(line) / rounds * 1e3)).collect()
            };
            let [flex, mr] = words::FORMS.map(|form| format!("{form}, paper"));
            // Of other sizes the paper has nothing.
            if view.plan.size == Size::Quick {
                return panel;
            }
            panel
                .and(Series::quoted(flex, &paper(|line| line.3), Marks::Broken))
                .and(Series::quoted(mr, &paper(|line| line.2), Marks::Broken))
        });
        panels.to_vec()
    },
    claims: |_view| {
        let claims = PROBLEMS.iter().zip([1.98, 1.98, 2.0]).map(|((problem, ..), speed_up)| {
            let promise = format!("{problem}: KPN-FLEX is faster on two CPUs than on one");
            let claim = Claim::advantage(promise, speed_up).on(2);
            claim.between(pick(problem, 2, words::FORMS[0]), pick(problem, 1, words::FORMS[0]))
        });
        claims.collect()
    },
};

fn pick(problem: &str, cpus: usize, form: &str) -> Pick {
    Pick::of(&STUDY, EACH).with("problem", problem).with("cpus", cpus).with("form", form)
}

/// The times, speed-ups and factors.
pub(super) static TABLE_3: Experiment = Experiment {
    name: "mapreduce-table-3",
    summary: "k-means: time, speed-up, KPN-FLEX over KPN-MR",
    paper: &FLEXIBLE,
    place: "section 6.3, table 3",
    found: FOUND,
    method: METHOD,
    studies: &[&STUDY],
    panels: table_3,
    claims: |view| {
        let lines = PAPER.iter().filter(|line| view.plan.cpus().contains(&line.1));
        let claims = lines.map(|(problem, cpus, _, _, factor)| {
            let on = crate::point::cpus(*cpus);
            let promise = format!("{problem}, {on}: KPN-FLEX is faster than KPN-MR");
            let claim = Claim::advantage(promise, *factor);
            claim.between(
                pick(problem, *cpus, words::FORMS[0]),
                pick(problem, *cpus, words::FORMS[1]),
            )
        });
        claims.collect()
    },
};

/// The lines of the table that this machine has, with the factor.
fn lines(view: &View) -> Vec<(&'static str, usize, Option<f64>)> {
    let mut lines = Vec::new();
    for (problem, ..) in PROBLEMS {
        for cpus in view.plan.cpus() {
            let at = |form| curve(view, problem, form).at(float(cpus));
            let factor = at(words::FORMS[1]).zip(at(words::FORMS[0])).map(|(mr, flex)| mr / flex);
            lines.push((problem, cpus, factor));
        }
    }
    lines
}

fn table_3(view: &View) -> Vec<Panel> {
    let lines = lines(view);
    let axis =
        || Axis::steps("problem / CPUs", lines.iter().map(|line| format!("{}/{}", line.0, line.1)));
    let here = |figure: &dyn Fn(&str, f64) -> Option<f64>| {
        let spots = lines.iter().enumerate();
        Curve(
            spots
                .filter_map(|(step, line)| {
                    Some(Spot::exact(float(step), figure(line.0, float(line.1))?))
                })
                .collect(),
        )
    };
    let quoted = |figure: fn(&(&str, usize, f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        lines
            .iter()
            .enumerate()
            .filter_map(|(step, line)| {
                let paper = PAPER.iter().find(|paper| paper.0 == line.0 && paper.1 == line.1)?;
                Some((float(step), figure(paper)))
            })
            .collect()
    };
    let seconds = |form: &'static str| here(&|problem, cpus| curve(view, problem, form).at(cpus));
    let speed_up = |form: &'static str| {
        here(&|problem, cpus| {
            let curve = curve(view, problem, form);
            Some(curve.at(1.0)? / curve.at(cpus)?)
        })
    };
    let factor = here(&|problem, cpus| {
        lines.iter().find(|line| line.0 == problem && float(line.1).total_cmp(&cpus).is_eq())?.2
    });
    vec![
        Panel::new("time", axis(), Axis::logarithmic("seconds"))
            .and(Series::columns("KPN-FLEX", &seconds(words::FORMS[0])))
            .and(Series::columns("KPN-MR", &seconds(words::FORMS[1])))
            .and(Series::quoted("KPN-FLEX, paper", &quoted(|line| line.3), Marks::Broken))
            .and(Series::quoted("KPN-MR, paper", &quoted(|line| line.2), Marks::Broken)),
        Panel::new("KPN-FLEX over KPN-MR", axis(), Axis::linear("times faster"))
            .and(Series::columns("here", &factor))
            .and(Series::quoted("paper", &quoted(|line| line.4), Marks::Broken)),
        Panel::new("speed-up over one CPU", axis(), Axis::linear("times"))
            .and(Series::columns("KPN-FLEX", &speed_up(words::FORMS[0])))
            .and(Series::columns("KPN-MR", &speed_up(words::FORMS[1]))),
    ]
}

/// The papers' factors over Phoenix, on 8 CPUs: of KPN-MR and of KPN-FLEX.
const FACTORS: [(&str, f64, f64); 6] = [
    ("10 MB", 0.94, 2.73),
    ("50 MB", 0.53, 2.65),
    ("100 MB", 0.48, 2.76),
    ("A", 1.31, 1.58),
    ("B", 1.23, 1.75),
    ("C", 1.05, 1.28),
];

/// A line of the tables: its name in [`FACTORS`], what it is called, and what is measured.
struct Line {
    factors: &'static str,
    name: String,
    pick: Box<dyn Fn(&str) -> Pick>,
}

const PHOENIX_METHOD: &str = "\
The programs of Phoenix or Phoenix++ are measured in the same run, if the variable `KAHN_PEER_PHOENIX` \
names their folder, with as many threads as CPUs. Their times are those of the whole program, ours \
those of the network. Phoenix++ combines pairs where they are made: what is like it is KPN-MR with a \
combiner. Word count with the best number of workers; of k-means the time of a round.";

const fn against_phoenix(
    name: &'static str,
    summary: &'static str,
    paper: &'static Paper,
    place: &'static str,
    studies: &'static [&'static Study],
    claims: fn(&View) -> Vec<Claim>,
    panels: fn(&View) -> Vec<Panel>,
) -> Experiment {
    Experiment {
        name,
        summary,
        paper,
        place,
        found: "Word count: KPN-MR is slower than Phoenix, 1.06 times on the smallest file and \
                about 2 times on the others, KPN-FLEX about 2.7 times faster. k-means: KPN-MR is \
                1.05 to 1.3 times faster than Phoenix, KPN-FLEX 1.28 to 1.75 times.",
        method: PHOENIX_METHOD,
        studies,
        panels,
        claims,
    }
}

/// Word count against Phoenix.
pub(super) static NORNIR_TABLE_1: Experiment = against_phoenix(
    "nornir-table-1",
    "word count against Phoenix: KPN-MR and KPN-FLEX",
    &NORNIR,
    "section 5.4, table 1 (and HPCC 2009, table 4)",
    &[&words::STUDY],
    |view| phoenix_claims(&word_lines(view)),
    |view| phoenix_panels(view, &word_lines(view)),
);

/// k-means against Phoenix; what the table has of word count is in the other paper as well.
pub(super) static TABLE_4: Experiment = against_phoenix(
    "mapreduce-table-4",
    "k-means against Phoenix: KPN-MR and KPN-FLEX",
    &FLEXIBLE,
    "section 6.4, table 4",
    &[&STUDY],
    |view| phoenix_claims(&kmeans_lines(view)),
    |view| phoenix_panels(view, &kmeans_lines(view)),
);

fn word_lines(view: &View) -> Vec<Line> {
    let cpus = view.plan.most_cpus();
    let lines = words::sizes(&view.plan).into_iter().zip(["10 MB", "50 MB", "100 MB"]);
    let lines = lines.map(|(megabytes, factors)| Line {
        factors,
        name: format!("{megabytes} MB"),
        pick: Box::new(move |form| words::pick((megabytes, words::VOCABULARIES[0]), cpus, form)),
    });
    lines.collect()
}

fn kmeans_lines(view: &View) -> Vec<Line> {
    let cpus = view.plan.most_cpus();
    let lines = PROBLEMS.iter().map(|(problem, ..)| Line {
        factors: problem,
        name: (*problem).to_owned(),
        pick: Box::new(move |form| pick(problem, cpus, form)),
    });
    lines.collect()
}

fn phoenix_panels(view: &View, lines: &[Line]) -> Vec<Panel> {
    let axis = || {
        Axis::steps(crate::point::cpus(view.plan.most_cpus()), lines.iter().map(|line| &line.name))
    };
    let curve = |form: &str| {
        let spots = lines
            .iter()
            .enumerate()
            .filter_map(|(step, line)| Some((line.pick)(form).spot(view)?.at(float(step))));
        Curve(spots.collect())
    };
    let phoenix = curve(PHOENIX.name);
    let quoted = |figure: fn(&(&str, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        let spots = lines.iter().enumerate().filter_map(|(step, line)| {
            let factors = FACTORS.iter().find(|factors| factors.0 == line.factors)?;
            Some((float(step), figure(factors)))
        });
        spots.collect()
    };
    let forms = [words::FORMS[0], words::FORMS[1], words::COMBINED];
    let times = Panel::new("time", axis(), Axis::logarithmic("seconds"));
    let times = times.and(Series::columns(PHOENIX.name, &phoenix));
    let times =
        forms.iter().fold(times, |panel, form| panel.and(Series::columns(*form, &curve(form))));
    let over = Panel::new("over Phoenix", axis(), Axis::logarithmic("times faster"));
    let over = forms
        .iter()
        .fold(over, |panel, form| panel.and(Series::columns(*form, &phoenix.over(&curve(form)))));
    vec![
        times,
        over.and(Series::quoted("KPN-FLEX, paper (8 CPUs)", &quoted(|line| line.2), Marks::Broken))
            .and(Series::quoted("KPN-MR, paper (8 CPUs)", &quoted(|line| line.1), Marks::Broken)),
    ]
}

fn phoenix_claims(lines: &[Line]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for line in lines {
        let Some((_, mr, flex)) = FACTORS.iter().find(|factors| factors.0 == line.factors) else {
            continue;
        };
        let phoenix = || Side::from((line.pick)(PHOENIX.name));
        for (form, factor) in [(words::FORMS[0], *flex), (words::FORMS[1], *mr)] {
            let ours = (line.pick)(form);
            let name = &line.name;
            claims.push(if factor >= 1.0 {
                let promise = format!("{name}: {form} is faster than Phoenix");
                Claim::advantage(promise, factor).between(ours, phoenix()).on(8)
            } else {
                let promise = format!("{name}: {form} has {factor} of the speed of Phoenix");
                let rival = phoenix().times(1.0 / factor);
                Claim::advantage(promise, 1.0).between(ours, rival).on(8)
            });
        }
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_glibc() {
        // What a C program prints that calls `rand` without a seed.
        let first: Vec<u32> = glibc_rand().take(5).collect();
        let known = [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793];
        assert_eq!(first, known);
    }
}
