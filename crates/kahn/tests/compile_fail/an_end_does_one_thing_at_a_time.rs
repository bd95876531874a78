//! An operation borrows its end until it is complete.

fn main() {
    let mut network = kahn::Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("two at once", out, async |mut out| {
        let first = out.send(1);
        let second = out.send(2);
        second.await;
        first.await;
    });
    network.for_each("ignore", numbers, |_| {});
}
