//! A network that cannot go on says who waits for what.

use crate::fails;
use kahn::csp::{self, OneOf2};
use kahn::{RunOptions, Summary};

fn explained<F, R>(code: impl Fn(csp::Scope<'static>) -> F) -> Vec<String>
where
    F: Future<Output = R> + Send + 'static,
    R: Send,
{
    let options = [
        RunOptions::new().workers(1),
        RunOptions::new().workers(2),
        RunOptions::new().policy("seeded").seed(3),
        RunOptions::new().policy("threads"),
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
fn a_barrier_with_who_is_missing() {
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
fn a_claim_with_who_holds_it() {
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
            "`client` waits to claim `printer`, claimed 1 times, which `main` holds",
            "`main` waits for the end of `client`",
        ],
    );
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
    let run = csp::run(RunOptions::new(), async |_scope| {
        let (_out, mut never) = csp::channel::<u32>("never");
        let wait = csp::after(std::time::Duration::from_millis(2));
        csp::alt((never.recv(), wait)).await
    });
    assert_eq!(run.expect("a time comes").result, OneOf2::Second(()));
}

#[test]
fn what_is_left_over_may_be_normal() {
    let run = csp::run(RunOptions::new().quiescence_is_normal(true), async |scope| {
        let (out, mut never) = csp::channel::<u32>("never");
        scope.spawn("server", async move {
            let _ = never.recv().await;
        });
        std::mem::forget(out);
    });
    assert_eq!(run.expect("quiescent").report.outcome, Summary::Quiescent);
}

#[test]
fn a_channel_works_in_its_own_run_only() {
    let (mut out, input) = crate::succeeds(RunOptions::new(), async |_| csp::channel::<u32>("old"));
    let error = fails(RunOptions::new(), async move |_| {
        let _input = input;
        out.send(1).await
    });
    assert!(error.contains("was used outside of its network"), "{error}");
}

#[test]
fn two_operations_at_once_are_refused() {
    let error = fails(RunOptions::new(), async |_scope| {
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
            let run = csp::run(RunOptions::new().workers(1), async |_scope| 7)?;
            out.send_blocking(run.result);
            Ok::<(), kahn::RunError>(())
        });
        network.collect("all", answers)
    });
    let text = verified.expect("it always chooses the same").to_string();
    assert!(text.contains("processes that choose"), "{text}");
}
