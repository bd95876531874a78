//! Real channels between real processes, on two workers that a model drives by hand.
//!
//! A process goes on where it was woken, so processes change workers while they use channels, and
//! loom sees every cell of theirs and every slot. Bounds: one or two channels of capacity 1, 2 or 4,
//! 2 to 5 messages, by value or in place.

use super::{Driven, check, plan};
use crate::channel::closing::hand_over;
use crate::channel::language::Worker;
use crate::channel::raw::{ChannelRef, End};
use crate::network::core::Core;
use crate::{Receiver, Sender};
use kahn_engine::sync::{Arc, Ordering::*, thread};
use std::sync::Mutex;

/// What receivers took. Not the model's subject, so loom does not see its lock.
type Taken = Arc<Mutex<Vec<u32>>>;

async fn send_all(mut sender: Sender<u32>, from: u32, to: u32) {
    for number in from..to {
        sender.send(number).await;
    }
}

async fn receive_all(mut receiver: Receiver<u32>, taken: Taken) {
    while let Some(number) = receiver.recv().await {
        taken.lock().expect("never held while a model switches").push(number);
    }
}

fn taken_of(taken: &Taken) -> Vec<u32> {
    taken.lock().expect("never held while a model switches").clone()
}

/// As a resolver does that finds the sender parked.
fn ask_to_grow(channel: ChannelRef, larger: u32) {
    channel.cold.slots.store(larger, Relaxed);
    channel.cold.asked.store(larger, Relaxed);
}

/// A sender on one worker and a receiver on the other.
fn stream(capacity: u32, initial: Vec<u32>, messages: u32, grow_to: Option<u32>) {
    let model = Driven::new();
    let taken = Taken::default();
    let first = u32::try_from(initial.len()).expect("few");
    let (sender, receiver, channel) = model.channel("numbers", capacity, initial);
    if let Some(larger) = grow_to {
        ask_to_grow(channel, larger);
    }
    let from = model.process("from", sender, move |sender| send_all(sender, first, messages));
    let to = {
        let taken = Arc::clone(&taken);
        model.process("to", receiver, move |receiver| receive_all(receiver, taken))
    };
    model.run_both(from, to);
    assert_eq!(taken_of(&taken), (0..messages).collect::<Vec<_>>());
}

#[test]
fn capacity_one_streams() {
    check(3, || stream(1, Vec::new(), 3, None));
}

/// One asks and another answers, so that each finds the other asleep, or just before; then two messages follow that
/// are not answered, so that what has been counted so far is looked at.
fn to_and_fro<T: Send + PartialEq + std::fmt::Debug + 'static>(make: fn(u32) -> T) {
    let model = Driven::new();
    let (ask, asked, _) = model.channel::<T>("asked", 1, Vec::new());
    let (answer, answered, _) = model.channel::<T>("answered", 1, Vec::new());
    let code = async move |(mut answered, mut ask): (Receiver<T>, Sender<T>)| {
        for number in 0..3 {
            ask.send(make(number)).await;
            assert_eq!(answered.recv().await, Some(make(number)));
        }
        for number in 3..5 {
            ask.send(make(number)).await;
        }
    };
    let asks = model.process("asks", (answered, ask), code);
    let code = async move |(mut asked, mut answer): (Receiver<T>, Sender<T>)| {
        for number in 0..3 {
            assert_eq!(asked.recv().await, Some(make(number)));
            answer.send(make(number)).await;
        }
        for number in 3..5 {
            assert_eq!(asked.recv().await, Some(make(number)));
        }
        assert_eq!(asked.recv().await, None);
    };
    let answers = model.process("answers", (asked, answer), code);
    model.run_both(asks, answers);
}

/// What fits into a word is given to a receiver that sleeps.
#[test]
fn what_is_given_to_a_sleeper_is_counted() {
    check(3, || to_and_fro(|number| number));
}

/// What does not fit takes the slot.
#[test]
fn what_is_not_given_to_a_sleeper_takes_its_slot() {
    check(3, || to_and_fro(|number| [number; 3]));
}

#[test]
fn capacity_two_streams() {
    check(3, || stream(2, Vec::new(), 4, None));
}

/// A capacity that is no power of two.
#[test]
fn capacity_three_streams() {
    check(3, || stream(3, vec![0], 5, None));
}

/// The slots of the old segment are used again, around those of the new one.
#[test]
fn a_channel_that_has_grown_comes_round() {
    check(2, || stream(2, vec![0, 1], 6, Some(3)));
}

