//! What the options of a run get from here: it is shown while it runs.

use crate::page::{Refused, Server};
use crate::terminal::Screen;
use kahn_report::Report;
use kahn_report::observe::{Observable, Observer, Sampled, Wants};
use parking_lot::Mutex;
use std::sync::Arc;

/// Has a run shown while it goes on, by its options: those of networks, and of communicating processes.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_live::Live as _;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1_000_u64);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let options = Options::new().live("adds up").serve("127.0.0.1:0", |url| println!("live at {url}"));
/// network.run_with(options)?;
/// assert_eq!(sum.take(), Some(499_500));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Live: Observable {
    /// Shows the run on the terminal, under this title: `q` and Ctrl-C stop it.
    ///
    /// Where standard error or standard input is no terminal nothing is shown, and a
    /// [warning](kahn_report::Report::warnings) of the report says so. A terminal that fails refuses the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    /// use kahn_live::{Live as _, Screen};
    ///
    /// let run = csp::run(csp::Options::new().live("nothing"), async |_scope| ())?;
    /// assert_eq!(run.report.warnings.is_empty(), Screen::is_possible());
    /// # Ok::<(), csp::RunError>(())
    /// ```
    #[must_use]
    fn live(self, title: impl Into<String>) -> Self {
        let (title, screen) = (title.into(), Mutex::new(None));
        self.observed_by(Arc::new(OnScreen { title, screen }))
    }

    /// Serves the run as a page at an address like `127.0.0.1:8080`, and tells what is to be opened in a browser; the
    /// system chooses for port 0. See [`Server`].
    ///
    /// At an address that other machines reach a request is answered only if it has a token, which is a part of what is
    /// told. An address that cannot be served refuses the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options, RunError};
    /// use kahn_live::Live as _;
    ///
    /// let mut network = Network::new();
    /// network.process("nothing", (), async |()| {});
    /// let error = network.run_with(Options::new().serve("localhost", |_| {}));
    /// let Err(RunError::Refused(why)) = error else { panic!("it is not served") };
    /// assert!(why.starts_with("localhost: expected an address and a port"), "{why}");
    /// ```
    #[must_use]
    fn serve(
        self,
        address: impl Into<String>,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let (address, server) = (address.into(), Mutex::new(None));
        self.observed_by(Arc::new(Served { address, tell: Box::new(tell), server }))
    }
}

impl<O: Observable> Live for O {}

/// Shows a run on the terminal.
struct OnScreen {
    title: String,
    /// While the run goes on, if there is a terminal.
    screen: Mutex<Option<Screen>>,
}

impl Observer for OnScreen {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn begins(
        &self,
        run: &Arc<dyn Sampled>,
        stop: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(), String> {
        if Screen::is_possible() {
            let stop = Arc::clone(stop);
            let screen = Screen::start(&*self.title, Arc::clone(run), move || stop());
            *self.screen.lock() =
                Some(screen.map_err(|error| format!("the run is not shown: {error}"))?);
        }
        Ok(())
    }

    fn reports(&self, _: &Report) -> Vec<String> {
        let is_shown = self.screen.lock().take().is_some();
        let why = "the run was not shown: standard error or standard input is no terminal";
        (!is_shown).then(|| why.to_owned()).into_iter().collect()
    }
}

/// Serves a run as a page.
struct Served {
    address: String,
    tell: Box<dyn Fn(&str) + Send + Sync>,
    /// While the run goes on.
    server: Mutex<Option<Server>>,
}

impl Observer for Served {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn begins(
        &self,
        run: &Arc<dyn Sampled>,
        _: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(), String> {
        let start = |with_token| Server::start(Arc::clone(run), &self.address, with_token);
        let server = start(false).or_else(|refused| match refused {
            Refused::WithoutToken => start(true),
            refused => Err(refused),
        });
        let server = server.map_err(|refused| format!("{}: {refused}", self.address))?;
        (self.tell)(&server.url());
        *self.server.lock() = Some(server);
        Ok(())
    }

    fn reports(&self, _: &Report) -> Vec<String> {
        self.server.lock().take();
        Vec::new()
    }
}
