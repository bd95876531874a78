//! Random networks: whatever alternates, times out, is killed or closed, nothing is lost or
//! doubled.

use crate::succeeds;
use kahn_csp::Options;
use kahn_csp::{self as csp, Guard, OneOf2, OneOf5, Process, Receiver, Sender};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

type Message = (usize, u32);
type Ends = ((Receiver<Message>, Receiver<Message>), (Sender<Message>, Sender<Message>));

/// Sends its messages wherever they go, gives some up after a while, and takes what comes; then
/// takes the rest.
async fn station(number: usize, (mut ins, mut outs): Ends, messages: u32) -> (u32, Vec<Message>) {
    let (mut sent, mut received) = (0, Vec::new());
    let (mut open_a, mut open_b) = (true, true);
    let mut next = 0;
    while next < messages {
        let message = (number, next);
        let choice = csp::alt((
            ins.0.recv().when(open_a),
            ins.1.recv().when(open_b),
            outs.0.send(message),
            outs.1.send(message),
            csp::after(Duration::from_millis(1)).when(next % 3 == 0),
        ));
        match choice.await {
            OneOf5::First(Ok(message)) | OneOf5::Second(Ok(message)) => received.push(message),
            OneOf5::First(Err(_)) => open_a = false,
            OneOf5::Second(Err(_)) => open_b = false,
            OneOf5::Third(Ok(())) | OneOf5::Fourth(Ok(())) => {
                sent += 1;
                next += 1;
            }
            OneOf5::Third(Err(_)) | OneOf5::Fourth(Err(_)) => break,
            OneOf5::Fifth(()) => next += 1,
        }
    }
    drop(outs);
    while open_a || open_b {
        match csp::alt((ins.0.recv().when(open_a), ins.1.recv().when(open_b))).await {
            OneOf2::First(Ok(message)) | OneOf2::Second(Ok(message)) => received.push(message),
            OneOf2::First(Err(_)) => open_a = false,
            OneOf2::Second(Err(_)) => open_b = false,
        }
    }
    (sent, received)
}

/// A ring of stations, each joined with the next two.
fn ring(options: Options, stations: usize, messages: u32, capacity: usize, victim: usize) {
    let results = succeeds(options, async move |scope| {
        let channel = || {
            if capacity == 0 { csp::channel("channel") } else { csp::buffered("channel", capacity) }
        };
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for _ in 0..stations {
            near.push(channel());
            far.push(channel());
        }
        let (near_outs, mut near_ins): (Vec<_>, Vec<_>) = near.into_iter().unzip();
        let (far_outs, mut far_ins): (Vec<_>, Vec<_>) = far.into_iter().unzip();
        near_ins.rotate_right(1);
        far_ins.rotate_right(2);
        let ends = near_ins.into_iter().zip(far_ins).zip(near_outs.into_iter().zip(far_outs));
        let processes: Vec<_> = ends
            .enumerate()
            .map(|(number, ends)| {
                let mut process = Process::named("station");
                if number == victim {
                    process = process.killable();
                }
                scope.fork(process, station(number, ends, messages))
            })
            .collect();
        if victim < stations {
            for _ in 0..victim + 2 {
                csp::yield_now().await;
            }
            processes[victim].kill();
        }
        let mut results = Vec::new();
        for process in processes {
            results.push(process.join().await.ok());
        }
        results
    });
    let sent: u32 = results.iter().flatten().map(|(sent, _)| sent).sum();
    let received: Vec<_> = results.iter().flatten().flat_map(|(_, got)| got.clone()).collect();
    let distinct: BTreeSet<_> = received.iter().copied().collect();
    assert_eq!(distinct.len(), received.len(), "a message came twice");
    if results.iter().all(Option::is_some) {
        assert_eq!(received.len(), usize::try_from(sent).expect("few"), "a message was lost");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_or_doubled(
        stations in 3_usize..7,
        messages in 0_u32..12,
        capacity in 0_usize..3,
        victim in 0_usize..14,
        seed in any::<u64>(),
    ) {
        let options = Options::new().policy(kahn_csp::policy::SEEDED).seed(seed).virtual_time(true);
        ring(options, stations, messages, capacity, victim);
        let options = Options::new().workers(2).virtual_time(true);
        ring(options, stations, messages, capacity, victim);
    }
}

#[test]
fn nothing_is_lost_or_doubled_with_real_threads() {
    for round in 0..40 {
        let options = Options::new().workers(1 + round % 4);
        ring(options, 5, 60, round % 3, if round % 5 == 0 { 2 } else { 99 });
    }
}
