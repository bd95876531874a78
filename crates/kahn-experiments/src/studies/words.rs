//! Word count: a tailored network against MapReduce.

use kahn_apps::{Failure, Variant, zipf};

use super::options::options;
use super::program::Job;
use crate::claim::Claim;
use crate::experiment::{Experiment, Outcome, Plan, Study};
use crate::papers::{FLEXIBLE, NORNIR};
use crate::peers::PHOENIX;
use crate::plot::{Axis, Marks, Panel, Series};
use crate::point::{Point, float};
use crate::rows::{Curve, Spot};
use crate::side::{Pick, Side};
use crate::{Bench, View};

pub(super) static STUDY: Study = Study { name: "wordcount", rounds: 10, points, measure };

/// The forms, by the names of the papers.
pub(super) const FORMS: [&str; 2] = ["KPN-FLEX", "KPN-MR"];

/// The second with a combiner, as Phoenix++ has: what is like it.
pub(super) const COMBINED: &str = "KPN-MR, combined";

/// The second with a message for each pair, as in the papers' first form.
const UNOPTIMISED: &str = "KPN-MR, unoptimised";

/// Words of the large vocabulary, which the papers' files are closer to, and of the small one.
pub(super) const VOCABULARIES: [usize; 2] = [260_000, 20_000];

/// The sizes in the order of the papers: small, middle, large.
pub(super) fn sizes(plan: &Plan) -> [usize; 3] {
    plan.size.of([1, 2, 4], [10, 50, 100], [10, 50, 100])
}

/// Measures the form with a message for each pair beside the one that sends them together: a study of its
/// own, for it is needed at one size and number of workers only.
static MESSAGES: Study =
    Study { name: "wordcount-messages", rounds: 10, points: message_points, measure };

/// The processes of each stage there.
const MESSAGE_WORKERS: usize = 8;

fn message_points(plan: &Plan) -> Vec<Point> {
    let point = |cpus: usize| {
        let point = Point::new().and("MB", sizes(plan)[0]).and("vocabulary", VOCABULARIES[0]);
        point
            .and("cpus", cpus)
            .and("workers", MESSAGE_WORKERS)
            .each("form", [FORMS[1], UNOPTIMISED])
    };
    plan.cpus().into_iter().flat_map(point).collect()
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
                let point = Point::new().and("MB", megabytes).and("vocabulary", vocabulary);
                let point = point.and("cpus", cpus);
                for workers in &workers {
                    let forms = [FORMS[0], FORMS[1], COMBINED];
                    points.extend(point.clone().and("workers", *workers).each("form", forms));
                }
                points.push(point.and("workers", cpus).and("form", PHOENIX.name));
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
    let (variant, arguments): (_, &[&str]) = match point.text("form") {
        "KPN-MR" => (Variant::MapReduce, &[&text]),
        COMBINED => (Variant::MapReduce, &[&text, "--combine"]),
        UNOPTIMISED => (Variant::MapReduce, &[&text, "--one-by-one"]),
        "Phoenix" => return PHOENIX.measure("wordcount", &[&text], point.count("cpus"), bench),
        _ => (Variant::Network, &[&text]),
    };
    let parts = Some(point.count("workers"));
    let job = Job { app: "wordcount", arguments, parts, variant };
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
in each of the four stages, which send the pairs of a piece of text together, as the paper's do, and \
combine none; the form with a combiner is measured beside it.";

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
    panels: figure_8,
    claims: |view| {
        let largest = (sizes(&view.plan)[2], VOCABULARIES[0]);
        let with = |workers: usize| {
            pick(largest, view.plan.most_cpus(), FORMS[0]).with("workers", workers)
        };
        vec![
            Claim::effect("KPN-FLEX is slower with 128 workers than with 32")
                .between(with(32), with(128))
                .on(8),
            Claim::advantage(
                "KPN-FLEX is 1.75 times faster on two CPUs than on one (largest file)",
                1.75,
            )
            .between(pick(largest, 2, FORMS[0]), pick(largest, 1, FORMS[0]))
            .on(2),
        ]
    },
};

/// The seconds of a text and form on so many CPUs, with the best number of workers.
pub(super) fn pick((megabytes, vocabulary): (usize, usize), cpus: usize, form: &str) -> Pick {
    let rows = Pick::of(&STUDY, "seconds").with("MB", megabytes).with("vocabulary", vocabulary);
    rows.with("cpus", cpus).with("form", form)
}

