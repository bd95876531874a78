//! Laws of the operators of streams: each against what an iterator does, in networks, in processes that
//! create and in parts of both, under policies, workers, capacities and seeds.

mod forms;

use kahn::testing::{Schedules, within};
use kahn::{
    Channel, Network, Options, Process, Receiver, Report, RunError, Scope, Summary, process,
};
use proptest::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

fn schedules() -> Schedules {
    Schedules::new()
        .policies([kahn::policy::SEEDED, kahn::policy::STEALING, kahn::policy::THREADS])
        .workers([1, 3])
        .capacities([1, 2, 64])
        .seeds([1, 2])
}

/// What an operator makes of numbers, in every schedule the same: in a network and in a process.
fn made<U: Send + PartialEq + Debug + 'static>(
    numbers: &[u32],
    operator: impl Fn(&mut Scope<'_, 'static>, Receiver<u32>) -> Receiver<U> + Clone + Send + 'static,
) -> Vec<U> {
    let before = |network: &mut Network<'static>| {
        let numbers = network.source("numbers", numbers.to_vec());
        let made = operator(&mut network.scope("part"), numbers);
        network.collect("all", made)
    };
    let meanwhile = |network: &mut Network<'static>| {
        let numbers = network.source("numbers", numbers.to_vec());
        let (out, made) = network.channel("made");
        let (spawner, operator) = (network.spawner(), operator.clone());
        network.process(
            "author",
            (numbers, out, spawner),
            async move |(numbers, out, mut create)| {
                let made = operator(&mut create.scope("part"), numbers);
                create.process("send on", (made, out), process::forward);
            },
        );
        network.collect("all", made)
    };
    let [before, meanwhile] = [
        schedules().verify_with(before, |all| all.take(), |_| {}),
        schedules().verify_with(meanwhile, |all| all.take(), |_| {}),
    ]
    .map(|verified| match verified {
        Ok(verified) => verified.result.expect("it has finished"),
        Err(error) => panic!("{error}"),
    });
    assert_eq!(before, meanwhile, "a process that creates makes the same");
    before
}

/// Compared by the first number alone.
#[derive(Clone, Debug)]
struct Entry(u32, usize);

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

