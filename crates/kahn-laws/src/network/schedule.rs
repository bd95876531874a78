//! How a network is run: policy, workers, capacities, detection, and what cuts it short.

use super::translate::Cut;
use crate::draw::{Choice, Draw};
use kahn::{Accounting, Detection, Options};
use std::fmt::{self, Display, Formatter};

static POLICY: Choice = Choice {
    name: "policy",
    answers: &[
        ("stealing", 4),
        ("ws-cur", 1),
        ("ws-last", 1),
        ("static", 1),
        ("partition", 1),
        ("batch", 2),
        ("shared", 1),
        ("threads", 1),
        ("sequential", 2),
        ("seeded", 3),
    ],
};
static WORKERS: Choice =
    Choice { name: "workers", answers: &[("1", 2), ("2", 4), ("3", 1), ("5", 1)] };
static CAPACITY: Choice = Choice {
    name: "capacity of all channels",
    answers: &[("own", 4), ("1", 3), ("2", 1), ("64", 1)],
};
static DETECTION: Choice =
    Choice { name: "detection", answers: &[("deferred", 4), ("central", 1)] };
static ACCOUNTING: Choice =
    Choice { name: "accounting", answers: &[("counters", 3), ("off", 1), ("timing", 1)] };
static WAIT_ONCE: Choice =
    Choice { name: "every operation waits once", answers: &[("no", 4), ("yes", 1)] };
static QUIESCENCE: Choice =
    Choice { name: "a quiescent end is normal", answers: &[("no", 3), ("yes", 1)] };
static CUT: Choice = Choice {
    name: "cut short",
    answers: &[("no", 14), ("a small budget", 1), ("a stop", 1), ("no detection", 1)],
};

/// The questions asked here.
pub(super) static CHOICES: &[&Choice] =
    &[&POLICY, &WORKERS, &CAPACITY, &DETECTION, &ACCOUNTING, &WAIT_ONCE, &QUIESCENCE, &CUT];

/// The questions that [`Schedule::uncut`] asks.
pub(super) static UNCUT: &[&Choice] =
    &[&POLICY, &WORKERS, &CAPACITY, &DETECTION, &ACCOUNTING, &WAIT_ONCE, &QUIESCENCE];

/// One way to run a network.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    policy: &'static str,
    workers: usize,
    capacity: Option<u32>,
    detection: Detection,
    accounting: Accounting,
    wait_once: bool,
    pub(super) quiescence: bool,
    pub(super) budget: Option<u64>,
    pub(super) stop: Option<u64>,
    seed: u64,
}

fn number<T: std::str::FromStr>(answer: &str) -> Option<T> {
    answer.parse().ok()
}

impl Schedule {
    /// The oracle: one worker, the default of everything.
    pub(super) fn oracle() -> Self {
        Self {
            policy: "sequential",
            workers: 1,
            capacity: None,
            detection: Detection::Deferred,
            accounting: Accounting::Counters,
            wait_once: false,
            quiescence: false,
            budget: None,
            stop: None,
            seed: 0,
        }
    }

    /// One that ends no run before its time.
    pub(super) fn uncut(draw: &mut Draw) -> Self {
        Self::drawn_with(draw, "no")
    }

    pub(super) fn drawn(draw: &mut Draw) -> Self {
        let cut = draw.pick(&CUT);
        Self::drawn_with(draw, cut)
    }

    fn drawn_with(draw: &mut Draw, cut: &str) -> Self {
        let detection = match draw.pick(&DETECTION) {
            _ if cut == "no detection" => Detection::Off,
            "central" => Detection::Central,
            _ => Detection::Deferred,
        };
        Self {
            policy: draw.pick(&POLICY),
            workers: number(draw.pick(&WORKERS)).unwrap_or(1),
            capacity: number(draw.pick(&CAPACITY)),
            detection,
            accounting: match draw.pick(&ACCOUNTING) {
                "off" => Accounting::Off,
                "timing" => Accounting::Timing,
                _ => Accounting::Counters,
            },
            wait_once: draw.yes(&WAIT_ONCE),
            quiescence: draw.yes(&QUIESCENCE),
            budget: (cut == "a small budget").then(|| draw.between(200, 9_000) as u64),
            stop: (cut == "a stop").then(|| draw.between(0, 60) as u64),
            seed: draw.below(1 << 20) as u64,
        }
    }

    /// Whether the run may end before its time.
    pub(super) fn is_cut(&self) -> bool {
        self.budget.is_some() || self.stop.is_some() || matches!(self.detection, Detection::Off)
    }

    pub(super) fn cut(&self) -> Cut {
        self.stop.map_or(Cut::Nothing, Cut::Stop)
    }

    pub(super) fn options(&self) -> Options {
        let mut options = Options::new()
            .policy(crate::policy(self.policy))
            .workers(self.workers)
            .detection(self.detection)
            .accounting(self.accounting)
            .wait_once(self.wait_once)
            .quiescence_is_normal(self.quiescence)
            .seed(self.seed);
        if let Some(capacity) = self.capacity {
            options = options.capacity(capacity);
        }
        if let Some(budget) = self.budget {
            options = options.budget(budget);
        }
        options
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { policy, workers, capacity, detection, accounting, seed, .. } = self;
        write!(f, "policy {policy}, {workers} workers, ")?;
        match capacity {
            Some(capacity) => write!(f, "capacity {capacity}")?,
            None => f.write_str("own capacities")?,
        }
        write!(f, ", detection {detection:?}, accounting {accounting:?}, seed {seed}")?;
        if self.wait_once {
            f.write_str(", every operation waits once")?;
        }
        if self.quiescence {
            f.write_str(", a quiescent end is normal")?;
        }
        if let Some(budget) = self.budget {
            write!(f, ", a budget of {budget} bytes")?;
        }
        if let Some(messages) = self.stop {
            write!(f, ", stopped after {messages} messages")?;
        }
        Ok(())
    }
}
