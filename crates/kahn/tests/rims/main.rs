//! Where networks meet files, and threads that ask.

mod files;
mod requests;

use kahn::{Network, Options, policy};

/// Ways to run a network that differ.
fn ways() -> Vec<Options> {
    let mut ways = vec![Options::new().policy(policy::SEQUENTIAL).workers(1).capacity(1)];
    for workers in [1, 2, 5] {
        for capacity in [1, 64] {
            ways.push(Options::new().workers(workers).capacity(capacity));
        }
    }
    ways.extend((0..4).map(|seed| Options::new().policy(policy::SEEDED).workers(1).seed(seed)));
    ways.push(Options::new().policy(policy::THREADS));
    ways
}

/// Runs what `build` writes down in each of these ways.
fn each_way(mut run: impl FnMut(Network<'static>, Options)) {
    for options in ways() {
        run(Network::new(), options);
    }
}
