//! Messages in place: what comes out is what comes out by value.

use super::schedules::{Heard, Schedule, count, everywhere, listen};
use kahn::testing::Schedules;
use kahn::{Channel, Network, Process, Received, Receiver, Sender, Summary};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A message of more than a line.
type Large = [u64; 32];

fn large(number: u64) -> Large {
    std::array::from_fn(|place| number * 100 + place as u64)
}

/// How the processes of a network send and receive.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    ByValue,
    InPlace,
}

/// A source, a stage that sends each message on changed, one that sends each third on and all of them
/// twice, and the one that hears it all.
fn network_of(form: Form, heard: Heard<Large>) -> Network<'static> {
    let mut network = Network::new();
    let (out, made) = network.channel_with(Channel::named("made").digest());
    network.process("make", out, async move |mut out| {
        for number in 0..150 {
            match form {
                Form::ByValue => out.send(large(number)).await,
                Form::InPlace if number % 2 == 0 => out.reserve().await.send(large(number)),
                Form::InPlace => out.reserve().await.send_with(|slot| slot.write(large(number))),
            }
        }
    });
    let (out, changed) = network.channel_with(Channel::named("changed").digest());
    network.process("change", (made, out), async move |(mut made, mut out)| match form {
        Form::ByValue => {
            while let Some(mut message) = made.recv().await {
                message[3] += 1;
                out.send(message).await;
            }
        }
        Form::InPlace => {
            while let Some(mut message) = made.recv_in_place().await {
                message[3] += 1;
                message.forward(out.reserve().await);
            }
        }
    });
    let (thirds_out, thirds) = network.channel_with(Channel::named("thirds").digest());
    let (twice_out, twice) = network.channel_with(Channel::named("twice").digest());
    let ports = (changed, thirds_out, twice_out);
    network.process("sort", ports, async move |(mut changed, mut thirds, mut twice)| match form {
        Form::ByValue => {
            while let Some(message) = changed.recv().await {
                twice.send(message).await;
                twice.send(message).await;
                if message[0].is_multiple_of(3) {
                    thirds.send(message).await;
                }
            }
        }
        Form::InPlace => {
            while let Some(message) = changed.recv_in_place().await {
                // Held while others are sent.
                twice.send(*message).await;
                twice.reserve().await.send(*message);
                if message[0].is_multiple_of(3) {
                    thirds.send(message.into_inner()).await;
                }
            }
        }
    });
    network.process("hear", (thirds, twice), async move |(mut thirds, mut twice)| {
        let mut last = None;
        while let Some(third) = thirds.recv_in_place().await {
            // Held till the end of the turn, which may wait for the sender.
            loop {
                let message = twice.recv_in_place().await.expect("each of them is there twice");
                heard.push(*message);
                if *message == *third {
                    break;
                }
            }
            last = Some(third.into_inner());
        }
        while let Some(message) = twice.recv().await {
            heard.push(message);
        }
        heard.push(last.expect("there was one"));
        heard.complete();
    });
    network
}

#[test]
fn messages_in_place_are_those_by_value() {
    let oracle = Heard::default();
    Schedule::sequential(64).finish(network_of(Form::ByValue, oracle.clone()));
    everywhere(|schedule| {
        let heard = Heard::default();
        let report = schedule.finish(network_of(Form::InPlace, heard.clone()));
        assert_eq!(heard.all(), oracle.all());
        let counts = |name: &str| {
            let channel = report.channels.iter().find(|channel| channel.name.as_str() == name);
            channel.map(|channel| (channel.sent, channel.received))
        };
        assert_eq!(counts("made"), Some((150, 150)));
        assert_eq!(counts("thirds"), Some((50, 50)));
        assert_eq!(counts("twice"), Some((300, 300)));
    });
}

/// Every other network is in place: the histories of all, message by message, are the same, though
/// messages are changed where they lie.
#[test]
fn histories_in_place_are_those_by_value() {
    let built = AtomicUsize::new(0);
    let checked = Schedules::new().verify(|network: &mut Network<'static>| {
        let is_even = built.fetch_add(1, Relaxed).is_multiple_of(2);
        let form = if is_even { Form::ByValue } else { Form::InPlace };
        *network = network_of(form, Heard::default());
    });
    if let Err(error) = checked {
        panic!("{error}");
    }
    assert!(built.load(Relaxed) > 2);
}

