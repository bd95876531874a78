//! Which process waits for which, as data and as a person reads it.

use crate::Name;
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;

/// Lines that a printed explanation shows of each kind; the data has all.
const SHOWN: usize = 20;

/// Which process waits for which in a network, at one moment.
///
/// Prints as text for people, and is data as well.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let handle = network.stop_handle();
/// let (out, seen) = network.channel("seen");
/// network.process("look", out, async move |mut out| {
///     // What the others of the network do at this moment.
///     out.send(handle.explain().waiting.len()).await;
/// });
/// let seen = network.collect("all", seen);
/// network.run()?;
/// assert!(seen.take().is_some_and(|seen| seen[0] <= 2));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct Explanation {
    /// Processes that have not ended, in the order of their creation.
    pub waiting: Vec<Waiting>,
    /// Rings of processes that wait for each other.
    pub rings: Vec<Vec<RingMember>>,
    /// What would probably help.
    pub remedies: Vec<String>,
    /// Ranks that have not told in time what their processes do, of a run on several.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Vec::is_empty"))]
    pub silent: Vec<usize>,
}

/// A process that has not ended, and what it does.
///
/// # Examples
///
/// ```
/// use kahn::{Activity, Detail, Network};
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("to itself");
/// network.process("wait", (out, numbers), async |(_out, mut numbers)| {
///     numbers.recv().await;
/// });
/// let error = network.run().expect_err("it waits for itself");
/// let detail = &error.report().expect("it has run").detail;
/// let Some(Detail::Waits(explanation)) = detail else { panic!("it waits") };
/// let waiting = &explanation.waiting[0];
/// assert_eq!((waiting.process.as_str(), waiting.kind), ("wait", "process"));
/// assert!(matches!(waiting.activity, Activity::Receives { message: 1, .. }));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct Waiting {
    /// The process.
    pub process: Name,
    /// What it does.
    pub activity: Activity,
    /// What kind of process it is: `process`, `blocking` or `outside`.
    pub kind: &'static str,
    /// Whether nothing that runs can let it go on, at once or through others: it waits for ever. Told
    /// of communicating processes. An end of a channel is taken to be with the process that used it
    /// last: one that was handed on, and not used since, may still help.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub is_stuck: bool,
    /// The line that created it, of communicating processes.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub created_at: Option<String>,
}

/// What a process does at one moment.
///
/// # Examples
///
/// ```
/// use kahn_report::Activity;
///
/// let activity = Activity::Receives {
///     channel: "numbers".into(),
///     message: 3,
///     from: Some("count".into()),
/// };
/// let text = "waits to receive message 3 from `numbers` (empty), which `count` sends";
/// assert_eq!(activity.to_string(), text);
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Activity {
    /// It waits for a message.
    Receives {
        /// The channel.
        channel: Name,
        /// The number of the message it waits for; the first is 1.
        message: u64,
        /// The process that would send it.
        from: Option<Name>,
    },
    /// It waits for room.
    Sends {
        /// The channel.
        channel: Name,
        /// The number of the message it wants to send; the first is 1.
        message: u64,
        /// How many messages the channel holds: it is full.
        capacity: u64,
        /// The process that would take one.
        to: Option<Name>,
    },
    /// It is held before it receives a message, for good: see [`Script::holds`].
    ///
    /// [`Script::holds`]: crate::observe::Script::holds
    HeldBack {
        /// The channel.
        channel: Name,
        /// The number of the message; the first is 1.
        message: u64,
    },
    /// A communicating process waits to meet another at a channel.
    Meets {
        /// `send` or `receive`.
        operation: &'static str,
        /// The channel.
        channel: Name,
        /// The number of the message; the first is 1.
        message: u64,
        /// The process that used the other end last.
        partner: Option<Name>,
    },
    /// A communicating process waits for the first of several things.
    Alternates {
        /// What they are.
        guards: Vec<String>,
    },
    /// A communicating process waits at a barrier.
    Synchronises {
        /// The barrier.
        barrier: Name,
        /// The number of the phase; the first is 0.
        phase: u64,
        /// The processes that are enrolled and have not come; unnamed if it never used its enrolment.
        missing: Vec<Option<Name>>,
    },
    /// A communicating process waits for a claim.
    Claims {
        /// What it claims.
        what: Name,
        /// How often that was claimed so far.
        claims: u64,
        /// The process that holds it.
        holder: Option<Name>,
    },
    /// A communicating process waits for a bucket to be flushed, or for an event.
    FallenIn {
        /// The bucket.
        bucket: Name,
    },
    /// A communicating process waits for the end of another.
    Joins {
        /// That process, unless it has ended.
        process: Option<Name>,
    },
    /// A communicating process waits for the end of all forks of a scope.
    JoinsForks {
        /// The scope.
        forks: Name,
        /// Those that have not ended, by the processes that have them: forks, and processes that keep
        /// a clone of the scope; unnamed if no process has used that.
        left: Vec<Option<Name>>,
    },
    /// A communicating process waits for a time.
    Sleeps,
    /// It waits for something that is not of this network, and may come.
    WaitsForeign,
    /// It waits for something that is not of this network, and that nothing can wake it for.
    Orphaned,
    /// An outside party that is in no operation: the run waits until it has dropped its ends.
    Outside {
        /// The ends that it holds.
        holds: Vec<Held>,
        /// Seconds since its last operation; `None` if there was none.
        idle_seconds: Option<f64>,
    },
    /// It waits for nothing: it awaits a future that asked for no wake-up.
    Stopped,
    /// It computes, without channel operations since it was resumed.
    Computes,
    /// It could run and waits for a worker, or is between operations.
    Ready,
}

