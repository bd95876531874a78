//! Runs a prepared program in one of its forms.

use kahn::{Network, Options, Report};

#[cfg(feature = "communicating")]
use kahn_csp as csp;

use crate::{Answer, Compare, Failure, Pending, Program, Stopper, Variant};
#[cfg(feature = "communicating")]
use crate::{Seen, Stop};

/// A program that has run to its end.
#[derive(Debug)]
pub struct Ran<'env> {
    /// The result, complete and not yet written.
    pub answer: Answer<'env>,
    /// What the run cost, if it was one of a network.
    pub report: Option<Report>,
}

/// Runs `program` in the form `variant`.
///
/// A network is run with `options`; before it starts, `started` gets what can stop it. What it does
/// then is up to the processes that [choose](Variant::chooses); a Kahn network ends at once.
///
/// ```
/// use kahn_apps::{App, Variant, run};
///
/// let sieve = App::named("sieve").expect("it is in the table");
/// let program = sieve.prepare_from(&["20"], None, 0)?;
/// let ran = run(&*program, Variant::Network, kahn::Options::new(), |_stop| {})?;
/// let mut text = Vec::new();
/// (ran.answer.lines)(&mut text)?;
/// assert_eq!(text, b"2\n3\n5\n7\n11\n13\n17\n19\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Failure::Run`] if the network did not finish, with its report.
///
/// # Panics
///
/// Panics if a network has finished and its program has no result: an error in the program.
pub fn run(
    program: &dyn Program,
    variant: Variant,
    options: Options,
    started: impl FnOnce(Stopper),
) -> Result<Ran<'_>, Failure> {
    match variant {
        Variant::Threads => Ok(Ran { answer: program.threads()?, report: None }),
        Variant::Sequential => Ok(Ran { answer: program.sequential()?, report: None }),
        Variant::Communicating
        | Variant::Rendezvous
        | Variant::DataParallel
        | Variant::Deadlock
        | Variant::Corrected => communicate(program, variant, &options, started),
        Variant::Network | Variant::MapReduce => {
            let mut network = Network::new();
            let pending = build(program, variant, &mut network, Compare::Numbers)?;
            started(Stopper::Network(network.stop_handle()));
            let report = network.run_with(options)?;
            let answer = pending().expect("a network that has finished has a result");
            Ok(Ran { answer, report: Some(report) })
        }
    }
}

#[cfg(feature = "communicating")]
fn communicate<'a>(
    program: &'a dyn Program,
    variant: Variant,
    options: &Options,
    started: impl FnOnce(Stopper),
) -> Result<Ran<'a>, Failure> {
    let (stop, seen) = (Stop::new(), Seen::default());
    started(Stopper::Communicating(stop.clone(), seen.clone()));
    let options = csp::Options::from(options.schedule().clone());
    program.communicate(variant, options.begun(move |run| seen.begins(run)), &stop)
}

#[cfg(not(feature = "communicating"))]
fn communicate<'a>(
    _program: &'a dyn Program,
    variant: Variant,
    _options: &Options,
    _started: impl FnOnce(Stopper),
) -> Result<Ran<'a>, Failure> {
    let what = format!("variant `{}` is left out of this build", variant.name());
    Err(Failure::input(what).with_help("compile it with the feature `communicating`"))
}

/// Writes the processes and channels of `program`, in a form that is a network.
///
/// ```
/// use kahn::Network;
/// use kahn_apps::{App, Compare, Variant, build};
///
/// let kmeans = App::named("kmeans").expect("it is in the table");
/// let program = kmeans.prepare_from(&["--random", "9", "--groups", "2"], Some(2), 0)?;
/// let mut network = Network::new();
/// let _pending = build(&*program, Variant::MapReduce, &mut network, Compare::Numbers)?;
/// // One that iterates, two that map, two that reduce, one that keeps the result.
/// assert_eq!(network.size().0, 6);
/// # Ok::<(), kahn_apps::Failure>(())
/// ```
///
/// # Errors
///
/// Returns [`Failure::Input`] if the program does not have the form, or the form is no network.
pub fn build<'env>(
    program: &'env dyn Program,
    variant: Variant,
    network: &mut Network<'env>,
    compare: Compare,
) -> Result<Pending<'env>, Failure> {
    match variant {
        Variant::Network => Ok(program.build(network, compare)),
        Variant::MapReduce => program.mapreduce(network, compare),
        _ => Err(Failure::input(format!("variant `{}` is no Kahn network", variant.name()))),
    }
}
