//! How many instructions the operations of a process take: the one measure that a noisy machine
//! leaves alone.
//!
//! The program runs itself under callgrind. Its processes switch the counting on right before an
//! operation and off right behind it, by requests to valgrind that do nothing without it. An
//! operation is done many times, and once before to warm up; what the requests themselves count is
//! taken off.
//!
//! | operation         | from … to …                                                             |
//! |-------------------|--------------------------------------------------------------------------|
//! | send, receive     | there is room, or a message; nobody is woken                             |
//! | send and wake     | the reader sleeps at a channel of capacity 1, and is made ready          |
//! | block and switch  | a receive that must wait, until the next process has its message         |
//! | yield             | a communicating process gives way, until the next runs: itself           |
//! | create a channel  | by a process while the network runs                                      |
//! | create a process  | the same, with two ends of channels                                      |
//! | spawn             | a process and its two channels, one message in, one out, and its end     |
//!
//! One worker runs, at each level of accounting, and watched from outside, traced by both levels of
//! traces: what the thread that watches executes is not counted. What an atomic operation costs does not show: it is
//! one instruction. For that `--locked` counts whole programs; see `locked`.

mod locked;
mod requests;

use anyhow::{Context as _, Result, bail};
use kahn::{Accounting, Channel, Network, Options, Process, Receiver, Sender, Spawner};
use kahn_csp as csp;
use kahn_observe::sample::Watch;
use kahn_observe::trace;
use requests::{collect, dump, zero};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How often each operation is done.
const TIMES: u32 = 1000;

/// How a run is measured and watched.
#[derive(Clone, Copy)]
struct Level {
    name: &'static str,
    accounting: Accounting,
    watched: Watched,
}

/// By what a run is watched.
#[derive(Clone, Copy)]
enum Watched {
    Not,
    /// A thread looks, 50 times a second at most.
    Sampled,
    Traced(trace::Level),
}

const fn level(name: &'static str, accounting: Accounting, watched: Watched) -> Level {
    Level { name, accounting, watched }
}

/// The columns.
const LEVELS: [Level; 6] = [
    level("off", Accounting::Off, Watched::Not),
    level("counters", Accounting::Counters, Watched::Not),
    level("timing", Accounting::Timing, Watched::Not),
    level("sampled", Accounting::Counters, Watched::Sampled),
    level("schedule", Accounting::Counters, Watched::Traced(trace::Level::Schedule)),
    level("messages", Accounting::Counters, Watched::Traced(trace::Level::Messages)),
];

/// What is counted, in the order of the output.
const OPERATIONS: [&str; 8] = [
    "send",
    "receive",
    "send and wake",
    "block and switch",
    "yield",
    "create a channel",
    "create a process",
    "spawn",
];

/// What the requests count by themselves.
const NOTHING: &str = "nothing";

/// Whether it can be counted; says so if not.
fn has_valgrind() -> bool {
    if !cfg!(target_arch = "x86_64") || Command::new("valgrind").arg("--version").output().is_err()
    {
        crate::session::say("skipped: valgrind is not installed, or the processor is another one");
        return false;
    }
    true
}

/// The names of the programs that are counted as a whole.
pub(crate) fn rows() -> Vec<&'static str> {
    locked::names()
}

/// Counts what steps of whole programs take, and gives a table.
pub(crate) fn count_locked(rows: &[String], workers: &[usize]) -> Result<String> {
    if has_valgrind() { locked::count(rows, workers) } else { Ok(String::new()) }
}

/// Runs one of these programs.
pub(crate) fn run_row(name: &str, workers: usize, size: u32) -> Result<()> {
    locked::run(name, workers, size)
}

/// Counts, and gives a table; nothing but a message where there is no valgrind.
pub(crate) fn count() -> Result<String> {
    if !has_valgrind() {
        return Ok(String::new());
    }
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("count");
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .arg("operations")
        .stdin(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("under valgrind: {status}");
    }
    let counted = read(folder.path())?;
    let of = |operation: &str, level: &str| -> Result<f64> {
        let name = format!("{operation}, {level}");
        let found = counted.iter().find(|(counted, _)| *counted == name);
        let (_, instructions) = found.with_context(|| format!("`{name}` was not counted"))?;
        Ok(instructions / f64::from(TIMES))
    };
    let mut table = String::from("| instructions of |");
    for level in LEVELS {
        write!(table, " {} |", level.name)?;
    }
    table.push_str("\n|---|");
    table.push_str(&"---:|".repeat(LEVELS.len()));
    table.push('\n');
    for operation in OPERATIONS {
        write!(table, "| {operation} |")?;
        for Level { name, .. } in LEVELS {
            write!(table, " {:.1} |", of(operation, name)? - of(NOTHING, name)?)?;
        }
        table.push('\n');
    }
    Ok(table)
}

/// Reads the counts that were dumped, with their names.
fn read(folder: &Path) -> Result<Vec<(String, f64)>> {
    let mut counts = Vec::new();
    for file in fs::read_dir(folder)? {
        let text = fs::read_to_string(file?.path())?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let Some(name) = field("desc: Trigger: Client Request: ") else { continue };
        let total = field("totals: ").or_else(|| field("summary: ")).context("a dump is empty")?;
        counts.push((name.trim().to_owned(), total.trim().parse()?));
    }
    Ok(counts)
}

/// Does all operations; what `instructions` runs under valgrind.
pub(crate) fn operations() -> Result<()> {
    for level in LEVELS {
        for _ in 0..TIMES {
            collect();
            collect();
        }
        dump(&format!("{NOTHING}, {}", level.name));
        send_and_receive(level)?;
        wake_and_block(level)?;
        give_way(level)?;
        create(level)?;
        spawn(level)?;
    }
    Ok(())
}

