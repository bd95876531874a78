//! Barriers and claims that stand in alternations; foreign wakers beside partners.

use super::{Driven, check};
use crate::csp::alternation::pri;
use crate::csp::claim::Shared;
use crate::csp::guard::{Guard, on};
use crate::csp::several::OneOf2;
use crate::csp::timer;
use crate::sync::{Arc, AtomicU32, Cell, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Which of two guards it was.
fn which<A, B>(choice: &OneOf2<A, B>) -> u32 {
    match choice {
        OneOf2::First(_) => 1,
        OneOf2::Second(_) => 2,
    }
}

/// Both offer the barrier, and one a message that the other takes.
#[test]
fn both_take_the_phase_or_both_the_message() {
    check(1, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let [mut ours, mut theirs] = model.barrier();
        let one = model.process(0, "one".into(), async move {
            which(&pri((ours.sync(), out.send(Box::new(1)))).await)
        });
        let two = model.process(1, "two".into(), async move {
            which(&pri((theirs.sync(), input.recv())).await)
        });
        model.run();
        model.all_ended();
        assert_eq!(model.result(one), model.result(two));
    });
}

/// Two barriers, offered by both in opposite orders: one phase of one of them.
#[test]
fn of_two_barriers_both_take_the_same() {
    check(1, || {
        let mut model = Driven::new(2);
        let ([mut a1, mut a2], [mut b1, mut b2]) = (model.barrier(), model.barrier());
        let one = model
            .process(0, "one".into(), async move { which(&pri((a1.sync(), b1.sync())).await) });
        let two = model
            .process(1, "two".into(), async move { 3 - which(&pri((b2.sync(), a2.sync())).await) });
        model.run();
        model.all_ended();
        assert_eq!(model.result(one), model.result(two));
    });
}

/// Three offer the phase, each beside a channel of its own on which nothing comes.
#[test]
fn three_offers_go_on_together() {
    check(1, || {
        let mut model = Driven::new(3);
        for (worker, mut handle) in model.barrier::<3>().into_iter().enumerate() {
            let (never, mut from_never) = model.channel::<Box<u32>>();
            let _ = model.process(worker, "one of three".into(), async move {
                let choice = which(&pri((from_never.recv(), handle.sync())).await);
                assert_eq!(choice, 2);
                drop(never);
            });
        }
        model.run();
        model.all_ended();
    });
}

/// Whoever is resigned lets go those who only offer.
#[test]
fn resigning_completes_a_phase_of_offers() {
    check(2, || {
        let mut model = Driven::new(2);
        let (never, mut from_never) = model.channel::<Box<u32>>();
        let [mut stays, leaves] = model.barrier();
        let stays = model.process(0, "stays".into(), async move {
            let choice = which(&pri((from_never.recv(), stays.sync())).await);
            drop(never);
            choice
        });
        let _ = model.process(1, "leaves".into(), async move { drop(leaves) });
        model.run();
        model.all_ended();
        assert_eq!(model.result(stays), 2);
    });
}

/// An offer that is withdrawn does not let the other go: that one waits until it is resigned.
#[test]
fn a_phase_or_a_time_out() {
    check(1, || {
        let mut model = Driven::new(2);
        let [mut patient, mut hurried] = model.barrier();
        let gave_up = Arc::new(AtomicU32::new(0));
        let gives_up = Arc::clone(&gave_up);
        let hurried = model.process(0, "hurried".into(), async move {
            let hour = timer::after(Duration::from_secs(3600));
            let choice = which(&pri((hurried.sync(), hour)).await);
            gives_up.store(choice, Relaxed);
            choice
        });
        let patient = model.process(1, "patient".into(), async move {
            patient.sync().await;
            // Relaxed: if the other gave up, its resignation orders it.
            gave_up.load(Relaxed)
        });
        model.run_with_time(1);
        model.all_ended();
        let (hurried, patient) = (model.result(hurried), model.result(patient));
        assert!(hurried == 1 || patient == 2, "the phase was without one that was enrolled");
    });
}

/// A claim as a guard against one that is held: at most one has it, and none is lost.
#[test]
fn a_claim_or_a_message() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        // loom watches the cell: two at once would fail the model.
        let shared = Shared::in_network(model.core.scheduler.number, "cell".into(), Cell::new(0));
        let theirs = shared.clone();
        let _ = model.process(0, "holder".into(), async move {
            let claim = theirs.claim().await;
            claim.set(claim.get() + 1);
            let _ = out.send(Box::new(1)).await;
            claim.set(claim.get() + 1);
        });
        let _ = model.process(1, "chooser".into(), async move {
            let mut got = false;
            for _ in 0..2 {
                match pri((shared.claim(), input.recv().when(!got))).await {
                    OneOf2::First(claim) => {
                        claim.set(claim.get() + 1);
                        if !got {
                            // The holder has not begun, or it sent in vain.
                            drop(claim);
                            got = input.recv().await.is_ok();
                        }
                    }
                    OneOf2::Second(_) => got = true,
                }
            }
        });
        model.run();
        model.all_ended();
    });
}

/// A foreign waker resumes the process while a partner takes its offer: it runs once.
#[test]
fn a_partner_and_a_foreign_waker() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let bell: Arc<crate::sync::Mutex<Option<Waker>>> = Arc::default();
        let rings = Arc::clone(&bell);
        let sender = model.process(0, "sender".into(), async move {
            let sent = out.send(Box::new(1)).await.is_ok();
            // Stays: the receiver may want a second one.
            let _ = out.send(Box::new(2)).await;
            sent
        });
        let taker = model.process(1, "taker".into(), async move {
            let foreign = std::future::poll_fn(|context: &mut std::task::Context<'_>| {
                *bell.lock() = Some(context.waker().clone());
                Poll::<()>::Pending
            });
            match pri((input.recv(), on(foreign))).await {
                OneOf2::First(n) => *n.expect("it is sent"),
                OneOf2::Second(()) => 0,
            }
        });
        model.run_beside(move || {
            let waker = rings.lock().take();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        model.all_ended();
        assert!(model.result(sender));
        assert_eq!(model.result(taker), 1);
    });
}
