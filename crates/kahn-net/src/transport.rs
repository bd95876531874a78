//! What carries bytes between ranks.

use std::time::{Duration, Instant};

/// Carries bytes between the ranks of one run, in order between each two; its functions are called by one thread, or
/// by two in turn if the rank [says so](crate::OneRank::worker_drives).
///
/// Bytes that are sent in pieces may arrive in others. Nothing is lost and nothing comes twice, but that of a rank
/// that is [lost](Event::Lost).
///
/// # Examples
///
/// See [`Sim`](crate::Sim), which has one.
///
/// ```
/// use kahn_net::{Event, Transport};
/// use std::time::Duration;
///
/// /// One rank alone.
/// struct Alone;
///
/// impl Transport for Alone {
///     fn send(&mut self, _to: usize, _bytes: &mut Vec<u8>) {}
///     fn receive(&mut self, _into: &mut [Vec<u8>]) -> Event {
///         Event::Nothing
///     }
///     fn wait(&mut self, _most: Duration) {}
/// }
///
/// assert_eq!(Alone.receive(&mut [Vec::new()]), Event::Nothing);
/// ```
pub trait Transport {
    /// Takes bytes that go to a rank. It waits for nothing, and may keep the memory: what is in `bytes` when it returns
    /// counts for nothing.
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>);

    /// Returns what has come, without waiting; bytes are written behind those of their rank.
    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event;

    /// Waits until something may have come, or for so long.
    fn wait(&mut self, most: Duration);

    /// Returns how long a wait may be, when there is nothing to do at a certain time.
    fn longest_wait(&self) -> Duration {
        Duration::from_millis(1)
    }

    /// Returns what time it is, by the clock by which it waits.
    #[expect(
        clippy::disallowed_methods,
        reason = "what is done at certain times decides no result"
    )]
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// What has come from another rank.
///
/// # Examples
///
/// See [`Transport`].
///
/// ```
/// assert_ne!(kahn_net::Event::Nothing, kahn_net::Event::Lost(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing, as yet.
    Nothing,
    /// Nothing, but something is on its way: ask again at once.
    Later,
    /// Bytes from this rank.
    Bytes(usize),
    /// This rank is gone, with what it had sent and was not received.
    Lost(usize),
    /// This rank itself is to be gone.
    Killed,
}
