//! What a look from outside finds: each process once, and what it does; also on one worker, where no other thread
//! may look behind a gate.

use crate::{everywhere, policy_named, succeeds};
use kahn_csp::{self as csp, Handle, Options, Process};
use kahn_report::observe::{Doing, Look, Sampled, Survey};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

const ALL: std::ops::Range<usize> = 0..usize::MAX;

/// What processes do, by name.
fn found(handle: &Handle) -> (BTreeMap<String, Doing>, Survey) {
    let mut look = Look::default();
    handle.look(ALL, &mut look);
    let survey = handle.survey(ALL, ALL);
    let doing: BTreeMap<_, _> = look.processes.iter().copied().collect();
    assert_eq!(doing.len(), look.processes.len(), "a process was told twice");
    let by_name = survey.processes.iter().filter_map(|process| {
        doing.get(&process.id).map(|doing| (process.name.to_string(), *doing))
    });
    (by_name.collect(), survey)
}

/// Looks until it finds this, for the others park when they have run.
async fn until(expected: &[(&str, Doing)]) -> Survey {
    let handle = csp::handle();
    loop {
        let (doing, survey) = found(&handle);
        if expected.iter().all(|(name, wanted)| doing.get(*name) == Some(wanted)) {
            return survey;
        }
        csp::yield_now().await;
    }
}

/// A future that another wakes.
#[derive(Clone, Default)]
struct Called(Arc<Mutex<(bool, Option<Waker>)>>);

impl Called {
    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock();
            state.1 = Some(context.waker().clone());
            if state.0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn call(&self) {
        let waker = {
            let mut state = self.0.lock();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Processes that wait in every way, and one that looks; `then` is called when all of them wait.
async fn wait_in_every_way(scope: csp::Scope<'_>, then: impl FnOnce(&Survey)) {
    let (mut into, mut sent) = csp::channel::<u32>("sent");
    let (mut never, mut heard) = csp::channel::<u32>("heard");
    let (mut fill, mut full) = csp::buffered::<u32>("full", 3);
    let (mut one, mut of_one) = csp::channel::<u32>("one");
    let (_other, mut of_other) = csp::channel::<u32>("other");
    let (last, mut killed) = csp::channel::<u32>("last");
    let (shared, bucket, called) =
        (csp::Shared::new("shared", ()), csp::Bucket::new("bucket"), Called::default());
    let mut barrier = csp::Barrier::new("barrier");
    let claim = shared.claim().await;
    scope.spawn("sends", async move { into.send(1).await });
    scope.spawn("fills", async move {
        for n in 0..4 {
            fill.send(n).await?;
        }
        Ok::<(), csp::Unsent<u32>>(())
    });
    let hears = scope.fork("hears", async move { heard.recv().await });
    scope.spawn("chooses", async move {
        let _ = csp::alt((of_one.recv(), of_other.recv())).await;
    });
    let killable = Process::named("killable").killable();
    let killable = scope.fork(killable, async move { killed.recv().await });
    let theirs = shared.clone();
    scope.spawn("claims", async move { drop(theirs.claim().await) });
    let mut theirs = barrier.clone();
    scope.spawn("syncs", async move { theirs.sync().await });
    let theirs = bucket.clone();
    scope.spawn("falls in", async move { theirs.fall_in().await });
    scope.spawn("joins", async move { drop(hears.join().await) });
    scope.spawn("sleeps", async { csp::after(Duration::from_secs(3600)).await });
    let theirs = called.clone();
    scope.spawn("foreign", async move { theirs.wait().await });
    let survey = until(&[
        ("main", Doing::Busy),
        ("sends", Doing::WaitsForRoom),
        ("fills", Doing::WaitsForRoom),
        ("hears", Doing::WaitsForMessage),
        ("chooses", Doing::WaitsForMessage),
        ("killable", Doing::WaitsForMessage),
        ("claims", Doing::WaitsForMessage),
        ("syncs", Doing::WaitsForMessage),
        ("falls in", Doing::WaitsForMessage),
        ("joins", Doing::WaitsForMessage),
        ("sleeps", Doing::WaitsOutside),
        ("foreign", Doing::WaitsOutside),
    ])
    .await;
    then(&survey);
    assert_eq!(sent.recv().await, Ok(1));
    while full.recv().await.is_ok() {}
    let _ = (never.send(1).await, one.send(1).await);
    killable.kill();
    drop((claim, last));
    bucket.flush();
    barrier.sync().await;
    called.call();
}

#[test]
fn each_process_is_found_doing_what_it_does() {
    let told = |survey: &Survey| {
        let process = |name: &str| survey.processes.iter().find(|p| p.name == *name).cloned();
        let channel = |name: &str| survey.channels.iter().find(|c| c.name == *name).cloned();
        let (sends, sent) = (process("sends").unwrap(), channel("sent").unwrap());
        assert_eq!((sends.waits_at, sent.from), (Some(sent.id), Some(sends.id)));
        assert_eq!((sent.capacity, sent.sent, sent.received), (0, 0, 0));
        let full = channel("full").unwrap();
        assert_eq!((full.capacity, full.sent - full.received), (3, 3), "it is full");
        assert_eq!(process("hears").unwrap().waits_at, channel("heard").map(|heard| heard.id));
        assert_eq!(process("claims").unwrap().waits_at, None);
        assert_eq!(survey.channel_places, survey.channels.len());
        assert!(survey.rings.is_empty(), "{:?}", survey.rings);
        let ids: std::collections::BTreeSet<_> = survey.channels.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), survey.channels.len(), "each has an identity");
    };
    let network = |options: Options| {
        let handle = Handle::new();
        let options = options.virtual_time(true);
        let run = handle.run(options, async |scope| wait_in_every_way(scope, told).await);
        let mut look = Look::default();
        handle.look(ALL, &mut look);
        assert!(look.processes.is_empty() && look.workers.is_empty(), "it has ended");
        assert!(handle.survey(ALL, ALL).channels.is_empty());
        run.map(drop)
    };
    let before = Handle::new();
    let mut look = Look::default();
    before.look(ALL, &mut look);
    assert!(look.processes.is_empty() && look.places == 0, "it has not begun");
    everywhere(network, |run| run.expect("it ends well"));
}

/// What waits is ready from the moment that its wait is ended, and not only when it runs.
#[test]
fn what_was_woken_is_ready_until_it_runs() {
    let ready = async |handle: &Handle, name: &str| {
        let (doing, _) = found(handle);
        assert_eq!(doing[name], Doing::Ready, "{name}");
        csp::yield_now().await;
    };
    for policy in ["stealing", "sequential", "shared"] {
        let options = Options::new().workers(1).policy(policy_named(policy));
        succeeds(options, async |scope| {
            let handle = csp::handle();
            let (shared, bucket) = (csp::Shared::new("shared", ()), csp::Bucket::new("bucket"));
            let claim = shared.claim().await;
            let theirs = shared.clone();
            scope.spawn("claims", async move {
                drop(theirs.claim().await);
                csp::yield_now().await;
                // It has not to wait now, and gives way twice.
                drop(theirs.claim().await);
                csp::yield_now().await;
            });
            until(&[("claims", Doing::WaitsForMessage)]).await;
            drop(claim);
            ready(&handle, "claims").await;
            ready(&handle, "claims").await;

            let theirs = bucket.clone();
            scope.spawn("falls in", async move { theirs.fall_in().await });
            until(&[("falls in", Doing::WaitsForMessage)]).await;
            bucket.flush();
            ready(&handle, "falls in").await;

            let (mut out, mut sent) = csp::channel::<u32>("sent");
            scope.spawn("sends", async move { out.send(1).await });
            until(&[("sends", Doing::WaitsForRoom)]).await;
            assert_eq!(sent.recv().await, Ok(1));
            ready(&handle, "sends").await;

            let mut barrier = csp::Barrier::new("barrier");
            let mut theirs = barrier.clone();
            scope.spawn("syncs", async move {
                theirs.sync().await;
                drop(theirs);
                csp::yield_now().await;
            });
            until(&[("syncs", Doing::WaitsForMessage)]).await;
            barrier.sync().await;
            ready(&handle, "syncs").await;
        });
    }
}

/// Two processes that wait for each other for ever, beside one that looks until it has seen that.
#[test]
fn a_ring_that_is_stuck_is_found_while_the_rest_runs() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut a, mut from_a) = csp::channel::<u32>("a");
                let (mut b, mut from_b) = csp::channel::<u32>("b");
                // Each uses both once, so it is known which process has which end.
                let left = scope.fork(Process::named("left").killable(), async move {
                    a.send(1).await.ok()?;
                    from_b.recv().await.ok()?;
                    a.send(2).await.ok()
                });
                let right = scope.fork(Process::named("right").killable(), async move {
                    from_a.recv().await.ok()?;
                    b.send(1).await.ok()?;
                    b.send(2).await.ok()
                });
                let handle = csp::handle();
                let ring = loop {
                    let survey = handle.survey(ALL, ALL);
                    let stuck = survey.processes.iter().filter(|process| process.is_stuck);
                    let stuck: Vec<_> = stuck.map(|process| process.name.to_string()).collect();
                    if let [ring] = &survey.rings[..]
                        && stuck.len() == 2
                    {
                        break ring.iter().map(|member| member.process.to_string()).collect();
                    }
                    csp::yield_now().await;
                };
                left.kill();
                right.kill();
                let mut ring: Vec<String> = ring;
                ring.sort_unstable();
                ring
            })
        },
        |ring| assert_eq!(ring, ["left", "right"]),
    );
}

