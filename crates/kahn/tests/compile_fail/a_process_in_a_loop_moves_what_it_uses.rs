//! The loop goes on before the network runs: `async move`.

fn main() {
    let mut network = kahn::Network::new();
    for number in 0..3_u32 {
        let (out, copies) = network.channel("copies");
        network.process("copy", out, async |mut out| {
            out.send(number).await;
        });
        network.for_each("ignore", copies, |_| {});
    }
    network.run().unwrap();
}
