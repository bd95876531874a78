//! What is replayed is what was recorded.

use super::{Runs, essence, everywhere, numbers, record, replay};
use kahn::process::Output;
use kahn::{Network, Options, OutsideSender, Process, Report};
use kahn_observe::record::{Act, Entry, Reader};
use kahn_observe::trace::{Level, Trace};
use std::sync::Arc;
use std::thread;

/// Two clients and a device that blocks are merged in turn; what is added up fails at a sum that only their
/// data decides. A sink with effects takes the sums in.
struct Parts {
    clients: Vec<OutsideSender<u64>>,
    total: Output<u64>,
}

fn failing(network: &mut Network<'_>, device: Runs, sink: Runs) -> Parts {
    let (first, a) = network.channel_with(numbers("first"));
    let (second, b) = network.channel_with(numbers("second"));
    let (c_out, c) = network.channel_with(numbers("device"));
    let clients = vec![network.outside("client 1", first), network.outside("client 2", second)];
    network.blocking("device", c_out, move |mut out| {
        device.note();
        for number in 0..5000 {
            out.send_blocking(number * number % 89);
        }
    });
    let (out, sums) = network.channel_with(numbers("sums"));
    network.process("add", (a, b, c, out), async |(mut a, mut b, mut c, mut out)| {
        let mut sum = 0;
        while let (Some(x), Some(y), Some(z)) = (a.recv().await, b.recv().await, c.recv().await) {
            sum += x * y + z;
            assert!(sum % 1009 != 5, "the sum is {sum}");
            out.send(sum).await;
        }
    });
    let (kept_out, kept) = network.channel_with(numbers("kept"));
    network.process_with(
        Process::named("print").effects(),
        (sums, kept_out),
        async move |(mut sums, mut kept)| {
            while let Some(sum) = sums.recv().await {
                sink.note();
                kept.send(sum / 2).await;
            }
        },
    );
    Parts { clients, total: network.fold("total", kept, 0, u64::wrapping_add) }
}

#[test]
fn a_failure_that_data_decides_comes_again_at_the_same_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    let (device, sink) = (Runs::default(), Runs::default());
    let Parts { clients, total } = failing(&mut network, device.clone(), sink.clone());
    let recorded = thread::scope(|scope| {
        for (mut out, seed) in clients.into_iter().zip(3..) {
            scope.spawn(move || {
                let mut number = seed;
                for _ in 0..5000 {
                    out.send_blocking(number % 1000).expect("it runs");
                    number = (number * 48_271 + 1) % 1_000_003;
                }
            });
        }
        record(&path, network, Options::new().workers(8))
    });
    assert!(recorded.failures[0].message.starts_with("the sum is"), "{recorded}");
    assert!(device.has() && sink.has());
    let (total, is) = (total.take(), essence(&recorded));

    everywhere(|options, schedule| {
        let (device, sink) = (Runs::default(), Runs::default());
        let (parts, report, difference) =
            replay(&path, options, |network| failing(network, device.clone(), sink.clone()));
        assert_eq!(difference, None, "{schedule}");
        assert_eq!(essence(&report), is, "{schedule}");
        assert_eq!(parts.total.take(), total, "{schedule}");
        assert!(!device.has() && !sink.has(), "{schedule}: a recorded process runs");
    });
}

#[test]
fn a_recorded_process_fails_again_as_it_failed() {
    let folder = tempfile::tempdir().unwrap();
    let build = |network: &mut Network<'_>, panics: bool| {
        let (out, tape) = network.channel_with(numbers("tape"));
        network.blocking("device", out, move |mut out| {
            (0..100).for_each(|number| out.send_blocking(number));
            assert!(!panics, "the tape is torn");
            Err::<(), _>("the tape is at its end")
        });
        network.fold("count", tape, 0, |count, _| count + 1)
    };
    for panics in [false, true] {
        let path = folder.path().join(format!("{panics}.rec"));
        let mut network = Network::new();
        let _count = build(&mut network, panics);
        let recorded = record(&path, network, Options::new().workers(2));
        assert_eq!(recorded.failures[0].panicked, panics);
        assert_eq!(recorded.failures[0].at.is_some(), panics);
        everywhere(|options, schedule| {
            let (_, report, difference) = replay(&path, options, |net| build(net, panics));
            assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
        });
    }
}

