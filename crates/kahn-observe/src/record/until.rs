//! A replay in which a process is held before one of its receives, and what stands in the channels then.

use super::Topology;
use kahn_report::observe::{Graph, Subject};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;

/// So many messages of a channel are kept to be shown, and so many bytes of each.
const SHOWN: usize = 16;
const BYTES: usize = 32;

/// Which process is held, and before which of its receives.
#[derive(Debug)]
pub(super) struct Until {
    process: String,
    receive: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What observers are told that the process is, once that is known.
    id: Option<u64>,
    left: BTreeMap<u64, Left>,
}

/// What stands in a channel in the end, from its first message on: [`Replay::left`](super::Replay::left).
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Left;
///
/// let written = vec![Some(vec![7, 0]), Some(b"to be".to_vec())];
/// let left = Left { channel: "words".into(), first: 12, messages: 2, written };
/// assert_eq!(left.to_string(), "\
/// `words` holds 2 messages:
///   12  2 bytes: 07 00
///   13  5 bytes: 74 6f 20 62 65  \"to be\"
/// ");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The channel.
    pub channel: String,
    /// The number of its first message; that of a channel is 1.
    pub first: u64,
    /// How many there are.
    pub messages: u64,
    /// The written forms of the first few, each up to some bytes and one more if there are more; none
    /// where the function that writes it has panicked.
    pub written: Vec<Option<Vec<u8>>>,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, first, messages, written } = self;
        let plural = if *messages == 1 { "" } else { "s" };
        writeln!(f, "`{channel}` holds {messages} message{plural}:")?;
        for (number, message) in (*first..).zip(written) {
            match message {
                Some(bytes) => writeln!(f, "  {number}  {}", Bytes(bytes))?,
                None => writeln!(f, "  {number}  could not be written")?,
            }
        }
        match messages.saturating_sub(written.len() as u64) {
            0 => Ok(()),
            more => writeln!(f, "  … and {more} more"),
        }
    }
}

/// Bytes as they are shown: what is plain text as text, too.
struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, more) = match self.0.get(..BYTES) {
            Some(shown) if self.0.len() > BYTES => (shown, " …"),
            _ => (self.0, ""),
        };
        match self.0.len() {
            1 => write!(f, "1 byte:")?,
            length if length > BYTES => write!(f, "more than {BYTES} bytes:")?,
            length => write!(f, "{length} bytes:")?,
        }
        for byte in shown {
            write!(f, " {byte:02x}")?;
        }
        f.write_str(more)?;
        match std::str::from_utf8(shown) {
            Ok(text) if !text.is_empty() && !text.contains(char::is_control) => {
                write!(f, "  {text:?}")
            }
            _ => Ok(()),
        }
    }
}

impl Until {
    pub(super) fn new(process: String, receive: u64) -> Self {
        Self { process, receive, state: Mutex::default() }
    }

    /// Finds the process in the network that is about to run.
    pub(super) fn find(&self, graph: &Graph<'_>) -> Result<(), String> {
        let name = &self.process;
        let found = graph.processes.iter().find(|vertex| *vertex.process.name == *name);
        if let Some(vertex) = found {
            self.state.lock().id = Some(vertex.process.id);
            return Ok(());
        }
        let all = graph.processes.iter().map(|vertex| format!("`{}`", vertex.process.name));
        let some: Vec<_> = all.take(SHOWN).collect();
        let and_more = if graph.processes.len() > SHOWN { " and others" } else { "" };
        Err(format!("there is no process `{name}`, but {}{and_more}", some.join(", ")))
    }

    /// Before which receive this process is held.
    pub(super) fn holds(&self, process: Subject<'_>) -> Option<u64> {
        (self.state.lock().id == Some(process.id)).then_some(self.receive)
    }

    /// A message is left in a channel.
    pub(super) fn add(&self, channel: Subject<'_>, number: u64, message: Option<&[u8]>) {
        let mut state = self.state.lock();
        let left = state.left.entry(channel.id).or_insert_with(|| Left {
            channel: channel.name.to_string(),
            first: number + 1,
            ..Left::default()
        });
        left.messages += 1;
        if left.written.len() < SHOWN {
            let kept = message.map(|bytes| bytes.iter().copied().take(BYTES + 1).collect());
            left.written.push(kept);
        }
    }

    /// What is left, in the order of the channels of the network, and then of others.
    pub(super) fn left(&self, network: &Topology) -> Vec<Left> {
        let mut left = self.state.lock().left.clone();
        let known = network.channels.iter().filter_map(|channel| left.remove(&channel.id));
        let known: Vec<_> = known.collect();
        known.into_iter().chain(left.into_values()).collect()
    }
}
