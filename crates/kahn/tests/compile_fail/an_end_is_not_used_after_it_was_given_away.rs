//! An end belongs to one process.

fn main() {
    let mut network = kahn::Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("one", out, async |_out| {});
    network.process("two", out, async |_out| {});
    network.for_each("ignore", numbers, |_| {});
}
