//! Recordings that somebody has changed: a replay of one is refused, parts from it or ends, and nothing worse.

use super::{numbers, record};
use kahn::{Channel, Network, Options, Process};
use kahn_observe::record::{ReadError, Replay};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A source and a sink that are recorded, a channel between that is summed up, and a failure.
fn build(network: &mut Network<'_>) {
    let (out, read) = network.channel_with(numbers("read"));
    network.blocking("read", out, |mut out| (0..3).for_each(|number| out.send_blocking(number)));
    let (out, doubled) = network.channel_with(numbers("doubled"));
    network.process("double", (read, out), async |(mut read, mut out)| {
        while let Some(number) = read.recv().await {
            out.send(2 * number).await;
        }
    });
    let (out, told) = network.channel_with(Channel::<u64>::named("told"));
    let ports = (doubled, out);
    network.process("check", ports, async |(mut doubled, mut out)| {
        while let Some(number) = doubled.recv().await {
            out.send(number).await;
            if number == 4 {
                return Err("no luck");
            }
        }
        Ok(())
    });
    network.process_with(Process::named("print").effects(), told, async |mut told| {
        while told.recv().await.is_some() {}
    });
}

/// Gives each record that is whole the checksum of what it has become.
fn mend(file: &mut [u8]) {
    let mut at = 8;
    while let Some((frame, rest)) =
        file.get_mut(at..).and_then(|rest| rest.split_first_chunk_mut::<8>())
    {
        let [a, b, c, d, sum @ ..] = frame;
        let length = [*a, *b, *c, *d];
        let bytes = u32::from_le_bytes(length) as usize;
        let Some(content) = rest.get(..bytes) else { return };
        let mut crc = crc32fast::Hasher::new();
        crc.update(&length);
        crc.update(content);
        *sum = crc.finalize().to_le_bytes();
        at += 8 + bytes;
    }
}

/// Runs the network from this file, if it is taken for a recording; whether that did what was recorded.
fn is_done_again(path: &Path, bytes: &[u8]) -> bool {
    fs::write(path, bytes).expect("the disk has room");
    let replay = match Replay::open(path) {
        Ok(replay) => Arc::new(replay),
        Err(ReadError::Io(error)) => panic!("{error}"),
        Err(_) => return false,
    };
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    build(&mut network);
    let handle = network.stop_handle();
    replay.when_different(move || handle.stop());
    let ran = network.run_with(Options::new().workers(1).observer(Arc::clone(&replay)));
    replay.difference().is_none() && ran.is_err_and(|error| error.to_string().contains("no luck"))
}

#[test]
fn a_recording_that_was_cut_or_changed_anywhere_is_refused_or_replayed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("there is room");
    let (path, changed) = (folder.path().join("run.rec"), folder.path().join("changed.rec"));
    let mut network = Network::new();
    build(&mut network);
    record(&path, network, Options::new().workers(1));
    let whole = fs::read(&path).expect("it is there");
    assert!(is_done_again(&changed, &whole));
    let mut same = 0;
    for at in 0..whole.len() {
        is_done_again(&changed, &whole[..at]);
        let mut bytes = whole.clone();
        for change in [0x01, 0x80, 0xff] {
            bytes[at] = whole[at] ^ change;
            is_done_again(&changed, &bytes);
            mend(&mut bytes);
            same += usize::from(is_done_again(&changed, &bytes));
            bytes.copy_from_slice(&whole);
        }
    }
    // What does not say what is done, such as the name of the program, may be another; most of it is not such.
    assert!(same < whole.len(), "{same} of {} changes are not seen", 3 * whole.len());
}
