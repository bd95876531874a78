//! A proxy: whoever connects here talks to a server elsewhere.
//!
//! ```text
//!   door ──accepts──► connection ⇄ client
//!    ▲ │                         ⇄ server
//!    │ └──── closing ────►
//!    └────── done ───────
//! ```
//!
//! The door is a process that alternates over three things: somebody connects, a connection is done,
//! the end is wished. Each connection is a process that alternates over four: the way from client to
//! server, the way back, silence for too long, and the door's wish. A way holds one buffer; it waits
//! to receive when that is empty and to send when it is not, so a slow reader slows the writer down
//! and no memory grows. When one side has said all, the other is told, and may go on.
//!
//! Ctrl-C ends it in order: nobody is let in, what has been received is still delivered, then all
//! connections are closed. The result is what was carried.

mod way;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_io::Async;
use kahn_csp::{
    self as csp, Guard as _, OneOf3, OneOf4, Options, Receiver, Report, RunError, Sender, Shared,
};

use self::way::{Sides, Way};
use crate::{Answer, Failure, Program, Progress, Ran, Stop, Variant, failed, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run proxy 127.0.0.1:8080 example.org:80
  kahn run proxy 127.0.0.1:0 [::1]:5432 --idle 30     any free port; it says which

It goes on until Ctrl-C.";

/// What is typed after `proxy`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where to listen: an address and a port
    #[arg(value_name = "LISTEN")]
    listen: String,

    /// Whom to forward to: a name or an address, and a port
    #[arg(value_name = "TARGET")]
    target: String,

    /// Closes a connection after so many seconds in which nobody has said anything
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = whole(1..=1_000_000))]
    idle: u32,
}

/// A proxy that listens already.
#[derive(Debug)]
pub struct Proxy {
    listener: TcpListener,
    target: Vec<SocketAddr>,
    idle: Duration,
    progress: Progress,
}

/// What a proxy has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Connections that were let in.
    pub connections: u64,
    /// Those of them that broke: the server could not be reached, or a side was gone.
    pub broken: u64,
    /// Bytes from clients to servers.
    pub to_server: u64,
    /// Bytes from servers to clients.
    pub to_client: u64,
}

/// The same while it is being counted.
#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    broken: AtomicU64,
    to_server: AtomicU64,
    to_client: AtomicU64,
}

impl Counts {
    fn carried(&self) -> Carried {
        // Counted by processes that have ended: no order with anything else is needed.
        Carried {
            connections: self.connections.load(Relaxed),
            broken: self.broken.load(Relaxed),
            to_server: self.to_server.load(Relaxed),
            to_client: self.to_client.load(Relaxed),
        }
    }
}

impl Proxy {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if nobody can listen there, or the target has no address.
    pub fn listen(listen: &str, target: &str, idle: Duration) -> Result<Self, Failure> {
        let addresses = |text: &str| {
            let found =
                text.to_socket_addrs().map(Vec::from_iter).map_err(|error| error.to_string());
            found.and_then(|all| if all.is_empty() { Err("no address".into()) } else { Ok(all) })
        };
        let wrong = |what: &str, text: &str, why: &dyn std::fmt::Display| {
            Failure::input(format!("{what} {text}: {why}"))
                .with_help("expected an address and a port: `127.0.0.1:8080`, `example.org:80`")
        };
        let target_found = addresses(target).map_err(|why| wrong("TARGET", target, &why))?;
        let listen_found = addresses(listen).map_err(|why| wrong("LISTEN", listen, &why))?;
        let listener =
            TcpListener::bind(&*listen_found).map_err(|why| wrong("LISTEN", listen, &why))?;
        let progress = Progress::new("connections", None);
        Ok(Self { listener, target: target_found, idle, progress })
    }

