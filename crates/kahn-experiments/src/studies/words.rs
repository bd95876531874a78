//! Word count: a tailored network against MapReduce.

use kahn_apps::{Failure, Variant, zipf};

use super::options::options;
use super::program::Job;
use crate::claim::{Claim, Verdict, show};
use crate::experiment::{Experiment, Outcome, Plan, Statistic, Study};
use crate::papers::{FLEXIBLE, NORNIR};
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Spot};
use crate::{Bench, View};

pub(super) static STUDY: Study = Study { name: "wordcount", rounds: 10, points, measure };

/// The forms, by the names of the papers.
pub(super) const FORMS: [&str; 2] = ["KPN-FLEX", "KPN-MR"];

/// Words of the large vocabulary, which the papers' files are closer to, and of the small one.
pub(super) const VOCABULARIES: [usize; 2] = [260_000, 20_000];

/// The sizes in the order of the papers: small, middle, large.
pub(super) fn sizes(plan: &Plan) -> [usize; 3] {
    plan.size.of([1, 2, 4], [10, 50, 100], [10, 50, 100])
}

fn points(plan: &Plan) -> Vec<Point> {
    let workers: Vec<usize> =
        plan.size.of(vec![8, 32], vec![8, 32, 128], (8..=128).step_by(8).collect());
    let mut points = Vec::new();
    for megabytes in sizes(plan) {
        for vocabulary in VOCABULARIES {
            if vocabulary == VOCABULARIES[1] && megabytes != sizes(plan)[2] {
                continue;
            }
            for cpus in plan.cpus() {
                for workers in &workers {
                    let point = Point::new().and("MB", megabytes).and("vocabulary", vocabulary);
                    let point = point.and("cpus", cpus).and("workers", *workers);
                    points.extend(point.each("form", FORMS));
                }
            }
        }
    }
    points
}

fn measure(point: &Point, bench: &Bench<'_>) -> Result<Outcome, Failure> {
    let (megabytes, vocabulary) = (point.count("MB"), point.count("vocabulary"));
    let words = u32::try_from(vocabulary).unwrap_or(u32::MAX);
    let name = format!("zipf-{megabytes}-{vocabulary}.txt");
    let text = bench.input(&name, &|out| zipf::write_text(megabytes * 1_000_000, words, 1, out))?;
    let text = text.to_string_lossy();
    let variant = match point.text("form") {
        "KPN-MR" => Variant::MapReduce,
        _ => Variant::Network,
    };
    let parts = Some(point.count("workers"));
    let job = Job { app: "wordcount", arguments: &[&text], parts, variant };
    job.measure(options(point), |_, measured| measured)
}

/// The curve over the workers of a size and form on so many CPUs.
fn curve(view: &View, (megabytes, vocabulary): (usize, usize), cpus: usize, form: &str) -> Curve {
    let rows = view.rows(&STUDY).with("MB", megabytes).with("vocabulary", vocabulary);
    rows.with("cpus", cpus).with("form", form).curve("workers", "seconds")
}

/// The best number of workers, and the time with it.
pub(super) fn best(view: &View, text: (usize, usize), cpus: usize, form: &str) -> Option<Spot> {
    curve(view, text, cpus, form).least()
}

/// The lines of the papers' tables that this machine has: a text and a number of CPUs.
fn lines(view: &View) -> Vec<((usize, usize), usize)> {
    let texts = sizes(&view.plan).map(|megabytes| (megabytes, VOCABULARIES[0]));
    let small = (sizes(&view.plan)[2], VOCABULARIES[1]);
    let texts = texts.into_iter().chain([small]);
    texts.flat_map(|text| view.plan.cpus().into_iter().map(move |cpus| (text, cpus))).collect()
}

fn name_of(((megabytes, vocabulary), cpus): ((usize, usize), usize)) -> String {
    let small = if vocabulary == VOCABULARIES[1] { "s" } else { "" };
    format!("{megabytes}{small}/{cpus}")
}

/// Draws a quantity of the lines of a table as columns.
fn by_line(
    lines: &[((usize, usize), usize)],
    figure: impl Fn((usize, usize), usize) -> Option<f64>,
) -> Curve {
    let spots = lines
        .iter()
        .enumerate()
        .filter_map(|(step, (text, cpus))| Some(Spot::exact(float(step), figure(*text, *cpus)?)));
    Curve(spots.collect())
}

fn factor(view: &View, text: (usize, usize), cpus: usize) -> Option<f64> {
    Some(best(view, text, cpus, FORMS[1])?.y / best(view, text, cpus, FORMS[0])?.y)
}

const METHOD: &str = "\
Text with words as in natural language (Zipf's law, fixed seed), with 260 000 words and, for the \
largest size, also with 20 000 (marked `s`): the vocabulary decides much. KPN-FLEX is split, n \
counting and n summing processes, and a merge; KPN-MR two chained MapReduce jobs with n processes \
in each of the four stages, without a combiner.";

