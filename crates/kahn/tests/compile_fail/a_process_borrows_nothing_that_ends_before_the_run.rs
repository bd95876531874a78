//! What a process borrows must outlive the run.

fn main() {
    let mut network = kahn::Network::new();
    {
        let text = String::from("gone before the run");
        let words = network.source("words", text.split(' '));
        network.for_each("ignore", words, |_| {});
    }
    network.run().unwrap();
}
