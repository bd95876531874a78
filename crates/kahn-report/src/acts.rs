//! What processes do that are joined to what is outside of their network: told while they run, so that it can
//! be kept, and told again in place of running them.
//!
//! A process is *joined to the outside* if it is an outside party, has declared effects, or blocks its
//! thread and receives nothing. All other processes are functions of what they receive, so what those did is
//! all that a run depends on.

use crate::Failure;
use crate::subject::Subject;
use crate::written::WrittenForms;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// What a process did that is joined to the outside, as an [`Observer`](crate::observe::Observer) is told.
///
/// Those of one process are told in an order in which they can be done again: a message is told to be
/// sent before any process can receive it, and to be received after it could be.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Act, Observer, Subject, Wants};
/// use kahn::{Network, Options, Process};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Acts(Mutex<Vec<String>>);
///
/// impl Observer for Acts {
///     fn wants(&self) -> Wants {
///         Wants { acts: true, ..Wants::NOTHING }
///     }
///
///     fn acts(&self, process: Subject<'_>, act: Act<'_>) {
///         let act = match act {
///             Act::Receives { messages, .. } => format!("received {}", messages.end),
///             Act::SeesEnd { .. } => "no more".to_owned(),
///             Act::Ends { failure: None } => "done".to_owned(),
///             _ => return,
///         };
///         self.0.lock().expect("no other thread panics").push(format!("{}: {act}", process.name));
///     }
/// }
///
/// let acts = Arc::new(Acts::default());
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..3);
/// network.process_with(Process::named("print").effects(), numbers, async |mut numbers| {
///     while let Some(number) = numbers.recv().await {
///         println!("{number}");
///     }
/// });
/// network.run_with(Options::new().workers(1).observer(Arc::clone(&acts)))?;
/// let told = acts.0.lock().expect("no other thread panics").join(", ");
/// assert!(told.ends_with("print: received 3, print: no more, print: done"), "{told}");
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Act<'a> {
    /// It sends messages.
    Sends {
        /// Where.
        channel: Subject<'a>,
        /// Which of the channel's: the first message is number 0. One that is discarded, for its reader has
        /// left, has the number of the next that could be received.
        messages: Range<u64>,
        /// Their written forms; none if the channel has none for its messages, and of a message whose
        /// function has panicked.
        written: Option<WrittenForms<'a>>,
    },
    /// It has received these messages.
    Receives {
        /// Where.
        channel: Subject<'a>,
        /// Which of the channel's.
        messages: Range<u64>,
    },
    /// It sees that nothing more comes. It fails with the sender if that has failed.
    SeesEnd {
        /// Where.
        channel: Subject<'a>,
    },
    /// It gives up a sender, and goes on.
    Closes {
        /// Of which channel.
        channel: Subject<'a>,
    },
    /// It gives up a receiver, and goes on.
    Departs {
        /// Of which channel.
        channel: Subject<'a>,
    },
    /// It returns, or fails by itself.
    Ends {
        /// Why it fails.
        failure: Option<&'a Failure>,
    },
    /// It was created while the network runs, and may create channels and processes itself, which are not told.
    MayCreate,
    /// It waits, in a run that is over since nothing could go on.
    Waits {
        /// Where.
        channel: Subject<'a>,
        /// Whether it waits for room, and not for a message.
        to_send: bool,
    },
    /// It writes a file that is there whole or not at all, and has so much of it on the disk, in a file
    /// beside the target. Told after each [`saves_each`](crate::observe::Observer::saves_each) messages, and
    /// before the file is made.
    Saves {
        /// The name of the file beside the target.
        part: &'a str,
        /// How many messages are in it.
        messages: u64,
        /// How many bytes these are.
        bytes: u64,
        /// The file, which may be read; none before it is made.
        file: Option<&'a File>,
    },
}

