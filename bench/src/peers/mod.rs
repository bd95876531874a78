//! What one would take instead: executors with channels, threads with channels, other languages.
//!
//! A workload is written once for tasks and once for threads, generic over the runtime; each
//! runtime is compiled to a program of its own, with nothing between it and its channels.
//!
//! | file        | runtimes                                                              |
//! |-------------|-----------------------------------------------------------------------|
//! | `tasks`     | tokio and async-executor, with tokio's mpsc, kanal and async-channel   |
//! | `threads`   | OS threads with crossbeam-channel and rtrb, coroutines of may          |
//! | `parked`    | rtrb's ring, whose ends sleep: a bounded channel for threads and may   |
//! | `ccsp`      | programs of CCSP, where a variable names their folder                  |
//! | `foreign`   | Go, and C++ with Boost.Fiber and oneTBB, built when first used         |

pub(crate) mod ccsp;
mod foreign;
mod parked;
mod tasks;
mod threads;

pub(crate) use foreign::{FOREIGN, Foreign};
pub(crate) use tasks::{
    AsyncChannel, Executor, Kanal, Smol, TaskProgram, Tokio, TokioMpsc, Wire, join_all,
};
pub(crate) use threads::{Blocking, BlockingProgram, Crossbeam, May, Rtrb, join};

/// A line of the table of peers.
pub(crate) struct Peer {
    /// The name, as typed after `--peers`.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
}

/// Every peer, in the order in which `list` shows them.
pub(crate) const PEERS: &[Peer] = &[
    Peer { name: "tokio", summary: "tokio's tasks alone, or with its barrier" },
    Peer { name: "tokio-mpsc", summary: "tokio with its own channel" },
    Peer { name: "tokio-mpsc-batch", summary: "the same, many messages at a time" },
    Peer { name: "tokio-kanal", summary: "tokio with kanal" },
    Peer { name: "smol", summary: "async-executor's tasks alone" },
    Peer { name: "smol-async-channel", summary: "async-executor with async-channel" },
    Peer { name: "smol-kanal", summary: "async-executor with kanal" },
    Peer { name: "may", summary: "coroutines of may, with a bounded channel over rtrb" },
    Peer { name: "threads-crossbeam", summary: "an OS thread each with crossbeam-channel" },
    Peer { name: "threads-rtrb", summary: "an OS thread each with rtrb; ends sleep" },
    Peer { name: "threads-rtrb-batch", summary: "the same, many messages at a time" },
    Peer { name: "threads-rtrb-polling", summary: "an OS thread each with rtrb; ends poll" },
    Peer { name: "rayon", summary: "rayon with the kernel of ours" },
    Peer { name: "threads", summary: "a program made by hand of threads, with the kernel of ours" },
    Peer { name: "rayon-hashbrown", summary: "rayon and hashbrown as one would begin" },
    Peer { name: "loop", summary: "a plain loop over the same, on one thread" },
    Peer { name: "go", summary: "Go with its channels" },
    Peer { name: "boost-fiber", summary: "C++ with Boost.Fiber" },
    Peer { name: "onetbb", summary: "C++ with the flow graph of oneTBB; its edges are unbounded" },
    Peer { name: ccsp::NAME, summary: "programs of CCSP, where KAHN_PEER_CCSP names their folder" },
];

/// Says why a peer cannot take part, or builds what it needs.
pub(crate) fn prepare(name: &str) -> anyhow::Result<()> {
    match Foreign::named(name) {
        Some(foreign) => foreign.prepare(),
        None if name == ccsp::NAME => ccsp::prepare(),
        None => Ok(()),
    }
}

/// The versions of the peers: of packages, from the lock file that this program was built with, and of what is
/// installed here.
pub(crate) fn versions() -> Vec<String> {
    const PACKAGES: [&str; 9] = [
        "async-channel",
        "async-executor",
        "crossbeam-channel",
        "hashbrown",
        "kanal",
        "may",
        "rayon",
        "rtrb",
        "tokio",
    ];
    let lock = include_str!("../../../Cargo.lock");
    let entries = lock.split("[[package]]").filter_map(|entry| {
        let field =
            |name: &str| entry.lines().find_map(|line| line.strip_prefix(name))?.strip_suffix('"');
        Some((field("name = \"")?, field("version = \"")?))
    });
    entries
        .filter(|(name, _)| PACKAGES.contains(name))
        .map(|(name, version)| format!("{name} {version}"))
        .chain(foreign::versions())
        .chain(ccsp::version())
        .collect()
}
