//! A service: connections ask a network, which answers by as many workers as are free.
//!
//! ```text
//!   connection ─┐
//!   connection ─┼─ requests ──► reverse (4 at once) ──► answers
//!   connection ─┘      ◄─────────────────────────────────┘
//! ```
//!
//! Each connection has a thread of its own, which waits for its next line and for its answer. All who ask
//! are one process of the network. It ends when the last of them is gone. Lines have a written form, so what clients said
//! can be recorded.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Channel, Ended, Network, Report, Requests, RunError, process};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Reverses lines; returned is what connections ask by.
pub(crate) fn service(network: &mut Network<'_>) -> Requests<String, String> {
    let lines = Channel::named("lines").wire_with(
        |line: &String, bytes| bytes.extend_from_slice(line.as_bytes()),
        |bytes| Ok(String::from_utf8(bytes.to_vec())?),
    );
    let (requests, lines, answers) = network.requests_with("connections", lines, "answers");
    let reversed = network.ordered_map("reverse", lines, 4, 64, |line: String| {
        line.chars().rev().chain(['\n']).collect()
    });
    network.process("answer", (reversed, answers), process::forward);
    requests
}

fn serve(connection: TcpStream, requests: &Requests<String, String>) -> io::Result<()> {
    let mut out = connection.try_clone()?;
    for line in BufReader::new(connection).lines() {
        let answer =
            requests.ask_blocking(line?).map_err(|ended: Ended| io::Error::other(ended))?;
        out.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// What a client hears that says a line.
fn say(line: &str, to: SocketAddr) -> io::Result<String> {
    let mut connection = TcpStream::connect(to)?;
    writeln!(connection, "{line}")?;
    let mut answer = String::new();
    BufReader::new(connection).read_line(&mut answer)?;
    Ok(answer)
}

/// Serves clients that say a line each; returns what they hear.
pub(crate) fn talk<'a>(
    lines: &[&'a str],
    run: impl FnOnce(Network<'a>) -> Result<Report, RunError>,
) -> io::Result<Vec<String>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut network = Network::new();
    let requests = service(&mut network);
    thread::scope(|scope| {
        scope.spawn(move || {
            for connection in listener.incoming().take(lines.len()).flatten() {
                let requests = requests.clone();
                scope.spawn(move || serve(connection, &requests));
            }
        });
        let clients = lines.iter().map(|line| scope.spawn(move || say(line, address)));
        let clients: Vec<_> = clients.collect();
        run(network).map_err(io::Error::other)?;
        clients.into_iter().map(|client| client.join().expect("a client does not panic")).collect()
    })
}

fn main() -> io::Result<()> {
    for answer in talk(&["stressed", "drawer"], Network::run)? {
        print!("{answer}");
    }
    Ok(())
}

#[test]
fn each_client_hears_its_own_line() -> io::Result<()> {
    assert_eq!(talk(&["stressed", "drawer"], Network::run)?, ["desserts\n", "reward\n"]);
    Ok(())
}
