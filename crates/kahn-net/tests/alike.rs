//! What all ranks must have alike, and what runs on ranks are compared by.

use kahn::{Channel, Network, Options, Process, Receiver, Sender, Summary};
use kahn_net::{NetError, Placement, Ran, Sim};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Cuts a text that may be another on each rank.
fn words<'env>(network: &mut Network<'env>, path: &str, text: &'env str) {
    network.input(path, text.as_bytes());
    let (out, words) = network.channel_with(Channel::named("words").wire_within(text));
    network.process("cut", out, async move |mut out| out.send_all(text.split(' ')).await);
    network.for_each("ignore", words, |_word| {});
}

#[test]
fn a_rank_that_has_another_file_ends_the_run_with_its_name_and_that_of_the_file() {
    for (path, text, expected) in [
        ("poem.txt", "to be", "it has 5 bytes there, and 12 here"),
        ("poem.txt", "to be or too", "its 12 bytes have another SHA-256 there"),
        ("poems.txt", "to be or not", "it is `poems.txt` there"),
    ] {
        let ran = Sim::new(3).run_each(&Options::new(), |rank, network| match rank {
            2 => words(network, path, text),
            _ => words(network, "poem.txt", "to be or not"),
        });
        let Err(NetError::OtherInput { rank: 2, path, what }) = ran else { panic!("{ran:?}") };
        assert_eq!((path.to_str(), &*what), (Some("poem.txt"), expected));
    }
}

#[test]
fn a_rank_that_depends_on_more_files_has_another_network() {
    let ran = Sim::new(2).run_each(&Options::new(), |rank, network| {
        words(network, "poem.txt", "to be or not");
        if rank == 1 {
            network.input("more.txt", b"");
        }
    });
    let error = ran.expect_err("there is one file more").to_string();
    assert!(error.contains("it depends on 2 files, and 1 here"), "{error}");
}

/// Mapped from the file of this program, on every rank.
static MAPPED: &str = "to be or not to be, in the file of this program";

#[test]
fn ranks_that_have_the_same_file_run_whether_it_is_mapped_or_read() {
    let program = std::env::current_exe().expect("the system tells");
    let (path, read) = (program.to_str().expect("it is text"), MAPPED.to_owned());
    for seed in 0..24 {
        let reads = [0, 1, 2].map(|rank| seed >> rank & 1 == 1);
        let ran = Sim::new(3).seed(seed).run_each(&Options::new(), |rank, network| {
            words(network, path, if reads[rank] { &read } else { MAPPED });
        });
        let histories = ran.expect("they have the same").histories;
        assert_eq!(histories[0].received, 12, "seed {seed}, read on {reads:?}");
    }
}

#[test]
fn nothing_runs_on_a_rank_that_has_another_file_nor_where_results_are() {
    for seed in 0..12 {
        let has_run = [false; 3].map(AtomicBool::new);
        let ran = Sim::new(3).seed(seed).placement(Placement::new().at("run 1", 1).at("run 2", 2));
        let ran = ran.run_each(&Options::new(), |rank, network| {
            let text = if rank == 2 { "to be or too" } else { "to be or not" };
            words(network, "poem.txt", text);
            let has_run = &has_run[rank];
            for number in 0..3 {
                let channel = Channel::<u64>::named(format!("numbers {number}")).wire();
                let (out, numbers) = network.channel_with(channel);
                network.process(format!("run {number}"), out, async |_| {
                    has_run.store(true, Relaxed);
                });
                network.for_each(format!("ignore {number}"), numbers, |_| {});
            }
        });
        assert!(matches!(ran, Err(NetError::OtherInput { rank: 2, .. })), "{ran:?}");
        let has_run = has_run.map(AtomicBool::into_inner);
        assert!(!has_run[0] && !has_run[2], "seed {seed}: {has_run:?}");
    }
}

#[test]
fn a_run_that_is_stopped_before_files_are_compared_ends() {
    let (told, stop) = mpsc::channel();
    let (held, gone) = mpsc::channel::<()>();
    let (held, of_rank_0) = (Mutex::new(Some(held)), Mutex::new((stop, gone)));
    let ran = Sim::new(2).run_each(&Options::new(), |rank, network| {
        let held = if rank == 0 { held.lock().take() } else { None };
        network.process("hold", (), async move |()| drop(held));
        if rank == 0 {
            told.send(network.stop_handle()).expect("it is received");
        } else {
            // Rank 0 waits for what this one has, or is about to.
            let (stop, gone) = &*of_rank_0.lock();
            stop.recv().expect("it is sent").stop();
            let ended = gone.recv_timeout(Duration::from_secs(60));
            assert_eq!(ended, Err(RecvTimeoutError::Disconnected), "rank 0 has not ended");
        }
        words(network, "poem.txt", "to be or not");
    });
    let error = ran.expect_err("it was stopped");
    assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
}

