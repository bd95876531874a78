//! What is at which address.
//!
//! | address | what |
//! |---|---|
//! | `/`, `/page.js`, `/style.css` | the page |
//! | `/events` | server-sent events for it, four a second: at most [`STREAMS`] at a time |
//! | `/graph` | the picture that the events colour |
//! | `/explain` | what everything waits for, as text |
//! | `/report.json` | the last view, as a line of `--live=json` |
//! | `/metrics` | the same for Prometheus |

use super::door::{Door, guard};
use super::graph::{BoxState, Graph, key};
use super::metrics;
use crate::limit::{Known, by_fill, by_limit, rings};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use futures_util::future::select;
use futures_util::stream::{self, Stream};
use kahn_observe::sample::{ChannelView, Part, Shares, View, WorkerView};
use kahn_report::observe::Sampled;
use parking_lot::Mutex;
use serde::Serialize;
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::{self, Receiver};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_io_timeout::TimeoutStream;

/// The most streams of events at a time.
pub(super) const STREAMS: usize = 16;

/// Events that a stream may be behind: then it ends, and a browser comes again.
const BEHIND: usize = 16;

/// Rows of each table of the page; the JSON has all.
const ROWS: usize = 100;

/// Rings that the page shows.
const RINGS: usize = 10;

/// What all requests share.
pub(super) struct Shared {
    run: Arc<dyn Sampled>,
    view: Mutex<Arc<View>>,
    graph: Mutex<Option<Arc<Graph>>>,
    events: broadcast::Sender<Arc<str>>,
    streams: Arc<Semaphore>,
}

/// What the page is told.
#[derive(Serialize)]
struct Told<'a> {
    seconds: f64,
    of_seconds: f64,
    looks: u32,
    of_processes: Part,
    of_channels: Part,
    /// Which picture it is, and what its boxes do; none if the picture is of another part or another time.
    graph: String,
    boxes: Option<Vec<BoxState>>,
    processes: Vec<ToldProcess<'a>>,
    channels: Vec<ToldChannel<'a>>,
    /// How busy each is, what it runs, and its rank if there are several.
    workers: Vec<(f64, &'a str, Option<usize>)>,
    rings: Vec<String>,
    stuck: usize,
}

#[derive(Serialize)]
struct ToldProcess<'a> {
    name: Cow<'a, str>,
    #[serde(flatten)]
    shares: Shares,
    limit: String,
    stuck: bool,
}

#[derive(Serialize)]
struct ToldChannel<'a> {
    /// The names of its processes; the view has their numbers.
    sender: Cow<'a, str>,
    receiver: Cow<'a, str>,
    #[serde(flatten)]
    channel: &'a ChannelView,
}

