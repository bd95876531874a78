//! What subscribers of `tracing` are told of runs: by a subscriber that writes all down.

use kahn::{Channel, Network, Options};
use parking_lot::Mutex;
use std::fmt::{Debug, Write as _};
use std::mem;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Metadata, Subscriber};

static WRITTEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Writer;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.insert_str(0, &format!("{value:?}"));
        } else {
            write!(self.0, " {}={value:?}", field.name()).expect("a string takes all");
        }
    }
}

impl Subscriber for Writer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "kahn"
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let line = format!("{} {}", event.metadata().level(), line.0);
        WRITTEN.lock().push(line);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// What is told of a run with one worker.
fn told(network: Network<'_>) -> Vec<String> {
    // Its result is not what is asked for.
    let _ = network.run_with(Options::new().workers(1).capacity(1));
    mem::take(&mut *WRITTEN.lock())
}

/// One test, for a program has one subscriber.
#[test]
fn what_happens_to_a_run_is_told_and_nothing_of_messages() {
    set_global_default(Writer).expect("there is no other");

    let mut network = Network::new();
    let numbers = network.source("numbers", 0..1000_u32);
    network.for_each("ignore", numbers, |_| {});
    let plain = told(network);
    assert_eq!(plain, ["INFO start processes=2 channels=1 workers=1", "INFO end outcome=Finished"]);

    // It is written before anything is read, so the channel must grow.
    let mut network = Network::new();
    let (out, numbers) = network.channel_with(Channel::<u32>::named("numbers").capacity(1));
    network.process("both", (out, numbers), async |(mut out, mut numbers)| {
        out.send(1).await;
        out.send(2).await;
        assert_eq!(numbers.recv().await, Some(1));
    });
    let grown = told(network);
    assert_eq!(grown[1], "DEBUG growth channel=\"numbers\" capacity=2", "{grown:?}");

    let mut network = Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("waits for itself", (out, numbers), async |(out, mut numbers)| {
        numbers.recv().await;
        drop(out);
    });
    let stuck = told(network);
    assert!(stuck.contains(&"WARN verdict verdict=\"deadlock\"".to_owned()), "{stuck:?}");

    let mut network = Network::new();
    network.process("fails", (), async |()| Err::<(), _>("out of paper"));
    let failed = told(network);
    assert!(failed[1].starts_with("ERROR failure process=\"fails\" error="), "{failed:?}");
    assert!(failed[1].contains("out of paper"), "{failed:?}");
    assert!(failed[2].starts_with("INFO end outcome=Failed"), "{failed:?}");
}
