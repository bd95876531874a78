//! The page over real sockets.

use super::door::Door;
use super::routes::{STREAMS, Shared, serve};
use super::*;
use crate::limit::tests::view;
use crate::options::Live as _;
use kahn::{Network, Options, Receiver, RunError, Sender, StopHandle};
use kahn_csp as csp;
use kahn_observe::sample::MOST;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Instant;

/// A server that shows a view which no run made.
struct Served {
    address: SocketAddr,
    shared: Arc<Shared>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn new(token: Option<&str>, host: &str, patience: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("it is a socket");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared::new(Arc::new(ended_run())));
        shared.show(view());
        let (door, served) =
            (Door::new(host, address, token.map(str::to_owned)), Arc::clone(&shared));
        let (end, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the system allows it");
        let thread = thread::Builder::new().spawn(move || {
            runtime.block_on(serve(listener, served, door, patience, ended));
        });
        let thread = thread.expect("a thread starts");
        Self { address, shared, end: Some(end), thread: Some(thread) }
    }

    fn plain() -> Self {
        Self::new(None, "127.0.0.1", PATIENCE)
    }

    fn open(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        // What is never answered fails a test, and holds it up for no longer.
        stream.set_read_timeout(Some(PATIENCE)).expect("it is longer than nothing");
        stream.write_all(request.as_bytes()).expect("it takes it");
        stream
    }

