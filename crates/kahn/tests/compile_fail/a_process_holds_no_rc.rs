//! A process changes threads: what it holds while it waits must be able to.

use std::rc::Rc;

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    network.process("count", numbers, async |mut numbers| {
        let count = Rc::new(0);
        numbers.recv().await;
        drop(count);
    });
}
