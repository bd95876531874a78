//! `run`: a program, its result, and what it cost.

use std::fmt::Write as _;
use std::sync::OnceLock;

use clap::ArgMatches;
use kahn::{Network, Options, Progress, Report};
use kahn_net::OneRank;
use serde_json::{Value, json};

use crate::arguments::{ReportForm, RunArguments, Shape};
use crate::placed::Placed;
use crate::program::{Form, Kind, Prepared, Program, form_of};
use crate::ranks::{RunOnRanks, SeenHere};
use crate::recording::Outside;
use crate::{Answer, Failure, Interrupt, messages, output, progress, ranks, result};

/// Runs a program and writes its result, once all of it is known; on several ranks, if this is the first of them.
pub(crate) fn run(
    program: &dyn Program,
    matches: &ArgMatches,
    arguments: &RunArguments,
    again: Option<Outside>,
    one: Option<OneRank>,
) -> Result<(), Failure> {
    let shape = Shape::of(matches);
    let form = match &one {
        Some(_) => ranks::network_form(program, matches, &shape)?,
        None => form_of(program, matches, shape.variant.as_deref(), false)?,
    };
    if let Some(path) = &arguments.report_json {
        output::check_writable(path)?;
    }
    if let Some(path) = &arguments.svg {
        output::check_writable(path)?;
    }
    let command = program.command();
    let options = arguments.options(program, form, &shape)?;
    let tracing = arguments.trace.start(command.get_name())?;
    let is_apart = form.kind == Kind::Network && arguments.ranks.ranks.is_some();
    // On several ranks each has an observer of its own.
    let options = if is_apart { options } else { tracing.observe(options) };
    let mut outside = if let Some(again) = again {
        again
    } else {
        let ranks = arguments.ranks.untyped();
        Outside::of(&arguments.record, &command, shape.seed(), ranks)?
    };
    let interrupt = Interrupt::new(tracing.on_signal());
    let prepared = program.prepare(matches, shape.settings(program)?)?;
    if let Some(text) = prepared.announcement() {
        messages::note(text);
    }
    let placed = OnceLock::new();
    let ran = match form.kind {
        Kind::Network if is_apart => {
            outside.begin()?;
            let is_live = arguments.live.is_asked_for();
            let live = arguments.live.start(command.get_name(), &interrupt)?;
            let seen = SeenHere {
                tracing: &tracing,
                outside: &outside,
                ranks: arguments.ranks.ranks.unwrap_or(1),
                is_shown: is_live || one.is_some() && progress::is_watched(),
                is_on_screen: live.is_shown(),
                placed: &placed,
            };
            let (prepared, options, seed) = (&*prepared, &options, shape.seed());
            let (arguments, interrupt) = (arguments, &interrupt);
            let run = RunOnRanks { prepared, form, options, seed, arguments, interrupt, seen, one };
            let ran = run.run();
            drop(live);
            ran
        }
        Kind::Network => {
            let name = command.get_name();
            run_network(name, &*prepared, form, options, arguments, &interrupt, &mut outside)
        }
        _ => {
            let live = arguments.live.start(command.get_name(), &interrupt)?;
            let perform = || prepared.perform(form, options, &interrupt);
            if live.is_shown() { perform() } else { watched(&*prepared, perform) }
        }
    };
    interrupt.ended();
    let ended = outside.end(ran.as_ref().err());
    let traced = tracing.tell(ran.is_err());

    ended?;
    let cost = Cost { name: command.get_name(), form, arguments, placed: placed.get() };
    let report = match &ran {
        Ok((_, report)) => report.as_ref(),
        Err(failure) => failure.report(),
    };
    if let Some(report) = report
        && let Some(held) = outside.held(report)?
    {
        return result::write(|out| out.write_all(held.as_bytes()));
    }
    match ran {
        Ok((answer, report)) => {
            traced?;
            let files = answer.files.into_iter().filter(|_| !outside.acts_not());
            for (path, lines) in files {
                outside.clean(&path);
                output::write_whole(&path, lines)?;
            }
            result::write(answer.lines)?;
            cost.tell(report.as_ref(), &answer.notes)
        }
        Err(failure) => {
            // Why it failed is told last, by its exit code as well.
            if let Err(untold) = traced {
                messages::failure(&untold);
            }
            if let Failure::Run { report, .. } = &failure {
                cost.tell(report.as_deref(), &[])?;
            }
            Err(failure)
        }
    }
}

