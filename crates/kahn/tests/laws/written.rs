//! What an observer is told of the contents of messages: each message that is sent on a channel with a written
//! form, once, in order, whichever operation sends it and whatever the channel has become.

use super::schedules::{everywhere, run};
use kahn::observe::{Observer, Subject, Wants, WrittenForms};
use kahn::{BoxError, Channel, Network, Options, Receiver, Sender};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

/// Which process sends on a channel, and what.
type Sent = (String, Vec<Option<Vec<u8>>>);

/// What was told, by channel, and what of it is wrong.
#[derive(Default)]
struct Told(Mutex<BTreeMap<String, Sent>>, Mutex<Vec<String>>);

impl Observer for Told {
    fn wants(&self) -> Wants {
        Wants { messages: true, contents: true, ..Wants::NOTHING }
    }

    fn writes(
        &self,
        process: Subject<'_>,
        channel: Subject<'_>,
        numbers: Range<u64>,
        written: Option<WrittenForms<'_>>,
    ) {
        let mut told = self.0.lock();
        let (sender, messages) = told.entry(channel.name.to_string()).or_default();
        let count = numbers.end - numbers.start;
        if numbers.start != messages.len() as u64 || count == 0 {
            self.1.lock().push(format!("{channel:?}: {numbers:?} after {}", messages.len()));
        }
        *sender = process.name.to_string();
        match written {
            Some(written) => messages.extend(written.map(|message| Some(message.to_vec()))),
            None => messages.extend((0..count).map(|_| None)),
        }
        if numbers.end != messages.len() as u64 {
            self.1.lock().push(format!("{channel:?}: {numbers:?} are {}", messages.len()));
        }
    }

    fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
        let told = self.0.lock();
        let written =
            told.get(channel.name.as_str()).map_or(0, |(_, written)| written.len() as u64);
        if channel.name != "plain" && written != messages.end {
            self.1.lock().push(format!("{channel:?}: sent {messages:?}, written {written}"));
        }
    }
}

/// A text of a length that is its number, so that no two slots are alike.
fn text(number: usize) -> String {
    "x".repeat(number % 40) + &number.to_string()
}

fn texts(name: &str) -> Channel<String> {
    Channel::named(name).wire_with(
        |text, bytes| bytes.extend_from_slice(text.as_bytes()),
        |bytes| Ok::<_, BoxError>(std::str::from_utf8(bytes)?.to_owned()),
    )
}

const MESSAGES: usize = 300;

/// Sends one by one, in batches, and in place; the reader takes all of `late` first, so that the others grow.
async fn send((mut texts, mut late): (Sender<String>, Sender<String>)) {
    let mut number = 0;
    while number < MESSAGES {
        texts.send(text(number)).await;
        let mut batch: Vec<_> = (number + 1..number + 5).map(text).collect();
        texts.send_batch(&mut batch).await;
        texts.reserve().await.send(text(number + 5));
        number += 6;
        late.send(text(number)).await;
    }
}

async fn receive(
    (mut texts, mut late, mut out): (Receiver<String>, Receiver<String>, Sender<usize>),
) {
    while late.recv().await.is_some() {}
    while let Some(text) = texts.recv().await {
        out.send(text.len()).await;
    }
}

#[test]
fn each_message_is_told_once_whatever_sends_it() {
    let growths = AtomicU32::new(0);
    everywhere(|schedule| {
        let told = Arc::new(Told::default());
        let mut network = Network::new();
        let (out, texts_in) = network.channel_with(texts("texts"));
        let (late_out, late) = network.channel_with(texts("late").capacity(1));
        let (lengths_out, lengths) = network.channel("plain");
        network.process("send", (out, late_out), send);
        network.process("receive", (texts_in, late, lengths_out), receive);
        network.for_each("ignore", lengths, |_| {});
        let report = run(network, schedule.options().observer(Arc::clone(&told)));
        assert!(report.is_success(), "{schedule:?}: {}", report.explanation());
        assert_eq!(*told.1.lock(), [""; 0], "{schedule:?}");
        growths.fetch_add(report.channels[0].growths, Relaxed);
        let told = told.0.lock();
        let (sender, messages) = &told["texts"];
        let sent: Vec<_> = (0..MESSAGES).map(|number| Some(text(number).into_bytes())).collect();
        assert_eq!((sender.as_str(), messages), ("send", &sent), "{schedule:?}");
        assert_eq!(told["late"].1.len(), MESSAGES / 6, "{schedule:?}");
        assert!(!told.contains_key("plain"), "it has no written form");
    });
    assert!(growths.into_inner() > 0, "messages have lain in several rows of slots");
}