/// An end of a channel that an outside party holds.
///
/// # Examples
///
/// ```
/// use kahn_report::Held;
///
/// let held = Held { channel: "numbers".into(), is_sender: true, messages: 1 };
/// assert_eq!(held.to_string(), "the sender of `numbers` (1 message sent)");
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct Held {
    /// The channel.
    pub channel: Name,
    /// Whether it is the sending end.
    pub is_sender: bool,
    /// Messages that the party has sent or received there so far.
    pub messages: u64,
}

/// A process in a ring.
///
/// # Examples
///
/// ```
/// use kahn::{Detail, Network};
///
/// let mut network = Network::new();
/// let (to_b, from_a) = network.channel::<u32>("to b");
/// let (to_a, from_b) = network.channel::<u32>("to a");
/// network.process("a", (to_b, from_b), async |(_out, mut from)| {
///     from.recv().await;
/// });
/// network.process("b", (to_a, from_a), async |(_out, mut from)| {
///     from.recv().await;
/// });
/// let error = network.run().expect_err("each waits for the other");
/// let detail = &error.report().expect("it has run").detail;
/// let Some(Detail::Waits(explanation)) = detail else { panic!("they wait") };
/// let ring = &explanation.rings[0];
/// assert_eq!((ring.len(), ring[0].full), (2, false));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct RingMember {
    /// The process.
    pub process: Name,
    /// The channel it waits at.
    pub channel: Name,
    /// Whether it waits to send: the channel is full.
    pub full: bool,
    /// What it waits to do, of communicating processes; then `channel` may be the name of a
    /// barrier, of what is claimed, or of a process.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub operation: Option<&'static str>,
}

