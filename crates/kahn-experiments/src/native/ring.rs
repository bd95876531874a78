//! The ring over POSIX message queues: on threads, and on the workers of a network.
//!
//! One token goes round, as in the ring of `kahn-apps`. On threads, a process waits in the queue. On
//! workers it must not, for it would hold the worker: as in the paper (section 3), a channel then has
//! two layers, an upper one that tells the scheduler and a lower one that carries the message.

use std::thread;

use kahn::{Channel, Network, Options, Process, Receiver, Sender};
use kahn_apps::Failure;

use super::limits::{no_thread, refused_thread, room_for};
use super::queue::{LEAST_MESSAGE, QueueReceiver, QueueSender, ring_of_queues};
use crate::experiment::{Measured, Outcome};
use crate::measure::time;

/// Runs the ring with a thread for each process; the time is that of all laps, after one to warm up.
pub(crate) fn thread_ring(processes: usize, laps: usize) -> Outcome {
    let ends = match room_for(processes).and_then(|()| ring_of_queues(processes, LEAST_MESSAGE)) {
        Ok(ends) => ends,
        Err(refused) => return Outcome::Refused(refused),
    };
    thread::scope(|scope| {
        let mut ends = ends.into_iter();
        let Some((mut left, mut right)) = ends.next() else {
            return Outcome::Measured(Measured::seconds(0.0));
        };
        let mut refusal = None;
        for (index, (left, right)) in ends.enumerate() {
            // A small stack, so that memory is not what limits their number.
            let thread = thread::Builder::new().stack_size(128 * 1024);
            let name = format!("element {}", index + 1);
            match thread.name(name).spawn_scoped(scope, move || pass_on(left, right)) {
                Ok(_) => {}
                Err(error) => {
                    refusal = Some(no_thread(&error.to_string()));
                    break;
                }
            }
        }
        if let Some(refused) = refusal {
            // The last one started has nobody to send to: its queue takes the 0.
            right.send(0);
            return Outcome::Refused(refused);
        }
        right.send(1);
        let mut token = left.recv();
        let (seconds, ()) = time(|| {
            for _ in 0..laps {
                right.send(token + 1);
                token = left.recv();
            }
        });
        right.send(0);
        left.recv();
        Outcome::Measured(Measured::seconds(seconds))
    })
}

/// An element: passes the token on, and ends with the 0 behind it.
fn pass_on(mut left: QueueReceiver, mut right: QueueSender) {
    loop {
        match left.recv() {
            0 => return right.send(0),
            token => right.send(token + 1),
        }
    }
}

/// One end of each layer.
type In = (Receiver<()>, QueueReceiver);
type Out = (Sender<()>, QueueSender);

/// Runs the ring on the workers of a network, the messages of so many bytes in queues.
pub(crate) fn network_ring(
    processes: usize,
    laps: usize,
    bytes: usize,
    options: Options,
) -> Result<Outcome, Failure> {
    let queues = match ring_of_queues(processes, bytes) {
        Ok(queues) => queues,
        Err(refused) => return Ok(Outcome::Refused(refused)),
    };
    let mut seconds = 0.0;
    let mut network = Network::new();
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..processes)
        .map(|index| network.channel_with(Channel::<()>::named(format!("to {index}")).capacity(1)))
        .unzip();
    senders.rotate_left(1);
    let mut ends = receivers.into_iter().zip(senders).zip(queues);
    if let Some(((left, right), (queue_left, queue_right))) = ends.next() {
        let seconds = &mut seconds;
        // When its last 0 comes home, nobody reads what it sends any more; it has a time to tell.
        let process = Process::named("root").effects();
        network.process_with(process, (left, right), async move |(left, right)| {
            *seconds = root((left, queue_left), (right, queue_right), laps).await;
        });
    }
    for (index, ((left, right), (queue_left, queue_right))) in ends.enumerate() {
        let name = format!("element {}", index + 1);
        network.process(name, (left, right), async |(left, right)| {
            relay((left, queue_left), (right, queue_right)).await;
        });
    }
    match network.run_with(options) {
        Ok(_) => {}
        Err(error) => {
            return error
                .report()
                .and_then(refused_thread)
                .map(Outcome::Refused)
                .ok_or_else(|| error.into());
        }
    }
    Ok(Outcome::Measured(Measured::seconds(seconds)))
}

/// Sends the message and then tells the scheduler: what is told finds it in the queue.
async fn send((sender, queue): &mut Out, number: u64) {
    queue.send(number);
    sender.send(()).await;
}

async fn recv((receiver, queue): &mut In) -> Option<u64> {
    receiver.recv().await?;
    Some(queue.recv())
}

async fn root(mut left: In, mut right: Out, laps: usize) -> f64 {
    send(&mut right, 1).await;
    let mut token = recv(&mut left).await.unwrap_or(0);
    let clock = crate::measure::Clock::start();
    for _ in 0..laps {
        send(&mut right, token + 1).await;
        token = recv(&mut left).await.unwrap_or(0);
    }
    let seconds = clock.seconds();
    send(&mut right, 0).await;
    recv(&mut left).await;
    seconds
}

async fn relay(mut left: In, mut right: Out) {
    while let Some(token) = recv(&mut left).await {
        if token == 0 {
            return send(&mut right, 0).await;
        }
        send(&mut right, token + 1).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_ring_of_queues_comes_round() {
        for processes in [1, 2, 5] {
            let options = Options::new().workers(1);
            let network = network_ring(processes, 3, 128, options).unwrap();
            for outcome in [thread_ring(processes, 3), network] {
                match outcome {
                    Outcome::Measured(measured) => assert!(measured.0["seconds"] > 0.0),
                    Outcome::Refused(refused) => {
                        // So few fit wherever there are such queues at all.
                        let _ = writeln!(std::io::stderr(), "skipped: {}", refused.limit);
                        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"));
                    }
                }
            }
        }
    }
}
