//! The rows of the table in the README: ours beside four peers, medians on one worker and on two.

use crate::data::Data;
use std::fmt::Write as _;

/// A row: what it is called there, where its figures are, and which runtimes stand in its columns.
struct Row {
    label: &'static str,
    workload: &'static str,
    params: &'static str,
    metric: &'static str,
    runtimes: [&'static str; 5],
}

const HEAD: &str =
    "| | kahn | tokio + kanal | smol + kanal | may | Go |\n|---|---:|---:|---:|---:|---:|\n";
/// What most rows have in the columns.
const ALL: [&str; 5] = ["kahn", "tokio-kanal", "smol-kanal", "may", "go"];
const MESSAGE: &str = "time per message";
const PROCESS: &str = "time per process";
const MEMORY: &str = "memory per process";
const MILLION: &str = "1000000 processes, two channels of capacity 1 each";

const fn row(
    label: &'static str,
    workload: &'static str,
    params: &'static str,
    metric: &'static str,
) -> Row {
    Row { label, workload, params, metric, runtimes: ALL }
}

const ROWS: &[Row] = &[
    row("ring of 256, 1 token, a hop", "ring", "256 processes, 1 token, capacity 1", MESSAGE),
    row("ring of 256, 64 tokens, a hop", "ring", "256 processes, 64 tokens, capacity 1", MESSAGE),
    row(
        "pipeline of 50 stages, 8 bytes, a message and hop",
        "pipeline",
        "50 stages, capacity 64, 8 bytes",
        MESSAGE,
    ),
    Row {
        runtimes: ["kahn-batch", "tokio-mpsc-batch", "", "", ""],
        ..row(
            "the same in batches of 32 (tokio: its own channel)",
            "pipeline",
            "50 stages, capacity 64, 8 bytes, in batches of 32",
            MESSAGE,
        )
    },
    row(
        "the same, 32 bytes that tell of which kind they are",
        "pipeline",
        "50 stages, capacity 64, 32 bytes of some kind",
        MESSAGE,
    ),
    row("the same, 2048 bytes by value", "pipeline", "50 stages, capacity 64, 2048 bytes", MESSAGE),
    Row {
        runtimes: ["kahn-in-place", "", "", "", ""],
        ..row(
            "the same, 2048 bytes in place",
            "pipeline",
            "50 stages, capacity 64, 2048 bytes",
            MESSAGE,
        )
    },
    row(
        "the same, 8 bytes and 100 ns of work",
        "pipeline",
        "50 stages, capacity 64, 8 bytes, 100 ns of work",
        MESSAGE,
    ),
    row(
        "the same, 8 bytes and 1 us of work",
        "pipeline",
        "50 stages, capacity 64, 8 bytes, 1 us of work",
        MESSAGE,
    ),
    row(
        "the same, 8 bytes and 10 us of work",
        "pipeline",
        "50 stages, capacity 64, 8 bytes, 10 us of work",
        MESSAGE,
    ),
    row("one channel, 8 bytes, capacity 1024", "stream", "capacity 1024, 8 bytes", MESSAGE),
    row(
        "256 workers with 10 us of work, a task",
        "scatter-gather",
        "256 processes, 10 us of work",
        "time per task",
    ),
    row("create a process with two channels, ask it once, end", "spawn", MILLION, PROCESS),
    row("the same, bytes of memory", "spawn", MILLION, MEMORY),
    row(
        "rendezvous ring of 256, 1 token, a hop",
        "rendezvous",
        "256 processes, 1 token, rendezvous",
        MESSAGE,
    ),
    row(
        "commstime, a loop of four processes that meet",
        "commstime",
        "4 processes, rendezvous",
        "time per loop",
    ),
    Row {
        runtimes: ["kahn", "tokio", "smol", "may", "go"],
        ..row(
            "fork and join, a process (tokio and smol: tasks)",
            "fork-join",
            "1000 at a time",
            PROCESS,
        )
    },
    Row {
        runtimes: ["kahn", "tokio", "", "may", "go"],
        ..row(
            "barrier of 1000, a process and phase (tokio: its barrier)",
            "barrier",
            "1000 processes",
            "time per process and phase",
        )
    },
    row(
        "fair choice among 64 busy senders, a message",
        "alternation",
        "64 busy senders, rendezvous",
        MESSAGE,
    ),
    row(
        "64 clients share the end of a channel, a message",
        "claim",
        "64 clients, rendezvous",
        MESSAGE,
    ),
    row(
        "a process that waits at a channel, bytes of memory",
        "idle-processes",
        "100000 processes, one channel each",
        MEMORY,
    ),
];

/// What must stand in the README: the rows, and what an atomic read-modify-write cost meanwhile.
pub(crate) fn markdown(data: &Data) -> String {
    let mut text = HEAD.to_owned();
    for row in ROWS {
        let _infallible = write!(text, "| {} |", row.label);
        for (column, runtime) in row.runtimes.into_iter().enumerate() {
            let cell = cell(data, row, runtime).unwrap_or_default();
            let _infallible = match column {
                0 => write!(text, " **{cell}** |"),
                _ => write!(text, " {cell} |"),
            };
        }
        text.push('\n');
    }
    text
}

/// One worker and two.
fn cell(data: &Data, row: &Row, runtime: &str) -> Option<String> {
    let on = |workers| {
        let line = data.lines.iter().find(|line| {
            line.workers == workers
                && (line.workload.as_str(), line.params.as_str(), line.metric.as_str())
                    == (row.workload, row.params, row.metric)
                && line.runtime == runtime
        })?;
        Some(figure(line.median))
    };
    Some(format!("{} / {}", on(1)?, on(2)?))
}

fn figure(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
