//! The programs of `kahn-apps`, as the command has them.

use clap::{ArgMatches, Command};
use kahn::{Network, Options, Progress, Report};
use kahn_apps::{APPS, App, Compare, Variant};
use kahn_command::{
    Answer, Failure, Form, Interrupt, Kind, Menu, Parts, Pending, Prepared, Program, Purpose,
    Settings, Stopper,
};

/// Calls a function with all programs.
pub(crate) fn with_menu<T>(act: impl FnOnce(Menu<'_>) -> T) -> T {
    let entries: Vec<_> = APPS.iter().map(Entry::new).collect();
    let programs: Vec<_> = entries.iter().map(|entry| entry as &dyn Program).collect();
    act(Menu::new(&programs))
}

/// A program of the table.
struct Entry {
    app: &'static App,
    forms: Vec<Form>,
}

impl Entry {
    fn new(app: &'static App) -> Self {
        let form = |variant: &Variant| Form { name: variant.name(), kind: kind(*variant) };
        Self { app, forms: app.variants.iter().map(form).collect() }
    }
}

fn kind(variant: Variant) -> Kind {
    match variant {
        Variant::Network | Variant::MapReduce => Kind::Network,
        Variant::Sequential => Kind::Sequential,
        Variant::Threads => Kind::Threads,
        Variant::Communicating
        | Variant::Rendezvous
        | Variant::DataParallel
        | Variant::Deadlock
        | Variant::Corrected => Kind::Communicating,
    }
}

impl Program for Entry {
    fn command(&self) -> Command {
        let App { name, summary, examples, .. } = self.app;
        let parts = self.parts().map(|Parts { default, most }| {
            format!("--parts is {default} unless set, at most {most}.\n\n")
        });
        let forms: Vec<_> = self.forms.iter().map(|form| form.name).collect();
        let variants = match &forms[..] {
            [_] => String::new(),
            forms => format!("Variants: {}.\n", forms.join(", ")),
        };
        let notes = format!("{variants}{}{examples}", parts.unwrap_or_default());
        (self.app.arguments)(Command::new(*name)).about(*summary).after_help(notes)
    }

    fn forms(&self) -> &[Form] {
        &self.forms
    }

    fn parts(&self) -> Option<Parts> {
        let App { default_parts, most_parts, .. } = *self.app;
        (default_parts > 1).then_some(Parts { default: default_parts, most: most_parts })
    }

    fn heeds(&self, form: Form, argument: &str) -> bool {
        self.app.heeds(variant(self.app, form), argument)
    }

    fn prepare(
        &self,
        matches: &ArgMatches,
        settings: Settings,
    ) -> Result<Box<dyn Prepared + '_>, Failure> {
        let settings = self.app.settings(Some(settings.parts), settings.seed)?;
        let program = (self.app.prepare)(matches, &settings)?;
        Ok(Box::new(Ready { app: self.app, program }))
    }
}

/// A program that has its input.
struct Ready {
    app: &'static App,
    program: Box<dyn kahn_apps::Program>,
}

fn variant(app: &App, form: Form) -> Variant {
    Variant::named(form.name, app.variants).expect("forms are made from variants")
}

impl Prepared for Ready {
    fn build<'env>(
        &'env self,
        form: Form,
        network: &mut Network<'env>,
        purpose: Purpose,
    ) -> Result<Pending<'env>, Failure> {
        let compare = match purpose {
            Purpose::Verify => Compare::Contents,
            Purpose::Run | Purpose::Graph => Compare::Numbers,
            Purpose::Ranks => Compare::Written,
            Purpose::VerifyRanks => Compare::WrittenContents,
        };
        let pending = kahn_apps::build(&*self.program, variant(self.app, form), network, compare)?;
        Ok(Box::new(move || pending().map(answer)))
    }

    fn perform(
        &self,
        form: Form,
        options: Options,
        interrupt: &Interrupt,
    ) -> Result<(Answer<'_>, Option<Report>), Failure> {
        let started = |stopper: kahn_apps::Stopper| {
            interrupt.running(Stopper::of(stopper.seen(), move || stopper.stop()));
        };
        let ran = kahn_apps::run(&*self.program, variant(self.app, form), options, started)?;
        Ok((answer(ran.answer), ran.report))
    }

    fn expected(&self) -> Result<Option<Answer<'_>>, Failure> {
        self.program.sequential().map(|found| Some(answer(found)))
    }

    fn announcement(&self) -> Option<String> {
        self.program.announcement()
    }

    fn progress(&self) -> Option<Progress> {
        Some(self.program.progress().clone())
    }
}

/// A result of a program, as the command writes it.
fn answer(found: kahn_apps::Answer<'_>) -> Answer<'_> {
    let answer = Answer::new(found.lines);
    let files = found.files.into_iter();
    let answer = files.fold(answer, |answer, (path, lines)| answer.file(path, lines));
    found.notes.into_iter().fold(answer, |answer, (name, number)| answer.note(name, number))
}