/// A row of two slots, from which the oldest message is gone, grows to five, so that each side may do two
/// operations between looks: fewer where a row ends, or where the receiver follows into the larger cycle.
/// In a cycle of five no slot has the number that a message before the cycle would have.
#[test]
fn what_a_side_may_do_ends_with_its_row() {
    check(2, || {
        let model = Driven::new();
        let (numbers, received, channel) = model.channel::<u32>("numbers", 2, vec![0, 1]);
        let (begin, begins, _) = model.channel::<u32>("begin", 1, Vec::new());
        let (grown, has_grown, _) = model.channel::<u32>("grown", 1, Vec::new());
        ask_to_grow(channel, 5);
        let from = model.process(
            "from",
            (numbers, begins, grown),
            async |(mut numbers, mut begins, mut grown): (
                Sender<u32>,
                Receiver<u32>,
                Sender<u32>,
            )| {
                assert_eq!(begins.recv().await, Some(0));
                for number in 2..6 {
                    numbers.send(number).await;
                }
                grown.send(0).await;
                send_all(numbers, 6, 9).await;
            },
        );
        let taken = Taken::default();
        let to = {
            let taken = Arc::clone(&taken);
            model.process(
                "to",
                (received, begin, has_grown),
                async move |(mut received, mut begin, mut has_grown): (
                    Receiver<u32>,
                    Sender<u32>,
                    Receiver<u32>,
                )| {
                    assert_eq!(received.recv().await, Some(0));
                    begin.send(0).await;
                    assert_eq!(has_grown.recv().await, Some(0));
                    receive_all(received, taken).await;
                },
            )
        };
        model.run_both(from, to);
        assert_eq!(taken_of(&taken), (1..9).collect::<Vec<_>>());
    });
}

#[test]
fn the_receiver_follows_into_a_larger_cycle() {
    check(3, || stream(1, vec![0], 3, Some(2)));
}

/// The same where the receiver takes several messages at a time: none beyond the old cycle.
#[test]
fn the_receiver_follows_after_the_last_of_a_cycle() {
    check(3, || stream(4, vec![0, 1, 2], 5, Some(8)));
}

/// Messages in place, each held while the process waits for one on another channel, which publishes
/// what it has done so far: the sender must not come to the slot before it is free.
fn held(capacity: u32, grow_to: Option<u32>) {
    let model = Driven::new();
    let (numbers, held, channel) = model.channel::<u32>("numbers", capacity, vec![0]);
    let (signals, signalled, _) = model.channel::<u32>("signals", 1, Vec::new());
    if let Some(larger) = grow_to {
        ask_to_grow(channel, larger);
    }
    let from = model.process("from", (numbers, signals), async |(mut numbers, mut signals)| {
        for number in 0..2 {
            let slot = numbers.reserve().await;
            signals.reserve().await.send(number);
            slot.send_with(|place| place.write(number + 1));
        }
    });
    let to = model.process("to", (held, signalled), async |(mut held, mut signalled)| {
        for number in 0..2 {
            let message = held.recv_in_place().await.expect("one more than signals");
            assert_eq!(signalled.recv().await, Some(number));
            assert_eq!(message.into_inner(), number);
        }
        drop(held.recv_in_place().await.expect("the last"));
    });
    model.run_both(from, to);
}

#[test]
fn a_message_that_is_held_keeps_its_slot() {
    check(3, || held(2, None));
}

/// Reserved and lent, published late.
#[test]
fn a_message_that_is_held_keeps_its_slot_of_several() {
    check(3, || held(4, None));
}

/// The holder waits for a sender that puts new slots beside it meanwhile.
#[test]
fn a_message_that_is_held_keeps_its_slot_in_a_cycle_that_is_left() {
    check(3, || held(1, Some(2)));
}

/// The receiver leaves after the first message: the sender goes on, without a reader, whether it may ask
/// which that was or not.
#[test]
fn a_sender_outlives_its_receiver() {
    for new in [Driven::new, Driven::listing_none] {
        check(3, move || outlived(&new()));
    }
}

fn outlived(model: &Driven) {
    let (sender, receiver, _) = model.channel("numbers", 1, Vec::new());
    let from = model.process("from", sender, |sender| send_all(sender, 0, 3));
    let to = model.process("to", receiver, async |mut receiver: Receiver<u32>| {
        assert_eq!(receiver.recv().await, Some(0));
    });
    model.run_both(from, to);
}

