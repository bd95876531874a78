//! Ctrl-C: the first one stops the network, the second one gives up waiting for it.
//!
//! | pressed while            | what happens                                                  |
//! |--------------------------|---------------------------------------------------------------|
//! | no network runs          | the command ends                                              |
//! | a network runs           | it is stopped: its processes end where they wait              |
//! | it has been stopped      | the command says what has not stopped, and ends               |
//!
//! Where the command ends, files that are half written are removed, be they the command's or the network's.
//!
//! The signal QUIT, Ctrl-\ on most keyboards, asks what everything waits for, and lets it run. USR1 asks for
//! what has happened till now, if that is traced.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
#[cfg(unix)]
use std::thread;

use kahn::observe::{Look, Sampled, Survey};
use kahn::{Explanation, StopHandle};
use parking_lot::Mutex;

use crate::failure::INTERRUPTED;
use crate::live::leave_screen;
use crate::messages;

/// Stops what runs, and says what has not stopped.
///
/// # Examples
///
/// ```
/// let network = kahn::Network::new();
/// let stopper = kahn_command::Stopper::from(network.stop_handle());
/// ```
#[derive(Clone)]
pub struct Stopper {
    stop: Arc<dyn Fn() + Send + Sync>,
    explain: Arc<dyn Fn() -> String + Send + Sync>,
    seen: Option<Arc<dyn Sampled>>,
}

impl Stopper {
    /// Makes one of what stops a run, and of what tells why it has not stopped yet.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    ///
    /// let wish = Arc::new(AtomicBool::new(false));
    /// let stopper = kahn_command::Stopper::new(
    ///     move || wish.store(true, Relaxed),
    ///     || "  the loop has not come to the end of its round".to_owned(),
    /// );
    /// ```
    pub fn new(
        stop: impl Fn() + Send + Sync + 'static,
        explain: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        Self { stop: Arc::new(stop), explain: Arc::new(explain), seen: None }
    }

    /// Makes one of what stops a run, which can be looked at: `--live` shows it.
    ///
    /// # Examples
    ///
    /// ```
    /// let network = kahn::Network::new();
    /// let (handle, stop) = (network.stop_handle(), network.stop_handle());
    /// let stopper = kahn_command::Stopper::of(handle, move || stop.stop());
    /// ```
    pub fn of(run: impl Sampled + 'static, stop: impl Fn() + Send + Sync + 'static) -> Self {
        let run: Arc<dyn Sampled> = Arc::new(run);
        let explained = Arc::clone(&run);
        let explain = move || explained.explain().to_string();
        Self { stop: Arc::new(stop), explain: Arc::new(explain), seen: Some(run) }
    }
}

impl From<StopHandle> for Stopper {
    fn from(handle: StopHandle) -> Self {
        Self::of(handle.clone(), move || handle.stop())
    }
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopper").finish_non_exhaustive()
    }
}

#[derive(Default)]
enum Stage {
    #[default]
    Idle,
    Running(Stopper),
    Stopping(Stopper),
}

/// What Ctrl-C does from now on. A form that is no Kahn network gets it, see [`Prepared::perform`].
///
/// # Examples
///
/// ```
/// use kahn_command::{Interrupt, Stopper};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// /// Counts, until Ctrl-C at the latest.
/// fn count(up_to: u64, interrupt: &Interrupt) -> Option<u64> {
///     let wish = Arc::new(AtomicBool::new(false));
///     let told = Arc::clone(&wish);
///     let explain = || "  it counts".to_owned();
///     interrupt.running(Stopper::new(move || told.store(true, Relaxed), explain));
///     (0..up_to).take_while(|_| !wish.load(Relaxed)).last()
/// }
/// ```
///
/// [`Prepared::perform`]: crate::Prepared::perform
#[derive(Clone)]
pub struct Interrupt(Arc<Mutex<Stage>>);

