//! Random programs of communicating processes.
//!
//! | file | what |
//! |---|---|
//! | `program` | small programs: at most 6 processes of at most 4 events |
//! | `traces` | all that one may do |
//! | `translate` | one as communicating processes, and what they saw |
//! | `larger` | flows too large for that: nothing lost, doubled, reordered, left waiting |

mod larger;
pub mod program;
mod traces;
mod translate;

pub use traces::{Gone, Mistake, Seen, Trace};

use crate::campaign::{Campaign, Tally, Trouble};
use crate::draw::{Choice, Draw};
use kahn::testing;
use kahn_csp::{Options, RunError, Summary};
use larger::Flow;
use program::Program;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

static SIZE: Choice = Choice { name: "size", answers: &[("small", 4), ("larger", 1)] };
static POLICY: Choice = Choice {
    name: "policy",
    answers: &[
        ("stealing", 4),
        ("ws-cur", 1),
        ("ws-last", 1),
        ("static", 1),
        ("batch", 3),
        ("shared", 1),
        ("threads", 1),
        ("sequential", 1),
        ("seeded", 4),
    ],
};
static WORKERS: Choice = Choice { name: "workers", answers: &[("1", 2), ("2", 4), ("3", 1)] };
static OWN: &[&Choice] = &[&SIZE, &POLICY, &WORKERS];

/// After this a run hangs.
const LIMIT: Duration = Duration::from_mins(1);

/// The campaign over communicating processes.
#[derive(Clone, Copy, Debug)]
pub struct Communicating {
    /// The runs of each program.
    pub schedules: usize,
    /// A rule that the enumeration breaks, to see whether that is noticed.
    pub mistake: Option<Mistake>,
}

impl Default for Communicating {
    fn default() -> Self {
        Self { schedules: 6, mistake: None }
    }
}

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Case {
    /// A program whose traces are enumerated.
    Small(Program),
    /// A flow whose messages are counted.
    Larger(Flow),
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(program) => program.fmt(f),
            Self::Larger(flow) => writeln!(f, "{flow:?}"),
        }
    }
}

/// Runs something under a watchdog; a hang or a panic becomes its text.
fn guarded<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    let run = std::panic::AssertUnwindSafe(|| testing::within(LIMIT, |_| run()));
    std::panic::catch_unwind(run).map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => "a panic that is no text".to_owned(),
    })
}

impl Campaign for Communicating {
    type Case = Case;

    const NAME: &'static str = "csp";

    fn choices(&self) -> &'static [&'static [&'static Choice]] {
        static ALL: &[&[&Choice]] = &[OWN, program::CHOICES, larger::CHOICES];
        ALL
    }

    fn draw(&self, draw: &mut Draw) -> Case {
        match draw.pick(&SIZE) {
            "small" => Case::Small(Program::draw(draw)),
            _ => Case::Larger(Flow::draw(draw)),
        }
    }

    fn check(&self, case: &Case, draw: &mut Draw, tally: &mut Tally) -> Result<(), Trouble> {
        let traces = match case {
            Case::Small(program) => {
                let too_many = Trouble::Refused("has too many states");
                Some(traces::traces(program, self.mistake).ok_or(too_many)?)
            }
            Case::Larger(_) => None,
        };
        if let Some(traces) = &traces {
            tally.note("small programs");
            if traces.len() > 1 {
                tally.note("small programs with more than one trace");
            }
        }
        for _ in 0..self.schedules {
            let policy = draw.pick(&POLICY);
            let workers = draw.pick(&WORKERS).parse().unwrap_or(1);
            let seed = draw.below(1 << 20) as u64;
            let options = Options::new().policy(crate::policy(policy)).workers(workers).seed(seed);
            let schedule = format!("policy {policy}, {workers} workers, seed {seed}");
            let broken = |promise, what: String| {
                Err(Trouble::Broken(promise, format!("{schedule}: {what}")))
            };
            tally.schedules += 1;
            match case {
                Case::Small(program) => {
                    let (result, trace) = match guarded(|| translate::run(program, options)) {
                        Ok(ran) => ran,
                        Err(text) => return broken("no hang and no panic", text),
                    };
                    tally.messages += trace.iter().map(|seen| seen.len() as u64).sum::<u64>();
                    if let Some(traces) = &traces
                        && !traces.contains(&trace)
                    {
                        return broken("what ran is a trace of the program", shown(&trace));
                    }
                    let ended = trace.iter().all(|seen| seen.last() == Some(&Seen::Ended));
                    let fits = match &result {
                        Ok(()) => ended,
                        Err(RunError::Ended(report)) => {
                            !ended && report.outcome == Summary::Deadlock
                        }
                        Err(_) => false,
                    };
                    if !fits {
                        return broken("outcome", format!("{result:?}\n{}", shown(&trace)));
                    }
                }
                Case::Larger(flow) => match guarded(|| flow.run(options)) {
                    Ok(Ok(messages)) => tally.messages += messages,
                    Ok(Err((promise, what))) => return broken(promise, what),
                    Err(text) => return broken("no hang and no panic", text),
                },
            }
        }
        Ok(())
    }

    fn smaller(&self, case: &Case) -> Vec<Case> {
        match case {
            Case::Small(program) => program.smaller().into_iter().map(Case::Small).collect(),
            Case::Larger(flow) => flow.smaller().into_iter().map(Case::Larger).collect(),
        }
    }
}

fn shown(trace: &Trace) -> String {
    let lines = trace.iter().enumerate().map(|(at, seen)| format!("\n  process {at} saw {seen:?}"));
    lines.collect()
}
