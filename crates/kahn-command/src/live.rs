//! `--live` and `--serve`: what a run does while it does it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use kahn_observe::sample::Watch;

use crate::{Failure, Interrupt, messages};

/// How often a line is written.
const EVERY: Duration = Duration::from_millis(200);

/// What is typed to see a run while it goes on.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LiveArguments {
    /// Shows on standard error, while it runs, what each process does and waits for
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "screen"
    )]
    live: Option<LiveForm>,

    /// Serves the same as a page at ADDR, such as 127.0.0.1:8080; the system chooses for port 0
    #[cfg(feature = "live")]
    #[arg(long, value_name = "ADDR")]
    serve: Option<String>,

    /// Answers only who has the token that is printed once; needed where other machines reach ADDR
    #[cfg(feature = "live")]
    #[arg(long, requires = "serve")]
    serve_token: bool,
}

/// How it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LiveForm {
    /// For a person, at a terminal
    Screen,
    /// For a script: an object a line, five a second
    Json,
}

impl LiveArguments {
    /// The options that show a run, and whether each was typed.
    pub(crate) fn typed(&self) -> [(&'static str, bool); 2] {
        #[cfg(feature = "live")]
        let is_served = self.serve.is_some();
        #[cfg(not(feature = "live"))]
        let is_served = false;
        [("--live", self.live.is_some()), ("--serve", is_served)]
    }

    /// Whether a run is shown.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.typed().iter().any(|(_, is_typed)| *is_typed)
    }

    /// Starts to show what runs under this name: now, or when it has begun.
    pub(crate) fn start(&self, name: &str, interrupt: &Interrupt) -> Result<Live, Failure> {
        let mut live = Live::default();
        #[cfg(feature = "live")]
        if let Some(address) = &self.serve {
            live.server = Some(served(address, self.serve_token, interrupt)?);
        }
        match self.live {
            None => {}
            Some(LiveForm::Json) => live.lines = Some(lines(interrupt)?),
            Some(LiveForm::Screen) => on_screen(&mut live, name, interrupt)?,
        }
        Ok(live)
    }
}

#[cfg(not(feature = "live"))]
fn on_screen(_: &mut Live, _: &str, _: &Interrupt) -> Result<(), Failure> {
    let what = "this command was built without what `--live` shows on a terminal";
    let help = "`--live=json` writes lines; the feature `live` of the command has both";
    Err(Failure::input(what).with_help(help))
}

#[cfg(feature = "live")]
fn on_screen(live: &mut Live, name: &str, interrupt: &Interrupt) -> Result<(), Failure> {
    if !kahn_live::Screen::is_possible() {
        messages::note(
            "--live shows nothing: standard error or standard input is no terminal; `--live=json` writes \
             lines",
        );
        return Ok(());
    }
    let pressed = interrupt.clone();
    let screen = kahn_live::Screen::start(name, interrupt.clone(), move || pressed.pressed());
    live.screen = Some(screen.map_err(|error| failed("--live", error))?);
    Ok(())
}

#[cfg(feature = "live")]
fn served(
    address: &str,
    with_token: bool,
    interrupt: &Interrupt,
) -> Result<kahn_live::Server, Failure> {
    use kahn_live::{Refused, Server};

    let server = Server::start(interrupt.clone(), address, with_token).map_err(|refused| {
        let failure = Failure::input(format!("--serve {address}: {refused}"));
        match refused {
            Refused::Address(_) => {
                failure.with_help("`--serve 127.0.0.1:0`: the system chooses a port")
            }
            Refused::WithoutToken => {
                failure.with_help("add --serve-token, or serve 127.0.0.1 alone")
            }
            _ => failure,
        }
    })?;
    if server.is_reached_by_others() {
        messages::note(
            "warning: other machines reach this page; who reads what they send sees the token, too, for it is \
             not encrypted",
        );
    }
    messages::note(format_args!("live at {}", server.url()));
    Ok(server)
}

fn failed(option: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Run { error: format!("{option}: {error}").into(), report: None }
}

/// Writes a view a line.
fn lines(interrupt: &Interrupt) -> Result<Watch, Failure> {
    let watch = Watch::start(interrupt.clone(), EVERY, |view| match serde_json::to_string(&view) {
        Ok(line) => messages::say(line),
        Err(error) => messages::note(format_args!("a view cannot be written: {error}")),
    });
    watch.map_err(|error| failed("--live", error))
}

/// A run that is shown while this lives.
#[derive(Default)]
pub(crate) struct Live {
    lines: Option<Watch>,
    #[cfg(feature = "live")]
    screen: Option<kahn_live::Screen>,
    #[cfg(feature = "live")]
    server: Option<kahn_live::Server>,
}

impl Live {
    /// Whether no other progress is to be shown.
    pub(crate) fn is_shown(&self) -> bool {
        #[cfg(feature = "live")]
        let is_on_screen = self.screen.is_some();
        #[cfg(not(feature = "live"))]
        let is_on_screen = false;
        self.lines.is_some() || is_on_screen
    }
}

/// Gives the terminal back before the command ends without a destructor, or says something.
pub(crate) fn leave_screen() {
    #[cfg(feature = "live")]
    kahn_live::leave();
}
