//! `kahn run`: a program, its result, and what it cost.

use std::fmt::Write as _;

use clap::ArgMatches;
use kahn::Report;
use kahn_apps::{App, Failure, Ran, Variant, output};
use serde_json::{Value, json};

use crate::arguments::{ReportForm, RunArguments};
use crate::interrupt::Interrupt;
use crate::{messages, progress, result};

/// Runs a program and writes its result, once all of it is known.
pub(crate) fn run(
    app: &App,
    matches: &ArgMatches,
    arguments: &RunArguments,
) -> Result<(), Failure> {
    let variant = arguments.shape.variant(app)?;
    if let Some(path) = &arguments.report_json {
        output::check_writable(path)?;
    }
    if let Some(path) = &arguments.svg {
        output::check_writable(path)?;
        if matches!(variant, Variant::Sequential | Variant::Threads) {
            let (name, app) = (variant.name(), app.name);
            let what = format!("--svg has no effect on the variant `{name}` of `{app}`");
            return Err(Failure::input(what).with_help("it is no network; leave --svg out"));
        }
    }
    let options = arguments.options(app, variant)?;
    let interrupt = Interrupt::new();
    let settings = app.settings(arguments.shape.parts, arguments.shape.seed)?;
    let program = (app.prepare)(matches, &settings)?;
    if let Some(text) = program.announcement() {
        messages::note(text);
    }
    let ran = progress::watched(program.progress(), || {
        kahn_apps::run(&*program, variant, options, |stop| interrupt.running(stop))
    });
    interrupt.ended();

    let cost = Cost { app, variant, arguments };
    match ran {
        Ok(Ran { answer, report }) => {
            for (path, lines) in &answer.files {
                output::write_whole(path, lines)?;
            }
            result::write(|out| (answer.lines)(out))?;
            cost.tell(report.as_ref(), &answer.notes)
        }
        Err(failure) => {
            if let Failure::Run(error) = &failure
                && let Some(refused) = arguments.placing().refused(error, app.name)
            {
                return Err(refused);
            }
            if matches!(failure, Failure::Run(_) | Failure::Communicating(_)) {
                cost.tell(failure.report(), &[])?;
            }
            Err(failure)
        }
    }
}

/// What a run was, for those who want to know what it cost.
struct Cost<'run> {
    app: &'run App,
    variant: Variant,
    arguments: &'run RunArguments,
}

impl Cost<'_> {
    /// Shows and writes what was asked for.
    fn tell(&self, report: Option<&Report>, notes: &[(&str, u64)]) -> Result<(), Failure> {
        // One line: the report tells of each.
        if let Some([first, more @ ..]) = report.map(|report| &report.grown[..]) {
            let others = if more.is_empty() { "" } else { ", and others" };
            messages::note(format_args!("{first}{others}: `--report=full` tells more"));
        }
        if let Some(form) = self.arguments.report {
            messages::say(self.table(report, notes, form));
        }
        if let (Some(path), Some(report)) = (&self.arguments.svg, report) {
            let picture = report.svg();
            output::write_whole(path, &|out| out.write_all(picture.as_bytes()))?;
        }
        match &self.arguments.report_json {
            Some(path) => {
                let text = format!("{:#}", self.json(report, notes));
                output::write_whole(path, &|out| writeln!(out, "{text}"))
            }
            None => Ok(()),
        }
    }

    fn table(&self, report: Option<&Report>, notes: &[(&str, u64)], form: ReportForm) -> String {
        let mut text = format!("{}, {}", self.app.name, self.variant.name());
        for (name, number) in notes {
            let _ = write!(text, ", {name}: {number}");
        }
        if let Some(report) = report {
            let _ = match form {
                ReportForm::Short => write!(text, "\n{}", report.to_string().trim_end()),
                ReportForm::Full => write!(text, "\n{report:#}"),
            };
        }
        text
    }

    /// The report's own fields, and before them those of the program.
    fn json(&self, report: Option<&Report>, notes: &[(&str, u64)]) -> Value {
        let mut value = json!({ "app": self.app.name, "variant": self.variant.name() });
        for (name, number) in notes {
            value[*name] = json!(number);
        }
        let report = report.and_then(|report| serde_json::from_str(&report.to_json()).ok());
        if let (Value::Object(all), Some(Value::Object(fields))) = (&mut value, report) {
            all.extend(fields);
        }
        value
    }
}
