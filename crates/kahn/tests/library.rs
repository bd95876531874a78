//! Laws of the process library, under every schedule.

use kahn::testing::{Schedules, assert_same, run_process};
use kahn::{Channel, Network, Options, Receiver, Summary, process};
use proptest::prelude::*;
use std::cmp::Reverse;

/// Some schedules in which a law of random inputs is tried: every operation waits, or few fit in.
fn some_schedules() -> Schedules {
    Schedules::new()
        .policies([kahn::policy::SEEDED, kahn::policy::STEALING])
        .workers([3])
        .capacities([1, 3])
        .seeds([1])
}

/// Runs a network in some schedules; what `result` finds is the same in all.
fn result_of<'env, R, A: PartialEq + std::fmt::Debug>(
    build: impl Fn(&mut Network<'env>) -> R,
    result: impl Fn(R) -> Option<A>,
) -> A {
    match some_schedules().verify_with(build, result, |_| {}) {
        Ok(verified) => verified.result.expect("the network has finished"),
        Err(error) => panic!("{error}"),
    }
}

/// Sorted lists of few different keys, each with the place it comes from.
fn sorted_lists() -> impl Strategy<Value = Vec<Vec<(u8, usize, usize)>>> {
    let list = prop::collection::vec(0..5_u8, 0..20);
    prop::collection::vec(list, 0..5).prop_map(|lists| {
        let places = lists.into_iter().enumerate().map(|(input, mut keys)| {
            keys.sort_unstable();
            let entries = keys.into_iter().enumerate();
            entries.map(|(index, key)| (key, input, index)).collect()
        });
        places.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn processes_do_what_iterators_do(numbers in prop::collection::vec(0..50_u32, 0..40)) {
        let expected: Vec<u32> = numbers
            .iter()
            .map(|n| n * 3)
            .filter(|n| n % 2 == 0)
            .flat_map(|n| 0..n % 7)
            .collect();
        let found = result_of(
            |network| {
                let numbers = network.source("numbers", numbers.iter());
                let threefold = network.map("threefold", numbers, |n| n * 3);
                let even = network.filter("even", threefold, |n| n % 2 == 0);
                let many = network.flat_map("many", even, |n| 0..n % 7);
                network.collect("all", many)
            },
            |all| all.take(),
        );
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn gathering_what_was_scattered_changes_nothing(
        numbers in prop::collection::vec(any::<u32>(), 0..60),
        parts in 1..6_usize,
    ) {
        let found = result_of(
            |network| {
                let all = network.source("numbers", numbers.iter().copied());
                let parts = network.scatter("part", all, parts);
                let all = network.gather("whole", parts);
                network.collect("all", all)
            },
            |all| all.take(),
        );
        prop_assert_eq!(found, numbers);
    }

    #[test]
    fn a_parallel_map_is_a_map(
        numbers in prop::collection::vec(any::<u32>(), 0..60),
        copies in 1..6_usize,
    ) {
        let found = result_of(
            |network| {
                let all = network.source("numbers", numbers.iter().copied());
                let mapped = network.parallel_map("spell", all, copies, |n| format!("{n:x}"));
                network.collect("all", mapped)
            },
            |all| all.take(),
        );
        prop_assert_eq!(found, numbers.iter().map(|n| format!("{n:x}")).collect::<Vec<_>>());
    }

    #[test]
    fn batches_are_full_but_for_the_last_and_unbatching_undoes_them(
        numbers in prop::collection::vec(any::<u32>(), 0..60),
        size in 1..20_usize,
    ) {
        let batches: Vec<Vec<u32>> =
            run_process(numbers.clone(), |ports| process::batch(ports, size));
        prop_assert_eq!(&batches, &numbers.chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>());
        let again: Vec<u32> = run_process(batches, process::unbatch);
        prop_assert_eq!(again, numbers);
    }

    #[test]
    fn equal_keys_stay_together_and_in_order(
        numbers in prop::collection::vec(0..30_u32, 0..80),
        parts in 1..6_usize,
    ) {
        let found = result_of(
            |network| {
                let entries = network.source("entries", numbers.iter().copied().enumerate());
                let parts = network.scatter_by_key("part", entries, parts, |entry| entry.1);
                let lists = (0..)
                    .zip(parts)
                    .map(|(i, part)| network.collect(format!("list {i}"), part));
                lists.collect::<Vec<_>>()
            },
            |lists| lists.into_iter().map(|list| list.take()).collect::<Option<Vec<_>>>(),
        );
        prop_assert_eq!(found.len(), parts);
        for list in &found {
            prop_assert!(list.is_sorted(), "in the order of the input");
        }
        for key in 0..30 {
            let having = found.iter().filter(|list| list.iter().any(|entry| entry.1 == key));
            prop_assert!(having.count() <= 1, "key {} is in several parts", key);
        }
        let mut all = found.concat();
        all.sort_unstable();
        prop_assert_eq!(all, numbers.into_iter().enumerate().collect::<Vec<_>>());
    }

    #[test]
    fn merging_sorted_streams_is_a_stable_sort(lists in sorted_lists()) {
        let mut expected = lists.concat();
        expected.sort_by_key(|entry| entry.0);
        let inputs = |network: &mut Network<'static>| -> Vec<_> {
            let inputs = (0..).zip(lists.clone());
            inputs.map(|(i, list)| network.source(format!("input {i}"), list)).collect()
        };
        let found = result_of(
            |network| {
                let inputs = inputs(network);
                let merged = network.merge_sorted_by_key("merged", inputs, |entry| entry.0);
                network.collect("all", merged)
            },
            |all| all.take(),
        );
        prop_assert_eq!(&found, &expected);
        // By the whole entry, which begins with the key: the same, for no two entries are equal.
        let found = result_of(
            |network| {
                let inputs = inputs(network);
                let merged = network.merge_sorted("merged", inputs);
                network.collect("all", merged)
            },
            |all| all.take(),
        );
        prop_assert_eq!(&found, &expected);
    }
}

#[test]
fn equal_messages_are_merged_in_the_order_of_their_inputs() {
    /// Equal to every other of its kind, so that only the place tells them apart.
    #[derive(Clone, Debug)]
    struct Entry(u32, &'static str);
    impl PartialEq for Entry {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Entry {}
    impl PartialOrd for Entry {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Entry {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.cmp(&other.0)
        }
    }
    let inputs = [
        vec![Entry(1, "a"), Entry(2, "b"), Entry(2, "c")],
        vec![Entry(1, "d"), Entry(1, "e")],
        vec![Entry(1, "f"), Entry(2, "g")],
    ];
    let merged: Vec<Entry> =
        run_process(inputs, |(inputs, out)| process::merge_sorted((inputs.into(), out)));
    let text: String = merged.iter().map(|entry| entry.1).collect();
    assert_eq!(text, "adefbcg");
}

#[test]
fn parallel_maps_keep_the_order_under_every_schedule() {
    let all = assert_same(
        |network| {
            let channel = Channel::named("numbers").digest();
            let (out, numbers) = network.channel_with(channel);
            network.process("count", out, |out| process::source(out, 0..200_u32));
            let mapped = network.parallel_map("next", numbers, 5, |n| n + 1);
            network.collect("all", mapped)
        },
        |all| all.take(),
    );
    assert_eq!(all, Some((1..=200).collect()));
}

#[test]
fn a_parallel_map_of_more_copies_than_messages_ends() {
    let all = assert_same(
        |network| {
            let numbers = network.source("numbers", 0..3_u32);
            let mapped = network.parallel_map("same", numbers, 10, |n| n);
            network.collect("all", mapped)
        },
        |all| all.take(),
    );
    assert_eq!(all, Some(vec![0, 1, 2]));
}

#[test]
fn a_zip_ends_with_the_shorter_and_reads_the_left_first() {
    let inputs = (vec![1, 2, 3], vec!["a", "b"]);
    let pairs: Vec<(u32, &str)> =
        run_process(inputs, |((left, right), out)| process::zip((left, right, out)));
    assert_eq!(pairs, [(1, "a"), (2, "b")]);

    let read = |left: u32, right: u32| {
        let mut network = Network::new();
        let left = network.source("left", 0..left);
        let right = network.source("right", 0..right);
        let pairs = network.zip("pairs", left, right);
        network.for_each("ignore", pairs, |_| {});
        let report = network.run().unwrap();
        let received =
            |name| report.channels.iter().find(|c| c.name.as_str() == name).unwrap().received;
        (received("left"), received("right"))
    };
    assert_eq!(read(5, 3), (4, 3), "one of the left is lost");
    assert_eq!(read(3, 5), (3, 3));
}

#[test]
fn every_copy_of_a_tee_is_the_whole_stream() {
    let lists = assert_same(
        |network| {
            let words = network.source("words", (0..50).map(|n| n.to_string()));
            let copies = network.tee("copy", words, 3);
            let lists =
                (0..).zip(copies).map(|(i, copy)| network.collect(format!("list {i}"), copy));
            lists.collect::<Vec<_>>()
        },
        |lists| lists.into_iter().map(|list| list.take()).collect::<Vec<_>>(),
    );
    let expected: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    assert_eq!(lists, vec![Some(expected); 3]);
}

#[test]
fn gathering_leaves_out_what_has_ended() {
    let inputs = [vec![1, 2, 3, 4], vec![], vec![10], vec![20, 21]];
    let all: Vec<u32> = run_process(inputs, |(inputs, out)| process::gather((inputs.into(), out)));
    assert_eq!(all, [1, 10, 20, 2, 21, 3, 4]);
    let none: Vec<u32> = run_process((), |((), out)| process::gather((Vec::new(), out)));
    assert!(none.is_empty());
}

#[test]
fn a_delay_puts_messages_before_the_stream_whatever_the_capacity() {
    let all = assert_same(
        |network| {
            let numbers = network.source("numbers", 100..103_u32);
            let delayed = network.delay("delay", numbers, 0..5);
            network.collect("all", delayed)
        },
        |all| all.take(),
    );
    assert_eq!(all, Some(vec![0, 1, 2, 3, 4, 100, 101, 102]));
}

#[test]
fn a_filter_between_a_tee_and_a_zip_makes_a_channel_grow_and_the_result_right() {
    let build = |network: &mut Network<'_>| {
        let numbers = network.source("numbers", 0..200_u32);
        let mut copies = network.tee("copy", numbers, 2);
        let rare = network.filter("rare", copies.remove(0), |n| n % 50 == 49);
        let pairs = network.zip("pairs", rare, copies.remove(0));
        network.collect("all", pairs)
    };
    let all = assert_same(build, |all| all.take());
    assert_eq!(all, Some(vec![(49, 0), (99, 1), (149, 2), (199, 3)]));

    let mut network = Network::new();
    let _all = build(&mut network);
    let report = network.run_with(Options::new().capacity(1)).unwrap();
    let grown: Vec<_> =
        report.channels.iter().filter(|c| c.growths > 0).map(|c| c.name.as_str()).collect();
    assert_eq!(grown, ["copy 1"]);
}

#[test]
fn scattering_and_gathering_need_no_growth() {
    for policy in ["stealing", "seeded", "threads"] {
        let mut network = Network::new();
        let numbers = network.source("numbers", 0..500_u32);
        let mapped = network.parallel_map("same", numbers, 4, |n| n);
        network.for_each("ignore", mapped, |_| {});
        let options = Options::new().policy(kahn_laws::policy(policy)).capacity(1);
        let report = network.run_with(options).unwrap();
        assert!(report.channels.iter().all(|channel| channel.growths == 0), "{report}");
    }
}

#[test]
fn a_merge_works_in_a_ring() {
    // Hamming's numbers: 1, and two, three, five times each of them.
    let first = assert_same(
        |network| {
            let (back, around) = network.channel_with(Channel::named("around").initial([1_u64]));
            let copies = network.tee("copy", around, 3);
            let multiples = [2, 3, 5].into_iter().zip(copies);
            let multiples = multiples
                .map(|(n, copy)| network.map(format!("times {n}"), copy, move |m| n * m))
                .collect();
            let merged = network.merge_sorted("merged", multiples);
            let (out, first) = network.channel("first");
            network.process(
                "once",
                (merged, back, out),
                async |(mut merged, mut back, mut out)| {
                    let mut last = 1;
                    while last < 24 {
                        let n = merged.recv().await.expect("the ring goes on");
                        if n != last {
                            out.send(n).await;
                            back.send(n).await;
                            last = n;
                        }
                    }
                },
            );
            network.collect("all", first)
        },
        |first| first.take(),
    );
    assert_eq!(first, Some(vec![2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24]));
}

/// Takes the first messages and leaves.
fn take<'env, T: Send + 'env>(
    network: &mut Network<'env>,
    items: Receiver<T>,
    count: usize,
) -> process::Output<Vec<T>> {
    let name = format!("take {count} of {}", items.name());
    let (out, taken) = network.channel(name.clone());
    network.process(name.clone(), (items, out), async move |(mut items, mut out)| {
        for _ in 0..count {
            if let Some(item) = items.recv().await {
                out.send(item).await;
            }
        }
    });
    network.collect(format!("collect {name}"), taken)
}

#[test]
fn endless_sources_end_when_the_reader_behind_any_process_leaves() {
    type Through = fn(&mut Network<'static>, Receiver<u64>) -> Receiver<u64>;
    let ways: [(&str, Through); 10] = [
        ("map", |network, all| network.map("way", all, |n| n + 1)),
        ("filter", |network, all| network.filter("way", all, |n| n % 3 == 0)),
        ("flat map", |network, all| network.flat_map("way", all, |n| n..)),
        ("batch", |network, all| {
            let batches = network.batch("way", all, 3);
            network.unbatch("back", batches)
        }),
        ("delay", |network, all| network.delay("way", all, [7])),
        ("tee", |network, all| {
            let mut copies = network.tee("way", all, 2);
            let _five = take(network, copies.remove(1), 2);
            copies.remove(0)
        }),
        ("zip", |network, all| {
            let others = network.source("others", 0_u64..);
            let pairs = network.zip("way", all, others);
            network.map("sum", pairs, |(a, b)| a + b)
        }),
        ("parallel map", |network, all| network.parallel_map("way", all, 3, |n| n + 1)),
        ("keys", |network, all| {
            let parts = network.scatter_by_key("way", all, 3, |n| n % 5);
            network.gather("back", parts)
        }),
        ("merge", |network, all| {
            let others = network.source("others", 0_u64..);
            network.merge_sorted("way", vec![all, others])
        }),
    ];
    for (name, way) in ways {
        let taken = assert_same(
            |network: &mut Network<'static>| {
                let all = network.source("all", 0_u64..);
                let through = way(network, all);
                take(network, through, 5)
            },
            |taken| taken.take(),
        );
        assert_eq!(taken.map(|taken| taken.len()), Some(5), "{name}");
    }
}

#[test]
fn the_others_of_a_scatter_go_on_when_one_leaves() {
    let lists = assert_same(
        |network| {
            let numbers = network.source("numbers", 0..100_u32);
            let mut parts = network.scatter("part", numbers, 2);
            let odd = network.collect("odd", parts.remove(1));
            (take(network, parts.remove(0), 3), odd)
        },
        |(few, odd)| (few.take(), odd.take()),
    );
    assert_eq!(lists, (Some(vec![0, 2, 4]), Some((1..100).step_by(2).collect())));
}

#[test]
fn a_sink_whose_effect_fails_fails_the_run_at_that_message() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0_u32..);
    network.for_each("write", numbers, |n| {
        if n < 5 { Ok(()) } else { Err(format!("no room for {n}")) }
    });
    let error = network.run().unwrap_err();
    let report = error.report().expect("it ran");
    assert_eq!(report.outcome, Summary::Failed);
    assert_eq!(report.channels[0].received, 6);
    assert!(
        error
            .to_string()
            .contains("process `write` failed at message 6 of `numbers`: no room for 5"),
        "{error}"
    );
}

#[test]
fn a_result_is_there_only_if_all_of_the_input_was_read() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..10_u32);
    let sum = network.fold("sum", numbers, 0, |sum, n| {
        assert!(n < 5, "too much");
        sum + n
    });
    assert!(network.run().is_err());
    assert_eq!(sum.take(), None);
}