const FOUND: &str = "\
KPN-FLEX is 3 to 6.7 times faster than KPN-MR, more so for larger files. Both get faster with more \
CPUs, about by the logarithm of their number. The best number of workers is 8 to 32 for KPN-FLEX \
and 32 to 128 for KPN-MR; more than that is slower again.";

/// The times by the number of workers.
pub(super) static FIGURE_8: Experiment = Experiment {
    name: "mapreduce-fig-8",
    summary: "word count, KPN-FLEX and KPN-MR: time by the number of workers",
    paper: &FLEXIBLE,
    place: "section 6.2, figure 8",
    found: FOUND,
    method: METHOD,
    studies: &[&STUDY],
    statistic: Statistic::Mean,
    panels: figure_8,
    claims: |view| {
        let largest = (sizes(&view.plan)[2], VOCABULARIES[0]);
        let cpus = view.plan.most_cpus();
        let rise = |form| {
            let curve = curve(view, largest, cpus, form);
            Some((curve.least()?, curve.0.last().copied()?))
        };
        vec![
            Claim::judge(
                "with too many workers the time rises again, for KPN-FLEX from 32 on",
                rise(FORMS[0]),
                |(least, last)| {
                    let text = format!(
                        "best with {}; with {} {} times that",
                        least.x,
                        last.x,
                        show(last.y / least.y)
                    );
                    let verdict =
                        if last.y < 1.05 * least.y { Verdict::Better } else { Verdict::Reproduced };
                    (text, verdict)
                },
            )
            .because(
                "every counter has a table of its own, so more of them are more tables to fill \
                 and to add up; switching between processes costs next to nothing",
            ),
            scaling(view, largest, FORMS[0]),
        ]
    },
};

fn scaling(view: &View, text: (usize, usize), form: &str) -> Claim {
    let ratio = best(view, text, 1, form)
        .zip(best(view, text, 2, form).filter(|_| view.plan.cores >= 2))
        .map(|(one, two)| one.y / two.y);
    Claim::judge("two CPUs: speed-up 1.71 to 1.77 (KPN-FLEX)", ratio, |ratio| {
        (format!("{ratio:.2}"), Verdict::at_least(ratio, 1.65, 1.85))
    })
    .because("counting is split evenly; the merge of the sorted lists and the output are not")
}

fn figure_8(view: &View) -> Vec<Panel> {
    let mut panels = Vec::new();
    for form in FORMS {
        for megabytes in sizes(&view.plan) {
            let title = format!("{form}, {megabytes} MB");
            let mut panel = Panel::new(title, Axis::linear("workers"), Axis::linear("seconds"));
            for cpus in view.plan.cpus() {
                let curve = curve(view, (megabytes, VOCABULARIES[0]), cpus, form);
                panel = panel.and(Series::line(format!("{cpus} CPUs"), &curve));
            }
            panels.push(panel);
        }
    }
    panels
}

/// What the paper's table 1 has: size, CPUs, seconds of KPN-MR and KPN-FLEX, factor.
const PAPER: [(usize, usize, f64, f64, f64); 12] = [
    (0, 1, 1.24, 0.36, 3.41),
    (0, 2, 0.80, 0.21, 3.80),
    (0, 4, 0.46, 0.14, 3.24),
    (0, 8, 0.32, 0.11, 2.95),
    (1, 1, 8.57, 1.54, 5.57),
    (1, 2, 5.14, 0.87, 5.91),
    (1, 4, 2.92, 0.52, 5.57),
    (1, 8, 1.86, 0.37, 5.06),
    (2, 1, 20.00, 3.17, 6.30),
    (2, 2, 12.22, 1.81, 6.74),
    (2, 4, 6.65, 1.08, 6.14),
    (2, 8, 4.23, 0.74, 5.69),
];

/// The best times, speed-ups and factors.
pub(super) static TABLE_1: Experiment = Experiment {
    name: "mapreduce-table-1",
    summary: "word count: best number of workers, time, speed-up, KPN-FLEX over KPN-MR",
    paper: &FLEXIBLE,
    place: "section 6.2, table 1",
    found: FOUND,
    method: METHOD,
    studies: &[&STUDY],
    statistic: Statistic::Mean,
    panels: table_1,
    claims: |view| {
        lines(view)
            .into_iter()
            .map(|(text, cpus)| {
                let at = sizes(&view.plan).iter().position(|megabytes| *megabytes == text.0);
                let paper = PAPER.iter().find(|line| Some(line.0) == at && line.1 == cpus);
                let (seconds, least) = paper.map_or((0.0, 3.0), |line| (line.3, line.4));
                let promise = format!(
                    "{}: KPN-FLEX {least} times faster than KPN-MR (3 at least)",
                    name_of((text, cpus))
                );
                Claim::judge(&promise, factor(view, text, cpus), |factor| {
                (format!("{} times", show(factor)), Verdict::at_least(factor, 2.95, least * 1.05))
            })
            .because(format!(
                "MapReduce sorts all words and not the distinct ones; the paper's KPN-FLEX took \
                 {} s, on another machine and another text",
                show(seconds)
            ))
            })
            .collect()
    },
};