fn numbers() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..6_u32, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn parts_of_streams(numbers in numbers(), count in 0..12_usize) {
        let found = made(&numbers, move |s, n| s.take("take", n, count));
        prop_assert_eq!(found, numbers.iter().copied().take(count).collect::<Vec<_>>());
        let found = made(&numbers, move |s, n| s.skip("skip", n, count));
        prop_assert_eq!(found, numbers.iter().copied().skip(count).collect::<Vec<_>>());
        let found = made(&numbers, |s, n| s.take_while("while", n, |n| *n < 5));
        prop_assert_eq!(found, numbers.iter().copied().take_while(|n| *n < 5).collect::<Vec<_>>());
    }

    #[test]
    fn state(numbers in numbers()) {
        let sum = |sum: &mut u32, n| {
            *sum += n;
            (*sum < 60).then_some(*sum)
        };
        let found = made(&numbers, move |s, n| s.scan("scan", n, 0, sum));
        prop_assert_eq!(found, numbers.iter().copied().scan(0, sum).collect::<Vec<_>>());
        let mut without = numbers.clone();
        without.dedup();
        prop_assert_eq!(made(&numbers, |s, n| s.dedup("dedup", n)), without);
        prop_assert_eq!(made(&numbers, |s, n| s.inspect("look", n, |_| {})), numbers);
    }

    #[test]
    fn windows(numbers in numbers(), size in 1..6_usize, pop in 1..6_usize) {
        let found = made(&numbers, move |s, n| s.window("window", n, size));
        prop_assert_eq!(found, numbers.windows(size).map(<[_]>::to_vec).collect::<Vec<_>>());
        let peek = size.max(pop);
        let found = made(&numbers, move |s, n| {
            s.rates("rates", n, pop, peek, 2, |window, out| {
                out.extend([window.iter().sum::<u32>(), window[0]]);
            })
        });
        let expected = numbers.windows(peek).step_by(pop).flat_map(|w| [w.iter().sum(), w[0]]);
        prop_assert_eq!(found, expected.collect::<Vec<u32>>());
        let found = made(&numbers, |s, n| s.chunk_by("chunk", n, |a, b| a <= b));
        let expected = numbers.chunk_by(|a, b| a <= b).map(<[_]>::to_vec);
        prop_assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn whole_streams(numbers in numbers(), count in 0..8_usize) {
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        prop_assert_eq!(made(&numbers, |s, n| s.sort("sort", n, 40)), sorted.clone());
        sorted.reverse();
        sorted.truncate(count);
        prop_assert_eq!(made(&numbers, move |s, n| s.top_n("top", n, count)), sorted);
        // Of equal ones the first: what is compared is not all that there is.
        let entries: Vec<_> = numbers.iter().copied().zip(0..).map(|(n, i)| Entry(n, i)).collect();
        let enter = || { let mut i = 0; move |n| { i += 1; Entry(n, i - 1) } };
        let found = made(&numbers, move |s, n| {
            let entries = s.map("entries", n, enter());
            let sorted = s.top_n("top", entries, count);
            s.map("places", sorted, |entry| entry.1)
        });
        let mut expected = entries;
        expected.sort_by_key(|entry| Reverse(entry.0));
        expected.truncate(count);
        prop_assert_eq!(found, expected.iter().map(|entry| entry.1).collect::<Vec<_>>());

        let mut groups = BTreeMap::<u32, Vec<u32>>::new();
        for n in &numbers {
            groups.entry(n % 3).or_default().push(*n);
        }
        let found = made(&numbers, |s, n| s.group_by_key("group", n, |n| n % 3));
        prop_assert_eq!(found, groups.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn several_streams(numbers in numbers(), others in numbers(), weights in prop::collection::vec(1..4_usize, 1..4)) {
        let second = others.clone();
        let found = made(&numbers, move |s, n| {
            let others = s.source("others", second.clone());
            s.chain("chain", vec![n, others])
        });
        prop_assert_eq!(found, [&numbers[..], &others[..]].concat());

        let second = others.clone();
        let found = made(&numbers, move |s, n| {
            let others = s.source("others", second.clone());
            s.join_by_key("join", n, others, |n| n % 4, |n| n % 4)
        });
        let pairs = numbers.iter().flat_map(|a| others.iter().map(move |b| (*a, *b)));
        prop_assert_eq!(found, pairs.filter(|(a, b)| a % 4 == b % 4).collect::<Vec<_>>());

        let dealt = weights;
        let found = made(&numbers, move |s, n| {
            let parts = s.scatter_weighted("part", n, &dealt);
            s.gather_weighted("whole", parts, &dealt)
        });
        prop_assert_eq!(found, numbers.clone());

        // Two copies of one stream, of which the second waits until the first has ended: it grows.
        let found = made(&numbers, |s, n| {
            let copies = s.tee("copy", n, 2);
            s.chain("twice", copies)
        });
        prop_assert_eq!(found, [&numbers[..], &numbers[..]].concat());
    }
}

fn run(network: Network<'_>) -> Result<Report, RunError> {
    within(Duration::from_secs(60), |watchdog| {
        watchdog.watch(&network);
        network.run_with(Options::new().workers(2).capacity(1))
    })
}

#[test]
fn endless_sources_end_when_what_reads_them_has_enough() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0_u64..);
    let odd = network.filter("odd", numbers, |n| n % 2 == 1);
    let skipped = network.skip("skip", odd, 10);
    let windows = network.window("windows", skipped, 3);
    let changes = network.dedup("changes", windows);
    let few = network.take("few", changes, 2);
    let endless = network.source("endless", 0_u64..);
    let small = network.take_while("small", endless, |n| *n < 3);
    let nothing = network.source("nothing", 0_u64..);
    let none = network.take("none", nothing, 0);
    let sums = network.source("more", 0_u64..);
    let sums = network.scan("sums", sums, 0, |sum, n| {
        *sum += n;
        (*sum < 10).then_some(*sum)
    });
    let all = network.collect("all", few);
    let others = network.chain("others", vec![small, none, sums]);
    let others = network.collect("collect", others);
    run(network).expect("it ends");
    assert_eq!(all.take(), Some(vec![vec![21, 23, 25], vec![23, 25, 27]]));
    assert_eq!(others.take(), Some(vec![0, 1, 2, 0, 1, 3, 6]));
}

