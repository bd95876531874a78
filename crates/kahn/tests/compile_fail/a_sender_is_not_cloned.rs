//! A channel has one sender: two would make the order of messages a matter of the schedule.

fn main() {
    let mut network = kahn::Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    let again = out.clone();
    network.process("one", out, async |_out| {});
    network.process("two", again, async |_out| {});
    network.for_each("ignore", numbers, |_| {});
}
