//! Encryption by threads that wait in POSIX message queues, two for each worker.

use std::thread;

use kahn_apps::aes::{Cipher, Direction, Encryption, Mode};

use super::limits::{no_thread, room_for};
use super::queue::{LEAST_MESSAGE, queue};
use crate::experiment::{Measured, Outcome};
use crate::measure::{Clock, forget_peak_memory, peak_memory};

/// Encrypts a block of so many bytes, so many times over, with a thread for each part, without the
/// processor's own instructions.
pub(crate) fn thread_encryption(bytes: usize, passes: usize, workers: usize) -> Outcome {
    if let Err(refused) = room_for(workers) {
        return Outcome::Refused(refused);
    }
    let cipher = Cipher::new([0; 16], Mode::Ecb, Direction::Encrypt).portable();
    let passes = u32::try_from(passes).unwrap_or(u32::MAX);
    let encryption = Encryption { cipher, passes, workers };
    let block = vec![1; bytes];
    let mut parts = encryption.cut(&block);
    forget_peak_memory();
    let clock = Clock::start();
    let mut queues = Vec::with_capacity(workers);
    for _ in 0..workers {
        let pair = queue(1, LEAST_MESSAGE).and_then(|task| Ok((task, queue(1, LEAST_MESSAGE)?)));
        match pair {
            Ok(pair) => queues.push(pair),
            Err(refused) => return Outcome::Refused(refused),
        }
    }
    let refused = thread::scope(|scope| {
        let mut ends = Vec::with_capacity(workers);
        let mut refused = None;
        for (part, ((task, mut tasks), (mut reply, replies))) in parts.iter_mut().zip(queues) {
            let encryption = &encryption;
            // A small stack, so that memory is not what limits their number.
            let thread = thread::Builder::new().stack_size(128 * 1024);
            let worker = move || {
                if tasks.recv() != 0 {
                    encryption.sequential(part);
                }
                reply.send(1);
            };
            match thread.spawn_scoped(scope, worker) {
                Ok(_) => ends.push((task, replies)),
                Err(error) => {
                    refused = Some(no_thread(&error.to_string()));
                    break;
                }
            }
        }
        // A 0 says that there is nothing to do after all.
        for (task, _) in &mut ends {
            task.send(u64::from(refused.is_none()));
        }
        for (_, replies) in &mut ends {
            replies.recv();
        }
        refused
    });
    if let Some(refused) = refused {
        return Outcome::Refused(refused);
    }
    let measured = Measured::seconds(clock.seconds());
    Outcome::Measured(match peak_memory() {
        Some(bytes) => measured.and("peak memory", bytes),
        None => measured,
    })
}
