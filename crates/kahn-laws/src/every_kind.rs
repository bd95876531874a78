//! A network in which processes of every kind wait for each other, for tests of what is told of a run.

use kahn::{Network, Receiver, Sender};

/// Adds processes of every kind behind `numbers`: a blocking one, one made at run time behind a channel made at
/// run time, a ring that grows, and a reader that leaves after ten messages.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel("numbers");
/// network.process("source", out, async |mut out| out.send_all(0..20).await);
/// kahn_laws::add_every_kind(&mut network, numbers);
/// assert!(network.run().expect("it runs").is_success());
/// ```
pub fn add_every_kind(network: &mut Network<'_>, numbers: Receiver<u64>) {
    let (out, texts) = network.channel::<String>("texts");
    network.blocking("print", (numbers, out), |(mut numbers, mut out)| {
        while let Some(number) = numbers.recv_blocking() {
            out.send_blocking(number.to_string());
        }
    });
    let spawner = network.spawner();
    let (out, lengths) = network.channel::<usize>("lengths");
    network.process("deal", (texts, out, spawner), async |(mut texts, out, mut spawner)| {
        let (mut on, parts) = spawner.channel::<String>("parts");
        let measure = async |(mut parts, mut out): (Receiver<String>, Sender<usize>)| {
            while let Some(part) = parts.recv().await {
                out.send(part.len()).await;
            }
        };
        spawner.process("measure", (parts, out), measure);
        while let Some(text) = texts.recv().await {
            on.send(text).await;
        }
    });
    network.fold("sum", lengths, 0, |sum, n| sum + n);
    let (to, from) = network.channel::<u32>("left");
    let (back, returned) = network.channel::<u32>("right");
    // More than fit are sent before any is received.
    network.process("left", (to, returned), async |(mut to, mut returned)| {
        to.send_all(0..70).await;
        drop(to);
        while returned.recv().await.is_some() {}
    });
    network.process("right", (back, from), async |(mut back, mut from)| {
        back.send_all(0..70).await;
        drop(back);
        while from.recv().await.is_some() {}
    });
    let (out, ten) = network.channel::<u32>("ten");
    network.process("ever", out, async |mut out| {
        for n in 0.. {
            out.send(n).await;
        }
    });
    network.process("ten", ten, async |mut ten| {
        for _ in 0..10 {
            ten.recv().await;
        }
    });
}
