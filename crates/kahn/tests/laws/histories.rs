//! Same input, same output; first in, first out; the end of a stream; exact batches.

use super::schedules::{Heard, count, everywhere, listen};
use futures_util::{SinkExt, StreamExt};
use kahn::{Channel, Network, Process, Receiver, process};
use std::sync::Arc;

#[test]
fn messages_come_in_the_order_in_which_they_were_sent_and_then_the_end() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 200);
        let heard = listen(&mut network, "listen", numbers);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..200).collect::<Vec<_>>());
        assert!(heard.is_complete());
        assert_eq!((report.channels[0].sent, report.channels[0].received), (200, 200));
    });
}

#[test]
fn a_butterfly_of_processes_computes_the_same_in_every_schedule() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (left_out, left) = network.channel("left");
        let (right_out, right) = network.channel("right");
        let (cross_out, cross) = network.channel("cross");
        let (sums_out, sums) = network.channel("sums");
        let numbers = count(&mut network, "numbers", 100);
        network.process(
            "split",
            (numbers, left_out, right_out),
            async |(mut numbers, mut left, mut right)| {
                while let Some(n) = numbers.recv().await {
                    if n % 3 == 0 { left.send(n).await } else { right.send(n).await }
                }
            },
        );
        network.process("left", (left, cross_out), async |(mut left, mut cross)| {
            while let Some(n) = left.recv().await {
                cross.send(n * 7).await;
                cross.send(n + 1).await;
            }
        });
        network.process(
            "mix",
            (right, cross, sums_out),
            async |(mut right, mut cross, mut sums)| {
                let mut state = 1_u64;
                loop {
                    let (a, b) = (right.recv().await, cross.recv().await);
                    if a.is_none() && b.is_none() {
                        break;
                    }
                    state = state.wrapping_mul(31) ^ (a.unwrap_or(5) << 8) ^ b.unwrap_or(9);
                    sums.send(state).await;
                }
            },
        );
        let heard = listen(&mut network, "listen", sums);
        schedule.finish(network);
        let expected = {
            let right = (0..100_u64).filter(|n| n % 3 != 0).collect::<Vec<_>>();
            let cross = (0..100_u64).step_by(3).flat_map(|n| [n * 7, n + 1]).collect::<Vec<_>>();
            let mut state = 1_u64;
            (0..right.len().max(cross.len()))
                .map(|i| {
                    let (a, b) = (right.get(i), cross.get(i));
                    state = state.wrapping_mul(31)
                        ^ (a.copied().unwrap_or(5) << 8)
                        ^ b.copied().unwrap_or(9);
                    state
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(heard.all(), expected);
    });
}

#[test]
fn after_the_end_of_the_stream_recv_keeps_telling_the_end() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 3);
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("read", numbers, async move |mut numbers| {
            // More often than a process may look at its peer before it gives way.
            for _ in 0..1000 {
                tell.push(numbers.recv().await);
            }
        });
        schedule.finish(network);
        let heard = heard.all();
        assert_eq!(heard[..4], [Some(0), Some(1), Some(2), None]);
        assert!(heard[4..].iter().all(Option::is_none));
    });
}

#[test]
fn a_dropped_sender_ends_the_stream_at_the_next_operation() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (question_out, question) = network.channel::<u64>("question");
        let (answer_out, answer) = network.channel::<u64>("answer");
        network.process("ask", (question_out, answer), async |(mut ask, mut answer)| {
            ask.send(1).await;
            drop(ask);
            // The answer comes only when the other has seen the end.
            assert_eq!(answer.recv().await, Some(1));
        });
        network.process("reply", (question, answer_out), async |(mut question, mut answer)| {
            let mut sum = 0;
            while let Some(n) = question.recv().await {
                sum += n;
            }
            answer.send(sum).await;
        });
        schedule.finish(network);
    });
}

#[test]
fn batches_are_exact_and_shorter_only_at_the_end() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("send", out, async |mut out| {
            out.send_all(0..5).await;
            out.send_all([]).await;
            out.send(5).await;
            out.flush().await;
            out.send_all(6..100).await;
        });
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("batches", numbers, async move |mut numbers| {
            let mut batch = Vec::new();
            assert_eq!(numbers.recv_batch(&mut batch, 0).await, 0);
            while numbers.recv_batch(&mut batch, 7).await > 0 {
                tell.push(std::mem::take(&mut batch));
            }
            assert_eq!(numbers.recv_batch(&mut batch, 7).await, 0);
        });
        schedule.finish(network);
        let all: Vec<_> = (0..100).collect();
        assert_eq!(heard.all(), all.chunks(7).map(<[u64]>::to_vec).collect::<Vec<_>>());
    });
}

