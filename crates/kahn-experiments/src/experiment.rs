//! What an experiment is: what is measured, how it is shown, and what follows from it.
//!
//! ```text
//!   Study       points (parameters) × rounds, and a function that measures one point once
//!     │         kept on disk as it goes on; several experiments may show one study
//!     ▼
//!   Experiment  a table or figure of a paper: panels drawn from the rows, and claims,
//!               each a promise of the paper with what we find and a verdict that follows
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use kahn_apps::Failure;
use serde::{Deserialize, Serialize};

use crate::machine::sha256;
use crate::plot::Panel;
use crate::{Claim, Machine, Point, Rows};

/// How large an experiment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Under a minute for each: a look, and a test that it works.
    Quick,
    /// All of them in about two hours on two cores: smaller, in the same shape.
    #[default]
    Default,
    /// The parameters of the papers.
    Paper,
}

impl Size {
    /// Says the name, as pages and files have it.
    ///
    /// ```
    /// assert_eq!(kahn_experiments::Size::Quick.name(), "quick");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Paper => "paper",
        }
    }

    /// Finds the size of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Quick, Self::Default, Self::Paper].into_iter().find(|size| size.name() == name)
    }

    /// Chooses by the size.
    ///
    /// ```
    /// use kahn_experiments::Size;
    ///
    /// assert_eq!(Size::Default.of(1, 10, 100), 10);
    /// ```
    pub fn of<T>(self, quick: T, default: T, paper: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Default => default,
            Self::Paper => paper,
        }
    }
}

/// What the points of a study depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How large.
    pub size: Size,
    /// The cores there are.
    pub cores: usize,
}

impl Plan {
    /// The numbers of CPUs of the papers that this machine has: 1, 2, 4, 6 and 8.
    ///
    /// ```
    /// use kahn_experiments::{Plan, Size};
    ///
    /// assert_eq!(Plan { size: Size::Quick, cores: 2 }.cpus(), [1, 2]);
    /// ```
    pub fn cpus(&self) -> Vec<usize> {
        [1, 2, 4, 6, 8].into_iter().filter(|cpus| *cpus <= self.cores).collect()
    }

    /// As many as the papers have at most, or as this machine has.
    pub fn most_cpus(&self) -> usize {
        self.cores.min(8)
    }
}

/// What there is to measure with.
#[derive(Debug)]
pub struct Bench<'run> {
    /// What decides the points.
    pub plan: Plan,
    /// A folder for generated input, which may be there from an earlier run.
    pub inputs: &'run Path,
    /// Folders of other programs, by the variables that name them.
    pub peers: &'run BTreeMap<String, PathBuf>,
    /// Files that measurements depend on, with their digests.
    used: RefCell<BTreeMap<String, String>>,
}

impl<'run> Bench<'run> {
    pub(crate) fn new(
        plan: Plan,
        inputs: &'run Path,
        peers: &'run BTreeMap<String, PathBuf>,
    ) -> Self {
        Self { plan, inputs, peers, used: RefCell::default() }
    }

    /// Gives a file of generated input; `write` makes it if it is not there yet.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Output`] if it cannot be written.
    pub fn input(
        &self,
        name: &str,
        write: &dyn Fn(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> Result<PathBuf, Failure> {
        let path = self.inputs.join(name);
        if !path.exists() {
            kahn_apps::output::write_whole(&path, write)?;
        }
        self.depends_on(name, &path)?;
        Ok(path)
    }

    /// Remembers the digest of a file: an input, or the program of a peer.
    pub(crate) fn depends_on(&self, name: &str, path: &Path) -> Result<(), Failure> {
        if !self.used.borrow().contains_key(name) {
            let unreadable = |cause| Failure::Output { path: path.to_owned(), cause };
            let digest = sha256(path).map_err(unreadable)?;
            self.used.borrow_mut().insert(name.to_owned(), digest);
        }
        Ok(())
    }

    /// Gives the files that measurements so far depended on.
    pub(crate) fn used(&self) -> BTreeMap<String, String> {
        self.used.borrow().clone()
    }
}

/// The figures of one measurement, by quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured(pub(crate) BTreeMap<String, f64>);

impl Measured {
    /// Starts with how long it took, in seconds.
    pub fn seconds(seconds: f64) -> Self {
        Self::default().and("seconds", seconds)
    }

    /// Adds a quantity.
    #[must_use]
    pub fn and(mut self, quantity: &str, figure: f64) -> Self {
        self.0.insert(quantity.to_owned(), figure);
        self
    }
}

/// The machine has not enough of something for a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What was asked for, and what the system said.
    pub what: String,
    /// The limit that was met.
    pub limit: String,
    /// Its value.
    pub value: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} is {})", self.what, self.limit, self.value)
    }
}

impl Refused {
    /// Whether another try may fare better: a variable can be set.
    pub(crate) fn is_for_a_variable(&self) -> bool {
        self.limit.starts_with("KAHN_PEER_")
    }
}

/// What came of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Figures.
    Measured(Measured),
    /// The machine refused, and will the next time.
    Refused(Refused),
}

/// A set of measurements: points, and how one of them is measured once.
pub struct Study {
    /// The name of its file.
    pub name: &'static str,
    /// How often each point is measured, in the sizes but quick, which has three: too few for a
    /// verdict.
    pub rounds: usize,
    /// The points. Each round measures all of them, in an order of its own: what is compared is
    /// measured in the same minutes.
    pub points: fn(&Plan) -> Vec<Point>,
    /// Measures a point once.
    pub measure: fn(&Point, &Bench<'_>) -> Result<Outcome, Failure>,
}

impl Study {
    /// Says how often each point is measured.
    pub fn rounds(&self, size: Size) -> usize {
        size.of(self.rounds.min(3), self.rounds, self.rounds)
    }
}

impl fmt::Debug for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Study").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A paper whose experiments are done again.
#[derive(Debug, PartialEq, Eq)]
pub struct Paper {
    /// How it is called in passing.
    pub short: &'static str,
    /// Who wrote it, its title, and where it was published.
    pub full: &'static str,
}

/// A table or figure of a paper, or a sentence of it, done again.
pub struct Experiment {
    /// The name, as typed.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The paper.
    pub paper: &'static Paper,
    /// The place in it.
    pub place: &'static str,
    /// What the paper found there.
    pub found: &'static str,
    /// How it is done here, and what is different.
    pub method: &'static str,
    /// What is measured for it.
    pub studies: &'static [&'static Study],
    /// Draws it, like the paper.
    pub panels: fn(&View) -> Vec<Panel>,
    /// Compares it with the paper.
    pub claims: fn(&View) -> Vec<Claim>,
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What panels and claims are made from.
#[derive(Debug)]
pub struct View {
    /// What decided the points.
    pub plan: Plan,
    /// What measured them.
    pub machine: Machine,
    /// How often each point was to be measured.
    pub rounds: usize,
    /// What the order in each round was drawn from.
    pub seed: u64,
    /// The files that they depend on, with their digests.
    pub used: BTreeMap<String, String>,
    /// The rows of each study.
    pub studies: BTreeMap<&'static str, Rows>,
}

impl View {
    /// Gives the rows of a study; none if nothing of it is measured.
    ///
    /// # Panics
    ///
    /// Panics if the experiment does not name the study: an error in the experiment.
    pub fn rows(&self, study: &Study) -> &Rows {
        match self.studies.get(study.name) {
            Some(rows) => rows,
            None => panic!("the experiment does not name the study `{}`", study.name),
        }
    }
}