/// Runs a form that is a Kahn network.
fn run_network<'env>(
    name: &str,
    prepared: &'env dyn Prepared,
    form: Form,
    options: Options,
    arguments: &RunArguments,
    interrupt: &Interrupt,
    outside: &mut Outside,
) -> Result<(Answer<'env>, Option<Report>), Failure> {
    let mut network = Network::new();
    outside.prepare(&mut network);
    let pending = prepared.build(form, &mut network, arguments.ranks.purpose())?;
    let handle = network.stop_handle();
    interrupt.running(handle.clone());
    // Now that Ctrl-C comes back here.
    outside.begin()?;
    let options = outside.observe(options);
    let counted = prepared.progress();
    let done = || counted.as_ref().map_or_else(|| handle.messages(), Progress::done);
    let (total, unit) = match &counted {
        Some(counted) => (counted.total(), counted.unit()),
        None => (None, "messages"),
    };
    let live = arguments.live.start(name, interrupt)?;
    let ran = if live.is_shown() {
        network.run_with(options)
    } else {
        progress::watched(&done, total, unit, || network.run_with(options))
    };
    drop(live);
    let report = ran.map_err(|error| {
        let refused = arguments.placing().refused(&error);
        refused.unwrap_or_else(|| error.into())
    })?;
    let answer = answer_of(pending(), outside)?;
    Ok((answer, Some(report)))
}

/// The result of a run that has finished.
pub(crate) fn answer_of<'env>(
    answer: Option<Answer<'env>>,
    outside: &Outside,
) -> Result<Answer<'env>, Failure> {
    match answer {
        Some(answer) => Ok(answer),
        None if outside.is_done_again() => {
            messages::note(
                "the process that has the result acts outside: it is not run in a replay",
            );
            Ok(Answer::nothing())
        }
        None => {
            let what = "the network has finished, and there is no result";
            Err(Failure::Difference(what.to_owned()))
        }
    }
}

/// Does the work under a bar, if the program counts how far it is.
fn watched<T>(prepared: &dyn Prepared, work: impl FnOnce() -> T) -> T {
    match prepared.progress() {
        Some(counted) => progress::watched_by(&counted, work),
        None => work(),
    }
}

/// What a run was, for those who want to know what it cost.
struct Cost<'run> {
    name: &'run str,
    form: Form,
    arguments: &'run RunArguments,
    /// Of a run on several ranks.
    placed: Option<&'run Placed>,
}

impl Cost<'_> {
    /// Shows and writes what was asked for.
    fn tell(&self, report: Option<&Report>, notes: &[(&str, u64)]) -> Result<(), Failure> {
        // One line, and none beside a report, which tells of them.
        let grown = report.filter(|_| self.arguments.report.is_none());
        if let Some([first, more @ ..]) = grown.map(|report| &report.grown[..]) {
            let others = if more.is_empty() { "" } else { ", and others" };
            messages::note(format_args!("{first}{others}: `--report=full` tells more"));
        }
        if let Some(form) = self.arguments.report {
            messages::say(self.table(report, notes, form));
        }
        if let (Some(path), Some(report)) = (&self.arguments.svg, report) {
            let picture = report.svg();
            output::write_whole(path, |out| out.write_all(picture.as_bytes()))?;
        }
        match &self.arguments.report_json {
            Some(path) => {
                let text = format!("{:#}", self.json(report, notes));
                output::write_whole(path, |out| writeln!(out, "{text}"))
            }
            None => Ok(()),
        }
    }

    fn table(&self, report: Option<&Report>, notes: &[(&str, u64)], form: ReportForm) -> String {
        let mut text = format!("{}, {}", self.name, self.form.name);
        for (name, number) in notes {
            let _ = write!(text, ", {name}: {number}");
        }
        if let Some(report) = report {
            let _ = match form {
                ReportForm::Short => write!(text, "\n{}", report.to_string().trim_end()),
                ReportForm::Full => write!(text, "\n{report:#}"),
            };
            if let Some(placed) = self.placed {
                let _ = write!(text, "\n\n{}", placed.text(report));
            }
        }
        text
    }

    /// The report's own fields, and before them those of the program.
    fn json(&self, report: Option<&Report>, notes: &[(&str, u64)]) -> Value {
        let mut value = json!({ "app": self.name, "variant": self.form.name });
        for (name, number) in notes {
            value[*name] = json!(number);
        }
        if let Some((placed, report)) = self.placed.zip(report) {
            value["ranks"] = placed.json(report);
        }
        let report = report.and_then(|report| serde_json::from_str(&report.to_json()).ok());
        if let (Value::Object(all), Some(Value::Object(fields))) = (&mut value, report) {
            all.extend(fields);
        }
        value
    }
}