#[test]
fn processes_borrow_from_the_caller_and_keep_their_state() {
    let text = String::from("b a c a");
    let mut seen = Vec::new();
    let mut network = Network::new();
    let words = network.source("words", text.split(' '));
    let mut count = 0;
    let numbered = network.map("number", words, |word| {
        count += 1;
        (Reverse(count), word)
    });
    network.for_each("keep", numbered, |entry| seen.push(entry));
    network.run().unwrap();
    assert_eq!(count, 4);
    assert_eq!(seen[3], (Reverse(4), "a"));
}

#[test]
fn the_library_works_while_the_network_runs() {
    let all = assert_same(
        |network: &mut Network<'static>| {
            let numbers = network.source("numbers", 0..20_u64);
            let (out, sorted) = network.channel("sorted");
            let create = network.spawner();
            let ports = (numbers, out, create);
            network.process("author", ports, async |(numbers, out, mut create)| {
                let (outs, parts): (Vec<_>, Vec<_>) = (0..3)
                    .map(|i| create.channel_with(Channel::named(format!("part {i}")).digest()))
                    .unzip();
                create.process("scatter", (numbers, outs), |ports| {
                    process::scatter_by_key(ports, |n| *n)
                });
                create.process("merge", (parts, out), process::merge_sorted);
            });
            network.collect("all", sorted)
        },
        |all| all.take(),
    );
    assert_eq!(all, Some((0..20).collect()));
}

#[test]
fn channels_and_processes_are_named_after_the_call() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..4_u32);
    let next = network.parallel_map("next", numbers, 2, |n| n + 1);
    assert_eq!(next.name().as_str(), "next gather");
    network.for_each("ignore", next, |_| {});
    let report = network.run().unwrap();
    let processes: Vec<_> = report.processes.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(processes, ["numbers", "next scatter", "next 0", "next 1", "next gather", "ignore"]);
    let channels: Vec<_> = report.channels.iter().map(|c| c.name.as_str()).collect();
    let expected =
        ["numbers", "next scatter 0", "next scatter 1", "next 0", "next 1", "next gather"];
    assert_eq!(channels, expected);
}

#[test]
#[should_panic(expected = "process `copy` needs an output at least")]
fn a_tee_without_copies_is_refused() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..4_u32);
    network.tee("copy", numbers, 0);
}

#[test]
#[should_panic(expected = "process `pairs`: a batch has a message at least")]
fn an_empty_batch_is_refused() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..4_u32);
    network.batch("pairs", numbers, 0);
}
