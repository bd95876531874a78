//! A network that cannot go on says what waits for what.

use crate::fails;
use kahn_csp::{self as csp, Guard, OneOf2};
use kahn_csp::{Options, Summary};

fn explained<F, R>(code: impl Fn(csp::Scope<'static>) -> F) -> Vec<String>
where
    F: Future<Output = R> + Send + 'static,
    R: Send,
{
    let options = [
        Options::new().workers(1),
        Options::new().workers(2),
        Options::new().policy(kahn_csp::policy::SEEDED).seed(3),
        Options::new().policy(kahn_csp::policy::THREADS),
    ];
    options.into_iter().map(|options| fails(options, &code)).collect()
}

fn says(texts: &[String], words: &[&str]) {
    for text in texts {
        assert!(text.starts_with("deadlock: nothing can go on"), "{text}");
        for word in words {
            assert!(text.contains(word), "`{word}` is not in:\n{text}");
        }
    }
}

#[test]
fn two_that_both_send() {
    let texts = explained(async |scope| {
        let (mut a, mut from_a) = csp::channel::<u32>("a");
        let (mut b, mut from_b) = csp::channel::<u32>("b");
        scope.spawn("left", async move {
            a.send(1).await?;
            from_b.recv().await.map(|_| ()).map_err(|why| csp::Unsent { message: 0, why })
        });
        scope.spawn("right", async move {
            b.send(1).await?;
            from_a.recv().await.map(|_| ()).map_err(|why| csp::Unsent { message: 0, why })
        });
    });
    says(
        &texts,
        &[
            "`left` waits to send message 1 to `a`",
            "`right` waits to send message 1 to `b`",
            "deadlock.rs",
        ],
    );
}

#[test]
fn an_alternation_with_its_guards() {
    let texts = explained(async |_scope| {
        let (_a, mut from_a) = csp::channel::<u32>("a");
        let (mut b, _from_b) = csp::channel::<u32>("b");
        let _ = csp::alt((from_a.recv(), b.send(1))).await;
    });
    says(&texts, &["waits for one of 2: receive from `a`, send to `b`"]);
}

#[test]
fn a_barrier_with_what_is_missing() {
    let texts = explained(async |scope| {
        let mut barrier = csp::Barrier::new("dawn");
        let late = barrier.clone();
        scope.spawn("late", async move {
            let mut late = late;
            late.sync().await;
            let (_out, mut never) = csp::channel::<u32>("never");
            let _ = never.recv().await;
            drop(late);
        });
        barrier.sync().await;
        barrier.sync().await;
    });
    says(&texts, &["`main` waits in phase 1 at barrier `dawn` for `late`", "from `never`"]);
}

#[test]
fn a_claim_with_what_holds_it() {
    let texts = explained(async |scope| {
        let printer = csp::Shared::new("printer", ());
        let theirs = printer.clone();
        let _mine = printer.claim().await;
        let waits = scope.fork("client", async move {
            let _claim = theirs.claim().await;
        });
        let _ = waits.join().await;
    });
    says(
        &texts,
        &[
            "`client` waits to claim `printer`, which `main` holds (claimed once so far)",
            "`main` waits for the end of `client`",
        ],
    );
}

/// What is said, without the lines of this file; it must be the same under every schedule.
fn said(texts: &[String]) -> String {
    let without_sites = |text: &String| {
        let lines = text.lines().map(|line| line.split(" (created at").next().unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    let all: Vec<_> = texts.iter().map(without_sites).collect();
    assert!(all.iter().all(|text| *text == all[0]), "{all:#?}");
    all.into_iter().next().expect("some schedules")
}

#[test]
fn both_send_first() {
    let texts = explained(async |scope| {
        let (mut a, mut from_a) = csp::channel::<u32>("a");
        let (mut b, mut from_b) = csp::channel::<u32>("b");
        // Once it goes well, so that each end has been used.
        let left = async move {
            a.send(1).await?;
            let _ = from_b.recv().await;
            a.send(2).await?;
            let _ = from_b.recv().await;
            Ok::<(), csp::Unsent<u32>>(())
        };
        scope.spawn("left", left);
        scope.spawn("right", async move {
            let _ = from_a.recv().await;
            b.send(1).await?;
            b.send(2).await?;
            let _ = from_a.recv().await;
            Ok::<(), csp::Unsent<u32>>(())
        });
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `left` waits to send message 2 to `a`, whose other end `right` used last
      `right` waits to send message 2 to `b`, whose other end `left` used last
      ring: `left` –[send to `a`]→ `right` –[send to `b`]→ `left`
    help: all of the ring send before they receive: let one of them receive first, or choose between both with `csp::alt`; or give one of `a`, `b` a buffer with `csp::buffered`
    ");
}

#[test]
fn all_wait_to_receive() {
    let texts = explained(async |scope| {
        let (mut first, mut left) = csp::channel::<u32>("ring");
        for _ in 0..2 {
            let (mut out, next) = csp::channel::<u32>("ring");
            let mut input = std::mem::replace(&mut left, next);
            scope.spawn("element", async move {
                while let Ok(token) = input.recv().await {
                    let _ = out.send(token).await;
                }
            });
        }
        first.send(1).await.expect("the ring is closed");
        let _ = left.recv().await;
        // And once more, without a token.
        let _ = left.recv().await;
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `main` waits to receive message 2 from `ring`, whose other end `element` used last
      `element` waits to receive message 2 from `ring`, whose other end `main` used last
      `element` waits to receive message 2 from `ring`, whose other end `element` used last
      ring: `main` –[receive from `ring`]→ `element` –[receive from `ring`]→ `element` –[receive from `ring`]→ `main`
    help: all of the ring receive before they send: let one of them send first, on `ring`
    ");
}

#[test]
fn claims_in_different_orders() {
    let texts = explained(async |scope| {
        let forks = ["left", "right"].map(|name| csp::Shared::new(name, ()));
        let table = csp::Barrier::new("table");
        for (name, first) in [("plato", 0), ("kant", 1)] {
            let (forks, mut table) = (forks.clone(), table.clone());
            scope.spawn(name, async move {
                let _one = forks[first].claim().await;
                table.sync().await;
                let _other = forks[1 - first].claim().await;
            });
        }
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `plato` waits to claim `right`, which `kant` holds (claimed once so far)
      `kant` waits to claim `left`, which `plato` holds (claimed once so far)
      ring: `plato` –[claim `right`]→ `kant` –[claim `left`]→ `plato`
    help: `left`, `right` are claimed in different orders: let all processes claim them in the same one
    ");
}

#[test]
fn a_claim_that_is_kept_for_too_long() {
    let texts = explained(async |scope| {
        let printer = csp::Shared::new("printer", ());
        let theirs = printer.clone();
        let _mine = printer.claim().await;
        let waits = scope.fork("client", async move {
            let _claim = theirs.claim().await;
        });
        let _ = waits.join().await;
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `main` waits for the end of `client`
      `client` waits to claim `printer`, which `main` holds (claimed once so far)
      ring: `main` –[end of `client`]→ `client` –[claim `printer`]→ `main`
    help: the process that claims `printer` keeps it while it waits for others: let it drop the claim before
    ");
}

#[test]
fn a_barrier_that_somebody_does_not_come_to() {
    let texts = explained(async |scope| {
        let mut dawn = csp::Barrier::new("dawn");
        let mut theirs = dawn.clone();
        let (mut out, mut jobs) = csp::channel::<u32>("jobs");
        scope.spawn("late", async move {
            for _ in 0..2 {
                let _ = jobs.recv().await;
                theirs.sync().await;
            }
        });
        out.send(1).await.expect("it listens");
        dawn.sync().await;
        dawn.sync().await;
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `main` waits in phase 1 at barrier `dawn` for `late`
      `late` waits to receive message 2 from `jobs`, whose other end `main` used last
      ring: `main` –[barrier `dawn`]→ `late` –[receive from `jobs`]→ `main`
    help: `late` is enrolled at `dawn` and waits for something else: let it synchronise first, choose between both with `csp::alt`, or drop its handle of `dawn`, which resigns
    ");
}

#[test]
fn alternations_that_want_different_things() {
    let texts = explained(async |scope| {
        let (mut ask, mut questions) = csp::channel::<u32>("questions");
        let (mut tell, mut answers) = csp::channel::<u32>("answers");
        let mut pause = csp::Barrier::new("pause");
        let mut theirs = pause.clone();
        scope.spawn("server", async move {
            let question = questions.recv().await.unwrap_or(0);
            let _ = tell.send(question).await;
            csp::alt((theirs.sync(), questions.recv())).await;
        });
        let _ = ask.send(1).await;
        let _ = answers.recv().await;
        csp::alt((answers.recv(), pause.sync().when(false))).await;
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `main` waits for one of 2: receive from `answers`, (guarded off)
      `server` waits for one of 2: barrier `pause`, receive from `questions`
      ring: `main` –[receive from `answers`]→ `server` –[receive from `questions`]→ `main`
    help: all of the ring receive before they send: let one of them send first, on one of `answers`, `questions`
    ");
}

#[test]
fn an_end_that_nobody_uses() {
    let texts = explained(async |scope| {
        let (out, mut input) = csp::channel::<u32>("forgotten");
        let reader = scope.fork("reader", async move { input.recv().await });
        let _ = reader.join().await;
        drop(out);
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `main` waits for the end of `reader`
      `reader` waits to receive message 1 from `forgotten`, whose other end no other process has used
    help: no other process has used the other end of `forgotten`: the one that keeps it should use it, or drop it, which closes the channel
    ");
}

#[test]
fn two_handles_of_one_process() {
    let texts = explained(async |_scope| {
        let mut one = csp::Barrier::new("both");
        let mut two = one.clone();
        csp::alt((one.sync(), two.sync())).await;
    });
    insta::assert_snapshot!(said(&texts), @r"
    deadlock: nothing can go on
      `main` waits for one of 2: barrier `both`, barrier `both`
    help: `main` has barrier `both` twice in one alternation, which can be chosen once: drop one of its handles
    ");
}

#[test]
fn a_ring_with_a_token_for_each_process() {
    // The paper's multi-token ring with as many tokens as positions.
    let texts = explained(async |scope| {
        let (mut first, mut left) = csp::channel::<u32>("ring");
        for _ in 1..4 {
            let (mut out, next) = csp::channel::<u32>("ring");
            let mut input = std::mem::replace(&mut left, next);
            scope.spawn("element", async move {
                while let Ok(token) = input.recv().await {
                    if out.send(token + 1).await.is_err() {
                        return;
                    }
                }
            });
        }
        for token in 1..=4 {
            first.send(token).await.expect("the ring is closed");
        }
        let _ = left.recv().await;
    });
    says(&texts, &["`element` waits to send", "`main` waits to send message 4 to `ring`"]);
}

#[test]
fn whoever_waits_for_a_time_is_not_stuck() {
    let run = csp::run(Options::new(), async |_scope| {
        let (_out, mut never) = csp::channel::<u32>("never");
        let wait = csp::after(std::time::Duration::from_millis(2));
        csp::alt((never.recv(), wait)).await
    });
    assert_eq!(run.expect("a time comes").result, OneOf2::Second(()));
}

#[test]
fn what_is_left_over_may_be_normal() {
    let run = csp::run(Options::new().quiescence_is_normal(true), async |scope| {
        let (out, mut never) = csp::channel::<u32>("never");
        scope.spawn("server", async move {
            // It has the other end itself. (One that is forgotten would keep the network's memory.)
            let _out = out;
            let _ = never.recv().await;
        });
    });
    assert_eq!(run.expect("quiescent").report.outcome, Summary::Quiescent);
}

#[test]
fn a_channel_works_in_its_own_run_only() {
    let (mut out, input) = crate::succeeds(Options::new(), async |_| csp::channel::<u32>("old"));
    let error = fails(Options::new(), async move |_| {
        let _input = input;
        out.send(1).await
    });
    assert!(error.contains("was used outside of its network"), "{error}");
}

/// The processes that used it are forgotten, though others may stand in their places.
#[test]
fn a_channel_that_was_used_works_in_its_own_run_only() {
    for _ in 0..8 {
        let (mut out, input) = crate::succeeds(Options::new().workers(1), async |scope| {
            let (mut out, mut input) = csp::channel::<u32>("old");
            let taker = scope.fork("taker", async move { (input.recv().await, input) });
            assert_eq!(out.send(1).await, Ok(()));
            let (taken, input) = taker.join().await.expect("it does not fail");
            assert_eq!(taken, Ok(1));
            (out, input)
        });
        let error = fails(Options::new().workers(1), async move |_| {
            let _input = input;
            out.send(2).await
        });
        assert!(error.contains("was used outside of its network"), "{error}");
    }
}

#[test]
fn two_operations_at_once_are_refused() {
    let error = fails(Options::new(), async |_scope| {
        let (_a, mut from_a) = csp::channel::<u32>("a");
        let (_b, mut from_b) = csp::channel::<u32>("b");
        futures_util::future::join(from_a.recv(), from_b.recv()).await
    });
    assert!(error.contains("waits for two things at once"), "{error}");
}

#[test]
fn a_network_that_lets_others_choose_is_marked_and_verify_says_so() {
    let verified = kahn::testing::verify(|network| {
        let (out, answers) = network.channel::<u32>("answers");
        network.blocking("chooser", out, |mut out| {
            let run = csp::run(Options::new().workers(1), async |_scope| 7)?;
            out.send_blocking(run.result);
            Ok::<(), csp::RunError>(())
        });
        network.collect("all", answers)
    });
    let text = verified.expect("it always chooses the same").to_string();
    assert!(text.contains("processes that choose"), "{text}");
}

/// Panics, in a function that might return.
fn fail(text: &str) {
    assert!(text.is_empty(), "{text}");
}

/// The line before the caller's, as explanations name it.
#[track_caller]
fn here() -> String {
    let line = std::panic::Location::caller();
    format!("{}:{}:", line.file(), line.line() - 1)
}

#[test]
fn a_process_of_a_replicated_par_is_told_by_the_line_that_created_it() {
    async fn waits(name: &'static str) {
        let (_out, mut never) = csp::channel::<u32>(name);
        let _ = never.recv().await;
    }
    let lines = parking_lot::Mutex::new(Vec::new());
    let texts = [1, 2].map(|workers| {
        fails(Options::new().workers(workers), async |scope| {
            let of_vector = scope.par(vec![waits("of vector"), waits("of vector")]);
            let line = here();
            lines.lock().push(line);
            let of_array = scope.par([waits("of array"), waits("of array")]);
            let line = here();
            lines.lock().push(line);
            let _ = of_vector.await;
            let _ = of_array.await;
        })
    });
    for text in &texts {
        for line in lines.lock().iter() {
            let told = text.lines().filter(|told| told.contains(line.as_str())).count();
            assert_eq!(told, 2, "`{line}` is not told of two:\n{text}");
        }
        assert!(!text.contains("src/csp"), "a line of Kahn's own:\n{text}");
    }
}

#[test]
fn a_process_that_joins_forks_is_told_which_have_not_ended() {
    let texts = explained(async |scope| {
        let forks = scope.forks("workers");
        forks.spawn("quick", async {});
        for name in ["digger", "builder"] {
            forks.spawn(name, async move {
                let (_out, mut never) = csp::channel::<u32>("never");
                let _ = never.recv().await;
            });
        }
        let _kept = forks.clone();
        forks.join().await;
    });
    let told = "`main` waits for the end of the forks of `workers`: ";
    says(&texts, &[told, "`digger`", "`builder`", "a clone of the scope that no process has used"]);
    for text in texts {
        let line = text.lines().find(|line| line.contains(told)).expect("said above");
        assert!(line.contains("`digger`") && line.contains("`builder`"), "{line}");
        assert!(!line.contains("`quick`") && !line.contains("never came"), "{line}");
    }
}

#[test]
fn a_process_that_has_stopped_is_told_from_one_that_nothing_wakes() {
    let texts = explained(async |scope| {
        scope.spawn("stops", async {
            // It has waited for others before.
            csp::blocking(|| ()).await;
            std::future::pending::<()>().await;
        });
        scope.spawn(
            "forgotten",
            std::future::poll_fn(|context| {
                drop(context.waker().clone());
                std::task::Poll::<()>::Pending
            }),
        );
    });
    says(
        &texts,
        &[
            "`stops` has stopped: it waits for nothing",
            "`stops` awaits a future that asked for no wake-up",
            "`forgotten` waits for something outside the network that can never wake it",
            "a process waits for a future that dropped its waker",
        ],
    );
}

#[test]
fn texts_without_places_name_no_file() {
    let options = || Options::new().workers(2).places(false);
    let stuck = fails(options(), async |scope| {
        let _ = scope
            .par([async {
                let (_out, mut never) = csp::channel::<u32>("never");
                let _ = never.recv().await;
            }])
            .await;
    });
    assert!(stuck.contains("`par` waits to receive message 1 from `never`"), "{stuck}");
    let failed = fails(options(), async |scope| {
        scope.spawn("fails", async { fail("no luck") });
    });
    assert!(failed.contains("process `fails` panicked: no luck"), "{failed}");
    for text in [stuck, failed] {
        assert!(!text.contains(".rs"), "{text}");
    }
}
