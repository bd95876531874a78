//! Barriers and claims that stand in alternations; foreign wakers beside partners.

use super::{Driven, check};
use crate::choice::alternation::pri;
use crate::choice::ready::on;
use crate::choice::several::OneOf2;
use crate::network::sleeping;
use crate::sharing::claim::Shared;
use kahn_engine::sync::{Arc, AtomicU32, Ordering::Relaxed};
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

/// Two barriers that want the same two processes, and have them in opposite orders, are completed
/// at once, each by the one that resigns from it: one of them gets both.
#[test]
fn of_two_barriers_that_are_completed_at_once_one_is() {
    check(2, || {
        let mut model = Driven::new(2);
        let [mut a_one, mut a_two, a_last] = model.barrier();
        let [mut b_gone, mut b_one, mut b_two, b_last] = model.barrier();
        let (mut out, mut input) = model.channel::<Box<u32>>();
        // Stands first at the second barrier, and leaves its place to the last.
        let _ = model.process(0, "gone".into(), async move {
            let choice = which(&pri((b_gone.sync(), input.recv())).await);
            drop(b_gone);
            choice
        });
        let one = model.process(0, "one".into(), async move {
            which(&pri((a_one.sync(), b_one.sync())).await)
        });
        let two = model.process(0, "two".into(), async move {
            which(&pri((a_two.sync(), b_two.sync())).await)
        });
        let _ = model.process(0, "sender".into(), async move {
            u32::from(out.send(Box::new(1)).await.is_ok())
        });
        model.run();
        let _ = model.process(0, "resigns".into(), async move { drop(a_last) });
        let _ = model.process(1, "resigns too".into(), async move { drop(b_last) });
        model.run();
        model.all_ended();
        assert_eq!(model.result(one), model.result(two));
    });
}

/// Three offer the phase, in alternations.
#[test]
fn three_offers_go_on_together() {
    check(1, || {
        let mut model = Driven::new(3);
        let offers: Vec<_> = model.barrier::<3>().into_iter().enumerate().collect();
        let offers = offers.into_iter().map(|(worker, mut handle)| {
            let (never, mut from_never) = model.channel::<Box<u32>>();
            model.process(worker, "one of three".into(), async move {
                let choice = which(&pri((handle.sync(), from_never.recv())).await);
                drop(never);
                choice
            })
        });
        let offers: Vec<_> = offers.collect();
        model.run();
        model.all_ended();
        assert!(offers.into_iter().all(|offer| model.result(offer) == 1));
    });
}

/// The one that is resigned lets go those that only offer.
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
            let hour = sleeping::after(Duration::from_secs(3600));
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

/// A claim that comes free while its process is taken for a message: it has one of them, and can
/// have the other after it.
#[test]
fn a_claim_or_a_message() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let shared = Shared::in_network(&model.core.common, "shared".into(), ());
        let theirs = shared.clone();
        let sender = model.process(0, "sender".into(), async move {
            drop(theirs.claim().await);
            out.send(Box::new(1)).await.is_ok()
        });
        let chooser = model.process(1, "chooser".into(), async move {
            match pri((input.recv(), shared.claim())).await {
                OneOf2::First(message) => {
                    drop(shared.claim().await);
                    message.is_ok()
                }
                OneOf2::Second(claim) => {
                    drop(claim);
                    input.recv().await.is_ok()
                }
            }
        });
        model.run();
        model.all_ended();
        assert!(model.result(sender) && model.result(chooser));
    });
}

/// A phase that fails because one offer is gone leaves the others open.
#[test]
fn an_offer_that_was_held_in_vain_is_open_again() {
    check(1, || {
        let mut model = Driven::new(2);
        let (never, mut from_never) = model.channel::<Box<u32>>();
        let [mut stays, mut hurried] = model.barrier();
        let stays = model.process(0, "stays".into(), async move {
            let choice = which(&pri((from_never.recv(), stays.sync())).await);
            drop(never);
            choice
        });
        let _ = model.process(1, "hurried".into(), async move {
            let hour = sleeping::after(Duration::from_secs(3600));
            let _ = pri((hour, hurried.sync())).await;
        });
        model.run_with_time(1);
        model.all_ended();
        assert_eq!(model.result(stays), 2);
    });
}

/// A foreign waker resumes the process while a partner takes its offer: it runs once.
#[test]
fn a_partner_and_a_foreign_waker() {
    check(2, || {
        let mut model = Driven::new(3);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let bell: Arc<kahn_engine::sync::Mutex<Option<Waker>>> = Arc::default();
        let rings = Arc::clone(&bell);
        let sender =
            model.process(0, "sender".into(), async move { out.send(Box::new(1)).await.is_ok() });
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