#[test]
fn a_vector_is_sent_whole_and_keeps_its_memory() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<Box<u64>>("numbers");
        network.process("send", out, async |mut out| {
            let mut batch = Vec::new();
            out.send_batch(&mut batch).await;
            let mut next = 0;
            for size in [1, 2, 3, 64, 30] {
                batch.extend((next..next + size).map(Box::new));
                next += size;
                let room = batch.capacity();
                out.send_batch(&mut batch).await;
                assert!(batch.is_empty() && batch.capacity() == room);
            }
        });
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("batches", numbers, async move |mut numbers| {
            let mut batch = vec![Box::new(0)];
            while numbers.recv_batch(&mut batch, 9).await > 0 {
                batch.drain(1..).for_each(|n| tell.push(*n));
            }
        });
        schedule.finish(network);
        assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn what_is_left_of_a_vector_is_dropped_when_the_reader_leaves() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<Arc<()>>("numbers");
        let token = Arc::new(());
        let many = vec![Arc::clone(&token); 100];
        let send = Process::named("send").effects();
        network.process_with(send, out, async move |mut out| {
            let mut many = many;
            out.send_batch(&mut many).await;
            assert!(many.is_empty());
        });
        network.process("read", numbers, async |mut numbers| {
            numbers.recv_batch(&mut Vec::new(), 3).await;
        });
        schedule.finish(network);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

#[test]
fn each_message_is_handed_to_the_closure_once_and_in_order() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 130);
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("each", numbers, async move |mut numbers| {
            let first = numbers.recv().await;
            tell.push(first.unwrap_or(99));
            let rest = numbers.for_each(|n| tell.push(n)).await;
            assert_eq!(rest, 129);
        });
        schedule.finish(network);
        assert_eq!(heard.all(), (0..130).collect::<Vec<_>>());
    });
}

#[test]
fn an_iterator_is_asked_for_a_message_only_when_there_is_room_for_it() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let asked = Heard::default();
        let tell = asked.clone();
        network.process("send", out, async move |mut out| {
            out.send_all((0..50).inspect(|&n| tell.push(n))).await;
        });
        let all = asked.clone();
        let capacity = u64::from(schedule.capacity);
        network.process("read", numbers, async move |mut numbers| {
            let mut read = 0_u64;
            while numbers.recv().await.is_some() {
                read += 1;
                let ahead = all.all().len() as u64 - read;
                // One more than the capacity: the receiver may not have published yet.
                assert!(ahead <= capacity + 1, "{ahead} ahead with capacity {capacity}");
            }
        });
        schedule.finish(network);
        assert_eq!(asked.all().len(), 50);
    });
}

#[test]
fn a_batch_comes_to_its_end_though_its_reader_has_left() {
    everywhere(|schedule| {
        for is_size_known in [true, false] {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            let asked = Heard::default();
            let tell = asked.clone();
            // One with effects is not pruned.
            let send = Process::named("send").effects();
            network.process_with(send, out, async move |mut out| {
                let numbers = (0..50).inspect(|&n| tell.push(n));
                if is_size_known {
                    out.send_all(numbers).await;
                } else {
                    out.send_all(numbers.filter(|_| true)).await;
                }
                tell.complete();
            });
            network.process("leave", numbers, async |mut numbers| {
                numbers.recv().await;
            });
            schedule.finish(network);
            assert!(asked.all() == (0..50).collect::<Vec<_>>() && asked.is_complete());
        }
    });
}

#[test]
fn what_has_sent_all_its_messages_waits_for_no_more_room() {
    everywhere(|schedule| {
        for is_size_known in [true, false] {
            let mut network = Network::new();
            let (out, one) = network.channel::<u64>("one");
            let (late_out, late) = network.channel::<u64>("late");
            let heard = Heard::default();
            let tell = heard.clone();
            network.process("send", (out, late), async move |(mut out, mut late)| {
                if is_size_known {
                    out.send_all(0..1).await;
                } else {
                    out.send_all((0..5).filter(|n| *n == 0)).await;
                }
                // Its reader may leave from now on. One that waits here for room is pruned then.
                drop(out);
                while let Some(n) = late.recv().await {
                    tell.push(n);
                }
                tell.complete();
            });
            network.process("read", (one, late_out), async |(mut one, mut late)| {
                assert_eq!(one.recv().await, Some(0));
                drop(one);
                late.send(7).await;
            });
            let report = schedule.finish(network);
            assert!(heard.all() == [7] && heard.is_complete(), "size {is_size_known}: {report}");
        }
    });
}

#[test]
fn two_parallel_channels_keep_their_own_order() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (odd_out, odd) = network.channel("odd");
        let (even_out, even) = network.channel("even");
        network.process("send", (odd_out, even_out), async |(mut odd, mut even)| {
            for n in 0..60_u64 {
                if n % 2 == 0 { even.send(n).await } else { odd.send(n).await }
            }
        });
        let heard = Heard::default();
        let tell = heard.clone();
        // All of one before any of the other: with a small capacity `even` has to grow.
        network.process("read", (odd, even), async move |(mut odd, mut even)| {
            while let Some(n) = odd.recv().await {
                tell.push(n);
            }
            while let Some(n) = even.recv().await {
                tell.push(n);
            }
        });
        let report = schedule.finish(network);
        let expected: Vec<u64> = (0..60).filter(|n| n % 2 == 1).chain((0..60).step_by(2)).collect();
        assert_eq!(heard.all(), expected);
        assert_eq!(report.channels[0].growths, 0, "`odd` was never in the way");
        let expect_growth = schedule.capacity < 30;
        assert_eq!(report.channels[1].growths > 0, expect_growth);
    });
}