    /// The answer to a request with these lines of its head.
    fn ask(&self, line: &str, head: &str) -> String {
        let mut answer = String::new();
        let request = format!("{line} HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
        self.open(&request).read_to_string(&mut answer).expect("it is text");
        answer
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path}"), "Host: localhost\r\n")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.end.take().map(|end| end.send(()));
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

fn ended_run() -> StopHandle {
    Network::new().stop_handle()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

const PATHS: [&str; 8] =
    ["/", "/page.js", "/style.css", "/graph", "/explain", "/report.json", "/metrics", "/events"];

#[test]
fn every_answer_forbids_what_is_not_served_here_and_no_other_site_may_read_it() {
    let served = Served::plain();
    for path in &PATHS[..7] {
        let answer = served.get(path);
        assert_eq!(status(&answer), "200", "{path}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let head = head.to_ascii_lowercase();
        assert!(head.contains("content-security-policy: default-src 'self'"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
        assert!(!head.contains("access-control"), "{head}");
        assert!(!body.is_empty() || *path == "/explain", "{path}");
        assert!(!body.contains("http://") || *path == "/graph" || *path == "/page.js", "{path}");
    }
    assert_eq!(status(&served.get("/nothing")), "404");
}

#[test]
fn nothing_can_be_changed() {
    let served = Served::plain();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
        let answer = served.ask(&format!("{method} /report.json"), "Host: localhost\r\n");
        assert!(["405", "400"].contains(&status(&answer)), "{method}: {answer}");
    }
    assert_eq!(status(&served.ask("HEAD /metrics", "Host: localhost\r\n")), "200");
}

#[test]
fn a_host_that_is_not_ours_is_refused() {
    let served = Served::new(None, "Machine.example", PATIENCE);
    let port = served.address.port();
    for host in
        ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:1", "[::1]:8080", "machine.example"]
    {
        let answer = served.ask("GET /", &format!("Host: {host}\r\n"));
        assert_eq!(status(&answer), "200", "{host}: {answer}");
    }
    assert_eq!(status(&served.ask("GET /", &format!("Host: localhost:{port}\r\n"))), "200");
    let others = [
        "Host: evil.example\r\n",
        "Host: localhost.evil.example\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
        "Host: 192.168.0.1\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: \r\n",
        "",
    ];
    for head in others {
        for path in PATHS {
            let answer = served.ask(&format!("GET {path}"), head);
            assert!(["403", "400"].contains(&status(&answer)), "{head}{path}: {answer}");
            assert!(!answer.contains("compress"), "nothing is told");
        }
    }
}

#[test]
fn with_a_token_nothing_is_told_without_it() {
    let served = Served::new(Some("0123456789abcdef"), "127.0.0.1", PATIENCE);
    let port = served.address.port();
    let host = "Host: localhost\r\n";
    for path in PATHS {
        for (query, head) in [
            ("", String::new()),
            ("?token=0123456789abcdee", String::new()),
            ("?token=", String::new()),
            ("?other=0123456789abcdef", String::new()),
            ("", "Authorization: Bearer 0123456789abcde\r\n".to_owned()),
            ("", format!("Cookie: kahn-{}=0123456789abcdef\r\n", port ^ 1)),
        ] {
            let answer = served.ask(&format!("GET {path}{query}"), &format!("{host}{head}"));
            assert_eq!(status(&answer), "401", "{path}{query} {head}: {answer}");
        }
    }
    let answer = served.get("/?token=0123456789abcdef");
    let cookie =
        format!("set-cookie: kahn-{port}=0123456789abcdef; HttpOnly; SameSite=Strict; Path=/");
    assert!(status(&answer) == "200" && answer.contains(&cookie), "{answer}");
    let with_cookie = format!("{host}Cookie: a=b; kahn-{port}=0123456789abcdef\r\n");
    assert_eq!(status(&served.ask("GET /page.js", &with_cookie)), "200");
    let bearer = format!("{host}Authorization: Bearer 0123456789abcdef\r\n");
    assert_eq!(status(&served.ask("GET /metrics", &bearer)), "200");
}

#[test]
fn the_last_view_is_there_as_json_as_a_picture_and_for_prometheus() {
    let served = Served::plain();
    let answer = served.get("/report.json");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    let report: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(report["processes"][1]["name"], "compress");
    assert_eq!(report["processes"][1]["id"], "0000000000000002");
    assert_eq!(report["rings"][0][0]["channel"], "egg");
    assert!(served.get("/graph").contains(">compress<"));
    assert!(served.get("/metrics").contains("kahn_processes 5\n"));
}

/// The next event of a stream.
fn next_event(stream: &mut TcpStream, read: &mut String) -> serde_json::Value {
    let mut bytes = [0; 4096];
    loop {
        if let Some(at) = read.find("data: ")
            && let Some(length) = read[at..].find("\n\n")
        {
            let event = read[at + 6..at + length].to_owned();
            read.drain(..at + length + 2);
            return serde_json::from_str(&event).expect("JSON");
        }
        let count = stream.read(&mut bytes).expect("it is open");
        assert!(count > 0, "the stream has ended: {read}");
        read.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

#[test]
fn events_come_at_once_and_whenever_there_is_a_view_and_colour_the_boxes_of_the_picture() {
    let served = Served::plain();
    let mut stream = served.open("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut read = String::new();
    let first = next_event(&mut stream, &mut read);
    assert_eq!(first["processes"][0]["name"], "chicken", "what is stuck comes first");
    assert_eq!(first["processes"][1]["limit"], "its own work");
    assert_eq!(first["rings"][0], "a ring: `chicken` waits at `egg` (empty)");
    let channel = &first["channels"][0];
    assert_eq!((&channel["sender"], &channel["receiver"]), (&"read".into(), &"compress".into()));
    assert_eq!((&first["stuck"], &first["boxes"]), (&1.into(), &serde_json::Value::Null));
    // Now there is a picture, and the events tell of its boxes.
    let picture = served.get("/graph");
    served.shared.show(view());
    let second = next_event(&mut stream, &mut read);
    assert_eq!(second["graph"], first["graph"]);
    let boxes = second["boxes"].as_array().expect("a list").len();
    assert_eq!(boxes, picture.matches("class=\"box").count());
}

#[test]
fn there_are_sixteen_streams_at_most_and_one_that_ends_makes_room() {
    let served = Served::plain();
    let open = || {
        let mut stream = served.open("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        next_event(&mut stream, &mut String::new());
        stream
    };
    let mut streams: Vec<_> = (0..STREAMS).map(|_| open()).collect();
    assert_eq!(status(&served.get("/events")), "503");
    assert_eq!(status(&served.get("/report.json")), "200", "all else is answered");
    streams.pop();
    // The end of a stream is seen when something is sent.
    while served.shared.streams_left() == 0 {
        served.shared.show(view());
        thread::yield_now();
    }
    open();
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "one that is never cut fails the test and holds up no other"
)]
fn a_stream_that_takes_nothing_is_cut() {
    let served = Served::new(None, "127.0.0.1", Duration::from_millis(50));
    let mut stream = served.open("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    next_event(&mut stream, &mut String::new());
    // Fewer than it may be behind, and more than the system takes.
    let event = format!("\"{}\"", "x".repeat(16 << 20));
    for _ in 0..4 {
        served.shared.tell(&event);
    }
    let since = Instant::now();
    while served.shared.streams_left() < STREAMS {
        assert!(since.elapsed() < 3 * PATIENCE, "it is still there");
        thread::yield_now();
    }
}

#[test]
fn a_real_run_is_served_from_its_beginning_to_its_end() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0_u64..);
    network.for_each("ignore", numbers, |_| {});
    let stop = network.stop_handle();
    let server = Server::start(network.stop_handle(), "127.0.0.1:0", false).expect("it is free");
    let run = thread::Builder::new().spawn(move || network.run().map(drop));
    let run = run.expect("a thread starts");
    let report = || {
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        let request = "GET /report.json HTTP/1.0\r\nHost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it takes it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is text");
        answer
    };
    while !report().contains("\"name\":\"ignore\"") {
        thread::yield_now();
    }
    // A stream that is open does not hold its end up.
    let address = server.address;
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).expect("it takes it");
    next_event(&mut stream, &mut String::new());
    stop.stop();
    assert!(run.join().expect("it does not panic").is_err());
    drop(server);
    assert!(TcpStream::connect(address).is_err(), "nothing listens");
}

/// Runs something with a page that its options ask for, and asks for the page until a process of this name is seen;
/// `stop` ends the run. Returns what was run when nothing listens any more.
fn seen_by_options<R: Send + 'static>(
    name: &str,
    run: impl FnOnce(Box<dyn Fn(&str) + Send + Sync>) -> R + Send + 'static,
    stop: impl FnOnce(),
) -> R {
    let (tell, told) = mpsc::channel::<String>();
    let tell = Box::new(move |url: &str| drop(tell.send(url.to_owned())));
    let run = thread::Builder::new().spawn(move || run(tell)).expect("a thread starts");
    let url = told.recv().expect("it is told");
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let report = || {
        let mut answer = String::new();
        let mut stream = TcpStream::connect(&*address).expect("it listens");
        let request = b"GET /report.json HTTP/1.0\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).expect("it takes it");
        stream.read_to_string(&mut answer).expect("it is text");
        answer
    };
    let name = format!("\"name\":\"{name}\"");
    while !report().contains(&name) {
        thread::yield_now();
    }
    stop();
    let ended = run.join().expect("it does not panic");
    assert!(TcpStream::connect(&*address).is_err(), "nothing listens");
    ended
}

#[test]
fn a_network_is_served_by_its_options_from_its_beginning_to_its_end() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0_u64..);
    network.for_each("ignore", numbers, |_| {});
    let stop = network.stop_handle();
    let run = move |tell: Box<dyn Fn(&str) + Send + Sync>| {
        // These options outlive the run, and what they ask for does not.
        let options = Options::new().serve("127.0.0.1:0", tell);
        (network.run_with(options.clone()).map(drop), options)
    };
    assert!(seen_by_options("ignore", run, || stop.stop()).0.is_err());
}

#[test]
fn communicating_processes_are_served_by_their_options() {
    let handle = csp::Handle::new();
    let stop = handle.clone();
    let run = move |tell: Box<dyn Fn(&str) + Send + Sync>| {
        let options = csp::Options::new().serve("127.0.0.1:0", tell);
        let ended = handle.run(options.clone(), async |scope| {
            let (_out, mut silent) = csp::channel::<u32>("silent");
            scope.spawn("listener", async move { silent.recv().await.map(drop) });
            while !csp::handle().is_ending() {
                csp::yield_now().await;
            }
        });
        (ended.map(drop), options)
    };
    assert!(seen_by_options("listener", run, || stop.stop()).0.is_err());
}

/// Two processes of which each waits for what the other sends first.
fn add_ring(network: &mut Network<'_>) {
    let (lay, eggs) = network.channel::<u64>("eggs");
    let (hatch, chicks) = network.channel::<u64>("chicks");
    network.process("hen", (chicks, lay), forward);
    network.process("egg", (eggs, hatch), forward);
}

async fn forward((mut from, mut to): (Receiver<u64>, Sender<u64>)) {
    while let Some(message) = from.recv().await {
        to.send(message).await;
    }
}

/// Runs a network with a ring beside it until an event of its page will do.
fn with_ring(
    mut network: Network<'static>,
    mut will_do: impl FnMut(&serde_json::Value) -> bool,
) -> serde_json::Value {
    let stop = network.stop_handle();
    let (out, typed) = network.channel::<u64>("lines");
    let party = network.outside("typed", out);
    network.for_each("ignore", typed, |_| {});
    add_ring(&mut network);
    let server = Server::start(network.stop_handle(), "127.0.0.1:0", false).expect("it is free");
    let run = thread::Builder::new().spawn(move || network.run().map(drop));
    let run = run.expect("a thread starts");
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).expect("it takes it");
    let mut read = String::new();
    let found = loop {
        let event = next_event(&mut stream, &mut read);
        if will_do(&event) {
            break event;
        }
    };
    drop(server);
    stop.stop();
    assert!(run.join().expect("it does not panic").is_err());
    drop(party);
    found
}

#[test]
fn the_processes_of_a_ring_are_marked_and_come_first_while_the_run_goes_on() {
    let event = with_ring(Network::new(), |event| event["stuck"] != 0);
    let told = event["rings"][0].as_str().expect("a line");
    assert!(told.contains("`hen` waits at `chicks` (empty)"), "{told}");
    assert!(told.contains("`egg` waits at `eggs` (empty)"), "{told}");
    let processes = &event["processes"];
    let mut marked: Vec<_> = (0..2).map(|row| processes[row]["name"].clone()).collect();
    marked.sort_by_key(ToString::to_string);
    assert_eq!(marked, ["egg", "hen"]);
    assert_eq!(processes[0]["limit"], "stuck: nothing can wake it");
    assert_eq!(processes[2]["stuck"], false);
}

#[test]
fn a_ring_behind_more_processes_than_are_shown_at_once_is_told_with_each_part_and_marked_in_its_own()
 {
    let mut network = Network::new();
    let (out, mut from) = network.channel::<u64>("others");
    for number in 0..MOST {
        from = network.map(format!("other {number}"), from, |message| message);
    }
    let gone = network.outside("gone", out);
    network.for_each("ignore others", from, |_| {});
    let mut is_told_of_others = false;
    let event = with_ring(network, |event| {
        let is_marked = event["stuck"] != 0;
        is_told_of_others |= !is_marked && event["rings"][0].is_string();
        is_marked && is_told_of_others
    });
    assert!(
        event["rings"][0].as_str().is_some_and(|ring| ring.contains("`hen` waits at `chicks`"))
    );
    assert_eq!(event["processes"][0]["stuck"], true);
    drop(gone);
}

#[test]
fn a_run_that_cannot_be_served_does_not_begin() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let untold = |_: &str| panic!("nothing is served");
    let mut network = Network::new();
    network.process("run", (), async |()| panic!("it runs"));
    let error = network.run_with(Options::new().serve(&*address, untold));
    let why = format!("{address}: the system refuses: ");
    assert!(matches!(&error, Err(RunError::Refused(text)) if text.starts_with(&why)), "{error:?}");
    let options = csp::Options::new().serve(&*address, untold);
    let error = csp::run(options, async |_scope| panic!("it runs")).map(|run| run.result);
    let is_refused = matches!(&error, Err(csp::RunError::Refused(text)) if text.starts_with(&why));
    assert!(is_refused, "{error:?}");
}

#[test]
fn addresses_that_others_reach_want_a_token_and_no_address_is_all() {
    let start = |address: &str, token| Server::start(ended_run(), address, token);
    for address in ["0.0.0.0:0", "[::]:0"] {
        assert!(matches!(start(address, true), Err(Refused::Unspecified)), "{address}");
    }
    assert!(matches!(start("192.0.2.1:0", false), Err(Refused::WithoutToken)));
    // It is no address of this machine.
    assert!(matches!(start("192.0.2.1:0", true), Err(Refused::System(_))));
    for address in ["", "8080", "localhost", "a b:1", "127.0.0.1:99999"] {
        assert!(matches!(start(address, true), Err(Refused::Address(_))), "{address}");
    }
    let tokens: Vec<_> =
        (0..2).map(|_| start("127.0.0.1:0", true).expect("it is free").url()).collect();
    assert!(tokens[0].rsplit('=').next() != tokens[1].rsplit('=').next(), "{tokens:?}");
}
