//! What a recording says.

use super::Topology;
use kahn_report::observe::Contents;
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// What a recording begins with: the program, its network, and its input.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Header;
///
/// let header = Header { program: "words".into(), seed: 7, ..Header::default() };
/// assert!(header.arguments.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// What the program is called.
    pub program: String,
    /// Its version.
    pub version: String,
    /// What it was given.
    pub arguments: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// Which network it is.
    pub network: Topology,
    /// The files that it read.
    pub inputs: Vec<Input>,
}

impl Header {
    /// Makes what can be said of the program that runs: its name and what it was given.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::Header;
    ///
    /// let header = Header { version: "1.2".into(), ..Header::of_this_program() };
    /// assert!(!header.program.is_empty());
    /// ```
    #[must_use]
    pub fn of_this_program() -> Self {
        let mut typed = env::args_os();
        let path = PathBuf::from(typed.next().unwrap_or_default());
        Self {
            program: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            arguments: typed.map(|argument| argument.to_string_lossy().into_owned()).collect(),
            ..Self::default()
        }
    }
}

/// A file that a recorded network read, which the recording does not hold.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Input;
///
/// let input = Input { path: "words.txt".into(), bytes: 6, modified: None, sha256: [0; 32] };
/// assert_eq!(input.bytes, 6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Where it was.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// When it was changed last, in seconds since 1970.
    pub modified: Option<i64>,
    /// The SHA-256 of its contents.
    pub sha256: [u8; 32],
}

impl Input {
    /// What is kept of a file that a network depends on.
    pub(super) fn of(input: &Contents<'_>) -> Self {
        let modified = fs::metadata(input.path).and_then(|file| file.modified()).ok();
        Self {
            path: input.path.to_owned(),
            bytes: input.contents.len() as u64,
            modified: modified.and_then(seconds),
            sha256: Sha256::digest(input.contents).into(),
        }
    }

    /// Says in what the file differs that is there now, if it does. Where it is does not matter.
    pub(super) fn difference(&self, now: &Contents<'_>) -> Option<String> {
        let (path, was, is) = (now.path.display(), self.bytes, now.contents.len() as u64);
        if was != is {
            return Some(format!("`{path}` has {is} bytes and had {was}"));
        }
        let is = <[u8; 32]>::from(Sha256::digest(now.contents));
        (is != self.sha256).then(|| {
            let (is, was) = (hex(&is), hex(&self.sha256));
            format!("`{path}` has another content: its SHA-256 is {is} and was {was}")
        })
    }
}

/// Seconds since 1970, and before.
fn seconds(time: SystemTime) -> Option<i64> {
    let seconds = |since: Duration| i64::try_from(since.as_secs()).ok();
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => seconds(since),
        Err(before) => seconds(before.duration()).map(|seconds| -seconds),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// One thing that a recording says: what a process did, or how far a channel came.
///
/// Processes and channels are named by the numbers that observers are told; see
/// [`Subject`](kahn_report::observe::Subject).
///
/// # Examples
///
/// ```
/// use kahn_observe::record::{Act, Entry};
///
/// let act = Act::Sends { channel: 4, message: b"to be" };
/// let entry = Entry::Acts { process: 3, act };
/// assert_ne!(entry, Entry::Acts { process: 3, act: Act::Ends { failure: None } });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A recorded process did something. Those of one process stand in the order in which it did them.
    Acts {
        /// Which.
        process: u64,
        /// What.
        #[serde(borrow)]
        act: Act<'a>,
    },
    /// These messages of a channel to a recorded process have these digests.
    Passed {
        /// Which channel.
        channel: u64,
        /// The number of the first of them.
        first: u64,
        /// Their digests, little-endian, eight bytes each.
        #[serde(borrow, serialize_with = "at_once")]
        digests: &'a [u8],
    },
    /// So many messages of a channel have this digest together.
    Carried {
        /// Which channel.
        channel: u64,
        /// How many messages, from the first on.
        messages: u64,
        /// What they are summed up as.
        digest: u64,
    },
    /// The run is over: a recording that says so was not cut.
    Ended,
    /// A recorded process that writes a file has so much of it on the disk.
    Saved {
        /// Which.
        process: u64,
        /// The name of the file beside the target.
        #[serde(borrow)]
        part: &'a str,
        /// How many messages are in it.
        messages: u64,
        /// How many bytes these are.
        bytes: u64,
        /// The SHA-256 of these bytes.
        sha256: [u8; 32],
    },
    /// The run was stopped before it was over, which is told next.
    Stopped,
    /// A program begins the run, or goes on with it.
    Begun {
        /// The number that the system has for the program while it runs.
        program: u32,
    },
}

/// What a recorded process did at one of its ends, or its end.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Act;
///
/// let act = Act::Receives { channel: 4, messages: 2 };
/// assert_ne!(act, Act::SeesEnd { channel: 4 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Act<'a> {
    /// It sent a message.
    Sends {
        /// Where.
        channel: u64,
        /// The message in its written form.
        #[serde(borrow, serialize_with = "at_once")]
        message: &'a [u8],
    },
    /// It received messages.
    Receives {
        /// Where.
        channel: u64,
        /// How many.
        messages: u64,
    },
    /// It saw that nothing more comes, since the sender ended or failed.
    SeesEnd {
        /// Where.
        channel: u64,
    },
    /// It gave up its sender, and went on.
    Closes {
        /// Where.
        channel: u64,
    },
    /// It gave up its receiver, and went on.
    Departs {
        /// Where.
        channel: u64,
    },
    /// It ended.
    Ends {
        /// Why, if it failed.
        #[serde(borrow)]
        failure: Option<Failed<'a>>,
    },
    /// It waits, in a run that was over since nothing could go on.
    Waits {
        /// Where.
        channel: u64,
        /// Whether it waits for room, and not for a message.
        to_send: bool,
    },
    /// It sent a message of which nothing but this is known.
    Sent {
        /// Where.
        channel: u64,
        /// Its length and checksum; 0 if it has no written form.
        digest: u64,
    },
}

/// Why a recorded process failed.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Failed;
///
/// let failed = Failed { message: "no luck", panicked: true, at: Some("main.rs:7:5"), input: None };
/// assert!(failed.panicked);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed<'a> {
    /// The error's text and those of its causes, or the panic's message.
    pub message: &'a str,
    /// Whether it panicked.
    pub panicked: bool,
    /// Where it panicked, if that is known.
    pub at: Option<&'a str>,
    /// The message at which it failed, if that is known: its channel, and its number from 1 on.
    pub input: Option<(&'a str, u64)>,
}

/// By one copy, and not byte by byte.
fn at_once<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}