impl Interrupt {
    /// Takes over Ctrl-C, and the signal USR1, which calls `leave`. There is one of these in a command.
    pub(crate) fn new(leave: impl Fn() + Send + 'static) -> Self {
        let interrupt = Self(Arc::default());
        let pressed = interrupt.clone();
        // Should the system refuse, Ctrl-C ends the command at once, as it does by itself.
        let _ = ctrlc::set_handler(move || pressed.pressed());
        // Likewise.
        let _ = interrupt.answer_signals(leave);
        interrupt
    }

    #[cfg(unix)]
    fn answer_signals(&self, leave: impl Fn() + Send + 'static) -> io::Result<()> {
        use signal_hook::consts::{SIGQUIT, SIGUSR1};
        let mut signals = signal_hook::iterator::Signals::new([SIGQUIT, SIGUSR1])?;
        let asked = self.clone();
        let answer = move |signal| if signal == SIGUSR1 { leave() } else { asked.asked() };
        let answer_all = move || signals.forever().for_each(answer);
        thread::Builder::new().name("signals".to_owned()).spawn(answer_all).map(drop)
    }

    #[cfg(not(unix))]
    fn answer_signals(&self, _leave: impl Fn() + Send + 'static) -> io::Result<()> {
        Ok(())
    }

    /// What runs now. Not under the lock: to look at it may take long, and Ctrl-C does not wait for that.
    fn runs(&self) -> Option<Stopper> {
        match &*self.0.lock() {
            Stage::Idle => None,
            Stage::Running(stop) | Stage::Stopping(stop) => Some(stop.clone()),
        }
    }

    /// Tells what everything waits for.
    fn asked(&self) {
        match self.runs() {
            Some(runs) => messages::note(format_args!("it runs:\n{}", (runs.explain)())),
            None => messages::note("no network runs"),
        }
    }

    /// Lets Ctrl-C stop this from now on; at once, if it has been pressed for what ran before.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_command::Interrupt;
    ///
    /// fn watch(network: &Network<'_>, interrupt: &Interrupt) {
    ///     interrupt.running(network.stop_handle());
    /// }
    /// ```
    pub fn running(&self, stop: impl Into<Stopper>) {
        let stop = stop.into();
        let mut stage = self.0.lock();
        if let Stage::Stopping(before) = &mut *stage {
            (stop.stop)();
            *before = stop;
        } else {
            *stage = Stage::Running(stop);
        }
    }

    /// From now on there is nothing to stop; says whether Ctrl-C was pressed meanwhile.
    pub(crate) fn ended(&self) -> bool {
        matches!(std::mem::take(&mut *self.0.lock()), Stage::Stopping(_))
    }

    /// Says whether Ctrl-C has been pressed while something ran.
    pub(crate) fn is_pressed(&self) -> bool {
        matches!(*self.0.lock(), Stage::Stopping(_))
    }

    pub(crate) fn pressed(&self) {
        leave_screen();
        let mut stage = self.0.lock();
        match &*stage {
            Stage::Idle => exit(),
            Stage::Running(stop) => {
                let stop = stop.clone();
                (stop.stop)();
                // It cannot be over yet for the command, which waits for the lock.
                messages::note("stopping; press Ctrl-C again to end without waiting");
                *stage = Stage::Stopping(stop);
            }
            Stage::Stopping(stop) => {
                messages::note(format_args!("not everything has stopped:\n{}", (stop.explain)()));
                exit();
            }
        }
    }
}

/// What runs now, if it can be looked at.
impl Sampled for Interrupt {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        match self.runs().and_then(|runs| runs.seen) {
            Some(run) => run.look(places, found),
            None => *found = Look::default(),
        }
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        let run = self.runs().and_then(|runs| runs.seen);
        run.map_or_else(Survey::default, |run| run.survey(processes, channels))
    }

    fn ranks(&self) -> Vec<Arc<[u8]>> {
        let run = self.runs().and_then(|runs| runs.seen);
        run.map_or_else(Vec::new, |run| run.ranks())
    }

    fn explain(&self) -> Explanation {
        let run = self.runs().and_then(|runs| runs.seen);
        run.map_or_else(Explanation::default, |run| run.explain())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").finish_non_exhaustive()
    }
}

fn exit() -> ! {
    kahn::process::exit(INTERRUPTED.into())
}
