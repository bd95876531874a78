//! A dispatch ends, and what is ready meanwhile runs elsewhere.

use super::{BrokenLaw, Check, Count, Kept, Worst, counted};
use crate as csp;
use std::thread;

/// Operations of one dispatch, with the processes that it makes.
const MOST: u64 = 128;
const ROUNDS: u64 = 2_000;

/// A process that never has to wait, in three ways.
pub(super) fn ends(check: &Check) -> Result<Kept, BrokenLaw> {
    let mut worst = Worst::of("a dispatch ends");
    for (case, children) in [("sends to itself", 0), ("makes a child each time", 1)] {
        let most = check.runs(1, async |scope| {
            let (dispatches, most) = (Count::default(), Count::default());
            let seen = most.clone();
            let clock = dispatches.clone();
            let busy = scope.fork(
                "busy",
                counted(&dispatches, async move {
                    let (mut out, mut back) = csp::buffered::<u64>("round", 1);
                    let (mut dispatch, mut done) = (clock.now(), 0);
                    for round in 0..ROUNDS {
                        for _ in 0..children {
                            scope.spawn("child", async {});
                            done += 1;
                        }
                        for operation in 0..2 {
                            if operation == 0 {
                                out.send(round).await.expect("we hold the other end");
                            } else {
                                back.recv().await.expect("we hold the other end");
                            }
                            if clock.now() != dispatch {
                                (dispatch, done) = (clock.now(), 0);
                            }
                            done += 1;
                            seen.raise_to(done);
                        }
                    }
                }),
            );
            busy.join().await.expect("it does not fail");
            most.now()
        });
        // What a dispatch begins with waited at the end of the one before.
        worst.add(most, MOST + children, format_args!("one that {case}"))?;
    }
    Ok(worst.0)
}

/// A process holds its worker until all that it has made ready have run.
pub(super) fn work_is_found(check: &Check) -> Result<Kept, BrokenLaw> {
    let mut worst = Worst::of("work is found");
    for (others, is_woken) in [(1, false), (1, true), (7, false), (7, true), (300, false)] {
        let left = check.runs(2, async |scope| {
            let ran = Count::default();
            let forks = scope.forks("others");
            let mut outs = Vec::new();
            for _ in 0..others {
                let ran = ran.clone();
                let (out, mut go) = csp::buffered::<()>("go", 1);
                if is_woken {
                    outs.push(out);
                } else {
                    drop(out);
                }
                forks.spawn("other", async move {
                    let _ = go.recv().await;
                    ran.add();
                });
            }
            if is_woken {
                // All of them wait before they are woken.
                for _ in 0..4 {
                    csp::yield_now().await;
                }
                for out in &mut outs {
                    out.send(()).await.expect("it listens");
                }
            }
            // Within one poll. The bound lets a policy that breaks the law end some time.
            let mut looks = 0_u64;
            while ran.now() < others && looks < 2_000_000 {
                looks += 1;
                thread::yield_now();
            }
            let left = others - ran.now();
            forks.join().await;
            left
        });
        let how = if is_woken { "woken" } else { "made" };
        worst.add(
            left,
            0,
            format_args!("{others} that were {how} by one that holds its thread"),
        )?;
    }
    Ok(worst.0)
}
