//! A part has its network for itself as long as it is written.

fn main() {
    let mut network = kahn::Network::new();
    let mut part = network.scope("part");
    let numbers = part.source("numbers", 0..10_u32);
    let _report = network.run();
    let _sum = part.fold("sum", numbers, 0, |sum, n| sum + n);
}
