//! What it costs that something goes from rank to rank: `LogGP`, with what a message costs besides.

use std::time::Duration;

/// What a parcel costs, by the model `LogGP` (Alexandrov and others, 1995), and what a message of a channel does.
///
/// Its `g`, the least time between two parcels, is no more than `o` here. A rank has one core for its processes and
/// one for the thread that speaks with other ranks; `overhead` is taken from the second, `message` from the first.
///
/// # Examples
///
/// ```
/// use kahn_net::LogGp;
/// use std::time::Duration;
///
/// // As over shared memory, but far away.
/// let far = LogGp { latency: Duration::from_millis(5), ..LogGp::SHARED_MEMORY };
/// assert_eq!(far.bytes_per_second, LogGp::SHARED_MEMORY.bytes_per_second);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGp {
    /// `L`: how long a parcel is under way, when its last byte has left.
    pub latency: Duration,
    /// `o`: how long either rank computes for a parcel.
    pub overhead: Duration,
    /// 1 / `G`: how many bytes a second leave a rank, and how many come to one.
    pub bytes_per_second: u64,
    /// How long either rank computes for a message, which is written and read.
    pub message: Duration,
}

impl LogGp {
    /// What was measured between two ranks on one machine, over shared memory: `bench/NOTES.md`, "Ranks under a
    /// virtual clock".
    pub const SHARED_MEMORY: Self = Self {
        latency: Duration::from_nanos(300),
        overhead: Duration::from_nanos(2_050),
        bytes_per_second: 1_320_000_000,
        message: Duration::from_nanos(79),
    };

    /// … and over TCP, by the loopback of the same machine.
    pub const TCP: Self = Self { latency: Duration::from_nanos(6_650), ..Self::SHARED_MEMORY };

    /// How long it takes that so many bytes leave.
    pub(super) fn of_bytes(&self, bytes: usize) -> u64 {
        let nanoseconds = bytes as u128 * 1_000_000_000 / u128::from(self.bytes_per_second.max(1));
        u64::try_from(nanoseconds).unwrap_or(u64::MAX / 2)
    }
}

/// A time as a number of nanoseconds.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}
