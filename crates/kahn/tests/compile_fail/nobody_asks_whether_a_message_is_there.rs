//! Whether a message is there depends on the schedule: there is no way to ask.

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    network.process("ask", numbers, async |mut numbers| {
        numbers.try_recv();
        numbers.len();
        numbers.is_empty();
    });
}
