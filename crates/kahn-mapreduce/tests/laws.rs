//! What a job computes: what a few lines compute without a network, however it is split and run.

use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};

use kahn::testing::{self, Schedules};
use kahn::{Network, Options, Receiver, Report, RunError, Summary};
use kahn_mapreduce::{Batch, Job, Parts, Split};
use kahn_policies::POLICIES;
use proptest::prelude::*;

/// An item: what its map emits.
type Item = Vec<(u8, u16)>;

/// The job that keeps all: each key with its values, in order.
fn grouped<'env>() -> Job<'env, Item, u8, u16, Vec<u16>> {
    Job::new(
        "group",
        |item: Item, out| item.into_iter().for_each(|(key, value)| out.emit(key, value)),
        |_key, values, out| out.emit(values.collect()),
    )
}

/// The same without a network.
fn grouped_by_hand(items: &[Item]) -> Vec<(u8, Vec<u16>)> {
    let mut groups = BTreeMap::<u8, Vec<u16>>::new();
    for &(key, value) in items.iter().flatten() {
        groups.entry(key).or_default().push(value);
    }
    groups.into_iter().collect()
}

/// Some items with few and many records, some of the keys in all of them.
fn some_items() -> Vec<Item> {
    let item = |n: u16| (0..n * 5 % 17).map(|i| ((i * n % 7) as u8, 100 * n + i)).collect();
    (0..40).map(item).collect()
}

fn taken<T: Clone>(all: &kahn::process::Output<Vec<Vec<T>>>) -> Option<Vec<T>> {
    all.take().map(|batches| batches.concat())
}

/// Runs a network under a policy of the table, chosen by `pick` with all else.
fn picked(pick: usize) -> Options {
    let policy = &POLICIES[pick % POLICIES.len()];
    let workers = [1, 2, 3, 8][pick / 3 % 4];
    let options = Options::new().policy(policy.clone()).workers(workers).seed(pick as u64);
    match pick % 4 {
        0 => options.capacity(1),
        1 => options.capacity(3),
        _ => options,
    }
}