fn table_1(view: &View) -> Vec<Panel> {
    let lines = lines(view);
    let names: Vec<_> = lines.iter().map(|line| name_of(*line)).collect();
    let axis = || Axis::steps("MB / CPUs", names.iter());
    let quoted = |figure: fn(&(usize, usize, f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        let spots = lines.iter().enumerate().filter_map(|(step, (text, cpus))| {
            if text.1 != VOCABULARIES[0] {
                return None;
            }
            let at = sizes(&view.plan).iter().position(|megabytes| *megabytes == text.0);
            let line = PAPER.iter().find(|line| Some(line.0) == at && line.1 == *cpus)?;
            Some((float(step), figure(line)))
        });
        spots.collect()
    };
    let seconds = |form: &'static str| {
        by_line(&lines, |text, cpus| best(view, text, cpus, form).map(|spot| spot.y))
    };
    let workers = |form: &'static str| {
        by_line(&lines, |text, cpus| best(view, text, cpus, form).map(|spot| spot.x))
    };
    let speed_up = |form: &'static str| {
        by_line(&lines, |text, cpus| {
            Some(best(view, text, 1, form)?.y / best(view, text, cpus, form)?.y)
        })
    };
    let mut panels = vec![
        Panel::new("best time", axis(), Axis::logarithmic("seconds"))
            .and(Series::columns("KPN-FLEX", &seconds(FORMS[0])))
            .and(Series::columns("KPN-MR", &seconds(FORMS[1])))
            .and(Series::quoted("KPN-FLEX, paper", &quoted(|line| line.3), Marks::Broken))
            .and(Series::quoted("KPN-MR, paper", &quoted(|line| line.2), Marks::Broken)),
        Panel::new("KPN-FLEX over KPN-MR", axis(), Axis::linear("times faster"))
            .and(Series::columns("here", &by_line(&lines, |text, cpus| factor(view, text, cpus))))
            .and(Series::quoted("paper", &quoted(|line| line.4), Marks::Broken)),
    ];
    for (title, label, figure) in [
        ("best number of workers", "workers", &workers as &dyn Fn(&'static str) -> Curve),
        ("speed-up over one CPU", "times", &speed_up),
    ] {
        let panel = Panel::new(title, axis(), Axis::linear(label));
        panels.push(
            FORMS
                .iter()
                .fold(panel, |panel, form| panel.and(Series::columns(*form, &figure(form)))),
        );
    }
    panels
}

/// The best times by the number of CPUs.
pub(super) static FIGURE_15: Experiment = Experiment {
    name: "nornir-fig-15",
    summary: "word count, KPN-FLEX and KPN-MR: time by the number of CPUs",
    paper: &NORNIR,
    place: "section 5.4, figure 15",
    found: "The running time falls about linearly with each doubling of the CPUs. KPN-FLEX is 3 to \
            6.7 times faster than KPN-MR, the more the larger the file.",
    method: METHOD,
    studies: &[&STUDY],
    statistic: Statistic::Median,
    panels: |view| {
        let panels = FORMS.map(|form| {
            let panel = Panel::new(form, Axis::linear("CPUs"), Axis::linear("seconds"));
            sizes(&view.plan).iter().fold(panel, |panel, megabytes| {
                let spots = view.plan.cpus().into_iter().filter_map(|cpus| {
                    let spot = best(view, (*megabytes, VOCABULARIES[0]), cpus, form)?;
                    Some(Spot { x: float(cpus), ..spot })
                });
                panel.and(Series::line(format!("{megabytes} MB"), &Curve(spots.collect())))
            })
        });
        panels.to_vec()
    },
    claims: |view| {
        let texts = sizes(&view.plan).map(|megabytes| (megabytes, VOCABULARIES[0]));
        let cpus = view.plan.most_cpus();
        let factors = texts.map(|text| factor(view, text, cpus));
        let found = factors.iter().copied().collect::<Option<Vec<f64>>>();
        vec![
            Claim::judge("KPN-FLEX is 3 to 6.7 times faster than KPN-MR", found.clone(), |found| {
                let text: Vec<_> = found.iter().map(|factor| show(*factor)).collect();
                let least = found.iter().copied().fold(f64::INFINITY, f64::min);
                (format!("{} times", text.join(", ")), Verdict::at_least(least, 3.0, 6.7))
            })
            .because("MapReduce sorts all words and not the distinct ones"),
            Claim::judge("the factor grows with the size of the file", found, |found| {
                let grows = found.windows(2).all(|pair| pair[0] <= pair[1] * 1.02);
                let text: Vec<_> = found.iter().map(|factor| show(*factor)).collect();
                (text.join(", "), Verdict::holds(grows))
            })
            .because(
                "the number of distinct words grows more slowly than the text, and only KPN-MR \
                 sorts in proportion to the text",
            ),
            scaling(view, texts[2], FORMS[0]),
        ]
    },
};
