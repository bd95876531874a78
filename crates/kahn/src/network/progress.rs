//! How far a run has got, for a person who waits.

use kahn_engine::sync::{Arc, AtomicU64, Ordering::Relaxed};

/// Counts what a run has done, for a display of any kind. No result depends on it.
///
/// A handle: clones count together. Processes add to it, and another thread, a callback of a user interface
/// or a signal handler reads it whenever it draws. A [`StopHandle`](super::StopHandle) counts messages
/// without it.
///
/// # Examples
///
/// A thread that draws until the run has ended:
///
/// ```
/// use kahn::{Network, Progress};
/// use std::thread;
///
/// let text = "to be\nor not\nto be\n";
/// let progress = Progress::new("bytes", Some(text.len() as u64));
/// let mut network = Network::new();
/// let lines = network.source("lines", text.split_inclusive('\n'));
/// let counted = progress.clone();
/// network.for_each("read", lines, move |line| counted.add(line.len() as u64));
/// thread::scope(|scope| {
///     let run = scope.spawn(|| network.run());
///     while !run.is_finished() {
///         let total = progress.total().unwrap_or_default();
///         println!("{} of {total} {}", progress.done(), progress.unit());
///         # break;
///         thread::park_timeout(std::time::Duration::from_millis(100));
///     }
///     run.join().expect("it does not panic")
/// })?;
/// assert_eq!(progress.done(), 19);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Progress(Arc<Counted>);

#[derive(Debug)]
struct Counted {
    done: AtomicU64,
    total: Option<u64>,
    unit: &'static str,
}

impl Progress {
    /// Starts at nothing done, of a total if it is known. The unit is what is counted: "bytes", "rounds".
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Progress;
    ///
    /// let progress = Progress::new("bytes", Some(100));
    /// progress.add(30);
    /// assert_eq!((progress.done(), progress.total()), (30, Some(100)));
    /// ```
    pub fn new(unit: &'static str, total: Option<u64>) -> Self {
        Self(Arc::new(Counted { done: AtomicU64::new(0), total, unit }))
    }

    /// Adds what has just been done.
    ///
    /// # Examples
    ///
    /// ```
    /// let progress = kahn::Progress::new("rounds", None);
    /// let of_a_process = progress.clone();
    /// of_a_process.add(2);
    /// progress.add(1);
    /// assert_eq!(progress.done(), 3);
    /// ```
    pub fn add(&self, amount: u64) {
        // Only a display reads it: no order with anything else is needed.
        self.0.done.fetch_add(amount, Relaxed);
    }

    /// Adds what has just been done, where one process at a time ever adds: without a read-modify-write.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Progress;
    ///
    /// let progress = Progress::new("numbers", None);
    /// progress.add_alone(1);
    /// progress.add_alone(2);
    /// assert_eq!(progress.done(), 3);
    /// ```
    pub fn add_alone(&self, amount: u64) {
        self.0.done.store(self.done() + amount, Relaxed);
    }

    /// Returns how much is done.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn::Progress::new("bytes", Some(100)).done(), 0);
    /// ```
    pub fn done(&self) -> u64 {
        // As in `add`.
        self.0.done.load(Relaxed)
    }

    /// Returns how much there is to do, if that is known.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn::Progress::new("rounds", None).total(), None);
    /// ```
    pub fn total(&self) -> Option<u64> {
        self.0.total
    }

    /// Returns what is counted.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn::Progress::new("bytes", Some(100)).unit(), "bytes");
    /// ```
    pub fn unit(&self) -> &'static str {
        self.0.unit
    }
}
