//! What depends on the machine: the cycle counter, the number of cores, pinning.
//!
//! Each has a portable fallback, so nothing else in the crate names a platform.

use std::num::NonZero;

/// Returns how many threads the machine runs at once; 1 if it does not tell.
pub(crate) fn cores() -> usize {
    if cfg!(loom) {
        // A model is the same on every machine.
        return 2;
    }
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Returns another number each time. Not by one of loom's atomics: it is no part of any protocol.
pub(crate) fn next_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};

    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// A clock for measuring: cheap ticks, converted to time when somebody asks.
pub(crate) mod clock {
    use std::time::{Duration, Instant};

    #[expect(clippy::disallowed_methods, reason = "accounting measures; nothing decides by it")]
    fn now() -> Instant {
        Instant::now()
    }

    fn origin() -> (Instant, u64) {
        // Not a `OnceLock`: the thread sanitizer does not see into the standard library's.
        static ORIGIN: parking_lot::Mutex<Option<(Instant, u64)>> = parking_lot::Mutex::new(None);
        *ORIGIN.lock().get_or_insert_with(|| (now(), raw()))
    }

    /// Reads the cycle counter: about 10 ns, no system call.
    #[cfg(target_arch = "x86_64")]
    fn raw() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; it reads a counter, nothing else.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn raw() -> u64 {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        let start = *START.get_or_init(now);
        u64::try_from(now().duration_since(start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Reads the clock, in ticks.
    pub(crate) fn ticks() -> u64 {
        raw()
    }

    /// Starts the measurement that [`to_duration`] is calibrated by.
    pub(crate) fn start() {
        origin();
    }

    /// Returns the time since the first call of [`start`], by the system's clock that only grows.
    pub(crate) fn nanoseconds() -> u64 {
        u64::try_from(origin().0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Converts ticks to time, by what the counter did since [`start`].
    pub(crate) fn to_duration(ticks: u64) -> Duration {
        let (instant, at_start) = origin();
        let (elapsed, passed) = (instant.elapsed(), raw().saturating_sub(at_start));
        if passed == 0 {
            return Duration::ZERO;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio of two clocks")]
        let ratio = elapsed.as_secs_f64() / passed as f64;
        #[expect(clippy::cast_precision_loss, reason = "times of a report are rounded anyway")]
        Duration::from_secs_f64(ratio * ticks as f64)
    }
}

/// Pins the calling thread to one core; does nothing where the system has no such call.
pub(crate) fn pin_to_core(index: usize) {
    #[cfg(target_os = "linux")]
    {
        let mut set = rustix::thread::CpuSet::new();
        set.set(index % cores());
        // A refused pin costs speed and nothing else.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = index;
}
