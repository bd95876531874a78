//! So must be what it captures.

use std::rc::Rc;

fn main() {
    let mut network = kahn::Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    let offset = Rc::new(1);
    let _more = network.map("more", numbers, move |n| n + *offset);
}
