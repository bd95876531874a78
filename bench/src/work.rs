//! How much work takes how long: measured once for a whole run, so that all do the same steps.

use crate::measure::{nanoseconds, time};
use kahn_apps::work::Work;
use std::hint::black_box;

/// Computes for so many steps, each of which waits for the one before.
pub(crate) fn steps(count: u64) {
    black_box(Work::iterations(black_box(count)).spend(1));
}

/// Finds how many steps take a microsecond on this machine now.
pub(crate) fn steps_per_microsecond() -> f64 {
    const STEPS: u32 = 1_000_000;
    let times = (0..20).map(|_| nanoseconds(time(|| steps(STEPS.into())).0));
    // The shortest is the one that nothing has disturbed.
    f64::from(STEPS) / times.fold(f64::INFINITY, f64::min) * 1000.0
}
