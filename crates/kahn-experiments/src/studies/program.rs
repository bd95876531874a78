//! Measuring a program of the table `APPS`, with arguments as one would type them.

use kahn::{Options, Report};
use kahn_apps::{App, Failure, Variant, run};

use crate::experiment::{Measured, Outcome};
use crate::measure::{Clock, forget_peak_memory, peak_memory};
use crate::native::refused_thread;
use crate::point::float;

/// A program with its arguments.
pub(crate) struct Job<'a> {
    /// Its name in the table.
    pub(crate) app: &'static str,
    /// What is typed after the name.
    pub(crate) arguments: &'a [&'a str],
    /// Into how many parts a stage is split, if not as many as the program wants.
    pub(crate) parts: Option<usize>,
    /// The form.
    pub(crate) variant: Variant,
}

impl Job<'_> {
    /// Runs it once. `more` takes from the report what an experiment wants besides the time.
    pub(crate) fn measure(
        &self,
        options: Options,
        more: impl FnOnce(&Report, Measured) -> Measured,
    ) -> Result<Outcome, Failure> {
        let app = App::named(self.app);
        let app = app.ok_or_else(|| Failure::input(format!("there is no app `{}`", self.app)))?;
        let program = app.prepare_from(self.arguments, self.parts, 0)?;
        forget_peak_memory();
        let clock = Clock::start();
        let ran = match run(&*program, self.variant, options, |_| {}) {
            Ok(ran) => ran,
            Err(failure) => {
                let refused = failure.report().and_then(refused_thread);
                return refused.map(Outcome::Refused).ok_or(failure);
            }
        };
        // A network says how long it ran, without what its program does before and after.
        let seconds = ran.report.as_ref().map_or_else(|| clock.seconds(), |report| report.seconds);
        let mut measured = Measured::seconds(seconds);
        // What a program counts of itself: the rounds of k-means.
        for (what, count) in &ran.answer.notes {
            measured = measured.and(what, counted(*count));
        }
        if let Some(bytes) = peak_memory() {
            measured = measured.and("peak memory", bytes);
        }
        if let Some(report) = &ran.report {
            measured = more(report, measured);
        }
        Ok(Outcome::Measured(measured))
    }
}

/// Attempts to steal, all workers together.
pub(crate) fn steals_tried(report: &Report) -> f64 {
    report.worker_reports.iter().map(|worker| counted(worker.steals_tried)).sum()
}

/// Makes a figure of a counter.
pub(crate) fn counted(count: u64) -> f64 {
    usize::try_from(count).map_or(f64::INFINITY, float)
}
