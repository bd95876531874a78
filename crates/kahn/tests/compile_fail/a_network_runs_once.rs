//! The processes of a network are used up by its run.

fn main() {
    let network = kahn::Network::new();
    network.run().unwrap();
    network.run().unwrap();
}