/// By value the first message would make room for the second. In place it does not, and the channel
/// grows.
#[test]
fn a_ring_through_a_message_that_is_held_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (held_out, held) = network.channel::<u64>("held");
        let (first_out, first) = network.channel::<u64>("first");
        network.process("split", (held_out, first_out), async |(mut held, mut first)| {
            for number in 0..100 {
                held.send(number).await;
            }
            first.send(7).await;
            for number in 100..200 {
                held.send(number).await;
            }
        });
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("join", (held, first), async move |(mut held, mut first)| {
            let mut message = held.recv_in_place().await.expect("the first");
            let address = std::ptr::from_ref(&*message).addr();
            *message += 1000;
            tell.push(first.recv().await.expect("sent after a hundred"));
            assert_eq!(address, std::ptr::from_ref(&*message).addr(), "it stays where it is");
            tell.push(*message);
            drop(message);
            while let Some(message) = held.recv_in_place().await {
                tell.push(*message);
            }
        });
        let report = schedule.finish(network);
        let expected: Vec<_> = [7, 1000].into_iter().chain(1..200).collect();
        assert_eq!(heard.all(), expected);
        assert_eq!(report.channels[0].growths > 0, schedule.capacity < 100);
        assert_eq!((report.channels[0].sent, report.channels[0].received), (200, 200));
    });
}

/// A process that sends to itself: the slot is another than that of the message it holds.
#[test]
fn a_message_goes_on_in_the_same_channel() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, around) = network.channel_with(Channel::named("around").initial([large(0)]));
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("turn", (around, out), async move |(mut around, mut out)| {
            for _ in 0..70 {
                let mut message = around.recv_in_place().await.expect("always one");
                message[0] += 1;
                tell.push(message[0]);
                message.forward(out.reserve().await);
            }
        });
        schedule.finish(network);
        assert_eq!(heard.all(), (1..=70).collect::<Vec<_>>());
    });
}

#[test]
fn a_slot_that_is_dropped_sends_nothing() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<Box<u64>>("numbers");
        network.process("send", out, async |mut out: Sender<Box<u64>>| {
            for number in 0..100 {
                drop(out.reserve().await);
                if number % 3 == 0 {
                    out.send(Box::new(number)).await;
                } else {
                    out.reserve().await.send(Box::new(number));
                }
                drop(out.reserve().await);
            }
        });
        let heard = listen(&mut network, "listen", numbers);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..100).map(Box::new).collect::<Vec<_>>());
        assert_eq!(report.channels[0].sent, 100);
    });
}

/// Nothing is lost, leaked or counted twice.
#[test]
fn a_message_that_is_forgotten_is_received_again() {
    let build = |network: &mut Network<'_>, tell: Heard<u64>| {
        let (out, numbers) = network.channel_with(Channel::named("numbers").digest());
        network.process("send", out, async |mut out| {
            for number in 0..100 {
                out.send(Box::new(number)).await;
            }
        });
        network.process("forget", numbers, async move |mut numbers: Receiver<Box<u64>>| {
            for number in 0..50_u64 {
                let mut message = numbers.recv_in_place().await.expect("there are more");
                assert_eq!(**message, number);
                **message += 1000;
                std::mem::forget(message);
                let again = match number % 3 {
                    0 => numbers.recv().await,
                    1 => numbers.recv_in_place().await.map(Received::into_inner),
                    _ => {
                        let mut batch = Vec::new();
                        numbers.recv_batch(&mut batch, 1).await;
                        batch.pop()
                    }
                };
                tell.push(*again.expect("it is still there"));
            }
            // And one is never received.
            std::mem::forget(numbers.recv_in_place().await);
        });
    };
    everywhere(|schedule| {
        let mut network = Network::new();
        let heard = Heard::default();
        build(&mut network, heard.clone());
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (1000..1050).collect::<Vec<_>>());
        assert_eq!(report.channels[0].received, 50);
    });
    let checked = Schedules::new().verify(|network| build(network, Heard::default()));
    if let Err(error) = checked {
        panic!("{error}");
    }
}

#[test]
fn a_departed_receiver_does_not_show_in_a_slot() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, gone) = network.channel::<Arc<()>>("gone");
        let (units_out, units) = network.channel::<()>("units");
        let message = Arc::new(());
        let made = Arc::new(AtomicUsize::new(0));
        let (token, count) = (Arc::clone(&message), Arc::clone(&made));
        let send = Process::named("send").effects();
        network.process_with(send, (out, units_out), async move |(mut out, mut units)| {
            for number in 0..300 {
                let slot = out.reserve().await;
                if number % 2 == 0 {
                    slot.send(Arc::clone(&token));
                } else {
                    slot.send_with(|place| {
                        count.fetch_add(1, Relaxed);
                        place.write(Arc::clone(&token))
                    });
                }
                // A message that takes no room.
                units.reserve().await.send_with(|place| place.write(()));
            }
        });
        network.process("leave", gone, async |mut gone| {
            gone.recv_in_place().await;
        });
        network.process("few", units, async |mut units| {
            units.recv_in_place().await;
        });
        schedule.finish(network);
        assert_eq!(made.load(Relaxed), 150, "each message is made");
        assert_eq!(Arc::strong_count(&message), 1, "and dropped");
    });
}