impl Explanation {
    /// Returns the explanation as JSON.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Activity, Explanation, Waiting};
    ///
    /// let waiting = Waiting {
    ///     process: "clock".into(),
    ///     activity: Activity::Sleeps,
    ///     kind: "process",
    ///     is_stuck: false,
    ///     created_at: None,
    /// };
    /// let explanation = Explanation { waiting: vec![waiting], ..Explanation::default() };
    /// assert!(explanation.to_json().contains("\"activity\": \"sleeps\""));
    /// ```
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string())
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // When all are stuck, none is told apart from the others by it.
        let tells = self.waiting.iter().any(|waiting| !waiting.is_stuck);
        for waiting in self.waiting.iter().take(SHOWN) {
            let for_ever = if tells && waiting.is_stuck { ": for ever" } else { "" };
            writeln!(f, "  {waiting}{for_ever}")?;
        }
        if self.waiting.len() > SHOWN {
            writeln!(f, "  … and {} more", self.waiting.len() - SHOWN)?;
        }
        for ring in self.rings.iter().take(SHOWN) {
            write!(f, "  ring:")?;
            for member in ring.iter().take(SHOWN) {
                write!(f, " `{}` ", member.process)?;
                match member.operation {
                    Some(operation) => write!(f, "–[{operation} `{}`]→", member.channel)?,
                    None if member.full => write!(f, "–[`{}` full]→", member.channel)?,
                    None => write!(f, "–[`{}` empty]→", member.channel)?,
                }
            }
            if ring.len() > SHOWN {
                write!(f, " … {} more …", ring.len() - SHOWN)?;
            }
            match ring.first() {
                Some(first) => writeln!(f, " `{}`", first.process)?,
                None => writeln!(f)?,
            }
        }
        for rank in self.silent.iter().take(SHOWN) {
            writeln!(f, "  rank {rank} has not told in time what its processes do")?;
        }
        for remedy in self.remedies.iter().take(SHOWN) {
            writeln!(f, "help: {remedy}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, done) =
            if self.is_sender { ("sender", "sent") } else { ("receiver", "received") };
        write!(f, "the {end} of `{}` (", self.channel)?;
        match self.messages {
            0 => write!(f, "nothing {done})"),
            1 => write!(f, "1 message {done})"),
            messages => write!(f, "{messages} messages {done})"),
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ", self.process)?;
        fmt::Display::fmt(&self.activity, f)?;
        match &self.created_at {
            Some(site) => write!(f, " (created at {site})"),
            None => Ok(()),
        }
    }
}

/// Names in a row; `unknown` for those without.
fn names(of: &[Option<Name>], unknown: &str) -> String {
    let name = |name: &Option<Name>| match name {
        Some(name) => format!("`{name}`"),
        None => unknown.to_owned(),
    };
    of.iter().map(name).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receives { channel, message, from } => {
                write!(f, "waits to receive message {message} from `{channel}` (empty)")?;
                match from {
                    Some(from) => write!(f, ", which `{from}` sends"),
                    None => Ok(()),
                }
            }
            Self::Sends { channel, message, capacity, to } => {
                write!(
                    f,
                    "waits to send message {message} to `{channel}` (full, {capacity} of {capacity})"
                )?;
                match to {
                    Some(to) => write!(f, ", which `{to}` receives"),
                    None => Ok(()),
                }
            }
            Self::HeldBack { channel, message } => {
                write!(f, "is held before it receives message {message} from `{channel}`")
            }
            Self::Meets { operation, channel, message, partner } => {
                let way = if *operation == "send" { "to" } else { "from" };
                write!(f, "waits to {operation} message {message} {way} `{channel}`")?;
                match partner {
                    Some(partner) => write!(f, ", whose other end `{partner}` used last"),
                    None => write!(f, ", whose other end no other process has used"),
                }
            }
            Self::Alternates { guards } => {
                write!(f, "waits for one of {}: {}", guards.len(), guards.join(", "))
            }
            Self::Synchronises { barrier, phase, missing } => {
                let missing = names(missing, "a handle that no process has used");
                write!(f, "waits in phase {phase} at barrier `{barrier}` for ")?;
                // All have come, but one of them twice.
                let twice = "one that offers it twice";
                f.write_str(if missing.is_empty() { twice } else { &missing })
            }
            Self::Claims { what, claims, holder } => {
                write!(f, "waits to claim `{what}`")?;
                match holder {
                    Some(holder) => write!(f, ", which `{holder}` holds")?,
                    None => write!(f, ", of which no place is free")?,
                }
                match claims {
                    0 => Ok(()),
                    1 => write!(f, " (claimed once so far)"),
                    2 => write!(f, " (claimed twice so far)"),
                    _ => write!(f, " (claimed {claims} times so far)"),
                }
            }
            Self::FallenIn { bucket } => write!(f, "waits for `{bucket}` to be flushed or set"),
            Self::Joins { process: Some(process) } => write!(f, "waits for the end of `{process}`"),
            Self::Joins { process: None } => write!(f, "waits for the end of a process"),
            Self::JoinsForks { forks, left } => {
                let unused = "a clone of the scope that no process has used";
                let left = names(left, unused);
                write!(f, "waits for the end of the forks of `{forks}`: {left}")
            }
            Self::Sleeps => write!(f, "waits for a time"),
            Self::WaitsForeign => write!(f, "waits for something outside the network"),
            Self::Orphaned => {
                write!(f, "waits for something outside the network that can never wake it")
            }
            Self::Outside { holds, idle_seconds } => {
                write!(f, "is outside and holds ")?;
                let ends: Vec<_> = holds.iter().map(ToString::to_string).collect();
                f.write_str(&ends.join(" and "))?;
                match idle_seconds {
                    Some(seconds) => write!(f, ": in no operation for {seconds:.3} s"),
                    None => write!(f, ": it has begun no operation yet"),
                }
            }
            Self::Stopped => write!(f, "has stopped: it waits for nothing"),
            Self::Computes => write!(f, "computes, without channel operations"),
            Self::Ready => write!(f, "is ready to run"),
        }
    }
}