#[test]
fn what_waits_for_good_waits_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let (out, questions) = network.channel_with(numbers("questions"));
        let (answers_out, answers) = network.channel_with(numbers("answers"));
        // Each asks the other once too often.
        network.process_with(
            Process::named("ask").effects(),
            (out, answers),
            async |(mut out, mut answers)| {
                for number in 0..10 {
                    out.send(number).await;
                    answers.recv().await;
                }
                answers.recv().await;
            },
        );
        network.process("answer", (questions, answers_out), async |(mut questions, mut out)| {
            while let Some(question) = questions.recv().await {
                out.send(question + 1).await;
            }
        });
    };
    let mut network = Network::new();
    build(&mut network);
    let recorded = record(&path, network, Options::new().workers(2));
    assert!(recorded.detail.is_some(), "{recorded}");
    everywhere(|options, schedule| {
        let ((), report, difference) = replay(&path, options, build);
        assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
    });
}

#[test]
fn a_source_that_was_pruned_is_pruned_again() {
    let folder = tempfile::tempdir().unwrap();
    let build = |network: &mut Network<'_>, taken: u64| {
        let (out, ticks) = network.channel_with(numbers("ticks"));
        network.blocking("clock", out, |mut out| {
            // It never ends by itself.
            for tick in 0..u64::MAX {
                out.send_blocking(tick);
            }
        });
        let (few_out, few) = network.channel("few");
        network.process("take", (ticks, few_out), async move |(mut ticks, mut out)| {
            for _ in 0..taken {
                let tick = ticks.recv().await;
                out.send(tick.expect("a clock ticks")).await;
            }
        });
        network.fold("sum", few, 0, |sum, tick| sum + tick)
    };
    for taken in [0, 1, 1000] {
        let path = folder.path().join(format!("{taken}.rec"));
        let mut network = Network::new();
        let sum = build(&mut network, taken);
        let recorded = record(&path, network, Options::new().workers(2));
        let sum = sum.take();
        assert!(recorded.is_success(), "{recorded}");
        everywhere(|options, schedule| {
            let (again, report, difference) = replay(&path, options, |net| build(net, taken));
            assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
            assert_eq!(again.take(), sum, "{taken}: {schedule}: {report:#}");
        });
    }
}

#[test]
fn ends_that_are_given_up_on_the_way_are_given_up_again() {
    let folder = tempfile::tempdir().unwrap();
    // `drive` closes the first channel and leaves the second, and only then hears the answer that needs both.
    let build = |network: &mut Network<'_>| {
        let (first_out, first) = network.channel_with(numbers("first"));
        let (second_out, second) = network.channel_with(numbers("second"));
        let (answer_out, answer) = network.channel_with(numbers("answer"));
        network.process_with(
            Process::named("drive").effects(),
            (first_out, second, answer),
            async |(mut first, mut second, mut answer)| {
                for number in 0..20 {
                    first.send(number).await;
                }
                drop(first);
                second.recv().await;
                drop(second);
                while answer.recv().await.is_some() {}
            },
        );
        network.process(
            "turn",
            (first, second_out, answer_out),
            async |(mut first, mut second, mut answer)| {
                let mut sum = 0;
                while let Some(number) = first.recv().await {
                    sum += number;
                }
                // More than the channel holds: it goes on when its reader has left.
                for number in 0..1000 {
                    second.send(number).await;
                }
                answer.send(sum).await;
            },
        );
    };
    // On one worker `drive` gives the first channel up before what it sent there last is seen.
    for workers in [1, 2] {
        let path = folder.path().join(format!("run {workers}.rec"));
        let mut network = Network::new();
        build(&mut network);
        let recorded = record(&path, network, Options::new().workers(workers));
        assert!(recorded.is_success(), "{recorded}");
        everywhere(|options, schedule| {
            let ((), report, difference) = replay(&path, options, build);
            assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
        });
    }
}

#[test]
fn a_close_that_took_effect_before_a_failure_is_no_part_of_it_in_the_replay_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let (whole_out, whole) = network.channel_with(numbers("whole"));
        let (torn_out, torn) = network.channel_with(numbers("torn"));
        network.process_with(
            Process::named("drive").effects(),
            (whole_out, torn_out),
            async |(mut whole, mut torn)| {
                whole.send(1).await;
                drop(whole);
                // The close takes effect, and nothing else is done.
                torn.flush().await;
                Err::<(), _>("no luck")
            },
        );
        let sum = |network: &mut Network<'_>, name, numbers| {
            network.fold(name, numbers, 0_u64, |sum, number: u64| sum + number)
        };
        [sum(network, "sum of the whole", whole), sum(network, "sum of the torn", torn)]
    };
    let mut network = Network::new();
    let sums = build(&mut network);
    let recorded = record(&path, network, Options::new().workers(2));
    assert_eq!(sums.map(|sum| sum.take()), [Some(1), None], "{recorded}");
    everywhere(|options, schedule| {
        let (sums, report, difference) = replay(&path, options, build);
        assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
        assert_eq!(sums.map(|sum| sum.take()), [Some(1), None], "{schedule}");
    });
}

