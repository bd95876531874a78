//! What `stream` measures, with plain MPI: what the figures of networks are compared with, on two ranks.
//!
//! On each rank one thread computes and another one makes all calls of MPI, as for a network: so each message is handed
//! over twice. The thread of MPI looks without a pause for what comes and what is to go.
//!
//! ```text
//! computes ──channel──► calls MPI ──message──► calls MPI ──channel──► computes
//! ```

#![expect(clippy::disallowed_methods, reason = "times are what it is for")]

use mpi::Threading;
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::topology::Communicator;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Instant;

const NUMBERS: u64 = 1_000_000;
const ROUNDS: u64 = 500;
const TILES: u64 = 2_000;
const TILE: usize = 32 << 10;

/// Numbers of eight bytes that are put into one message, as the transport of a network does.
const TOGETHER: [(&str, usize); 2] =
    [("8 bytes, 512 together", 512), ("8 bytes, 4096 together", 4096)];

/// What goes to the thread of MPI, and what comes from it.
type Ends<'a> = (&'a Sender<Vec<u8>>, &'a Receiver<Vec<u8>>);

const GONE: &str = "the thread of MPI is there until this one is done";

/// Sends, or receives and counts, so many bytes in messages of a length; then the receiver answers.
fn one_way((to, from): Ends<'_>, sends: bool, messages: u64, length: usize) {
    if sends {
        for number in 0..messages {
            let byte = number.to_le_bytes()[0];
            to.send(vec![byte; length]).expect(GONE);
        }
        assert_eq!(from.recv().expect(GONE).len(), 1, "the answer is another");
    } else {
        for number in 0..messages {
            let message = from.recv().expect(GONE);
            assert_eq!(message[..1], number.to_le_bytes()[..1], "a message is lost");
        }
        to.send(vec![0]).expect(GONE);
    }
}

fn round_trips((to, from): Ends<'_>, asks: bool) {
    for round in 0..ROUNDS {
        if asks {
            to.send(round.to_le_bytes().to_vec()).expect(GONE);
        }
        let got = from.recv().expect(GONE);
        assert_eq!(got, round.to_le_bytes(), "an answer is lost");
        if !asks {
            to.send(got).expect(GONE);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn print(what: &str, seconds: f64, count: u64, bytes: usize) {
    let each = seconds / count as f64;
    println!("{what:<30} {:>10.1} ns each {:>8.3} GB/s", each * 1e9, bytes as f64 / each / 1e9);
}

/// All of them, each once to get to know each other and once measured; rank 1 sends, rank 0 tells.
fn measure(ends: Ends<'_>, is_first: bool) {
    for is_measured in [false, true] {
        let mut start = Instant::now();
        let mut tell = |what, count, bytes| {
            if is_first && is_measured {
                print(what, start.elapsed().as_secs_f64(), count, bytes);
            }
            start = Instant::now();
        };
        for (what, together) in TOGETHER {
            let batches = NUMBERS.div_ceil(together as u64);
            one_way(ends, !is_first, batches, together * 8);
            tell(what, batches * together as u64, 8);
        }
        round_trips(ends, !is_first);
        tell("8 bytes, there and back", ROUNDS, 8);
        one_way(ends, !is_first, TILES, TILE);
        tell("tiles of 32 KiB", TILES, TILE);
    }
}

fn main() -> ExitCode {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("error: MPI has begun before");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    if world.size() != 2 {
        eprintln!("error: there are {} ranks, and it is for two", world.size());
        return ExitCode::FAILURE;
    }
    let peer = world.process_at_rank(1 - world.rank());
    let is_first = world.rank() == 0;
    let (to, outgoing) = channel::<Vec<u8>>();
    let (incoming, from) = channel();
    let computes = thread::spawn(move || measure((&to, &from), is_first));
    loop {
        let sent = match outgoing.try_recv() {
            Ok(bytes) => {
                peer.send(&bytes[..]);
                true
            }
            Err(TryRecvError::Empty) => false,
            Err(TryRecvError::Disconnected) => break,
        };
        if let Some(probed) = peer.immediate_matched_probe() {
            let (bytes, _) = probed.matched_receive_vec::<u8>();
            // The other thread ends when it has all.
            let _ = incoming.send(bytes);
        } else if !sent {
            thread::yield_now();
        }
    }
    if computes.join().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
