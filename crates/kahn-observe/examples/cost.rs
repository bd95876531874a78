//! What a trace or a recording costs, for a counter of instructions and for the clock of a thread.
//!
//! ```text
//! cargo build --release -p kahn-observe --example cost
//! valgrind --tool=callgrind target/release/examples/cost schedule 30000 1
//! target/release/examples/cost recording 1000000 1024 /dev/shm/run.rec
//! target/release/examples/cost unrecorded 1000000 1024
//! ```
//!
//! With a level of traces two processes run on a worker; with `beside`, so does a recording, in which their messages
//! have no part. A process that blocks sends messages of 64 bytes, and the CPU time that its thread takes for each is printed, with
//! these words:
//!
//! | word | the messages |
//! |---|---|
//! | `recording` | come from outside, and are recorded |
//! | `digested` | do not, and are summed up in a recording |
//! | `unrecorded` | are sent, and no more |
//!
//! The difference between 30 000 messages and 10 000 is what 20 000 of them cost.

#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use kahn::{Channel, Network, Options, Sender};
use kahn_observe::record::{Header, Recorder};
use kahn_observe::trace::Trace;
use std::env;
use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is sent by a process that is recorded.
type Block = [u8; 64];

#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
fn each(all: u64, messages: u32) -> f64 {
    all as f64 / f64::from(messages)
}

fn main() -> Result<(), Box<dyn Error>> {
    let typed: Vec<String> = env::args().skip(1).collect();
    let word = typed.first().map_or("", String::as_str);
    let number = |place: usize| typed.get(place).and_then(|word| word.parse().ok());
    let (messages, capacity) = (number(1).unwrap_or(1000), number(2).unwrap_or(1));
    let options = Options::new().workers(1).capacity(capacity);
    match word {
        word @ ("recording" | "digested" | "beside") => {
            let path = typed.get(3).ok_or("where is it to be recorded?")?;
            let recorder = Arc::new(Recorder::new(path, Header::default()));
            let options = options.observer(Arc::clone(&recorder));
            match word {
                "beside" => pass(messages, options)?,
                word => send(messages, options, word == "recording")?,
            }
            println!("{:.1} bytes a message", each(recorder.finish()?, messages));
            Ok(fs::remove_file(path)?)
        }
        "unrecorded" => send(messages, options, true),
        // None, or a word that is no level: nothing is traced.
        level => pass(
            messages,
            match level.parse() {
                Ok(level) => options.observer(Arc::new(Trace::new(level))),
                Err(_) => options,
            },
        ),
    }
}

fn pass(messages: u32, options: Options) -> Result<(), Box<dyn Error>> {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("write", out, async move |mut out| {
        for number in 0..messages {
            out.send(number).await;
        }
    });
    network.process("read", numbers, async |mut numbers| while numbers.recv().await.is_some() {});
    network.run_with(options)?;
    Ok(())
}

/// The CPU time of this thread in nanoseconds, as Linux counts it.
fn cpu_time() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// A process that receives something is joined to the outside no more.
fn send(messages: u32, options: Options, is_joined: bool) -> Result<(), Box<dyn Error>> {
    let taken = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&taken);
    let mut network = Network::new();
    let blocks = Channel::<Block>::named("blocks")
        .wire_with(|block, into| into.extend_from_slice(block), |bytes| Ok(bytes.try_into()?));
    let (out, blocks) = network.channel_with(blocks);
    let write = move |out: &mut Sender<Block>| {
        let before = cpu_time();
        for number in 0..messages {
            out.send_blocking([number.to_le_bytes()[0]; 64]);
        }
        let time = cpu_time().zip(before).map_or(0, |(after, before)| after - before);
        told.store(time, Relaxed);
    };
    if is_joined {
        network.blocking("write", out, move |mut out| write(&mut out));
    } else {
        let go = network.source("go", [()]);
        network.blocking("write", (out, go), move |(mut out, mut go)| {
            go.recv_blocking();
            write(&mut out);
        });
    }
    network.process("read", blocks, async |mut blocks| while blocks.recv().await.is_some() {});
    network.run_with(options)?;
    println!("{:.1} ns of CPU a message", each(taken.load(Relaxed), messages));
    Ok(())
}
