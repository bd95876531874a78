//! How far a run has got, for a person who waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts what is done, for whoever shows it. No result depends on it.
#[derive(Debug)]
pub struct Progress {
    done: AtomicU64,
    total: Option<u64>,
    unit: &'static str,
}

impl Progress {
    /// Starts at nothing done, of a known or unknown total.
    ///
    /// ```
    /// use kahn_apps::Progress;
    ///
    /// let progress = Progress::new("bytes", Some(100));
    /// progress.add(30);
    /// assert_eq!((progress.done(), progress.total()), (30, Some(100)));
    /// ```
    pub fn new(unit: &'static str, total: Option<u64>) -> Self {
        Self { done: AtomicU64::new(0), total, unit }
    }

    /// Adds what has just been done.
    pub fn add(&self, amount: u64) {
        // Only a display reads it: no order with anything else is needed.
        self.done.fetch_add(amount, Relaxed);
    }

    /// Adds what has just been done, where one process at a time ever adds: without a
    /// read-modify-write.
    ///
    /// ```
    /// use kahn_apps::Progress;
    ///
    /// let progress = Progress::new("numbers", None);
    /// progress.add_alone(1);
    /// progress.add_alone(2);
    /// assert_eq!(progress.done(), 3);
    /// ```
    pub fn add_alone(&self, amount: u64) {
        self.done.store(self.done.load(Relaxed) + amount, Relaxed);
    }

    /// Says how much is done.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Says how much there is to do, if that is known.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Says what is counted: "bytes", "rounds".
    pub fn unit(&self) -> &'static str {
        self.unit
    }
}