/// A part of the tables is told by its places, and all of them together are all.
#[test]
fn parts_of_the_tables_make_up_all_of_them() {
    let all = succeeds(Options::new().workers(2), async |scope| {
        let (gate, handle) = (csp::Bucket::new("gate"), csp::handle());
        let mut kept = Vec::new();
        for _ in 0..150 {
            kept.push(csp::channel::<u32>("channel"));
            let gate = gate.clone();
            scope.spawn("waits", async move { gate.fall_in().await });
        }
        let whole = handle.survey(ALL, ALL);
        let (mut processes, mut channels) = (Vec::new(), Vec::new());
        for first in (0..whole.process_places.max(150)).step_by(40) {
            let part = handle.survey(first..first + 40, first..first + 40);
            processes.extend(part.processes.iter().map(|process| process.id));
            channels.extend(part.channels.iter().map(|channel| channel.id));
        }
        gate.flush();
        while gate.count() > 0 {
            gate.flush();
        }
        let of_whole = (
            whole.processes.iter().map(|process| process.id).collect::<Vec<_>>(),
            whole.channels.iter().map(|channel| channel.id).collect::<Vec<_>>(),
        );
        while handle.survey(ALL, 0..0).processes.len() > 1 {
            gate.flush();
            csp::yield_now().await;
        }
        (of_whole, (processes, channels))
    });
    assert_eq!(all.0, all.1);
    assert_eq!((all.0.0.len(), all.0.1.len()), (151, 150));
}
