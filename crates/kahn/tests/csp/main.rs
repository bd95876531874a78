//! The laws of communicating processes.

use kahn::{RunOptions, csp};

fn ring(options: RunOptions, processes: u32, tokens: u32, cycles: u32) -> u64 {
    csp::run(options, async |scope| {
        let (mut first, mut left) = csp::channel::<u32>("ring");
        for _ in 1..processes {
            let (mut out, next) = csp::channel::<u32>("ring");
            let mut input = std::mem::replace(&mut left, next);
            scope.spawn("element", async move {
                while let Ok(token) = input.recv().await {
                    if token == 0 {
                        let _ = out.send(0).await;
                        return;
                    }
                    if out.send(token + 1).await.is_err() {
                        return;
                    }
                }
            });
        }
        first.send(1).await.expect("the ring is closed");
        left.recv().await.expect("the ring is closed");
        for token in 1..=tokens {
            first.send(token).await.expect("the ring is closed");
        }
        for _ in 0..cycles * tokens {
            let token = left.recv().await.expect("the ring is closed");
            first.send(token + 1).await.expect("the ring is closed");
        }
        let mut total = 0;
        for _ in 0..tokens {
            total += u64::from(left.recv().await.expect("the ring is closed"));
        }
        first.send(0).await.expect("the ring is closed");
        let _ = left.recv().await;
        total
    })
    .expect("the ring finishes")
    .result
}

#[test]
fn a_ring_counts() {
    for policy in ["ws-cur", "sequential", "seeded", "ws-last", "shared", "threads"] {
        for workers in [1, 2, 4] {
            for tokens in [1, 4, 7] {
                let options = RunOptions::new().workers(workers).policy(policy);
                let (t, n, c) = (u64::from(tokens), 8, 20);
                assert_eq!(
                    ring(options, 8, tokens, 20),
                    t * (t + 1) / 2 + t * (n - 1 + n * c),
                    "{policy} {workers}"
                );
            }
        }
    }
}
