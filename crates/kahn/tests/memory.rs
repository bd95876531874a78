//! What channels take of the machine's memory, by an allocator that counts.
//!
//! A program of its own with one test at a time: the allocator is the program's.

use kahn::{Channel, Detection, Network, Options, Report, RunError, Summary};
use parking_lot::Mutex;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

// SAFETY: the system's allocator, which is asked for the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: said by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: said by the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a network; its report, and the most bytes that were allocated beside those before.
fn measured(network: Network<'_>, options: Options) -> (Report, usize) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let report = match network.run_with(options) {
        Ok(report) => report,
        Err(RunError::Ended(report)) => *report,
        Err(error) => panic!("{error}"),
    };
    (report, MOST.load(Relaxed) - before)
}

const WEIGHT: usize = 1 << 16;

/// What the runtime takes for itself: threads, tables, a report.
const REST: usize = 1 << 20;

/// A process sends heavy messages of which the receiver takes none before the last.
fn heavy(messages: u64, capacity: u32) -> Network<'static> {
    let mut network = Network::new();
    let (held_out, held) = network.channel_with(Channel::named("held").capacity(capacity));
    let (first_out, first) = network.channel_with(Channel::named("first").capacity(1));
    network.process("split", (held_out, first_out), async move |(mut held, mut first)| {
        for _ in 0..messages {
            held.send(vec![0_u8; WEIGHT]).await;
        }
        first.send(()).await;
    });
    network.process("join", (held, first), async move |(mut held, mut first)| {
        assert_eq!(first.recv().await, Some(()));
        let mut count = 0;
        held.for_each(|message| count += u64::from(message.len() == WEIGHT)).await;
        assert_eq!(count, messages);
    });
    network
}

#[test]
fn what_messages_own_is_within_the_budget() {
    let _alone = ONE_AT_A_TIME.lock();
    for detection in [Detection::Deferred, Detection::Central] {
        let budget = 4 << 20;
        let options = Options::new().workers(2).detection(detection).budget(budget as u64);
        let (report, most) = measured(heavy(400, 16), options);
        assert_eq!(report.outcome, Summary::OverBudget, "{most} bytes were allocated");
        assert!(most < budget + 2 * WEIGHT + REST, "{most}");
        assert!(report.channels[0].capacity >= 63, "all of it is of use: {report}");
        assert_eq!(report.channels[0].owned_bytes, Some(WEIGHT as u64));
        assert_eq!(report.grown[0].channel.as_str(), "held");
        assert_eq!(report.grown[0].began_with, 16);
    }
}

#[test]
fn a_network_of_heavy_messages_finishes_with_half_as_much_again_as_it_needs() {
    let _alone = ONE_AT_A_TIME.lock();
    for detection in [Detection::Deferred, Detection::Central] {
        let needed = 200 * (WEIGHT + size_of::<Vec<u8>>());
        let budget = needed * 3 / 2 + 64;
        let options = Options::new().workers(2).detection(detection).budget(budget as u64);
        let (report, most) = measured(heavy(200, 8), options);
        assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
        assert!(most < needed + 2 * WEIGHT + REST, "{most}");
        // What was held when the channel grew last, and it grows by half.
        let counted = report.most_bytes;
        assert!(counted > needed as u64 / 2 && counted <= budget as u64, "{counted}");
    }
}

#[test]
fn messages_that_are_gone_make_room_for_others() {
    let _alone = ONE_AT_A_TIME.lock();
    // Each of the loops holds 3 MiB, one after the other, and all stay open.
    let mut network = Network::new();
    let channel = |part| Channel::<Vec<u8>>::named(format!("loop {part}")).capacity(4);
    let loops: Vec<_> = (0..4).map(|part| network.channel_with(channel(part))).collect();
    network.process("turn", loops, async |mut loops| {
        for (out, back) in &mut loops {
            for _ in 0..48 {
                out.send(vec![0_u8; WEIGHT]).await;
            }
            for _ in 0..48 {
                assert_eq!(back.recv().await.map(|message| message.len()), Some(WEIGHT));
            }
        }
    });
    let (report, most) = measured(network, Options::new().budget(5 << 20));
    assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
    assert!(most < (5 << 20) + REST, "{most}");
}

#[test]
fn a_network_that_never_grows_is_warned_of_its_heavy_capacities() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut network = Network::new();
    let (out, messages) = network.channel_with(Channel::named("heavy").capacity(32));
    network.process("send", out, async |mut out| {
        for _ in 0..100 {
            out.send(vec![0_u8; WEIGHT]).await;
        }
    });
    network.process("receive", messages, async |mut messages| {
        messages.for_each(drop).await;
    });
    let (report, _) = measured(network, Options::new().workers(1).budget(1 << 20));
    assert_eq!(report.outcome, Summary::Finished);
    let warning = report.warnings.join("\n");
    assert!(warning.contains("channel `heavy` held up to 32 of 65536 bytes each"), "{warning}");
}

#[test]
fn a_type_that_nobody_can_weigh_is_named() {
    struct Own(Vec<u8>);
    let _alone = ONE_AT_A_TIME.lock();
    let mut network = Network::new();
    let texts = network.source("texts", ["one", "two"].map(String::from));
    let own = network.map("own", texts, |text| Own(text.into_bytes()));
    let lengths = network.map("lengths", own, |own| own.0.len());
    let all = network.collect("all", lengths);
    let (report, _) = measured(network, Options::new());
    assert_eq!(all.take(), Some(vec![3, 3]));
    let unknown: Vec<_> = report.weight_unknown.iter().map(kahn::Name::as_str).collect();
    assert_eq!(unknown, ["own"]);
    let owned: Vec<_> = report.channels.iter().map(|channel| channel.owned_bytes).collect();
    assert_eq!(owned, [Some(3), None, Some(0)]);
    assert!(
        report.to_string().contains("weight unknown: the budget counts no more than the slots")
    );
    assert!(report.to_json().contains("\"owned_bytes\": null"));
}
