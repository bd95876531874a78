//! Barriers, claims and events in alternations: all take the phase or none does, a claim that is
//! not chosen holds up nobody.

use crate::{everywhere, succeeds};
use kahn_csp::Options;
use kahn_csp::{self as csp, Barrier, Guard, OneOf2, Process};
use std::time::Duration;

const PHASES: u32 = 4;
const JOBS: u32 = 12;

/// Takes jobs whenever there are some, and offers the phase all the while.
async fn worker(mut phase: Barrier, mut jobs: csp::Receiver<u32>) -> (u32, u32) {
    let (mut phases, mut sum) = (0, 0);
    while phases < PHASES {
        match csp::alt((jobs.recv(), phase.sync())).await {
            OneOf2::First(job) => sum += job.expect("jobs come until the last phase"),
            OneOf2::Second(()) => phases += 1,
        }
    }
    (phases, sum)
}

#[test]
fn a_phase_is_taken_by_all_that_offer_it_or_by_none() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut phase = Barrier::new("phase");
                let mut outs = Vec::new();
                let mut workers = Vec::new();
                for _ in 0..4 {
                    let (out, jobs) = csp::channel("jobs");
                    outs.push(out);
                    workers.push(scope.fork("worker", worker(phase.clone(), jobs)));
                }
                for _ in 0..PHASES {
                    for job in 1..=JOBS {
                        let out = &mut outs[job as usize % 4];
                        out.send(job).await.expect("the worker is in the phase");
                    }
                    phase.sync().await;
                }
                let mut all = Vec::new();
                for worker in workers {
                    all.push(worker.join().await.expect("it does not panic"));
                }
                all
            })
        },
        |all| {
            assert!(all.iter().all(|&(phases, _)| phases == PHASES), "{all:?}");
            let sum: u32 = all.iter().map(|&(_, sum)| sum).sum();
            assert_eq!(sum, PHASES * JOBS * (JOBS + 1) / 2);
        },
    );
}

/// Each has a barrier with either neighbour and offers both, until it has met both; so barriers
/// compete for the same processes all the time.
#[test]
fn of_two_barriers_that_want_a_process_one_gets_it() {
    const PROCESSES: usize = 6;
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut firsts = Vec::new();
                let mut seconds = Vec::new();
                for _ in 0..PROCESSES {
                    let barrier = Barrier::new("between two");
                    seconds.push(barrier.clone());
                    firsts.push(barrier);
                }
                seconds.rotate_left(1);
                let pairs = firsts.into_iter().zip(seconds);
                let processes = pairs.map(|(mut left, mut right)| async move {
                    let mut met = (0, 0);
                    while met != (20, 20) {
                        let round = met.0.min(met.1);
                        let choice = csp::alt((
                            left.sync().when(met.0 == round),
                            right.sync().when(met.1 == round),
                        ));
                        match choice.await {
                            OneOf2::First(()) => met.0 += 1,
                            OneOf2::Second(()) => met.1 += 1,
                        }
                    }
                    met
                });
                scope.par(processes.collect::<Vec<_>>()).await.expect("nobody panics")
            })
        },
        |met| assert_eq!(met, [(20, 20); PROCESSES]),
    );
}

#[test]
fn an_offer_that_is_withdrawn_lets_nobody_go() {
    everywhere(
        |options| {
            succeeds(options.virtual_time(true), async |scope| {
                let mut hurried = Barrier::new("dawn");
                let mut patient = hurried.clone();
                let patient = scope.fork("patient", async move {
                    patient.sync().await;
                    csp::now().since_start()
                });
                let late = csp::after(Duration::from_secs(1));
                let choice = csp::alt((hurried.sync().when(false), late)).await;
                assert_eq!(choice, OneOf2::Second(()));
                // The other has come by now, unless it is slow: then the offer is withdrawn.
                let third = hurried.clone();
                let choice = csp::pri((hurried.sync(), csp::after(Duration::from_secs(1)))).await;
                assert_eq!(choice, OneOf2::Second(()), "the third has not come");
                drop((hurried, third));
                patient.join().await
            })
        },
        |passed| assert_eq!(passed, Ok(Duration::from_secs(2))),
    );
}

