//! Tracks of spans: what a trace tells, whatever it was made of. Times are nanoseconds since it begins.

use super::difference::Difference;
use super::perfetto::{self, ReadError};
use super::picture;
use super::summary::Summary;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What each process and each worker did, from one moment to another.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::trace::{Level, Timeline, Trace};
/// use std::sync::Arc;
///
/// let trace = Arc::new(Trace::new(Level::Messages));
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// network.for_each("ignore", numbers, |_| {});
/// network.run_with(Options::new().observer(Arc::clone(&trace)))?;
///
/// let timeline = trace.timeline();
/// let mut file = Vec::new();
/// timeline.write(&mut file)?;
/// assert_eq!(Timeline::read(&file)?, timeline);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// When it ends.
    pub(super) until: u64,
    /// Events that are not in it, for others were written over them.
    pub(super) lost: u64,
    /// Until when nothing is told.
    pub(super) lost_until: u64,
    /// Later times of which nothing is told, in their order: from when until when.
    pub(super) gaps: Vec<(u64, u64)>,
    /// Of a run on several ranks.
    pub(super) ranks: Vec<Rank>,
    /// By name, then by number.
    pub(super) processes: Vec<Process>,
    /// By rank, then by number.
    pub(super) workers: Vec<Worker>,
    /// By name, then by number.
    pub(super) channels: Vec<Channel>,
}

/// A rank of a run on several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) number: usize,
    /// By so many nanoseconds its times may be wrong beside those of rank 0.
    pub(super) error: u64,
    /// By so many at most a message had to be moved that was received here, so that it is not before it was sent.
    pub(super) moved: u64,
}

/// The track of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) rank: usize,
    pub(super) name: String,
    /// The same in every run.
    pub(super) id: u64,
    /// One, unless parts of it run at the same time.
    pub(super) parts: Vec<Part>,
}

/// What one part of a process did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// In their order, none in another.
    pub(super) spans: Vec<Span>,
    pub(super) marks: Vec<Mark>,
    /// Waits of others that it ended while it did not run, each when and which: see [`flow`].
    pub(super) wakes: Vec<(u64, u64)>,
    /// Messages that it sent and received, in the order of time, if each has an arrow.
    pub(super) passed: Vec<Passed>,
}

/// Messages of one channel that were published at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) at: u64,
    pub(super) is_received: bool,
    /// The place of the channel.
    pub(super) channel: usize,
    /// The first of them, and how many.
    pub(super) number: u64,
    pub(super) count: u64,
    /// Their arrows, which begin where they are sent: see [`flow`].
    pub(super) flows: Vec<u64>,
}

/// A time in which a part of a process did one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) does: Does,
}

impl Span {
    pub(super) fn length(&self) -> u64 {
        self.until - self.from
    }
}

/// What it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Runs(Run),
    Waits(Wait),
    /// It could run, and no worker runs it.
    Ready,
    /// It waits for something outside the network, or for another part of itself.
    Outside,
}

/// A time in which a thread runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// Its number; none if the process has a thread of its own.
    pub(super) worker: Option<usize>,
    /// For so long the thread had a processor.
    pub(super) ran: u64,
    /// Which waits it ended, and which of its own was ended before.
    pub(super) wakes: Vec<u64>,
    pub(super) woken: Option<u64>,
}

/// What it waits for at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    Message,
    Room,
    /// The process that is to come to the same rendezvous.
    Partner,
}

/// What it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) wants: Wanted,
    /// The place of the channel.
    pub(super) channel: usize,
    /// The message, which it wants to receive or to send.
    pub(super) number: u64,
    /// The place of the process that ended the wait, as far as one did.
    pub(super) ended_by: Option<usize>,
}

/// A moment that the program has marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) label: String,
    pub(super) number: u64,
}

/// The track of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Worker {
    pub(super) rank: usize,
    pub(super) number: usize,
    /// Each from when until when, and the place of the process that it runs; none if it is idle. Together
    /// they fill the time from the end of what is lost to the end.
    pub(super) spans: Vec<(u64, u64, Option<usize>)>,
}

/// The counter of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) rank: usize,
    pub(super) name: String,
    /// The same in every run.
    pub(super) id: u64,
    /// From when on there were how many messages in it.
    pub(super) holds: Vec<(u64, u64)>,
}

/// The number of an arrow from the process that ends a wait to the one that waited: the same in every run.
pub(super) fn flow(channel: u64, number: u64, wants: Wanted) -> u64 {
    // The finalizer of MurmurHash3 (Appleby), which mixes all bits.
    let mut bits = channel ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (wants as u64) << 62;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        bits = (bits ^ bits >> 33).wrapping_mul(factor);
    }
    (bits ^ bits >> 33).max(1)
}

