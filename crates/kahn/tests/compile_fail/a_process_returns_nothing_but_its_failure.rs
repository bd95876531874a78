//! What a process computes, it sends.

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    network.process("first", numbers, async |mut numbers| numbers.recv().await);
}
