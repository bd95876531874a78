//! How it looks: one frame, of the state alone.

use super::state::{State, Table as Which};
use crate::limit::{Known, by_fill, by_limit, fill, rings, short};
use kahn_observe::sample::{ProcessView, Shares, View};
use kahn_report::observe::Doing;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table, Wrap};

/// Cells of the bar of a process.
const BAR: u16 = 20;

/// Rings that are shown; the explanation has all.
const RINGS: usize = 3;

/// How a share is drawn: told apart without colours as well.
fn look_of(doing: Doing) -> (char, Color) {
    match doing {
        Doing::Busy => ('█', Color::Green),
        Doing::Ready => ('▓', Color::Yellow),
        Doing::WaitsForMessage => ('░', Color::Blue),
        Doing::WaitsForRoom => ('▒', Color::Magenta),
        Doing::WaitsOutside => ('·', Color::DarkGray),
    }
}

fn what(doing: Doing) -> &'static str {
    match doing {
        Doing::Busy => "busy",
        Doing::Ready => "ready",
        Doing::WaitsForMessage => "waits for a message",
        Doing::WaitsForRoom => "waits for room",
        Doing::WaitsOutside => "waits outside",
    }
}

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State) {
    let State { title, view, explanation, table, scrolled } = state;
    let Some(view) = view else {
        frame.render_widget(format!("{title}: it has not begun"), frame.area());
        return;
    };
    let known = Known::new(view);
    let rings = stuck(view);
    let height = u16::try_from(rings.len()).unwrap_or(u16::MAX);
    let [head, workers, stuck, main, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(height),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(self::head(title, view), head);
    frame.render_widget(self::workers(view, &known), workers);
    frame.render_widget(Paragraph::new(rings), stuck);
    if let Some(text) = explanation {
        let lines = text.lines().count();
        *scrolled = (*scrolled).min(lines.saturating_sub(1));
        let from = u16::try_from(*scrolled).unwrap_or(u16::MAX);
        let text = Paragraph::new(text.as_str()).wrap(Wrap { trim: false }).scroll((from, 0));
        frame.render_widget(text.block(Block::bordered().title(" what waits for what ")), main);
        frame.render_widget(line_of_keys("e back   q stop   ↑↓ scroll"), keys);
        return;
    }
    let [upper, lower] =
        Layout::vertical([Constraint::Percentage(65), Constraint::Percentage(35)]).areas(main);
    let rows = match table {
        Which::Processes => view.processes.len(),
        Which::Channels => view.channels.len(),
    };
    *scrolled = (*scrolled).min(rows.saturating_sub(1));
    match table {
        Which::Processes => {
            processes(frame, upper, view, &known, *scrolled);
            channels(frame, lower, view, &known, 0);
        }
        Which::Channels => {
            channels(frame, upper, view, &known, *scrolled);
            processes(frame, lower, view, &known, 0);
        }
    }
    let keys_are = "e explain   q stop   tab processes/channels   ↑↓ scroll    ";
    let mut line = line_of_keys(keys_are);
    for doing in Doing::ALL {
        let (sign, colour) = look_of(doing);
        line.spans.push(Span::styled(format!("{sign}{sign}"), colour));
        line.spans.push(Span::raw(format!(" {}  ", what(doing))));
    }
    frame.render_widget(line, keys);
}

fn line_of_keys(text: &str) -> Line<'static> {
    Line::from(Span::styled(text.to_owned(), Modifier::DIM))
}

fn head(title: &str, view: &View) -> Line<'static> {
    let rate: f64 = view.channels.iter().filter_map(|channel| channel.rate).sum();
    let which = if view.is_whole() {
        String::new()
    } else {
        format!("; these are processes {}, in turn", view.of_processes)
    };
    let text = format!(
        " {:.0} s, {} processes, {} channels, {} messages/s, {} looks in {:.1} s{which}",
        view.seconds,
        view.of_processes.all,
        view.of_channels.all,
        short(rate),
        view.looks,
        view.of_seconds,
    );
    let title = Span::styled(title.to_owned(), Modifier::BOLD);
    Line::from(vec![title, Span::raw(text)])
}