#[test]
fn a_failed_end_is_seen_again_behind_what_was_sent_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let (made_out, made) = network.channel_with(numbers("made"));
        network.process("make", made_out, async |mut out| {
            for number in 0..5 {
                out.send(number).await;
            }
            Err::<(), _>("there are no more")
        });
        let (out, doubled) = network.channel_with(numbers("doubled"));
        network.process_with(
            Process::named("drive").effects(),
            (made, out),
            async |(mut made, mut out)| {
                while let Some(number) = made.recv().await {
                    out.send(2 * number).await;
                }
            },
        );
        network.for_each("see", doubled, |_| ());
    };
    // On one worker all is made before the first is taken, so what was sent is not published before the end is
    // seen, which ends the process.
    let mut network = Network::new();
    build(&mut network);
    let recorded = record(&path, network, Options::new().workers(1));
    assert!(recorded.failures[0].message.contains("there are no more"), "{recorded}");
    everywhere(|options, schedule| {
        let ((), report, difference) = replay(&path, options, build);
        assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
        let messages = |report: &Report| {
            report.channels.iter().map(|channel| channel.sent).collect::<Vec<_>>()
        };
        assert_eq!(messages(&report), messages(&recorded), "{schedule}");
    });
}

#[test]
fn a_client_that_has_left_before_the_run_leaves_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let (first_out, first) = network.channel_with(numbers("first"));
        let (second_out, second) = network.channel_with(numbers("second"));
        let clients =
            [network.outside("client 1", first_out), network.outside("client 2", second_out)];
        let count = |network: &mut Network<'_>, name, numbers| {
            network.fold(name, numbers, 0_u64, |count, _| count + 1)
        };
        (clients, count(network, "count 1", first), count(network, "count 2", second))
    };
    let mut network = Network::new();
    let ([one, mut other], ..) = build(&mut network);
    drop(one);
    let recorded = thread::scope(|scope| {
        scope.spawn(move || other.send_blocking(7).expect("it runs"));
        record(&path, network, Options::new().workers(2))
    });
    assert!(recorded.is_success(), "{recorded}");
    everywhere(|options, schedule| {
        let ((_, one, other), report, difference) = replay(&path, options, build);
        assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
        assert_eq!((one.take(), other.take()), (Some(0), Some(1)), "{schedule}");
    });
}

#[test]
fn a_run_is_recorded_and_traced_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let (out, tape) = network.channel_with(numbers("tape"));
        network.blocking("device", out, |mut out| (0..100).for_each(|n| out.send_blocking(n)));
        network.fold("sum", tape, 0, |sum, number| sum + number)
    };
    let [first, second] = [(); 2].map(|()| Arc::new(Trace::new(Level::Messages)));
    let mut network = Network::new();
    let _sum = build(&mut network);
    let recorded = record(&path, network, Options::new().observer(Arc::clone(&first)));
    everywhere(|options, schedule| {
        let (sum, report, difference) = replay(&path, options, build);
        assert_eq!((essence(&report), difference), (essence(&recorded), None), "{schedule}");
        assert_eq!(sum.take(), Some(4950), "{schedule}");
    });
    replay(&path, Options::new().observer(Arc::clone(&second)), build);
    for trace in [first, second] {
        let summary = trace.timeline().summary().to_string();
        assert!(summary.contains("sum") && summary.contains("device"), "{summary}");
    }
}

#[test]
fn what_comes_from_outside_is_recorded_whether_its_reader_has_left_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    everywhere(|options, schedule| {
        let mut network = Network::new();
        let (tape_out, tape) = network.channel_with(numbers("tape"));
        let (left_out, left) = network.channel_with(numbers("left"));
        let device = Process::named("device").effects();
        network.blocking_with(device, (tape_out, left), |(mut tape, mut left)| {
            tape.send_blocking(0);
            left.recv_blocking();
            (1..100).for_each(|number| tape.send_blocking(number));
        });
        network.process("read", (tape, left_out), async |(mut tape, mut left)| {
            tape.recv().await;
            drop(tape);
            left.send(0).await;
        });
        record(&path, network, options);

        let mut reader = Reader::open(&path).unwrap();
        let mut sent = Vec::new();
        while let Some(entry) = reader.read().unwrap() {
            if let Entry::Acts { act: Act::Sends { message, .. }, .. } = entry {
                sent.push(u64::from_le_bytes(message.try_into().unwrap()));
            }
        }
        assert!(sent.iter().copied().eq(0..100), "{schedule}: {sent:?}");
        std::fs::remove_file(&path).unwrap();
    });
}
