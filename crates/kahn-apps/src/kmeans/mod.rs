//! k-means: groups of points, each point in the group whose mean is nearest.
//!
//! A round assigns every point to the nearest of the K means (squared distance; of equally near
//! ones the first) and then moves each mean to the middle of its group; a mean whose group is
//! empty stays. The rounds end after the first one in which no point changed its group, or, with
//! `--epsilon E`, in which no mean moved farther than E. Before the first round no point has a
//! group. The result is one line a mean, comma separated, in group order.
//!
//! The network is the cycle of Vrba et al. ("Kahn process networks are a flexible alternative to
//! `MapReduce`", 2009, section 5.2): between the process that iterates and each one that assigns
//! go a share of the points, the means of every round and back the sums of the share.
//!
//! ```text
//!              points, means          The shares are cut from the points once; what goes
//!            ┌───────────────► assign 0   around in each round is K means and K sums.
//!   iterate ─┤◄──── sums, groups
//!            └───────────────► assign 1
//! ```
//!
//! The variant `mapreduce` is the same as a job that is iterated: see its file, `mapreduce`.
//!
//! The bytes are the same for every number of parts and workers, for coordinates are added exactly:
//! see the private module `number`. There is no limit to the rounds: as in the papers, means that
//! are cut off may in theory go round in circles for ever.

mod kernel;
mod mapreduce;
mod network;
mod number;
mod points;
mod rounds;
mod sequential;
mod table;

use std::io::{self, Write};
use std::path::PathBuf;

use kahn::Network;

pub use self::kernel::Kernel;
pub use self::number::Number;
use self::points::Points;
use self::rounds::Solution;
pub use self::rounds::{Assigned, Rounds, Sums};
use crate::random::Random;
use crate::{
    Answer, Compare, Failure, Input, Pending, Program, Progress, Settings, at_least_one, output,
};

/// How many processes assign points, unless the caller says otherwise.
///
/// Measured on two cores with two workers, 100 000 points and 100 groups, median of 3 runs in turn,
/// in seconds of processor time:
///
/// | parts | 1    | 2    | 4    | 8    | 16   | 32   |
/// |-------|------|------|------|------|------|------|
/// |       | 0.26 | 0.26 | 0.26 | 0.27 | 0.28 | 0.30 |
///
/// A round is a few messages a part, so parts cost little: eight keep as many cores busy for 4 % more
/// work than one, and beyond that the sums that one process adds up begin to show.
pub(crate) const DEFAULT_PARTS: usize = 8;

/// More than enough: every part has the sums of all groups.
pub(crate) const MOST_PARTS: usize = 65_536;

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run kmeans points.csv --groups 8                    eight means, one a line
  kahn run kmeans points.csv --groups 8 --epsilon 0.001    stop when the means hardly move
  kahn run kmeans points.csv --groups 8 --assignments groups.txt --rounds means.csv
  kahn run kmeans --random 100000 --seed 1 --groups 100 --arithmetic integer --report
  kahn run kmeans --random 100000 --groups 100 --variant mapreduce --report    as MapReduce";

/// What is typed after `kmeans`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// One point a line, its coordinates comma separated; all lines have as many
    #[arg(value_name = "POINTS.csv", required_unless_present = "random")]
    points: Option<PathBuf>,

    /// How many groups: 1 to the number of points
    #[arg(long, value_name = "K", value_parser = at_least_one::<usize>)]
    groups: usize,

    /// Starting means, one a line, instead of the first K points
    #[arg(long, value_name = "FILE", conflicts_with = "random")]
    means: Option<PathBuf>,

    /// Makes N points, then K starting means, from --seed: three integers of [0,1000) each
    #[arg(long, value_name = "N", conflicts_with = "points")]
    random: Option<usize>,

    /// How to compute: `real`, or in whole numbers as the papers do (means are cut off)
    #[arg(long, value_name = "real|integer", default_value = "real", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    arithmetic: Arithmetic,

    /// Stops also after a round in which no mean moves farther than E
    #[arg(long, value_name = "E", value_parser = distance, allow_negative_numbers = true)]
    epsilon: Option<f64>,

    /// Writes the group of each point, counted from 0, one a line
    #[arg(long, value_name = "FILE")]
    assignments: Option<PathBuf>,

    /// Writes the means of each round, those of a round in a line; in the variant `network` while it runs
    #[arg(long, value_name = "FILE")]
    rounds: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Arithmetic {
    Real,
    Integer,
}

fn distance(text: &str) -> Result<f64, String> {
    let distance = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    distance.ok_or_else(|| "expected a number that is not negative".to_owned())
}

/// Reads or makes the points, and checks them against the other arguments.
///
/// # Errors
///
/// Returns [`Failure::Input`] if a file is missing or has a bad row, or if there are fewer points
/// than groups.
pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Box<dyn Program>, Failure> {
    Ok(match arguments.arithmetic {
        Arithmetic::Real => Box::new(KMeans::<f64>::prepare(arguments, settings)?),
        Arithmetic::Integer => Box::new(KMeans::<i64>::prepare(arguments, settings)?),
    })
}

