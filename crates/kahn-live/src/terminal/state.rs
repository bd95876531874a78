//! What is shown, and what a key does to it.

use kahn_observe::sample::View;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a person asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    /// What everything waits for.
    Explanation,
    /// The end of the run.
    Stop,
}

/// Which table takes the most room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Processes,
    Channels,
}

/// What is shown.
#[derive(Debug)]
pub(super) struct State {
    pub(super) title: String,
    /// None before the run.
    pub(super) view: Option<View>,
    pub(super) explanation: Option<String>,
    pub(super) table: Table,
    /// Lines that are left out at the top of the table or of the explanation.
    pub(super) scrolled: usize,
}

impl State {
    pub(super) fn new(title: String) -> Self {
        Self { title, view: None, explanation: None, table: Table::Processes, scrolled: 0 }
    }

    pub(super) fn show(&mut self, view: View) {
        self.view = Some(view);
    }

    pub(super) fn explain(&mut self, explanation: String) {
        (self.explanation, self.scrolled) = (Some(explanation), 0);
    }

    /// What a key asks for that the state cannot give.
    pub(super) fn press(&mut self, key: KeyEvent) -> Asked {
        match key.code {
            KeyCode::Char('q') => return Asked::Stop,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Asked::Stop;
            }
            KeyCode::Char('e') if self.explanation.is_none() => return Asked::Explanation,
            KeyCode::Char('e') | KeyCode::Esc => (self.explanation, self.scrolled) = (None, 0),
            KeyCode::Tab => {
                self.table = match self.table {
                    Table::Processes => Table::Channels,
                    Table::Channels => Table::Processes,
                };
                self.scrolled = 0;
            }
            KeyCode::Down | KeyCode::Char('j') => self.scrolled = self.scrolled.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::PageDown => self.scrolled = self.scrolled.saturating_add(10),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(10),
            KeyCode::Home => self.scrolled = 0,
            _ => {}
        }
        Asked::Nothing
    }
}