/// A process that sends these, and one that sends on what is twice as much.
fn doubled(ranks: usize, numbers: &'static [u64]) -> Ran<()> {
    let ran = Sim::new(ranks).run(&Options::new().capacity(1).histories(), |network| {
        let (out, given) = network.channel_with(Channel::named("given").wire());
        network
            .process("give", out, async move |mut out| out.send_all(numbers.iter().copied()).await);
        let (out, doubled) = network.channel_with(Channel::named("doubled").wire());
        network.process("double", (given, out), async |(mut given, mut out)| {
            while let Some(n) = given.recv().await {
                out.send(2 * n).await;
            }
        });
        network.for_each("ignore", doubled, |_: u64| {});
    });
    ran.expect("it finishes")
}

#[test]
fn runs_are_compared_by_what_was_received_and_the_first_channel_that_differs_is_named() {
    let one = doubled(1, &[1, 2, 3]);
    assert_eq!(one.histories.len(), 2);
    for ranks in 1..=3 {
        assert_eq!(one.difference(&doubled(ranks, &[1, 2, 3])), None);
        let what = one.difference(&doubled(ranks, &[1, 9, 3]));
        assert_eq!(what.as_deref(), Some("message 2 on channel `given`, from `give` to `double`"));
        let what = one.difference(&doubled(ranks, &[1, 2]));
        assert_eq!(what.as_deref(), Some("message 3 on channel `given`, from `give` to `double`"));
    }
}

#[test]
fn what_is_not_asked_to_be_compared_keeps_no_digests() {
    let ran = Sim::new(2).run(&Options::new(), |network| words(network, "poem.txt", "to be"));
    let histories = ran.expect("it finishes").histories;
    assert!(histories.iter().all(|history| history.digests.is_none() && history.received == 2));
}

#[test]
fn messages_that_borrow_from_what_all_ranks_have_go_as_places() {
    let text = String::from("to be or not to be");
    let ran = Sim::new(2).run(&Options::new().capacity(1), |network| {
        let (out, counted) = network.channel_beside("counted", &text[..]);
        network.process("count", out, async |mut out| {
            for word in text.split(' ') {
                out.send(vec![(word, word.len())]).await;
            }
        });
        network.collect("all", counted)
    });
    let found = ran.expect("it finishes").result.take().expect("there is a result").concat();
    assert_eq!(found, text.split(' ').map(|word| (word, word.len())).collect::<Vec<_>>());
    assert!(found.iter().all(|(word, _)| text.as_bytes().as_ptr_range().contains(&word.as_ptr())));
}

#[test]
#[should_panic(expected = "channel `words` is for processes")]
fn an_end_of_a_channel_beside_what_is_borrowed_is_not_given_to_a_party() {
    let text = String::from("to be");
    let mut network = Network::new();
    let (out, words) = network.channel_beside("words", &text[..]);
    network.for_each("ignore", words, |_: u64| {});
    let _out = network.outside("party", out);
}

#[test]
fn what_goes_from_rank_to_rank_is_counted_in_messages_and_in_bytes() {
    let ran = Sim::new(2).run(&Options::new(), |network| {
        let (out, numbers) = network.channel_with(Channel::named("numbers").initial([7]).wire());
        network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
        let (out, within) = network.channel_with(Channel::named("within").wire());
        network.process_with(Process::named("hand on").rank(0), (numbers, out), hand_on);
        network.fold("sum", within, 0, |sum, n: u64| sum + n)
    });
    let report = ran.expect("it runs").report;
    let carried = |name: &str| {
        let mut channels = report.channels.iter();
        let one = channels.find(|one| one.name.as_str() == name).expect("there is one");
        (one.received, one.carried, one.carried_bytes)
    };
    // The first message lies on both ranks. Each number is a byte behind four for its length.
    assert_eq!(carried("numbers"), (101, 100, 500));
    assert_eq!(carried("within"), (101, 0, 0));
}

async fn hand_on((mut from, mut to): (Receiver<u64>, Sender<u64>)) {
    while let Some(number) = from.recv().await {
        to.send(number).await;
    }
}
