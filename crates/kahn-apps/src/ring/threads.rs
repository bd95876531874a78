//! The ring with a thread of the system for each process, and the channels of the standard library.
//!
//! This is how one would write it without a runtime, to compare with. A channel holds one message, as in
//! the measurements of the paper; where that would not be enough for the tokens, it holds all of them.

use std::fs;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, scope};

use super::{Moment, Ring};
use crate::Failure;

/// An element needs hardly any stack, and there may be thousands.
const STACK: usize = 64 * 1024;

/// How many areas of memory the system keeps for a thread: its stack and the one for signals, each
/// with a guard.
const AREAS: u32 = 4;

/// How many areas the program has besides, and some to spare.
const OTHER_AREAS: u32 = 512;

/// The other side of a channel has ended, because a thread could not be started.
struct Gone;

impl Ring {
    /// Computes the total with a thread for each element; the caller's own thread is the root.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if the system refuses to start so many threads.
    pub fn threads(self, watch: impl FnMut(Moment)) -> Result<u64, Failure> {
        if self.processes > most_threads() {
            let (processes, most) = (self.processes, most_threads());
            return Err(Failure::input(format!(
                "--processes {processes}: the system has room for {most} threads here"
            ))
            .with_help("take fewer, or raise the limit on areas of memory (vm.max_map_count)"));
        }
        let refused = |element: u32, why: &dyn std::fmt::Display| {
            let processes = self.processes;
            Failure::input(format!(
                "--processes {processes}: the system refuses thread {element}: {why}"
            ))
            .with_help("take fewer, or raise the limit on threads (`ulimit -u`)")
        };
        scope(|scope| {
            // A process has a token in its hand, and one stays free to move.
            let room = if self.tokens < self.processes { 1 } else { self.tokens as usize };
            let (right, mut left) = sync_channel(room);
            for element in 1..self.processes {
                let (out, next) = sync_channel(room);
                let input = std::mem::replace(&mut left, next);
                let builder = Builder::new().stack_size(STACK);
                // If it fails, the ends go, and with them, one after the other, those that wait.
                builder
                    .spawn_scoped(scope, move || pass_on(&input, &out))
                    .map_err(|why| refused(element, &why))?;
            }
            self.root_thread(&left, &right, watch)
                .map_err(|Gone| refused(self.processes, &"one has ended"))
        })
    }

    fn root_thread(
        self,
        left: &Receiver<u64>,
        right: &SyncSender<u64>,
        mut watch: impl FnMut(Moment),
    ) -> Result<u64, Gone> {
        let send = |token| right.send(token).map_err(|_| Gone);
        let recv = || left.recv().map_err(|_| Gone);
        send(1)?;
        let mut token = recv()?;
        watch(Moment::Start);
        let mut sum = 0;
        if self.tokens == 1 {
            for _ in 0..self.cycles {
                send(token + 1)?;
                token = recv()?;
                watch(Moment::Cycle);
            }
            sum = token;
        } else {
            for token in 1..=u64::from(self.tokens) {
                send(token)?;
            }
            for _ in 0..self.cycles {
                for _ in 0..self.tokens {
                    send(recv()? + 1)?;
                }
                watch(Moment::Cycle);
            }
            for _ in 0..self.tokens {
                sum += recv()?;
            }
        }
        watch(Moment::End);
        send(0)?;
        recv()?;
        Ok(sum)
    }
}

/// Says how many threads can be had. Past that limit the standard library does not return an error:
/// it ends the program.
fn most_threads() -> u32 {
    let areas = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let areas = areas.and_then(|text| text.trim().parse::<u32>().ok());
    areas.map_or(u32::MAX, |areas| areas.saturating_sub(OTHER_AREAS) / AREAS)
}

/// An element: passes tokens on, and ends with the 0 behind them.
fn pass_on(left: &Receiver<u64>, right: &SyncSender<u64>) {
    for token in left {
        let passed = right.send(if token == 0 { 0 } else { token + 1 });
        if token == 0 || passed.is_err() {
            return;
        }
    }
}
