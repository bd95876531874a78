//! Alternations: against partners, against each other, against a time and a killer.

use super::{Driven, check};
use crate::choice::alternation::pri;
use crate::choice::guard::Guard;
use crate::choice::several::OneOf2;
use crate::network::sleeping;
use crate::process::scope::Process;
use std::time::Duration;

#[test]
fn an_alternation_and_two_senders() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut a, mut from_a) = model.channel::<Box<u32>>();
        let (mut b, mut from_b) = model.channel::<Box<u32>>();
        let _ = model.process(0, "a".into(), async move { a.send(Box::new(1)).await.is_ok() });
        let _ = model.process(1, "b".into(), async move { b.send(Box::new(2)).await.is_ok() });
        let taker = model.process(1, "taker".into(), async move {
            let (mut got_a, mut got_b) = (0, 0);
            while got_a == 0 || got_b == 0 {
                let guards = (from_a.recv().when(got_a == 0), from_b.recv().when(got_b == 0));
                match pri(guards).await {
                    OneOf2::First(n) => got_a = *n.expect("it is sent"),
                    OneOf2::Second(n) => got_b = *n.expect("it is sent"),
                }
            }
            (got_a, got_b)
        });
        model.run();
        model.all_ended();
        assert_eq!(model.result(taker), (1, 2));
    });
}

/// Each offers to send and to receive; each does both, once.
#[test]
fn two_offers_that_want_each_other() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut ab, mut from_a) = model.channel::<Box<u32>>();
        let (mut to_a, mut from_b) = model.channel::<Box<u32>>();
        let a = model.process(0, "a".into(), async move {
            match pri((ab.send(Box::new(1)), from_b.recv())).await {
                OneOf2::First(sent) => {
                    sent.expect("it is received");
                    *from_b.recv().await.expect("it is sent")
                }
                OneOf2::Second(n) => {
                    ab.send(Box::new(1)).await.expect("it is received");
                    *n.expect("it is sent")
                }
            }
        });
        let b = model.process(1, "b".into(), async move {
            match pri((to_a.send(Box::new(2)), from_a.recv())).await {
                OneOf2::First(sent) => {
                    sent.expect("it is received");
                    *from_a.recv().await.expect("it is sent")
                }
                OneOf2::Second(n) => {
                    to_a.send(Box::new(2)).await.expect("it is received");
                    *n.expect("it is sent")
                }
            }
        });
        model.run();
        model.all_ended();
        assert_eq!((model.result(a), model.result(b)), (2, 1));
    });
}

/// The partner sends to one and then the other, whatever the alternation has left.
#[test]
fn a_branch_that_loses_keeps_its_place() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut a, mut from_a) = model.channel::<Box<u32>>();
        let (mut b, mut from_b) = model.channel::<Box<u32>>();
        let _ = model.process(0, "sender".into(), async move {
            a.send(Box::new(1)).await.expect("it is received");
            b.send(Box::new(2)).await.expect("it is received");
        });
        let taker = model.process(1, "taker".into(), async move {
            let first = pri((from_b.recv(), from_a.recv())).await;
            let OneOf2::Second(first) = first else { panic!("`b` comes second") };
            (*first.expect("it is sent"), *from_b.recv().await.expect("it is sent"))
        });
        model.run();
        model.all_ended();
        assert_eq!(model.result(taker), (1, 2));
    });
}

#[test]
fn a_time_out_or_the_message() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let sender =
            model.process(0, "sender".into(), async move { out.send(Box::new(1)).await.is_ok() });
        let taker = model.process(1, "taker".into(), async move {
            let hour = sleeping::after(Duration::from_secs(3600));
            matches!(pri((input.recv(), hour)).await, OneOf2::First(Ok(_)))
        });
        model.run_with_time(1);
        model.all_ended();
        // Both saw the communication, or neither did.
        assert_eq!(model.result(sender), model.result(taker));
    });
}

#[test]
fn a_killed_process_leaves_nobody_waiting() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let (never, mut from_never) = model.channel::<Box<u32>>();
        let victim = Process::named("victim").killable();
        let victim = model.process(0, victim, async move {
            let _ = pri((input.recv(), from_never.recv())).await;
            let _ = input.recv().await;
        });
        let sender = model.process(1, "sender".into(), async move {
            let sent = out.send(Box::new(1)).await.is_ok();
            victim.kill();
            // The victim may be taking this one when it is killed.
            let _ = out.send(Box::new(2)).await;
            drop(never);
            sent
        });
        model.run();
        model.all_ended();
        assert!(model.result(sender));
    });
}

#[test]
fn a_killed_receiver_leaves_the_message_with_its_sender() {
    check(1, || {
        let mut model = Driven::new(3);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let victim = Process::named("victim").killable();
        let victim = model.process(0, victim, async move {
            let _ = input.recv().await;
        });
        let _ = model.process(1, "killer".into(), async move { victim.kill() });
        let sender = model.process(2, "sender".into(), async move {
            out.send(Box::new(1)).await.map_err(|unsent| *unsent.message)
        });
        model.run();
        model.all_ended();
        assert!(matches!(model.result(sender), Ok(()) | Err(1)));
    });
}
