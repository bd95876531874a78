//! What is ready does not grow without bound where no process waits for it.

use super::{BrokenLaw, Check, Count, Kept, Worst};
use crate::{self as csp, Scope};
use std::pin::Pin;

/// Children that were made and have not begun.
#[derive(Clone, Default)]
struct Ready {
    now: Count,
    most: Count,
}

impl Ready {
    fn spawn(&self, scope: Scope<'_>) {
        self.now.add();
        self.most.raise_to(self.now.now());
        let ready = self.now.clone();
        scope.spawn("child", async move { ready.subtract() });
    }
}

/// Makers that no process waits for, and that wait or yield after `m` children.
pub(super) fn open_loops(check: &Check) -> Result<Kept, BrokenLaw> {
    const CHILDREN: u64 = 40_000;
    let mut worst = Worst::of("open loops stay small");
    let allowed = |makers: u64, each: u64| makers * (256 + 64 * each);
    for makers in [1, 4] {
        for each in [1, 7, 100] {
            let most = check.runs(1, async |scope| {
                let ready = Ready::default();
                let forks = scope.forks("makers");
                for _ in 0..makers {
                    let ready = ready.clone();
                    forks.spawn("maker", async move {
                        for _ in 0..CHILDREN / each {
                            (0..each).for_each(|_| ready.spawn(scope));
                            csp::yield_now().await;
                        }
                    });
                }
                forks.join().await;
                ready.most.now()
            });
            let case = format!("{makers} makers that yield after {each} children");
            worst.add(most, allowed(makers, each), case)?;
            let most = check.runs(1, async |scope| {
                let ready = Ready::default();
                let forks = scope.forks("servers");
                for _ in 0..makers {
                    let (mut ask, mut requests) = csp::channel::<()>("requests");
                    forks.spawn("client", async move {
                        for _ in 0..CHILDREN / each {
                            ask.send(()).await.expect("the server listens");
                        }
                    });
                    let ready = ready.clone();
                    forks.spawn("server", async move {
                        while requests.recv().await.is_ok() {
                            (0..each).for_each(|_| ready.spawn(scope));
                        }
                    });
                }
                forks.join().await;
                ready.most.now()
            });
            let case = format!("{makers} servers that make {each} handlers a request");
            worst.add(most, allowed(makers, each), case)?;
        }
    }
    Ok(worst.0)
}

/// Forks two children at each node, and waits for them or does not.
fn tree<'env>(
    scope: Scope<'env>,
    ready: Ready,
    depth: u32,
    joins: bool,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'env>> {
    Box::pin(async move {
        ready.now.subtract();
        if depth == 0 {
            return;
        }
        let children = [(); 2].map(|()| {
            ready.now.add();
            ready.most.raise_to(ready.now.now());
            scope.fork("node", tree(scope, ready.clone(), depth - 1, joins))
        });
        for child in children {
            if joins {
                child.join().await.expect("it does not fail");
            }
        }
    })
}

/// A tree of forks is run in depth.
pub(super) fn forks(check: &Check) -> Result<Kept, BrokenLaw> {
    let mut worst = Worst::of("a tree of forks is run in depth");
    for depth in [6, 10, 15] {
        for joins in [true, false] {
            let most = check.runs(1, async |scope| {
                let ready = Ready::default();
                ready.now.add();
                scope.spawn("root", tree(scope, ready.clone(), depth, joins));
                csp::yield_now().await;
                ready.most
            });
            let depth = u64::from(depth);
            let case = format!("depth {depth}, joined: {joins}");
            worst.add(most.now(), (64 * depth).max((1 << depth) / 50), case)?;
        }
    }
    Ok(worst.0)
}
