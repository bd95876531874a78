//! A run on a terminal, drawn on standard error: standard output has the result.
//!
//! | file | what |
//! |---|---|
//! | `state` | what is shown, and what a key does to it |
//! | `draw` | how that looks |
//! | `taken` | the terminal while it is ours, and how it is given back |

mod draw;
mod state;
mod taken;

pub use taken::leave;

use self::state::{Asked, State};
use self::taken::Taken;
use kahn_observe::sample::{View, Watch};
use kahn_report::observe::Sampled;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often what is shown changes.
const EVERY: Duration = Duration::from_millis(500);

/// How long a key waits at most.
const TURN: Duration = Duration::from_millis(50);

/// A run that is shown on the terminal while this lives.
///
/// The terminal is given back when this is dropped, when `q` or Ctrl-C is pressed, and when a thread panics.
///
/// # Examples
///
/// ```no_run
/// use kahn::Network;
/// use kahn_live::Screen;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_000_000_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum ^ n);
/// let stop = network.stop_handle();
/// let screen = Screen::start("sum", network.stop_handle(), move || stop.stop())?;
/// let report = network.run();
/// drop(screen);
/// println!("{:?}", sum.take());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is shown as long as this lives"]
pub struct Screen {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Returns whether there is a terminal to show a run on: what a person sees, and types on.
    ///
    /// # Examples
    ///
    /// ```
    /// if !kahn_live::Screen::is_possible() {
    ///     println!("standard error or input is no terminal");
    /// }
    /// ```
    pub fn is_possible() -> bool {
        io::stderr().is_terminal() && io::stdin().is_terminal()
    }

    /// Shows a run that is to begin; `stop` is called once, when a person asks for that.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let network = kahn::Network::new();
    /// let stop = network.stop_handle();
    /// let screen = kahn_live::Screen::start("nothing", network.stop_handle(), move || stop.stop());
    /// ```
    ///
    /// # Errors
    /// Returns an error if the terminal refuses, or the system a thread.
    pub fn start(
        title: impl Into<String>,
        run: impl Sampled + 'static,
        stop: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (show, shown): (Sender<View>, Receiver<View>) = channel();
        let run: Arc<dyn Sampled> = Arc::new(run);
        let watch = Watch::start(Arc::clone(&run), EVERY, move |view| {
            // It is over when no thread draws any more.
            let _ = show.send(view);
        })?;
        let terminal = Taken::take()?;
        let over = Arc::new(AtomicBool::new(false));
        let (state, told) = (State::new(title.into()), Arc::clone(&over));
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(move || {
            let _watch = watch;
            // A terminal that fails is left; the run goes on.
            let _ = follow(terminal, state, &*run, &shown, &told, stop);
        })?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Relaxed: nothing else hangs on it, and the thread is waited for.
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // If it has panicked, that was said, and the terminal given back.
            let _ = thread.join();
        }
    }
}

/// Draws and reads keys until it is over.
fn follow(
    mut terminal: Taken,
    mut state: State,
    run: &dyn Sampled,
    shown: &Receiver<View>,
    over: &AtomicBool,
    stop: impl FnOnce(),
) -> io::Result<()> {
    let mut changed = true;
    while !over.load(Relaxed) && Taken::is_ours() {
        if let Some(view) = shown.try_iter().last() {
            state.show(view);
            changed = true;
        }
        if std::mem::take(&mut changed) {
            terminal.draw(&mut state)?;
        }
        if !event::poll(TURN)? {
            continue;
        }
        changed = true;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match state.press(key) {
                Asked::Nothing => {}
                Asked::Explanation => state.explain(run.explain().to_string()),
                Asked::Stop => {
                    // What is said from now on is seen, and another Ctrl-C is the system's again.
                    drop(terminal);
                    stop();
                    return Ok(());
                }
            },
            _ => {}
        }
    }
    Ok(())
}
