//! A run as a page, for browsers and for Prometheus.
//!
//! | file | what |
//! |---|---|
//! | `door` | which requests are let in: methods, hosts, the token |
//! | `graph` | the network as a picture, whose boxes are coloured by what their processes do |
//! | `metrics` | the same figures as Prometheus' text |
//! | `routes` | what is at which address |
//!
//! Only what a run does is shown, by names and counts: what is in messages is not known here. Nothing can be
//! changed. The page needs no other network: its parts are in the program.

mod door;
mod graph;
mod metrics;
mod routes;
#[cfg(test)]
mod tests;

use self::door::Door;
use self::routes::Shared;
use kahn_observe::sample::Watch;
use kahn_report::observe::Sampled;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

/// How often a page changes.
const EVERY: Duration = Duration::from_millis(250);

/// How long a connection may take nothing that is sent to it: then it is closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a run is not served.
///
/// # Examples
///
/// ```
/// use kahn_live::{Refused, Server};
///
/// let network = kahn::Network::new();
/// let refused = Server::start(network.stop_handle(), "0.0.0.0:0", true).expect_err("it is every address");
/// assert!(matches!(refused, Refused::Unspecified));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The text is no address with a port, or there is none of this name.
    Address(io::Error),
    /// It stands for all addresses of the machine: which one is typed in a browser must be known.
    Unspecified,
    /// Other machines reach this address, and no token is asked for.
    WithoutToken,
    /// The system refuses the address, a thread or random numbers.
    System(io::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => write!(f, "expected an address and a port: {error}"),
            Self::Unspecified => f.write_str(
                "it stands for every address of this machine: name the one that is typed",
            ),
            Self::WithoutToken => f.write_str(
                "other machines reach this address: what is shown there asks for a token",
            ),
            Self::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

impl std::error::Error for Refused {}

/// A run that is served by HTTP while this lives.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_live::Server;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1000_u32);
/// network.for_each("ignore", numbers, |_| {});
/// let server = Server::start(network.stop_handle(), "127.0.0.1:0", false)?;
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// network.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is served as long as this lives"]
pub struct Server {
    address: SocketAddr,
    token: Option<String>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    watch: Option<Watch>,
}

impl Server {
    /// Serves a run that is to begin, at an address like `127.0.0.1:8080`; the system chooses for port 0.
    ///
    /// With a token, a request is answered only if it has it: [`url`](Self::url) contains it.
    ///
    /// # Examples
    ///
    /// ```
    /// let network = kahn::Network::new();
    /// let server = kahn_live::Server::start(network.stop_handle(), "[::1]:0", true)?;
    /// assert!(server.url().contains("/?token="));
    /// # Ok::<(), kahn_live::Refused>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong with the address, that another machine may only be served with a token, or what the
    /// system refuses.
    pub fn start(
        run: impl Sampled + 'static,
        address: &str,
        with_token: bool,
    ) -> Result<Self, Refused> {
        let mut addresses = address.to_socket_addrs().map_err(Refused::Address)?;
        let asked = addresses.next().ok_or_else(|| {
            Refused::Address(io::Error::new(io::ErrorKind::NotFound, "there is none of this name"))
        })?;
        if asked.ip().is_unspecified() {
            return Err(Refused::Unspecified);
        }
        if !with_token && !asked.ip().is_loopback() {
            return Err(Refused::WithoutToken);
        }
        let token = if with_token { Some(random().map_err(Refused::System)?) } else { None };
        let listener = TcpListener::bind(asked).map_err(Refused::System)?;
        let address_ = listener.local_addr().map_err(Refused::System)?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let door = Door::new(host, address_, token.clone());
        let run: Arc<dyn Sampled> = Arc::new(run);
        let shared = Arc::new(Shared::new(Arc::clone(&run)));
        let shown = Arc::clone(&shared);
        let watch = Watch::start(run, EVERY, move |view| shown.show(view));
        let watch = watch.map_err(Refused::System)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Refused::System)?;
        listener.set_nonblocking(true).map_err(Refused::System)?;
        let (end, ended) = oneshot::channel();
        let serve =
            move || runtime.block_on(routes::serve(listener, shared, door, PATIENCE, ended));
        let thread = thread::Builder::new().name("page".to_owned()).spawn(serve);
        let thread = thread.map_err(Refused::System)?;
        let watch = Some(watch);
        Ok(Self { address: address_, token, end: Some(end), thread: Some(thread), watch })
    }

    /// Returns what is to be opened in a browser, with the token if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// let network = kahn::Network::new();
    /// let server = kahn_live::Server::start(network.stop_handle(), "localhost:0", false)?;
    /// assert!(server.url().starts_with("http://"));
    /// # Ok::<(), kahn_live::Refused>(())
    /// ```
    pub fn url(&self) -> String {
        let token = self.token.as_ref().map_or(String::new(), |token| format!("?token={token}"));
        format!("http://{}/{token}", self.address)
    }

    /// Returns whether other machines may reach it.
    ///
    /// # Examples
    ///
    /// ```
    /// let network = kahn::Network::new();
    /// let server = kahn_live::Server::start(network.stop_handle(), "localhost:0", false)?;
    /// assert!(!server.is_reached_by_others());
    /// # Ok::<(), kahn_live::Refused>(())
    /// ```
    pub fn is_reached_by_others(&self) -> bool {
        !is_of_this_machine(self.address.ip())
    }
}

fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback()
}

/// 128 random bits, which cannot be guessed.
fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

impl Drop for Server {
    /// Ends all streams.
    fn drop(&mut self) {
        self.watch.take();
        // It may have ended by itself.
        let _ = self.end.take().map(|end| end.send(()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
