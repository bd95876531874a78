//! What the hardware charges: no runtime can be cheaper.

use crate::measure::{each, time};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds of an uncontended atomic read-modify-write, in a chain.
pub(crate) fn read_modify_write() -> f64 {
    const COUNT: usize = 2_000_000;
    let word = AtomicU64::new(0);
    let (time, ()) = time(|| {
        for n in 0..COUNT as u64 {
            black_box(black_box(&word).swap(n, Ordering::AcqRel));
        }
    });
    each(time, COUNT)
}
