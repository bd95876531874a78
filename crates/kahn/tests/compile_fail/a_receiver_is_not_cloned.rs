//! A channel has one receiver: two would take messages from each other.

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    network.for_each("one", numbers.clone(), |_| {});
    network.for_each("two", numbers, |_| {});
}
