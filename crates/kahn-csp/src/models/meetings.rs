//! Pairs at one channel: every message once, the end learnt, none left asleep.

use super::{Driven, check};
use crate::channel::gone::Gone;

#[test]
fn two_messages_come_in_order() {
    check(3, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let sender = model.process(0, "sender".into(), async move {
            out.send(Box::new(1)).await.is_ok() && out.send(Box::new(2)).await.is_ok()
        });
        let receiver = model.process(1, "receiver".into(), async move {
            (input.recv().await.map(|n| *n), input.recv().await.map(|n| *n))
        });
        model.run();
        model.all_ended();
        assert!(model.result(sender));
        assert_eq!(model.result(receiver), (Ok(1), Ok(2)));
    });
}

#[test]
fn a_buffer_keeps_the_order() {
    check(2, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.buffered::<Box<u32>>(1);
        let _ = model.process(0, "sender".into(), async move {
            for n in 0..3 {
                out.send(Box::new(n)).await.expect("it is received");
            }
        });
        let receiver = model.process(1, "receiver".into(), async move {
            let mut all = Vec::new();
            while let Ok(n) = input.recv().await {
                all.push(*n);
            }
            all
        });
        model.run();
        model.all_ended();
        assert_eq!(model.result(receiver), [0, 1, 2]);
    });
}

#[test]
fn the_end_is_learnt_after_the_last_message() {
    check(3, || {
        let mut model = Driven::new(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let _ = model.process(0, "sender".into(), async move {
            let _ = out.send(Box::new(1)).await;
        });
        let receiver = model.process(1, "receiver".into(), async move {
            (input.recv().await.map(|n| *n), input.recv().await.map(|n| *n))
        });
        model.run();
        model.all_ended();
        assert_eq!(model.result(receiver), (Ok(1), Err(Gone::Closed)));
    });
}

#[test]
fn a_message_to_nobody_comes_back() {
    check(3, || {
        let mut model = Driven::new(2);
        let (mut out, input) = model.channel::<Box<u32>>();
        let sender = model.process(0, "sender".into(), async move {
            out.send(Box::new(7)).await.map_err(|unsent| *unsent.message)
        });
        let _ = model.process(1, "leaver".into(), async move { drop(input) });
        model.run();
        model.all_ended();
        assert_eq!(model.result(sender), Err(7));
    });
}

#[test]
fn a_held_sender_goes_on_after_the_receiver_has_acted() {
    a_held_sender_goes_on(Driven::new);
}

/// The receiver may act before the sender has said where it waits to be let go.
#[test]
fn a_held_sender_is_let_go_once() {
    a_held_sender_goes_on(Driven::passing_on);
}

fn a_held_sender_goes_on(driven: fn(usize) -> Driven) {
    check(3, move || {
        let mut model = driven(2);
        let (mut out, mut input) = model.channel::<Box<u32>>();
        let acted = kahn_engine::sync::Arc::new(kahn_engine::sync::AtomicU32::new(0));
        let acts = acted.clone();
        let sender = model.process(0, "sender".into(), async move {
            out.send(Box::new(1)).await.expect("it is received");
            // Relaxed: the communication orders it.
            acted.load(kahn_engine::sync::Ordering::Relaxed)
        });
        let _ = model.process(1, "receiver".into(), async move {
            let message = input.recv_extended().await.expect("it is sent");
            acts.store(1, kahn_engine::sync::Ordering::Relaxed);
            assert_eq!(*message.finish(), 1);
        });
        model.run();
        model.all_ended();
        assert_eq!(model.result(sender), 1);
    });
}

/// The receiver forgets to let the sender go, and ends before the sender waits for that, or after.
#[test]
fn a_held_sender_goes_on_when_the_receiver_is_gone() {
    for driven in [Driven::new, Driven::passing_on] {
        check(3, move || {
            let mut model = driven(2);
            let (mut out, mut input) = model.channel::<u32>();
            let sender =
                model.process(0, "sender".into(), async move { out.send(1).await.is_ok() });
            let _ = model.process(1, "receiver".into(), async move {
                std::mem::forget(input.recv_extended().await.expect("it is sent"));
            });
            model.run();
            model.all_ended();
            assert!(model.result(sender));
        });
    }
}

#[test]
fn an_exchange_swaps_once() {
    check(3, || {
        let mut model = Driven::new(2);
        let (mut a, mut b) = model.exchange::<Box<u32>, Box<u64>>();
        let one = model.process(0, "one".into(), async move { a.swap(Box::new(1)).await });
        let two = model.process(1, "two".into(), async move { b.swap(Box::new(2)).await });
        model.run();
        model.all_ended();
        assert_eq!(model.result(one).map(|n| *n).ok(), Some(2));
        assert_eq!(model.result(two).map(|n| *n).ok(), Some(1));
    });
}
