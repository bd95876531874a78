//! Time: never early, in the order of the deadlines, thousands at once; virtual time.

use crate::succeeds;
use kahn_csp::Options;
use kahn_csp::{self as csp, OneOf2};
use std::time::Duration;

fn virtually(workers: usize) -> Options {
    Options::new().workers(workers).virtual_time(true)
}

#[test]
fn nobody_is_woken_early() {
    for options in [Options::new(), Options::new().workers(1), virtually(2)] {
        succeeds(options, async |scope| {
            let sleepers = (0..200_u64).map(|n| async move {
                let duration = Duration::from_micros(n * 37 % 1000);
                let start = csp::now();
                csp::after(duration).await;
                assert!(csp::now() - start >= duration, "early");
            });
            scope.par(sleepers.collect::<Vec<_>>()).await.expect("nobody is early");
        });
    }
}

#[test]
fn thousands_wake_in_the_order_of_their_deadlines() {
    let order = succeeds(virtually(1), async |scope| {
        let (out, mut woken) = csp::buffered::<u64>("woken", 5000);
        let out = csp::Shared::new("woken", out);
        for n in 0..5000_u64 {
            let out = out.clone();
            let due = n * 7919 % 5000 + 1;
            scope.spawn("sleeper", async move {
                csp::after(Duration::from_secs(due)).await;
                out.claim().await.send(due).await
            });
        }
        drop(out);
        let mut order = Vec::new();
        while let Ok(due) = woken.recv().await {
            order.push(due);
        }
        order
    });
    assert_eq!(order, (1..=5000).collect::<Vec<_>>());
}

#[test]
fn a_time_out_loses_no_message() {
    for seed in 0..50 {
        let options = Options::new().policy(kahn_csp::policy::SEEDED).seed(seed).virtual_time(true);
        let (sent, received) = succeeds(options, async |scope| {
            let (mut out, mut input) = csp::channel::<u64>("channel");
            let sender = scope.fork("sender", async move {
                let mut sent = 0;
                for n in 0..20 {
                    csp::after(Duration::from_millis(n * 13 % 7)).await;
                    let limit = csp::after(Duration::from_millis(n % 4));
                    if let OneOf2::First(Ok(())) = csp::alt((out.send(n), limit)).await {
                        sent += 1;
                    }
                }
                sent
            });
            let mut received = 0;
            loop {
                match csp::alt((input.recv(), csp::after(Duration::from_millis(3)))).await {
                    OneOf2::First(Ok(_)) => received += 1,
                    OneOf2::First(Err(_)) => break,
                    OneOf2::Second(()) => {}
                }
            }
            (sender.join().await.expect("it ends"), received)
        });
        assert_eq!(sent, received, "seed {seed}");
    }
}

#[test]
fn virtual_time_does_not_pass_while_anything_can_run() {
    let times = succeeds(virtually(1), async |scope| {
        let busy = scope.fork("busy", async {
            for _ in 0..1000 {
                csp::yield_now().await;
            }
            csp::now()
        });
        csp::after(Duration::from_nanos(1)).await;
        (busy.join().await.expect("it ends").since_start(), csp::now().since_start())
    });
    assert_eq!(times, (Duration::ZERO, Duration::from_nanos(1)));
}
