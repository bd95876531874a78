//! What a process asks of its worker when its poll returns.

use kahn_report::log::{Wait, What};

/// What a process asks of its worker when its poll returns.
#[derive(Clone, Copy, Debug, Default)]
pub enum Request {
    /// Nothing: if it is not complete, it waits for a foreign waker.
    #[default]
    None,
    /// Drop it: why, the worker was told.
    End,
    /// Park it in the language's usual way, with nothing left to do: where, the language knows.
    Park,
    /// Run it again after all others.
    Yield,
    /// Park it in another way, which the language knows as well.
    ParkOtherwise,
    /// Run it again, soon.
    Again,
    /// Run it again after a more urgent one.
    GiveWay,
}

/// Why a thread runs a process no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It is to be parked: where, the language knows.
    ToPark,
    /// It has returned.
    ForGood,
    /// It gives way, and is queued again.
    GivesWay,
    /// It waits for something foreign, or is to be dropped.
    Otherwise,
}

impl Pause {
    /// How a record tells it, if nothing is known of a channel.
    #[inline]
    pub fn nowhere(self) -> Wait {
        Wait::nowhere(match self {
            Self::ForGood => What::UntilGood,
            Self::GivesWay => What::UntilGivesWay,
            Self::ToPark | Self::Otherwise => What::UntilOtherwise,
        })
    }
}

/// What came of an attempt to park.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that is neither parked nor run again is lost"]
pub enum Park {
    /// The process sleeps where it waits; what wakes it owns it.
    Asleep,
    /// What it waits for has come meanwhile: it runs again.
    Moved,
}