fn workers(view: &View, known: &Known<'_>) -> Line<'static> {
    let mut spans = vec![Span::raw("workers")];
    for (number, worker) in view.workers.iter().enumerate() {
        let runs = if worker.runs.is_some() { known.name(worker.runs) } else { "-" };
        let text = format!("  {number}: {:.0} % {runs}", 100.0 * worker.busy);
        let colour = if worker.busy >= 0.5 { Color::Green } else { Color::DarkGray };
        spans.push(Span::styled(text, colour));
    }
    Line::from(spans)
}

/// A line for each ring, or for what is stuck without one that is seen.
fn stuck(view: &View) -> Vec<Line<'static>> {
    let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
    let line = |text: String| Line::from(Span::styled(text, style));
    let mut lines: Vec<_> = rings(view, RINGS).into_iter().map(line).collect();
    let stuck = view.processes.iter().filter(|process| process.stuck).count();
    if stuck > 0 {
        lines.push(line(format!("{stuck} stuck for ever: e explains it")));
    }
    lines
}

/// The cells of each share, which make up the bar.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to the bar's length"
)]
fn cells(shares: &Shares) -> [u16; Doing::ALL.len()] {
    let (mut sum, mut drawn) = (0.0, 0);
    Doing::ALL.map(|doing| {
        sum += shares.of(doing);
        let upto = (sum * f64::from(BAR)).round() as u16;
        let cells = upto.min(BAR) - drawn;
        drawn += cells;
        cells
    })
}

fn bar(process: &ProcessView) -> Line<'static> {
    let cells = Doing::ALL.into_iter().zip(cells(&process.shares));
    let spans = cells.map(|(doing, cells)| {
        let (sign, colour) = look_of(doing);
        Span::styled(sign.to_string().repeat(cells.into()), colour)
    });
    Line::from(spans.collect::<Vec<_>>())
}

fn percent(share: f64) -> Cell<'static> {
    let text = if share < 0.005 { "-".to_owned() } else { format!("{:.0}", 100.0 * share) };
    Cell::from(Line::from(text).right_aligned())
}

fn headings(names: &[&'static str]) -> Row<'static> {
    Row::new(names.to_vec()).style(Modifier::BOLD | Modifier::UNDERLINED)
}

fn processes(frame: &mut Frame<'_>, area: Rect, view: &View, known: &Known<'_>, from: usize) {
    let rows = by_limit(view).into_iter().skip(from).take(area.height.into()).map(|process| {
        let shares = Doing::ALL.map(|doing| percent(process.shares.of(doing)));
        let row = [Cell::from(process.called().into_owned()), Cell::from(bar(process))];
        let limit = Cell::from(known.limit(process));
        let row = Row::new(row.into_iter().chain(shares).chain([limit]));
        if process.stuck { row.style(Style::new().fg(Color::Red)) } else { row }
    });
    let percents = [4, 5, 5, 4, 7].map(Constraint::Length);
    let widths = [Constraint::Min(16), Constraint::Length(BAR)].into_iter().chain(percents);
    let widths = widths.chain([Constraint::Min(20)]);
    let heading = headings(&[
        "process",
        "time spent",
        "busy",
        "ready",
        "empty",
        "full",
        "outside",
        "limited by",
    ]);
    frame.render_widget(Table::new(rows, widths).header(heading), area);
}

fn channels(frame: &mut Frame<'_>, area: Rect, view: &View, known: &Known<'_>, from: usize) {
    let rows = by_fill(view).into_iter().skip(from).take(area.height.into()).map(|channel| {
        let rate = channel.rate.map_or_else(|| "-".to_owned(), short);
        let right = |text: String| Cell::from(Line::from(text).right_aligned());
        let grown = if channel.growths > 0 { channel.growths.to_string() } else { "-".to_owned() };
        Row::new([
            Cell::from(channel.name.to_string()),
            Cell::from(format!("{} → {}", known.called(channel.from), known.called(channel.to))),
            right(format!("{} of {}", channel.waiting, channel.capacity)),
            right(format!("{:.0} %", 100.0 * fill(channel))),
            right(rate),
            right(grown),
        ])
    });
    let widths = [
        Constraint::Min(16),
        Constraint::Min(24),
        Constraint::Length(14),
        Constraint::Length(6),
        Constraint::Length(10),
        Constraint::Length(6),
    ];
    let heading = headings(&["channel", "from → to", "holds", "full", "messages/s", "grown"]);
    frame.render_widget(Table::new(rows, widths).header(heading), area);
}

#[cfg(test)]
mod tests;
