//! What a process uses beside its ports, its closure captures.

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    network.process("limit", (numbers, 7_u32), async |(mut numbers, limit)| {
        let _below = numbers.recv().await < Some(limit);
    });
}