fn figure_8(view: &View) -> Vec<Panel> {
    let mut panels = Vec::new();
    for form in FORMS {
        for megabytes in sizes(&view.plan) {
            let title = format!("{form}, {megabytes} MB");
            let mut panel = Panel::new(title, Axis::linear("workers"), Axis::linear("seconds"));
            for cpus in view.plan.cpus() {
                let curve = curve(view, (megabytes, VOCABULARIES[0]), cpus, form);
                panel = panel.and(Series::line(crate::point::cpus(cpus), &curve));
            }
            panels.push(panel);
        }
    }
    panels
}

/// The time of a message for each pair.
pub(super) static MESSAGES_OR_VECTORS: Experiment = Experiment {
    name: "mapreduce-messages",
    summary: "word count, KPN-MR: a message for each pair against a vector of them",
    paper: &FLEXIBLE,
    place: "section 6.1",
    found: "With a message for each pair KPN-MR was slower by an order of magnitude than with a vector \
            of pairs for each output; the paper shows results of the latter only.",
    method: "The smallest text, with 8 processes in each of the four stages. The optimised form sends the \
             pairs of a piece of text in one message to each process of the next stage. The unoptimised \
             one sends each pair alone, from the map processes as from the reduce processes, and an empty \
             message behind the pairs of a piece, by which its reader knows from which to take the next \
             ones. Its channels hold 64 messages.",
    studies: &[&MESSAGES],
    panels: |view| {
        let panel = Panel::new("word count", Axis::linear("CPUs"), Axis::logarithmic("seconds"));
        let panel = [FORMS[1], UNOPTIMISED].into_iter().fold(panel, |panel, form| {
            let curve = view.rows(&MESSAGES).with("form", form).curve("cpus", "seconds");
            panel.and(Series::line(form, &curve))
        });
        vec![panel]
    },
    claims: |view| {
        let cpus = view.plan.most_cpus();
        let pick =
            |form: &str| Pick::of(&MESSAGES, "seconds").with("cpus", cpus).with("form", form);
        vec![
            Claim::advantage(
                "a vector of pairs a message is faster than a message for each pair",
                10.0,
            )
            .between(pick(FORMS[1]), pick(UNOPTIMISED))
            .on(8),
        ]
    },
};

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
    panels: table_1,
    claims: |view| {
        let sizes = sizes(&view.plan);
        let lines = PAPER.iter().filter(|line| view.plan.cpus().contains(&line.1));
        let claims = lines.map(|(size, cpus, _, _, factor)| {
            let text = (sizes[*size], VOCABULARIES[0]);
            let on = crate::point::cpus(*cpus);
            let promise = format!("{} MB, {on}: KPN-FLEX is faster than KPN-MR", sizes[*size]);
            let claim = Claim::advantage(promise, *factor);
            claim.between(pick(text, *cpus, FORMS[0]), pick(text, *cpus, FORMS[1]))
        });
        claims.collect()
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
    panels: |view| {
        let panels = FORMS.map(|form| {
            let panel =
                Panel::new(form, Axis::linear("CPUs").to(8.0), Axis::logarithmic("seconds"));
            sizes(&view.plan).iter().enumerate().fold(panel, |panel, (at, megabytes)| {
                let spots = view.plan.cpus().into_iter().filter_map(|cpus| {
                    let spot = best(view, (*megabytes, VOCABULARIES[0]), cpus, form)?;
                    Some(spot.at(float(cpus)))
                });
                let paper: Vec<_> = PAPER
                    .iter()
                    .filter(|line| line.0 == at)
                    .map(|line| (float(line.1), if form == FORMS[0] { line.3 } else { line.2 }))
                    .collect();
                let label = format!("{megabytes} MB");
                let quoted = Series::quoted(format!("{label}, paper"), &paper, Marks::Broken);
                panel.and(Series::line(label, &Curve(spots.collect()))).and(quoted)
            })
        });
        panels.to_vec()
    },
    claims: |view| {
        let [small, _, large] = sizes(&view.plan).map(|megabytes| (megabytes, VOCABULARIES[0]));
        let cpus = view.plan.most_cpus();
        let share = |text| Side::from(pick(text, cpus, FORMS[0])).over(pick(text, cpus, FORMS[1]));
        vec![
            Claim::effect(
                "KPN-FLEX gains more over KPN-MR on the largest file than on the smallest",
            )
            .between(share(large), share(small))
            .on(8),
            Claim::advantage(
                "KPN-MR is 1.64 times faster on two CPUs than on one (largest file)",
                1.64,
            )
            .between(pick(large, 2, FORMS[1]), pick(large, 1, FORMS[1]))
            .on(2),
        ]
    },
};
