//! A run that is no program of a menu, and is traced, shown and stopped like one.

use std::sync::Arc;

use clap::Args;
use kahn::observe::Observer;

use crate::live::LiveArguments;
use crate::trace::{TraceArguments, Tracing};
use crate::{Failure, Interrupt, Stopper, messages};

/// What is typed to see a run: `--trace`, `--live`, `--serve`, and what belongs to them.
///
/// For a subcommand that runs something else than a [`Program`](crate::Program).
///
/// # Examples
///
/// ```
/// use clap::Parser as _;
///
/// /// Waits.
/// #[derive(clap::Parser)]
/// struct Wait {
///     #[command(flatten)]
///     seen: kahn_command::SeenArguments,
/// }
///
/// let typed = Wait::parse_from(["wait", "--live=json"]);
/// assert_eq!(typed.seen.first(), Some("--live"));
/// ```
#[derive(Debug, Clone, Default, Args)]
pub struct SeenArguments {
    #[command(flatten)]
    trace: TraceArguments,
    #[command(flatten)]
    live: LiveArguments,
}

impl SeenArguments {
    /// Returns the first of the options that was typed: to refuse it, if what runs cannot be seen.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_command::SeenArguments::default().first(), None);
    /// ```
    pub fn first(&self) -> Option<&'static str> {
        let (trace, live) = (self.trace.typed(), self.live.typed());
        let mut all = trace.into_iter().chain(live);
        all.find_map(|(option, is_typed)| is_typed.then_some(option))
    }

    /// Checks what was typed, before anything runs, and takes over Ctrl-C and the signals QUIT and USR1. `name`
    /// is what the run is called.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] for a file that cannot be written, and for options that belong to others which
    /// were not typed.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = kahn_command::SeenArguments::default();
    /// assert!(seen.start("nothing")?.observer().is_none());
    /// # Ok::<(), kahn_command::Failure>(())
    /// ```
    pub fn start(&self, name: &str) -> Result<Seen, Failure> {
        let tracing = self.trace.start(name)?;
        let interrupt = Interrupt::new(tracing.on_signal());
        Ok(Seen { name: name.to_owned(), tracing, live: self.live.clone(), interrupt })
    }
}

/// A run that is seen as it was asked for.
///
/// # Examples
///
/// ```
/// use kahn_command::{Failure, SeenArguments, Stopper};
///
/// /// Does some work that Ctrl-C cannot end.
/// fn perform(typed: &SeenArguments, work: impl FnOnce() -> bool) -> Result<(), Failure> {
///     let seen = typed.start("work")?;
///     seen.during(Stopper::new(|| {}, || "  it works".to_owned()), work)
/// }
///
/// perform(&SeenArguments::default(), || true)?;
/// # Ok::<(), Failure>(())
/// ```
#[derive(Debug)]
pub struct Seen {
    name: String,
    tracing: Tracing,
    live: LiveArguments,
    interrupt: Interrupt,
}

impl Seen {
    /// Returns what is to be told of the run, if it is traced.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = kahn_command::SeenArguments::default();
    /// assert!(seen.start("nothing")?.observer().is_none());
    /// # Ok::<(), kahn_command::Failure>(())
    /// ```
    pub fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.tracing.observer()
    }

    /// Does the work of a run while it is shown, and may be stopped; `work` tells whether it went well. What was
    /// asked for is told and written before this returns.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the run cannot be shown, and has not begun. What hinders a trace from being
    /// written is said on standard error, and [`Failure::Output`] is returned if the run went well.
    ///
    /// # Examples
    ///
    /// ```
    /// let network = kahn::Network::new();
    /// let seen = kahn_command::SeenArguments::default().start("nothing")?;
    /// assert!(seen.observer().is_none());
    /// seen.during(network.stop_handle(), || network.run().is_ok())?;
    /// # Ok::<(), kahn_command::Failure>(())
    /// ```
    pub fn during(
        self,
        run: impl Into<Stopper>,
        work: impl FnOnce() -> bool,
    ) -> Result<(), Failure> {
        let Self { name, tracing, live, interrupt } = self;
        interrupt.running(run);
        let live = live.start(&name, &interrupt)?;
        let went_well = work();
        drop(live);
        interrupt.ended();
        match tracing.tell(!went_well) {
            Err(untold) if !went_well => {
                // Why it failed is told last, by its exit code as well.
                messages::failure(&untold);
                Ok(())
            }
            told => told,
        }
    }
}
