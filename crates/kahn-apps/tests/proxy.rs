//! The proxy, between clients and servers on this machine.
#![expect(clippy::unwrap_used, reason = "a test that is refused a socket has failed")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{Scope, scope};
use std::time::Duration;

use kahn_apps::Stop;
use kahn_apps::proxy::{Carried, Proxy};
use kahn_csp::Options;

/// Long enough for any machine: where it counts that nothing is closed by time.
const LONG: Duration = Duration::from_hours(1);

/// Accepts so many clients; sends back what each says, until it has said all.
fn echo<'scope>(scope: &'scope Scope<'scope, '_>, clients: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    scope.spawn(move || {
        for _ in 0..clients {
            let (mut client, _) = listener.accept().unwrap();
            scope.spawn(move || {
                let mut reader = client.try_clone().unwrap();
                // A client that leaves in between is no failure here.
                let _ = std::io::copy(&mut reader, &mut client);
                let _ = client.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

/// Runs a proxy to `target` while `clients` do what they do with its address, then ends it.
fn with_proxy(
    target: SocketAddr,
    idle: Duration,
    workers: usize,
    clients: impl FnOnce(SocketAddr),
) -> Carried {
    let proxy = Proxy::listen("127.0.0.1:0", &target.to_string(), idle).unwrap();
    let stop = Stop::new();
    scope(|scope| {
        let carried = scope.spawn(|| proxy.run(Options::new().workers(workers), &stop).unwrap().0);
        clients(proxy.address().unwrap());
        stop.ask();
        carried.join().unwrap()
    })
}

/// Says `bytes` and that it is all; returns what comes back.
fn say(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).unwrap();
    let mut writer = socket.try_clone().unwrap();
    scope(|scope| {
        scope.spawn(move || {
            writer.write_all(bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        socket.read_to_end(&mut back).unwrap();
        back
    })
}

#[test]
fn what_many_clients_say_comes_back_whole() {
    const CLIENTS: usize = 40;
    for workers in [1, 2] {
        let carried = scope(|servers| {
            with_proxy(echo(servers, CLIENTS), LONG, workers, |address| {
                scope(|clients| {
                    for client in 0..CLIENTS {
                        clients.spawn(move || {
                            // More than all buffers on the way hold, for some of them.
                            let size = if client % 10 == 0 { 3_000_000 } else { client * 1000 };
                            let bytes: Vec<u8> = (0..size)
                                .map(|n| u8::try_from((n + client) % 251).unwrap())
                                .collect();
                            assert!(say(address, &bytes) == bytes, "client {client}");
                        });
                    }
                });
            })
        });
        let bytes: u64 =
            (0..40).map(|client| if client % 10 == 0 { 3_000_000 } else { client * 1000 }).sum();
        let expected = Carried { connections: 40, broken: 0, to_server: bytes, to_client: bytes };
        assert_eq!(carried, expected);
    }
}

#[test]
fn connections_that_are_open_are_closed_when_the_end_is_wished() {
    scope(|servers| {
        let mut open = None;
        let carried = with_proxy(echo(servers, 1), LONG, 2, |address| {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.write_all(b"hello").unwrap();
            let mut back = [0; 5];
            socket.read_exact(&mut back).unwrap();
            assert_eq!(&back, b"hello");
            open = Some(socket);
        });
        assert_eq!((carried.connections, carried.to_server, carried.to_client), (1, 5, 5));
        let mut rest = Vec::new();
        open.unwrap().read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty());
    });
}

/// To reach the server must not take longer than that, either, and beside other work it may: then once more, with
/// more time.
#[test]
fn a_connection_in_which_nothing_is_said_for_too_long_is_closed() {
    let is_closed_in_order = |idle| {
        scope(|servers| {
            let carried = with_proxy(echo(servers, 1), idle, 2, |address| {
                let mut rest = Vec::new();
                TcpStream::connect(address).unwrap().read_to_end(&mut rest).unwrap();
                assert!(rest.is_empty());
            });
            assert_eq!((carried.connections, carried.to_client), (1, 0));
            carried.broken == 0
        })
    };
    let times = [20, 200, 2_000, 20_000].map(Duration::from_millis);
    assert!(times.into_iter().any(is_closed_in_order), "none was closed in order");
}

#[test]
fn a_server_that_is_not_there_is_a_broken_connection_and_no_more() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let carried = with_proxy(target, LONG, 2, |address| {
        for _ in 0..3 {
            let mut rest = Vec::new();
            let mut socket = TcpStream::connect(address).unwrap();
            // Closed, or reset.
            let _ = socket.read_to_end(&mut rest);
            assert!(rest.is_empty());
        }
    });
    assert_eq!((carried.connections, carried.broken), (3, 3));
}

#[test]
fn addresses_that_are_none_are_refused_before_anything_runs() {
    for (listen, target) in [("nothing", "127.0.0.1:1"), ("127.0.0.1:0", "127.0.0.1")] {
        let refused = Proxy::listen(listen, target, LONG).unwrap_err().to_string();
        assert!(
            refused.contains(if listen == "nothing" { "LISTEN" } else { "TARGET" }),
            "{refused}"
        );
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    assert!(Proxy::listen(&listen, "127.0.0.1:1", LONG).is_err());
}