#[test]
fn every_schedule_gives_the_groups_in_the_order_of_the_items() {
    let items = some_items();
    let expected = grouped_by_hand(&items);
    for (maps, reducers) in [(1, 1), (3, 2), (2, 5)] {
        let found = testing::assert_same(
            |network| {
                let split = Split::new("items", maps).batch(3).digest();
                let parts = split.items(network, items.clone());
                let job = grouped().reducers(reducers).digest();
                let merged = job.on(network, parts).merge(network, "merge");
                network.collect("all", merged)
            },
            |all| taken(&all),
        );
        assert_eq!(found.as_ref(), Some(&expected), "{maps} maps, {reducers} reducers");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_job_is_its_definition_for_all_numbers_of_processes(
        items in prop::collection::vec(prop::collection::vec((0u8..9, any::<u16>()), 0..12), 0..60),
        (maps, reducers, batch) in (1usize..7, 1usize..7, 1usize..9),
        pick in 0usize..96,
    ) {
        let mut network = Network::new();
        let numbers = network.source("items", items.clone());
        let parts = Split::new("split", maps).batch(batch).stream(&mut network, numbers);
        let merged =
            grouped().reducers(reducers).on(&mut network, parts).merge(&mut network, "merge");
        let all = network.collect("all", merged);
        network.run_with(picked(pick))?;
        prop_assert_eq!(taken(&all), Some(grouped_by_hand(&items)));
    }

    #[test]
    fn a_message_for_each_record_changes_no_result(
        items in prop::collection::vec(prop::collection::vec((0u8..9, any::<u16>()), 0..12), 0..60),
        (maps, reducers, batch) in (1usize..7, 1usize..7, 1usize..9),
        (first, second) in (any::<bool>(), any::<bool>()),
        pick in 0usize..96,
    ) {
        let chained = |first: bool, second: bool| {
            let mut network = Network::new();
            let parts = Split::new("items", maps).batch(batch).items(&mut network, items.clone());
            // The values of a key stand in the order of the items: it must not change either.
            let turn = Job::new(
                "turn",
                |(key, values): (u8, Vec<u16>), out| {
                    for value in values {
                        out.emit(value % 5, (key, value));
                    }
                },
                |_key, pairs, out| out.emit(pairs.collect::<Vec<_>>()),
            );
            let (group, turn) = (grouped().reducers(reducers), turn.reducers(reducers));
            let group = if first { group.one_by_one() } else { group };
            let turn = if second { turn.one_by_one() } else { turn };
            let grouped = group.on(&mut network, parts);
            let merged = turn.on(&mut network, grouped).merge(&mut network, "merge");
            let all = network.collect("all", merged);
            let report = network.run_with(picked(pick)).expect("it finishes");
            (taken(&all), growths(&report))
        };
        prop_assert_eq!(chained(first, second), (chained(false, false).0, 0));
    }

    #[test]
    fn a_combiner_changes_the_number_of_records_and_not_the_result(
        items in prop::collection::vec(prop::collection::vec((0u8..9, any::<u16>()), 0..12), 0..60),
        (maps, reducers, batch) in (1usize..7, 1usize..7, 1usize..9),
    ) {
        let sums = |combined: bool| {
            let mut network = Network::new();
            let split = Split::new("items", maps).batch(batch);
            let parts = split.items(&mut network, items.clone());
            let job = Job::new(
                "sum",
                |item: Item, out| {
                    for (key, value) in item {
                        out.emit(key, u64::from(value));
                    }
                },
                |_key, values, out| out.emit(values.sum::<u64>()),
            );
            let job = job.reducers(reducers);
            let job = if combined { job.combine(|sum, more| *sum += more) } else { job };
            let merged = job.on(&mut network, parts).merge(&mut network, "merge");
            let all = network.collect("all", merged);
            network.run().expect("it finishes");
            taken(&all)
        };
        prop_assert_eq!(sums(true), sums(false));
    }
}

/// Values of all magnitudes, whose sum depends on the order.
fn floats(items: u16) -> impl Iterator<Item = f64> {
    let value = |n: u16| f64::from(n).sqrt() * [1e-9, 1.0, 1e9][usize::from(n) % 3] - 7.0;
    (0..items).map(value)
}

fn sum_of_floats(maps: usize, reducers: usize, combined: bool) -> Vec<(usize, u64)> {
    let mut network = Network::new();
    let parts = Split::new("items", maps).batch(10).items(&mut network, floats(1000).enumerate());
    let job = Job::new(
        "sum",
        |(n, value): (usize, f64), out| out.emit(n / 3 % 5, value),
        |_key, values, out| out.emit(values.sum::<f64>().to_bits()),
    );
    let job = job.reducers(reducers);
    let job = if combined { job.combine(|sum, more| *sum += more) } else { job };
    let merged = job.on(&mut network, parts).merge(&mut network, "merge");
    let all = network.collect("all", merged);
    network.run().expect("it finishes");
    taken(&all).expect("a network that finished has a result")
}

#[test]
fn sums_of_floats_are_the_same_for_all_numbers_of_processes() {
    let mut by_hand = [0.0_f64; 5];
    floats(1000).enumerate().for_each(|(n, value)| by_hand[n / 3 % 5] += value);
    let by_hand: Vec<_> = by_hand.iter().map(|sum| sum.to_bits()).enumerate().collect();
    let combined = sum_of_floats(1, 1, true);
    assert_ne!(combined, by_hand, "the order matters, or this tests nothing");
    for (maps, reducers) in [(1, 1), (2, 1), (3, 4), (8, 8), (30, 2)] {
        assert_eq!(sum_of_floats(maps, reducers, false), by_hand, "{maps} and {reducers}");
        assert_eq!(sum_of_floats(maps, reducers, true), combined, "{maps} and {reducers}");
    }
}

/// Counts digits, then sorts the digits by how many there are.
fn ranking(
    network: &mut Network<'_>,
    (maps, reducers, second): (usize, usize, usize),
) -> Receiver<Vec<(u32, u32)>> {
    let parts = Split::new("numbers", maps).batch(7).digest().items(network, 0..2000_u32);
    let count = Job::new(
        "count",
        |n: u32, out| out.emit(n * n % 10, 1_u32),
        |_digit, ones, out| out.emit(ones.sum::<u32>()),
    );
    let counted = count.reducers(reducers).digest().on(network, parts);
    let sort = Job::new(
        "sort",
        |(digit, count), out| out.emit(count, digit),
        |_count, digits, out| digits.for_each(|digit| out.emit(digit)),
    );
    let sorted = sort.sort_values().reducers(second).digest().on(network, counted);
    sorted.merge(network, "merge")
}

#[test]
fn chained_jobs_with_sorted_values_depend_on_no_number() {
    let mut by_hand = [0_u32; 10];
    (0..2000_u32).for_each(|n| by_hand[(n * n % 10) as usize] += 1);
    let mut expected: Vec<_> = (0..).zip(by_hand).map(|(digit, count)| (count, digit)).collect();
    expected.retain(|(count, _)| *count > 0);
    expected.sort_unstable();
    for numbers in [(1, 1, 1), (3, 2, 4), (2, 5, 3)] {
        let schedules = Schedules::new().workers([1, 3]).seeds(0..2);
        let verified = schedules.verify_with(
            |network| {
                let merged = ranking(network, numbers);
                network.collect("all", merged)
            },
            |all| taken(&all),
            |_| {},
        );
        let verified = verified.unwrap_or_else(|error| panic!("{numbers:?}: {error}"));
        assert_eq!(verified.result.as_ref(), Some(&expected), "{numbers:?}");
    }
}

/// Each number goes to its digits' squares and back into the sum, until nothing changes.
fn happy(
    network: &mut Network<'_>,
    (maps, reducers): (usize, usize),
) -> Receiver<(usize, Vec<(u32, u32)>)> {
    let squares = Job::new(
        "squares",
        |(id, number): (u32, u32), out| {
            let digits = |n: &u32| Some(n / 10).filter(|rest| *rest > 0);
            for rest in std::iter::successors(Some(number), digits) {
                out.emit(id, (rest % 10) * (rest % 10));
            }
        },
        |_id, squares, out| out.emit(squares.sum::<u32>()),
    );
    let mut seen = Vec::new();
    Split::new("iterate", maps).batch(4).digest().iterate(
        network,
        (1..30).map(|id| (id, id)).collect(),
        move |network, parts| squares.reducers(reducers).digest().on(network, parts),
        move |round| {
            if seen.contains(&round) {
                Break((seen.len(), round))
            } else {
                seen.push(round.clone());
                Continue(round)
            }
        },
    )
}

#[test]
fn an_iteration_is_the_loop_it_stands_for() {
    let step = |n: &u32| n.to_string().bytes().map(|b| u32::from(b - b'0').pow(2)).sum::<u32>();
    let mut numbers: Vec<u32> = (1..30).collect();
    let mut seen = Vec::new();
    loop {
        numbers = numbers.iter().map(step).collect();
        if seen.contains(&numbers) {
            break;
        }
        seen.push(numbers.clone());
    }
    let expected = (seen.len(), (1..30).zip(numbers).collect::<Vec<_>>());
    for numbers in [(1, 1), (3, 2), (2, 4)] {
        let schedules = Schedules::new().workers([1, 3]).seeds(0..2);
        let verified = schedules.verify_with(
            |network| {
                let answer = happy(network, numbers);
                network.collect("answer", answer)
            },
            |answer| answer.take().and_then(|mut all| all.pop()),
            |_| {},
        );
        let verified = verified.unwrap_or_else(|error| panic!("{numbers:?}: {error}"));
        assert_eq!(verified.result.as_ref(), Some(&expected), "{numbers:?}");
    }
}

fn growths(report: &Report) -> u32 {
    report.channels.iter().map(|channel| channel.growths).sum()
}

#[test]
fn no_channel_grows_even_if_each_holds_a_single_batch() {
    for policy in POLICIES {
        for workers in [1, 3] {
            let options =
                || Options::new().policy(policy.clone()).workers(workers).capacity(1).seed(3);
            let mut network = Network::new();
            let merged = ranking(&mut network, (5, 4, 3));
            network.for_each("ignore", merged, |_| {});
            let report = network.run_with(options()).expect("it finishes");
            assert_eq!(growths(&report), 0, "{}, {workers} workers", policy.name());

            let mut network = Network::new();
            let merged = grouped().one_by_one();
            let parts = Split::new("items", 5).batch(3).items(&mut network, some_items());
            let merged = merged.reducers(4).on(&mut network, parts).merge(&mut network, "merge");
            network.for_each("ignore", merged, |_| {});
            let report = network.run_with(options()).expect("it finishes");
            assert_eq!(growths(&report), 0, "one by one: {}, {workers} workers", policy.name());

            let mut network = Network::new();
            let answer = happy(&mut network, (5, 4));
            network.for_each("ignore", answer, |_| {});
            let report = network.run_with(options()).expect("it finishes");
            assert_eq!(growths(&report), 0, "iterated: {}, {workers} workers", policy.name());
        }
    }
}

/// What went through the channels whose names begin so.
fn sent(report: &Report, prefix: &str) -> u64 {
    let channels = report.channels.iter();
    channels.filter(|channel| channel.name.to_string().starts_with(prefix)).map(|c| c.sent).sum()
}

#[test]
fn one_by_one_there_are_as_many_messages_as_records_and_an_empty_one_a_batch() {
    let (maps, reducers) = (2, 3);
    let run = |one_by_one: bool| {
        let mut network = Network::new();
        let parts = Split::new("numbers", maps).batch(10).items(&mut network, 0..1000_u32);
        let count = Job::new(
            "count",
            |n: u32, out| out.emit(n % 50, 1_u64),
            |_key, ones, out| out.emit(ones.sum::<u64>()),
        );
        let rank = Job::new(
            "rank",
            |(key, count): (u32, u64), out| out.emit(count, key),
            |_count, keys, out| out.emit(keys.count()),
        );
        let (count, rank) = (count.reducers(reducers), rank.reducers(reducers));
        let (count, rank) =
            if one_by_one { (count.one_by_one(), rank.one_by_one()) } else { (count, rank) };
        let counted = count.on(&mut network, parts);
        let merged = rank.on(&mut network, counted).merge(&mut network, "merge");
        let all = network.collect("all", merged);
        let report = network.run().expect("it finishes");
        assert_eq!(taken(&all), Some(vec![(20, 50)]));
        let names = ["count 0", "count 1", "count reduced", "rank ", "rank reduced"];
        names.map(|name| sent(&report, name))
    };
    // 50 batches a map and the end of its round, to each reducer; one batch of results each.
    let [one, other, counted, ranked, results] = run(false);
    assert_eq!([one, other, counted], [51 * 3, 51 * 3, 3]);
    assert_eq!([ranked - results, results], [3 * 3, 3]);
    let [one, other, counted, ranked, results] = run(true);
    assert_eq!([one, other, counted], [500 + 51 * 3, 500 + 51 * 3, 50 + 3]);
    assert_eq!([ranked - results, results], [50 + 3 * 3, 1 + 3]);
}

#[test]
fn an_endless_input_ends_when_the_readers_of_all_parts_leave() {
    testing::assert_same(
        |network| {
            let parts = Split::new("numbers", 3).items(network, 0_u64..);
            let job = Job::new("job", |n: u64, out| out.emit(n % 9, n), |_, _, out| out.emit(()));
            let parts = job.on(network, parts);
            network.process("leaves", parts, async |parts| drop(parts));
        },
        |()| (),
    );
}

#[test]
fn a_reader_that_has_enough_of_the_result_ends_what_is_left_of_the_job() {
    let found = testing::assert_same(
        |network| {
            let parts = Split::new("numbers", 3).items(network, (0..20_000_u32).rev());
            let job = Job::new("sort", |n: u32, out| out.emit(n, ()), |_, _, out| out.emit(()));
            let merged = job.on(network, parts).merge(network, "merge");
            let (first_out, first) = network.channel("first");
            network.process("first", (merged, first_out), async |(mut merged, mut first)| {
                first.send(merged.recv().await.expect("there is a batch")).await;
            });
            network.collect("all", first)
        },
        |all| taken(&all),
    );
    let found = found.expect("the run has finished");
    assert_eq!(found, (0..1024).map(|n| (n, ())).collect::<Vec<_>>());
}

#[test]
fn a_reader_of_a_part_that_leaves_changes_nothing_for_the_others() {
    let items = some_items();
    let expected = grouped_by_hand(&items);
    let found = testing::assert_same(
        |network| {
            let parts = Split::new("items", 2).batch(3).items(network, items.clone());
            let mut streams = grouped().reducers(2).on(network, parts).into_receivers();
            network.process("leaves", streams.pop(), async |part| drop(part));
            let left = Parts::of(streams).merge(network, "merge");
            network.collect("all", left)
        },
        |all| taken(&all),
    );
    let found = found.expect("the run has finished");
    assert!(!found.is_empty() && found.len() < expected.len());
    assert!(found.iter().all(|group| expected.contains(group)));
}

/// What failed, and with which words.
fn failures(error: &RunError) -> Vec<(String, String)> {
    let failures = &error.report().expect("it has run").failures;
    failures.iter().map(|f| (f.process.to_string(), f.message.clone())).collect()
}

/// Runs a job over 0..100 in which the map fails at some items, and the reduce at some keys.
fn failing(maps: usize, map_fails: &[u32], reduce_fails: &[u32], panics: bool) -> RunError {
    let fail = move |what: String| if panics { panic!("{what}") } else { Err::<(), _>(what) };
    let mut network = Network::new();
    let parts = Split::new("items", maps).batch(5).items(&mut network, 0..100_u32);
    let job = Job::new(
        "job",
        |n, out| {
            out.emit(n % 10, n);
            if map_fails.contains(&n) { fail(format!("item {n}")) } else { Ok(()) }
        },
        |key, values, out| {
            out.emit(values.count());
            if reduce_fails.contains(key) { fail(format!("key {key}")) } else { Ok(()) }
        },
    );
    let merged = job.reducers(1).on(&mut network, parts).merge(&mut network, "merge");
    let all = network.collect("all", merged);
    let error = network.run().expect_err("it fails");
    assert_eq!(all.take(), None, "half a result is none");
    error
}

#[test]
fn an_error_is_reported_with_its_process_and_the_first_batch_counts() {
    for panics in [false, true] {
        for maps in [1, 2, 3, 7] {
            // Batch 4 is items 20 to 24; batch 6 would be another process in most cases.
            let found = failures(&failing(maps, &[33, 22], &[], panics));
            assert_eq!(found, [(format!("job map {}", 4 % maps), "item 22".to_owned())]);
            let found = failures(&failing(maps, &[], &[8, 3], panics));
            assert_eq!(found, [("job reduce 0".to_owned(), "key 3".to_owned())]);
        }
    }
}

#[test]
fn the_same_process_fails_in_the_same_way_under_every_policy() {
    for pick in 0..4 * POLICIES.len() {
        let mut network = Network::new();
        let parts = Split::new("items", 3).batch(5).items(&mut network, 0..100_u32);
        let job = Job::new(
            "job",
            |n, out| {
                out.emit(n % 10, n);
                if n % 31 == 30 { Err("no more") } else { Ok(()) }
            },
            |_key, values, out| out.emit(values.count()),
        );
        let merged = job.reducers(2).on(&mut network, parts).merge(&mut network, "merge");
        network.for_each("ignore", merged, |_| {});
        let error = network.run_with(picked(pick)).expect_err("it fails");
        // Item 30 is in batch 6. The next one that fails, 61, is in batch 12 of the same process.
        assert_eq!(failures(&error), [("job map 0".to_owned(), "no more".to_owned())]);
    }
}

#[test]
fn an_error_of_the_iterating_process_ends_the_run() {
    let mut network = Network::new();
    let job = Job::new("job", |n: u32, out| out.emit(n, ()), |_, _, out| out.emit(()));
    let mut rounds = 0;
    let answer = Split::new("iterate", 2).iterate(
        &mut network,
        vec![1, 2, 3],
        |network, parts| job.on(network, parts),
        move |results| {
            rounds += 1;
            let next = results.into_iter().map(|(n, ())| n).collect();
            if rounds == 3 {
                Err("enough")
            } else {
                Ok(ControlFlow::<(), Vec<u32>>::Continue(next))
            }
        },
    );
    network.for_each("ignore", answer, |()| {});
    let error = network.run().expect_err("it fails");
    assert_eq!(failures(&error), [("iterate".to_owned(), "enough".to_owned())]);
}

#[test]
fn a_limit_holds_for_each_reducer_and_each_round() {
    let run = |limit| {
        let mut network = Network::new();
        let parts = Split::new("items", 2).items(&mut network, 0..1000_u32);
        let job = Job::new("job", |n, out| out.emit(0_u32, n), |_, all, out| out.emit(all.count()));
        let merged = job.limit(limit).reducers(1).on(&mut network, parts);
        let merged = merged.merge(&mut network, "merge");
        let all = network.collect("all", merged);
        network.run().map(|_| taken(&all))
    };
    assert_eq!(run(8000).expect("just enough"), Some(vec![(0, 1000)]));
    let error = run(7999).expect_err("one byte too few").to_string();
    assert!(error.contains("process `job reduce 0` failed: "), "{error}");
    assert!(error.contains("of 8 bytes are more than the limit of 7999 bytes"), "{error}");
}

#[test]
fn nothing_in_gives_nothing_out() {
    for (maps, reducers) in [(1, 1), (3, 2)] {
        let mut network = Network::new();
        let parts = Split::new("items", maps).items(&mut network, Vec::<Item>::new());
        let merged = grouped().reducers(reducers).on(&mut network, parts);
        let merged = merged.merge(&mut network, "merge");
        let all = network.collect("all", merged);
        let report = network.run().expect("it finishes");
        assert_eq!(report.outcome, Summary::Finished);
        assert_eq!(all.take(), Some(Vec::new()));
    }
}

#[test]
fn values_that_a_reduce_leaves_do_not_begin_another_group() {
    let mut network = Network::new();
    let parts = Split::new("items", 2).items(&mut network, 0..100_u32);
    let job = Job::new(
        "first two",
        |n, out| out.emit(n % 3, n),
        |_key, values, out| values.take(2).for_each(|n| out.emit(n)),
    );
    let merged = job.on(&mut network, parts).merge(&mut network, "merge");
    let all = network.collect("all", merged);
    network.run().expect("it finishes");
    assert_eq!(taken(&all), Some(vec![(0, 0), (0, 3), (1, 1), (1, 4), (2, 2), (2, 5)]));
}

#[test]
fn streams_of_other_processes_are_taken_as_parts() {
    // The first ends without a word on its round, the second has two rounds.
    let found = testing::assert_same(
        |network| {
            let one = network.source("one", [Batch::of(vec![1_u32, 2]), Batch::of(vec![3])]);
            let two = [Batch::last(vec![4]), Batch::last(vec![5, 6])];
            let two = network.source("two", two);
            let job = Job::new("all", |n, out| out.emit((), n), |(), all, out| out.emit(all.sum()));
            let sums = job.reducers(1).on(network, Parts::of(vec![one, two]));
            let merged = sums.merge(network, "merge");
            network.collect("sums", merged)
        },
        |sums| taken::<((), u32)>(&sums),
    );
    assert_eq!(found, Some(vec![((), 10), ((), 11)]));
}
