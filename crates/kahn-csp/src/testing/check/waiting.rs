//! How long a ready process waits, and what runs before one that yields.

use super::{BrokenLaw, Check, Count, Kept, Worst, counted};
use crate::policy::Waiting;
use crate::{self as csp, Forks, Scope};

/// What a worker has to do besides.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Pairs that always have something to say to each other.
    pairs: u64,
    /// Processes that give way again and again.
    yielding: u64,
    /// Processes that make two others before they give way.
    makers: u64,
}

/// What goes on for so many rounds goes on for ever, as far as victims are concerned. The bound lets
/// a network end whose policy lets none of them run.
const FOR_EVER: u64 = 100_000;

const LOADS: [Load; 6] = [
    Load { pairs: 0, yielding: 0, makers: 0 },
    Load { pairs: 1, yielding: 0, makers: 0 },
    Load { pairs: 0, yielding: 3, makers: 0 },
    Load { pairs: 1, yielding: 3, makers: 0 },
    Load { pairs: 2, yielding: 3, makers: 1 },
    Load { pairs: 0, yielding: 0, makers: 2 },
];

/// A worker with something to do, until a few others have run.
#[derive(Clone, Default)]
struct Busy {
    clock: Count,
    /// Victims that have not run yet.
    left: Count,
    /// Victims that wait, and are about to be woken.
    wait: Count,
    /// Children of makers that were made and have not begun.
    made: Count,
}

impl Load {
    fn begin<'env>(self, busy: &Busy, scope: Scope<'env>, forks: &Forks<'env>) {
        for _ in 0..self.pairs {
            let (mut out, mut numbers) = csp::channel::<()>("pair");
            let left = busy.left.clone();
            forks.spawn("ping", {
                counted(&busy.clock, async move {
                    for _ in (0..FOR_EVER).take_while(|_| left.now() > 0) {
                        out.send(()).await.expect("the other listens");
                    }
                })
            });
            forks.spawn("pong", {
                counted(&busy.clock, async move { while numbers.recv().await.is_ok() {} })
            });
        }
        for number in 0..self.yielding + self.makers {
            let (own, all) = (busy.clone(), busy.clone());
            let is_maker = number >= self.yielding;
            forks.spawn("yielding", {
                counted(&busy.clock, async move {
                    let children = if is_maker { 2 } else { 0 };
                    let rounds = 0..FOR_EVER / (1 + 50 * children);
                    for _ in rounds.take_while(|_| own.left.now() > 0) {
                        for _ in 0..children {
                            all.made.add();
                            let made = all.made.clone();
                            let child = async move { made.subtract() };
                            scope.spawn("child", counted(&all.clock, child));
                        }
                        csp::yield_now().await;
                    }
                })
            });
        }
    }

    /// Of these processes, so many may be ready.
    fn ready(self, busy: &Busy) -> u64 {
        2 * self.pairs + self.yielding + self.makers + busy.made.now()
    }
}

/// Processes that are made ready one after the other, while the worker has other things to do.
pub(super) fn is_bounded(check: &Check) -> Result<Kept, BrokenLaw> {
    let mut worst = Worst::of("bounded waiting");
    for load in LOADS {
        for victims in [1, 10, 50] {
            for is_woken in [true, false] {
                let waits = check.runs(1, async |scope| {
                    let busy = Busy::default();
                    let wakes = wait(scope, load, busy.clone(), victims, is_woken);
                    counted(&busy.clock, wakes).await
                });
                let how = if is_woken { "woken" } else { "made" };
                for (before, dispatches) in waits {
                    let most = check.promises.waiting.most(before);
                    let case = format!("one of {victims} that were {how}, beside {load:?}");
                    let dispatches =
                        if check.promises.waiting == Waiting::Eventually { 0 } else { dispatches };
                    worst.add(dispatches, most, case)?;
                }
            }
        }
    }
    Ok(worst.0)
}

/// For each victim, how many were ready before it, and which dispatch after that was its first.
async fn wait(
    scope: Scope<'_>,
    load: Load,
    busy: Busy,
    victims: u64,
    is_woken: bool,
) -> Vec<(u64, u64)> {
    let forks = scope.forks("all");
    let (mut outs, mut first) = (Vec::new(), Vec::new());
    let (mut talk, mut listens) = csp::channel::<()>("talk");
    if load.pairs > 0 {
        let listens = async move { while listens.recv().await.is_ok() {} };
        forks.spawn("listener", counted(&busy.clock, listens));
    }
    let victim = |mut go: csp::Receiver<()>, ran: Count| {
        let busy = busy.clone();
        counted(&busy.clock.clone(), async move {
            if is_woken {
                busy.wait.add();
                let _ = go.recv().await;
            }
            ran.raise_to(busy.clock.now());
            busy.left.subtract();
        })
    };
    for _ in 0..victims {
        busy.left.add();
        first.push(Count::default());
    }
    load.begin(&busy, scope, &forks);
    let mut goes = Vec::new();
    for ran in &first {
        let (out, go) = csp::buffered::<()>("go", 1);
        outs.push(out);
        if is_woken {
            forks.spawn("victim", victim(go, ran.clone()));
        } else {
            goes.push((go, ran.clone()));
        }
    }
    while is_woken && busy.wait.now() < victims {
        csp::yield_now().await;
    }
    // A new dispatch: all that follows is done in it.
    csp::yield_now().await;
    let mut since = Vec::new();
    let now = |since: &mut Vec<(u64, u64)>| {
        since.push((load.ready(&busy) + since.len() as u64, busy.clock.now()));
    };
    if is_woken {
        for out in &mut outs {
            now(&mut since);
            out.send(()).await.expect("it listens");
        }
    } else {
        for (go, ran) in goes {
            now(&mut since);
            forks.spawn("victim", victim(go, ran));
        }
    }
    // It goes on, with one that is ready after them.
    for _ in (0..FOR_EVER).take_while(|_| load.pairs > 0 && busy.left.now() > 0) {
        talk.send(()).await.expect("the other listens");
    }
    drop(talk);
    forks.join().await;
    since.iter().zip(&first).map(|(&(before, at), ran)| (before, ran.now() - at)).collect()
}

/// All that were ready run before a process that has given way.
pub(super) fn yields(check: &Check) -> Result<Kept, BrokenLaw> {
    let mut worst = Worst::of("`yield_now`");
    for others in [1, 10, 100, 1000] {
        let left = check.runs(1, async |scope| {
            let left = Count::default();
            for _ in 0..others {
                left.add();
                let left = left.clone();
                scope.spawn("other", async move { left.subtract() });
            }
            csp::yield_now().await;
            left.now()
        });
        worst.add(left, 0, format_args!("{others} others"))?;
    }
    Ok(worst.0)
}