impl Timeline {
    /// Writes a file that Perfetto's viewer opens.
    ///
    /// # Errors
    ///
    /// What `out` cannot take.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut file = Vec::new();
    /// kahn_observe::trace::Timeline::default().write(&mut file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        perfetto::write(self, out)
    }

    /// Reads a file that [`write`](Self::write) wrote.
    ///
    /// # Errors
    ///
    /// The bytes are something else, or not all of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::Timeline;
    ///
    /// assert!(Timeline::read(b"something else").is_err());
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        perfetto::read(bytes)
    }

    /// Sums up where the time went.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::Timeline;
    ///
    /// println!("{}", Timeline::default().summary());
    /// ```
    pub fn summary(&self) -> Summary<'_> {
        Summary::of(self)
    }

    /// Compares this run with a later one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::Timeline;
    ///
    /// let timeline = Timeline::default();
    /// println!("{}", timeline.difference(&timeline));
    /// ```
    pub fn difference<'a>(&'a self, later: &'a Self) -> Difference<'a> {
        Difference::between(self, later)
    }

    /// Draws it as SVG, a thousand pixels wide: what each worker and each process did from left to right, what was lost
    /// hatched, and of channels how full they were. Of more than 40 of a kind it draws 40, those processes that ran longest.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::Timeline;
    ///
    /// assert!(Timeline::default().svg().starts_with("<svg"));
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        picture::svg(self)
    }

    /// Returns how many events are not in it, because others were written over them.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_observe::trace::Timeline::default().lost(), 0);
    /// ```
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the moments that the program has marked, by process: the label, the number, and the
    /// nanoseconds since the trace begins.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_observe::trace::Timeline::default().marks().count(), 0);
    /// ```
    pub fn marks(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let parts = self.processes.iter().flat_map(|process| &process.parts);
        let marks = parts.flat_map(|part| &part.marks);
        marks.map(|mark| (&*mark.label, mark.number, mark.at))
    }

    /// Returns the rank of each process of this name in a run on several: none of another run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::Timeline;
    ///
    /// assert_eq!(Timeline::default().ranks_of("merge").count(), 0);
    /// ```
    pub fn ranks_of(&self, process: &str) -> impl Iterator<Item = usize> {
        let all = self.processes.iter().filter(|_| !self.ranks.is_empty());
        all.filter(move |one| one.name == process).map(|one| one.rank)
    }

    /// Returns by how many nanoseconds times of one rank may be wrong beside those of another; 0 in a run on one.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_observe::trace::Timeline::default().clock_error(), 0);
    /// ```
    pub fn clock_error(&self) -> u64 {
        // Two clocks that both are aligned to a third one.
        let mut errors: Vec<_> = self.ranks.iter().map(|rank| rank.error).collect();
        errors.sort_unstable();
        errors.iter().rev().take(2).sum()
    }

    /// Returns by how many nanoseconds the arrow of a message would have pointed backwards at most, from rank to rank: not
    /// more than [`clock_error`](Self::clock_error) if clocks are aligned well. It is received when it is sent then.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_observe::trace::Timeline::default().moved(), 0);
    /// ```
    pub fn moved(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.moved).max().unwrap_or_default()
    }

    /// Returns how many arrows lead from a process on one rank to one on another.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_observe::trace::Timeline::default().arrows_between_ranks(), 0);
    /// ```
    pub fn arrows_between_ranks(&self) -> usize {
        let of = |is_received| {
            let parts =
                self.processes.iter().flat_map(|one| one.parts.iter().map(move |part| (one, part)));
            parts.flat_map(move |(one, part)| {
                let passed = part.passed.iter().filter(move |one| one.is_received == is_received);
                passed.flat_map(|passed| &passed.flows).map(move |flow| (*flow, one.rank))
            })
        };
        let sent: BTreeMap<u64, usize> = of(false).collect();
        of(true).filter(|(flow, rank)| sent.get(flow).is_some_and(|from| from != rank)).count()
    }

    /// What a process is called beside those of other ranks.
    pub(super) fn called(&self, process: &Process) -> String {
        match &self.ranks[..] {
            [] => process.name.clone(),
            _ => format!("{} (rank {})", process.name, process.rank),
        }
    }

    /// How long all of it is of which something is told.
    pub(super) fn told(&self) -> u64 {
        let gaps: u64 = self.gaps.iter().map(|&(from, until)| until - from).sum();
        self.until.saturating_sub(self.lost_until).saturating_sub(gaps)
    }

    /// The spans of a process, in all its parts.
    pub(super) fn spans(process: &Process) -> impl Iterator<Item = &Span> {
        process.parts.iter().flat_map(|part| &part.spans)
    }
}