fn run(level: Level, network: Network<'_>) -> Result<()> {
    let mut options = Options::new().workers(1).accounting(level.accounting);
    let mut watch = None;
    match level.watched {
        Watched::Not => {}
        Watched::Sampled => {
            watch = Some(Watch::start(network.stop_handle(), EVERY, |_view| {})?);
        }
        Watched::Traced(kept) => options = options.observer(Arc::new(trace::Trace::new(kept))),
    }
    network.run_with(options)?;
    drop(watch);
    Ok(())
}

/// How often there is a view.
const EVERY: Duration = Duration::from_millis(200);

/// The counted round is the second.
const ROUNDS: [bool; 2] = [false, true];

/// There is always room and always a message, and nothing is published in between.
fn send_and_receive(level: Level) -> Result<()> {
    let name = level.name;
    let mut network = Network::new();
    let (out, messages) =
        network.channel_with(Channel::<u64>::named("messages").capacity(4 * TIMES));
    let (go, may) = network.channel_with(Channel::<()>::named("go").capacity(1));
    network.process("send", (out, may), async move |(mut out, mut may): Ends<u64, ()>| {
        for counts in ROUNDS {
            zero();
            for n in 0..u64::from(TIMES) {
                collect();
                out.send(n).await;
                collect();
            }
            if counts {
                dump(&format!("send, {name}"));
            }
            out.flush().await;
            may.recv().await;
        }
    });
    network.process(
        "receive",
        (go, messages),
        async move |(mut go, mut messages): Ends<(), u64>| {
            for counts in ROUNDS {
                // The first is not counted: for it the process may have to wait.
                messages.recv().await;
                zero();
                for _ in 1..TIMES {
                    collect();
                    messages.recv().await;
                    collect();
                }
                if counts {
                    collect();
                    collect();
                    dump(&format!("receive, {name}"));
                }
                go.send(()).await;
            }
        },
    );
    run(level, network)
}

type Ends<S, R> = (Sender<S>, Receiver<R>);

/// Two processes take turns; in one round waking is counted, in another blocking.
fn wake_and_block(level: Level) -> Result<()> {
    let name = level.name;
    for counted in ["send and wake", "block and switch"] {
        let wakes = counted == "send and wake";
        let mut network = Network::new();
        let one = |channel: &'static str| Channel::<u64>::named(channel).capacity(1);
        let (there, here) = network.channel_with(one("there"));
        let (back, home) = network.channel_with(one("back"));
        network.process(
            "asks",
            (there, home),
            async move |(mut there, mut home): Ends<u64, u64>| {
                for counts in ROUNDS {
                    zero();
                    for n in 0..u64::from(TIMES) {
                        if wakes {
                            collect();
                            there.send(n).await;
                            collect();
                            home.recv().await;
                        } else {
                            there.send(n).await;
                            collect();
                            home.recv().await;
                        }
                    }
                    if counts {
                        dump(&format!("{counted}, {name}"));
                    }
                }
            },
        );
        network.process(
            "answers",
            (back, here),
            async move |(mut back, mut here): Ends<u64, u64>| {
                while let Some(n) = here.recv().await {
                    if !wakes {
                        collect();
                    }
                    back.send(n).await;
                }
            },
        );
        run(level, network)?;
    }
    Ok(())
}

fn give_way(level: Level) -> Result<()> {
    let name = level.name;
    let mut options = csp::Options::new().workers(1).accounting(level.accounting);
    if let Watched::Traced(kept) = level.watched {
        options = options.observer(Arc::new(trace::Trace::new(kept)));
    }
    csp::run(options, async |_scope| {
        for counts in ROUNDS {
            zero();
            for _ in 0..TIMES {
                collect();
                csp::yield_now().await;
                collect();
            }
            if counts {
                dump(&format!("yield, {name}"));
            }
        }
    })?;
    Ok(())
}

/// Channels and processes are counted apart; the processes end without having run long.
fn create(level: Level) -> Result<()> {
    let name = level.name;
    let mut network = Network::new();
    let spawner = network.spawner();
    let process = Process::named("creates").effects();
    network.process_with(process, spawner, async move |mut create: Spawner<'_>| {
        for counts in ROUNDS {
            zero();
            let mut ports = Vec::new();
            for _ in 0..TIMES {
                collect();
                let channel = create.channel_with(Channel::<u64>::named("one").capacity(1));
                collect();
                ports.push(channel);
            }
            if counts {
                dump(&format!("create a channel, {name}"));
            }
            zero();
            for (out, back) in ports {
                collect();
                create.process("short", (out, back), async |_ports: Ends<u64, u64>| {});
                collect();
            }
            if counts {
                dump(&format!("create a process, {name}"));
            }
            kahn::yield_now().await;
        }
    });
    run(level, network)
}

/// All that the benchmark `spawn` times.
fn spawn(level: Level) -> Result<()> {
    let name = level.name;
    let mut network = Network::new();
    let spawner = network.spawner();
    let process = Process::named("creates").effects();
    network.process_with(process, spawner, async move |mut create: Spawner<'_>| {
        for counts in ROUNDS {
            zero();
            for _ in 0..TIMES {
                collect();
                let (mut ask, asked) =
                    create.channel_with(Channel::<u64>::named("ask").capacity(1));
                let (answer, mut hear) =
                    create.channel_with(Channel::<u64>::named("answer").capacity(1));
                let ports = (answer, asked);
                create.process("short", ports, async |(mut answer, mut asked): Ends<u64, u64>| {
                    if let Some(n) = asked.recv().await {
                        answer.send(n + 1).await;
                    }
                });
                ask.send(1).await;
                hear.recv().await;
                drop((ask, hear));
                collect();
            }
            if counts {
                dump(&format!("spawn, {name}"));
            }
        }
    });
    run(level, network)
}