#[test]
fn a_process_may_send_to_itself() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (back, around) = network.channel::<u64>("around");
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("alone", (back, around), async move |(mut back, mut around)| {
            for n in 0..20 {
                back.send(n).await;
                back.send(n + 100).await;
                tell.push(around.recv().await);
            }
            for _ in 0..20 {
                tell.push(around.recv().await);
            }
            drop(back);
            tell.push(around.recv().await);
        });
        let report = schedule.finish(network);
        let sent = (0..20).flat_map(|n| [n, n + 100]).map(Some);
        assert_eq!(heard.all(), sent.chain([None]).collect::<Vec<_>>());
        assert_eq!(report.channels[0].growths > 0, schedule.capacity < 21);
    });
}

#[test]
fn initial_messages_come_first_even_more_than_the_capacity() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let channel = Channel::named("numbers").capacity(3).initial(0..10_u64);
        let (out, numbers) = network.channel_with(channel);
        network.process("send", out, async |mut out| out.send_all(10..20).await);
        let heard = listen(&mut network, "listen", numbers);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..20).collect::<Vec<_>>());
        assert_eq!(report.channels[0].growths, 0, "initial messages raise the capacity at once");
    });
}

#[test]
fn the_capacity_of_a_run_also_counts_for_channels_with_initial_messages() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let channel = Channel::named("numbers").initial(0..5_u64);
        let (out, numbers) = network.channel_with(channel);
        network.process("send", out, async |mut out| out.send_all(5..20).await);
        let heard = listen(&mut network, "listen", numbers);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..20).collect::<Vec<_>>());
        assert_eq!(report.channels[0].capacity, schedule.capacity.max(5));
    });
}

#[test]
fn a_token_goes_round_a_ring_of_initial_messages() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (first_out, mut before) = network.channel_with(Channel::named("0").initial([0_u64]));
        for stage in 1..10_u64 {
            let (out, next) = network.channel(stage.to_string());
            let received = std::mem::replace(&mut before, next);
            network.process(
                format!("stage {stage}"),
                (received, out),
                async |(mut from, mut to)| {
                    while let Some(n) = from.recv().await {
                        to.send(n + 1).await;
                    }
                },
            );
        }
        let (out, last) = network.channel("rounds");
        network.process("close", (before, first_out, out), async |(mut from, mut to, mut out)| {
            for _ in 0..30 {
                let n = from.recv().await.expect("the token goes round");
                out.send(n).await;
                to.send(n + 1).await;
            }
        });
        let heard = listen(&mut network, "listen", last);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..30).map(|round| round * 10 + 9).collect::<Vec<_>>());
        assert!(report.channels.iter().all(|channel| channel.growths == 0));
    });
}

/// A process that sends on what it receives: by hand, and in two ways of the `futures` crates.
fn send_on(network: &mut Network<'_>, way: u32, from: Receiver<u64>) -> Receiver<u64> {
    let (out, on) = network.channel("on");
    network.process("send on", (from, out), async move |(from, to)| match way {
        0 => process::forward((from, to)).await,
        1 => from.into_stream().map(Ok).forward(to.into_sink()).await.unwrap(),
        _ => to.into_sink().send_all(&mut from.into_stream().map(Ok)).await.unwrap(),
    });
    on
}

#[test]
fn a_stream_is_forwarded_into_a_sink_as_messages_are_by_hand() {
    everywhere(|schedule| {
        for way in 0..3 {
            let mut network = Network::new();
            let numbers = count(&mut network, "numbers", 100);
            let on = send_on(&mut network, way, numbers);
            let heard = listen(&mut network, "listen", on);
            schedule.finish(network);
            assert_eq!(heard.all(), (0..100).collect::<Vec<_>>(), "way {way}");
            assert!(heard.is_complete());
        }
    });
}

#[test]
fn a_stream_is_forwarded_into_a_sink_whose_reader_leaves_as_messages_are_by_hand() {
    everywhere(|schedule| {
        for way in 0..3 {
            let mut network = Network::new();
            let numbers = network.source("numbers", 0..);
            let on = send_on(&mut network, way, numbers);
            let few = Heard::default();
            let tell = few.clone();
            network.process("leave", on, async move |mut on| {
                for _ in 0..5 {
                    tell.push(on.recv().await);
                }
            });
            schedule.finish(network);
            assert_eq!(few.all(), (0..5).map(Some).collect::<Vec<_>>(), "way {way}");
        }
    });
}
