//! The terminal while it is ours: drawn on without its lines, typed on without its echo.

use super::draw::draw;
use super::state::State;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Stderr};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Whether the terminal is ours.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was, if a [`Screen`](super::Screen) has it: before a program says
/// something that must be seen, or ends without a destructor. The screen draws no more.
///
/// # Examples
///
/// ```
/// // Does nothing without one.
/// kahn_live::leave();
/// ```
pub fn leave() {
    if IS_OURS.swap(false, SeqCst) {
        // If even that fails there is no terminal any more.
        let _ = disable_raw_mode();
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    }
}

/// The terminal, until this is dropped or [`leave`] is called.
pub(super) struct Taken(Terminal<CrosstermBackend<Stderr>>);

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        // What a panic says is seen, and the terminal of a program that ends by it is as it was.
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                leave();
                before(info);
            }));
        });
        enable_raw_mode()?;
        IS_OURS.store(true, SeqCst);
        let taken = execute!(io::stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())))
            .map(Self);
        if taken.is_err() {
            leave();
        }
        taken
    }

    /// Whether it has not been given back.
    pub(super) fn is_ours() -> bool {
        IS_OURS.load(SeqCst)
    }

    pub(super) fn draw(&mut self, state: &mut State) -> io::Result<()> {
        self.0.draw(|frame| draw(frame, state)).map(drop)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        leave();
    }
}