/// The points and where the means start.
///
/// The steps of a round are public, for programs that do them without a network:
///
/// ```
/// use kahn_apps::kmeans::{KMeans, Kernel};
///
/// let kmeans = KMeans::<i64>::random(1000, 5, 1, 2)?.with_kernel(Kernel::Plain);
/// let mut rounds = kmeans.rounds();
/// let mut points = kmeans.share(0, 1);
/// let mut count = 1;
/// while !rounds.finish(&points.assign(rounds.means())) {
///     count += 1;
/// }
/// assert!(count > 1);
/// # Ok::<(), kahn_apps::Failure>(())
/// ```
#[derive(Debug)]
pub struct KMeans<T> {
    points: Points<T>,
    means: Vec<T>,
    epsilon: Option<f64>,
    assignments: Option<PathBuf>,
    /// Where the means of each round are written.
    course: Option<PathBuf>,
    /// The files that the points and means were read from.
    inputs: Vec<Input>,
    parts: usize,
    progress: Progress,
}

impl<T: Number> KMeans<T> {
    fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        for path in arguments.assignments.iter().chain(&arguments.rounds) {
            output::check_writable(path)?;
        }
        let groups = arguments.groups;
        let mut inputs = Vec::new();
        let (points, means) = match (arguments.random, &arguments.points) {
            (Some(count), _) => random(count, groups, settings.seed)?,
            (None, Some(path)) => {
                let input = Input::open(path)?;
                let points = table::read::<T>(path, &input, None)?;
                inputs.push(input);
                check_groups(groups, points.len())?;
                let means = match &arguments.means {
                    Some(means) => {
                        let input = Input::open(means)?;
                        let rows = table::read_means(means, &input, groups, &points, path)?;
                        inputs.push(input);
                        rows
                    }
                    None => (0..groups).flat_map(|index| points.row(index)).collect(),
                };
                (points, means)
            }
            (None, None) => {
                return Err(Failure::input("expected a file of points, or --random N"));
            }
        };
        Ok(Self {
            points,
            means,
            epsilon: arguments.epsilon,
            assignments: arguments.assignments.clone(),
            course: arguments.rounds.clone(),
            inputs,
            parts: settings.parts,
            progress: Progress::new("rounds", None),
        })
    }

    /// Makes `count` points and `groups` starting means: three numbers of [0,1000) each.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if there are fewer points than groups, or no memory for them.
    pub fn random(count: usize, groups: usize, seed: u64, parts: usize) -> Result<Self, Failure> {
        let (points, means) = random(count, groups, seed)?;
        let progress = Progress::new("rounds", None);
        let (inputs, assignments, course) = (Vec::new(), None, None);
        Ok(Self { points, means, epsilon: None, assignments, course, inputs, parts, progress })
    }

    /// Chooses how distances are computed.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.points.set_kernel(kernel);
        self
    }

    /// Gives the points of share `part` of `parts`, none of them in a group yet.
    pub fn share(&self, part: usize, parts: usize) -> Assigned<'_, T> {
        Assigned::new(self.points.share(part, parts), &self.points)
    }

    /// Starts with the first means.
    pub fn rounds(&self) -> Rounds<'_, T> {
        Rounds::new(&self.points, self.means.clone(), self.epsilon)
    }

    /// Starts with the first means, and keeps those of each round if they are to be written in the end.
    fn rounds_to_tell(&self) -> Rounds<'_, T> {
        let rounds = self.rounds();
        if self.course.is_some() { rounds.keep_course() } else { rounds }
    }

    fn answer(&self, solution: Solution<T>) -> Answer<'_> {
        let Solution { means, groups, rounds, course } = solution;
        let dimensions = self.points.dimensions();
        let mut answer = Answer::new(move |out| {
            means.chunks_exact(dimensions).try_for_each(|mean| write_row(out, mean))
        });
        answer.notes.push(("rounds", rounds));
        if let Some(path) = &self.assignments {
            let lines = move |out: &mut dyn Write| {
                groups.iter().flatten().try_for_each(|group| writeln!(out, "{group}"))
            };
            answer.files.push((path.clone(), Box::new(lines)));
        }
        if let (Some(path), Some(course)) = (&self.course, course) {
            let lines = move |out: &mut dyn Write| out.write_all(&course);
            answer.files.push((path.clone(), Box::new(lines)));
        }
        answer
    }
}

impl<T: Number> Program for KMeans<T> {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        self.inputs.iter().for_each(|input| input.tell(network));
        network::build(self, network, compare)
    }

    fn mapreduce<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Result<Pending<'env>, Failure> {
        self.inputs.iter().for_each(|input| input.tell(network));
        Ok(mapreduce::build(self, network, compare))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(sequential::solve(self)))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Makes `count` points and after them `groups` starting means: x, y, z of each in turn.
fn random<T: Number>(
    count: usize,
    groups: usize,
    seed: u64,
) -> Result<(Points<T>, Vec<T>), Failure> {
    check_groups(groups, count)?;
    let mut random = Random::new(seed);
    let mut coordinate = || T::from(u16::try_from(random.below(1000)).expect("below 1000"));
    let mut points = Points::new(3);
    if !points.reserve(count) {
        return Err(Failure::input(format!("--random {count}: there is no memory for as many")));
    }
    for _ in 0..count {
        points.push(&[coordinate(), coordinate(), coordinate()]);
    }
    let means = (0..3 * groups).map(|_| coordinate()).collect();
    Ok((points, means))
}

fn check_groups(groups: usize, points: usize) -> Result<(), Failure> {
    if groups <= points {
        return Ok(());
    }
    Err(Failure::input(format!("--groups {groups} is more than the number of points, {points}")))
}

/// Writes the coordinates, comma separated.
fn write_row<T: Number>(out: &mut dyn Write, row: &[T]) -> io::Result<()> {
    for (index, coordinate) in row.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{coordinate}")?;
    }
    writeln!(out)
}
