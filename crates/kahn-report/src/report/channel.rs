//! What a report tells of channels besides what is counted there.

use crate::Name;
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;

/// A channel that had to grow.
///
/// # Examples
///
/// A process that sends three messages before it looks at the answers:
///
/// ```
/// use kahn::{Channel, Network};
///
/// let mut network = Network::new();
/// let (ask, asked) = network.channel_with(Channel::named("asked").capacity(1));
/// let (answer, answered) = network.channel_with(Channel::named("answered").capacity(1));
/// network.process("ask", (ask, answered), async |(mut ask, mut answered)| {
///     ask.send_all(0..8_u32).await;
///     drop(ask);
///     answered.for_each(|_| {}).await;
/// });
/// network.process("answer", (asked, answer), async |(mut asked, mut answer)| {
///     while let Some(n) = asked.recv().await {
///         answer.send(n).await;
///     }
/// });
/// let report = network.run()?;
/// assert!(report.grown.iter().all(|growth| growth.capacity > growth.began_with));
/// assert!(report.grown[0].to_string().contains("had to grow from a capacity of 1"));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct GrowthReport {
    /// The channel.
    pub channel: Name,
    /// The process that sent, at the end of the run.
    pub from: Option<Name>,
    /// The process that received, at the end of the run.
    pub to: Option<Name>,
    /// The capacity that it began with.
    pub began_with: u32,
    /// The capacity that it came to.
    pub capacity: u32,
    /// Bytes a message takes in its slot.
    pub message_bytes: usize,
    /// Bytes that a message owned beside those, on average; `None` if that is unknown.
    pub owned_bytes: Option<u64>,
}

impl fmt::Display for GrowthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel `{}`", self.channel)?;
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            write!(f, ", from `{from}` to `{to}`,")?;
        }
        let (began, now, bytes) = (self.began_with, self.capacity, self.message_bytes);
        write!(f, " had to grow from a capacity of {began} to {now} messages of {bytes} bytes")?;
        match self.owned_bytes {
            Some(0) => Ok(()),
            Some(owned) => write!(f, ", which own {owned} more on average"),
            None => write!(f, ", which may own more: their weight is unknown"),
        }
    }
}

/// What happened on one channel of communicating processes.
///
/// # Examples
///
/// ```
/// use kahn_report::{MeetingKind, MeetingReport, MeetingState, Name};
///
/// /// Names the channels that a program left open.
/// fn left_open(meetings: &[MeetingReport]) -> Vec<&Name> {
///     let open = meetings.iter().filter(|meeting| meeting.state == MeetingState::Open);
///     open.map(|meeting| &meeting.name).collect()
/// }
///
/// let meeting = MeetingReport {
///     name: "orders".into(),
///     kind: MeetingKind::Rendezvous,
///     capacity: 0,
///     from: None,
///     to: Some("cook".into()),
///     messages: 3,
///     state: MeetingState::Open,
/// };
/// assert_eq!(left_open(&[meeting]), ["orders"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct MeetingReport {
    /// Its name.
    pub name: Name,
    /// What it does with messages.
    pub kind: MeetingKind,
    /// Messages that its buffer holds; none without one.
    pub capacity: usize,
    /// The process that dropped the sending end, or had it when the run was over. `None` if that was
    /// none: the end came to another thread, or outlives the run.
    pub from: Option<Name>,
    /// The same of the receiving end.
    pub to: Option<Name>,
    /// Messages received; of an exchange, times that both gave and took.
    pub messages: u64,
    /// What had become of it when the run was over.
    pub state: MeetingState,
}

/// What a channel of communicating processes does with messages.
///
/// # Examples
///
/// ```
/// use kahn_report::MeetingKind;
///
/// let has_buffer = |kind| matches!(kind, MeetingKind::Buffered);
/// assert!(has_buffer(MeetingKind::Buffered) && !has_buffer(MeetingKind::Rendezvous));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum MeetingKind {
    /// Sender and receiver meet: `csp::channel`.
    Rendezvous,
    /// It holds messages: `csp::buffered`.
    Buffered,
    /// Both give and both take: `csp::exchange`.
    Exchange,
}

/// What became of a channel of communicating processes.
///
/// # Examples
///
/// ```
/// use kahn_report::MeetingState;
///
/// let may_be_used = |state| state == MeetingState::Open;
/// assert!(may_be_used(MeetingState::Open) && !may_be_used(MeetingState::Poisoned));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum MeetingState {
    /// It had both ends.
    Open,
    /// An end was dropped.
    Closed,
    /// An end was dropped with poison.
    Poisoned,
}