    /// Says where it listens.
    ///
    /// # Errors
    ///
    /// Returns what the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Forwards until the end is wished.
    ///
    /// # Errors
    ///
    /// Returns why the run did not end in order.
    ///
    /// # Panics
    ///
    /// Panics if the system does not let it wait for the listening socket.
    pub fn run(&self, options: Options, stop: &Stop) -> Result<(Carried, Report), RunError> {
        let counts = Counts::default();
        let counts = &counts;
        let run = csp::run(options, async move |scope| {
            let listener = self.listener.try_clone().and_then(Async::new);
            let listener = listener.expect("a socket that listens can be waited for");
            let (done, mut left) = csp::channel::<u64>("done");
            let done = Shared::new("done", done);
            // For each connection its number, and what tells it to close by being dropped.
            let mut open: Vec<(u64, Sender<()>)> = Vec::new();
            let mut fair = csp::Fair::new();
            let mut number = 0;
            loop {
                let (came, wished) = (csp::on(listener.accept()), csp::on(stop.asked()));
                match fair.alt((came, left.recv(), wished)).await {
                    OneOf3::First(Ok((client, _from))) => {
                        number += 1;
                        let (close, closing) = csp::channel(format!("closing {number}"));
                        open.push((number, close));
                        counts.connections.fetch_add(1, Relaxed);
                        self.progress.add(1);
                        let done = done.clone();
                        scope.spawn(format!("connection {number}"), async move {
                            if self.connect(client, closing, counts).await.is_err() {
                                counts.broken.fetch_add(1, Relaxed);
                            }
                            // Nobody hears it when the door is closed.
                            let _ = done.claim().await.send(number).await;
                        });
                    }
                    // Whoever knocked has left again, or there are too many files: who is in may
                    // leave meanwhile.
                    OneOf3::First(Err(_refused)) => csp::after(BREATH).await,
                    OneOf3::Second(Ok(number)) => open.retain(|(other, _)| *other != number),
                    OneOf3::Second(Err(_)) | OneOf3::Third(()) => return,
                }
            }
        })?;
        Ok((counts.carried(), run.report))
    }

    /// Reaches the server, and carries until both sides have said all, or it takes too long, or the
    /// door closes.
    async fn connect(
        &self,
        client: Async<TcpStream>,
        mut closing: Receiver<()>,
        counts: &Counts,
    ) -> io::Result<()> {
        let reach = csp::on(self.reach());
        let server = match csp::pri((reach, csp::after(self.idle), closing.recv())).await {
            OneOf3::First(server) => server?,
            OneOf3::Second(()) => return Err(io::ErrorKind::TimedOut.into()),
            OneOf3::Third(_) => return Ok(()),
        };
        let (mut up, mut down) = (Way::new(), Way::new());
        let mut is_closing = false;
        let mut fair = csp::Fair::new();
        let mut deadline = csp::now() + self.idle;
        loop {
            if is_closing {
                up.say_no_more();
                down.say_no_more();
            }
            if up.is_over() && down.is_over() {
                return Ok(());
            }
            let there = Sides { from: &client, to: &server };
            let back = Sides { from: &server, to: &client };
            let (goes_up, goes_down) = (!up.is_over(), !down.is_over());
            let choice = (
                csp::on(up.step(there)).when(goes_up),
                csp::on(down.step(back)).when(goes_down),
                csp::until(deadline),
                closing.recv().when(!is_closing),
            );
            let (sent, count) = match fair.alt(choice).await {
                OneOf4::First(sent) => (sent?, &counts.to_server),
                OneOf4::Second(sent) => (sent?, &counts.to_client),
                // Nobody has said anything for long: that is an end like any other.
                OneOf4::Third(()) => return Ok(()),
                OneOf4::Fourth(_closed) => {
                    is_closing = true;
                    continue;
                }
            };
            count.fetch_add(sent, Relaxed);
            deadline = csp::now() + self.idle;
        }
    }

    /// Connects to the first address of the target that answers.
    async fn reach(&self) -> io::Result<Async<TcpStream>> {
        let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for &address in &self.target {
            match Async::<TcpStream>::connect(address).await {
                Ok(server) => return Ok(server),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
}

/// How long the door waits after somebody could not be let in.
const BREATH: Duration = Duration::from_millis(10);

impl Program for Proxy {
    fn communicate(
        &self,
        _variant: Variant,
        options: Options,
        stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        let (carried, report) = self.run(options, stop).map_err(failed)?;
        let answer = Answer::new(move |out| {
            let Carried { connections, broken, to_server, to_client } = carried;
            writeln!(
                out,
                "{connections} connections ({broken} broken), {to_server} bytes to the server, \
                 {to_client} bytes back"
            )
        });
        Ok(Ran { answer, report: Some(report) })
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Err(Failure::input("this program has no variant `sequential`"))
    }

    fn announcement(&self) -> Option<String> {
        let address = self.address().ok()?;
        Some(format!("listening on {address}; press Ctrl-C to end"))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Makes the program from what was typed.
///
/// # Errors
///
/// As for [`Proxy::listen`].
pub fn prepare(arguments: &Arguments) -> Result<Proxy, Failure> {
    let Arguments { listen, target, idle } = arguments;
    Proxy::listen(listen, target, Duration::from_secs((*idle).into()))
}
