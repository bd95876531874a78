//! A time in which a thread ran a process, and by which clock.

/// A time in which a thread ran a process: from one reading of the clock to another.
///
/// Readings are ticks of the processor's cycle counter.
///
/// # Examples
///
/// ```
/// use kahn_report::observe::Slice;
///
/// let slice = Slice { from: 1000, until: 1700, ran: 500 };
/// assert_eq!(slice.put_aside(), 200);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub until: u64,
    /// Ticks in which the thread ran; for the rest the system ran another one. It is the sum of these
    /// that reports tell as the CPU time of the process.
    pub ran: u64,
}

impl Slice {
    /// Returns the ticks in which the system ran another thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::observe::Slice;
    ///
    /// assert_eq!(Slice { from: 10, until: 30, ran: 20 }.put_aside(), 0);
    /// ```
    pub fn put_aside(self) -> u64 {
        (self.until - self.from).saturating_sub(self.ran)
    }
}

/// How long a tick of the clock of [`Slice`] is.
///
/// # Examples
///
/// The time that a process ran, as the report tells it:
///
/// ```
/// use kahn::observe::{Observer, Rest, Slice, Subject, Tick};
/// use kahn::{Accounting, Network, Options};
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Ran(AtomicU64, Mutex<Option<Tick>>);
///
/// impl Observer for Ran {
///     fn rests(&self, _: Subject<'_>, _worker: Option<usize>, slice: Slice, _: Rest<'_>) {
///         self.0.fetch_add(slice.ran, Ordering::Relaxed);
///     }
///
///     fn ends(&self, tick: Tick) {
///         *self.1.lock().expect("no other thread panics") = Some(tick);
///     }
/// }
///
/// let ran = Arc::new(Ran::default());
/// let mut network = Network::new();
/// let sum = network.compute("add", (), async |()| (0..1000_u64).sum::<u64>());
/// let options = Options::new().accounting(Accounting::Timing).observer(Arc::clone(&ran));
/// let report = network.run_with(options)?;
/// let tick = ran.1.lock().expect("no other thread panics").expect("the run is over");
/// let nanoseconds = tick.nanoseconds(ran.0.load(Ordering::Relaxed));
/// assert_eq!(report.processes[0].cpu_seconds, Some(nanoseconds as f64 / 1e9));
/// assert_eq!(sum.take(), Some(499_500));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    nanoseconds: f64,
}

impl Tick {
    /// Makes one that is so long.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::observe::Tick;
    ///
    /// assert_eq!(Tick::of_nanoseconds(0.4).nanoseconds(10), 4);
    /// ```
    #[must_use]
    pub fn of_nanoseconds(nanoseconds: f64) -> Self {
        Self { nanoseconds }
    }

    /// Returns how many of these one of another clock is.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::observe::Tick;
    ///
    /// let (own, other) = (Tick::of_nanoseconds(0.5), Tick::of_nanoseconds(1.0));
    /// assert_eq!(own.in_one_of(other).to_string(), "2");
    /// ```
    #[must_use]
    pub fn in_one_of(self, other: Self) -> f64 {
        other.nanoseconds / self.nanoseconds
    }

    /// Returns how long so many ticks are, in nanoseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::observe::Tick;
    ///
    /// assert_eq!(Tick::of_nanoseconds(0.3).nanoseconds(9), 3);
    /// ```
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a run is shorter than 2^52 ticks"
    )]
    pub fn nanoseconds(self, ticks: u64) -> u64 {
        (ticks as f64 * self.nanoseconds).round() as u64
    }
}

crate::portable_structs! { Tick { nanoseconds } }