#[test]
fn messages_that_take_no_room_are_made_and_counted() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, units) = network.channel::<()>("units");
        network.process("send", out, async |mut out| {
            for _ in 0..100 {
                out.reserve().await.send_with(|place| place.write(()));
            }
        });
        let (out, passed) = network.channel::<()>("passed");
        network.process("pass", (units, out), async |(mut units, mut out)| {
            while let Some(unit) = units.recv_in_place().await {
                unit.forward(out.reserve().await);
            }
        });
        let heard = listen(&mut network, "listen", passed);
        schedule.finish(network);
        assert_eq!(heard.all().len(), 100);
    });
}

#[test]
fn blocking_processes_send_and_receive_in_place() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, made) = network.channel::<Large>("made");
        network.blocking("make", out, |mut out| {
            for number in 0..100 {
                out.reserve_blocking().send_with(|place| place.write(large(number)));
            }
        });
        let (out, passed) = network.channel::<Large>("passed");
        network.blocking("pass", (made, out), |(mut made, mut out)| {
            while let Some(mut message) = made.recv_in_place_blocking() {
                message[0] += 1;
                message.forward(out.reserve_blocking());
            }
        });
        let mut party = network.outside("party", passed);
        std::thread::scope(|scope| {
            let heard = scope.spawn(move || {
                let mut heard = Vec::new();
                while let Some(message) = party.recv_blocking().expect("nobody fails") {
                    heard.push(message[0]);
                }
                heard
            });
            schedule.finish(network);
            let expected: Vec<_> = (0..100).map(|number| number * 100 + 1).collect();
            assert_eq!(heard.join().expect("no panic"), expected);
        });
    });
}

#[test]
fn a_reservation_that_has_waited_must_be_completed() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let (told, hears) = network.channel::<u64>("told");
        network.process("wrong", (out, told), async |(mut out, told)| {
            loop {
                let mut reserving = Box::pin(out.reserve());
                let waits = std::future::poll_fn(|context| {
                    std::task::Poll::Ready(reserving.as_mut().poll(context).is_pending())
                });
                if waits.await {
                    break;
                }
                drop(reserving);
                out.send(1).await;
            }
            drop(told);
        });
        network.process("wait", (numbers, hears), async |(_numbers, mut hears)| {
            hears.recv().await;
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Misuse);
        assert!(report.explanation().contains("abandoned an operation on channel `numbers`"));
    });
}

/// A place may be filled by its parts.
#[test]
fn a_message_is_made_part_by_part() {
    fn fill(place: &mut MaybeUninit<Large>) -> &mut Large {
        let first = place.as_mut_ptr().cast::<u64>();
        for number in 0..32 {
            // SAFETY: there are 32 of them.
            let part = unsafe { first.add(number) };
            // SAFETY: as above.
            unsafe { part.write(number as u64) };
        }
        // SAFETY: all of them are written.
        unsafe { place.assume_init_mut() }
    }
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, messages) = network.channel("messages");
        let numbers = count(&mut network, "numbers", 50);
        network.process("fill", (numbers, out), async |(mut numbers, mut out)| {
            while numbers.recv_in_place().await.is_some() {
                out.reserve().await.send_with(fill);
            }
        });
        let heard = listen(&mut network, "listen", messages);
        schedule.finish(network);
        assert_eq!(heard.all(), vec![large(0); 50]);
    });
}

/// What a channel begins with never stands on a stack, not even without optimisations.
#[test]
fn the_first_messages_may_be_larger_than_the_stack() {
    const SIZE: usize = 1 << 20;
    fn run() -> Option<u64> {
        let mut first: Vec<[u8; SIZE]> = Vec::with_capacity(3);
        for (place, byte) in first.spare_capacity_mut().iter_mut().zip(1..=3) {
            // SAFETY: the place of one message.
            unsafe { place.as_mut_ptr().write_bytes(byte, 1) };
        }
        // SAFETY: all of them are written.
        unsafe { first.set_len(3) };
        let mut network = Network::new();
        let (out, messages) = network.channel_with(Channel::named("messages").initial(first));
        network.process("end", out, async |_out| {});
        let (tell, sums) = network.channel("sums");
        network.process("sum", (messages, tell), async |(mut messages, mut tell)| {
            while let Some(message) = messages.recv_in_place().await {
                tell.send(message.iter().map(|&byte| u64::from(byte)).sum::<u64>()).await;
            }
        });
        let sum = network.fold("all", sums, 0, |all, sum| all + sum);
        network.run().expect("it ends");
        sum.take()
    }
    let thread = std::thread::Builder::new().stack_size(SIZE / 2);
    let sum = thread.spawn(run).expect("there are threads").join().expect("it does not panic");
    assert_eq!(sum, Some(6 * SIZE as u64));
}
