//! A bar for runs that take longer than a second, if a person is watching.

use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::{Condvar, Mutex};

use kahn::Progress;

use crate::messages;

/// How long a run shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the bar is drawn after that.
const PERIOD: Duration = Duration::from_millis(100);

/// Whether a person is watching.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Does the work; meanwhile shows how far it is, as this counts.
pub(crate) fn watched_by<T>(counted: &Progress, work: impl FnOnce() -> T) -> T {
    watched(&|| counted.done(), counted.total(), counted.unit(), work)
}

/// Does the work; meanwhile shows how far it is, on standard error if that is a terminal.
pub(crate) fn watched<T>(
    done: &(dyn Fn() -> u64 + Sync),
    total: Option<u64>,
    unit: &str,
    work: impl FnOnce() -> T,
) -> T {
    if !is_watched() {
        return work();
    }
    let end = End::default();
    thread::scope(|scope| {
        // Also if the work panics: the scope waits for the thread that draws.
        let _announced = AtTheEnd(&end);
        scope.spawn(|| draw(done, total, unit, &end));
        work()
    })
}

/// Whether the work has ended.
#[derive(Default)]
struct End {
    reached: Mutex<bool>,
    changed: Condvar,
}

impl End {
    /// Waits for the end, so long at most; says whether it is reached.
    fn is_reached_within(&self, time: Duration) -> bool {
        let mut reached = self.reached.lock();
        if !*reached {
            self.changed.wait_for(&mut reached, time);
        }
        *reached
    }
}

struct AtTheEnd<'end>(&'end End);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        *self.0.reached.lock() = true;
        self.0.changed.notify_all();
    }
}

fn draw(done: &(dyn Fn() -> u64 + Sync), total: Option<u64>, unit: &str, end: &End) {
    if end.is_reached_within(PATIENCE) {
        return;
    }
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let bar = bar.with_style(style(total, unit)).with_elapsed(PATIENCE);
    while !end.is_reached_within(PERIOD) {
        bar.set_position(done());
    }
    bar.finish_and_clear();
}

fn style(total: Option<u64>, unit: &str) -> ProgressStyle {
    let template = match (total, unit) {
        (Some(_), "bytes") => "{wide_bar} {bytes} of {total_bytes}, {eta} left",
        (Some(_), unit) => &format!("{{wide_bar}} {{pos}} of {{len}} {unit}"),
        (None, unit) => &format!("{{spinner}} {{pos}} {unit}, {{elapsed}}"),
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A bar for work that has several parts, on standard error; without a terminal, a line for each.
///
/// # Examples
///
/// ```
/// let bar = kahn_command::Bar::new();
/// for part in ["left", "right"] {
///     bar.begin(part, 0, 3, &format!("{part}: 3 measurements"));
///     for what in ["one", "two", "three"] {
///         bar.doing(what);
///         bar.advance();
///     }
///     bar.note(&format!("wrote {part}.csv"));
/// }
/// ```
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    watched: bool,
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Bar {
    /// Makes a bar that is not shown yet.
    ///
    /// # Examples
    ///
    /// ```
    /// let bar = kahn_command::Bar::new();
    /// ```
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { bar, watched: io::stderr().is_terminal() }
    }

    /// Begins a part, of which something is done already. `line` says so without a terminal.
    ///
    /// # Examples
    ///
    /// ```
    /// let bar = kahn_command::Bar::new();
    /// bar.begin("files", 10, 100, "100 files, 10 of them there already");
    /// ```
    pub fn begin(&self, name: &str, done: u64, total: u64, line: &str) {
        if !self.watched {
            return self.note(line);
        }
        self.bar.reset();
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.reset_eta();
        let template = format!("{name} {{wide_bar}} {{pos}} of {{len}}, {{eta}} left  {{msg}}");
        let style = ProgressStyle::with_template(&template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }

    /// Says what is being done, in a few words.
    ///
    /// # Examples
    ///
    /// ```
    /// kahn_command::Bar::new().doing("ring of 256 processes");
    /// ```
    pub fn doing(&self, what: &str) {
        if self.watched {
            self.bar.set_message(what.chars().take(60).collect::<String>());
        }
    }

    /// Counts one thing that is done.
    ///
    /// # Examples
    ///
    /// ```
    /// kahn_command::Bar::new().advance();
    /// ```
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Tells something in a line of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// kahn_command::Bar::new().note("wrote page.md");
    /// ```
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| messages::note(text));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_progress_has_a_template_that_parses() {
        for (unit, total) in [("bytes", Some(1)), ("numbers", Some(1)), ("rounds", None)] {
            let bar = ProgressBar::hidden();
            bar.set_style(style(total, unit));
        }
    }
}