#[test]
fn what_a_party_sends_is_told_and_initial_messages_are_not() {
    let told = Arc::new(Told::default());
    let mut network = Network::new();
    let (out, texts_in) = network.channel_with(texts("asked"));
    let mut out = network.outside("client", out);
    let (echo_out, echo) = network.channel_with(texts("echo").initial([text(7)]));
    network.process("forward", (texts_in, echo_out), kahn::process::forward);
    network.for_each("ignore", echo, |_| {});
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..20 {
                out.send_blocking(text(number)).expect("the run goes on");
            }
        });
        network.run_with(Options::new().observer(Arc::clone(&told))).expect("it ends");
    });
    let told = told.0.lock();
    let sent: Vec<_> = (0..20).map(|number| Some(text(number).into_bytes())).collect();
    assert_eq!(told["asked"], ("client".to_owned(), sent.clone()));
    assert_eq!(told["echo"], ("forward".to_owned(), sent));
}

#[test]
fn a_message_that_cannot_be_written_is_told_as_such_and_sent() {
    let told = Arc::new(Told::default());
    let mut network = Network::new();
    let odd = Channel::named("odd").wire_with(
        |number: &u8, bytes| {
            assert!(number % 2 == 1, "even");
            bytes.push(*number);
        },
        |bytes| Ok(bytes[0]),
    );
    let (out, numbers) = network.channel_with(odd);
    network.process("send", out, async |mut out| out.send_all(0..4_u8).await);
    let all = network.collect("all", numbers);
    network.run_with(Options::new().observer(Arc::clone(&told))).expect("it ends");
    assert_eq!(all.take(), Some(vec![0, 1, 2, 3]));
    assert_eq!(told.0.lock()["odd"].1, [None, Some(vec![1]), None, Some(vec![3])]);
}

#[test]
fn of_a_function_that_takes_away_what_is_there_nothing_is_told() {
    let told = Arc::new(Told::default());
    let mut network = Network::new();
    let odd = Channel::named("odd").wire_with(
        |number: &u8, bytes| if *number == 2 { bytes.clear() } else { bytes.push(*number) },
        |bytes| Ok(bytes[0]),
    );
    let (out, numbers) = network.channel_with(odd.capacity(64));
    network.process("send", out, async |mut out| out.send_all(0..4_u8).await);
    network.for_each("ignore", numbers, |_| {});
    let options = Options::new().workers(1).observer(Arc::clone(&told));
    network.run_with(options).expect("it ends");
    assert_eq!(told.0.lock()["odd"].1, [None, None, None, Some(vec![3])]);
    assert_eq!(*told.1.lock(), [""; 0]);
}

#[test]
fn large_messages_are_told_a_few_at_once() {
    let told = Arc::new(Told::default());
    let mut network = Network::new();
    let pages = Channel::named("pages").wire_with(
        |page: &(u8, usize), bytes| bytes.resize(bytes.len() + page.1, page.0),
        |bytes| Ok::<_, BoxError>((bytes[0], bytes.len())),
    );
    let (out, pages) = network.channel_with(pages.capacity(64));
    network.process("send", out, async |mut out| {
        out.send_all((0..60_u8).map(|number| (number, 1 + 5_000 * usize::from(number)))).await;
    });
    network.for_each("ignore", pages, |_| {});
    network.run_with(Options::new().observer(Arc::clone(&told))).expect("it ends");
    let pages = (0..60_u8).map(|number| Some(vec![number; 1 + 5_000 * usize::from(number)]));
    assert!(told.0.lock()["pages"].1.iter().cloned().eq(pages));
    assert_eq!(*told.1.lock(), [""; 0]);
}