/// How much of its file a process had on the disk: the last [`Act::Saves`] that it told.
///
/// # Examples
///
/// ```
/// use kahn_report::observe::Saved;
///
/// let saved = Saved { part: ".out.txt.1234-0.part".into(), messages: 65_536, bytes: 1 << 20 };
/// assert!(saved.part.contains("out.txt"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The name of the file beside the target.
    pub part: String,
    /// How many messages are in it.
    pub messages: u64,
    /// How many bytes these are.
    pub bytes: u64,
}

/// The processes and channels of a network that is about to run, as an
/// [`Observer`](crate::observe::Observer) is told.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Graph, Observer, Wants};
/// use kahn::{Network, Options, RunError};
/// use std::sync::Arc;
///
/// /// Runs nothing that asks the world outside.
/// struct Pure;
///
/// impl Observer for Pure {
///     fn wants(&self) -> Wants {
///         Wants { acts: true, ..Wants::NOTHING }
///     }
///
///     fn starts(&self, graph: &Graph<'_>) -> Result<(), String> {
///         match graph.processes.iter().find(|vertex| vertex.is_joined) {
///             Some(vertex) => Err(format!("`{}` is joined to the outside", vertex.process.name)),
///             None => Ok(()),
///         }
///     }
/// }
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("numbers");
/// let _out = network.outside("client", out);
/// network.for_each("ignore", numbers, |_| {});
/// let refused = network.run_with(Options::new().observer(Arc::new(Pure)));
/// assert!(matches!(refused, Err(RunError::Refused(why)) if why == "`client` is joined to the outside"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Graph<'a> {
    /// The processes, in the order of their creation.
    pub processes: Vec<Vertex<'a>>,
    /// The channels, in the order of their creation.
    pub channels: Vec<Edge<'a>>,
    /// The files that it depends on, in the order in which it was told of them.
    pub inputs: Vec<Contents<'a>>,
}

/// A file that a network depends on, as it was when it was read or mapped.
///
/// # Examples
///
/// ```
/// use kahn_report::observe::Contents;
/// use std::path::Path;
///
/// let input = Contents { path: Path::new("words.txt"), contents: b"to be" };
/// assert_eq!(input.contents.len(), 5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// Where it was read.
    pub path: &'a Path,
    /// What was in it.
    pub contents: &'a [u8],
}

/// A process of a [`Graph`].
///
/// # Examples
///
/// ```
/// use kahn_report::observe::{Subject, Vertex};
/// use kahn_report::{Identity, Name};
///
/// let name = Name::from("read");
/// let process = Subject::new(&name, Identity::fixed(0));
/// let vertex = Vertex { process, is_joined: true, creates: false };
/// assert_eq!(vertex.process.name, "read");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Vertex<'a> {
    /// Which.
    pub process: Subject<'a>,
    /// Whether it is joined to what is outside of the network, so that its [`Act`]s are told.
    pub is_joined: bool,
    /// Whether it may create processes.
    pub creates: bool,
}

/// A channel of a [`Graph`].
///
/// # Examples
///
/// ```
/// use kahn_report::observe::{Edge, Subject};
/// use kahn_report::{Identity, Name};
///
/// let name = Name::from("lines");
/// let channel = Subject::new(&name, Identity::fixed(0));
/// let edge = Edge { channel, from: 0, to: 1, has_written_form: true };
/// assert_ne!(edge.from, edge.to);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Edge<'a> {
    /// Which.
    pub channel: Subject<'a>,
    /// The place of its sender's process among the processes.
    pub from: usize,
    /// The place of its receiver's process.
    pub to: usize,
    /// Whether its messages have a written form.
    pub has_written_form: bool,
}