/// Two processes that each send two messages before they receive: a ring of full channels. One
/// worker resolves it while the other is done; the process it frees goes on there, in new slots.
#[test]
fn a_resolver_grows_a_channel_and_takes_its_sender_over() {
    check(3, || {
        let model = Driven::new();
        let (to_b, from_a, _) = model.channel::<u32>("there", 1, Vec::new());
        let (to_a, from_b, _) = model.channel::<u32>("back", 1, Vec::new());
        let both = async |(mut receiver, mut sender): (Receiver<u32>, Sender<u32>)| {
            for number in 0..2 {
                sender.send(number).await;
            }
            for number in 0..2 {
                assert_eq!(receiver.recv().await, Some(number));
            }
        };
        let a = model.process("a", (from_b, to_b), both);
        let b = model.process("b", (from_a, to_a), both);
        model.ready();
        let begin = |core: &Arc<Core>, worker, task| {
            Driven::work(core, worker, [task]);
            // As a worker that has nothing to run: the frozen ring is there for one of the two.
            let resolver = core.resolver.get().expect("set by `ready`");
            resolver.look_everywhere(&core.scheduler, &core.channels, false);
            Driven::work_for_others(core, worker);
        };
        let other = {
            let core = Arc::clone(&model.core);
            thread::spawn(move || begin(&core, 1, b))
        };
        begin(&model.core, 0, a);
        other.join().expect("the other worker does not panic");
        Driven::work_for_others(&model.core, 0);
        model.assert_finished();
    });
}

/// Both ends close at once: one of them, the second, frees the channel and what is left in it, and
/// both processes go.
#[test]
fn the_second_end_to_close_frees_the_channel() {
    for new in [Driven::new, Driven::listing_none] {
        check(3, move || closed_at_once(&new()));
    }
}

fn closed_at_once(model: &Driven) {
    let message = Arc::new(());
    let (sender, receiver, _) = model.channel("units", 1, vec![Arc::clone(&message)]);
    let from = model.process("from", sender, async |sender: Sender<Arc<()>>| drop(sender));
    let to = model.process("to", receiver, async |receiver: Receiver<Arc<()>>| drop(receiver));
    model.run_both(from, to);
    assert_eq!(Arc::strong_count(&message), 1, "freed once, with its message");
    assert!(model.core.channels.all().is_empty());
    assert!(
        kahn_engine::model::is_empty(&model.core.scheduler.table.lock()),
        "nothing names them any more"
    );
}

/// A message goes round two processes, and these from worker to worker.
fn token(capacity: u32) {
    let model = Driven::new();
    let (to_b, from_a, _) = model.channel::<u32>("there", capacity, vec![0]);
    let (to_a, from_b, _) = model.channel::<u32>("back", capacity, Vec::new());
    let pass = async |(mut receiver, mut sender): (Receiver<u32>, Sender<u32>)| {
        while let Some(token) = receiver.recv().await {
            if token == 2 {
                break;
            }
            sender.send(token + 1).await;
        }
    };
    let b = model.process("b", (from_a, to_a), pass);
    let a = model.process("a", (from_b, to_b), pass);
    model.run_both(a, b);
}

#[test]
fn a_token_goes_round() {
    check(3, || token(1));
}

/// From capacity 4 on a message is not published at once, but when its sender waits.
#[test]
fn a_token_goes_round_published_late() {
    check(3, || token(4));
}

/// A process hands its sender on to another while the receiver leaves: the process that has the sender then
/// is not observed any more, and none is told so twice.
#[test]
fn an_end_changes_hands_while_its_peer_leaves() {
    check(3, || {
        let model = Driven::new();
        let (sender, receiver, channel) = model.channel::<u32>("numbers", 1, Vec::new());
        let giver = model.process_as(plan("gives", false), sender, async |_sender: Sender<u32>| {});
        let to = model.process("to", receiver, async |receiver: Receiver<u32>| drop(receiver));
        let taker = model.process_as(plan("takes", false), (), async |()| {});
        model.ready();
        let other = {
            let core = Arc::clone(&model.core);
            thread::spawn(move || Driven::work(&core, 1, [to]))
        };
        let worker = Worker::new(&model.core.scheduler, 0);
        hand_over(channel, End::Sender, Some((giver, &worker)), taker);
        other.join().expect("the other worker does not panic");
        assert_eq!(channel.owner(End::Sender), Some(taker));
        assert_eq!(giver.tally.load(Relaxed), 0);
        assert_eq!(taker.tally.load(Relaxed), 0, "the receiver has left");
        // The sender is still in the first body, which never runs.
        std::mem::forget(model);
    });
}
