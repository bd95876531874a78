//! How to run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kahn::policy::PolicyChoice;
use kahn_report::observe::Observer;

use crate::runtime::handle::Handle;

/// How many calls of a box may run at once: for some boxes by name, for all others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Concurrency {
    /// For all boxes; as many as workers if none.
    pub default: Option<usize>,
    /// For boxes of a name or path.
    pub named: BTreeMap<String, usize>,
}

/// What carries the records.
#[derive(Debug, Clone, Default)]
pub enum Runtime {
    /// Workers that follow records, as in FRONT.
    #[default]
    Front,
    /// A process of a Kahn network for each component, as in S-RTS.
    Network {
        /// The policy that runs them; the default one if none.
        policy: Option<PolicyChoice>,
    },
}

/// What is told what a run does.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use kahn::observe::Observer;
/// use kahn_snet::runtime::{Observed, Options};
///
/// struct Nothing;
/// impl Observer for Nothing {}
///
/// let observer = Some(Observed(Arc::new(Nothing)));
/// let options = Options { observer, ..Options::default() };
/// ```
#[derive(Clone)]
pub struct Observed(pub Arc<dyn Observer>);

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// What carries the records.
    pub runtime: Runtime,
    /// Threads.
    pub workers: usize,
    /// Limits of calls at once.
    pub concurrency: Concurrency,
    /// Whether records are shown before and after every net and box, on standard error.
    pub trace: bool,
    /// Whether half-filled synchro-cells at the end are an error.
    pub strict: bool,
    /// Whether replicas whose synchro-cells have fired are collected.
    pub collect: bool,
    /// How long a call of a box may take; for ever if none. A call that takes longer fails the run,
    /// which then ends when the call does.
    pub box_limit: Option<Duration>,
    /// Whether the process ends, with exit code 1 and without another word than which box it was,
    /// if a call takes twice as long as it may: for a command, which has nothing else to do.
    pub leave_if_stuck: bool,
    /// What is told what components do, and when, with [`Runtime::Network`].
    pub observer: Option<Observed>,
    /// What looks into the run, and stops it.
    pub handle: Option<Handle>,
}

impl Default for Options {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let concurrency = Concurrency::default();
        let runtime = Runtime::default();
        Self {
            runtime,
            workers,
            concurrency,
            trace: false,
            strict: false,
            collect: true,
            box_limit: None,
            leave_if_stuck: false,
            observer: None,
            handle: None,
        }
    }
}
