//! What went from rank to rank, counted.

use crate::frame::{Frame, Frames};
use std::ops::AddAssign;
use std::time::Duration;

/// Frames of a kind, and their bytes.
///
/// # Examples
///
/// See [`Traffic`].
///
/// ```
/// assert_eq!(kahn_net::Share::default().frames, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many there were.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What went from rank to rank in a run, and what it took.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Options};
/// use kahn_net::{LogGp, TimedSim};
///
/// let timed = TimedSim::new(2, LogGp::TCP).run(&Options::new(), |_, network| {
///     let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
///     network.process("count", out, async |mut out| out.send_all(0..100_u64).await);
///     network.fold("sum", numbers, 0, |sum, n: u64| sum + n)
/// })?;
/// let traffic = &timed.traffic;
/// assert_eq!(traffic.messages, 100);
/// assert!(traffic.batches.frames < 100, "what is there goes together");
/// # Ok::<(), kahn_net::NetError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages of channels.
    pub messages: u64,
    /// What they went in.
    pub batches: Share,
    /// What says that more messages may be sent.
    pub credits: Share,
    /// What says that a channel has ended, or has no reader any more.
    pub ends: Share,
    /// What tells rank 0 that a rank rests, or has finished.
    pub rests: Share,
    /// What asks and answers whether all rest, and what is stuck then.
    pub termination: Share,
    /// What finds rings of waits while other parts run.
    pub chase: Share,
    /// What finds out that no process is left through which others can be observed, and has loops pruned then.
    pub roots: Share,
    /// What ranks tell before they run: what they have built.
    pub start: Share,
    /// What ends the run, and tells then what ran where.
    pub finish: Share,
    /// How often it was asked whether all rest.
    pub rounds: u64,
    /// How often it was asked whether rings stand.
    pub confirmations: u64,
    /// Parcels.
    pub parcels: u64,
    /// The most parcels that were under way from one rank to another at once; see [`Window`](crate::Window).
    pub most_under_way: u64,
    /// When the last message, credit or end came.
    pub last: Duration,
    /// How long the thread of each rank computed that speaks with the others, until the end of the run was known.
    pub exchanged: Vec<Duration>,
    /// How long the processes of each rank computed.
    pub computed: Vec<Duration>,
}

impl AddAssign<usize> for Share {
    fn add_assign(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }
}

impl Traffic {
    /// Counts these frames; how many messages are in them, and whether the run is ended by them.
    pub(super) fn count(&mut self, bytes: &[u8]) -> (u64, bool) {
        let (mut frames, mut left) = (Frames::of(bytes), bytes.len());
        let (before, mut ends) = (self.messages, false);
        while let Ok(Some(frame)) = frames.next() {
            let length = left - frames.left();
            left = frames.left();
            *self.share(&frame) += length;
            match frame {
                Frame::Messages { count, .. } => self.messages += count,
                Frame::Ask { round } => self.rounds = self.rounds.max(round),
                Frame::Confirm { round, .. } => self.confirmations = self.confirmations.max(round),
                Frame::End(_) => ends = true,
                _ => {}
            }
        }
        (self.messages - before, ends)
    }

    fn share(&mut self, frame: &Frame<'_>) -> &mut Share {
        match frame {
            Frame::Messages { .. } => &mut self.batches,
            Frame::Room { .. } => &mut self.credits,
            Frame::Close { .. } | Frame::Left { .. } => &mut self.ends,
            Frame::Stand(_) => &mut self.rests,
            Frame::Ask { .. }
            | Frame::Answer { .. }
            | Frame::Look
            | Frame::Seen(_)
            | Frame::Act { .. } => &mut self.termination,
            Frame::Stands { .. }
            | Frame::Confirm { .. }
            | Frame::Confirmed { .. }
            | Frame::Free { .. }
            | Frame::Release { .. } => &mut self.chase,
            Frame::NoRoot | Frame::AskRoot { .. } | Frame::Root { .. } | Frame::Prune { .. } => {
                &mut self.roots
            }
            Frame::Hello { .. } | Frame::Sum | Frame::Sums { .. } | Frame::Begin => &mut self.start,
            Frame::Refuse { .. }
            | Frame::End(_)
            | Frame::Ran { .. }
            | Frame::NotRun { .. }
            | Frame::Watch { .. }
            | Frame::Watched { .. }
            | Frame::Last { .. }
            | Frame::AskWaits { .. }
            | Frame::Waits { .. } => &mut self.finish,
        }
    }
}
