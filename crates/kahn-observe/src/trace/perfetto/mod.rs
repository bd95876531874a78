//! A timeline as Perfetto's protobuf, and back.
//!
//! | track | under | what |
//! |---|---|---|
//! | a process | `processes` | what it did; its other parts under it |
//! | a worker | `workers` | which process it ran |
//! | a channel | `channels` | how many messages it held |
//! | `lost` | `Kahn` | the time of which events were written over, and how many |
//!
//! Of a run on several ranks each has these under a process of its own, `rank 1`, in place of `Kahn`: with a label that tells by how
//! much its clock may be wrong.
//!
//! A reader finds all of it by numbers: the number of a track, and numbers of names that are said once, in the first
//! packet. So two processes of one name stay two. In a file that is written while the run goes on (`append`) tracks and their names
//! are said when they are first told of.

mod append;
mod message;
mod read;
mod write;

pub(super) use append::Appender;
pub use read::ReadError;
pub(super) use read::read;
pub(super) use write::write;

/// Numbers of tracks. Processes have odd ones, those of channels have the uppermost bit turned.
mod track {
    pub(super) const ROOT: u64 = 2;
    pub(super) const PROCESSES: u64 = 4;
    pub(super) const WORKERS: u64 = 6;
    pub(super) const CHANNELS: u64 = 8;
    pub(super) const LOST: u64 = 10;

    /// Distance of the tracks of workers, from [`FIRST_WORKER`] on.
    pub(super) const STEP: u64 = 2;
    pub(super) const FIRST_WORKER: u64 = 12;

    /// Distance of the tracks of ranks.
    pub(super) const RANK: u64 = 1 << 40;

    /// The number of a track of a rank, by that of rank 0.
    pub(super) fn of(rank: usize, track: u64) -> u64 {
        track + RANK * rank as u64
    }

    /// The rank of such a track, and the number of that of rank 0; those of channels are larger than any of these.
    pub(super) fn rank(uuid: u64) -> (usize, u64) {
        if uuid >= UPPERMOST {
            return (0, uuid);
        }
        (usize::try_from(uuid / RANK).unwrap_or(usize::MAX), uuid % RANK)
    }

    const UPPERMOST: u64 = 1 << 63;

    pub(super) fn channel(id: u64) -> u64 {
        (id & !1) ^ UPPERMOST
    }

    /// The number of the channel of a track: they are odd.
    pub(super) fn channel_id(uuid: u64) -> u64 {
        (uuid ^ UPPERMOST) | 1
    }
}

/// Numbers of names of events.
mod event {
    pub(super) const RUNS: u64 = 1;
    pub(super) const READY: u64 = 2;
    pub(super) const OUTSIDE: u64 = 3;
    pub(super) const IDLE: u64 = 4;
    pub(super) const LOST: u64 = 5;
    pub(super) const ENDS_WAIT: u64 = 6;
    pub(super) const END: u64 = 7;
    pub(super) const SENDS: u64 = 8;
    pub(super) const RECEIVES: u64 = 9;
    /// Stands at the beginning of a file that is written while the run goes on: it may have no end.
    pub(super) const STREAM: u64 = 10;
    pub(super) const CLOCK: u64 = 11;

    /// What they are called.
    pub(super) const NAMES: [(u64, &str); 11] = [
        (RUNS, "runs"),
        (READY, "ready"),
        (OUTSIDE, "waits outside"),
        (IDLE, "idle"),
        (LOST, "lost"),
        (ENDS_WAIT, "ends a wait"),
        (END, "end of the trace"),
        (SENDS, "sends"),
        (RECEIVES, "receives"),
        (STREAM, "written as it happened"),
        (CLOCK, "the clock of this rank"),
    ];

    const FIRST: u64 = 13;
    const KINDS: u64 = 4;

    /// What stands for a place.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Of {
        Process(usize),
        ForMessage(usize),
        ForRoom(usize),
        ForPartner(usize),
    }

    impl Of {
        pub(super) fn number(self) -> u64 {
            let (kind, place) = match self {
                Self::Process(place) => (0, place),
                Self::ForMessage(place) => (1, place),
                Self::ForRoom(place) => (2, place),
                Self::ForPartner(place) => (3, place),
            };
            FIRST + KINDS * place as u64 + kind
        }

        pub(super) fn find(number: u64) -> Option<Self> {
            let number = number.checked_sub(FIRST)?;
            let place = usize::try_from(number / KINDS).ok()?;
            Some(match number % KINDS {
                0 => Self::Process(place),
                1 => Self::ForMessage(place),
                2 => Self::ForRoom(place),
                _ => Self::ForPartner(place),
            })
        }
    }
}

/// Numbers of names of what is said of an event.
mod said {
    pub(super) const MESSAGE: u64 = 1;
    pub(super) const CHANNEL: u64 = 2;
    pub(super) const ENDED_BY: u64 = 3;
    pub(super) const WORKER: u64 = 4;
    pub(super) const CPU: u64 = 5;
    pub(super) const NUMBER: u64 = 6;
    pub(super) const COUNT: u64 = 7;
    pub(super) const ERROR: u64 = 8;
    pub(super) const MOVED: u64 = 9;

    pub(super) const NAMES: [(u64, &str); 9] = [
        (MESSAGE, "message"),
        (CHANNEL, "channel"),
        (ENDED_BY, "ended by"),
        (WORKER, "worker"),
        (CPU, "cpu ns"),
        (NUMBER, "number"),
        (COUNT, "messages"),
        (ERROR, "error ns"),
        (MOVED, "moved ns"),
    ];
}