#[test]
fn a_phase_of_one_is_always_ready_and_priority_decides() {
    let choices = succeeds(Options::new(), async |_scope| {
        let mut alone = Barrier::new("alone");
        let (mut out, mut input) = csp::buffered::<u32>("input", 1);
        out.send(1).await.expect("there is room");
        let first = csp::pri((alone.sync(), input.recv())).await;
        let second = csp::pri((input.recv(), alone.sync())).await;
        (first, second)
    });
    assert_eq!(choices, (OneOf2::First(()), OneOf2::First(Ok(1))));
}

#[test]
fn whoever_is_killed_while_it_offers_is_resigned() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut phase = Barrier::new("phase");
                let mut theirs = phase.clone();
                let (_never, mut from_never) = csp::channel::<u32>("never");
                let victim = Process::named("victim").killable();
                let victim = scope.fork(victim, async move {
                    for _ in 0..2 {
                        csp::alt((theirs.sync(), from_never.recv())).await;
                    }
                });
                phase.sync().await;
                victim.kill();
                phase.sync().await;
                phase.sync().await;
                victim.join().await.is_err()
            })
        },
        |_killed_or_done| (),
    );
}

#[test]
fn clients_choose_among_servers_by_claims() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let printers = ["left", "right"].map(|name| csp::Shared::new(name, Vec::new()));
                let forks = scope.forks("clients");
                for n in 0..8 {
                    let [left, right] = printers.clone();
                    forks.spawn("client", async move {
                        for page in 0..10 {
                            let mut printer = match csp::alt((left.claim(), right.claim())).await {
                                OneOf2::First(left) => left,
                                OneOf2::Second(right) => right,
                            };
                            // Nobody comes in between: the vector is not locked otherwise.
                            printer.push(n * 10 + page);
                            csp::yield_now().await;
                        }
                    });
                }
                forks.join().await;
                let [left, right] = &printers;
                let mut pages = left.claim().await.clone();
                pages.extend_from_slice(&right.claim().await);
                pages.sort_unstable();
                pages
            })
        },
        |pages| assert_eq!(pages, (0..80).collect::<Vec<_>>()),
    );
}

#[test]
fn a_claim_that_is_not_chosen_gives_up_its_place() {
    everywhere(
        |options| {
            succeeds(options.virtual_time(true), async |scope| {
                let shared = csp::Shared::new("shared", 0_u32);
                let (theirs, third) = (shared.clone(), shared.clone());
                let mine = shared.claim().await;
                let gives_up = scope.fork("gives up", async move {
                    let second = csp::after(Duration::from_secs(1));
                    matches!(csp::pri((theirs.claim(), second)).await, OneOf2::Second(()))
                });
                let waits = scope.fork("waits", async move {
                    csp::after(Duration::from_millis(500)).await;
                    *third.claim().await += 1;
                });
                let gave_up = gives_up.join().await;
                drop(mine);
                waits.join().await.expect("it has the claim, for nobody is before it");
                let value = *shared.claim().await;
                (gave_up, value)
            })
        },
        |result| assert_eq!(result, (Ok(true), 1)),
    );
}

#[test]
fn whoever_is_killed_with_a_claim_it_was_about_to_get_passes_it_on() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let shared = csp::Shared::new("shared", 7);
                for _ in 0..5 {
                    let theirs = shared.clone();
                    let (never, mut from_never) = csp::channel::<u32>("never");
                    let mine = shared.claim().await;
                    let victim = Process::named("victim").killable();
                    let victim = scope.fork(victim, async move {
                        let choice = csp::alt((theirs.claim(), from_never.recv())).await;
                        matches!(choice, OneOf2::First(_))
                    });
                    csp::yield_now().await;
                    drop(mine);
                    victim.kill();
                    let _ = victim.join().await;
                    drop(never);
                }
                *shared.claim().await
            })
        },
        |shared| assert_eq!(shared, 7),
    );
}

#[test]
fn an_event_ends_a_wait_for_messages() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let over = csp::Event::new("over");
                let sees = over.clone();
                let (mut out, mut jobs) = csp::channel::<u32>("jobs");
                let server = scope.fork("server", async move {
                    let mut served = 0;
                    loop {
                        match csp::alt((sees.wait(), jobs.recv())).await {
                            OneOf2::First(()) => return served,
                            OneOf2::Second(job) => served += job.expect("the client is there"),
                        }
                    }
                });
                for job in 1..=3 {
                    out.send(job).await.expect("the server serves");
                }
                over.set();
                let served = server.join().await;
                drop(out);
                served
            })
        },
        |served| assert_eq!(served, Ok(6)),
    );
}
