//! The function returns before the network runs: `move`.

use kahn::{Network, Receiver};

fn more(network: &mut Network<'static>, numbers: Receiver<u32>, by: u32) -> Receiver<u32> {
    network.map("more", numbers, |n| n + by)
}

fn main() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    let _more = more(&mut network, numbers, 3);
}
