//! What a process captures goes with it to another thread: share it by `Arc`.

use std::rc::Rc;

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    let limit = Rc::new(7);
    network.process("limit", numbers, async move |mut numbers| {
        while numbers.recv().await < Some(*limit) {}
    });
}
