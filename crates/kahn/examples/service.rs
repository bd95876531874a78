//! A service: connections ask a network, which answers by as many workers as are free.
//!
//! ```text
//!   connection ─┐
//!   connection ─┼─ requests ──► reverse (4 at once) ──► answers
//!   connection ─┘      ◄─────────────────────────────────┘
//! ```
//!
//! Each connection has a thread of its own, which waits for its next line and for its answer. All who ask
//! are one process of the network. It ends when the last of them is gone.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Ended, Network, Requests, process};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

fn service() -> (Network<'static>, Requests<String, String>) {
    let mut network = Network::new();
    let (requests, lines, answers) = network.requests("connections", 64);
    let reversed = network.ordered_map("reverse", lines, 4, 64, |line: String| {
        line.chars().rev().chain(['\n']).collect()
    });
    network.process("answer", (reversed, answers), process::forward);
    (network, requests)
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

/// Serves two clients that say a line each.
fn talk() -> io::Result<[String; 2]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (network, requests) = service();
    thread::scope(|scope| {
        scope.spawn(move || {
            for connection in listener.incoming().take(2).flatten() {
                let requests = requests.clone();
                scope.spawn(move || serve(connection, &requests));
            }
        });
        let clients = ["stressed", "drawer"].map(|line| scope.spawn(move || say(line, address)));
        network.run().map_err(io::Error::other)?;
        let [first, second] = clients.map(|client| client.join().expect("a client does not panic"));
        Ok([first?, second?])
    })
}

fn main() -> io::Result<()> {
    for answer in talk()? {
        print!("{answer}");
    }
    Ok(())
}

#[test]
fn each_client_hears_its_own_line() -> io::Result<()> {
    assert_eq!(talk()?, ["desserts\n", "reward\n"]);
    Ok(())
}
