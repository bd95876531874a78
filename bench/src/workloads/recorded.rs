//! What a message costs the thread of its sender in a run that is recorded: processor time for 64 bytes, if they come from
//! outside and are written, and if they do not and are summed up.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, thread_time};
use anyhow::{Context as _, Result, ensure};
use kahn::{Channel, Network, Sender};
use kahn_observe::record::{Header, Recorder};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// How many messages may wait for their reader.
const ROOM: u32 = 1024;

type Block = [u8; 64];

/// What comes of a message besides that it is sent.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    Not,
    /// It is written.
    Whole,
    /// It is summed up with others.
    Digest,
}

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let messages = settings.size(4_000_000, 400_000);
    let kept = move |kept| move |workers| send(workers, messages, kept);
    let contest = Contest::new(format!("64 bytes, room for {ROOM}"), "kahn", kept(Kept::Not))
        .with("kahn-recorded", kept(Kept::Whole))
        .with("kahn-digested", kept(Kept::Digest));
    vec![contest.on_workers(vec![1])]
}

fn send(workers: usize, messages: usize, kept: Kept) -> Result<Vec<Figure>> {
    // In memory, if there is such a place: it is not the disk that is measured.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
    let recorder = Arc::new(Recorder::new(folder.path().join("run.rec"), Header::default()));
    let options = on(workers).capacity(ROOM);
    let options = match kept {
        Kept::Not => options,
        Kept::Whole | Kept::Digest => options.observer(Arc::clone(&recorder)),
    };
    let mut network = Network::new();
    let blocks = Channel::<Block>::named("blocks")
        .wire_with(|block, into| into.extend_from_slice(block), |bytes| Ok(bytes.try_into()?));
    let (out, blocks) = network.channel_with(blocks);
    let (tell, used) = mpsc::channel();
    let write = move |out: &mut Sender<Block>| {
        let before = thread_time();
        for number in 0..messages {
            out.send_blocking([number.to_le_bytes()[0]; 64]);
        }
        // Nobody waits for it if the run has failed.
        let _ = tell.send(thread_time().saturating_sub(before));
    };
    if kept == Kept::Digest {
        // A process that receives something is not joined to the outside.
        let go = network.source("go", [()]);
        network.blocking("write", (out, go), move |(mut out, mut go)| {
            go.recv_blocking();
            write(&mut out);
        });
    } else {
        network.blocking("write", out, move |mut out| write(&mut out));
    }
    network.process("read", blocks, async |mut blocks| while blocks.recv().await.is_some() {});
    network.run_with(options)?;
    let bytes = recorder.finish()?;
    let is_written = bytes >= (messages * size_of::<Block>()) as u64;
    ensure!(is_written == (kept == Kept::Whole), "a recording of {bytes} bytes");
    let used: Duration = used.try_recv().context("the sender has not come to its end")?;
    Ok(Figure::each("processor time per message", used, messages))
}