#[test]
fn a_loop_ends_when_what_goes_round_does() {
    let mut network = Network::new();
    // Fibonacci: each number is the sum of the two before it.
    let numbers = network.feedback("around", [0_u64, 1], |network, around| {
        let mut copies = network.tee("copy", around, 2);
        let sums = network.rates("add", copies.remove(1), 1, 2, 1, |w, out| out.push(w[0] + w[1]));
        (network.take("eight", sums, 8), copies.remove(0))
    });
    let all = network.collect("all", numbers);
    let report = run(network).expect("it ends");
    assert_eq!(all.take(), Some(vec![0, 1, 1, 2, 3, 5, 8, 13, 21, 34]));
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn a_loop_ends_when_nothing_reads_it_any_more() {
    let mut network = Network::new();
    let numbers = network.feedback("around", [0_u64, 1], |network, around| {
        let mut copies = network.tee("copy", around, 2);
        let add = |w: &[u64], out: &mut Vec<u64>| out.push(w[0].wrapping_add(w[1]));
        (network.rates("add", copies.remove(1), 1, 2, 1, add), copies.remove(0))
    });
    let few = network.take("few", numbers, 10);
    let all = network.collect("all", few);
    let report = run(network).expect("it ends");
    assert_eq!(all.take(), Some(vec![0, 1, 1, 2, 3, 5, 8, 13, 21, 34]));
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn what_was_made_before_a_failure_arrives() {
    let mut last = Vec::new();
    let mut network = Network::new();
    let texts = network.source("texts", ["1", "2", "x", "4"]);
    let numbers = network.try_map("parse", texts, |text| Ok(text.parse::<u32>()?));
    let (out, seen) = network.channel("seen");
    network.process_with(Process::named("see").effects(), (numbers, out), process::forward);
    network.for_each("last", seen, |n| last.push(n));
    let error = run(network).expect_err("`x` is no number");
    assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Failed));
    assert_eq!(last, [1, 2]);
}

#[test]
fn too_much_to_sort_and_wrong_rates_are_failures() {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0_u32..);
    let sorted = network.sort("sort", numbers, 3);
    network.for_each("read", sorted, |_| {});
    let error = run(network).expect_err("there are four").to_string();
    assert!(
        error.contains("`sort` failed at message 4 of `numbers`: there are more than 3"),
        "{error}"
    );

    let mut network = Network::new();
    let numbers = network.source("numbers", 0..9_u32);
    let rated = network.rates("rate", numbers, 1, 2, 2, |window, out| out.push(window[0]));
    network.for_each("read", rated, |_| {});
    let error = run(network).expect_err("one is pushed").to_string();
    assert!(error.contains("1 messages of a window, with a push rate of 2"), "{error}");
}

#[test]
fn a_channel_that_is_described_in_place_of_a_name_is_as_described() {
    let mut network = Network::new();
    let capacity = |name: &'static str| Channel::named(name).capacity(7);
    let numbers = network.source(capacity("numbers").initial([100]), 0..5_u32);
    let squares = Channel::named("squares").capacity(9).written_by("square");
    let squares = network.map(squares, numbers, |n| n * n);
    let parts = network.scatter(capacity("part"), squares, 2);
    let whole = network.gather(format_args!("whole {}", 1), parts);
    let name = String::from("all");
    let all = network.collect(&name, whole);
    let report = network.run().expect("it ends");
    assert_eq!(name, "all");
    assert_eq!(all.take(), Some(vec![10_000, 0, 1, 4, 9, 16]));
    let channels: Vec<_> = report.channels.iter().map(|c| (c.name.as_str(), c.capacity)).collect();
    assert_eq!(
        channels,
        [("numbers", 7), ("squares", 9), ("part 0", 7), ("part 1", 7), ("whole 1", 64)]
    );
    let processes: Vec<_> = report.processes.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(processes, ["numbers", "square", "part", "whole 1", "all"]);
}

#[test]
fn names_in_parts_of_parts_begin_with_those_of_the_parts() {
    fn part(scope: &mut Scope<'_, '_>, numbers: Receiver<u32>) -> Receiver<u32> {
        let mut inner = scope.scope("inner");
        let copies = inner.tee("copy", numbers, 2);
        scope.gather("both", copies)
    }
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..3_u32);
    let left = part(&mut network.scope("left"), numbers);
    let (out, right) = network.channel("out");
    let spawner = network.scope("right").spawner();
    network.process("author", (left, out, spawner), async |(left, out, mut create)| {
        let right = part(&mut create.scope("deep"), left);
        create.process("send on", (right, out), process::forward);
    });
    let count = network.fold("count", right, 0, |count, _| count + 1);
    let report = run(network).expect("it ends");
    assert_eq!(count.take(), Some(12));
    let mut processes: Vec<_> = report.processes.iter().map(|p| p.name.as_str()).collect();
    processes.sort_unstable();
    let expected = [
        "author",
        "count",
        "left/both",
        "left/inner/copy",
        "numbers",
        "right/deep/both",
        "right/deep/inner/copy",
        "right/send on",
    ];
    assert_eq!(processes, expected);
}

#[test]
#[should_panic(expected = "only a process of the library is described with its channel")]
fn a_channel_alone_has_no_process_that_writes_it() {
    let _ends = Network::new().channel_with(Channel::<u32>::named("numbers").written_by("count"));
}