impl Shared {
    pub(super) fn new(run: Arc<dyn Sampled>) -> Self {
        Self {
            run,
            view: Mutex::default(),
            graph: Mutex::default(),
            events: broadcast::Sender::new(BEHIND),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }

    /// Shows a view to all that look. If none does it is only kept.
    pub(super) fn show(&self, view: View) {
        let view = Arc::new(view);
        *self.view.lock() = Arc::clone(&view);
        if self.events.receiver_count() > 0 {
            // All may have left meanwhile.
            let _ = self.events.send(self.event(&view));
        }
    }

    /// The streams that there may be yet.
    #[cfg(test)]
    pub(super) fn streams_left(&self) -> usize {
        self.streams.available_permits()
    }

    #[cfg(test)]
    pub(super) fn tell(&self, event: &str) {
        let _ = self.events.send(event.into());
    }

    fn event(&self, view: &View) -> Arc<str> {
        let graph = self.graph.lock().clone().filter(|graph| graph.key() == key(view));
        let known = Known::new(view);
        let worker = |worker: &WorkerView| match worker.runs {
            Some(_) => (worker.busy, known.name(worker.runs), worker.rank),
            None => (worker.busy, "", worker.rank),
        };
        let told = Told {
            seconds: view.seconds,
            of_seconds: view.of_seconds,
            looks: view.looks,
            of_processes: view.of_processes,
            of_channels: view.of_channels,
            // Only the first part of very many is drawn: else the picture would change all the time.
            graph: if view.of_processes.first == 0 && view.of_channels.first == 0 {
                format!("{:016x}", key(view))
            } else {
                String::new()
            },
            boxes: graph.map(|graph| graph.states(view)),
            processes: by_limit(view)
                .into_iter()
                .take(ROWS)
                .map(|process| ToldProcess {
                    name: process.called(),
                    shares: process.shares,
                    limit: known.limit(process),
                    stuck: process.stuck,
                })
                .collect(),
            channels: by_fill(view)
                .into_iter()
                .take(ROWS)
                .map(|channel| ToldChannel {
                    sender: known.called(channel.from),
                    receiver: known.called(channel.to),
                    channel,
                })
                .collect(),
            workers: view.workers.iter().map(worker).collect(),
            rings: rings(view, RINGS),
            stuck: view.processes.iter().filter(|process| process.stuck).count(),
        };
        serde_json::to_string(&told).unwrap_or_default().into()
    }

    /// The picture of the last view, drawn again if that has other processes or channels.
    fn graph(&self) -> Arc<Graph> {
        let view = Arc::clone(&self.view.lock());
        let mut graph = self.graph.lock();
        let is_first = view.of_processes.first == 0 && view.of_channels.first == 0;
        match &*graph {
            Some(drawn) if drawn.key() == key(&view) || !is_first => Arc::clone(drawn),
            _ => Arc::clone(graph.insert(Arc::new(Graph::of(&view)))),
        }
    }
}

type Run = State<Arc<Shared>>;

fn router(shared: Arc<Shared>, door: Door) -> Router {
    let door = Arc::new(door);
    Router::new()
        .route("/", get(|| async { asset("text/html", include_str!("../../assets/index.html")) }))
        .route(
            "/page.js",
            get(|| async { asset("text/javascript", include_str!("../../assets/page.js")) }),
        )
        .route(
            "/style.css",
            get(|| async { asset("text/css", include_str!("../../assets/style.css")) }),
        )
        // Asked for by every browser.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/events", get(events))
        .route(
            "/graph",
            get(async |State(run): Run| asset("image/svg+xml", run.graph().svg.clone())),
        )
        .route(
            "/explain",
            get(async |State(run): Run| asset("text/plain", run.run.explain().to_string())),
        )
        .route("/report.json", get(report))
        .route(
            "/metrics",
            get(async |State(run): Run| {
                let text = metrics::text(&Arc::clone(&run.view.lock()));
                asset("text/plain; version=0.0.4", text)
            }),
        )
        .layer(from_fn(move |request, next: Next| guard(Arc::clone(&door), request, next)))
        .with_state(shared)
}

fn asset(kind: &'static str, text: impl Into<String>) -> Response {
    let kind =
        if kind.contains("xml") { kind.to_owned() } else { format!("{kind}; charset=utf-8") };
    ([(header::CONTENT_TYPE, kind)], text.into()).into_response()
}

async fn report(State(run): Run) -> Response {
    let view = Arc::clone(&run.view.lock());
    asset("application/json", serde_json::to_string(&*view).unwrap_or_default())
}

async fn events(State(run): Run) -> Response {
    let Ok(permit) = Arc::clone(&run.streams).try_acquire_owned() else {
        let text = format!("{STREAMS} pages look already: close one\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let receiver = run.events.subscribe();
    let first = run.event(&Arc::clone(&run.view.lock()));
    Sse::new(stream_of(receiver, first, permit)).keep_alive(KeepAlive::default()).into_response()
}

/// What is told at once, and then what comes, until the reader is too far behind.
fn stream_of(
    receiver: Receiver<Arc<str>>,
    first: Arc<str>,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((receiver, Some(first), permit), async |(mut receiver, first, permit)| {
        let event = match first {
            Some(first) => first,
            None => receiver.recv().await.ok()?,
        };
        Some((Ok(Event::default().data(&*event)), (receiver, None, permit)))
    })
}

/// Connections that are closed if they take nothing for so long.
struct Patient {
    listener: TcpListener,
    patience: Duration,
}

impl Listener for Patient {
    type Io = Pin<Box<TimeoutStream<TcpStream>>>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (connection, address) = Listener::accept(&mut self.listener).await;
        let mut connection = TimeoutStream::new(connection);
        connection.set_write_timeout(Some(self.patience));
        (Box::pin(connection), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Serves until it is to end, or the system takes the address away. A connection that takes nothing for
/// `patience` is closed.
pub(super) async fn serve(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    door: Door,
    patience: Duration,
    ended: oneshot::Receiver<()>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let serving = axum::serve(Patient { listener, patience }, router(shared, door)).into_future();
    // Streams would go on for ever: what serves them is dropped.
    select(pin!(serving), ended).await;
}
