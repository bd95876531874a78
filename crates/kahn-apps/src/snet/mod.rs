//! Programs in S-Net: a `.snet` file each, with boxes in Rust and a direct computation to compare.
//!
//! | file              | problem                                              | shows                          |
//! |-------------------|------------------------------------------------------|--------------------------------|
//! | `factorial`       | factorials of 1 to n                                 | boxes, a star, synchronisation |
//! | `fibonacci`       | the n-th Fibonacci number by recursion               | recursion by star and feedback |
//! | `fibonacci_ordered` | the same in doubled forms                          | what order costs               |
//! | `poweroftwo`      | 2^n by recursion                                     | a star split on the level      |
//! | `poweroftwo_masks` | the same, a synchro-cell for each pair              | many branches                  |
//! | `sieve`           | the primes up to n                                   | state, collected cells         |
//! | `matrix`          | a product of n × n matrices by rows                  | fork and join                  |
//! | `cannon`          | a product of n × n tiles by Cannon's algorithm       | exchange between neighbours    |
//! | `cholesky`        | tiled Cholesky factorisation of an n × n matrix      | data flow, copies by ranges    |
//! | `image`           | filters on the three colours of n images             | the paper's second figure      |
//! | `des`             | the Data Encryption Standard                         | rounds as replicas, in order   |
//! | `dictionary`      | a dictionary attack on SHA-256 digests               | load balancing by feedback     |
//! | `filters`         | ten filters in series, n records                     | what a filter costs            |
//! | `choices`         | three choices in series, n records                   | what a choice costs            |
//! | `choices_ordered` | the same in doubled forms                            | what order costs               |
//! | `busy`            | two boxes that compute, n records                    | calls of a box at once         |
//!
//! [`PROGRAMS`] is the one table of them.
//!
//! ```
//! use kahn_apps::snet::SnetProgram;
//! use kahn_snet::runtime::Options;
//!
//! let sieve = SnetProgram::named("sieve").expect("it is in the table");
//! let case = sieve.case(30);
//! let (output, _report) = sieve.run(&case, &Options::default())?;
//! case.check(&output)?;
//! assert_eq!(output.len(), 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: the paper on FRONT, section 5, for Fibonacci, powers of two and Cholesky, section 2 for
//! the image pipeline; FIPS 46-3 for DES.

mod cholesky;
mod des;
mod dictionary;
pub mod image;
mod matrices;
mod numbers;
mod streams;

pub use streams::compute;

use kahn_snet::Program;
use kahn_snet::boxes::{BindError, Boxes};
use kahn_snet::record::Record;
use kahn_snet::runtime::{self, Options, Ready, Report, RunError};

/// Every program, in the order of the table above.
pub const PROGRAMS: &[SnetProgram] = &[
    numbers::FACTORIAL,
    numbers::FIBONACCI,
    numbers::FIBONACCI_ORDERED,
    numbers::POWER_OF_TWO,
    numbers::POWER_OF_TWO_MASKS,
    numbers::SIEVE,
    matrices::MATRIX,
    matrices::CANNON,
    cholesky::CHOLESKY,
    image::IMAGE,
    des::DES,
    dictionary::DICTIONARY,
    streams::FILTERS,
    streams::CHOICES,
    streams::CHOICES_ORDERED,
    streams::BUSY,
];

/// A program: its text, its boxes, and work for it of any size.
#[derive(Debug, Clone, Copy)]
pub struct SnetProgram {
    /// The name, which is that of its net.
    pub name: &'static str,
    /// The text.
    pub source: &'static str,
    /// Whether its output has one order.
    pub ordered: bool,
    /// A size that takes a moment.
    pub small: usize,
    bind: fn(&mut Boxes) -> Result<(), BindError>,
    make: fn(usize) -> Case,
}

/// Work for a program, and how to tell whether the result is right.
pub struct Case {
    /// What goes in.
    pub input: Vec<Record>,
    check: Check,
}

type Check = Box<dyn Fn(&[Record]) -> Result<f64, String> + Send + Sync>;

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("input", &self.input.len()).finish_non_exhaustive()
    }
}

impl Case {
    fn new(
        input: Vec<Record>,
        check: impl Fn(&[Record]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self::measured(input, move |output| check(output).map(|()| 0.0))
    }

    /// Work whose result is as exact as its numbers are: the check tells how much it is off.
    fn measured(
        input: Vec<Record>,
        check: impl Fn(&[Record]) -> Result<f64, String> + Send + Sync + 'static,
    ) -> Self {
        Self { input, check: Box::new(check) }
    }

    /// Compares what came out with a direct computation; returns the relative error that is left, 0
    /// where results are exact.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self, output: &[Record]) -> Result<f64, String> {
        (self.check)(output)
    }
}

impl SnetProgram {
    /// Finds a program by its name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

    /// Makes work of a size; what that counts, the table says.
    pub fn case(&self, size: usize) -> Case {
        (self.make)(size)
    }

    /// Reads the program.
    pub fn program(&self) -> Program {
        Program::read(format!("{}.snet", self.name), self.source)
    }

    /// Gives its boxes their functions.
    ///
    /// # Errors
    /// Returns an error if the program has other boxes.
    pub fn boxes(&self, program: &Program) -> Result<Boxes, BindError> {
        let mut boxes = Boxes::of(program);
        (self.bind)(&mut boxes)?;
        Ok(boxes)
    }

    /// Runs it over the input of a case.
    ///
    /// # Errors
    /// Returns why the run ended early.
    pub fn run(&self, case: &Case, options: &Options) -> Result<(Vec<Record>, Report), RunError> {
        let program = self.program();
        let boxes = self.boxes(&program)?;
        let net = program.net(None).ok_or(RunError::Invalid)?;
        let mut output: Vec<Record> = Vec::new();
        let input = Ready(case.input.iter().cloned());
        let report = runtime::run(&program, net, &boxes, options, input, &mut output)?;
        Ok((output, report))
    }
}

/// Compares what came out with what should have.
fn same<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("expected {wanted:?}, found {found:?}")) }
}

/// The values of a tag, in the order of the records.
fn tags(output: &[Record], name: &str) -> Result<Vec<i64>, String> {
    let tag = |record: &Record| record.tags.get(name).copied();
    output
        .iter()
        .map(tag)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("a record without <{name}>"))
}
