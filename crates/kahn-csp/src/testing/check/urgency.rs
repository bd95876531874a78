//! Where and how urgent are independent; a more urgent process is the next to run.

use super::{BrokenLaw, Check, Count, Kept, Worst, counted};
use crate::{self as csp, Priority, Process};

/// Pinned or not, a background process waits while a usual one is ready.
pub(super) fn is_independent_of_place(check: &Check) -> Result<Kept, BrokenLaw> {
    let mut worst = Worst::of("where and how urgent are independent");
    for (background, usual) in [(true, true), (true, false), (false, true)] {
        let place =
            |process: Process, is_pinned| if is_pinned { process.worker(0) } else { process };
        let ran = check.runs(1, async |scope| {
            let (clock, left) = (Count::default(), Count::default());
            let forks = scope.forks("both");
            let process = place(Process::named("background"), background);
            forks.spawn(process.priority(Priority::Background), {
                let left = left.clone();
                counted(&clock, async move {
                    while left.now() == 0 {
                        csp::yield_now().await;
                    }
                })
            });
            let (dispatches, before) = (clock.clone(), Count::default());
            let ran = before.clone();
            forks.spawn(place(Process::named("usual"), usual), async move {
                for _ in 0..100 {
                    csp::yield_now().await;
                }
                ran.raise_to(dispatches.now());
                left.add();
            });
            forks.join().await;
            before.now()
        });
        let case = format!("background pinned: {background}, usual pinned: {usual}");
        worst.add(ran, 0, case)?;
    }
    Ok(worst.0)
}

/// A process that has made a more urgent one ready completes nothing before that has run.
pub(super) fn switches_at_once(check: &Check) -> Result<Kept, BrokenLaw> {
    const ROUNDS: u64 = 100;
    let mut worst = Worst::of("urgency");
    for (waker, woken) in [
        (Priority::Usual, Priority::Urgent),
        (Priority::Background, Priority::Usual),
        (Priority::Background, Priority::Urgent),
    ] {
        let late = check.runs(1, async |scope| {
            let (ran, late) = (Count::default(), Count::default());
            let (mut ask, mut asked) = csp::channel::<()>("ask");
            let forks = scope.forks("all");
            let seen = ran.clone();
            forks.spawn(Process::named("woken").priority(woken), async move {
                while asked.recv().await.is_ok() {
                    seen.add();
                }
            });
            let is_late = late.clone();
            forks.spawn(Process::named("waker").priority(waker), async move {
                let (mut out, mut back) = csp::buffered::<()>("round", 1);
                for round in 1..=ROUNDS {
                    ask.send(()).await.expect("it listens");
                    out.send(()).await.expect("we hold the other end");
                    if ran.now() < round {
                        is_late.add();
                    }
                    back.recv().await.expect("we hold the other end");
                }
            });
            forks.join().await;
            late.now()
        });
        worst.add(late, 0, format_args!("{waker:?} wakes {woken:?}"))?;
    }
    Ok(worst.0)
}