/// Tells what the processes that are joined to the outside did in another run, to a network that does it
/// again.
///
/// # Examples
///
/// ```
/// use kahn::observe::{Script, Step};
/// use kahn::{Channel, Network};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// /// A client that sends a 7, and leaves.
/// #[derive(Default)]
/// struct Seven(AtomicBool);
///
/// impl Script for Seven {
///     fn next(&self, _process: u64, message: &mut Vec<u8>) -> Option<Step> {
///         if self.0.swap(true, Ordering::Relaxed) {
///             return Some(Step::Ends { failure: None });
///         }
///         message.push(7);
///         // Of the first channel that was created.
///         let channel = kahn_report::Identity::fixed(0).digest() as u64;
///         Some(Step::Sends { channel })
///     }
///
///     fn parts(&self, what: String) {
///         panic!("{what}");
///     }
/// }
///
/// let mut network = Network::new();
/// network.replay(Arc::new(Seven::default()));
/// let bytes = Channel::named("bytes").wire_with(
///     |byte: &u8, into| into.push(*byte),
///     |bytes| bytes.first().copied().ok_or("it is empty".into()),
/// );
/// let (out, bytes) = network.channel_with(bytes);
/// // It can send nothing itself.
/// let mut out = network.outside("client", out);
/// assert!(out.send_blocking(8).is_err());
/// let sum = network.fold("sum", bytes, 0, |sum, byte| sum + byte);
/// network.run()?;
/// assert_eq!(sum.take(), Some(7));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub trait Script: Send + Sync {
    /// Returns what a process does next, and appends to `message` what it sends; none if no more is known.
    ///
    /// It is named by [`Subject::id`]. Called in turn by whichever thread runs the process.
    fn next(&self, process: u64, message: &mut Vec<u8>) -> Option<Step>;

    /// Is told that the network does something else than it did, and what.
    fn parts(&self, what: String);

    /// Returns before which of its receives a process is held for good, if it is; its first is number 1. Not,
    /// unless overridden.
    ///
    /// Asked once for each process, before it runs; one process of a network is held. All others go on until
    /// nothing can any more: no channel grows because this process does not receive.
    fn holds(&self, process: Subject<'_>) -> Option<u64> {
        let _ = process;
        None
    }

    /// Returns whether processes with declared effects that send nothing are run all the same. No, unless
    /// overridden.
    fn acts_again(&self) -> bool {
        false
    }

    /// Returns whether a process that is joined to the outside is run, and not stood in for. No, unless
    /// overridden. Asked before it is created, of processes and not of parties.
    fn is_run(&self, process: Subject<'_>) -> bool {
        let _ = process;
        false
    }

    /// Returns how much of its file a process had on the disk that is run again and writes one. Nothing is
    /// known, unless overridden. Asked before the process is created.
    fn saved(&self, process: Subject<'_>) -> Option<Saved> {
        let _ = process;
        None
    }

    /// Is shown the file of which [`saved`](Self::saved) tells, or why it is not there, and returns whether the
    /// process goes on with it: it cuts it to what was saved. Otherwise it writes another one from its beginning.
    fn goes_on(&self, process: Subject<'_>, part: io::Result<&File>) -> bool {
        let _ = (process, part);
        false
    }
}

/// One step of a process that is done again: an [`Act`] of which nothing is borrowed.
///
/// Channels are named by [`Subject::id`].
///
/// # Examples
///
/// ```
/// use kahn_report::observe::Step;
///
/// let step = Step::Receives { channel: 3, messages: 100 };
/// assert_ne!(step, Step::SeesEnd { channel: 3 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// It sends a message.
    Sends {
        /// Where.
        channel: u64,
    },
    /// It receives so many messages.
    Receives {
        /// Where.
        channel: u64,
        /// How many.
        messages: u64,
    },
    /// It sees that nothing more comes.
    SeesEnd {
        /// Where.
        channel: u64,
    },
    /// It gives up a sender, and goes on.
    Closes {
        /// Of which channel.
        channel: u64,
    },
    /// It gives up a receiver, and goes on.
    Departs {
        /// Of which channel.
        channel: u64,
    },
    /// It returns, or fails by itself.
    Ends {
        /// Why it fails.
        failure: Option<Failure>,
    },
    /// It waits for good.
    Waits {
        /// Where.
        channel: u64,
        /// Whether it waits for room, and not for a message.
        to_send: bool,
    },
}
