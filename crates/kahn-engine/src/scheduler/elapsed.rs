//! How long a run took, and how long each of its ticks was.

use crate::sync::system::clock;
use kahn_report::observe::Tick;
use std::time::Duration;

/// How long a run took. All that is told of times of the run is converted by this.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    ticks: u64,
    /// How long each of them was.
    pub tick: Tick,
}

impl Elapsed {
    /// The time since this reading of the clock, which has been started before.
    pub(super) fn since(ticks: u64) -> Self {
        let ticks = clock::ticks() - ticks;
        Self { ticks, tick: clock::tick() }
    }

    /// Seconds that so many ticks are.
    pub(crate) fn seconds_of(self, ticks: u64) -> f64 {
        Duration::from_nanos(self.tick.nanoseconds(ticks)).as_secs_f64()
    }

    /// Seconds that the run took.
    pub(crate) fn seconds(self) -> f64 {
        self.seconds_of(self.ticks)
    }

    /// Seconds of a counter that has counted a tick as a nanosecond.
    pub(crate) fn seconds_of_counter(self, counted: f64) -> f64 {
        let ticks = Duration::try_from_secs_f64(counted).unwrap_or_default().as_nanos();
        self.seconds_of(u64::try_from(ticks).unwrap_or(u64::MAX))
    }
}

kahn_report::portable_structs! { Elapsed { ticks, tick } }
