//! The function returns before the network runs: `async move`.

use kahn::{Network, Receiver};

fn copies<'env>(network: &mut Network<'env>, number: u32) -> Receiver<u32> {
    let (out, copies) = network.channel("copies");
    network.process("copy", out, async |mut out| {
        out.send(number).await;
    });
    copies
}

fn main() {
    let mut network = Network::new();
    let _copies = copies(&mut network, 3);
}
