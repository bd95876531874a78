//! The full form of a report: the outcome, then tables of all processes, channels and workers.

use super::{
    ChannelReport, Detail, MeetingKind, MeetingReport, MeetingState, ProcessReport, Report,
    Summary, WorkerReport,
};
use crate::{Name, human};
use comfy_table::{CellAlignment, Table, presets};
use std::fmt;

/// Channels that a text names one by one.
const LISTED: usize = 5;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { self.write_full(f) } else { self.write_short(f) }
    }
}

impl Report {
    fn write_full(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_outcome(f)?;
        let workers = if self.workers == 1 { "worker" } else { "workers" };
        write!(
            f,
            "{}, policy {}, {} {workers}, {} processes, {} channels, {} messages",
            human::time(Some(self.seconds)),
            self.policy,
            self.workers,
            self.created.0,
            self.created.1,
            self.messages()
        )?;
        if let (Some(local), true) = (self.local_share, self.workers > 1) {
            write!(f, ", {:.0} % local", local * 100.0)?;
        }
        writeln!(f)?;
        if let Some(again) = &self.rebalances {
            writeln!(
                f,
                "looked for a better partition {} times in {}, took it {} times: {} moves",
                again.asked,
                human::time(Some(again.seconds)),
                again.changed,
                again.moved
            )?;
        }
        let (most, budget) = (self.most_bytes, self.slot_bytes.1);
        if budget > 0 {
            let (most, budget) = (human::bytes(most), human::bytes(budget));
            writeln!(f, "the channels took {most} at most, of a budget of {budget}")?;
        }
        for grown in self.grown.iter().take(LISTED) {
            writeln!(f, "{grown}")?;
        }
        if self.grown.len() > LISTED {
            writeln!(f, "and {} more channels had to grow", self.grown.len() - LISTED)?;
        }
        if !self.weight_unknown.is_empty() {
            let first = self.weight_unknown.iter().take(LISTED);
            let names: Vec<_> = first.map(|name| format!("`{name}`")).collect();
            let more = match self.weight_unknown.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            writeln!(
                f,
                "weight unknown: the budget counts no more than the slots of {}{more}; give them \
                 one with `Channel::weighed`",
                names.join(", ")
            )?;
        }
        if self.chooses {
            writeln!(f, "processes that choose took part: the result may depend on the schedule")?;
        }
        let mut table = new_table(&["process", "ended"], ProcessReport::columns());
        for process in &self.processes {
            let ending = process.ending.to_string();
            table.add_row(process.row(process.name.to_string(), ending));
        }
        if let Some((count, sums)) = &self.more_processes {
            table.add_row(sums.row(format!("{count} more"), String::new()));
        }
        writeln!(f, "\n{table}")?;
        let meets = !self.meetings.is_empty() || self.more_meetings.is_some();
        let table = if meets { self.meeting_table() } else { self.channel_table() };
        writeln!(f, "\n{table}")?;
        let mut table = new_table(&[], ["worker"].into_iter().chain(WorkerReport::columns()));
        for worker in &self.worker_reports {
            table.add_row([vec![worker.worker.to_string()], worker.figures()].concat());
        }
        write!(f, "\n{table}")
    }

    pub(super) fn write_outcome(&self, f: &mut impl fmt::Write) -> fmt::Result {
        match (&self.outcome, &self.detail) {
            (Summary::Finished, _) => writeln!(f, "finished")?,
            (Summary::Quiescent, _) => writeln!(f, "quiescent: nothing more can happen")?,
            (Summary::Failed, _) => writeln!(f, "failed")?,
            (Summary::Stopped, _) => writeln!(f, "stopped from outside")?,
            (Summary::OverBudget, _) => writeln!(f, "over budget: a channel may not grow further")?,
            (Summary::Deadlock, _) => writeln!(f, "deadlock: nothing can go on")?,
            (Summary::OutOfThreads, _) => writeln!(f, "out of threads")?,
            (Summary::Misuse, _) => writeln!(f, "misuse: the result could depend on the schedule")?,
        }
        match &self.detail {
            Some(Detail::Waits(explanation)) => write!(f, "{explanation}")?,
            Some(Detail::Misuse(text) | Detail::Threads(text)) => writeln!(f, "  {text}")?,
            None => {}
        }
        for failure in &self.failures {
            writeln!(f, "  {}", indented(&failure.to_string()))?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }

    fn channel_table(&self) -> Table {
        let mut table = new_table(&["channel", "from", "to"], ChannelReport::columns());
        for channel in &self.channels {
            table.add_row(channel.row(channel.name.to_string()));
        }
        if let Some((count, sums)) = &self.more_channels {
            table.add_row(sums.row(format!("{count} more")));
        }
        table
    }

    fn meeting_table(&self) -> Table {
        let mut table = new_table(&["channel", "kind", "from", "to", "state"], ["received"]);
        for meeting in &self.meetings {
            table.add_row(meeting.row());
        }
        if let Some((count, messages)) = self.more_meetings {
            let none = String::new;
            let more = format!("{count} more");
            table.add_row(vec![more, none(), none(), none(), none(), messages.to_string()]);
        }
        table
    }
}

/// The text with all lines but the first indented: part of a list.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

/// A table with columns of text, and columns of numbers behind them.
pub(super) fn new_table(
    text: &[&'static str],
    numbers: impl IntoIterator<Item = &'static str>,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(text.iter().copied().chain(numbers));
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= text.len() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

impl ProcessReport {
    fn row(&self, name: String, ending: String) -> Vec<String> {
        [vec![name, ending], self.figures()].concat()
    }
}

impl ChannelReport {
    fn row(&self, name: String) -> Vec<String> {
        let ends = [&self.from, &self.to].map(|end| text_of(end.as_ref()));
        [vec![name], ends.to_vec(), self.figures()].concat()
    }
}

impl MeetingReport {
    pub(super) fn kind_text(&self) -> String {
        match self.kind {
            MeetingKind::Rendezvous => "rendezvous".to_owned(),
            MeetingKind::Buffered => format!("buffered, {}", self.capacity),
            MeetingKind::Exchange => "exchange".to_owned(),
        }
    }

    pub(super) fn state_text(&self) -> &'static str {
        match self.state {
            MeetingState::Open => "open",
            MeetingState::Closed => "closed",
            MeetingState::Poisoned => "poisoned",
        }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.name.to_string(),
            self.kind_text(),
            text_of(self.from.as_ref()),
            text_of(self.to.as_ref()),
            self.state_text().to_owned(),
            self.messages.to_string(),
        ]
    }
}

fn text_of(name: Option<&Name>) -> String {
    name.map_or(String::new(), Name::to_string)
}
