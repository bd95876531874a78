//! A child goes on when the process that made it has ended: `async move`.

fn main() {
    let mut network = kahn::Network::new();
    network.process("parent", network.spawner(), async |mut create| {
        let limit = 7;
        create.process("child", (), async |()| assert!(limit > 6));
    });
}
