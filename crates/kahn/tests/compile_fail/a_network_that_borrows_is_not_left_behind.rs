//! A run beside its caller may outlive it.

use kahn::{Network, Options};

fn begin() -> kahn::Running {
    let text = String::from("gone when this returns");
    let mut network = Network::new();
    let words = network.source("words", text.split(' '));
    network.for_each("ignore", words, |_| {});
    network.run_async(Options::new())
}

fn main() {
    drop(begin());
}
