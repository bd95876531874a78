//! A bar for runs that take longer than a second, if a person is watching.

use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use kahn_apps::Progress;
use parking_lot::{Condvar, Mutex};

/// How long a run shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the bar is drawn after that.
const PERIOD: Duration = Duration::from_millis(100);

/// Does the work; meanwhile shows how far it is, on standard error if that is a terminal.
pub(crate) fn watched<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let end = End::default();
    thread::scope(|scope| {
        // Also if the work panics: the scope waits for the thread that draws.
        let _announced = AtTheEnd(&end);
        scope.spawn(|| draw(progress, &end));
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

fn draw(progress: &Progress, end: &End) {
    if end.is_reached_within(PATIENCE) {
        return;
    }
    let bar = match progress.total() {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let bar = bar.with_style(style(progress)).with_elapsed(PATIENCE);
    while !end.is_reached_within(PERIOD) {
        bar.set_position(progress.done());
    }
    bar.finish_and_clear();
}

fn style(progress: &Progress) -> ProgressStyle {
    let template = match (progress.total(), progress.unit()) {
        (Some(_), "bytes") => "{wide_bar} {bytes} of {total_bytes}, {eta} left",
        (Some(_), unit) => &format!("{{wide_bar}} {{pos}} of {{len}} {unit}"),
        (None, unit) => &format!("{{spinner}} {{pos}} {unit}, {{elapsed}}"),
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_progress_has_a_template_that_parses() {
        for (unit, total) in [("bytes", Some(1)), ("numbers", Some(1)), ("rounds", None)] {
            let progress = Progress::new(unit, total);
            let bar = ProgressBar::hidden();
            bar.set_style(style(&progress));
        }
    }
}
