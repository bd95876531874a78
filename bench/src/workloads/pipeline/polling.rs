//! The stream over rtrb with two threads that poll: what two cores can do if they do nothing else.

use super::{Bench, Small};
use crate::measure::{Figure, now};
use anyhow::{Result, anyhow};
use kahn_apps::pipeline::{Message, sum};
use std::hint::spin_loop;
use std::thread;

/// On one core they would wait for each other's time slices: then they yield.
pub(super) fn measure(workers: usize, stream: Bench<Small>) -> Result<Vec<Figure>> {
    let pause = if workers > 1 { spin_loop } else { thread::yield_now };
    let messages = stream.shape.messages;
    let (mut producer, mut consumer) = rtrb::RingBuffer::new(stream.room());
    let since = now();
    let checksum = thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            (0..messages).fold(0, |all, _| {
                loop {
                    match consumer.pop() {
                        Ok(mut message) => break sum(all, &mut message),
                        Err(rtrb::PopError::Empty) => pause(),
                    }
                }
            })
        });
        for number in 0..messages {
            let mut message = Small::new(number, 1);
            while let Err(rtrb::PushError::Full(back)) = producer.push(message) {
                message = back;
                pause();
            }
        }
        receiver.join().map_err(|_| anyhow!("a thread panicked"))
    })?;
    stream.figures(since.elapsed(), checksum)
}
