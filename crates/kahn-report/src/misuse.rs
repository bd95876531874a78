//! What a process must not do with its ends, and what to do instead.

use crate::Name;
use std::fmt;

/// A use of a channel end that would let the schedule leak into a result.
///
/// # Examples
///
/// ```
/// use kahn_report::{Misuse, MisuseKind};
///
/// let kind = MisuseKind::NotYours { channel: "numbers".into() };
/// let misuse = Misuse { process: "thief".into(), kind };
/// assert!(misuse.to_string().starts_with("process `thief` used an end of channel `numbers`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// The process that did it.
    pub process: Name,
    /// What it did.
    pub kind: MisuseKind,
}

/// The kinds of [`Misuse`].
///
/// # Examples
///
/// ```
/// use kahn_report::{Misuse, MisuseKind};
///
/// let kind = MisuseKind::Abandoned { channel: "numbers".into() };
/// let misuse = Misuse { process: "impatient".into(), kind };
/// assert!(misuse.to_string().ends_with("complete it, or let a process of its own wait there"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MisuseKind {
    /// An operation that had waited was dropped or left behind.
    Abandoned {
        /// The channel of the operation.
        channel: Name,
    },
    /// Another operation began before the one that waited was complete.
    Overlap {
        /// The channel of the operation that waits.
        waiting: Name,
        /// The channel of the operation that began.
        begun: Name,
    },
    /// The operation was polled with another waker than the process's own.
    ForeignWaker {
        /// The channel of the operation.
        channel: Name,
        /// The channel of the operation that waited meanwhile, if one did.
        waiting: Option<Name>,
    },
    /// The end belongs to another process.
    NotYours {
        /// The channel whose end it is.
        channel: Name,
    },
    /// The process ended while one of its ends lived on elsewhere.
    LeftBehind {
        /// The channel whose end it is.
        channel: Name,
    },
    /// An end was dropped where it does not belong.
    DroppedElsewhere {
        /// The channel whose end it is.
        channel: Name,
    },
    /// A waiting form for threads was called in an async process, or the reverse.
    WrongForm {
        /// The channel of the operation.
        channel: Name,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let process = &self.process;
        match &self.kind {
            MisuseKind::Abandoned { channel } => write!(
                f,
                "process `{process}` abandoned an operation on channel `{channel}` that had waited, \
                 as `select`, `timeout` and `now_or_never` do: complete it, or let a process of its \
                 own wait there"
            ),
            MisuseKind::Overlap { waiting, begun } => write!(
                f,
                "process `{process}` began an operation on channel `{begun}` while one on channel \
                 `{waiting}` waited, as `join`, `select` and `zip` do: await one after the other, or \
                 make two processes of it"
            ),
            MisuseKind::ForeignWaker { channel, waiting } => {
                write!(
                    f,
                    "process `{process}` polled an operation on channel `{channel}` with a waker \
                     that is not its own, as `FuturesUnordered`, `join_all` and `buffered` do"
                )?;
                if let Some(waiting) = waiting {
                    write!(f, ", while one on channel `{waiting}` waited")?;
                }
                write!(f, ": await it directly, or make it a process of its own")
            }
            MisuseKind::NotYours { channel } => write!(
                f,
                "process `{process}` used an end of channel `{channel}` that belongs to another \
                 process: give each end to one process when that is created"
            ),
            MisuseKind::LeftBehind { channel } => write!(
                f,
                "process `{process}` ended while its end of channel `{channel}` lived on elsewhere: \
                 drop it, or pass it to a process that it creates"
            ),
            MisuseKind::DroppedElsewhere { channel } => write!(
                f,
                "an end of channel `{channel}` of process `{process}` was dropped outside that \
                 process: ends stay with their process and are not sent in messages"
            ),
            MisuseKind::WrongForm { channel } => write!(
                f,
                "process `{process}` used channel `{channel}` in the wrong form: async processes \
                 await `send` and `recv`, blocking ones call `send_blocking` and `recv_blocking`"
            ),
        }
    }
}
