//! What all ranks must have alike, and what runs on ranks are compared by.

use kahn::{Channel, Network, Options};
use kahn_net::{NetError, Ran, Sim};

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
