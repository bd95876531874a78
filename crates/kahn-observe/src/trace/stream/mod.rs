//! A trace that is written as it happens: a thread reads the rings over and over, and writes what is complete.
//!
//! A slice is told when what follows from it is known: how its process waited before it, and which process
//! ended that. So the thread works in *rounds*, 5 ms apart.
//!
//! | in round *k* | which were read |
//! |---|---|
//! | all that is new is read from each ring; wakes, marks and what workers ran are taken at once | in round *k* |
//! | slices that were over when round *k* − 1 began are told, and those of the same process before them | in round *k* − 1 and before |
//! | messages that were published before round *k* − 1 began are told, in the order of time | in round *k* − 1 and before |
//!
//! *A slice is told with what led to it.* A wake is written down before the process that it wakes can run, and a slice
//! before its process can run again. So when a slice was read in round *k* − 1, both were written before, and
//! are read in round *k* at the latest, which takes them before it tells the slice.
//!
//! *Nothing is lost in silence.* Records have numbers, so a ring that was written over since its last round says how many
//! are missing. Then all that was read before is told, and a *gap* begins where the last round began, for until then all
//! rings were read. It ends with the first record that is left; nothing of the time between is told, of no ring and in no
//! later round, so that what is told is complete.
//!
//! What is kept in memory: the rings, two rounds of records, a few words for each process and channel, and names.

mod follow;
mod weaver;

use super::perfetto::Appender;
use super::record::Trace;
use follow::Followed;
use kahn_engine::sync::system::clock;
use parking_lot::{Condvar, Mutex};
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use weaver::Weaver;

const ROUND: Duration = Duration::from_millis(5);
/// Nanoseconds over which the length of a tick is measured, to 20 millionths: before, nothing is written.
const MEASURED: u64 = 20_000_000;

/// Writes a trace while the run goes on, until it is finished or dropped.
///
/// The file is what [`Timeline::write`](super::Timeline::write) writes, in another order, and is read by
/// [`Timeline::read`](super::Timeline::read) also if its end is missing, for the program was killed. If the file takes no more, the
/// trace ends and the run goes on.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::trace::{Level, Stream, Timeline, Trace};
/// use std::sync::Arc;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("run.perfetto-trace");
/// // Of each worker no more than 4096 events are kept, and all are written.
/// let trace = Arc::new(Trace::new(Level::Schedule).events(4096));
/// let stream = Stream::start(&trace, std::fs::File::create(&path)?)?;
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1000_u32);
/// network.for_each("ignore", numbers, |_| {});
/// network.run_with(Options::new().observer(trace))?;
/// assert_eq!(stream.finish()?, 0);
/// assert!(Timeline::read(&std::fs::read(path)?)?.summary().to_string().contains("ignore"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    over: Arc<Over>,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

/// Whether the run is over.
#[derive(Debug, Default)]
struct Over {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Over {
    /// Waits for the next round; whether it is the last.
    fn next(&self) -> bool {
        let mut is_over = self.is_over.lock();
        if !*is_over {
            self.changed.wait_for(&mut is_over, ROUND);
        }
        *is_over
    }
}

impl Stream {
    /// Begins to write what a trace is told from now on. From now on, all times in this program are told by the same length of a tick.
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread, or the file its first bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::{Level, Stream, Trace};
    /// use std::sync::Arc;
    ///
    /// let stream = Stream::start(&Arc::new(Trace::new(Level::Messages)), Vec::new())?;
    /// # stream.finish()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start(trace: &Arc<Trace>, out: impl Write + Send + 'static) -> io::Result<Self> {
        let (over, trace) = (Arc::new(Over::default()), Arc::clone(trace));
        let appender = Appender::new(out)?;
        let theirs = Arc::clone(&over);
        let thread = thread::Builder::new()
            .name("trace".to_owned())
            .spawn(move || write(&trace, appender, &theirs))?;
        Ok(Self { over, thread: Some(thread) })
    }

    /// Writes what is left, when the run is over; returns how many events were lost, for they came faster than they could be written.
    ///
    /// # Errors
    /// Returns what the file could not take; nothing behind that is in it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::{Level, Stream, Trace};
    /// use std::sync::Arc;
    ///
    /// let stream = Stream::start(&Arc::new(Trace::new(Level::Schedule)), Vec::new())?;
    /// assert_eq!(stream.finish()?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn finish(mut self) -> io::Result<u64> {
        self.end()
    }

    fn end(&mut self) -> io::Result<u64> {
        *self.over.is_over.lock() = true;
        self.over.changed.notify_all();
        let Some(thread) = self.thread.take() else { return Ok(0) };
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes has panicked")))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // What drops it does not ask.
        let _ = self.end();
    }
}

/// Writes until the run is over or the file takes no more.
fn write(trace: &Trace, out: Appender<impl Write>, over: &Over) -> io::Result<u64> {
    let mut followed = Followed::default();
    let mut weaver = None;
    let mut out = Some(out);
    loop {
        let is_last = over.next();
        if weaver.is_none() && (is_last || clock::nanoseconds() >= MEASURED) {
            let tick = trace.tick().unwrap_or_else(clock::keep);
            weaver = out.take().map(|out| Weaver::new(out, tick, trace.began(), trace.draws_all()));
        }
        // Before that rings keep what there is.
        let Some(mut woven) = weaver.take() else { continue };
        // What is written down while a round is read is read in the next.
        for _ in 0..if is_last { 2 } else { 1 } {
            let round = followed.read(trace);
            woven.take(round, &trace.known())?;
            // Under no lock: it may last.
            woven.flush()?;
        }
        if is_last {
            return woven.finish(&trace.known());
        }
        weaver = Some(woven);
    }
}
