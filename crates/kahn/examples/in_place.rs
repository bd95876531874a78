//! Large messages that stay where they are: each is copied once a channel.
//!
//! ```text
//!   camera ──raw──► sharpen ──sharp──► changed ──kept──► size
//!
//!   camera     fills a free slot of `raw`
//!   sharpen    works on a frame in its slot, and moves it to a slot of `sharp`
//!   changed    forwards a frame that is new, and drops the others in their slots
//!   size       looks at a frame, and copies nothing
//! ```
//!
//! By value a frame is copied out of each channel and into the next, by way of the process. In place
//! it lies in a slot, and the slot is taken until the guard is dropped, moved out of or forwarded. A
//! process may hold a guard while it waits elsewhere: if that needs room, the channel grows.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, RunError};

/// 64 times 64 points.
type Frame = [u8; 64 * 64];

/// How many points of each frame that is new are bright.
fn bright_points(frames: u8) -> Result<Vec<usize>, RunError> {
    let mut network = Network::new();
    let (raw_out, raw) = network.channel::<Frame>("raw");
    let (sharp_out, sharp) = network.channel::<Frame>("sharp");
    let (kept_out, kept) = network.channel::<Frame>("kept");
    let (sizes_out, sizes) = network.channel("sizes");

    network.process("camera", raw_out, async move |mut raw| {
        for number in 0..frames {
            // Each picture is taken twice.
            raw.reserve().await.send_with(|slot| slot.write([100 * (number / 2); 64 * 64]));
        }
    });
    network.process("sharpen", (raw, sharp_out), async |(mut raw, mut sharp)| {
        while let Some(mut frame) = raw.recv_in_place().await {
            for (place, point) in frame.iter_mut().enumerate() {
                *point = if place % 64 < 8 { point.saturating_mul(2) } else { *point };
            }
            frame.forward(sharp.reserve().await);
        }
    });
    network.process("changed", (sharp, kept_out), async |(mut sharp, mut kept)| {
        let mut last = None;
        while let Some(frame) = sharp.recv_in_place().await {
            let light: u64 = frame.iter().map(|&point| u64::from(point)).sum();
            if last.replace(light) != Some(light) {
                frame.forward(kept.reserve().await);
            }
        }
    });
    network.process("size", (kept, sizes_out), async |(mut kept, mut sizes)| {
        while let Some(frame) = kept.recv_in_place().await {
            sizes.send(frame.iter().filter(|&&point| point >= 150).count()).await;
        }
    });
    let all = network.collect("all", sizes);
    network.run()?;
    Ok(all.take().unwrap_or_default())
}

fn main() -> Result<(), RunError> {
    println!("bright points of each new frame: {:?}", bright_points(6)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_through_changed_where_they_lie() {
        assert_eq!(bright_points(6).expect("nothing fails"), [0, 512, 4096]);
    }
}
